//! `fairwind bench`.

use crate::command::Folder;

#[test]
fn a_job_is_measured_and_compared_with_a_baseline() {
    let folder = Folder::new("bench_baseline");
    let first = folder.run("bench pairs --runs 1 --format json");
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let results: serde_json::Value = serde_json::from_str(&first.stdout).unwrap();
    let job = &results["jobs"][0];
    assert_eq!(job["job"], "pairs");
    for measured in [
        "events_per_s",
        "of_bound",
        "simulated_s_per_s",
        "wakeups",
        "switches",
        "ticks",
        "bytes_per_cpu",
        "peak_bytes",
    ] {
        assert!(job[measured].as_f64().unwrap() > 0.0, "{measured}");
    }
    if results["counter"].is_string() {
        // A switch and a wakeup are neither free nor a search of the whole machine.
        let count = job["instructions_per_event"].as_f64().unwrap();
        assert!((100.0..20_000.0).contains(&count), "{count}");
    }
    folder.write("before.json", &first.stdout);
    let table = folder
        .run("bench pairs --runs 1 --baseline before.json")
        .stdout;
    for heading in ["M events/s", "to the baseline", "bare event queue"] {
        assert!(table.contains(heading), "{table}");
    }
    if results["counter"].is_string() {
        // The same program at the same work: only what the machine's environment adds may differ.
        let at = table
            .split("to the baseline")
            .nth(1)
            .unwrap()
            .lines()
            .nth(1)
            .unwrap();
        let ratio: f64 = at.split_whitespace().nth(2).unwrap().parse().unwrap();
        assert!((0.99..1.01).contains(&ratio), "{table}");
    }
}

#[test]
fn wrong_jobs_and_baselines_are_refused() {
    let folder = Folder::new("bench_wrong");
    let wrong = folder.run("bench netperv");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("did you mean netperf?"),
        "{}",
        wrong.stderr
    );
    folder.write("w.json", "{}");
    for baseline in ["w.json", "missing.json"] {
        let wrong = folder.run(&format!("bench pairs --baseline {baseline}"));
        assert_eq!((wrong.code, &*wrong.stdout), (Some(2), ""));
        assert!(wrong.stderr.contains(baseline), "{}", wrong.stderr);
    }
}
