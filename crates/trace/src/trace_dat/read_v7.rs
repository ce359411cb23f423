//! Version 7: sections, found through chained options, each perhaps compressed.
//!
//! Model.       The first options section is named at the start of the file; each names the next,
//!              and they say where the other sections are. A file that was cut off has lost the
//!              later ones: then the sections are also found one after another from the start, and
//!              the pages of a compressed buffer, which tell where they end, go to the CPUs in
//!              order.
//! Invariants.  No section is read twice, so the chain of options ends.
//! Source.      trace-cmd.dat.v7(5), and what trace-cmd 3.1 reads and writes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::read::Draft;
use super::read_options::{
    BUFFER, BUFFER_TEXT, CMDLINES, DONE, EVENT_FORMATS, FTRACE_EVENTS, HEADER_INFO, MAX_CPUS,
};
use super::read_tables;
use crate::read::cursor::{Cursor, text};
use crate::read::decompress::{Compression, Decompressor};
use crate::read::stats::{Oddity, Place};

/// The section is compressed.
const COMPRESSED: u16 = 1 << 0;

/// The bytes of a section's header.
const SECTION_HEADER: u64 = 16;

/// Reads everything after the initial header, which ends at `start`.
pub(super) fn read(draft: &mut Draft<'_>, start: usize) {
    let bytes = draft.bytes;
    let Some(mut cursor) = Cursor::at_offset(bytes, start as u64, draft.order) else {
        return;
    };
    let algorithm = cursor.zero_terminated().map(text);
    let version = cursor.zero_terminated();
    let (Some(algorithm), Some(_), Some(options_at)) = (algorithm, version, cursor.u64()) else {
        draft
            .stats
            .one(Oddity::Truncated, Place::Byte(start as u64));
        return;
    };
    let mut sections = Sections {
        compression: match algorithm.as_str() {
            "none" => Compression::None,
            "zlib" => Compression::Zlib,
            "zstd" => Compression::Zstd,
            _ => {
                draft
                    .stats
                    .one(Oddity::BadCompression, Place::Byte(start as u64));
                Compression::None
            }
        },
        decompressor: Decompressor::for_file_of(bytes.len()),
        seen: BTreeSet::new(),
    };
    let first_section = cursor.position() as u64;
    let whole_chain = sections.options(draft, options_at);
    let mut places = std::mem::take(&mut draft.options.sections);
    let mut lost_buffer = None;
    if !whole_chain {
        for found in walk(draft, first_section) {
            if found.0 == BUFFER {
                lost_buffer = lost_buffer.or(Some(found.1));
            } else if !places.contains(&found) {
                places.push(found);
            }
        }
    }
    // The layout of a page must be known before the pages.
    for wanted in [HEADER_INFO, EVENT_FORMATS, FTRACE_EVENTS, CMDLINES] {
        for &(id, at) in places.iter().filter(|(id, _)| *id == wanted) {
            sections.table(draft, id, at);
        }
    }
    if let Some(cpus) = draft.options.cpu_count {
        draft.set_nr_cpus(cpus);
    }
    for option in std::mem::take(&mut draft.options.buffers) {
        if sections.buffer(draft, &option).is_none() {
            draft.stats.one(Oddity::Undecodable, Place::File);
        }
    }
    if let Some(at) = lost_buffer.filter(|_| draft.cpus.is_empty()) {
        sections.lost_buffer(draft, at);
    }
    if draft.cpus.is_empty() {
        for option in std::mem::take(&mut draft.options.texts) {
            let place = Cursor::new(&option, draft.order).u64();
            if let Some(data) = place.and_then(|at| sections.data(draft, BUFFER_TEXT, at)) {
                draft.text = Some(data.into_owned());
            }
        }
    }
}

/// What stands before the data of a section.
struct SectionHeader {
    id: u16,
    flags: u16,
    size: u64,
}

fn section_header(cursor: &mut Cursor<'_>) -> Option<SectionHeader> {
    let (id, flags) = (cursor.u16()?, cursor.u16()?);
    // The number of its description, for people.
    let _ = cursor.u32()?;
    let size = cursor.u64()?;
    Some(SectionHeader { id, flags, size })
}

