//! Reads a perf.data: where its parts are, and the order of its events.

use std::fs;
use std::path::Path;

use super::attr::Attr;
use super::features::{TRACING_DATA, tracing_data};
use super::records::Records;
use crate::read::content::{Content, IndexEntry};
use crate::read::cursor::{ByteOrder, Cursor};
use crate::read::decompress::Decompressor;
use crate::read::error::ReadError;
use crate::read::stats::{Oddity, Place};
use crate::read::trace_file::{TraceFile, TraceKind};

const MAGIC: &[u8] = b"PERFILE2";
const MAGIC_OTHER_ORDER: &[u8] = b"2ELIFREP";

/// The size that the header of a pipe has; that of a file is larger.
const PIPE_HEADER: u64 = 16;

/// Whether a file begins as a perf.data does.
pub(crate) fn is_perf_data(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_OTHER_ORDER)
}

/// Reads a perf.data.
///
/// # Errors
/// When it is cut off before the descriptions of its events, or has none.
pub(crate) fn read(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
    read_parts(bytes, Vec::new())
}

/// Reads the folder that `perf record --threads` makes: `data`, and `data.0` and so on.
///
/// # Errors
/// The same, and when it is another folder.
pub(crate) fn read_folder(path: &Path) -> Result<TraceFile, ReadError> {
    let first = fs::read(path.join("data")).ok();
    let Some(first) = first.filter(|first| is_perf_data(first)) else {
        return Err(ReadError::Folder {
            path: path.to_owned(),
        });
    };
    let mut numbers = Vec::new();
    for entry in fs::read_dir(path).map_err(ReadError::Io)? {
        let name = entry.map_err(ReadError::Io)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("data."));
        numbers.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    let mut others = Vec::new();
    for number in numbers {
        others.push(fs::read(path.join(format!("data.{number}"))).map_err(ReadError::Io)?);
    }
    read_parts(first, others)
}

fn read_parts(first: Vec<u8>, others: Vec<Vec<u8>>) -> Result<TraceFile, ReadError> {
    let order = if first.starts_with(MAGIC) {
        ByteOrder::Little
    } else {
        ByteOrder::Big
    };
    let cut = |missing| ReadError::CutOff {
        format: "perf.data",
        len: first.len() as u64,
        missing,
    };
    let mut header = Cursor::new(&first, order);
    let _magic = header.u64();
    let header_size = header.u64().ok_or(cut("its header"))?;
    let mut records = Records {
        order,
        ..Records::default()
    };
    records.info.buffers.push(String::new());
    let total: usize = first.len() + others.iter().map(Vec::len).sum::<usize>();
    let mut decompressor = Decompressor::for_file_of(total);
    let mut unpacked = Vec::new();
    let nr_files = 1 + others.len() as u32;
    let mut unpack = |records: &mut Records| {
        if records.packed.is_empty() {
            return;
        }
        let (bytes, whole) = decompressor.unpack_stream(&std::mem::take(&mut records.packed));
        if !whole {
            records.stats.one(Oddity::BadCompression, Place::File);
        }
        records.read(nr_files + unpacked.len() as u32, &bytes, 0, true);
        unpacked.push(bytes);
    };
    let kind = if header_size <= PIPE_HEADER {
        records.read(0, &first, PIPE_HEADER as usize, false);
        TraceKind::PerfPipe
    } else {
        let (start, end) = file(&mut records, &first).ok_or(cut("its header"))?;
        records.read(0, &first[..end], start, false);
        TraceKind::PerfData
    };
    unpack(&mut records);
    for (memory, other) in (1..).zip(&others) {
        records.read(memory, other, 0, false);
        unpack(&mut records);
    }
    if records.formats.is_empty() {
        let whole = records.stats.count(Oddity::Truncated) == 0;
        if whole && !records.attrs.iter().any(|attr| attr.is_tracepoint) {
            return Err(ReadError::NoEvents {
                format: "perf.data",
                line: None,
                mend: "it holds no tracepoints: record with perf sched record, or with \
                       perf record -a -e 'sched:*'",
            });
        }
        return Err(cut(
            "the descriptions of its tracepoints, which perf writes when it ends",
        ));
    }
    let memory: Vec<_> = std::iter::once(first)
        .chain(others)
        .chain(unpacked)
        .collect();
    let index = resolve(&mut records, &memory);
    let clockid = records.attrs.iter().find_map(|attr| attr.clockid);
    let mut info = records.info;
    info.clock = Some(clock_name(clockid).to_owned());
    info.uname = records.features.uname();
    info.sites = records.features.sites();
    Ok(TraceFile {
        kind,
        info,
        formats: records.formats,
        stats: records.stats,
        content: Content::Records {
            memory,
            index,
            order,
        },
    })
}

