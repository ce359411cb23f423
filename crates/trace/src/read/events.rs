//! The events of a trace, by time.
//!
//! Model.       The pages of each CPU are one stream; the streams are merged. A trace without pages
//!              has an index that is in order already.
//! Invariants.  Order is (time, CPU, position); for text, (time, line). Memory is one event a
//!              stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::content::Content;
use super::formats::EventId;
use super::raw_event::RawEvent;
use super::stats::{Oddity, Place, ReadStats};
use super::trace_file::TraceFile;
use crate::trace_dat::{CpuPages, PageWalk};

/// The events of a trace, by time.
#[derive(Debug)]
pub struct Events<'a> {
    trace: &'a TraceFile,
    stats: ReadStats,
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    Pages {
        streams: Vec<Stream<'a>>,
        /// The time and the CPU of the next event of each stream that has one, and its number.
        heads: BinaryHeap<Reverse<(u64, u32, usize)>>,
    },
    Records {
        next: usize,
    },
}

/// The pages of one CPU, and the event that comes next.
#[derive(Debug)]
struct Stream<'a> {
    cpu: &'a CpuPages,
    walk: PageWalk<'a>,
    head: RawEvent<'a>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(trace: &'a TraceFile) -> Self {
        let mut stats = trace.stats.clone();
        let source = match &trace.content {
            Content::Records { .. } => Source::Records { next: 0 },
            Content::Pages {
                memory,
                cpus,
                order,
                ..
            } => {
                let mut streams = Vec::with_capacity(cpus.len());
                let mut heads = BinaryHeap::with_capacity(cpus.len());
                for cpu in cpus {
                    let memory = memory.get(cpu.memory).map_or(&[][..], Vec::as_slice);
                    let mut walk = PageWalk::new(cpu, memory, *order);
                    if let Some(head) = next_of(trace, cpu, &mut walk, &mut stats) {
                        heads.push(Reverse((head.ts, head.cpu, streams.len())));
                        streams.push(Stream { cpu, walk, head });
                    }
                }
                Source::Pages { streams, heads }
            }
        };
        Self {
            trace,
            stats,
            source,
        }
    }

    /// What has been odd so far: when the trace was opened, and in the events handed out.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.stats.clone()
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = RawEvent<'a>;

    fn next(&mut self) -> Option<RawEvent<'a>> {
        let event = match &mut self.source {
            Source::Pages { streams, heads } => {
                let mut first = heads.peek_mut()?;
                let stream = &mut streams[first.0.2];
                let event = stream.head;
                match next_of(self.trace, stream.cpu, &mut stream.walk, &mut self.stats) {
                    Some(head) => {
                        first.0.0 = head.ts;
                        stream.head = head;
                    }
                    None => {
                        PeekMut::pop(first);
                    }
                }
                event
            }
            Source::Records { next } => {
                let Content::Records {
                    memory,
                    index,
                    order,
                } = &self.trace.content
                else {
                    return None;
                };
                let entry = index.get(*next)?;
                *next += 1;
                let memory = memory.get(entry.memory as usize)?;
                let record = memory.get(entry.at as usize..)?.get(..entry.len as usize)?;
                let common = self.trace.formats.common();
                let event = EventId(entry.event);
                RawEvent::new(entry.ts, entry.cpu, event, record, *order, common)
            }
        };
        self.stats.events += 1;
        Some(event)
    }
}

/// The next record of a CPU that its description fits.
fn next_of<'a>(
    trace: &'a TraceFile,
    cpu: &CpuPages,
    walk: &mut PageWalk<'a>,
    stats: &mut ReadStats,
) -> Option<RawEvent<'a>> {
    let Content::Pages { order, time, .. } = &trace.content else {
        return None;
    };
    let common = trace.formats.common();
    loop {
        let (ts, record) = walk.next(time, stats)?;
        let place = Place::Cpu(cpu.cpu);
        let id = common.kernel_id;
        let kernel_id = order.unsigned(record, id.offset as usize, id.size as usize);
        let known = kernel_id
            .and_then(|kernel_id| u32::try_from(kernel_id).ok())
            .and_then(|kernel_id| trace.formats.of_kernel_id(kernel_id));
        let Some(event) = known else {
            stats.one(Oddity::UnknownEvent, place);
            continue;
        };
        if (record.len() as u64) < trace.formats.get(event).size().into() {
            stats.one(Oddity::ShortRecord, place);
            continue;
        }
        let mut raw = RawEvent::new(ts, cpu.cpu, event, record, *order, common);
        raw.buffer = cpu.buffer;
        return Some(raw);
    }
}
