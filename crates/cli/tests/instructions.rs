//! The jobs of `fairwind bench` cost as many instructions per event as they did.
//!
//! Model.       Valgrind counts the instructions of each job in its small size, and of the same for three times as long; the
//!              difference per event is held against `instructions.txt`. A count, unlike a time, does not depend on what else
//!              the machine does. Counts are those of the profile that tests are built with, its checks included.
//! Invariants.  A rise by a tenth fails, and so does a fall, so that what was gained is guarded, too.
//!              `WRITE_COUNTS=1 cargo test -p fairwind --test instructions` writes the file anew.
//! Not here.    A machine without valgrind, where nothing is counted and the test says so (`make test-tools` installs it).

#![allow(clippy::print_stderr)]

use fairwind_lab::bench::JOBS;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const MARGIN: f64 = 0.10;

fn file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.txt")
}

/// Instructions and events of a part of a job.
fn count(job: &str, part: &str) -> (f64, f64) {
    let valgrind = [
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        env!("CARGO_BIN_EXE_fairwind"),
    ];
    let output = Command::new("valgrind")
        .args(valgrind)
        .args(["bench", "--part", part, job])
        .output()
        .expect("valgrind was found a moment ago");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{job}: {stderr}");
    let refs = stderr.lines().find(|line| line.contains("refs:"));
    let refs = refs
        .and_then(|line| line.split("refs:").nth(1))
        .expect("a count");
    let instructions = refs.trim().replace(',', "").parse().expect("a number");
    let once: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |field: &str| once[field].as_f64().expect("a number");
    (instructions, number("wakeups") + number("switches"))
}

fn per_event(job: &str) -> f64 {
    let (less, fewer) = count(job, "once");
    let (more, events) = count(job, "thrice");
    (more - less) / (events - fewer)
}

/// All jobs' counts, two jobs at a time.
fn measure() -> Vec<(&'static str, f64)> {
    // The last ones take longest.
    let jobs: Vec<_> = JOBS.iter().rev().map(|job| job.name).collect();
    let next = AtomicUsize::new(0);
    let counts = Mutex::new(Vec::new());
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let count = per_event(job);
            counts.lock().expect("no thread fails").push((*job, count));
        }
    };
    thread::scope(|scope| {
        scope.spawn(worker);
        worker();
    });
    let mut counts = counts.into_inner().expect("all threads are done");
    counts.sort_by_key(|(job, _)| *job);
    counts
}

#[test]
fn no_job_takes_a_tenth_more_instructions_an_event() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: valgrind is missing; 'make test-tools' installs it");
        return;
    }
    let counts = measure();
    if std::env::var_os("WRITE_COUNTS").is_some() {
        let lines = counts
            .iter()
            .map(|(job, count)| format!("{job} {count:.0}\n"));
        fs::write(file(), lines.collect::<String>()).expect("the file can be written");
        return;
    }
    let kept = fs::read_to_string(file()).expect("the file is there");
    let mut wrong = Vec::new();
    for (job, count) in counts {
        let line = kept
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{job} ")));
        let kept: f64 = line
            .expect("every job has a line")
            .parse()
            .expect("a number");
        let change = count / kept - 1.0;
        if change.abs() > MARGIN {
            wrong.push(format!(
                "{job}: {count:.0}, was {kept:.0} ({:+.1} %)",
                100.0 * change
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "instructions per event have changed; if that is meant, write them anew with WRITE_COUNTS=1:\n{}",
        wrong.join("\n")
    );
}
