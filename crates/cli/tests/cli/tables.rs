//! The table for people.

use crate::command::Folder;

/// Runs 1 ms, then sleeps 3 ms: from 0 on, in each 4 ms. Beside it a group that may use a tenth of a
/// CPU and wants all of another.
const TWO: &str = r#"{
    "cgroups": { "/limited": { "cpu.max": "10000 100000" } },
    "tasks": {
        "sleeper": { "cpus": [0], "run": 1000, "sleep": 3000 },
        "hog": { "cpus": [1], "taskgroup": "/limited", "run": 50000 } } }"#;

/// In 1 s the sleeper runs 250 times and is woken 250 times, at 4, 8 … 1000 ms. The hog's group gets 10
/// ms in each of 10 periods, and is throttled for the rest of each.
#[test]
fn the_sections_hold_what_can_be_derived_by_hand() {
    let folder = Folder::with("tables_two", TWO);
    let text = folder
        .run("run w.json -m 1x2x1 -k 6.1 --costs none -d 1s")
        .clean();
    let lines: Vec<&str> = text.lines().collect();
    let cells = |start: &str| -> Vec<&str> {
        let line = lines.iter().find(|line| line.starts_with(start)).unwrap();
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect()
    };
    assert_eq!(lines[0], "machine   1x2x1, 2 CPUs: regular machine 1x2x1");
    assert_eq!(lines[1], "kernel    6.1 (CFS), costs=none");
    assert_eq!(lines[2..4], ["duration  1 s", "seed      1"]);
    let header = [
        "task",
        "group",
        "CPU time",
        "%CPU",
        "share",
        "vol",
        "invol",
        "migr",
        "wakeups",
        "p50",
        "p99",
        "max",
        "waited",
        "throttled",
    ];
    assert_eq!(cells("task "), header);
    let sleeper = cells("sleeper-0");
    assert_eq!(
        sleeper[..9],
        [
            "sleeper-0",
            "/",
            "250.0 ms",
            "25.00",
            "12.50",
            "250",
            "0",
            "0",
            "250"
        ]
    );
    let hog = cells("hog-1");
    assert_eq!(hog[..5], ["hog-1", "/limited", "100.0 ms", "10.00", "5.00"]);
    let limits: Vec<_> = lines
        .iter()
        .skip_while(|line| !line.contains("nr_periods"))
        .collect();
    let limits: Vec<_> = limits[1]
        .split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .collect();
    assert_eq!(
        limits[..6],
        ["/limited", "10 ms", "100 ms", "10.00", "10", "10"]
    );
    assert_eq!(cells("  0")[..3], ["0", "250.0 ms", "25.00"]);
    assert_eq!(cells("  1")[..3], ["1", "100.0 ms", "10.00"]);
    assert!(!text.contains('\x1b'), "colours in a pipe");
    assert!(lines.iter().all(|line| line.trim_end() == *line));
}

/// Columns that say nothing are left out; policies are shown when one is not the default.
#[test]
fn columns_appear_when_they_say_something() {
    let plain = Folder::with(
        "tables_plain",
        r#"{ "tasks": { "a": { "run": 100, "loop": 3 } } }"#,
    );
    let text = plain.run("run w.json").clean();
    for absent in ["Groups", "throttled", "policy", "group"] {
        assert!(!text.contains(absent), "{absent}:\n{text}");
    }
    let json = r#"{ "tasks": {
        "a": { "run": 100, "loop": 3, "priority": 5 },
        "b": { "run": 100, "loop": 3, "policy": "SCHED_RR" } } }"#;
    let text = Folder::with("tables_policy", json)
        .run("run w.json")
        .clean();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert_eq!(
        row("a-0").split_whitespace().collect::<Vec<_>>()[1..3],
        ["OTHER", "5"]
    );
    assert_eq!(
        row("b-1").split_whitespace().collect::<Vec<_>>()[1..3],
        ["RR", "-"]
    );
}

#[test]
fn many_tasks_and_cpus_are_folded_unless_all_are_asked_for() {
    let json = r#"{ "tasks": {
        "many": { "instance": 41, "run": 1000, "sleep": 1000 },
        "one": { "run": 1000 } } }"#;
    let folder = Folder::with("tables_many", json);
    let text = folder.run("run w.json -m spr-2x60 -d 20ms").clean();
    assert!(text.contains("Tasks (42, instances together: --all lists each)"));
    let row = text.lines().find(|line| line.starts_with("many ")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("41"));
    assert!(text.contains("CPUs (240, together: --all lists each)"));
    let llc = text
        .lines()
        .find(|line| line.starts_with("LLC 1 "))
        .unwrap();
    assert_eq!(llc.split_whitespace().nth(2), Some("120"));

    let all = folder.run("run w.json -m spr-2x60 -d 20ms --all").clean();
    assert!(all.contains("\nmany-40 ") && all.contains("\n239 "));
    assert!(!all.contains("together"));
}
