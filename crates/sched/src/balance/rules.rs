//! Where the releases balance differently, as data chosen when a scheduler is built.
//!
//! 6.12 knows of cores with several busy threads (`SmtBalance`, counting in cores, balancing from
//! idle cores), and does not let tasks that are too big for a CPU count as failures to balance.
//!
//! 6.18 counts tasks that could run, and not those whose dequeue is delayed; such a task moves only for its load. A
//! task that would not be eligible where it goes, either, moves only after a pass has failed.
//!
//! Source. kernel/sched/fair.c at 6.1, 6.12 and 6.18, compared function by function.

use super::env::{CpuIdleType, LbEnv};
use super::group_stats::{SdLbStats, SgLbStats};
use crate::cfs_rq::CfsRq;
use crate::domain::{SdId, SgId};
use crate::profile::Release;
use crate::sched::Sched;
use crate::task::Task;
use crate::units::{CpuId, TaskId};

/// What differs between releases.
pub(crate) struct BalanceRules {
    /// The order in which /proc/schedstat lists the idle types.
    pub(super) idle_types: [CpuIdleType; 3],
    /// /proc/schedstat sums imbalances by what was to be moved.
    pub(super) imbalance_by_type: bool,
    /// An idle CPU looks for cores on which several threads are busy.
    pub(super) smt_balance: bool,
    /// The first idle CPU of an idle core balances, rather than the first idle CPU.
    pub(super) idle_core_balances: bool,
    /// The queue to take utilisation from is judged by its runnable average too.
    pub(super) src_rq_util_boost: bool,
    /// A pass that could not move a misfit task counts as failed, and lengthens the interval.
    pub(super) misfit_counts_as_failure: bool,
    /// The fair tasks of a CPU's queue that a pass counts.
    pub(super) nr_to_balance: fn(&CfsRq) -> u32,
    /// Is the task to stay whatever the CPU it would go to may run?
    pub(super) stays: fn(&Sched, &LbEnv, TaskId) -> bool,
    /// A task that is too big for its CPU only goes to a core that is all idle.
    pub(super) misfit_wants_idle_core: bool,
    /// A group of smaller CPUs is passed over before the types of the groups are compared, rather than after.
    pub(super) capacity_before_type: bool,
    /// Is a group busier than the busiest so far, which is of the same type?
    pub(super) busier_of_type: fn(&Sched, &SdLbStats, SgId, &SgLbStats) -> bool,
    /// Are tasks to be spread over the groups?
    pub(super) prefer_sibling: fn(&Sched, SdId, &SdLbStats) -> bool,
    /// By how many tasks do the groups differ that tasks are to be spread over?
    pub(super) sibling_imbalance: fn(&Sched, &LbEnv, &SdLbStats) -> i64,
    /// Does the CPU run a task that another one suits better?
    pub(super) check_misfit_status: fn(&Sched, CpuId) -> bool,
    /// Is the task as well off on the CPU as it can be anywhere?
    pub(super) has_max_allowed_capacity: fn(&Sched, CpuId, &Task) -> bool,
}

impl core::fmt::Debug for BalanceRules {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BalanceRules")
            .field("smt_balance", &self.smt_balance)
            .finish_non_exhaustive()
    }
}

static V6_1: BalanceRules = BalanceRules {
    idle_types: [
        CpuIdleType::Idle,
        CpuIdleType::NotIdle,
        CpuIdleType::NewlyIdle,
    ],
    imbalance_by_type: false,
    smt_balance: false,
    idle_core_balances: false,
    src_rq_util_boost: false,
    misfit_counts_as_failure: true,
    nr_to_balance: |cfs| cfs.h_nr_queued,
    stays: Sched::is_throttled_on_either,
    misfit_wants_idle_core: true,
    capacity_before_type: true,
    busier_of_type: Sched::busier_of_type_6_1,
    prefer_sibling: Sched::child_prefers_sibling,
    sibling_imbalance: Sched::task_imbalance,
    check_misfit_status: Sched::misfit_has_better_cpu,
    has_max_allowed_capacity: |_, _, _| false,
};

const EEVDF: BalanceRules = BalanceRules {
    idle_types: [
        CpuIdleType::NotIdle,
        CpuIdleType::Idle,
        CpuIdleType::NewlyIdle,
    ],
    imbalance_by_type: false,
    smt_balance: true,
    idle_core_balances: true,
    src_rq_util_boost: true,
    misfit_counts_as_failure: false,
    nr_to_balance: |cfs| cfs.h_nr_queued,
    stays: Sched::is_throttled_on_either,
    misfit_wants_idle_core: true,
    capacity_before_type: true,
    busier_of_type: Sched::busier_of_type_6_12,
    prefer_sibling: Sched::busiest_prefers_sibling,
    sibling_imbalance: Sched::sibling_imbalance_by_cores,
    check_misfit_status: |sched, cpu| sched.rqs[cpu].misfit_task_load != 0,
    has_max_allowed_capacity: Sched::is_max_allowed_capacity,
};

static V6_12: BalanceRules = EEVDF;

static V6_18: BalanceRules = BalanceRules {
    imbalance_by_type: true,
    nr_to_balance: |cfs| cfs.h_nr_runnable,
    stays: Sched::stays_6_18,
    misfit_wants_idle_core: false,
    capacity_before_type: false,
    ..EEVDF
};

/// The rules of a release.
pub(crate) fn rules(release: Release) -> &'static BalanceRules {
    match release {
        Release::V6_1 => &V6_1,
        Release::V6_12 => &V6_12,
        Release::V6_18 => &V6_18,
    }
}
