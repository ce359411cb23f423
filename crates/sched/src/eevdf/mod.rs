//! EEVDF, the fair class of 6.12 and 6.18: earliest eligible virtual deadline first.
//!
//! Model. Entity i with weight w_i has consumed virtual time v_i. The queue's virtual time is the weighted average
//!
//! ```text
//!        Σ w_i · v_i                 Σ w_i · (v_i − v0)
//!   V = ------------- = v0 + -------------------------      v0: zero_vruntime, kept near V
//!           Σ w_i                       Σ w_i
//! ```
//!
//! and an entity's lag is what it is owed: `vlag_i = V − v_i`, in virtual time. It is *eligible* when it is owed
//! something (`v_i ≤ V`); among the eligible, the one with the earliest deadline `d_i = v_i + slice_i / w_i` is picked.
//!
//! Invariants. Σ w_i · vlag_i = 0 up to rounding. Only eligible entities are picked (or the running one that
//!             protects its slice). Lag that is kept across sleep is at most max(2 slices, a tick) in 6.12, a tick
//!             more than the longest slice of the queue in 6.18, either sign.
//! Bits.       Keys stay below 2^44 for queues whose members differ by hours, weights below 2^27: products fit 64.
//! Source.     kernel/sched/fair.c @ 6.12.117 and 6.18.44, which carry the later `zero_vruntime` and PICK_BUDDY changes.
//! Not here.   The fair server (see `rt`); core scheduling.

mod lag;
mod pick;
mod placing;
mod preempt;
mod protection;
mod reweight;
mod running;
mod task;
#[cfg(test)]
mod tests;

use crate::cfs_rq::CfsRq;
use crate::entity::SchedEntity;
use crate::fair_class::FairClass;
use crate::sched::Sched;

/// The functions of 6.12.
const CLASS: FairClass = FairClass {
    enqueue_entity: Sched::enqueue_entity_eevdf,
    dequeue_entity: Sched::dequeue_entity_eevdf,
    enqueue_task: Sched::enqueue_task_eevdf,
    dequeue_task: Sched::dequeue_task_eevdf,
    set_next_entity: Sched::set_next_entity_eevdf,
    put_prev_entity: Sched::put_prev_entity_eevdf,
    pick_next_task: Sched::pick_next_task_eevdf,
    wakeup_preempt: Sched::wakeup_preempt_6_12,
    update_curr: Sched::update_curr_eevdf,
    entity_tick: Sched::entity_tick_eevdf,
    reweight_entity: Sched::reweight_entity_6_12,
    lag_limit: |_, _, entity, tick_nsec| entity.lag_limit_6_12(tick_nsec),
    set_protect_slice: Sched::set_protect_slice_6_12,
    protects_put_back: true,
    protect_slice: SchedEntity::protect_slice_6_12,
    is_overdue: Sched::did_preempt_short,
    quantum_without_parity: false,
    yield_task: Sched::yield_task_eevdf,
    task_fork: |_, _, _, _| {},
    migrate_task_rq: Sched::migrate_task_rq_eevdf,
    detach_task: |sched, task| sched.detach_entity_cfs_rq(sched.tasks[task].se),
    attach_task: |sched, task| sched.attach_entity_cfs_rq(sched.tasks[task].se),
    hrtick_slice: |sched, se| sched.ses[se].slice,
    update_tg_load_avg: Sched::update_tg_load_avg_limited,
    update_cfs_group: Sched::update_cfs_group_6_12,
    distribute_cfs_runtime: Sched::distribute_cfs_runtime_async,
    can_hold: Sched::can_hold_eevdf,
    timeline_add: Sched::timeline_add,
    timeline_remove: Sched::timeline_remove,
    util_est_within_capacity: true,
    util_init_weight: SchedEntity::weight,
    decayed_needs_no_contrib: true,
    throttled_clock_without_tasks: false,
    cluster_aware: true,
    idle_shortcut: true,
    keeps_wake_avg_idle: false,
    clock_skip_lasts: false,
    keeps_min_vruntime: false,
    block_clears_on_rq_first: false,
    preempts_by_running: false,
    has_slices: true,
    domains: &crate::domain::DomainProfile::V6_12,
    domains_count_leaving_cpu: true,
    put_prev_before_pick: false,
    hrtick_by_nr_latency: false,
};

/// 6.12.
pub(crate) static V6_12: FairClass = CLASS;

/// 6.18: 6.12's functions but for those that were rewritten.
pub(crate) static V6_18: FairClass = FairClass {
    wakeup_preempt: Sched::wakeup_preempt_6_18,
    reweight_entity: Sched::reweight_entity_6_18,
    update_cfs_group: Sched::update_cfs_group_6_18,
    lag_limit: CfsRq::lag_limit_6_18,
    set_protect_slice: Sched::set_protect_slice_6_18,
    protects_put_back: false,
    protect_slice: SchedEntity::protect_slice_6_18,
    is_overdue: |_, _, curr| !curr.protect_slice_6_18(),
    quantum_without_parity: true,
    util_est_within_capacity: false,
    domains: &crate::domain::DomainProfile::V6_18,
    ..CLASS
};