/// Reads the header of a file, its attributes and its features, and says where its records are.
fn file(records: &mut Records, bytes: &[u8]) -> Option<(usize, usize)> {
    let order = records.order;
    let whole = bytes.len() as u64;
    let mut header = Cursor::at_offset(bytes, 16, order)?;
    let attr_size = header.u64()?;
    let (attrs_at, attrs_size) = (header.u64()?, header.u64()?);
    let (data_at, data_size) = (header.u64()?, header.u64()?);
    let _event_types = (header.u64()?, header.u64()?);
    let mut feature_bits = [0; 4];
    for bits in &mut feature_bits {
        *bits = header.u64()?;
    }
    attrs(records, bytes, attr_size, attrs_at, attrs_size);
    let start = data_at.min(whole);
    let end = if data_size == 0 {
        // Left so by a recorder that was killed.
        records.stats.one(Oddity::Truncated, Place::Byte(data_at));
        whole
    } else {
        data_at.saturating_add(data_size)
    };
    let mut sections = Cursor::at_offset(bytes, end, order);
    for feature in 0..256 {
        if feature_bits[feature as usize / 64] >> (feature % 64) & 1 == 0 || data_size == 0 {
            continue;
        }
        let section = sections.as_mut().and_then(|sections| {
            let (at, size) = (sections.u64()?, sections.u64()?);
            let data = Cursor::at_offset(bytes, at, order)?.take(size)?;
            Some((at, data))
        });
        let read = section.and_then(|(at, data)| {
            let Records {
                formats,
                info,
                stats,
                ..
            } = records;
            if feature == TRACING_DATA {
                tracing_data(data, at, formats, info, stats);
                return Some(());
            }
            records
                .features
                .take(feature, data, order, &mut records.info)
        });
        if read.is_none() {
            records.stats.one(Oddity::Truncated, Place::Byte(end));
        }
    }
    Some((start as usize, end.min(whole) as usize))
}

fn attrs(records: &mut Records, bytes: &[u8], attr_size: u64, at: u64, size: u64) {
    let order = records.order;
    let place = Place::Byte(at);
    // The ids of an attribute stand elsewhere: 16 bytes behind it say where.
    let known = attr_size.checked_sub(16).filter(|size| *size >= 64);
    let section = Cursor::at_offset(bytes, at, order).and_then(|mut cursor| cursor.take(size));
    let (Some(known), Some(section)) = (known, section) else {
        records.stats.one(Oddity::BadSection, place);
        return;
    };
    let mut cursor = Cursor::new(section, order);
    let mut ids_left = bytes.len() as u64;
    while let Some(attr) = cursor.take(known) {
        let ids = cursor.u64().zip(cursor.u64());
        let ids = ids.and_then(|(at, size)| {
            ids_left = ids_left.checked_sub(size)?;
            Cursor::at_offset(bytes, at, order)?.take(size)
        });
        match (Attr::parse(attr, order), ids) {
            (Some(attr), Some(ids)) => records.add_attr(attr, ids),
            _ => records.stats.one(Oddity::BadSection, place),
        }
    }
}

/// Says of every record which event it is, drops those that cannot be read, and puts the rest in
/// order.
fn resolve(records: &mut Records, memory: &[Vec<u8>]) -> Vec<IndexEntry> {
    let Records {
        order,
        formats,
        stats,
        ..
    } = records;
    let id = formats.common().kernel_id;
    let mut index = std::mem::take(&mut records.index);
    index.retain_mut(|entry| {
        let place = Place::Byte(entry.at);
        let record = &memory[entry.memory as usize][entry.at as usize..][..entry.len as usize];
        let kernel_id = order.unsigned(record, id.offset() as usize, id.size() as usize);
        let event = kernel_id.and_then(|kernel_id| formats.of_kernel_id(kernel_id as u32));
        let Some(event) = event else {
            stats.one(Oddity::UnknownEvent, place);
            return false;
        };
        if entry.len < formats.get(event).size() {
            stats.one(Oddity::ShortRecord, place);
            return false;
        }
        entry.event = event.0;
        true
    });
    // Stable, so records of one time and CPU stay in the order of the file.
    index.sort_by_key(|entry| (entry.ts, entry.cpu));
    index
}

/// The kernel's name of a trace clock that counts as the clock of that number does.
const fn clock_name(clockid: Option<i32>) -> &'static str {
    match clockid {
        Some(0) => "realtime",
        Some(1) => "mono",
        Some(4) => "mono_raw",
        Some(7) => "boot",
        Some(11) => "tai",
        _ => "perf",
    }
}
