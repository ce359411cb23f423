//! The fair run queue of one group on one CPU.
//!
//! Invariants. `load` is the sum of the weights of the entities that are `on_rq` (the running one included);
//!             `nr_queued` counts them; the `h_` counts add up all tasks below. `curr` is not in `timeline`.
//!             `avg_vruntime` and `avg_load` sum over the timeline only.
//! Source.     kernel/sched/sched.h `struct cfs_rq` @ 6.1, 6.12 (names of 6.12: 6.1's `nr_running` is
//!             `nr_queued`, its `h_nr_running` is `h_nr_queued`).

use crate::entity::LoadWeight;
use crate::pelt::SchedAvg;
use crate::rq::Rq;
use crate::timeline::Timeline;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId, Vruntime};

/// The virtual runtime at which a new queue begins.
pub const NEW_QUEUE_VRUNTIME: Vruntime = (1u64 << 20).wrapping_neg();

/// Load of tasks that left while asleep, to be taken off at the next update.
#[derive(Clone, Copy, Default, Debug)]
pub struct Removed {
    /// How many left since.
    pub nr: u32,
    /// Their load_avg.
    pub load_avg: u64,
    /// Their util_avg.
    pub util_avg: u64,
    /// Their runnable_avg.
    pub runnable_avg: u64,
}

impl core::ops::AddAssign for Removed {
    fn add_assign(&mut self, more: Removed) {
        self.nr += more.nr;
        self.load_avg += more.load_avg;
        self.util_avg += more.util_avg;
        self.runnable_avg += more.runnable_avg;
    }
}

/// A fair run queue.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Weight of the queued entities.
    pub load: LoadWeight,
    /// Queued entities, tasks and groups.
    pub nr_queued: u32,
    /// Queued tasks in the whole subtree, delayed ones included.
    pub h_nr_queued: u32,
    /// Queued tasks in the subtree that want to run.
    pub h_nr_runnable: u32,
    /// Queued entities that are SCHED_IDLE or cpu.idle.
    pub idle_nr_queued: u32,
    /// Queued SCHED_IDLE tasks in the subtree.
    pub idle_h_nr_queued: u32,
    /// 6.12: tasks in the subtree whose dequeue is delayed.
    pub h_nr_delayed: u32,
    /// 6.12: Σ (vruntime − zero_vruntime) · weight over the timeline.
    pub avg_vruntime: i64,
    /// 6.12: Σ weight over the timeline.
    pub avg_load: u64,
    /// 6.12: `zero_vruntime`, the origin of the sum; 6.1: `min_vruntime`.
    pub zero_vruntime: Vruntime,
    /// 6.12: Σ weight of all on the queue when `zero_vruntime` was last moved to their average.
    pub zero_weight: i64,
    /// Entities waiting, in picking order.
    pub timeline: Timeline,
    /// The running entity.
    pub curr: SeId,
    /// Buddy to run next.
    pub next: SeId,
    /// 6.1: buddy that was preempted.
    pub last: SeId,
    /// 6.1: buddy to pass over.
    pub skip: SeId,
    /// Load tracking.
    pub avg: SchedAvg,
    /// What left while asleep.
    pub removed: Removed,
    /// Its part of the group's `load_avg`.
    pub tg_load_avg_contrib: u64,
    /// When it last told the group.
    pub last_update_tg_load_avg: Nanos,
    /// A change below waits to be passed up.
    pub propagate: bool,
    /// The runnable part of that change.
    pub prop_runnable_sum: i64,
    /// Load as seen from the root, as of `last_h_load_update`.
    pub h_load: u64,
    /// Jiffy of `h_load`.
    pub last_h_load_update: u64,
    /// Path down which `h_load` is being computed.
    pub h_load_next: SeId,
    /// Its group.
    pub tg: GroupId,
    /// Its CPU.
    pub cpu: CpuId,
    /// The entity that stands for it one level up; none at the root.
    pub se: SeId,
    /// FLAT_GROUPS: what the group would weigh in its parent's queue; 0: nothing of it is queued here.
    pub flat_share: u64,
    /// FLAT_GROUPS: Σ of that over the groups right below it, unscaled.
    pub flat_below: u64,
    /// The group is cpu.idle.
    pub idle: bool,
    /// On the CPU's list of queues with load.
    pub on_list: bool,
    /// Neighbours on that list; none is the list's head.
    pub leaf_prev: CfsRqId,
    /// See `leaf_prev`.
    pub leaf_next: CfsRqId,
    /// The group has a quota.
    pub runtime_enabled: bool,
    /// Of the quota, what this CPU holds and has not used.
    pub runtime_remaining: i64,
    /// PELT time lost to throttling when the queue went idle; `u64::MAX` while throttled.
    pub throttled_pelt_idle: u64,
    /// Since when it is throttled with something queued.
    pub throttled_clock: Nanos,
    /// PELT clock at which the hierarchy was throttled.
    pub throttled_clock_pelt: u64,
    /// PELT time spent throttled.
    pub throttled_clock_pelt_time: u64,
    /// 6.12: since when this level waits for an unthrottling.
    pub throttled_clock_self: Nanos,
    /// 6.12: time this level waited (cpu.stat.local).
    pub throttled_clock_self_time: Nanos,
    /// Out of quota.
    pub throttled: bool,
    /// How many of its ancestors (itself included) are throttled.
    pub throttle_count: u32,
    /// 6.12: an unthrottling is on its way to this CPU.
    pub throttled_csd: bool,
}

impl CfsRq {
    /// The PELT clock, which stands still while the queue is throttled; `rq` is its CPU's.
    #[inline(always)]
    pub(crate) fn clock_pelt(&self, rq: &Rq) -> u64 {
        let clock = if self.throttle_count != 0 {
            self.throttled_clock_pelt
        } else {
            rq.rq_clock_pelt()
        };
        clock.wrapping_sub(self.throttled_clock_pelt_time)
    }

    /// An empty queue.
    pub fn new(tg: GroupId, cpu: CpuId, se: SeId) -> Self {
        CfsRq {
            load: LoadWeight::default(),
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            idle_nr_queued: 0,
            idle_h_nr_queued: 0,
            h_nr_delayed: 0,
            avg_vruntime: 0,
            avg_load: 0,
            // Shortly before the wrap, so that wrong comparisons show early.
            zero_vruntime: NEW_QUEUE_VRUNTIME,
            zero_weight: 0,
            timeline: Timeline::new(),
            curr: SeId::NONE,
            next: SeId::NONE,
            last: SeId::NONE,
            skip: SeId::NONE,
            avg: SchedAvg::default(),
            removed: Removed::default(),
            tg_load_avg_contrib: 0,
            last_update_tg_load_avg: 0,
            propagate: false,
            prop_runnable_sum: 0,
            h_load: 0,
            last_h_load_update: 0,
            h_load_next: SeId::NONE,
            tg,
            cpu,
            se,
            flat_share: 0,
            flat_below: 0,
            idle: false,
            on_list: false,
            leaf_prev: CfsRqId::NONE,
            leaf_next: CfsRqId::NONE,
            runtime_enabled: false,
            runtime_remaining: 0,
            throttled_pelt_idle: 0,
            throttled_clock: 0,
            throttled_clock_pelt: 0,
            throttled_clock_pelt_time: 0,
            throttled_clock_self: 0,
            throttled_clock_self_time: 0,
            throttled: false,
            throttle_count: 0,
            throttled_csd: false,
        }
    }
}
