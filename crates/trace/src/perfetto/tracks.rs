//! Throttling and counters as tracks.
//!
//! Model.       A track has a number, a name and perhaps a parent; see the drawing in [`super`].
//! Invariants.  A track is described before its first event. Numbers tell what the track is: its
//!              kind in the topmost 3 bits, the machine in 21, then the group and in the lowest 16 the
//!              CPU, or the counter.

use std::collections::BTreeSet;

use super::packet::Stream;
use super::schema::{
    counter_descriptor, debug_annotation, trace_packet, track_descriptor, track_event,
};
use super::wire::{bytes, message, signed, unsigned};
use crate::event::{Event, EventKind};
use crate::roster::Roster;
use crate::sink::{CounterInfo, CounterScope, CounterUnit};

const GROUP: u64 = 1 << 61;
const CFS_RQ: u64 = 2 << 61;
const COUNTER: u64 = 3 << 61;
const COUNTER_NAME: u64 = 4 << 61;

/// What a track says of itself.
struct Track<'a> {
    uuid: u64,
    name: &'a str,
    /// The track it stands under, and its rank there.
    under: Option<(u64, i32)>,
    /// What it counts, if it is a counter.
    unit: Option<CounterUnit>,
}

/// The tracks described so far.
#[derive(Debug)]
pub(super) struct Tracks {
    stream: Stream,
    /// The queues, by track number, that have been throttled once.
    cfs_rqs: BTreeSet<u64>,
    /// The names under which CPUs' counters stand; a name's place is its track's number.
    counter_names: Vec<String>,
}

impl Tracks {
    /// Those of a machine.
    pub(super) fn new(stream: Stream) -> Self {
        assert!(
            stream.machine_id < 1 << 21,
            "a track's number has 21 bits for the machine"
        );
        Self {
            stream,
            cfs_rqs: BTreeSet::new(),
            counter_names: Vec::new(),
        }
    }

    /// A track's number.
    fn uuid(&self, kind: u64, what: u64) -> u64 {
        kind | u64::from(self.stream.machine_id) << 40 | what
    }

    /// Describes a group's track.
    pub(super) fn group(&self, id: u32, path: &str, out: &mut Vec<u8>) {
        Track {
            uuid: self.uuid(GROUP, id.into()),
            name: path,
            under: None,
            unit: None,
        }
        .describe(self.stream, out);
    }

    /// Describes a counter's track, and the one it stands under.
    pub(super) fn counter(&mut self, id: u32, info: &CounterInfo, out: &mut Vec<u8>) {
        let of_cpu;
        let (under, name) = match info.scope {
            CounterScope::Machine => (None, &info.name),
            // Above the throttled queues, whose ranks are CPU numbers.
            CounterScope::Group(group) => (Some((self.uuid(GROUP, group.into()), -1)), &info.name),
            CounterScope::Cpu(cpu) => {
                of_cpu = format!("cpu{cpu}");
                (
                    Some((self.counter_name(&info.name, out), cpu.cast_signed())),
                    &of_cpu,
                )
            }
        };
        Track {
            uuid: self.uuid(COUNTER, id.into()),
            name,
            under,
            unit: Some(info.unit),
        }
        .describe(self.stream, out);
    }

    /// The track under which every CPU's counter of that name stands.
    fn counter_name(&mut self, name: &str, out: &mut Vec<u8>) -> u64 {
        if let Some(at) = self.counter_names.iter().position(|known| known == name) {
            return self.uuid(COUNTER_NAME, at as u64);
        }
        let uuid = self.uuid(COUNTER_NAME, self.counter_names.len() as u64);
        self.counter_names.push(name.to_owned());
        Track {
            uuid,
            name,
            under: None,
            unit: None,
        }
        .describe(self.stream, out);
        uuid
    }

    /// Writes an event if it is one that is drawn on a track.
    ///
    /// The roster checks that its group or counter was announced.
    pub(super) fn push(&mut self, event: &Event, roster: &Roster, out: &mut Vec<u8>) {
        match event.kind {
            EventKind::CfsThrottle {
                group,
                target_cpu,
                runtime_remaining,
            } => {
                let _ = roster.group(group);
                let track = self.cfs_rq(group, target_cpu, out);
                self.track_event(event.ts, track, track_event::TYPE_SLICE_BEGIN, out, |out| {
                    bytes(out, track_event::CATEGORIES, b"cfs_bandwidth");
                    bytes(out, track_event::NAME, b"throttled");
                    annotation(b"runtime_remaining", runtime_remaining, out);
                });
            }
            EventKind::CfsUnthrottle {
                group,
                target_cpu,
                throttled_ns,
            } => {
                let _ = roster.group(group);
                let track = self.cfs_rq(group, target_cpu, out);
                self.track_event(event.ts, track, track_event::TYPE_SLICE_END, out, |out| {
                    annotation(b"throttled_ns", throttled_ns.cast_signed(), out);
                });
            }
            EventKind::Counter { counter, value } => {
                let _ = roster.counter(counter);
                let track = self.uuid(COUNTER, counter.into());
                self.track_event(event.ts, track, track_event::TYPE_COUNTER, out, |out| {
                    signed(out, track_event::COUNTER_VALUE, value);
                });
            }
            _ => {}
        }
    }

    /// The track of a group's queue on one CPU, described when it is first throttled.
    fn cfs_rq(&mut self, group: u32, cpu: u32, out: &mut Vec<u8>) -> u64 {
        let uuid = self.uuid(CFS_RQ, u64::from(group) << 16 | u64::from(cpu));
        if self.cfs_rqs.insert(uuid) {
            let name = &format!("throttled cpu{cpu}");
            let under = Some((self.uuid(GROUP, group.into()), cpu.cast_signed()));
            Track {
                uuid,
                name,
                under,
                unit: None,
            }
            .describe(self.stream, out);
        }
        uuid
    }

    fn track_event(
        &self,
        ts: u64,
        track: u64,
        kind: u32,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        self.stream
            .packet(out, Some(ts), trace_packet::TRACK_EVENT, |out| {
                unsigned(out, track_event::TYPE, kind);
                unsigned(out, track_event::TRACK_UUID, track);
                fill(out);
            });
    }
}

impl Track<'_> {
    fn describe(&self, stream: Stream, out: &mut Vec<u8>) {
        stream.packet(out, None, trace_packet::TRACK_DESCRIPTOR, |out| {
            unsigned(out, track_descriptor::UUID, self.uuid);
            bytes(out, track_descriptor::NAME, self.name.as_bytes());
            match self.under {
                Some((parent, rank)) => {
                    unsigned(out, track_descriptor::PARENT_UUID, parent);
                    signed(out, track_descriptor::SIBLING_ORDER_RANK, rank);
                }
                None => {
                    unsigned(
                        out,
                        track_descriptor::CHILD_ORDERING,
                        track_descriptor::EXPLICIT,
                    );
                }
            }
            if let Some(unit) = self.unit {
                let unit = match unit {
                    CounterUnit::Count => counter_descriptor::UNIT_COUNT,
                    CounterUnit::Nanos => counter_descriptor::UNIT_TIME_NS,
                };
                message(out, track_descriptor::COUNTER, |out| {
                    unsigned(out, counter_descriptor::UNIT, unit);
                });
            }
        });
    }
}

fn annotation(name: &[u8], value: i64, out: &mut Vec<u8>) {
    message(out, track_event::DEBUG_ANNOTATIONS, |out| {
        bytes(out, debug_annotation::NAME, name);
        signed(out, debug_annotation::INT_VALUE, value);
    });
}
