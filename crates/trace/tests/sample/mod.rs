//! The recordings under `data`, and their events in a form that can be compared.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use fairwind_trace::{RawEvent, TraceFile, open_bytes};

/// The recordings that are no text.
pub(crate) const BINARY: [&str; 8] = [
    "trace-v6.dat.zst",
    "trace-v7-none.dat.zst",
    "trace-v7-zstd.dat",
    "perf.data",
    "perf-zstd.data",
    "perf-pipe.data",
    "perf-pipe-zstd.data",
    "ftrace.txt.xz",
];

/// The recordings that are text.
pub(crate) const TEXT: [&str; 4] = ["report.txt.zst", "ftrace.txt", "perf.txt", "perf-us.txt"];

/// The bytes of a recording.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let bytes = fs::read(&path).unwrap();
    if !name.ends_with(".zst") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap();
    decoder.read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// A recording, read.
pub(crate) fn open(name: &str) -> TraceFile {
    open_bytes(&bytes(name)).unwrap()
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) ts: u64,
    pub(crate) cpu: u32,
    pub(crate) pid: i32,
    pub(crate) name: String,
    pub(crate) flags: (u8, u8),
    pub(crate) fields: BTreeMap<String, String>,
}

/// What every event of a trace says, in its order.
pub(crate) fn told(trace: &TraceFile) -> Vec<Told> {
    trace.events().map(|event| tell(trace, &event)).collect()
}

fn tell(trace: &TraceFile, event: &RawEvent<'_>) -> Told {
    let format = trace.formats().get(event.event);
    let own = format
        .fields()
        .iter()
        .filter(|field| !field.name.starts_with("common_"));
    let value = |field: &fairwind_trace::Field| match field.at.is_string() {
        true => event.str(field.at).to_owned(),
        false => event.int(field.at).to_string(),
    };
    Told {
        ts: event.ts,
        cpu: event.cpu,
        pid: event.common_pid,
        name: format.name.clone(),
        flags: (event.flags, event.preempt_count),
        fields: own
            .map(|field| (field.name.clone(), value(field)))
            .collect(),
    }
}

/// Checks that a text tells what a recording tells: all of its events, and of each the fields that
/// the text has. Gives how many fields those were.
pub(crate) fn same_as_text(recording: &TraceFile, text: &TraceFile) -> usize {
    let (recorded, printed) = (told(recording), told(text));
    assert_eq!(recorded.len(), printed.len());
    let mut compared = 0;
    for (recorded, printed) in recorded.iter().zip(&printed) {
        let key = |told: &Told| (told.ts, told.cpu, told.name.clone());
        assert_eq!(key(recorded), key(printed));
        for (name, value) in &printed.fields {
            // The whole text; and a field that this kernel does not have.
            if name == "print" || !recorded.fields.contains_key(name) {
                assert!(
                    matches!(name.as_str(), "print" | "vruntime"),
                    "{name}: {printed:?}"
                );
                continue;
            }
            let found = &recorded.fields[name];
            // Addresses are printed in hexadecimal.
            let hex = value
                .strip_prefix("0x")
                .and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let value = hex.map_or(value.clone(), |value| value.cast_signed().to_string());
            assert_eq!(*found, value, "{name}: {recorded:?} {printed:?}");
            compared += 1;
        }
    }
    compared
}
