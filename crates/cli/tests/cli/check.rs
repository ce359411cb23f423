//! `fairwind check` on the recordings of the project.

use crate::command::Folder;
use serde_json::Value;
use std::path::PathBuf;

fn recording(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    folder.join(name).to_str().unwrap().to_string()
}

#[test]
fn a_recording_is_checked_and_the_forms_agree() {
    let folder = Folder::new("check_forms");
    let path = recording("fair-1cpu-6.12");
    let table = folder.run(&format!("check {path}")).clean();
    let pick = table.lines().find(|line| line.starts_with("pick")).unwrap();
    let cells: Vec<_> = pick.split_whitespace().collect();
    let json: Value =
        serde_json::from_str(&folder.run(&format!("check {path} --format json")).clean()).unwrap();
    let score = &json["measures"]["pick"];
    assert_eq!(cells[1], score["decisions"].to_string());
    assert_eq!(cells[2], score["agree"].to_string());
    assert_eq!(cells[3].parse(), Ok(score["percent"].as_f64().unwrap()));
    assert!(table.starts_with("kernel     6.12\n"), "{table}");
    assert_eq!(
        (&json["kernel"], &json["cpus"]),
        (&"6.12".into(), &1.into())
    );
}

#[test]
fn a_requirement_that_is_not_met_fails() {
    let folder = Folder::new("check_require");
    let path = recording("fair-1cpu-6.1");
    assert_eq!(
        folder.run(&format!("check {path} -r pick=90")).code,
        Some(0)
    );
    // On one CPU nothing is moved, and what was not shown is not met.
    let refused = folder.run(&format!("check {path} -r balance=1"));
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("balance: no decision"),
        "{}",
        refused.stderr
    );
}

fn trace(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/data");
    folder.join(name).to_str().unwrap().to_string()
}

#[test]
fn a_trace_alone_tells_what_it_lacks_and_options_supply_it() {
    let folder = Folder::new("check_alone");
    let path = trace("perf-us.txt");
    let bare = folder.run(&format!("check {path} --kernel 6.12")).clean();
    for fact in [
        "machine",
        "groups",
        "nanoseconds",
        "scheduler features",
        "need-resched",
    ] {
        assert!(bare.contains(&format!("not recorded: {fact}")), "{bare}");
    }
    let facts = "--machine 1x2x1 --cgroup /web/cpu.weight=200 --member perf=/web --feature NO_TTWU_QUEUE \
        --set base_slice_ns=3ms --format json";
    let json = folder
        .run(&format!("check {path} --kernel 6.12 {facts}"))
        .clean();
    let json: Value = serde_json::from_str(&json).unwrap();
    let missing = json["not_recorded"].as_array().unwrap();
    let missing: Vec<_> = missing.iter().map(|gap| &gap["fact"]).collect();
    assert!(
        missing
            .iter()
            .all(|fact| *fact != "machine" && *fact != "groups")
    );
    assert!(missing.iter().any(|fact| *fact == "nanoseconds"));
    assert_eq!(json["kernel"], "6.12");
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = Folder::new("check_refused");
    folder.write("notes.txt", "bought milk\n");
    for (args, word) in [
        ("check nowhere", "nowhere"),
        ("check notes.txt", "no trace"),
        ("check notes.txt -r speed=1", "pick"),
        ("check notes.txt -r pick=101", "100"),
        (
            "check notes.txt --cgroup web/cpu.weight=1",
            "/web/cpu.weight",
        ),
        ("check notes.txt --cgroup /web/cpu.wait=1", "cpu.weight"),
        ("check notes.txt --cgroup /web/cpu.weight=0", "1 to 10000"),
        (
            "check notes.txt --cgroup /web/cpu.weight=high",
            "1 to 10000",
        ),
        ("check notes.txt --cgroup /web/cpu.max=500", "from 1000 on"),
        ("check notes.txt --cgroup /web/cpu.max=", "QUOTA PERIOD"),
        ("workload notes.txt --cgroup /web/cpu.idle=2", "0 or 1"),
        ("check notes.txt --member nginx", "nginx=/web"),
        ("check notes.txt --files nowhere", "nowhere"),
        ("check .", "trace.dat"),
    ] {
        let outcome = folder.run(args);
        assert_eq!(outcome.code, Some(2), "{args}");
        assert!(outcome.stdout.is_empty(), "{args}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(word), "{args}: {}", outcome.stderr);
    }
}

#[test]
fn a_simulations_own_trace_is_followed() {
    let folder = Folder::new("check_own");
    folder
        .run("run hackbench:groups=1,loops=5 -m 1x4x1 -k 6.1 --trace own.dat")
        .clean();
    // A pick may hang on where a new task began, which a trace alone does not tell.
    let check = "check own.dat -m 1x4x1 -r pick=99.5 -r preemption=100";
    assert_eq!(folder.run(check).code, Some(0));
}
