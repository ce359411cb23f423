//! A trace being made out of lines.
//!
//! Model.       Each line becomes a record in one memory, and an entry of the index. An event gets
//!              its layout when its name is met first.

use std::collections::BTreeMap;

use super::known::{COMMON_SIZE, Known, common_fields};
use super::payload;
use crate::format_desc::{EventFormat, Field, FieldKind, FieldRef};
use crate::read::content::{Content, IndexEntry};
use crate::read::cursor::ByteOrder;
use crate::read::error::ReadError;
use crate::read::formats::{EventId, Formats};
use crate::read::stats::{Oddity, Place, ReadStats};
use crate::read::trace_file::{TraceFile, TraceInfo, TraceKind};

/// No machine has more CPUs.
const MAX_CPUS: u32 = 1 << 16;

/// How many names a not known event may print. Records have room for all of them from the start,
/// for a later line may have one that the first had not.
const MAX_NAMES: usize = 32;

/// How many events are looked through before the map is asked.
const FIRST_MET: usize = 24;

/// The numbers of events in records of two bytes.
const MAX_EVENTS: usize = 1 << 16;

/// Longer lines are no event's: a string's place in a record has 16 bits.
const MAX_TEXT: usize = 32 << 10;

/// What stands before an event's name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Columns<'a> {
    pub(crate) comm: &'a str,
    pub(crate) pid: i32,
    pub(crate) tgid: Option<i32>,
    pub(crate) cpu: u32,
    pub(crate) ts: u64,
    pub(crate) flags: u8,
    pub(crate) preempt_count: u8,
}

/// What is known of an event that has been met.
#[derive(Debug)]
enum Met {
    Known(EventId, Known),
    /// Its names, in the order of their fields.
    Other(EventId, Vec<String>),
    /// There were too many events, or the name is known and the text is not as it should be.
    Refused,
}

/// An event that has been met.
#[derive(Debug)]
struct MetEvent {
    /// Empty where the trace does not tell.
    system: String,
    name: String,
    met: Met,
}

impl MetEvent {
    fn is(&self, system: &str, name: &str) -> bool {
        self.name == name && self.system == system
    }
}

/// A trace being made out of lines.
#[derive(Debug, Default)]
pub(crate) struct TextTrace {
    pub(crate) info: TraceInfo,
    pub(crate) stats: ReadStats,
    formats: Formats,
    met: Vec<MetEvent>,
    /// System, then name, to the place among them.
    places: BTreeMap<String, BTreeMap<String, usize>>,
    /// That of the last line: the same event often comes again.
    last_met: Option<usize>,
    memory: Vec<u8>,
    index: Vec<IndexEntry>,
    sorted: bool,
}

impl TextTrace {
    pub(crate) fn new() -> Self {
        let mut trace = Self {
            sorted: true,
            ..Self::default()
        };
        trace.info.buffers.push(String::new());
        trace
    }

    /// Takes an event. `system` is empty where the line does not tell it.
    pub(crate) fn push(
        &mut self,
        columns: &Columns<'_>,
        system: &str,
        name: &str,
        text: &str,
        line: u64,
    ) {
        let place = Place::Line(line);
        if columns.cpu >= MAX_CPUS {
            self.stats.one(Oddity::BadCpu, place);
            return;
        }
        if text.len() > MAX_TEXT || name.len() > MAX_TEXT {
            self.stats.one(Oddity::OddLine, place);
            return;
        }
        let start = self.memory.len();
        let pid = columns.pid.to_le_bytes();
        self.memory
            .extend_from_slice(&[0, 0, columns.flags, columns.preempt_count]);
        self.memory.extend_from_slice(&pid);
        let Some(event) = self.fields(system, name, text) else {
            self.memory.truncate(start);
            self.stats.one(Oddity::Undecodable, place);
            return;
        };
        let kernel_id = (event.0 as u16).to_le_bytes();
        self.memory[start..start + 2].copy_from_slice(&kernel_id);
        if let Some(last) = self.index.last()
            && columns.ts < last.ts
        {
            self.stats.one(Oddity::TimeWentBack, place);
            self.sorted = false;
        }
        self.note_task(columns);
        self.info.has_cpu(columns.cpu);
        self.index.push(IndexEntry {
            ts: columns.ts,
            at: start as u64,
            len: (self.memory.len() - start) as u32,
            cpu: columns.cpu,
            event: event.0,
            memory: 0,
        });
    }

    fn note_task(&mut self, columns: &Columns<'_>) {
        let Columns { comm, pid, .. } = *columns;
        if pid != 0 && comm != "<...>" && !comm.is_empty() {
            match self.info.cmdlines.get_mut(&pid) {
                Some(known) if known == comm => {}
                Some(known) => comm.clone_into(known),
                None => {
                    self.info.cmdlines.insert(pid, comm.to_owned());
                }
            }
        }
        if let Some(tgid) = columns.tgid {
            self.info.tgids.insert(pid, tgid);
        }
    }

