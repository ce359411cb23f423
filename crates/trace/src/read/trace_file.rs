//! A trace that was read: what it says of the recording, and the way to its events.

use std::collections::BTreeMap;

use super::content::Content;
use super::events::Events;
use super::formats::Formats;
use super::stats::ReadStats;
use super::time_shift::TimeShift;

/// Which format a trace was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceKind {
    /// `trace.dat`, version 6.
    TraceDat6,
    /// `trace.dat`, version 7.
    TraceDat7,
    /// `perf.data` as a file.
    PerfData,
    /// `perf.data` as it goes through a pipe.
    PerfPipe,
    /// Text of ftrace or of `trace-cmd report`.
    FtraceText,
    /// Text of `perf script`.
    PerfScript,
}

impl TraceKind {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TraceDat6 => "trace-cmd, version 6",
            Self::TraceDat7 => "trace-cmd, version 7",
            Self::PerfData => "perf.data",
            Self::PerfPipe => "perf.data from a pipe",
            Self::FtraceText => "ftrace text",
            Self::PerfScript => "perf script text",
        }
    }

    /// Whether time stamps may be rounded to microseconds.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::FtraceText | Self::PerfScript)
    }
}

/// A guest that was recorded beside its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guest {
    /// Its name.
    pub name: String,
    /// The session that recorded it: the `trace_id` of its own trace.
    pub trace_id: u64,
    /// Its CPUs, each with the thread id of the host task that runs it.
    pub vcpus: Vec<(u32, i32)>,
}

/// What a ring buffer counted over the whole recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// The CPU.
    pub cpu: u32,
    /// Events left in the buffer.
    pub entries: u64,
    /// Events overwritten before they were read.
    pub overrun: u64,
    /// Events lost because a writer was interrupted too deeply.
    pub commit_overrun: u64,
    /// Events that found the buffer full.
    pub dropped_events: u64,
    /// Events read out.
    pub read_events: u64,
}

/// Where a CPU sits, by the numbers that its system gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSite {
    /// Its package.
    pub package: u32,
    /// Its core, within the package.
    pub core: u32,
    /// The first CPU of those with the same last-level cache, where caches are told.
    pub llc: Option<u32>,
    /// Its NUMA node.
    pub node: u32,
}

/// What a trace says of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// How many CPUs the machine has: at least one more than the highest that had an event.
    pub nr_cpus: u32,
    /// `[cpu]`: where each CPU sits; empty where the trace does not tell.
    pub sites: Vec<CpuSite>,
    /// The clock, by the kernel's name for it.
    pub clock: Option<String>,
    /// The name each thread id had when the recording ended.
    pub cmdlines: BTreeMap<i32, String>,
    /// The process of each thread, where the trace tells.
    pub tgids: BTreeMap<i32, i32>,
    /// The kernel and the machine, as `uname` tells them.
    pub uname: Option<String>,
    /// Who recorded: the tool and its version.
    pub recorder: Option<String>,
    /// The command line of the recorder.
    pub command: Option<String>,
    /// The number of the session, which ties the traces of host and guests together.
    pub trace_id: Option<u64>,
    /// The guests recorded with this host.
    pub guests: Vec<Guest>,
    /// How this guest's time became the host's; it has been applied.
    pub time_shift: Option<TimeShift>,
    /// The names of the buffers; the first is the top one and has none.
    pub buffers: Vec<String>,
    /// What the ring buffers counted, for each CPU that told.
    pub cpu_stats: Vec<CpuStat>,
}

impl TraceInfo {
    /// Makes room for a CPU that had an event.
    pub(crate) fn has_cpu(&mut self, cpu: u32) {
        self.nr_cpus = self.nr_cpus.max(cpu + 1);
    }
}

/// A trace, held in memory.
#[derive(Debug)]
pub struct TraceFile {
    pub(crate) kind: TraceKind,
    pub(crate) info: TraceInfo,
    pub(crate) formats: Formats,
    pub(crate) stats: ReadStats,
    pub(crate) content: Content,
}

impl TraceFile {
    /// The format it was read from.
    #[must_use]
    pub const fn kind(&self) -> TraceKind {
        self.kind
    }

    /// What it says of the recording.
    #[must_use]
    pub const fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// The events that it can hold.
    #[must_use]
    pub const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// What was odd when it was opened. Records are looked at when they are handed out:
    /// [`Events::stats`] tells all.
    #[must_use]
    pub const fn stats(&self) -> &ReadStats {
        &self.stats
    }

    /// Its events by time; those of one time by CPU, those of one CPU as they stand there.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        Events::new(self)
    }

    /// Reads every event and tells what was odd.
    #[must_use]
    pub fn check(&self) -> ReadStats {
        let mut events = self.events();
        events.by_ref().for_each(drop);
        events.stats()
    }
}
