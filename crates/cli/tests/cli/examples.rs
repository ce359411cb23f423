//! The workloads in `examples/`: they run, and show what their comments say.

use crate::command::Folder;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

fn path(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder
        .join(name)
        .canonicalize()
        .unwrap()
        .to_str()
        .unwrap()
        .to_string()
}

fn report(name: &str, options: &str) -> Value {
    let folder = Folder::new(&format!("example_{}", name.replace('/', "_")));
    let args = format!("run {} --format json {options}", path(name));
    serde_json::from_str(&folder.run(&args).clean()).unwrap()
}

fn find<'a>(rows: &'a Value, field: &str, name: &str) -> &'a Value {
    rows.as_array()
        .unwrap()
        .iter()
        .find(|row| row[field] == name)
        .unwrap()
}

#[test]
fn all_run_without_a_warning_on_both_kernels() {
    let names = fs::read_dir(path(""))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let names: Vec<PathBuf> = names
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    assert!(names.len() >= 3);
    let folder = Folder::new("examples_all");
    for name in names {
        for kernel in ["6.1", "6.12"] {
            folder
                .run(&format!("run {} -k {kernel} -d 500ms", name.display()))
                .clean();
        }
    }
}

/// 50 bursts in 10 s, each of more work than the quota of one period and less than that of two.
#[test]
fn a_group_below_its_limit_is_throttled() {
    let report = report("throttled.json", "");
    let web = find(&report["groups"], "path", "/web");
    assert_eq!(
        (&web["nr_periods"], &web["nr_throttled"]),
        (&100.into(), &50.into())
    );
    let seconds = report["duration_ns"].as_u64().unwrap() / 1_000_000_000;
    assert!(web["cpu_ns"].as_u64().unwrap() < 250_000_000 * seconds);
    let batch = find(&report["groups"], "path", "/batch");
    assert_eq!(batch["nr_throttled"], 0);
}

/// The parts in the comment, in millionths of the one CPU.
#[test]
fn nested_weights_share_as_the_tree_says() {
    for kernel in ["-k 6.1", "-k 6.12"] {
        let report = report("nested-groups.json", kernel);
        let whole = report["duration_ns"].as_u64().unwrap();
        for (path, part) in [
            ("/a", 750_000),
            ("/a/x", 187_500),
            ("/a/y", 562_500),
            ("/b", 250_000),
        ] {
            let got = find(&report["groups"], "path", path)["cpu_ns"]
                .as_u64()
                .unwrap();
            let got = got * 1_000_000 / whole;
            assert!(
                got.abs_diff(part) < 5_000,
                "{kernel} {path}: {got} instead of {part}"
            );
        }
    }
}

#[test]
fn a_woken_task_waits_longer_without_wakeup_preemption() {
    let p50 = |options: &str| {
        let report = report("ping-pong.json", options);
        find(&report["specs"], "name", "client")["wakeup_latency"]["p50_ns"]
            .as_u64()
            .unwrap()
    };
    assert!(p50("-f NO_WAKEUP_PREEMPTION") > 100 * p50(""));
}

#[test]
fn a_shorter_slice_is_served_sooner() {
    let report = report("slices.json", "-m 1x4x1");
    let of = |name| find(&report["specs"], "name", name);
    let p99 = |name| of(name)["wakeup_latency"]["p99_ns"].as_u64().unwrap();
    let cpu = |name| of(name)["cpu_ns"].as_u64().unwrap();
    assert!(2 * p99("short") < p99("long"));
    assert!(cpu("short").abs_diff(cpu("long")) < cpu("long") / 50);
}

#[test]
fn a_guest_s_vcpus_account_for_all_their_time() {
    let report = report("guest.json", "--machine 1x4x1");
    let guest = &report["guests"][0];
    for vcpu in guest["vcpus"].as_array().unwrap() {
        let time = |name: &str| vcpu[name].as_u64().unwrap();
        let all = ["begun_ns", "run_ns", "idle_ns", "steal_ns", "exit_ns"];
        assert_eq!(
            all.map(time).iter().sum::<u64>(),
            report["duration_ns"].as_u64().unwrap()
        );
        assert!(time("steal_ns") > 0, "hogs are beside it");
    }
    assert!(guest["yields"]["yielded"].as_u64().unwrap() > 0);
    assert_eq!(report["guest_programs"][0]["guest"], "vm");
}
