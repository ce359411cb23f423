//! What a workload is: tasks, what they do, the objects they share and the groups they are in.
//!
//! Model.       A task runs its phases in order, `loops` times over; a phase runs its events in
//!              order, `loops` times over. Names are resolved: events refer to objects by index.
//! Invariants.  Every id is in range of the table it names. Names of tasks are unique, and so are
//!              those of a task's phases. `groups[0]` is the root group "/"; a parent comes before
//!              its children.
//! Units.       Times as the file has them, in their names: µs, or s for `duration`.
//! Source.      rt-app doc/tutorial.txt and src/rt-app_parse_config.c.

use crate::action::{Action, Launch, Measured, StreamKind};
use crate::cgroup::GroupSpec;
use crate::error::Warning;
use crate::global::Global;
use crate::guest::GuestSpec;
use crate::id::id;

id!(
    /// Names a task of [`Workload::tasks`], of which there may be many instances.
    TaskSpecId
);
id!(
    /// Names a group of [`Workload::groups`].
    GroupIdx
);
id!(
    /// Names a mutex of [`Objects::mutexes`].
    MutexId
);
id!(
    /// Names a condition variable of [`Objects::conds`].
    CondId
);
id!(
    /// Names a barrier of [`Objects::barriers`].
    BarrierId
);
id!(
    /// Names a semaphore of [`Objects::semaphores`].
    SemId
);
id!(
    /// Names a spinlock of [`Objects::spinlocks`].
    SpinlockId
);
id!(
    /// Names a buffer of [`Objects::buffers`].
    BufferId
);

/// The root group.
pub const ROOT_GROUP: GroupIdx = GroupIdx(0);

/// A workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Settings of the whole run.
    pub global: Global,
    /// Task groups, the root first, parents before children.
    pub groups: Vec<GroupSpec>,
    /// Tasks in the order of the file.
    pub tasks: Vec<TaskSpec>,
    /// What tasks share.
    pub objects: Objects,
    /// Virtual machines; their vCPUs' threads are among the tasks.
    pub guests: Vec<GuestSpec>,
    /// What was read but has no effect.
    pub warnings: Vec<Warning>,
}

/// Scheduling policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// SCHED_OTHER.
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_RR.
    Rr,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_DEADLINE.
    Deadline,
}

impl Policy {
    /// All of them, in the order of the tutorial.
    pub const ALL: [Policy; 6] = [
        Policy::Other,
        Policy::Batch,
        Policy::Idle,
        Policy::Rr,
        Policy::Fifo,
        Policy::Deadline,
    ];

    /// The name that files use.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Other => "SCHED_OTHER",
            Policy::Batch => "SCHED_BATCH",
            Policy::Idle => "SCHED_IDLE",
            Policy::Rr => "SCHED_RR",
            Policy::Fifo => "SCHED_FIFO",
            Policy::Deadline => "SCHED_DEADLINE",
        }
    }

    /// A policy of the fair class, the only ones that rt-app puts in task groups?
    pub fn is_fair(self) -> bool {
        matches!(self, Policy::Other | Policy::Batch | Policy::Idle)
    }

    /// SCHED_RR or SCHED_FIFO?
    pub fn is_rt(self) -> bool {
        matches!(self, Policy::Rr | Policy::Fifo)
    }

    /// The priority rt-app sets with the policy when none is given.
    pub fn default_priority(self) -> i32 {
        if self.is_rt() { 10 } else { 0 }
    }
}

/// How often something is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loops {
    /// Until the run ends.
    Forever,
    /// So many times.
    Times(u32),
    /// Again while less time than this has passed since the first time began; programs only.
    For {
        /// How long.
        ns: u64,
    },
}

/// What one kind of task does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSpec {
    /// Its name; threads are called `name-index`.
    pub name: String,
    /// Threads that run it from the start; 0: a template that only forks make.
    pub instances: u32,
    /// When they start, after the start of the run.
    pub delay_us: u32,
    /// How often the phases are run through.
    pub loops: Loops,
    /// What the task starts with. Policy and priority are always stated.
    pub attrs: Attrs,
    /// What it does.
    pub phases: Vec<Phase>,
    /// Timers that each of its threads has for itself.
    pub unique_timers: Vec<TimerSpec>,
    /// How its instances come into being. Those of [`Self::instances`] start with the run.
    pub launch: Launch,
    /// The run does not wait for its end.
    pub background: bool,
}

/// A sequence of events with attributes of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How often it is repeated before the next one.
    pub loops: Loops,
    /// What is set when it begins, as the file states it.
    pub attrs: Attrs,
    /// What it does.
    pub events: Vec<Event>,
}

/// What is set on a task; none: left as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attrs {
    /// Policy.
    pub policy: Option<Policy>,
    /// Nice for the fair policies, 1..=99 for the real-time ones.
    pub priority: Option<i32>,
    /// Parameters of SCHED_DEADLINE; on SCHED_OTHER and SCHED_BATCH the runtime asks for a slice.
    pub deadline: Option<DeadlineParams>,
    /// CPUs it may use.
    pub cpus: Option<Affinity>,
    /// NUMA nodes it takes memory from; not simulated.
    pub nodes_membind: Option<Vec<u32>>,
    /// Utilisation clamp from below, 0..=1024.
    pub util_min: Option<u16>,
    /// Utilisation clamp from above, 0..=1024.
    pub util_max: Option<u16>,
    /// Task group.
    pub group: Option<GroupIdx>,
    /// Bytes of memory it keeps using, beside the buffers of `mem` and `memrun`.
    pub working_set: Option<u64>,
}

