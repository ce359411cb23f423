//! perf.data of a real kernel, compared with what `perf script` prints of it.

mod sample;

use fairwind_trace::read::{CpuSite, Oddity};
use fairwind_trace::{TraceKind, open, open_bytes};

const FILES: [(&str, TraceKind, &str, usize); 4] = [
    ("perf", TraceKind::PerfData, "perf", 67),
    ("perf-zstd", TraceKind::PerfData, "perf", 73),
    ("perf-pipe", TraceKind::PerfPipe, "perf", 66),
    ("perf-pipe-zstd", TraceKind::PerfPipe, "mono", 105),
];

#[test]
fn perf_script_prints_the_same() {
    for (name, kind, clock, nr_events) in FILES {
        let trace = sample::open(&format!("{name}.data"));
        let text = sample::open(&format!("{name}.txt"));
        assert_eq!((trace.kind(), text.kind()), (kind, TraceKind::PerfScript));
        for trace in [&trace, &text] {
            let stats = trace.check();
            assert!(stats.table().is_empty(), "{name}: {}", stats.table());
            assert_eq!(stats.events, nr_events as u64);
        }
        // At least four fields an event.
        assert!(sample::same_as_text(&trace, &text) >= 4 * nr_events);
        let info = trace.info();
        assert_eq!((info.nr_cpus, info.clock.as_deref()), (2, Some(clock)));
        assert_eq!(
            info.uname.as_deref(),
            Some("Linux vm 6.18.44-fc-v669 x86_64")
        );
        assert!(
            info.command
                .as_deref()
                .unwrap()
                .starts_with("/usr/bin/perf record")
        );
        assert_eq!(trace.formats().len(), 6);
        // Two cores of one package with one last-level cache, of which a pipe does not tell.
        let llc = (kind == TraceKind::PerfData).then_some(0);
        let site = |core| CpuSite {
            core,
            llc,
            ..CpuSite::default()
        };
        assert_eq!(info.sites, [site(0), site(1)], "{name}");
    }
}

#[test]
fn who_runs_and_in_which_process() {
    let trace = sample::open("perf.data");
    let text = sample::open("perf.txt");
    let of_text = text.info().tgids.iter();
    let known = of_text
        .filter(|(tid, tgid)| trace.info().tgids.get(tid) == Some(tgid))
        .count();
    assert_eq!(known, text.info().tgids.len());
    // The record says who ran; perf's own columns say it too.
    for (event, printed) in trace.events().zip(text.events()) {
        let exited = printed.common_pid < 0;
        assert!(exited || event.common_pid == printed.common_pid);
    }
}

#[test]
fn microseconds_round_down_as_perf_prints_them() {
    let exact = sample::told(&sample::open("perf.txt"));
    let rounded = sample::told(&sample::open("perf-us.txt"));
    assert_eq!(exact.len(), rounded.len());
    for (exact, rounded) in exact.iter().zip(&rounded) {
        assert_eq!(exact.ts / 1000 * 1000, rounded.ts);
        assert_eq!(exact.fields, rounded.fields);
    }
}

#[test]
fn a_pipe_that_broke_gives_what_came() {
    for name in ["perf-pipe.data", "perf-pipe-zstd.data"] {
        let whole = sample::told(&sample::open(name));
        let bytes = sample::bytes(name);
        let trace = open_bytes(&bytes[..bytes.len() * 9 / 10]).unwrap();
        let found = sample::told(&trace);
        assert!(!found.is_empty() && found.len() < whole.len(), "{name}");
        assert!(found.iter().all(|told| whole.contains(told)));
        assert_eq!(
            trace.check().count(Oddity::Truncated),
            1,
            "{}",
            trace.check().table()
        );
    }
}

#[test]
fn a_file_cut_short_says_what_is_missing() {
    let bytes = sample::bytes("perf.data");
    let error = open_bytes(&bytes[..bytes.len() / 2])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("end before the descriptions of its tracepoints"),
        "{error}"
    );
}

#[test]
fn a_folder_of_threads_is_read() {
    // The records of perf.data, moved into a file of their own: a file of one thread has nothing
    // else.
    let bytes = sample::bytes("perf.data");
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (data_at, data_size) = (number(40), number(48));
    let mut first = bytes.clone();
    let records = first
        .drain(data_at..data_at + data_size)
        .collect::<Vec<_>>();
    // One record of no use is left, of type 68 (FINISHED_ROUND), 8 bytes long; and what comes after
    // the records moves.
    let moved = data_size - 8;
    first.splice(data_at..data_at, [68, 0, 0, 0, 0, 0, 8, 0]);
    first[48..56].copy_from_slice(&8_u64.to_le_bytes());
    let features = data_at + 8;
    let nr_features: u32 = bytes[72..104].iter().map(|byte| byte.count_ones()).sum();
    for feature in 0..nr_features as usize {
        let at = features + feature * 16;
        let offset = u64::from_le_bytes(first[at..at + 8].try_into().unwrap());
        first[at..at + 8].copy_from_slice(&(offset - moved as u64).to_le_bytes());
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf_threads");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.contains("is a folder without"), "{error}");
    std::fs::write(folder.join("data"), first).unwrap();
    std::fs::write(folder.join("data.0"), records).unwrap();
    let trace = open(&folder).unwrap();
    assert!(trace.check().is_clean(), "{}", trace.check().table());
    assert_eq!(
        sample::told(&trace),
        sample::told(&sample::open("perf.data"))
    );
}

#[test]
fn a_damaged_record_costs_itself_and_no_other() {
    const SAMPLE: u32 = 9;
    let bytes = sample::bytes("perf.data");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (mut at, end) = (word(40), word(40) + word(48));
    let whole = sample::told(&sample::open("perf.data")).len();
    let mut samples = 0;
    while at < end {
        let kind = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let size = u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]);
        if kind == SAMPLE {
            samples += 1;
            // None, beyond the end, too little, into the next one.
            for wrong in [0, u16::MAX, 8, size + 4] {
                let mut damaged = bytes.clone();
                damaged[at + 6..at + 8].copy_from_slice(&wrong.to_le_bytes());
                let trace = open_bytes(&damaged).unwrap();
                let left = trace.events().count();
                assert!(
                    left + 2 >= whole,
                    "byte {at}, size {wrong}: {left} of {whole}"
                );
                assert!(!trace.check().table().is_empty() || left == whole);
            }
        }
        at += usize::from(size);
    }
    assert!(samples > 60);
}
