//! Options, warnings and notes of `fairwind run`.

use crate::command::Folder;

const ENDLESS: &str = r#"{ "tasks": { "a": { "run": 1000, "sleep": 1000 } } }"#;

#[test]
fn a_workload_without_an_end_runs_for_ten_seconds_and_says_so() {
    let folder = Folder::with("options_endless", ENDLESS);
    let outcome = folder.run("run w.json -m 1x1x1");
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome
            .stderr
            .starts_with("note: the workload has no end: simulating 10 s")
    );
    assert!(outcome.stdout.contains("\nduration  10 s\n"));
}

#[test]
fn the_shorter_of_the_two_durations_counts() {
    let json = r#"{ "tasks": { "a": { "run": 1000 } }, "global": { "duration": 2 } }"#;
    let folder = Folder::with("options_duration", json);
    let text = |args: &str| folder.run(args).clean();
    assert!(text("run w.json -m 1x1x1").contains("\nduration  2 s\n"));
    assert!(text("run w.json -m 1x1x1 -d 5s").contains("\nduration  2 s\n"));
    assert!(text("run w.json -m 1x1x1 -d 500ms").contains("\nduration  500 ms\n"));
}

/// Both tasks wait for a semaphore that only the other would post.
#[test]
fn a_deadlock_ends_and_is_told() {
    let json = r#"{ "tasks": {
        "a": { "loop": 5, "sem_wait": "x", "sem_post": "y" },
        "b": { "loop": 5, "sem_wait": "y", "sem_post": "x" } } }"#;
    let outcome = Folder::with("options_deadlock", json).run("run w.json -m 1x1x1");
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("wait for what never comes"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_has_no_effect_gives_one_warning() {
    let json =
        r#"{ "tasks": { "a": { "run": 1000 } }, "global": { "duration": 1, "gnuplot": true } }"#;
    let folder = Folder::with("options_warnings", json);
    let outcome = folder.run("run w.json -m 1x1x1 -f WARN_DOUBLE_CLOCK --csv-table cpus");
    assert_eq!(outcome.code, Some(0));
    let warnings: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("warning: --feature WARN_DOUBLE_CLOCK: "));
    assert!(warnings[1].starts_with("warning: --csv-table has no effect"));
    assert!(warnings[2].starts_with("warning: w.json:1:"));
    assert!(warnings[2].contains("gnuplot"));
}

#[test]
fn several_files_and_standard_input_make_one_workload() {
    let folder = Folder::with("options_files", ENDLESS);
    let more = r#"{ "tasks": { "b": { "run": 100 } } }"#;
    let outcome = folder.run_with_input("run w.json - -m 1x2x1 -d 10ms", more);
    let text = outcome.clean();
    assert!(text.contains("\na-0 ") && text.contains("\nb-1 "));

    let outcome = folder.run_with_input("run -", "{ \"tasks\":\n 3 }");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.starts_with("error: <stdin>:2:2: "),
        "{}",
        outcome.stderr
    );
}

/// Two hogs on one CPU, with no costs: the length of a slice decides how often they are switched.
/// Slices end at ticks, so that 4 ms slices and ticks give 250 switches a second, and ten times
/// longer slices a tenth of them.
#[test]
fn tunables_reach_the_scheduler() {
    let json = r#"{ "tasks": { "a": { "instance": 2, "run": 100000 } } }"#;
    let folder = Folder::with("options_tunables", json);
    let switches = |set: &str| -> u64 {
        let args = format!("run w.json -m 1x1x1 --costs none -d 10s --format json {set}");
        let report: serde_json::Value = serde_json::from_str(&folder.run(&args).clean()).unwrap();
        report["totals"]["switches"].as_u64().unwrap()
    };
    let (short, long) = (
        switches("--set base_slice_ns=4ms"),
        switches("--set base_slice_ns=40ms"),
    );
    assert!((2400..=2600).contains(&short), "{short}");
    assert!((240..=260).contains(&long), "{long}");
}

#[test]
fn features_reach_the_scheduler() {
    let json = r#"{ "tasks": {
        "a": { "run": 100, "sleep": 3100 },
        "hog": { "run": 100000 } } }"#;
    let folder = Folder::with("options_features", json);
    let latency = |feature: &str| -> u64 {
        let args = format!("run w.json -m 1x1x1 --costs none -d 2s --format json {feature}");
        let report: serde_json::Value = serde_json::from_str(&folder.run(&args).clean()).unwrap();
        report["tasks"][0]["wakeup_latency"]["p50_ns"]
            .as_u64()
            .unwrap()
    };
    // With preemption a short sleeper runs as soon as it is woken; without, at the next tick.
    assert!(latency("") < 1_000);
    assert!(latency("-f NO_WAKEUP_PREEMPTION") > 100_000);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let folder = Folder::with("options_pipe", ENDLESS);
    let mut child = folder
        .command("kernel 6.12")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
