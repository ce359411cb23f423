//! One scheduling event, as the kernel's tracepoints tell it.
//!
//! Model.       An event happens at a time, on a CPU, while a task runs there. Tasks, groups and
//!              counters are small numbers announced to the sink beforehand, so that an event is
//!              `Copy` and costs no allocation.
//! Units.       `ts` and durations in nanoseconds; `prio` as tracepoints print it: 120 is nice 0,
//!              the idle task is 120, an RT task is 99 - rt_priority.
//! Source.      include/trace/events/sched.h, power.h, cgroup.h @ v6.12: the names and the fields.
//! Deviations.  `CfsThrottle`, `CfsUnthrottle`, `SchedSetNeedResched` and `Counter` have no
//!              tracepoint in v6.12; they are written under the system `fairwind` where a format
//!              has systems.

/// The task number that stands for the idle task of whichever CPU is meant.
pub const SWAPPER: u32 = u32::MAX;

/// The `state` of a [`EventKind::CpuIdle`] that says the CPU left idle.
pub const PWR_EVENT_EXIT: u32 = u32::MAX;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds. Never goes back on one CPU.
    pub ts: u64,
    /// The CPU on which it happened.
    pub cpu: u32,
    /// The task running there, or [`SWAPPER`].
    pub task: u32,
    /// What the CPU was doing for it.
    pub context: Context,
    /// Whether that CPU had been asked to reschedule.
    pub need_resched: bool,
    /// What happened.
    pub kind: EventKind,
}

impl Event {
    /// An event in task context on a CPU that nobody has asked to reschedule.
    #[must_use]
    pub const fn new(ts: u64, cpu: u32, task: u32, kind: EventKind) -> Self {
        Self {
            ts,
            cpu,
            task,
            context: Context::Task,
            need_resched: false,
            kind,
        }
    }
}

/// What a CPU was doing when the event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// Running the task.
    #[default]
    Task,
    /// In a softirq, which runs on top of the task.
    SoftIrq,
    /// In an interrupt, which runs on top of the task.
    HardIrq,
}

/// What happened, with the tracepoint's own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU changed from one task to another.
    SchedSwitch {
        /// Who ran.
        prev: u32,
        /// Its priority.
        prev_prio: i32,
        /// Why it stopped.
        prev_state: TaskState,
        /// Who runs now.
        next: u32,
        /// Its priority.
        next_prio: i32,
    },
    /// A wakeup begins.
    SchedWaking {
        /// Who is woken.
        task: u32,
        /// Its priority.
        prio: i32,
        /// The CPU it last ran on, before another is chosen.
        target_cpu: u32,
    },
    /// A woken task is runnable.
    SchedWakeup {
        /// Who is woken.
        task: u32,
        /// Its priority.
        prio: i32,
        /// The CPU it was placed on.
        target_cpu: u32,
    },
    /// A forked task is runnable for the first time.
    SchedWakeupNew {
        /// The new task.
        task: u32,
        /// Its priority.
        prio: i32,
        /// The CPU it was placed on.
        target_cpu: u32,
    },
    /// A task changes CPU.
    SchedMigrateTask {
        /// Who moves.
        task: u32,
        /// Its priority.
        prio: i32,
        /// From where.
        orig_cpu: u32,
        /// To where.
        dest_cpu: u32,
    },
    /// A task forks another.
    SchedProcessFork {
        /// Who forks.
        parent: u32,
        /// The new task.
        child: u32,
    },
    /// A task executes another program; its new name is its `comm`.
    SchedProcessExec {
        /// Who.
        task: u32,
    },
    /// A task begins to exit.
    SchedProcessExit {
        /// Who.
        task: u32,
        /// Its priority.
        prio: i32,
    },
    /// Running time was charged to a task.
    SchedStatRuntime {
        /// Who.
        task: u32,
        /// How much, in nanoseconds.
        runtime: u64,
    },
    /// The local timer interrupt: the tick, or a high-resolution timer.
    LocalTimerEntry,
    /// A task moves to another task group.
    CgroupAttachTask {
        /// Who.
        task: u32,
        /// Where to.
        group: u32,
    },
    /// The CPU enters an idle state, or leaves idle.
    CpuIdle {
        /// The state, or [`PWR_EVENT_EXIT`].
        state: u32,
    },
    /// A group's queue on one CPU has run out of quota.
    CfsThrottle {
        /// The group.
        group: u32,
        /// The CPU of the queue.
        target_cpu: u32,
        /// What the queue has left, in nanoseconds: zero or less.
        runtime_remaining: i64,
    },
    /// A group's queue on one CPU may run again.
    CfsUnthrottle {
        /// The group.
        group: u32,
        /// The CPU of the queue.
        target_cpu: u32,
        /// How long it was throttled, in nanoseconds.
        throttled_ns: u64,
    },
    /// A CPU is asked to reschedule.
    SchedSetNeedResched {
        /// Who runs on the CPU that is asked.
        task: u32,
        /// The CPU that is asked.
        target_cpu: u32,
    },
    /// A counter has a new value.
    Counter {
        /// Which.
        counter: u32,
        /// The value.
        value: i64,
    },
}

