//! trace.dat, as trace-cmd reads it.
//!
//! The oracle prints each record from the formats in the file, so a wrong offset, number or format
//! shows.

mod stream;

use std::fs;
use std::path::Path;
use std::process::Command;

use fairwind_trace::{Event, EventKind, GroupInfo};

const INSTALL: &str = "these tests need trace-cmd: apt-get install trace-cmd";

fn report(path: &Path, options: &[&str]) -> String {
    stream::printed(
        Command::new("trace-cmd")
            .arg("report")
            .args(options)
            .arg(path),
        INSTALL,
    )
}

/// What trace-cmd tells of an event: task, CPU, time in ns, and the event with its fields.
#[derive(Debug, PartialEq)]
struct Line {
    task: String,
    cpu: u32,
    ts: u64,
    payload: String,
}

/// Reads `comm-pid [cpu] secs.nanos: event:   fields`.
fn lines(report: &str) -> Vec<Line> {
    let events = report.lines().filter(|line| line.contains(" ["));
    events
        .map(|line| {
            let (task, rest) = line.split_once(" [").unwrap();
            let (cpu, rest) = rest.split_once(']').unwrap();
            let (time, payload) = rest.split_once(": ").unwrap();
            let (event, fields) = payload.split_once(':').unwrap();
            let (secs, nanos) = time.trim().split_once('.').unwrap();
            assert_eq!(nanos.len(), 9, "{line}");
            Line {
                task: task.trim().to_owned(),
                cpu: cpu.parse().unwrap(),
                ts: secs.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap(),
                payload: format!("{}: {}", event.trim(), fields.trim()),
            }
        })
        .collect()
}

/// The same events as our text has them. A counter is another event there.
fn expected(text: &str, events: &[Event]) -> Vec<Line> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .zip(events)
        .map(|(line, event)| {
            let (task, rest) = line.split_once(" [").unwrap();
            let (_, payload) = rest.split_once(": ").unwrap();
            let payload = match payload.strip_prefix("tracing_mark_write: C|0|") {
                Some(counter) => {
                    let (name, value) = counter.split_once('|').unwrap();
                    format!("counter: name={name} value={value}")
                }
                None => payload.to_owned(),
            };
            Line {
                task: task.trim().to_owned(),
                cpu: event.cpu,
                ts: event.ts,
                payload,
            }
        })
        .collect()
}