/// The sections that can be found one after another.
fn walk(draft: &Draft<'_>, first: u64) -> Vec<(u16, u64)> {
    let mut found = Vec::new();
    let mut at = first;
    while let Some(mut cursor) = Cursor::at_offset(draft.bytes, at, draft.order) {
        let Some(header) = section_header(&mut cursor) else {
            break;
        };
        found.push((header.id, at));
        match at
            .checked_add(SECTION_HEADER)
            .and_then(|at| at.checked_add(header.size))
        {
            Some(next) => at = next,
            None => break,
        }
    }
    found
}

struct Sections {
    compression: Compression,
    decompressor: Decompressor,
    seen: BTreeSet<u64>,
}

impl Sections {
    /// The data of the section of kind `id` at `at`.
    fn data<'a>(&mut self, draft: &mut Draft<'a>, id: u16, at: u64) -> Option<Cow<'a, [u8]>> {
        let place = Place::Byte(at);
        let header = Cursor::at_offset(draft.bytes, at, draft.order)
            .filter(|_| self.seen.insert(at))
            .and_then(|mut cursor| Some((section_header(&mut cursor)?, cursor)));
        let Some((header, mut cursor)) = header.filter(|(header, _)| header.id == id) else {
            draft.stats.one(Oddity::BadSection, place);
            return None;
        };
        let len = header.size.min(cursor.rest().len() as u64);
        if !draft.claim(SECTION_HEADER + len, place) {
            return None;
        }
        if header.flags & COMPRESSED != 0 {
            let unpacked = self.chunk(&mut cursor);
            if unpacked.is_none() {
                draft.stats.one(Oddity::BadCompression, place);
            }
            return unpacked.map(Cow::Owned);
        }
        Some(Cow::Borrowed(cursor.take(header.size).unwrap_or_else(
            || {
                draft.stats.one(Oddity::Truncated, place);
                cursor.rest()
            },
        )))
    }

    /// Compressed data after its two lengths.
    fn chunk(&mut self, cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
        let (packed_len, len) = (cursor.u32()?, cursor.u32()?);
        let packed = cursor.take(packed_len.into())?;
        self.decompressor.unpack(self.compression, packed, len)
    }

    /// Reads the chain of options sections. Whether it had an end.
    fn options(&mut self, draft: &mut Draft<'_>, first: u64) -> bool {
        let mut at = first;
        loop {
            let Some(data) = self.data(draft, DONE, at) else {
                return false;
            };
            match self.options_in(draft, &data) {
                Some(0) => return true,
                Some(next) => at = next,
                None => {
                    draft.stats.one(Oddity::Truncated, Place::Byte(at));
                    return false;
                }
            }
        }
    }

    /// Takes the options of a section. Gives the place of the next section, 0 after the last.
    fn options_in(&self, draft: &mut Draft<'_>, data: &[u8]) -> Option<u64> {
        let mut cursor = Cursor::new(data, draft.order);
        loop {
            let id = cursor.u16()?;
            let mut option = Cursor::new(cursor.sized_u32()?, draft.order);
            if id == DONE {
                return option.u64();
            }
            draft
                .options
                .take(id, option, &mut draft.info, &mut draft.stats);
        }
    }

    /// Reads a section that describes the kernel.
    fn table(&mut self, draft: &mut Draft<'_>, id: u16, at: u64) {
        let Some(data) = self.data(draft, id, at) else {
            return;
        };
        let mut cursor = Cursor::new(&data, draft.order);
        let read = match id {
            HEADER_INFO => read_tables::page_layout(&mut cursor).map(|layout| match layout {
                Some(layout) => draft.layout = layout,
                None => draft.stats.one(Oddity::BadFormat, Place::Byte(at)),
            }),
            EVENT_FORMATS => {
                read_tables::event_formats(&mut cursor, &mut draft.formats, &mut draft.stats)
            }
            FTRACE_EVENTS => {
                read_tables::ftrace_events(&mut cursor, &mut draft.formats, &mut draft.stats)
            }
            _ => cursor.sized_u64().map(|names| {
                read_tables::cmdlines(names, &mut draft.info.cmdlines, &mut draft.stats);
            }),
        };
        if read.is_none() {
            draft.stats.one(Oddity::Truncated, Place::Byte(at));
        }
    }

    /// Reads a buffer: name, clock, page size, and where the pages of each CPU are.
    fn buffer(&mut self, draft: &mut Draft<'_>, option: &[u8]) -> Option<()> {
        let mut option = Cursor::new(option, draft.order);
        let section = option.u64()?;
        let name = text(option.zero_terminated()?);
        let clock = text(option.zero_terminated()?);
        let number = self.number_of(draft, &name);
        if !clock.is_empty() && (number == 0 || draft.info.clock.is_none()) {
            draft.info.clock = Some(clock);
        }
        draft.take_page_size(option.u32()?, Place::Byte(section));
        let mut header = Cursor::at_offset(draft.bytes, section, draft.order);
        let header = header.as_mut().and_then(section_header);
        let Some(header) = header.filter(|header| header.id == BUFFER) else {
            draft.stats.one(Oddity::BadSection, Place::Byte(section));
            return Some(());
        };
        for _ in 0..option.u32()? {
            let (cpu, at, size) = (option.u32()?, option.u64()?, option.u64()?);
            if header.flags & COMPRESSED == 0 {
                draft.add_pages(cpu, number, at, size);
            } else if size > 0 {
                let data = Cursor::at_offset(draft.bytes, at, draft.order);
                match data.filter(|_| self.seen.insert(at)) {
                    Some(mut data) => self.packed_cpu(draft, cpu, number, &mut data),
                    None => draft.stats.one(Oddity::Truncated, Place::Cpu(cpu)),
                }
            }
        }
        Some(())
    }

    /// Reads the pages of a compressed buffer without the option that says where they are.
    fn lost_buffer(&mut self, draft: &mut Draft<'_>, section: u64) {
        let Some(mut cursor) = Cursor::at_offset(draft.bytes, section, draft.order) else {
            return;
        };
        if section_header(&mut cursor).is_none_or(|header| header.flags & COMPRESSED == 0) {
            return;
        }
        // The pages of each CPU begin at a multiple of the page size.
        let mut at = cursor.position().next_multiple_of(draft.page_size);
        let most = draft.options.cpu_count.unwrap_or(MAX_CPUS).min(MAX_CPUS);
        for cpu in 0..most {
            let data = Cursor::at_offset(draft.bytes, at as u64, draft.order);
            let Some(mut data) = data.filter(|data| !data.rest().is_empty()) else {
                break;
            };
            let found = draft.unpacked.len();
            self.packed_cpu(draft, cpu, 0, &mut data);
            if draft.unpacked.len() == found {
                break;
            }
            draft.stats.one(Oddity::CpuGuessed, Place::Cpu(cpu));
            at = data.position().next_multiple_of(draft.page_size);
        }
    }

    fn number_of(&self, draft: &mut Draft<'_>, name: &str) -> u16 {
        if name.is_empty() {
            return 0;
        }
        draft.info.buffers.push(name.to_owned());
        (draft.info.buffers.len() - 1).min(u16::MAX.into()) as u16
    }

    /// Unpacks the pages of one CPU, leaving the cursor behind them.
    fn packed_cpu(&mut self, draft: &mut Draft<'_>, cpu: u32, buffer: u16, data: &mut Cursor<'_>) {
        let mut pages = Vec::new();
        let place = Place::Byte(data.position() as u64);
        let chunks = data.u32();
        for _ in 0..chunks.unwrap_or(0) {
            let header = data.u32().zip(data.u32());
            let Some((packed_len, len)) = header else {
                draft.stats.one(Oddity::Truncated, place);
                break;
            };
            let Some(packed) = data.take(packed_len.into()) else {
                draft.stats.one(Oddity::Truncated, place);
                break;
            };
            if !draft.claim(8 + packed.len() as u64, place) {
                break;
            }
            match self.decompressor.unpack(self.compression, packed, len) {
                Some(unpacked) => pages.extend_from_slice(&unpacked),
                None => draft.stats.one(Oddity::BadCompression, place),
            }
        }
        if chunks.is_none() {
            draft.stats.one(Oddity::Truncated, place);
        }
        if !pages.is_empty() {
            draft.unpacked.push(pages);
            let len = draft.unpacked.last().map_or(0, Vec::len);
            // The file itself is memory 0.
            draft.add_cpu(cpu, buffer, draft.unpacked.len(), 0..len);
        }
    }
}
