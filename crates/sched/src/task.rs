//! A task: what the scheduler knows of one thread.
//!
//! Source. include/linux/sched.h `struct task_struct`, include/linux/sched/prio.h @ 6.1, 6.12.

use crate::units::{CpuId, GroupId, Nanos, SeId, TaskId};

/// Priorities below this are real-time.
pub const MAX_RT_PRIO: i32 = 100;
/// Kernel priority of nice 0.
pub const DEFAULT_PRIO: i32 = 120;
/// One past the lowest priority.
pub const MAX_PRIO: i32 = 140;

/// Scheduling policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// SCHED_OTHER.
    Normal,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    Rr,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_DEADLINE: above all RT priorities, without its own bandwidth rules.
    Deadline,
}

impl Policy {
    /// A policy of the fair class?
    pub fn is_fair(self) -> bool {
        matches!(self, Policy::Normal | Policy::Batch | Policy::Idle)
    }
}

/// Scheduling class, highest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// The stopper.
    Stop,
    /// SCHED_FIFO, SCHED_RR, and above them SCHED_DEADLINE.
    Rt,
    /// SCHED_OTHER, SCHED_BATCH, SCHED_IDLE.
    Fair,
    /// The idle task.
    Idle,
}

/// What a task is doing (`__state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// Created, never yet woken.
    New,
    /// Running or waiting for a CPU.
    Running,
    /// Asleep (S).
    Interruptible,
    /// Asleep (D).
    Uninterruptible,
    /// Stopped, traced or parked (T, t, P).
    Stopped,
    /// A wakeup is on its way.
    Waking,
    /// Exited.
    Dead,
}

/// Where a task stands with its run queue (`on_rq`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnRq {
    /// Not queued.
    No,
    /// Queued.
    Queued,
    /// On its way between two queues.
    Migrating,
}

/// Names a set of allowed CPUs; equal sets have equal ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaskId(pub u32);

impl MaskId {
    /// All CPUs.
    pub const ALL: MaskId = MaskId(0);
}

/// Round-robin and queue state of an RT task.
#[derive(Clone, Copy, Debug)]
pub struct RtEntity {
    /// Queued in the RT queue.
    pub on_rq: bool,
    /// Ticks left of its round-robin slice.
    pub time_slice: u32,
}

/// Per-task counters, named as in /proc/PID/sched.
#[derive(Clone, Copy, Default, Debug)]
pub struct TaskStats {
    /// Wakeups.
    pub nr_wakeups: u64,
    /// Wakeups with the sync hint.
    pub nr_wakeups_sync: u64,
    /// Wakeups that changed the CPU.
    pub nr_wakeups_migrate: u64,
    /// Wakeups on the waker's CPU.
    pub nr_wakeups_local: u64,
    /// Wakeups pulled to the waker by wake_affine.
    pub nr_wakeups_affine: u64,
    /// Wakeups for which wake_affine was asked.
    pub nr_wakeups_affine_attempts: u64,
    /// Moves refused: not allowed on the CPU.
    pub nr_failed_migrations_affine: u64,
    /// Moves refused: running.
    pub nr_failed_migrations_running: u64,
    /// Moves refused: cache hot.
    pub nr_failed_migrations_hot: u64,
    /// Moves in spite of being cache hot.
    pub nr_forced_migrations: u64,
    /// Switches away because it slept.
    pub nvcsw: u64,
    /// Switches away while it could run.
    pub nivcsw: u64,
    /// `run_delay` of /proc/PID/schedstat: time spent waiting for a CPU.
    pub run_delay: Nanos,
    /// Times it was given a CPU.
    pub pcount: u64,
}

impl TaskStats {
    /// Wakeups on another CPU than the waker's.
    pub fn nr_wakeups_remote(&self) -> u64 {
        self.nr_wakeups - self.nr_wakeups_local
    }
}

/// A task.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Its fair entity (it has one in every class).
    pub se: SeId,
    /// Policy asked for.
    pub policy: Policy,
    /// Class it is in now (priority inheritance may lift it).
    pub class: Class,
    /// Effective kernel priority: 0..99 real-time (lower is stronger), 100..139 fair.
    pub prio: i32,
    /// Priority without inheritance.
    pub normal_prio: i32,
    /// 120 + nice.
    pub static_prio: i32,
    /// 1..99 for RT policies.
    pub rt_priority: i32,
    /// What it does.
    pub state: TaskState,
    /// Queued?
    pub on_rq: OnRq,
    /// Executing on `cpu` (until the switch away is complete).
    pub on_cpu: bool,
    /// Its CPU.
    pub cpu: CpuId,
    /// Where wakeup placement starts from.
    pub wake_cpu: CpuId,
    /// CPUs it may use.
    pub cpus: MaskId,
    /// How many these are.
    pub nr_cpus_allowed: u32,
    /// Its group.
    pub group: GroupId,
    /// CPU before the previous one, a candidate for wakeups.
    pub recent_used_cpu: CpuId,
    /// How often it switched the task it wakes.
    pub wakee_flips: u32,
    /// Jiffy when `wakee_flips` was last halved.
    pub wakee_flip_decay_ts: u64,
    /// Whom it woke last.
    pub last_wakee: TaskId,
    /// Woken by a remote queue and moved.
    pub sched_remote_wakeup: bool,
    /// SIS_CACHE: since when it sleeps; none: it was not put to sleep.
    pub asleep_since: Option<Nanos>,
    /// SIS_CACHE: for how long its CPU stays hot for it, averaged over its sleeps.
    pub avg_hot_dur: Nanos,
    /// SIS_EMPTY_CFS_RQ sent it to a CPU where its group has no task; being queued there ends that.
    pub to_empty_cfs_rq: bool,
    /// Balancing moves it although cache hot.
    pub sched_task_hot: bool,
    /// Sleeps in I/O.
    pub in_iowait: bool,
    /// Its sleep counts in the load average.
    pub sched_contributes_to_load: bool,
    /// Kernel thread bound to its CPU.
    pub is_per_cpu_kthread: bool,
    /// It is exiting.
    pub exiting: bool,
    /// RT state.
    pub rt: RtEntity,
    /// When it began to wait for a CPU (sched_info); 0: it does not.
    pub last_queued: Nanos,
    /// When it was last given a CPU.
    pub last_arrival: Nanos,
    /// Clamps asked for, [min, max], 0..1024.
    pub uclamp: [u16; 2],
    /// Neighbours in its rq's list of fair tasks.
    pub cfs_tasks_prev: TaskId,
    /// See `cfs_tasks_prev`.
    pub cfs_tasks_next: TaskId,
    /// When it last came to the front of that list, in turns of the rq.
    pub cfs_tasks_turn: u64,
    /// By which turn it stands in the list.
    pub cfs_tasks_placed: u64,
}

impl Task {
    /// Nice value.
    pub fn nice(&self) -> i32 {
        self.static_prio - DEFAULT_PRIO
    }

    /// SCHED_IDLE?
    #[inline]
    pub fn has_idle_policy(&self) -> bool {
        self.policy == Policy::Idle
    }

    /// Queued (and not migrating)?
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.on_rq == OnRq::Queued
    }
}
