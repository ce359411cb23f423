//! The parts that describe the recorded kernel: the same in versions 6 and 7, and in the
//! tracing data of perf.
//!
//! Source. trace-cmd.dat.v6(5), trace-cmd.dat.v7(5); tools/perf/util/trace-event-info.c @ v6.12 for
//!         perf's version of it.

use std::collections::BTreeMap;

use super::read_page::PageLayout;
use crate::read::cursor::{ByteOrder, Cursor, text};
use crate::read::formats::Formats;
use crate::read::stats::{Oddity, Place, ReadStats};

/// The first bytes of every trace.dat and of perf's tracing data.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// What stands before everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Initial {
    pub(crate) version: String,
    pub(crate) order: ByteOrder,
    pub(crate) page_size: u32,
}

impl Initial {
    /// Reads it, and says where it ends.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut cursor = Cursor::new(bytes, ByteOrder::Little);
        if cursor.take(MAGIC.len() as u64)? != MAGIC {
            return None;
        }
        let version = text(cursor.zero_terminated()?);
        let order = match cursor.u8()? {
            0 => ByteOrder::Little,
            _ => ByteOrder::Big,
        };
        // The size of a long of the recorder, which nothing here depends on.
        let _ = cursor.u8()?;
        let end = cursor.position() + 4;
        let mut cursor = Cursor::at_offset(bytes, cursor.position() as u64, order)?;
        let page_size = cursor.u32()?;
        Some((
            Self {
                version,
                order,
                page_size,
            },
            end,
        ))
    }
}

/// The kernel's description of its pages; its description of an event's header is the same always.
pub(crate) fn page_layout(cursor: &mut Cursor<'_>) -> Option<Option<PageLayout>> {
    if cursor.take(12)? != b"header_page\0" {
        return None;
    }
    let page = cursor.sized_u64()?;
    if cursor.take(13)? != b"header_event\0" {
        return None;
    }
    cursor.sized_u64()?;
    Some(PageLayout::parse(page))
}

/// The formats of ftrace's own events. `None` if they are cut short.
pub(crate) fn ftrace_events(
    cursor: &mut Cursor<'_>,
    formats: &mut Formats,
    stats: &mut ReadStats,
) -> Option<()> {
    for _ in 0..cursor.u32()? {
        format_file("ftrace", cursor, formats, stats)?;
    }
    Some(())
}

/// The formats of all other events, system by system. `None` if they are cut short.
pub(crate) fn event_formats(
    cursor: &mut Cursor<'_>,
    formats: &mut Formats,
    stats: &mut ReadStats,
) -> Option<()> {
    for _ in 0..cursor.u32()? {
        let system = text(cursor.zero_terminated()?);
        for _ in 0..cursor.u32()? {
            format_file(&system, cursor, formats, stats)?;
        }
    }
    Some(())
}

fn format_file(
    system: &str,
    cursor: &mut Cursor<'_>,
    formats: &mut Formats,
    stats: &mut ReadStats,
) -> Option<()> {
    let place = Place::Byte(cursor.position() as u64);
    let file = cursor.sized_u64()?;
    formats.add_text(system, file, stats, place);
    Some(())
}

/// `pid comm` lines.
pub(crate) fn cmdlines(lines: &[u8], names: &mut BTreeMap<i32, String>, stats: &mut ReadStats) {
    for line in String::from_utf8_lossy(lines).lines() {
        let line = line.trim_end_matches('\0');
        let pid = line.split_once(' ').map(|(pid, comm)| (pid.parse(), comm));
        match pid {
            Some((Ok(pid), comm)) => {
                names.insert(pid, comm.to_owned());
            }
            _ if line.is_empty() => {}
            _ => stats.one(Oddity::Undecodable, Place::File),
        }
    }
}