/// The state in which a task leaves the CPU: the `prev_state` of `sched_switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Runnable, and gave the CPU up by itself.
    Running,
    /// Runnable, and was preempted.
    Preempted,
    /// Sleeps until woken or signalled.
    Sleeping,
    /// Sleeps until woken.
    DiskSleep,
    /// Stopped by a signal.
    Stopped,
    /// Stopped by a tracer.
    Traced,
    /// Gone.
    Dead,
    /// Gone, and waits for its parent to notice.
    Zombie,
    /// A parked kernel thread.
    Parked,
    /// Sleeps without counting as load.
    Idle,
}

impl TaskState {
    /// The number the tracepoint records.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Running => 0,
            Self::Sleeping => 0x01,
            Self::DiskSleep => 0x02,
            Self::Stopped => 0x04,
            Self::Traced => 0x08,
            Self::Dead => 0x10,
            Self::Zombie => 0x20,
            Self::Parked => 0x40,
            Self::Idle => 0x80,
            Self::Preempted => 0x100,
        }
    }

    /// The letters the tracepoint prints.
    #[must_use]
    pub const fn letters(self) -> &'static str {
        match self {
            Self::Running => "R",
            Self::Preempted => "R+",
            Self::Sleeping => "S",
            Self::DiskSleep => "D",
            Self::Stopped => "T",
            Self::Traced => "t",
            Self::Dead => "X",
            Self::Zombie => "Z",
            Self::Parked => "P",
            Self::Idle => "I",
        }
    }
}

/// The interrupt number that x86-64 gives to the local timer.
pub(crate) const LOCAL_TIMER_VECTOR: u32 = 236;

/// What every ftrace record says of its surroundings.
///
/// Deviations. Nothing here models locks: interrupts off and the preemption depth are the commonest
/// ones that a v6.12 kernel records with this kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommonFields {
    /// `common_flags`, in the kernel's bits.
    pub(crate) flags: u8,
    /// `common_preempt_count`.
    pub(crate) preempt_count: u8,
}

impl CommonFields {
    pub(crate) const IRQS_OFF: u8 = 0x01;
    pub(crate) const NEED_RESCHED: u8 = 0x04;
    pub(crate) const HARDIRQ: u8 = 0x08;
    pub(crate) const SOFTIRQ: u8 = 0x10;
    pub(crate) const PREEMPT_RESCHED: u8 = 0x20;

    pub(crate) const fn of(event: &Event) -> Self {
        let (irqs_off, preempt_count) = match event.kind {
            EventKind::SchedSwitch { .. }
            | EventKind::SchedWakeupNew { .. }
            | EventKind::SchedMigrateTask { .. }
            | EventKind::CfsThrottle { .. }
            | EventKind::CfsUnthrottle { .. }
            | EventKind::SchedSetNeedResched { .. } => (true, 2),
            EventKind::SchedStatRuntime { .. } => match event.context {
                Context::HardIrq => (true, 1),
                Context::Task | Context::SoftIrq => (true, 2),
            },
            EventKind::SchedWaking { .. } => (true, 3),
            EventKind::SchedWakeup { .. } => (true, 4),
            EventKind::CpuIdle { .. } | EventKind::Counter { .. } => (true, 1),
            EventKind::LocalTimerEntry => (true, 0),
            EventKind::SchedProcessFork { .. }
            | EventKind::SchedProcessExec { .. }
            | EventKind::SchedProcessExit { .. }
            | EventKind::CgroupAttachTask { .. } => (false, 0),
        };
        let context = match (event.kind, event.context) {
            (EventKind::LocalTimerEntry, _) | (_, Context::HardIrq) => Self::HARDIRQ,
            (_, Context::SoftIrq) => Self::SOFTIRQ,
            (_, Context::Task) => 0,
        };
        let resched = if event.need_resched {
            Self::NEED_RESCHED | Self::PREEMPT_RESCHED
        } else {
            0
        };
        let irqs = if irqs_off { Self::IRQS_OFF } else { 0 };
        Self {
            flags: irqs | context | resched,
            preempt_count,
        }
    }
}
