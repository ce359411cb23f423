//! The real-time run queue of one CPU.
//!
//! Model.      Tasks in order of priority, first come first served within one. `highest_curr` is the priority of the
//!             strongest queued task, `highest_next` that of the strongest one that could go elsewhere.
//! Invariants. `pushable` holds the queued tasks that may use several CPUs and do not run. `queued` says whether
//!             `nr_running` is counted in the CPU's `nr_running`: it is not while throttled.
//! Units.      Kernel priorities: −1 SCHED_DEADLINE, 0..98 real-time (lower is stronger), 99 nothing queued.
//! Source.     kernel/sched/sched.h `struct rt_rq` @ 6.1, 6.12, without RT_GROUP_SCHED.
//! Deviations. One sorted list in place of a hundred lists and a bitmap: a CPU without RT tasks owns no memory
//!             for them, and the few tasks of the others lie side by side.

use crate::rt::{BalanceCallbacks, FairServer, PrioList, RtRoot};
use crate::task::MAX_RT_PRIO;
use crate::units::Nanos;
use alloc::boxed::Box;

/// The priority of a queue without tasks: one below the weakest real-time priority.
pub const NO_RT_PRIO: i32 = MAX_RT_PRIO - 1;

/// A CPU's RT queue.
#[derive(Clone, Debug)]
pub struct RtRq {
    /// Queued tasks, the running one included.
    pub active: PrioList,
    /// How many these are (`rt_nr_running`).
    pub nr_running: u32,
    /// Of these, tasks that may use several CPUs (`rt_nr_migratory`).
    pub nr_migratory: u32,
    /// Counted in the CPU's `nr_running` (`rt_queued`).
    pub queued: bool,
    /// Priority of the strongest queued task (`highest_prio.curr`).
    pub highest_curr: i32,
    /// Priority of the strongest pushable task (`highest_prio.next`).
    pub highest_next: i32,
    /// Queued tasks that may use other CPUs and do not run.
    pub pushable: PrioList,
    /// Other CPUs may pull from here.
    pub overloaded: bool,
    /// 6.1: used up its part of the period (`rt_throttled`).
    pub throttled: bool,
    /// 6.1: runtime consumed in this period (`rt_time`).
    pub time: Nanos,
    /// 6.1: runtime borrowed from (lent to, if negative) other CPUs for this period: `rt_runtime` less the
    /// machine's setting.
    pub borrowed: i64,
    /// 6.1: no limit while the CPU is offline (`rt_runtime` is RUNTIME_INF).
    pub unlimited: bool,
    /// 6.12: what keeps RT tasks from starving fair ones.
    pub server: FairServer,
    /// Pushes and pulls to do when the current scheduling decision is complete.
    pub(crate) callbacks: BalanceCallbacks,
    /// On CPU 0 only: what all CPUs share.
    pub(crate) root: Option<Box<RtRoot>>,
}

impl Default for RtRq {
    fn default() -> Self {
        RtRq {
            active: PrioList::default(),
            nr_running: 0,
            nr_migratory: 0,
            queued: false,
            highest_curr: NO_RT_PRIO,
            highest_next: NO_RT_PRIO,
            pushable: PrioList::default(),
            overloaded: false,
            throttled: false,
            time: 0,
            borrowed: 0,
            unlimited: false,
            server: FairServer::default(),
            callbacks: BalanceCallbacks::default(),
            root: None,
        }
    }
}
