//! The run queue of one CPU.
//!
//! Model.      `clock` follows sched_clock; `clock_task` leaves out interrupt and steal time; `clock_pelt` runs at
//!             the CPU's speed and catches up while idle.
//! Source.     kernel/sched/sched.h `struct rq` @ 6.1, 6.12.
//! Not here.   Locks: the caller serialises; what lock hand-overs cost is the machine's.

use crate::pelt::SchedAvg;
use crate::rt_rq::RtRq;
use crate::units::{CfsRqId, CpuId, Nanos, TaskId};
use alloc::vec::Vec;

/// Counters of /proc/schedstat for one CPU.
#[derive(Clone, Copy, Default, Debug)]
pub struct RqStats {
    /// sched_yield() calls.
    pub yld_count: u64,
    /// schedule() calls.
    pub sched_count: u64,
    /// schedule() calls that went idle.
    pub sched_goidle: u64,
    /// Wakeups by this CPU.
    pub ttwu_count: u64,
    /// Of these, to this CPU.
    pub ttwu_local: u64,
    /// Time tasks ran here.
    pub rq_cpu_time: Nanos,
    /// Time tasks waited here.
    pub run_delay: Nanos,
    /// Times a task was given the CPU.
    pub pcount: u64,
    /// Context switches.
    pub nr_switches: u64,
}

/// A pending active balance: push the running task to `push_cpu`.
#[derive(Clone, Copy, Default, Debug)]
pub struct ActiveBalance {
    /// Requested and not yet done.
    pub pending: bool,
    /// Where to.
    pub push_cpu: u32,
}

impl Rq {
    /// The PELT clock.
    #[inline(always)]
    pub(crate) fn rq_clock_pelt(&self) -> u64 {
        self.clock_pelt.wrapping_sub(self.lost_idle_time)
    }
}

/// A CPU's run queue.
#[derive(Clone, Debug)]
pub struct Rq {
    /// Whose queue.
    pub cpu: CpuId,
    /// Part of scheduling (not unplugged).
    pub online: bool,
    /// Queued tasks of all classes.
    pub nr_running: u32,
    /// Clocks, see the module.
    pub clock: Nanos,
    /// See the module.
    pub clock_task: Nanos,
    /// See the module.
    pub clock_pelt: u64,
    /// PELT time never caught up because the CPU was always busy.
    pub lost_idle_time: u64,
    /// `clock_pelt` when it last went idle.
    pub clock_pelt_idle: u64,
    /// `clock` when it last went idle.
    pub clock_idle: Nanos,
    /// The next schedule() reuses the clock (RQCF_REQ_SKIP).
    pub clock_skip_requested: bool,
    /// 6.1: the clock stands still until the switch is done (RQCF_ACT_SKIP).
    pub clock_skip_active: bool,
    /// The running task has left its queue, and the call of schedule() for which it did is to go on
    /// ([`Sched::follow_block`](crate::Sched::follow_block)).
    pub curr_has_left: bool,
    /// Interrupt or steal time not yet taken off `clock_task`.
    pub nontask_time: Nanos,
    /// Time in interrupts that the clock of the tasks has not passed over yet.
    pub irq_time: Nanos,
    /// The root group's fair queue.
    pub cfs: CfsRqId,
    /// The RT queue.
    pub rt: RtRq,
    /// The running task.
    pub curr: TaskId,
    /// The idle task.
    pub idle: TaskId,
    /// The stopper (migration) task.
    pub stop: TaskId,
    /// `curr` is to be rescheduled.
    pub need_resched: bool,
    /// `curr` is to be rescheduled when it next returns to user space, and nobody hurries it there (`Preempt::Lazy`).
    pub need_resched_lazy: bool,
    /// The idle task watches `need_resched` itself: a wakeup needs no interrupt.
    pub polling: bool,
    /// Fair tasks queued here: first and last of a list through the tasks, see `cfs_tasks`.
    pub cfs_tasks_first: TaskId,
    /// See `cfs_tasks_first`.
    pub cfs_tasks_last: TaskId,
    /// Counts how often one of them came to the front.
    pub cfs_tasks_turns: u64,
    /// Fair queues with load: children before parents.
    pub leaf_first: CfsRqId,
    /// See `leaf_first`.
    pub leaf_last: CfsRqId,
    /// Where the next child branch is put; none is the list's head.
    pub tmp_alone_branch: CfsRqId,
    /// Tasks woken for this CPU by others, not yet enqueued.
    pub ttwu_queue: Vec<TaskId>,
    /// That list is not empty, as others see it.
    pub ttwu_pending: bool,
    /// Fair queues to unthrottle here at the next interrupt.
    pub cfsb_csd: Vec<CfsRqId>,
    /// Utilisation by RT tasks.
    pub avg_rt: SchedAvg,
    /// Utilisation by interrupts and steal.
    pub avg_irq: SchedAvg,
    /// Capacity at the highest frequency.
    pub cpu_capacity_orig: u64,
    /// Capacity left for fair tasks.
    pub cpu_capacity: u64,
    /// Current frequency relative to the highest, 0..1024.
    pub freq_capacity: u64,
    /// Load of a task too big for this CPU; 0: none.
    pub misfit_task_load: u64,
    /// When the last newly idle balance found nothing, for `avg_idle`; 0: not idle.
    pub idle_stamp: Nanos,
    /// Average idle time.
    pub avg_idle: Nanos,
    /// Most a newly idle balance has cost.
    pub max_idle_balance_cost: Nanos,
    /// 6.1 SIS_PROP: jiffy of `wake_avg_idle`.
    pub wake_stamp: u64,
    /// 6.1 SIS_PROP: idle time available for searching.
    pub wake_avg_idle: Nanos,
    /// Jiffy of the next periodic balance.
    pub next_balance: u64,
    /// The last tick found it idle.
    pub idle_balance: bool,
    /// Its tick is stopped.
    pub nohz_tick_stopped: bool,
    /// Jiffy of the last update of blocked load.
    pub last_blocked_load_update_tick: u64,
    /// Blocked load is left.
    pub has_blocked_load: bool,
    /// Nohz work asked of this CPU (`nohz` module's bits).
    pub nohz_flags: u32,
    /// Active balance asked of this CPU.
    pub active_balance: ActiveBalance,
    /// Exit latency of the idle state it is in; none: not in one, or the machine has none.
    pub idle_exit_latency: Option<Nanos>,
    /// FLAT_GROUPS: shares have changed since the groups here were last given their weights.
    pub flat_stale: bool,
    /// SIS_CACHE: until then this CPU is left to the task that sleeps here.
    pub cache_hot_timeout: Nanos,
    /// Counters.
    pub stats: RqStats,
}
