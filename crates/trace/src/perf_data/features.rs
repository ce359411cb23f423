//! What perf says of the machine and of itself, and the descriptions of the tracepoints.
//!
//! Source. tools/perf/Documentation/perf.data-file-format.txt @ v6.12.

use super::topology::PerfTopology;
use crate::read::cursor::{ByteOrder, Cursor, text};
use crate::read::formats::Formats;
use crate::read::stats::{Oddity, Place, ReadStats};
use crate::read::trace_file::{CpuSite, TraceInfo};
use crate::trace_dat::{Initial, cmdlines, event_formats, ftrace_events, page_layout};

pub(super) const TRACING_DATA: u32 = 1;
const HOSTNAME: u32 = 3;
const OSRELEASE: u32 = 4;
const VERSION: u32 = 5;
const ARCH: u32 = 6;
const NRCPUS: u32 = 7;
const CMDLINE: u32 = 11;
const CPU_TOPOLOGY: u32 = 13;
const NUMA_TOPOLOGY: u32 = 14;
const CACHE: u32 = 20;

/// No machine has more CPUs.
pub(super) const MAX_CPUS: u32 = 1 << 16;

/// What the features say.
#[derive(Debug, Default)]
pub(super) struct Features {
    host: String,
    release: String,
    arch: String,
    topology: PerfTopology,
}

impl Features {
    /// Takes the data of a feature. `None` if they are cut short.
    pub(super) fn take(
        &mut self,
        feature: u32,
        data: &[u8],
        order: ByteOrder,
        info: &mut TraceInfo,
    ) -> Option<()> {
        let mut cursor = Cursor::new(data, order);
        match feature {
            HOSTNAME => self.host = string(&mut cursor)?,
            OSRELEASE => self.release = string(&mut cursor)?,
            ARCH => self.arch = string(&mut cursor)?,
            VERSION => info.recorder = Some(format!("perf {}", string(&mut cursor)?)),
            NRCPUS => {
                let available = cursor.u32()?;
                if available <= MAX_CPUS {
                    info.nr_cpus = info.nr_cpus.max(available);
                }
            }
            CMDLINE => {
                let mut words = Vec::new();
                for _ in 0..cursor.u32()? {
                    words.push(string(&mut cursor)?);
                }
                info.command = Some(words.join(" "));
            }
            CPU_TOPOLOGY => self.topology.cpus(&mut cursor, info.nr_cpus)?,
            NUMA_TOPOLOGY => self.topology.nodes(&mut cursor)?,
            CACHE => self.topology.caches(&mut cursor)?,
            _ => {}
        }
        Some(())
    }

    /// Where the CPUs sit.
    pub(super) fn sites(&self) -> Vec<CpuSite> {
        self.topology.sites()
    }

    /// The kernel and the machine, in the order of `uname`.
    pub(super) fn uname(&self) -> Option<String> {
        if self.release.is_empty() {
            return None;
        }
        Some(format!(
            "Linux {} {} {}",
            self.host, self.release, self.arch
        ))
    }
}

pub(super) fn string(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.sized_u32().map(text)
}

/// Reads the tracing data: the same parts as those of a trace.dat, without pages.
pub(super) fn tracing_data(
    data: &[u8],
    at: u64,
    formats: &mut Formats,
    info: &mut TraceInfo,
    stats: &mut ReadStats,
) {
    let read = Initial::parse(data).and_then(|(initial, end)| {
        let mut cursor = Cursor::at_offset(data, end as u64, initial.order)?;
        let _ = page_layout(&mut cursor)?;
        ftrace_events(&mut cursor, formats, stats)?;
        event_formats(&mut cursor, formats, stats)?;
        // Kernel symbols and trace_printk formats.
        cursor.sized_u32()?;
        cursor.sized_u32()?;
        // Names came with version 0.6.
        if let Some(names) = cursor.sized_u64() {
            cmdlines(names, &mut info.cmdlines, stats);
        }
        Some(())
    });
    if read.is_none() {
        stats.one(Oddity::Truncated, Place::Byte(at));
    }
}