impl Attrs {
    /// Sets nothing?
    pub fn is_empty(&self) -> bool {
        *self == Attrs::default()
    }
}

/// CPUs a task may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// Those it was created with.
    Inherited,
    /// These, ascending.
    Cpus(Vec<u32>),
}

/// Parameters of SCHED_DEADLINE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlineParams {
    /// `dl-runtime`.
    pub runtime_us: u32,
    /// `dl-period`.
    pub period_us: u32,
    /// `dl-deadline`.
    pub deadline_us: u32,
}

/// One thing a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A fixed amount of work: this long at the reference speed of the machine.
    Run {
        /// How much.
        us: u32,
    },
    /// Work until so much time has passed.
    Runtime {
        /// How long.
        us: u32,
    },
    /// Sleep.
    Sleep {
        /// How long.
        us: u32,
    },
    /// Sleep to the end of a timer's period.
    Timer {
        /// The timer.
        timer: TimerRef,
        /// Its period.
        period_us: u32,
    },
    /// Use memory (`mem`, `memrun`).
    Memory(MemoryUse),
    /// Write to the I/O device.
    IoRun {
        /// How much.
        bytes: u32,
    },
    /// Lock a mutex.
    Lock(MutexId),
    /// Unlock a mutex.
    Unlock(MutexId),
    /// Wait for a condition.
    Wait {
        /// The condition variable.
        cond: CondId,
        /// The mutex released meanwhile.
        mutex: MutexId,
    },
    /// Wake one waiter.
    Signal(CondId),
    /// Wake all waiters.
    Broadcast(CondId),
    /// Wake one waiter, then wait.
    Sync {
        /// The condition variable.
        cond: CondId,
        /// The mutex released while waiting.
        mutex: MutexId,
    },
    /// Wait until all users of a barrier have come.
    Barrier(BarrierId),
    /// Wait on the condition variable, and under the mutex, of one's own name.
    Suspend {
        /// Named as the task.
        cond: CondId,
        /// Named as the task.
        mutex: MutexId,
    },
    /// Wake all that wait on the condition variable of the name.
    Resume {
        /// Of the name.
        cond: CondId,
        /// Of the name.
        mutex: MutexId,
    },
    /// Add one to a semaphore.
    SemPost(SemId),
    /// Take one from a semaphore.
    SemWait(SemId),
    /// Lock a spinlock of the kernel: what follows runs there, and nothing preempts it until the unlock.
    SpinLock(SpinlockId),
    /// Unlock a spinlock.
    SpinUnlock(SpinlockId),
    /// Call sched_yield().
    Yield,
    /// Start a thread of a task.
    Fork(TaskSpecId),
    /// What programs do and rt-app does not.
    Program(Action),
}

/// A timer as an event names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerRef {
    /// One of [`Objects::timers`], shared by all that name it.
    Shared(u32),
    /// One of [`TaskSpec::unique_timers`], of which each thread has its own.
    Unique(u32),
}

/// How an event uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryUse {
    /// The buffer.
    pub buffer: BufferId,
    /// What is done.
    pub kind: MemoryKind,
    /// Bytes, or hops for [`MemoryKind::Chase`].
    pub count: u32,
}

/// What is done with memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    /// `mem`: memset() from the start of the buffer.
    Set,
    /// Written byte by byte, from its start, wrapping.
    Write,
    /// Read byte by byte, from its start, wrapping.
    Read,
    /// Pointers followed around the buffer; each address depends on the read before.
    Chase,
}

/// What tasks share, by index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Objects {
    /// Names of mutexes.
    pub mutexes: Vec<String>,
    /// Names of condition variables.
    pub conds: Vec<String>,
    /// Barriers.
    pub barriers: Vec<BarrierSpec>,
    /// Names of semaphores.
    pub semaphores: Vec<String>,
    /// Names of spinlocks.
    pub spinlocks: Vec<String>,
    /// Timers that are not unique to a thread.
    pub timers: Vec<TimerSpec>,
    /// Buffers.
    pub buffers: Vec<BufferSpec>,
    /// Streams.
    pub streams: Vec<StreamKind>,
    /// What programs measure.
    pub measured: Measured,
}

/// A barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierSpec {
    /// Its name.
    pub name: String,
    /// References in the file, each times the instances of its task.
    pub users: u32,
}

/// A timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimerSpec {
    /// Its name.
    pub name: String,
    /// Missed periods start it anew; otherwise it keeps its grid.
    pub relative: bool,
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferSpec {
    /// The `ref` that shares it; none: used by the threads of one task.
    pub name: Option<String>,
    /// Size as given in the file.
    pub size: u64,
    /// Bytes between the pointers of a chase; 1 for other uses.
    pub stride: u32,
    /// The chase goes in bit-reversed order, which no prefetcher foresees.
    pub random: bool,
    /// Bytes that are touched: the size, but for a chase whole strides up to a power of two.
    pub footprint: u64,
}
