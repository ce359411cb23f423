//! `--trace`.

use crate::command::Folder;
use std::fs;
use std::process::Command;

const WORKLOAD: &str = r#"{
    "cgroups": { "/limited": { "cpu.max": "10000 100000" } },
    "tasks": {
        "a": { "instance": 3, "run": 700, "sleep": 1300 },
        "hog": { "taskgroup": "/limited", "run": 50000 } } }"#;

#[test]
fn three_formats_are_written_in_one_run_and_hold_the_same_switches() {
    let folder = Folder::with("traces", WORKLOAD);
    let args = "run w.json -m 1x2x1 -d 300ms -t t.txt -t t.dat -t t.pftrace";
    let text = folder.run(args).clean();
    assert_eq!(folder.names(), ["t.dat", "t.pftrace", "t.txt", "w.json"]);

    let ftrace = fs::read_to_string(folder.0.join("t.txt")).unwrap();
    let switches = ftrace.matches(" sched_switch: ").count();
    let told = text
        .lines()
        .find_map(|line| line.strip_prefix("switches"))
        .unwrap();
    assert_eq!(switches.to_string(), told.trim());
    assert!(ftrace.contains("comm=a-0") && ftrace.contains("next_comm=hog-3"));

    let report = Command::new("trace-cmd")
        .args(["report", "t.dat"])
        .current_dir(&folder.0)
        .output()
        .expect("this test needs trace-cmd: apt-get install trace-cmd");
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert_eq!(report.matches(" sched_switch: ").count(), switches);

    // A Perfetto trace is a sequence of packets: tag 0x0a, length as a varint, content.
    let bytes = fs::read(folder.0.join("t.pftrace")).unwrap();
    let (mut at, mut packets) = (0, 0);
    while at < bytes.len() {
        assert_eq!(bytes[at], 0x0a, "at {at}");
        let (mut length, mut shift) = (0, 0);
        loop {
            at += 1;
            length |= usize::from(bytes[at] & 0x7f) << shift;
            shift += 7;
            if bytes[at] < 0x80 {
                break;
            }
        }
        at += 1 + length;
        packets += 1;
    }
    assert_eq!(at, bytes.len());
    assert!(packets > 2);
}

#[test]
fn tracing_changes_nothing_and_two_runs_write_the_same_bytes() {
    let folder = Folder::with("traces_equal", WORKLOAD);
    let run = |more: &str| {
        folder
            .run(&format!(
                "run w.json -m 1x2x1 -d 300ms --format json {more}"
            ))
            .clean()
    };
    let plain = run("");
    assert_eq!(plain, run("-t one.txt"));
    assert_eq!(plain, run("-t two.txt"));
    let bytes = |name: &str| fs::read(folder.0.join(name)).unwrap();
    assert!(bytes("one.txt") == bytes("two.txt"));
}

#[test]
fn each_guest_has_a_trace_of_its_own_beside_the_host_s() {
    let workload = r#"{
        "tasks": { "hog": { "run": 5000 } },
        "guests": { "vm": { "vcpus": 2, "workload": { "tasks": { "inside": { "instance": 2, "run": 700, "sleep": 1300 } } } } } }"#;
    let folder = Folder::with("traces_guests", workload);
    let text = folder.run("run w.json -m 1x2x1 -d 50ms -t t.txt").clean();
    assert!(text.contains("\nvCPUs\n") && text.contains("\nGuest vm, 2 CPUs, kernel 6.12\n"));
    assert_eq!(folder.names(), ["t-vm.txt", "t.txt", "w.json"]);
    let host = fs::read_to_string(folder.0.join("t.txt")).unwrap();
    assert!(host.contains("next_comm=vm.vcpu-1") && !host.contains("inside"));
    let guest = fs::read_to_string(folder.0.join("t-vm.txt")).unwrap();
    assert!(guest.contains("next_comm=inside-0") && !guest.contains("vcpu"));
}

/// A hog of the same weight takes half of the vCPU's only CPU, so that what runs inside stands still for whole slices.
const PREEMPTED: &str = r#"{
    "tasks": { "hog": { "run": 5000 } },
    "guests": { "vm": { "vcpus": 1, "workload": { "tasks": { "inside": { "run": 20000, "sleep": 1000 } } } } } }"#;

/// trace-cmd merges the traces, and each gap in what runs inside lies within a preemption of the vCPU's thread.
#[test]
fn trace_cmd_shows_host_and_guest_on_one_time_line() {
    let folder = Folder::with("traces_one_line", PREEMPTED);
    folder.run("run w.json -m 1x1x1 -d 500ms -t t.dat").clean();
    assert_eq!(folder.names(), ["t-vm.dat", "t.dat", "w.json"]);
    let report = Command::new("trace-cmd")
        .args(["report", "-i", "t.dat", "-i", "t-vm.dat"])
        .current_dir(&folder.0)
        .output()
        .expect("this test needs trace-cmd: apt-get install trace-cmd");
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let events: Vec<(bool, f64, &str)> = { report.lines() }.filter_map(event).collect();
    let of_guest = events.iter().filter(|(guest, ..)| *guest).count();
    assert!(of_guest > 100 && of_guest < events.len() - 100, "{report}");
    assert!(events.is_sorted_by(|a, b| a.1 <= b.1), "one time line");
    let mut preempted = None;
    let mut longest = 0.0;
    for (guest, time, text) in events {
        if !guest && text.contains("sched_switch") {
            // "vm.vcpu-0:1001 [120] R ==> hog-0:1000 [120]"
            if text.contains("==> vm.vcpu-0:") {
                longest =
                    { preempted.take() }.map_or(longest, |since| f64::max(longest, time - since));
            } else if text.contains(" vm.vcpu-0:") && text.contains("] R ==> ") {
                preempted = Some(time);
            }
        }
        assert!(
            !(guest && preempted.is_some_and(|since| time > since)),
            "{text} at {time}, while the vCPU does not run"
        );
    }
    assert!(
        longest > 0.001,
        "the vCPU was preempted for long: {longest}"
    );
}

/// A line of `trace-cmd report` of several files: whether it is of the guest, its time, and the event.
fn event(line: &str) -> Option<(bool, f64, &str)> {
    let (file, rest) = line.trim_start().split_once(": ")?;
    let (before, event) = rest.split_once(": ")?;
    let time = before.split_whitespace().last()?.parse().ok()?;
    Some((file.ends_with("t-vm.dat"), time, event))
}
