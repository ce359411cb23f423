//! `fairwind workload`: from a recording to a workload, and what that does when it is run.

use crate::command::Folder;
use serde_json::Value;
use std::path::PathBuf;

/// A pair that wakes each other, one that works and sleeps, two in a group that is throttled.
const WORKLOAD: &str = r#"{
  "tasks": {
    "ping": { "loop": 50, "run": 200, "sem_post": "a", "sem_wait": "b" },
    "pong": { "loop": 50, "sem_wait": "a", "run": 300, "sem_post": "b" },
    "tick": { "priority": -5, "loop": 20, "run": 1000, "sleep": 9000 },
    "web": { "instance": 2, "taskgroup": "/web", "loop": 3, "run": 20000, "sleep": 5000 }
  },
  "cgroups": { "/web": { "cpu.max": "20000 100000" } }
}"#;

fn report(folder: &Folder, args: &str) -> Value {
    let text = folder.run(&format!("{args} --format json")).clean();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_a_trace_tells_is_done_again() {
    let folder = Folder::with("workload_again", WORKLOAD);
    let run = "--machine 1x2x1 --costs none";
    let first = report(
        &folder,
        &format!("run w.json {run} --trace t.dat --trace t.txt"),
    );
    for trace in ["t.dat", "t.txt"] {
        let limit = "--cgroup /web/cpu.max=20000";
        let made = folder.run(&format!("workload {trace} -o again.json {limit}"));
        assert_eq!(made.clean(), "");
        let again = report(&folder, &format!("run again.json {run}"));
        let (first, again) = (&first["tasks"], &again["tasks"]);
        for (a, b) in first
            .as_array()
            .unwrap()
            .iter()
            .zip(again.as_array().unwrap())
        {
            let name = a["name"].as_str().unwrap();
            assert!(b["name"].as_str().unwrap().starts_with(name), "{name}");
            let cpu = |task: &Value| task["cpu_ns"].as_u64().unwrap();
            // Whole microseconds are written, and what is left at the end is lost. Text tells each switch to one.
            let switches = ["voluntary_switches", "involuntary_switches"];
            let switches: u64 = switches.iter().map(|kind| a[kind].as_u64().unwrap()).sum();
            let times = if trace == "t.dat" { 1 } else { switches };
            let lost = cpu(a).abs_diff(cpu(b));
            assert!(lost < 1000 * times, "{name}, {trace}: {lost} ns");
            for figure in ["group", "policy", "nice"] {
                assert_eq!(a[figure], b[figure], "{name}: {figure}");
            }
            let throttled = |task: &Value| task["throttled_ns"].as_u64().unwrap_or(0) > 0;
            assert_eq!(throttled(a), throttled(b), "{name}");
            let wakeups = |task: &Value| task["wakeups"].as_u64().unwrap();
            // A post that comes before its wait makes one sleep less, and a start that is recorded one more.
            assert!(wakeups(b) <= wakeups(a) + 1, "{name}");
            assert!(
                wakeups(b) * 10 >= wakeups(a) * 9,
                "{name}: {} {}",
                wakeups(a),
                wakeups(b)
            );
        }
    }
}

#[test]
fn real_recordings_become_workloads_that_end() {
    let folder = Folder::new("workload_recordings");
    let recordings = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    for (name, group) in [
        ("group-perf-6.18", "/job"),
        ("limits-6.12", "/a/b"),
        ("changes-6.1", "/"),
    ] {
        let path = recordings.join(name);
        let made = folder.run(&format!("workload {} -o w.json", path.display()));
        assert_eq!(made.clean(), "", "{name}");
        let free = report(&folder, "run w.json --machine 1x2x1");
        let groups = free["groups"].as_array().unwrap();
        assert!(
            group == "/" || groups.iter().any(|g| g["path"] == group),
            "{name}"
        );
        for task in free["tasks"].as_array().unwrap() {
            assert_ne!(task["cpu_ns"], 0, "{name}: {task}");
        }
    }
}

#[test]
fn a_part_of_a_recording_can_be_taken() {
    let folder = Folder::with("workload_part", WORKLOAD);
    folder
        .run("run w.json --machine 1x2x1 --trace t.txt")
        .clean();
    let all = folder.run("workload t.txt").clean();
    let part = folder.run("workload t.txt --from 50ms --for 20ms").clean();
    assert!(part.len() < all.len() / 4, "{} {}", part.len(), all.len());
    folder.write("part.json", part);
    let duration = report(&folder, "run part.json --costs none")["duration_ns"]
        .as_u64()
        .unwrap();
    assert!((10_000_000..30_000_000).contains(&duration), "{duration}");
}

#[test]
fn what_cannot_be_converted_is_refused_and_nothing_is_written() {
    let folder = Folder::with("workload_refused", WORKLOAD);
    folder
        .run("run w.json --machine 1x2x1 --trace t.txt")
        .clean();
    for (args, code, word) in [
        ("w.json", 2, "no trace that can be read"),
        ("nowhere.dat", 2, "nowhere.dat"),
        ("t.txt --from 1h", 2, "--from"),
        ("t.txt --member nobody=/a", 2, "nobody"),
        ("t.txt --cgroup /web/cpu.max=10", 2, "1000"),
    ] {
        let outcome = folder.run(&format!("workload {args} -o out.json"));
        assert_eq!((outcome.code, &*outcome.stdout), (Some(code), ""), "{args}");
        assert!(outcome.stderr.contains(word), "{args}: {}", outcome.stderr);
    }
    let outcome = folder.run("workload t.txt -o no/out.json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert_eq!(folder.names(), ["t.txt", "w.json"]);
}

#[test]
fn a_recording_without_work_says_so_and_not_that_a_part_was_asked_for() {
    let folder = Folder::new("workload_nothing");
    let switch = "sh 12 [000] 5.000000001: sched:sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> \
                  next_comm=swapper/0 next_pid=0 next_prio=120\n";
    folder.write("s.txt", switch);
    for (part, word) in [("", "all CPUs"), ("--from 1s", "--from and --for")] {
        let outcome = folder.run(&format!("workload s.txt --output w.json {part}"));
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
        assert_eq!(folder.names(), ["s.txt"]);
    }
}
