//! What programs do beyond what an rt-app file can say: system calls on streams, processes, and what they measure.
//!
//! Model.       A stream carries bytes one way, from those that write to those that read. A socket is two of them.
//!              A task creates others one by one, as processes or as threads, and waits for their ends. Clocks,
//!              counters and latencies are what a program itself measures; they cost nothing.
//! Units.       Bytes; work in ns at the machine's reference speed.
//! Source.      pipe(7), unix(7), tcp(7), fork(2), wait(2), pthread_join(3), poll(2).
//! Not here.    When readers and writers are woken (see `runtime/stream`), what a call costs (the machine's).

use crate::id::id;
use crate::spec::TaskSpecId;

id!(
    /// Names a clock of [`Measured::clocks`].
    ClockId
);
id!(
    /// Names a counter of [`Measured::counters`].
    CounterId
);
id!(
    /// Names a latency of [`Measured::latencies`].
    LatencyId
);

/// How many clocks, counters and latencies the tasks of a workload write to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// Clocks, each read at some points of the run.
    pub clocks: u32,
    /// Counters.
    pub counters: u32,
    /// Latencies.
    pub latencies: u32,
}

/// What carries bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// A pipe.
    Pipe,
    /// One direction of a connected pair of Unix stream sockets.
    Unix,
    /// One direction of a TCP connection over loopback.
    Tcp,
}

/// A stream or semaphore as an action names it. Each instance of a task can have its own: that of instance `i` is
/// `first + i / per * step`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRef {
    /// That of instance 0.
    pub first: u32,
    /// So many on for each next one.
    pub step: u32,
    /// So many instances share one; at least 1.
    pub per: u32,
}

impl ObjectRef {
    /// One for all instances.
    pub fn shared(object: u32) -> ObjectRef {
        ObjectRef {
            first: object,
            step: 0,
            per: 1,
        }
    }

    /// Each instance has its own, `step` apart.
    pub fn each(first: u32, step: u32) -> ObjectRef {
        ObjectRef {
            first,
            step,
            per: 1,
        }
    }

    /// That of an instance.
    #[inline]
    pub fn of(self, instance: u32) -> u32 {
        if self.step == 0 {
            return self.first;
        }
        self.first + instance / self.per * self.step
    }
}

/// How a task comes into being, and what it shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Launch {
    /// With the run, as one of rt-app's threads: they share one address space, and begin and end for free.
    #[default]
    WithTheRun,
    /// As a process of its own: with the run, or by the fork() of another task.
    Process,
    /// As a thread of the task that creates it.
    Thread,
}

/// What a latency is counted from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Since {
    /// When the task was last woken, until it ran.
    Wakeup,
    /// [`Action::StartLap`], until now.
    Lap,
}

/// One thing a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Its own work, which takes a little more or less each time.
    Compute {
        /// How much, on average.
        ns: u64,
    },
    /// Reads until so many bytes have come, with as many calls as that takes.
    Read {
        /// From where.
        stream: ObjectRef,
        /// How many.
        bytes: u32,
    },
    /// Writes all of so many bytes with one call.
    Write {
        /// Where to.
        stream: ObjectRef,
        /// How many.
        bytes: u32,
    },
    /// Waits until a stream can be read, and reads nothing.
    Poll(ObjectRef),
    /// Makes the next instance of a task, a child of this one.
    Create(TaskSpecId),
    /// Becomes another program.
    Exec,
    /// Waits until all its children have ended.
    Reap,
    /// Notes the time.
    Stamp(ClockId),
    /// Counts.
    Count {
        /// In which counter.
        counter: CounterId,
        /// How many.
        by: u32,
    },
    /// Adds one to a semaphore.
    Post(ObjectRef),
    /// Takes one from a semaphore.
    Take(ObjectRef),
    /// Takes the next in turn of `count` mutexes, from `first` on.
    Choose {
        /// The first of them.
        first: u32,
        /// How many there are.
        count: u32,
        /// Counts the turns of all tasks.
        turns: CounterId,
    },
    /// Locks the mutex chosen last.
    LockChosen,
    /// Unlocks it.
    UnlockChosen,
    /// Begins what [`Since::Lap`] counts from.
    StartLap,
    /// Adds a latency.
    Record {
        /// To which.
        into: LatencyId,
        /// From when.
        since: Since,
    },
}

/// A kind of system call, by what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A read of a pipe.
    PipeRead,
    /// A write to a pipe.
    PipeWrite,
    /// A receive on a Unix socket.
    UnixReceive,
    /// A send on a Unix socket.
    UnixSend,
    /// A send on a TCP connection.
    TcpSend,
    /// A receive on a TCP connection.
    TcpReceive,
    /// poll().
    Poll,
    /// fork().
    Fork,
    /// clone() of a thread.
    Clone,
    /// exec().
    Exec,
    /// wait().
    Wait,
    /// The end of a process.
    ExitProcess,
    /// The end of a thread.
    ExitThread,
}
