//! Ctrl-C.

use crate::command::Folder;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const BUSY: &str = r#"{ "tasks": { "pair": { "instance": 200, "run": 50, "sleep": 50 } } }"#;

/// A run of years, which ends soon after it is told to, with all that belongs to a run.
fn ends_with_results(signal: &str) {
    let folder = Folder::with(&format!("interrupt_{signal}"), BUSY);
    let child = folder
        .command("run w.json -m 2x8x2 -d 900days --format json -t t.dat")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The run listens before it makes the hidden file of the trace.
    while !folder.names().iter().any(|name| name.ends_with(".part")) {
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
    let told = Instant::now();
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert!(
        told.elapsed() < Duration::from_secs(5),
        "{:?}",
        told.elapsed()
    );
    assert_eq!(output.status.code(), Some(130));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    let duration = report["duration_ns"].as_u64().unwrap();
    assert!(duration > 0);
    let cpu = &report["cpus"][0];
    assert_eq!(
        cpu["busy_ns"].as_u64().unwrap() + cpu["idle_ns"].as_u64().unwrap(),
        duration
    );
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("interrupted")
    );
    assert_eq!(folder.names(), ["t.dat", "w.json"]);
}

#[test]
fn ctrl_c_ends_the_run_and_prints_what_was_measured() {
    ends_with_results("INT");
}

#[test]
fn so_does_a_plain_kill() {
    ends_with_results("TERM");
}
