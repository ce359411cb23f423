//! Record after record.
//!
//! Model.       Samples go into an index; news of names and losses are noted; compressed records
//!              are pieces of one stream, put together and read as records of their own afterwards.
//! Invariants.  Every record moves on by at least its header of 8 bytes. What has been decompressed
//!              is not decompressed again.
//! Source.      include/uapi/linux/perf_event.h and tools/lib/perf/include/perf/event.h @ v6.12.

use std::collections::BTreeMap;

use super::attr::Attr;
use super::features::{Features, MAX_CPUS, tracing_data};
use crate::read::content::IndexEntry;
use crate::read::cursor::{ByteOrder, Cursor, text};
use crate::read::formats::Formats;
use crate::read::stats::{Oddity, Place, ReadStats};
use crate::read::trace_file::TraceInfo;

/// Types of records: the kernel's own,
const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
/// the last of them,
const LAST_KERNEL: u32 = 21;
/// and those of perf.
const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const AUXTRACE: u32 = 71;
const HEADER_FEATURE: u32 = 80;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
const LAST_OF_PERF: u32 = 84;
/// Beyond those that are, or may still be, given out.
const MOST_KINDS: u32 = 256;

/// The type, `misc` and the size.
const HEADER: usize = 8;

/// What every record begins with.
#[derive(Clone, Copy)]
struct Header {
    kind: u32,
    /// Of the whole record.
    size: usize,
}

impl Header {
    /// The header there, if it can be one and its record is there to the end.
    fn at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<Header> {
        let mut cursor = Cursor::new(&bytes[at..], order);
        let (kind, _misc, size) = (cursor.u32()?, cursor.u16()?, usize::from(cursor.u16()?));
        let whole = size >= HEADER && at + size <= bytes.len();
        (whole && (1..MOST_KINDS).contains(&kind)).then_some(Header { kind, size })
    }
}

/// What the records have told so far.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) order: ByteOrder,
    pub(super) attrs: Vec<Attr>,
    /// Samples of some event are laid out unlike those of the first.
    pub(super) mixed: bool,
    /// Which attributes a sample's number stands for.
    pub(super) attr_of: BTreeMap<u64, usize>,
    pub(super) formats: Formats,
    pub(super) info: TraceInfo,
    pub(super) features: Features,
    pub(super) stats: ReadStats,
    pub(super) index: Vec<IndexEntry>,
    /// The pieces of the compressed stream.
    pub(super) packed: Vec<u8>,
}

impl Records {
    /// Takes the attributes of an event and the numbers of its samples.
    pub(super) fn add_attr(&mut self, attr: Attr, ids: &[u8]) {
        if attr.is_sampled {
            self.stats.one(Oddity::Sampled, Place::File);
        }
        let mut ids = Cursor::new(ids, self.order);
        while let Some(id) = ids.u64() {
            self.attr_of.insert(id, self.attrs.len());
        }
        let first = self.attrs.first();
        self.mixed |= first.is_some_and(|first| !first.same_layout(&attr));
        self.attrs.push(attr);
    }

    /// Reads the records that begin at `start` of a memory; `unpacked` if they were compressed.
    pub(super) fn read(&mut self, memory: u32, bytes: &[u8], start: usize, unpacked: bool) {
        let mut at = start;
        while at < bytes.len() {
            let place = Place::Byte(at as u64);
            let Some(Header { kind, size }) = Header::at(bytes, at, self.order) else {
                let Some(next) = self.next_sample(bytes, at + 1) else {
                    self.stats.one(Oddity::Truncated, place);
                    return;
                };
                self.stats.one(Oddity::BadSection, place);
                at = next;
                continue;
            };
            let body = &bytes[at + HEADER..at + size];
            let extra = match kind {
                SAMPLE => {
                    self.sample(memory, body, at + HEADER);
                    0
                }
                COMPRESSED | COMPRESSED2 if unpacked => {
                    self.stats.one(Oddity::BadCompression, place);
                    0
                }
                _ => self.other(kind, body, &bytes[at + size..], place),
            };
            at = at.saturating_add(size).saturating_add(extra);
        }
    }

    /// Where records go on behind one whose size is lost: at the next sample of a known event that another record follows.
    fn next_sample(&self, bytes: &[u8], from: usize) -> Option<usize> {
        (from..bytes.len()).find(|&at| {
            let header = Header::at(bytes, at, self.order).filter(|header| header.kind == SAMPLE);
            header.is_some_and(|Header { size, .. }| {
                let end = at + size;
                let followed = end == bytes.len() || Header::at(bytes, end, self.order).is_some();
                let body = &bytes[at + HEADER..end];
                let attr = self.attr_of_sample(body).filter(|_| followed);
                attr.is_some_and(|attr| attr.sample(body, self.order).is_some())
            })
        })
    }

