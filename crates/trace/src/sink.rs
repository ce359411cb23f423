//! What a producer of events calls, and what it announces first.
//!
//! Model.       Names are announced once, under numbers the producer chooses; events carry the
//!              numbers.
//! Invariants.  A number is announced before an event uses it. Announcing it again replaces what it
//!              stood for, from then on: that is how a task changes its name, or a number is used
//!              again. On one CPU, `ts` never goes back. A producer that breaks these has a bug:
//!              the sink panics, naming the number.

use std::io;

use crate::event::Event;

/// The number of the root group, `/`, which need not be announced.
pub const ROOT_GROUP: u32 = 0;

/// What a trace says about the machine and the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How many CPUs the machine has.
    pub nr_cpus: u32,
    /// The release whose scheduler ran, such as `6.12`.
    pub kernel: String,
    /// The name of the machine.
    pub machine: String,
    /// Ticks a second.
    pub hz: u32,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its thread id.
    pub pid: u32,
    /// The id of its process: the `pid` of the process's first thread.
    pub tgid: u32,
    /// Its name. As in the kernel, the first 15 bytes count.
    pub comm: String,
    /// Its task group.
    pub group: u32,
}

/// A task group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// Its cgroup path, such as `/web/worker`. At most 1 024 bytes are written.
    pub path: String,
}

/// A number that changes over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its name, such as `nr_running`.
    pub name: String,
    /// What it counts.
    pub unit: CounterUnit,
    /// What it belongs to.
    pub scope: CounterScope,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Things.
    Count,
    /// Nanoseconds.
    Nanos,
}

/// What a counter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterScope {
    /// The whole machine.
    Machine,
    /// One CPU.
    Cpu(u32),
    /// One task group, which has been announced.
    Group(u32),
}

/// A guest whose own trace is written beside this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestInfo {
    /// Its name.
    pub name: String,
    /// The session number of its trace.
    pub trace_id: u64,
    /// `[vcpu]`: the thread ids of its vCPUs.
    pub vcpus: Vec<u32>,
}

/// A trace being written.
///
/// After an error, the sink is of no more use: drop it, and what it had written goes away.
pub trait TraceSink {
    /// Announces a task.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn task(&mut self, id: u32, info: &TaskInfo) -> io::Result<()>;

    /// Announces a task group.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn group(&mut self, id: u32, info: &GroupInfo) -> io::Result<()>;

    /// Announces a counter.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn counter(&mut self, id: u32, info: &CounterInfo) -> io::Result<()>;

    /// Writes an event.
    ///
    /// # Errors
    /// When the trace cannot be written.
    ///
    /// # Panics When the event names a number that was not announced, a CPU that the machine does
    /// not have, or a time before the last one on its CPU.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Gives the trace a session number; `host`: it is a guest's, on the clock of the host with that number. Formats that
    /// tie no traces together leave it out.
    fn session(&mut self, _trace_id: u64, _host: Option<u64>) {}

    /// Tells of a guest. Formats that tie no traces together leave it out.
    fn guest(&mut self, _info: &GuestInfo) {}

    /// A sink for a guest's events in this same trace, under a number above 0 that no other guest there has. None: a trace
    /// of this format is of one machine. The file gets its name when this sink and those of all guests have finished.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn guest_sink(
        &self,
        _machine_id: u32,
        _header: &Header,
    ) -> io::Result<Option<Box<dyn TraceSink>>> {
        Ok(None)
    }

    /// Ends the trace and gives the file its name.
    ///
    /// # Errors
    /// When the trace cannot be written; nothing is left behind then.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
