//! The fair class of a release: the functions in which releases differ, chosen once when a scheduler is built.

use crate::cfs_rq::CfsRq;
use crate::domain::DomainProfile;
use crate::entity::SchedEntity;
use crate::features::Features;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId, TaskId};

/// One release's functions. Names are the kernel's; see `cfs` (6.1) and `eevdf` (6.12, 6.18).
#[derive(Debug)]
pub(crate) struct FairClass {
    pub(crate) enqueue_entity: fn(&mut Sched, CfsRqId, SeId, u32),
    /// False: the dequeue is delayed.
    pub(crate) dequeue_entity: fn(&mut Sched, CfsRqId, SeId, u32) -> bool,
    pub(crate) enqueue_task: fn(&mut Sched, CpuId, TaskId, u32),
    /// False: the dequeue is delayed.
    pub(crate) dequeue_task: fn(&mut Sched, CpuId, TaskId, u32) -> bool,
    /// The last argument: it was picked, rather than put back after a change.
    pub(crate) set_next_entity: fn(&mut Sched, CfsRqId, SeId, bool),
    pub(crate) put_prev_entity: fn(&mut Sched, CfsRqId, SeId),
    /// None: no fair task can run. The pick is made the running task and `prev` put away when they differ;
    /// `prev` is none if it was put away before. With `newidle`, a CPU without fair tasks tries to pull some.
    pub(crate) pick_next_task: fn(&mut Sched, CpuId, TaskId, bool) -> Option<TaskId>,
    pub(crate) wakeup_preempt: fn(&mut Sched, CpuId, TaskId, u32),
    pub(crate) update_curr: fn(&mut Sched, CfsRqId),
    pub(crate) entity_tick: fn(&mut Sched, CfsRqId, SeId, bool),
    pub(crate) reweight_entity: fn(&mut Sched, CfsRqId, SeId, u64),
    /// CFS: entities are placed from their queue's `min_vruntime`, which only grows.
    pub(crate) keeps_min_vruntime: bool,
    /// EEVDF: the time that the entity's lag may come to, either sign, by its queue, the running entity if it counts
    /// there, itself and the length of a tick.
    pub(crate) lag_limit: fn(&CfsRq, Option<&SchedEntity>, &SchedEntity, Nanos) -> Nanos,
    /// EEVDF: the entity begins to run: for how long nobody else is picked if it stays eligible.
    pub(crate) set_protect_slice: fn(&mut Sched, CfsRqId, SeId),
    /// EEVDF: one that is put back after a change is protected anew, as if it had been picked.
    pub(crate) protects_put_back: bool,
    /// EEVDF: does the running entity still have that protection?
    pub(crate) protect_slice: fn(&SchedEntity) -> bool,
    /// EEVDF: the running entity consumed time, its slice goes on, and others wait: are they to have a chance?
    pub(crate) is_overdue: fn(Features, &CfsRq, &SchedEntity) -> bool,
    /// EEVDF: without RUN_TO_PARITY, too, an entity runs for a moment at least.
    pub(crate) quantum_without_parity: bool,
    pub(crate) yield_task: fn(&mut Sched, CpuId),
    pub(crate) task_fork: fn(&mut Sched, CpuId, TaskId, TaskId),
    pub(crate) migrate_task_rq: fn(&mut Sched, TaskId),
    pub(crate) detach_task: fn(&mut Sched, TaskId),
    pub(crate) attach_task: fn(&mut Sched, TaskId),
    /// Slice still to run before the hrtick; None: arm none.
    pub(crate) hrtick_slice: fn(&mut Sched, SeId) -> u64,
    pub(crate) update_tg_load_avg: fn(&mut Sched, CfsRqId),
    pub(crate) update_cfs_group: fn(&mut Sched, SeId, CfsRqId),
    pub(crate) distribute_cfs_runtime: fn(&mut Sched, GroupId, CpuId) -> bool,
    pub(crate) timeline_add: fn(&mut Sched, CfsRqId, SeId),
    pub(crate) timeline_remove: fn(&mut Sched, CfsRqId, SeId),
    /// Can the queue's arithmetic take an entity of that virtual runtime?
    pub(crate) can_hold: fn(&Sched, CfsRqId, SeId, u64) -> bool,
    /// A utilisation above its CPU's capacity says nothing of the task, and is no estimate.
    pub(crate) util_est_within_capacity: bool,
    pub(crate) util_init_weight: fn(&SchedEntity) -> u64,
    /// A queue with a contribution to its group's load is not yet decayed.
    pub(crate) decayed_needs_no_contrib: bool,
    /// A queue counts as waiting from its throttling on, even with nothing queued.
    pub(crate) throttled_clock_without_tasks: bool,
    /// Wakeup placement prefers CPUs of the same cluster.
    pub(crate) cluster_aware: bool,
    /// schedule() of an idle CPU with nothing queued returns at once.
    pub(crate) idle_shortcut: bool,
    /// `wake_avg_idle` is kept, for SIS_PROP.
    pub(crate) keeps_wake_avg_idle: bool,
    /// A clock that schedule() was told not to read stands still during the pick, too.
    pub(crate) clock_skip_lasts: bool,
    /// A sleeper is off its queue by its own word before the class has taken it off.
    pub(crate) block_clears_on_rq_first: bool,
    /// Waking a task that runs right now still asks for preemption.
    pub(crate) preempts_by_running: bool,
    /// sched_setattr() sets slices of fair tasks.
    pub(crate) has_slices: bool,
    /// How scheduling domains are built.
    pub(crate) domains: &'static DomainProfile,
    /// Domains rebuilt for a leaving CPU still count it as online.
    pub(crate) domains_count_leaving_cpu: bool,
    /// When other classes may run, `prev` is put away before any class is asked.
    pub(crate) put_prev_before_pick: bool,
    /// The hrtick is armed only below this many entities.
    pub(crate) hrtick_by_nr_latency: bool,
}
