//! Version 6: one part after another, the place of the pages last.
//!
//! Source. trace-cmd.dat.v6(5), and what trace-cmd 3.1 reads.

use super::read::Draft;
use super::read_clock::chosen_clock;
use super::read_options::{DONE, MAX_CPUS};
use super::read_tables;
use crate::read::cursor::{Cursor, text};
use crate::read::stats::{Oddity, Place};

/// Reads everything after the initial header, which ends at `start`.
pub(super) fn read(draft: &mut Draft<'_>, start: usize) {
    let Some(mut cursor) = Cursor::at_offset(draft.bytes, start as u64, draft.order) else {
        return;
    };
    if tables(draft, &mut cursor).is_none() {
        let place = Place::Byte(cursor.position() as u64);
        draft.stats.one(Oddity::Truncated, place);
    }
}

/// `None` where the file ends too early.
fn tables(draft: &mut Draft<'_>, cursor: &mut Cursor<'_>) -> Option<()> {
    match read_tables::page_layout(cursor)? {
        Some(layout) => draft.layout = layout,
        None => draft
            .stats
            .one(Oddity::BadFormat, Place::Byte(cursor.position() as u64)),
    }
    read_tables::ftrace_events(cursor, &mut draft.formats, &mut draft.stats)?;
    read_tables::event_formats(cursor, &mut draft.formats, &mut draft.stats)?;
    // Kernel symbols and trace_printk formats.
    cursor.sized_u32()?;
    cursor.sized_u32()?;
    let names = cursor.sized_u64()?;
    read_tables::cmdlines(names, &mut draft.info.cmdlines, &mut draft.stats);
    let nr_cpus = cursor.u32()?;
    let mut what = cursor.take(10)?;
    if what == b"options  \0" {
        options(draft, cursor)?;
        what = cursor.take(10)?;
    }
    // An option can know better: some recorders leave the offsets of other CPUs behind it.
    let nr_cpus = draft.options.cpu_count.unwrap_or(nr_cpus);
    draft.set_nr_cpus(nr_cpus);
    match what {
        b"flyrecord\0" => {
            pages(draft, cursor, nr_cpus, 0)?;
            if draft.options.has_clock_option && draft.info.clock.is_none() {
                let list = cursor.sized_u64().map(text);
                draft.info.clock = list.as_deref().and_then(chosen_clock).map(str::to_owned);
            }
        }
        b"latency  \0" => draft.text = Some(cursor.rest().to_vec()),
        _ => draft
            .stats
            .one(Oddity::BadSection, Place::Byte(cursor.position() as u64)),
    }
    instances(draft, nr_cpus);
    Some(())
}

fn options(draft: &mut Draft<'_>, cursor: &mut Cursor<'_>) -> Option<()> {
    loop {
        let id = cursor.u16()?;
        if id == DONE {
            return Some(());
        }
        let data = Cursor::new(cursor.sized_u32()?, cursor.order());
        draft
            .options
            .take(id, data, &mut draft.info, &mut draft.stats);
    }
}

/// Offset and size of the pages of each CPU.
fn pages(draft: &mut Draft<'_>, cursor: &mut Cursor<'_>, nr_cpus: u32, buffer: u16) -> Option<()> {
    let place = Place::Byte(cursor.position() as u64);
    if !draft.claim(u64::from(nr_cpus) * 16, place) {
        return None;
    }
    for cpu in 0..nr_cpus.min(MAX_CPUS) {
        let (at, size) = (cursor.u64()?, cursor.u64()?);
        draft.add_pages(cpu, buffer, at, size);
    }
    Some(())
}

/// The buffers besides the top one: each option has the place of the offsets, and a name.
fn instances(draft: &mut Draft<'_>, nr_cpus: u32) {
    for option in std::mem::take(&mut draft.options.buffers) {
        let mut option = Cursor::new(&option, draft.order);
        let (Some(at), Some(name)) = (option.u64(), option.zero_terminated()) else {
            draft.stats.one(Oddity::Undecodable, Place::File);
            continue;
        };
        let buffer = draft.info.buffers.len().min(u16::MAX.into()) as u16;
        draft.info.buffers.push(text(name));
        let place = Place::Byte(at);
        let offsets = Cursor::at_offset(draft.bytes, at, draft.order).and_then(|mut cursor| {
            let what = cursor.take(10)?;
            (what == b"flyrecord\0").then_some(cursor)
        });
        let Some(mut offsets) = offsets else {
            draft.stats.one(Oddity::BadSection, place);
            continue;
        };
        if pages(draft, &mut offsets, nr_cpus, buffer).is_none() {
            draft.stats.one(Oddity::Truncated, place);
        }
    }
}