    /// Writes the fields behind the common ones, which are there already.
    fn fields(&mut self, system: &str, name: &str, text: &str) -> Option<EventId> {
        // A counter is a marker for those who draw it.
        let (system, name, counter) = match counter(name, text) {
            Some(counter) => ("fairwind", "counter", Some(counter)),
            None => (system, name, None),
        };
        let text = counter.as_deref().unwrap_or(text);
        let at = match self.last_met.filter(|at| self.met[*at].is(system, name)) {
            Some(at) => at,
            None => self.find_or_meet(system, name, text),
        };
        self.last_met = Some(at);
        let Self {
            met,
            formats,
            memory,
            stats,
            ..
        } = self;
        match &mut met.get_mut(at)?.met {
            Met::Known(event, known) => payload::known(known, text, memory).map(|()| *event),
            Met::Other(event, names) => {
                other(formats, *event, names, text, memory, stats);
                Some(*event)
            }
            Met::Refused => None,
        }
    }

    /// The place of an event among those that have been met.
    fn find_or_meet(&mut self, system: &str, name: &str, text: &str) -> usize {
        // Few are common, and names of the same length are fewer still.
        let mut first = self.met.iter().take(FIRST_MET);
        if let Some(at) = first.position(|met| met.is(system, name)) {
            return at;
        }
        if let Some(&at) = self.places.get(system).and_then(|names| names.get(name)) {
            return at;
        }
        let met = self.meet(system, name, text);
        let at = self.met.len();
        self.met.push(MetEvent {
            system: system.to_owned(),
            name: name.to_owned(),
            met,
        });
        let names = self.places.entry(system.to_owned()).or_default();
        names.insert(name.to_owned(), at);
        at
    }

    /// Gives a layout to an event whose name is met first.
    fn meet(&mut self, system: &str, name: &str, text: &str) -> Met {
        let number = self.formats.len();
        if number >= MAX_EVENTS {
            return Met::Refused;
        }
        let mut candidates: Vec<_> = Known::of(system, name).collect();
        let fits = |known: &Known| {
            let mut record = vec![0; COMMON_SIZE as usize];
            payload::known(known, text, &mut record).is_some()
        };
        if let Some(at) = candidates.iter().position(fits) {
            let known = candidates.swap_remove(at);
            let event = self.formats.add(known.format(number as u32));
            return Met::Known(event, known);
        }
        if let Some(known) = candidates.into_iter().next() {
            // The line is damaged; the next may not be.
            let event = self.formats.add(known.format(number as u32));
            return Met::Known(event, known);
        }
        let mut fields = common_fields();
        fields.push(Field {
            name: "print".to_owned(),
            at: FieldRef::new(COMMON_SIZE, 4, FieldKind::DataLoc),
        });
        let format = EventFormat::new(system, name, number as u32, fields);
        Met::Other(self.formats.add(format), Vec::new())
    }

    /// The trace.
    ///
    /// # Errors
    /// When no line was an event.
    pub(crate) fn finish(
        mut self,
        kind: TraceKind,
        mend: &'static str,
    ) -> Result<TraceFile, ReadError> {
        if self.index.is_empty() {
            let first = self.stats.first(Oddity::OddLine);
            return Err(ReadError::NoEvents {
                format: kind.name(),
                line: match first {
                    Some(Place::Line(line)) => Some(line),
                    _ => None,
                },
                mend,
            });
        }
        if !self.sorted {
            // Stable: lines of one time stay in their order.
            self.index.sort_by_key(|entry| entry.ts);
        }
        Ok(TraceFile {
            kind,
            info: self.info,
            formats: self.formats,
            stats: self.stats,
            content: Content::Records {
                memory: vec![self.memory],
                index: self.index,
                order: ByteOrder::Little,
            },
        })
    }
}

/// `name=… value=…` of a marker `C|0|name|value`.
fn counter(name: &str, text: &str) -> Option<String> {
    if name != "tracing_mark_write" {
        return None;
    }
    let (counter, value) = text.strip_prefix("C|0|")?.rsplit_once('|')?;
    Some(format!("name={counter} value={value}"))
}

/// Writes the fields of an event that is not known: where each is in the text, and the text.
fn other(
    formats: &mut Formats,
    event: EventId,
    names: &mut Vec<String>,
    text: &str,
    memory: &mut Vec<u8>,
    stats: &mut ReadStats,
) {
    let slots_at = memory.len();
    let text_at = COMMON_SIZE + 4 * (1 + MAX_NAMES as u32);
    memory.resize(slots_at + 4 * (1 + MAX_NAMES), 0);
    let mut put = |slot: u32, range: std::ops::Range<usize>| {
        // Text is shorter than 64 KiB by far.
        let word = (range.len() as u32) << 16 | (text_at + range.start as u32);
        let at = slots_at + 4 * slot as usize;
        memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
    };
    put(0, 0..text.len());
    for (at, (name, value)) in payload::pairs(text).enumerate() {
        // An event prints its names in the same order, nearly always.
        let known = if names.get(at).is_some_and(|known| known == name) {
            Some(at)
        } else {
            names.iter().position(|known| known == name)
        };
        let slot = match known {
            Some(at) => at as u32 + 1,
            None if names.len() >= MAX_NAMES => {
                stats.one(Oddity::Skipped, Place::File);
                continue;
            }
            None => {
                names.push(name.to_owned());
                let slot = names.len() as u32;
                let at = FieldRef::new(COMMON_SIZE + 4 * slot, 4, FieldKind::DataLoc);
                formats.get_mut(event).push_field(Field {
                    name: name.to_owned(),
                    at,
                });
                slot
            }
        };
        put(slot, value);
    }
    memory.extend_from_slice(text.as_bytes());
}
