//! What competes for CPU time: a task, or a group on one CPU.
//!
//! Invariants. A task's entity has a `task` and no `my_q`; a group's entity has a `my_q` and no `task`.
//!             `parent` is the entity of the group it is queued in (none at the root), `cfs_rq` the queue.
//! Source.     include/linux/sched.h `struct sched_entity`, kernel/sched/fair.c (weights) @ 6.1, 6.12.

use crate::pelt::SchedAvg;
use crate::units::{CfsRqId, Nanos, SeId, TaskId, Vruntime};

/// Fixed-point bits of a weight: a nice-0 task weighs 1024 << 10.
pub const SCHED_FIXEDPOINT_SHIFT: u32 = 10;
/// The weight of a nice-0 task.
pub const NICE_0_LOAD: u64 = 1 << 20;
/// Weight of SCHED_IDLE tasks and `cpu.idle` groups, before scaling.
pub const WEIGHT_IDLEPRIO: u64 = 3;
const WMULT_IDLEPRIO: u32 = 1_431_655_765;
const WMULT_SHIFT: u32 = 32;

/// Weights of nice −20..19: each level is worth about 1.25 of the next, so that one level
/// shifts 10 % of the CPU between two tasks.
#[rustfmt::skip]
pub const SCHED_PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291,
    29154, 23254, 18705, 14949, 11916,
     9548,  7620,  6100,  4904,  3906,
     3121,  2501,  1991,  1586,  1277,
     1024,   820,   655,   526,   423,
      335,   272,   215,   172,   137,
      110,    87,    70,    56,    45,
       36,    29,    23,    18,    15,
];

/// `2³² / weight` for the same levels. Most entries are rounded to the nearest, those of nice 12, 14, 16 and 17 down:
/// no rule gives them all, and an inverse that is off by one shows as a nanosecond of virtual time.
#[rustfmt::skip]
const SCHED_PRIO_TO_WMULT: [u32; 40] = [
         48388,      59856,      76040,      92818,     118348,
        147320,     184698,     229616,     287308,     360437,
        449829,     563644,     704093,     875809,    1099582,
       1376151,    1717300,    2157191,    2708050,    3363326,
       4194304,    5237765,    6557202,    8165337,   10153587,
      12820798,   15790321,   19976592,   24970740,   31350126,
      39045157,   49367440,   61356676,   76695844,   95443717,
     119304647,  148102320,  186737708,  238609294,  286331153,
];

/// Scales a user-visible weight to the kernel's fixed point.
#[inline(always)]
pub const fn scale_load(weight: u64) -> u64 {
    weight << SCHED_FIXEDPOINT_SHIFT
}

/// The inverse of [`scale_load`]; a weight that is not 0 stays at least 2.
#[inline(always)]
pub const fn scale_load_down(weight: u64) -> u64 {
    let down = weight >> SCHED_FIXEDPOINT_SHIFT;
    if down < 2 {
        return least_weight(weight);
    }
    down
}

/// What a weight below 2 counts as; apart, so that the usual weight costs a shift and a comparison.
#[cold]
const fn least_weight(weight: u64) -> u64 {
    if weight == 0 { 0 } else { 2 }
}

/// A weight and its cached inverse (`2³² / weight`, 0: not computed).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct LoadWeight {
    /// The weight, scaled by [`scale_load`].
    pub weight: u64,
    /// Cached `2³² / scale_load_down(weight)`.
    pub inv_weight: u32,
}

impl LoadWeight {
    /// A weight without its inverse.
    pub const fn new(weight: u64) -> Self {
        LoadWeight {
            weight,
            inv_weight: 0,
        }
    }

    /// The weight of a nice level −20..=19.
    pub fn of_nice(nice: i32) -> Self {
        let level = (nice + 20) as usize;
        LoadWeight {
            weight: scale_load(u64::from(SCHED_PRIO_TO_WEIGHT[level])),
            inv_weight: SCHED_PRIO_TO_WMULT[level],
        }
    }

    /// The weight of SCHED_IDLE.
    pub const fn idle_policy() -> Self {
        LoadWeight {
            weight: scale_load(WEIGHT_IDLEPRIO),
            inv_weight: WMULT_IDLEPRIO,
        }
    }

    /// Adds to the weight.
    #[inline]
    pub fn add(&mut self, inc: u64) {
        self.weight = self.weight.wrapping_add(inc);
        self.inv_weight = 0;
    }

    /// Takes from the weight.
    #[inline]
    pub fn sub(&mut self, dec: u64) {
        self.weight = self.weight.wrapping_sub(dec);
        self.inv_weight = 0;
    }

    #[inline]
    fn update_inv_weight(&mut self) {
        if self.inv_weight != 0 {
            return;
        }
        let w = scale_load_down(self.weight);
        self.inv_weight = u64::from(u32::MAX)
            .checked_div(w)
            .map_or(u32::MAX, |inverse| inverse.max(1) as u32);
    }

    /// `delta · weight / self`, by multiplication with the inverse.
    ///
    /// Bits: the factor is brought below 2³² by shifts, so that delta · factor fits 96 bits.
    /// Source: kernel/sched/fair.c `__calc_delta`.
    pub fn calc_delta(&mut self, delta: u64, weight: u64) -> u64 {
        let mut fact = scale_load_down(weight);
        let mut shift = WMULT_SHIFT;
        self.update_inv_weight();
        let fact_hi = (fact >> 32) as u32;
        if fact_hi != 0 {
            let fs = 32 - fact_hi.leading_zeros();
            shift -= fs;
            fact >>= fs;
        }
        fact = u64::from(fact as u32) * u64::from(self.inv_weight);
        let fact_hi = (fact >> 32) as u32;
        if fact_hi != 0 {
            let fs = 32 - fact_hi.leading_zeros();
            shift -= fs;
            fact >>= fs;
        }
        ((u128::from(delta) * u128::from(fact as u32)) >> shift) as u64
    }

