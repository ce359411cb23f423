//! CFS, the fair class of 6.1: the entity with the least virtual runtime runs.
//!
//! Model. Virtual runtime advances by `delta · NICE_0 / weight`. Everybody should run once in a period
//!        (`latency_ns`, or `nr · min_granularity_ns` with many tasks); an entity's slice of it is its weight's part at
//!        each level of the group tree. `min_vruntime` follows the left end of the queue and never goes back;
//!        entities that leave for another queue carry their distance to it.
//!
//! ```text
//!   slice = period · Π  w_se / Σ w           place(new)     = min_vruntime + vslice       (START_DEBIT)
//!                 levels                     place(sleeper) = max(own, min_vruntime − latency/2)
//! ```
//!
//! Invariants. min_vruntime is monotonic. A waking sleeper is at most `latency_ns` (half with GENTLE_FAIR_SLEEPERS)
//!             left of it.
//! Source.     kernel/sched/fair.c @ 6.1.192.

mod pick;
mod placing;
mod slice;
mod task;

use crate::entity::SchedEntity;
use crate::fair_class::FairClass;
use crate::load::contribute_tg_load_avg;
use crate::sched::Sched;

/// The functions of 6.1.
pub(crate) static CLASS: FairClass = FairClass {
    enqueue_entity: Sched::enqueue_entity_cfs,
    dequeue_entity: Sched::dequeue_entity_cfs,
    enqueue_task: Sched::enqueue_task_cfs,
    dequeue_task: Sched::dequeue_task_cfs,
    set_next_entity: |sched, cfs_rq, se, _| sched.set_next_entity_cfs(cfs_rq, se),
    put_prev_entity: Sched::put_prev_entity_cfs,
    pick_next_task: Sched::pick_next_task_cfs,
    wakeup_preempt: Sched::wakeup_preempt_cfs,
    update_curr: Sched::update_curr_cfs,
    entity_tick: Sched::entity_tick_cfs,
    reweight_entity: Sched::reweight_entity_cfs,
    lag_limit: |_, _, _, _| 0,
    set_protect_slice: |_, _, _| {},
    protects_put_back: false,
    protect_slice: |_| false,
    is_overdue: |_, _, _| false,
    quantum_without_parity: false,
    yield_task: Sched::yield_task_cfs,
    task_fork: Sched::task_fork_cfs,
    migrate_task_rq: Sched::migrate_task_rq_cfs,
    detach_task: Sched::detach_task_cfs,
    attach_task: Sched::attach_task_cfs,
    hrtick_slice: |sched, se| sched.sched_slice(sched.ses[se].cfs_rq, se),
    update_tg_load_avg: |sched, cfs_rq| {
        contribute_tg_load_avg(&mut sched.cfs_rqs[cfs_rq], &mut sched.groups);
    },
    update_cfs_group: Sched::update_cfs_group_cfs,
    distribute_cfs_runtime: Sched::distribute_cfs_runtime_sync,
    can_hold: |_, _, _, _| true,
    timeline_add: Sched::line_up,
    timeline_remove: |sched, cfs_rq, se| {
        sched.cfs_rqs[cfs_rq].timeline.remove(se);
    },
    util_est_within_capacity: true,
    util_init_weight: |entity: &SchedEntity| entity.load.weight,
    decayed_needs_no_contrib: false,
    throttled_clock_without_tasks: true,
    cluster_aware: false,
    idle_shortcut: false,
    keeps_wake_avg_idle: true,
    clock_skip_lasts: true,
    keeps_min_vruntime: true,
    block_clears_on_rq_first: true,
    preempts_by_running: true,
    has_slices: false,
    domains: &crate::domain::DomainProfile::V6_1,
    domains_count_leaving_cpu: false,
    put_prev_before_pick: true,
    hrtick_by_nr_latency: true,
};