#[test]
fn trace_cmd_prints_every_kind_of_event_as_our_text_does() {
    let folder = stream::folder("trace_dat");
    let events = stream::events();
    stream::write(&folder.join("all.dat"), events.iter().copied());
    stream::write(&folder.join("all.txt"), events.iter().copied());
    let text = fs::read_to_string(folder.join("all.txt")).unwrap();
    let expected = expected(&text, &events);
    assert_eq!(expected.len(), events.len());
    // -N: without plugins, which print some events their own way; -t: whole nanoseconds.
    let found = lines(&report(&folder.join("all.dat"), &["-N", "-t"]));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn trace_cmd_shows_flags_and_prints_with_plugins() {
    let path = stream::folder("trace_dat_flags").join("all.dat");
    stream::write(&path, stream::events());
    let report = report(&path, &["-l"]);
    let line = |event: &str| report.lines().find(|line| line.contains(event)).unwrap();
    // Latency format: CPU, interrupts off, reschedule, context, preemption depth, migration.
    assert!(line("local_timer_entry").contains(" 1d.h.."), "{report}");
    assert!(line(" sched_wakeup:").contains(" 1dNh4."), "{report}");
    assert!(
        line("comm=sh pid=100 prio=100").contains(" 2d.s3."),
        "{report}"
    );
    assert!(
        line("swapper/1:0 [120] R ==> rt thread:101 [120]").contains(" 1d..2."),
        "{report}"
    );
}

#[test]
fn trace_cmd_finds_the_machine_and_the_names() {
    let path = stream::folder("trace_dat_header").join("all.dat");
    stream::write(&path, stream::events());
    let dump = |option| {
        stream::printed(
            Command::new("trace-cmd")
                .args(["dump", option, "-i"])
                .arg(&path),
            INSTALL,
        )
    };
    let options = dump("--options");
    assert!(options.contains("[mono]"), "{options}");
    assert!(
        options.contains("Linux two-by-two 6.12 x86_64"),
        "{options}"
    );
    assert!(dump("--cmd-lines").contains("102 a-name-longer-t\n"));
    let flyrecord = dump("--flyrecord");
    assert!(
        flyrecord.contains("4096\t[offset, size of cpu 3]"),
        "{flyrecord}"
    );
}

#[test]
fn long_paths_and_long_pauses_come_back() {
    let path = stream::folder("trace_dat_long").join("long.dat");
    let mut sink = fairwind_trace::create(&path, &stream::header()).unwrap();
    stream::announce(sink.as_mut());
    // Longer than what a record's short length can say, and longer than what is written.
    let long = "/0123456789".repeat(100);
    sink.group(3, &GroupInfo { path: long.clone() }).unwrap();
    let attach = EventKind::CgroupAttachTask { task: 0, group: 3 };
    let times = [5, 1 << 27, (1 << 27) + 1, 3 << 40, u64::MAX >> 2];
    for ts in times {
        sink.event(&Event::new(ts, 2, 0, attach)).unwrap();
    }
    sink.finish().unwrap();
    let found = lines(&report(&path, &["-N", "-t"]));
    assert_eq!(found.iter().map(|line| line.ts).collect::<Vec<_>>(), times);
    // 93 components of 11 bytes are 1 023, and a slash that begins no component.
    let path = &long[..1024];
    let fields = format!("dst_root=1 dst_id=4 dst_level=93 dst_path={path} pid=100 comm=sh");
    for line in found {
        assert_eq!(line.payload, format!("cgroup_attach_task: {fields}"));
    }
}

#[test]
fn all_events_of_many_pages_come_back_in_order() {
    let path = stream::folder("trace_dat_many").join("many.dat");
    stream::write(&path, stream::many());
    let found = lines(&report(&path, &["-N", "-t"]));
    let found: Vec<_> = found.iter().map(|line| (line.cpu, line.ts)).collect();
    let expected: Vec<_> = stream::many().map(|event| (event.cpu, event.ts)).collect();
    assert_eq!(found.len(), 60_000);
    assert!(found == expected);
}

#[test]
fn two_writes_give_the_same_bytes() {
    let folder = stream::folder("trace_dat_same");
    for name in ["1.dat", "2.dat", "1.txt", "2.txt", "1.pftrace", "2.pftrace"] {
        stream::write(
            &folder.join(name),
            stream::events().into_iter().chain(stream::many()),
        );
    }
    for extension in ["dat", "txt", "pftrace"] {
        let read = |name| fs::read(folder.join(name).with_extension(extension)).unwrap();
        assert!(read("1") == read("2"), "{extension}");
    }
}

#[test]
fn traces_of_host_and_guest_name_each_other() {
    use fairwind_trace::{GuestInfo, TraceSink, open};
    let folder = std::env::temp_dir().join(format!("fairwind-ties-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let header = fairwind_trace::Header {
        nr_cpus: 2,
        kernel: "6.12".to_string(),
        machine: "test".to_string(),
        hz: 250,
    };
    let write = |name: &str, tie: &dyn Fn(&mut dyn TraceSink)| {
        let path = folder.join(name);
        let mut sink = fairwind_trace::create(&path, &header).unwrap();
        tie(&mut *sink);
        sink.finish().unwrap();
        open(&path).unwrap()
    };
    let host = write("host.dat", &|sink| {
        sink.session(1, None);
        sink.guest(&GuestInfo {
            name: "vm".to_string(),
            trace_id: 2,
            vcpus: vec![1003, 1001],
        });
    });
    let guest = write("guest.dat", &|sink| sink.session(2, Some(1)));
    assert_eq!(host.info().trace_id, Some(1));
    let told = &host.info().guests[0];
    assert_eq!((told.name.as_str(), told.trace_id), ("vm", 2));
    assert_eq!(told.vcpus, [(0, 1003), (1, 1001)]);
    assert_eq!(guest.info().trace_id, Some(2));
    let shift = guest.info().time_shift.as_ref().unwrap();
    assert_eq!(shift.peer_trace_id, 1);
    for vcpu in 0..2 {
        assert_eq!(shift.host_time(vcpu, 123_456_789), 123_456_789);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
