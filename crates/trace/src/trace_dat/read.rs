//! Reads a trace.dat.

use super::read_options::{MAX_CPUS, Options};
use super::read_page::{CpuPages, PageLayout};
use super::read_tables::Initial;
use super::{read_v6, read_v7};
use crate::ftrace_text;
use crate::read::content::Content;
use crate::read::cursor::ByteOrder;
use crate::read::error::ReadError;
use crate::read::formats::Formats;
use crate::read::stats::{Oddity, Place, ReadStats};
use crate::read::trace_file::{TraceFile, TraceInfo, TraceKind};

/// What has been read of a file so far.
pub(super) struct Draft<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: ByteOrder,
    pub(super) page_size: usize,
    pub(super) layout: PageLayout,
    pub(super) info: TraceInfo,
    pub(super) formats: Formats,
    pub(super) stats: ReadStats,
    pub(super) options: Options,
    pub(super) cpus: Vec<CpuPages>,
    /// What was decompressed.
    pub(super) unpacked: Vec<Vec<u8>>,
    /// How many bytes of the file have been given a meaning.
    claimed: u64,
    /// The text that a latency tracer leaves instead of pages.
    pub(super) text: Option<Vec<u8>>,
}

impl Draft<'_> {
    /// Notes that some bytes of the file have been given a meaning. `false` if that makes more than
    /// there are, for parts of a file do not overlap: one that says they do, many times over, would
    /// be read for ever.
    pub(super) fn claim(&mut self, len: u64, place: Place) -> bool {
        self.claimed = self.claimed.saturating_add(len);
        let fits = self.claimed <= self.bytes.len() as u64;
        if !fits {
            self.stats.one(Oddity::BadSection, place);
        }
        fits
    }

    /// Takes the page size that the file tells, if a page can have it.
    pub(super) fn take_page_size(&mut self, size: u32, place: Place) {
        if (512..=1 << 24).contains(&size) {
            self.page_size = size as usize;
        } else {
            self.stats.one(Oddity::BadPage, place);
        }
    }

    /// Takes the pages of a CPU that are in the file itself.
    pub(super) fn add_pages(&mut self, cpu: u32, buffer: u16, at: u64, size: u64) {
        let whole = self.bytes.len() as u64;
        let end = at.saturating_add(size);
        if size == 0 {
            return;
        }
        if end > whole {
            self.stats.one(Oddity::Truncated, Place::Cpu(cpu));
        }
        let range = at.min(whole) as usize..end.min(whole) as usize;
        if !self.claim(range.len() as u64, Place::Byte(at)) {
            return;
        }
        self.add_cpu(cpu, buffer, 0, range);
    }

    /// Takes the pages of a CPU, of which the last may be cut.
    pub(super) fn add_cpu(
        &mut self,
        cpu: u32,
        buffer: u16,
        memory: usize,
        range: std::ops::Range<usize>,
    ) {
        if cpu >= MAX_CPUS {
            self.stats.one(Oddity::BadCpu, Place::File);
            return;
        }
        if range.is_empty() {
            return;
        }
        self.info.has_cpu(cpu);
        self.cpus.push(CpuPages {
            cpu,
            buffer,
            memory,
            range,
            page_size: self.page_size,
            layout: self.layout,
        });
    }

    pub(super) fn set_nr_cpus(&mut self, nr_cpus: u32) {
        if nr_cpus <= MAX_CPUS {
            self.info.nr_cpus = self.info.nr_cpus.max(nr_cpus);
        } else {
            self.stats.one(Oddity::BadCpu, Place::File);
        }
    }
}

/// Reads a trace.dat.
///
/// # Errors
/// When it is cut off before the descriptions of its events, or is of another version.
pub(crate) fn read(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
    let whole = bytes.len() as u64;
    let cut = |missing| ReadError::CutOff {
        format: "trace.dat",
        len: whole,
        missing,
    };
    let (initial, end) = Initial::parse(&bytes).ok_or(cut("its header"))?;
    let mut draft = Draft {
        bytes: &bytes,
        order: initial.order,
        page_size: 4096,
        layout: PageLayout::USUAL,
        info: TraceInfo {
            buffers: vec![String::new()],
            ..TraceInfo::default()
        },
        formats: Formats::default(),
        stats: ReadStats::default(),
        options: Options::default(),
        cpus: Vec::new(),
        unpacked: Vec::new(),
        claimed: 0,
        text: None,
    };
    draft.take_page_size(initial.page_size, Place::Byte(end as u64));
    let kind = match initial.version.as_str() {
        "6" => {
            read_v6::read(&mut draft, end);
            TraceKind::TraceDat6
        }
        "7" => {
            read_v7::read(&mut draft, end);
            TraceKind::TraceDat7
        }
        _ => {
            return Err(ReadError::Version {
                format: "trace.dat",
                found: initial.version,
                known: "6 and 7",
                mend: "convert it: trace-cmd convert -i FILE -o NEW --file-version 7",
            });
        }
    };
    let Draft {
        order,
        info,
        formats,
        mut stats,
        options,
        cpus,
        unpacked,
        text,
        ..
    } = draft;
    if let Some(text) = text {
        return ftrace_text::read(text).map(|read| TraceFile {
            info: TraceInfo {
                nr_cpus: info.nr_cpus.max(read.info.nr_cpus),
                ..info
            },
            ..read
        });
    }
    if formats.is_empty() {
        return Err(cut("the descriptions of its events"));
    }
    options.check_clock(&info, &mut stats);
    let mut memory = unpacked;
    memory.insert(0, bytes);
    Ok(TraceFile {
        kind,
        info,
        formats,
        stats,
        content: Content::Pages {
            memory,
            cpus,
            time: options.time,
            order,
        },
    })
}
