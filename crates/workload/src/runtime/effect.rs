//! What a run time says to its caller, and what the caller may choose.
//!
//! Units.       Nanoseconds of the caller's clock.

use super::stats::LoopRow;
use super::variation::Variation;
use crate::action::Call;
use crate::spec::{BufferId, MemoryKind, SemId, SpinlockId, TaskSpecId};

/// What a task does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It computes: this much work, as time at the machine's reference speed.
    Run {
        /// How much.
        work_ns: u64,
    },
    /// It computes until a point in time. Time spent preempted counts, because rt-app watches the
    /// wall clock; the task finds the time passed when it is on a CPU. It looks once every
    /// [`RUNTIME_CHUNK_NS`] of work.
    RunTime {
        /// When it stops, at the earliest.
        until_ns: u64,
    },
    /// It uses memory.
    Memory {
        /// What is done.
        kind: MemoryKind,
        /// Bytes, or hops for [`MemoryKind::Chase`].
        count: u32,
        /// The buffer, whose size and layout [`super::Runtime::buffer`] tells.
        buffer: BufferId,
        /// Bytes of it that are touched.
        working_set: u64,
    },
    /// It sleeps until a point in time, which may have passed already.
    SleepUntil(u64),
    /// It sleeps until an [`Effect::Wake`].
    Block,
    /// It makes a system call, which takes CPU time in the kernel. Then it steps again.
    Call {
        /// Which.
        call: Call,
        /// How many bytes are copied.
        bytes: u32,
        /// On which stream.
        stream: Option<u32>,
    },
    /// There is something to read now, in a call that found nothing: it fetches that, wherever it was written. Then it steps
    /// again.
    Fetch {
        /// Which call.
        call: Call,
        /// How many bytes are read.
        bytes: u32,
        /// Of which stream.
        stream: u32,
    },
    /// It sleeps within the call until an [`Effect::WakeFromCall`].
    Wait,
    /// It calls exec(): the kernel may choose another CPU for it. Then it steps again.
    Exec,
    /// It sleeps, uninterruptibly, while a device works.
    Io {
        /// How long.
        ns: u64,
    },
    /// It locks a spinlock, waiting on its CPU if another holds it. Then it steps again, in the kernel and not preemptible.
    SpinLock(SpinlockId),
    /// It unlocks a spinlock.
    SpinUnlock(SpinlockId),
    /// It calls sched_yield().
    Yield,
    /// It changes its attributes, which [`super::Runtime::attrs`] tells. What equals the present state is
    /// no change.
    SetAttrs(AttrsId),
    /// It ends. `step` must not be called for it again.
    Exit,
}

/// Names attributes that a program sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttrsId(pub(super) u32);

/// What a step does to other tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Wake a task that blocked. `sync`: the waker says that it will sleep soon; futexes never do.
    Wake {
        /// Who.
        task: usize,
        /// With the kernel's sync hint?
        sync: bool,
    },
    /// Wake a task that waits, from within a system call that was paid for.
    WakeFromCall {
        /// Who.
        task: usize,
        /// With the kernel's sync hint?
        sync: bool,
    },
    /// A new task came into being and can run. As with fork() it has the attributes of the task
    /// that took the step, changed by [`super::Runtime::initial_attrs`].
    Fork {
        /// The new task.
        task: usize,
        /// What it is.
        spec: TaskSpecId,
    },
    /// Something was put into a virtqueue: add one to the other kernel's semaphore.
    Notify {
        /// This kernel's.
        semaphore: SemId,
    },
    /// While this lasts, `owner` has at least the priority of `donor`, who waits for it or for
    /// somebody who waits for it.
    Boost {
        /// Holds a mutex.
        owner: usize,
        /// Waits for it, perhaps through others.
        donor: usize,
    },
    /// A boost ends.
    Unboost {
        /// Held a mutex.
        owner: usize,
        /// Waited for it.
        donor: usize,
    },
}

/// What a step brought about, in order. The caller clears it.
#[derive(Clone, Default, Debug)]
pub struct Effects {
    /// What happened to others.
    pub list: Vec<Effect>,
    /// Runs through phases that ended, if [`RunOptions::log_loops`] asks for them.
    pub rows: Vec<LoopRow>,
}

impl Effects {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.list.clear();
        self.rows.clear();
    }
}

/// rt-app works this long between two looks at the clock in a `runtime` event.
pub const RUNTIME_CHUNK_NS: u64 = 32_000;

/// Forks of one task after which rt-app gives up.
pub const FORKS_LIMIT: u32 = 1024;

/// What a run depends on beside the workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// When the run starts; delays and timers count from here.
    pub t_zero_ns: u64,
    /// Work of a run through a phase that asks for none, at least 1.
    pub loop_overhead_ns: u64,
    /// How long a device other than /dev/null and /dev/zero takes for a write of nothing.
    pub io_latency_ns: u64,
    /// How fast it takes data, at least 1.
    pub io_bytes_per_ms: u64,
    /// Log as rt-app does: hand out a [`LoopRow`] for each run through a phase, and sum them up.
    pub log_loops: bool,
    /// How much the steps of programs vary. Events of rt-app do not.
    pub variation: Variation,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl Default for RunOptions {
    /// Start at 0, 1 µs a loop, a device with 20 µs and 500 MB/s, no rows, steps of programs that vary as measured.
    fn default() -> Self {
        RunOptions {
            t_zero_ns: 0,
            loop_overhead_ns: 1_000,
            io_latency_ns: 20_000,
            io_bytes_per_ms: 500_000,
            log_loops: false,
            variation: Variation::MEASURED,
            seed: 1,
        }
    }
}