    /// `delta` of wall time as virtual time for an entity of this weight: `delta · NICE_0 / weight`.
    #[inline]
    pub fn calc_delta_fair(&mut self, delta: u64) -> u64 {
        if self.weight == NICE_0_LOAD {
            delta
        } else {
            self.calc_delta(delta, NICE_0_LOAD)
        }
    }
}

/// Waiting and sleeping times as /proc/PID/sched and cpu.stat report them.
#[derive(Clone, Copy, Default, Debug)]
pub struct SchedStatistics {
    /// When it began to wait for a CPU; 0: it does not wait.
    pub wait_start: Nanos,
    /// Longest wait.
    pub wait_max: Nanos,
    /// How many waits ended.
    pub wait_count: u64,
    /// Time waited in all.
    pub wait_sum: Nanos,
}

/// A schedulable entity.
#[derive(Clone, Copy, Debug)]
pub struct SchedEntity {
    /// Its weight.
    pub load: LoadWeight,
    /// Virtual time it has consumed.
    pub vruntime: Vruntime,
    /// EEVDF: virtual time by which its slice is due; relative to `vruntime` while `rel_deadline`.
    pub deadline: u64,
    /// EEVDF: lag kept while it is off the queue. While it runs, 6.12: equal to `deadline` if its slice is protected;
    /// 6.18: the virtual runtime up to which it is (`vprot`).
    pub vlag: i64,
    /// EEVDF: the slice it asks for, ns.
    pub slice: u64,
    /// When its runtime was last accounted (task clock of its CPU).
    pub exec_start: Nanos,
    /// CPU time consumed.
    pub sum_exec_runtime: Nanos,
    /// CPU time consumed when it was last picked.
    pub prev_sum_exec_runtime: Nanos,
    /// Group: runnable tasks below, as PELT weighs them.
    pub runnable_weight: u64,
    /// The entity of the group it is in.
    pub parent: SeId,
    /// The queue it is on, or would be.
    pub cfs_rq: CfsRqId,
    /// The queue it owns, if it is a group.
    pub my_q: CfsRqId,
    /// The task it is, if it is one.
    pub task: TaskId,
    /// Levels below the root: 0 in the root group.
    pub depth: u32,
    /// Counts in its queue's load (also while it runs).
    pub on_rq: bool,
    /// 6.12: asleep, but still competing until its lag is used up.
    pub sched_delayed: bool,
    /// 6.12: `deadline` is relative.
    pub rel_deadline: bool,
    /// 6.12: `slice` was asked for by sched_setattr, or inherited from below.
    pub custom_slice: bool,
    /// How often it changed its CPU.
    pub nr_migrations: u64,
    /// Load tracking.
    pub avg: SchedAvg,
    /// Waiting times.
    pub stats: SchedStatistics,
}

impl SchedEntity {
    /// A new entity that is on no queue.
    pub fn new(load: LoadWeight, task: TaskId, my_q: CfsRqId) -> Self {
        SchedEntity {
            load,
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            slice: 0,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            runnable_weight: 0,
            parent: SeId::NONE,
            cfs_rq: CfsRqId::NONE,
            my_q,
            task,
            depth: 0,
            on_rq: false,
            sched_delayed: false,
            rel_deadline: false,
            custom_slice: false,
            nr_migrations: 0,
            avg: SchedAvg::default(),
            stats: SchedStatistics::default(),
        }
    }

    /// Is it a task's (and not a group's)?
    #[inline(always)]
    pub fn is_task(&self) -> bool {
        self.my_q.is_none()
    }

    /// The weight PELT uses.
    #[inline(always)]
    pub fn weight(&self) -> u64 {
        scale_load_down(self.load.weight)
    }

    /// It begins to wait. A migrating task brings the time it has already waited.
    #[inline(always)]
    pub(crate) fn wait_starts(&mut self, clock: Nanos) {
        let waited = self.stats.wait_start;
        self.stats.wait_start = if self.is_task() && clock > waited {
            clock - waited
        } else {
            clock
        };
    }

    /// It stops waiting: it runs, sleeps or migrates.
    #[inline(always)]
    pub(crate) fn wait_ends(&mut self, clock: Nanos, migrating: bool) {
        let stats = &mut self.stats;
        if stats.wait_start == 0 {
            return;
        }
        let delta = clock.wrapping_sub(stats.wait_start);
        if migrating {
            stats.wait_start = delta;
            return;
        }
        stats.wait_max = stats.wait_max.max(delta);
        stats.wait_count += 1;
        stats.wait_sum += delta;
        stats.wait_start = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_nice_level_is_worth_a_quarter() {
        let mut heavy = LoadWeight::of_nice(-5);
        let mut light = LoadWeight::of_nice(5);
        // 1 ms of wall time: 1024/3121 ms and 1024/335 ms of virtual time.
        assert_eq!(heavy.calc_delta_fair(1_000_000), 328_099);
        assert_eq!(light.calc_delta_fair(1_000_000), 3_056_716);
        assert_eq!(LoadWeight::of_nice(0).calc_delta_fair(12_345), 12_345);
    }

    #[test]
    fn a_slice_is_the_weighted_part_of_the_period() {
        // 24 ms among weights 1024 + 1024 + 1024: 8 ms, less the rounding of 2³²/3072.
        let mut total = LoadWeight::new(3 * NICE_0_LOAD);
        assert_eq!(total.calc_delta(24_000_000, NICE_0_LOAD), 7_999_998);
    }
}
