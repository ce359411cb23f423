//! What the scheduler asks of its surroundings, and what it tells them.
//!
//! Model. Every call into [`Sched`](crate::Sched) may append effects, in the order in which the kernel would act; the
//!        caller drains them. Requests must be carried out (an interrupt sent, a timer armed); notices
//!        tell what happened, as tracepoints of the kernel do, and may be ignored.

use crate::units::{CfsRqId, CpuId, GroupId, Nanos, TaskId};

/// A request or a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// `need_resched` was set on a CPU; if it is another one and not polling, it needs an interrupt.
    Resched {
        /// Whose task is to be rescheduled.
        cpu: CpuId,
    },
    /// A task was queued for a remote CPU, which must call `sched_ttwu_pending`.
    TtwuIpi {
        /// The remote CPU.
        cpu: CpuId,
    },
    /// Fair queues wait to be unthrottled by a remote CPU, which must call `unthrottle_pending`.
    UnthrottleIpi {
        /// The remote CPU.
        cpu: CpuId,
    },
    /// Arm the period timer of a group, replacing its earlier setting.
    StartPeriodTimer {
        /// Whose limit.
        group: GroupId,
        /// When to call `period_timer`.
        expires: Nanos,
    },
    /// Arm the slack timer of a group.
    StartSlackTimer {
        /// Whose limit.
        group: GroupId,
        /// When to call `slack_timer`.
        expires: Nanos,
    },
    /// Arm the hrtick of a CPU, replacing its earlier setting.
    StartHrtick {
        /// Which CPU.
        cpu: CpuId,
        /// When to call `hrtick`.
        expires: Nanos,
    },
    /// Run the balancing softirq on a CPU soon (`sched_balance_softirq`).
    RaiseSoftirq {
        /// Which CPU.
        cpu: CpuId,
    },
    /// Interrupt an idle CPU so that it balances for all idle ones.
    KickIlb {
        /// Which CPU.
        cpu: CpuId,
    },
    /// Have the stopper of a CPU call `active_load_balance_cpu_stop`.
    StopActiveBalance {
        /// The CPU whose running task is to be pushed away.
        cpu: CpuId,
    },
    /// Have the stopper of a CPU call `migration_cpu_stop` for a task that runs there.
    StopMigrate {
        /// The CPU it runs on.
        cpu: CpuId,
        /// The task.
        task: TaskId,
        /// Where to.
        dest: CpuId,
    },
    /// Interrupt a CPU so that it pushes RT tasks away (`push_rt_tasks`).
    PushRt {
        /// Which CPU.
        cpu: CpuId,
    },
    /// Arm the RT or fair-server timer of a CPU (`rt_timer`), replacing its earlier setting.
    StartRtTimer {
        /// Which CPU.
        cpu: CpuId,
        /// When.
        expires: Nanos,
    },
    /// A wakeup begins (sched_waking).
    Waking {
        /// Who is woken.
        task: TaskId,
        /// Where it went to sleep: its CPU is not chosen yet.
        cpu: CpuId,
    },
    /// A wakeup is complete (sched_wakeup).
    Wakeup {
        /// Who is awake.
        task: TaskId,
    },
    /// A new task is queued (sched_wakeup_new).
    WakeupNew {
        /// The new task.
        task: TaskId,
    },
    /// A task changes its CPU (sched_migrate_task).
    Migrate {
        /// Who moves.
        task: TaskId,
        /// Where from.
        orig: CpuId,
        /// Where to.
        dest: CpuId,
    },
    /// A task consumed CPU time (sched_stat_runtime).
    StatRuntime {
        /// Who ran.
        task: TaskId,
        /// For how long.
        runtime: Nanos,
    },
    /// A queue took runtime from its group's pool.
    TakeRuntime {
        /// Which queue.
        cfs_rq: CfsRqId,
        /// How much.
        taken: Nanos,
    },
    /// A queue ran out of quota.
    Throttle {
        /// Which queue.
        cfs_rq: CfsRqId,
    },
    /// A queue may run again.
    Unthrottle {
        /// Which queue.
        cfs_rq: CfsRqId,
        /// How long it waited with tasks queued.
        waited: Nanos,
    },
}
