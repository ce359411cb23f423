//! Perfetto traces, as Google's own message classes decode them.

mod stream;

use std::fs;
use std::path::Path;
use std::process::Command;

use fairwind_trace::{Event, EventKind};

const INSTALL: &str =
    "these tests need python3 with Perfetto's messages: python3 -m pip install protobuf perfetto";

fn decode(path: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto_decode.py");
    stream::printed(Command::new("python3").arg(script).arg(path), INSTALL)
}

/// What the decoder prints of an event: its time, its CPU unless it is on a track, and its fields.
fn line(event: &Event, payload: &str) -> String {
    let place = match event.kind {
        EventKind::CfsThrottle { .. }
        | EventKind::CfsUnthrottle { .. }
        | EventKind::Counter { .. } => "track".to_owned(),
        _ => format!("cpu{}", event.cpu),
    };
    format!("{} {place} {payload}", event.ts)
}

#[test]
fn every_kind_of_event_decodes_to_what_our_text_says() {
    let folder = stream::folder("perfetto");
    let events = stream::events();
    stream::write(&folder.join("all.txt"), events.iter().copied());
    stream::write(&folder.join("all.pftrace"), events.iter().copied());
    let text = fs::read_to_string(folder.join("all.txt")).unwrap();
    let expected: Vec<_> = events
        .iter()
        .zip(stream::payloads(&text))
        .map(|(event, payload)| line(event, &payload))
        .collect();
    let decoded = decode(&folder.join("all.pftrace"));
    let (names, found): (Vec<_>, Vec<_>) =
        decoded.lines().partition(|line| line.starts_with("name "));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    let expected = [
        "name system Linux 6.12 x86_64 two-by-two cpus=4 hz=250",
        "name process 100 sh /",
        "name thread 100 of 100 sh",
        "name process 101 rt thread /web",
        "name thread 101 of 101 rt thread",
        "name thread 102 of 101 a-name-longer-t",
    ];
    assert_eq!(names, expected);
}

#[test]
fn flags_and_running_tasks_are_recorded() {
    let path = stream::folder("perfetto_flags").join("all.perfetto-trace");
    stream::write(&path, stream::events());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto_decode.py");
    let flags = stream::printed(
        Command::new("python3")
            .arg(script)
            .arg("--flags")
            .arg(&path),
        INSTALL,
    );
    let of = |ts: u64| {
        let start = format!("{ts} ");
        flags
            .lines()
            .find(|line| line.starts_with(&start))
            .unwrap()
            .to_owned()
    };
    // Interrupts off 1, reschedule 4 and 32, hardirq 8, softirq 16; the pid that ran there.
    assert_eq!(of(1_499), "1499 flags=1 pid=100");
    assert_eq!(of(1_501), "1501 flags=1 pid=0");
    assert_eq!(of(200_002_204), "200002204 flags=45 pid=101");
    assert_eq!(of(200_002_205), "200002205 flags=17 pid=0");
    assert_eq!(of(200_002_400), "200002400 flags=0 pid=102");
}

#[test]
fn all_events_of_many_bundles_come_back() {
    let path = stream::folder("perfetto_many").join("many.pftrace");
    stream::write(&path, stream::many());
    let decoded = decode(&path);
    let found: Vec<_> = decoded
        .lines()
        .filter(|line| !line.starts_with("name "))
        .map(|line| line.split_once(": ").unwrap().0.to_owned())
        .collect();
    let expected: Vec<_> = stream::many()
        .map(|event| {
            let name = match event.kind {
                EventKind::SchedWakeup { .. } => "sched_wakeup",
                _ => "sched_switch",
            };
            line(&event, name)
        })
        .collect();
    assert_eq!(found.len(), 60_000);
    assert!(found == expected);
}

/// The same events on a host and on two guests: each machine has all of them, under its own number.
#[test]
fn a_host_and_its_guests_are_machines_of_one_trace() {
    let folder = stream::folder("perfetto_guests");
    let path = folder.join("all.pftrace");
    let mut host = fairwind_trace::create(&path, &stream::header()).unwrap();
    let guest = |machine_id| {
        let header = fairwind_trace::Header {
            machine: format!("guest-{machine_id}"),
            ..stream::header()
        };
        host.guest_sink(machine_id, &header).unwrap().unwrap()
    };
    let mut guests = vec![guest(1), guest(2)];
    for sink in [&mut host].into_iter().chain(&mut guests) {
        stream::announce(sink.as_mut());
        for event in stream::events() {
            sink.event(&event).unwrap();
        }
    }
    host.finish().unwrap();
    for guest in guests {
        assert!(!path.exists(), "while a guest's events may come");
        guest.finish().unwrap();
    }
    assert_eq!(stream::files(&folder), ["all.pftrace"]);
    let decoded = decode(&path);
    let of = |machine: &str| -> Vec<String> {
        let lines = decoded.lines().filter(|line| {
            let place = line.split_whitespace().nth(1).unwrap();
            let of_guest = place.starts_with('m') && place.contains('.');
            if machine.is_empty() {
                !of_guest
            } else {
                place.starts_with(machine)
            }
        });
        lines
            .map(|line| line.replacen(machine, "", 1))
            .filter(|line| !line.starts_with("name system"))
            .collect()
    };
    assert_eq!(of("").len(), stream::events().len() + 5);
    assert_eq!(of("m1."), of(""));
    assert_eq!(of("m2."), of(""));
    assert!(decoded.contains("name m2.system Linux 6.12 x86_64 guest-2 cpus=4 hz=250"));
}

#[test]
fn a_trace_with_a_guest_that_did_not_finish_is_none() {
    let folder = stream::folder("perfetto_unfinished");
    let path = folder.join("all.pftrace");
    let host = fairwind_trace::create(&path, &stream::header()).unwrap();
    let guest = host.guest_sink(1, &stream::header()).unwrap();
    drop(guest);
    host.finish().unwrap();
    assert!(stream::files(&folder).is_empty());
}

#[test]
fn other_formats_hold_one_machine() {
    let folder = stream::folder("one_machine");
    for extension in ["txt", "dat"] {
        let path = folder.join("a").with_extension(extension);
        let sink = fairwind_trace::create(&path, &stream::header()).unwrap();
        assert!(sink.guest_sink(1, &stream::header()).unwrap().is_none());
    }
}