    /// Takes a record that is no sample. Gives the length of the data behind it.
    fn other(&mut self, kind: u32, body: &[u8], behind: &[u8], place: Place) -> usize {
        let order = self.order;
        let mut cursor = Cursor::new(body, order);
        let read = match kind {
            LOST => lost_after(&mut cursor, true).map(|lost| self.lost(lost, body)),
            LOST_SAMPLES => lost_after(&mut cursor, false).map(|lost| self.lost(lost, body)),
            COMM => self.comm(&mut cursor),
            FORK => self.fork(&mut cursor),
            HEADER_ATTR => self.header_attr(body),
            HEADER_FEATURE => self.header_feature(&mut cursor),
            COMPRESSED => {
                self.packed.extend_from_slice(body);
                Some(())
            }
            COMPRESSED2 => cursor
                .sized_u64()
                .map(|piece| self.packed.extend_from_slice(piece)),
            HEADER_TRACING_DATA => {
                let len = cursor.u32().map_or(0, |len| len as usize);
                let data = behind.get(..len).unwrap_or(behind);
                let Place::Byte(at) = place else { return 0 };
                let Self {
                    formats,
                    info,
                    stats,
                    ..
                } = self;
                tracing_data(data, at, formats, info, stats);
                return len.next_multiple_of(8);
            }
            AUXTRACE => {
                let len = cursor.u64().and_then(|len| usize::try_from(len).ok());
                self.stats.one(Oddity::Skipped, place);
                return len.unwrap_or(usize::MAX);
            }
            1..=LAST_KERNEL | HEADER_ATTR..=LAST_OF_PERF => Some(()),
            _ => {
                self.stats.one(Oddity::Skipped, place);
                Some(())
            }
        };
        if read.is_none() {
            self.stats.one(Oddity::Undecodable, place);
        }
        0
    }

    fn lost(&mut self, lost: u64, body: &[u8]) {
        let trailer = |attr: &Attr| attr.trailer_cpu(body, self.order);
        match self.attrs.first().and_then(trailer) {
            Some(cpu) if cpu < MAX_CPUS => self.stats.lost(cpu, lost),
            _ => self.stats.add(Oddity::LostEvents, lost, Place::File),
        }
    }

    fn comm(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (pid, tid) = (cursor.u32()?.cast_signed(), cursor.u32()?.cast_signed());
        let comm = text(cursor.zero_terminated()?);
        self.info.cmdlines.insert(tid, comm);
        self.info.tgids.insert(tid, pid);
        Some(())
    }

    fn fork(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let pid = cursor.u32()?.cast_signed();
        let _parent = cursor.u32()?;
        let tid = cursor.u32()?.cast_signed();
        self.info.tgids.insert(tid, pid);
        Some(())
    }

    fn header_attr(&mut self, body: &[u8]) -> Option<()> {
        let attr = Attr::parse(body, self.order)?;
        let ids = body.get(attr.size..)?.to_vec();
        self.add_attr(attr, &ids);
        Some(())
    }

    fn header_feature(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let feature = u32::try_from(cursor.u64()?).ok()?;
        let order = self.order;
        self.features
            .take(feature, cursor.rest(), order, &mut self.info)
    }

    fn sample(&mut self, memory: u32, body: &[u8], at: usize) {
        let place = Place::Byte(at as u64);
        let Some(attr) = self.attr_of_sample(body) else {
            self.stats.one(Oddity::Undecodable, place);
            return;
        };
        if !attr.is_tracepoint {
            self.stats.one(Oddity::NotATracepoint, place);
            return;
        }
        let Some(sample) = attr.sample(body, self.order) else {
            self.stats.one(Oddity::ShortRecord, place);
            return;
        };
        let Some(raw) = sample.raw else {
            self.stats.one(Oddity::NotATracepoint, place);
            return;
        };
        let Some(ts) = sample.time else {
            self.stats.one(Oddity::NoTime, place);
            return;
        };
        let Some(cpu) = sample.cpu else {
            self.stats.one(Oddity::NoCpu, place);
            return;
        };
        if cpu >= MAX_CPUS {
            self.stats.one(Oddity::BadCpu, place);
            return;
        }
        if let Some((pid, tid)) = sample.pid_tid
            && tid > 0
        {
            self.info.tgids.entry(tid).or_insert(pid);
        }
        self.info.has_cpu(cpu);
        self.index.push(IndexEntry {
            ts,
            at: (at + sample.raw_at) as u64,
            len: raw.len() as u32,
            cpu,
            // Known only when all formats are.
            event: u32::MAX,
            memory,
        });
    }

    /// Whose sample it is.
    fn attr_of_sample(&self, body: &[u8]) -> Option<&Attr> {
        let first = self.attrs.first()?;
        let id = first
            .id_at()
            .and_then(|at| self.order.unsigned(body, at, 8));
        let of_id = id.and_then(|id| self.attr_of.get(&id));
        match of_id {
            Some(&attr) => self.attrs.get(attr),
            None => (!self.mixed).then_some(first),
        }
    }
}

/// The number of lost records, after the number of the event if there is one.
fn lost_after(cursor: &mut Cursor<'_>, id: bool) -> Option<u64> {
    if id {
        cursor.u64()?;
    }
    cursor.u64()
}
