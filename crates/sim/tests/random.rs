//! Random machines, kernels, workloads and changes, watched by every monitor.
//!
//! Model. A case is made of one number: of an older release, or from 1000000 on of 6.18. A failing one is named in the message; `FAIRWIND_CASE=theme:number` runs it alone,
//!        with `FAIRWIND_TRACE=FILE.txt` it also writes a trace; `FAIRWIND_CASES=n` runs n cases of each theme instead of the
//!        usual number.

#[path = "random/case.rs"]
mod case;
#[path = "random/change.rs"]
mod change;
#[path = "random/draw.rs"]
mod draw;
#[path = "random/workload.rs"]
mod workload;

use case::{Case, FIRST_OF_6_18, Theme};
use fairwind_sim::Report;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Runs a case; a panic of the code under test counts as a failure like any other.
fn outcome(theme: Theme, seed: u64) -> Result<Report, String> {
    let run = catch_unwind(AssertUnwindSafe(|| Case::new(theme, seed).run(None)));
    run.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(text
            .or(panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic")
            .to_string())
    })
}

fn check(theme: Theme, usual: u64) {
    if std::env::var_os("FAIRWIND_CASE").is_some() {
        return;
    }
    let count = std::env::var("FAIRWIND_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(usual);
    let mut failed = Vec::new();
    let mut switches = 0;
    for seed in (0..count).chain((0..count.div_ceil(2)).map(|n| FIRST_OF_6_18 + n)) {
        match outcome(theme, seed) {
            Ok(report) => switches += report.totals.switches,
            Err(what) => failed.push((seed, what)),
        }
    }
    let list: Vec<String> = failed
        .iter()
        .take(20)
        .map(|(seed, what)| format!("  {theme:?}:{seed}  {what}"))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {count} and half as many cases failed:\n{}\nreplay one: FAIRWIND_CASE={theme:?}:{} cargo test -p fairwind-sim --test random replay",
        failed.len(),
        list.join("\n"),
        failed[0].0
    );
    assert!(switches > count, "the cases do something");
}

#[test]
fn small() {
    check(Theme::Small, 1500);
}

#[test]
fn limits() {
    check(Theme::Limits, 1500);
}

#[test]
fn hotplug() {
    check(Theme::Hotplug, 1500);
}

#[test]
fn large() {
    check(Theme::Large, 300);
}

#[test]
fn long() {
    check(Theme::Long, 100);
}

#[test]
fn changes() {
    check(Theme::Changes, 1500);
}

/// The case of FAIRWIND_CASE, with all that it is made of.
#[test]
fn replay() {
    let Ok(name) = std::env::var("FAIRWIND_CASE") else {
        return;
    };
    let (theme, seed) = name.split_once(':').expect("theme:number");
    let all = [
        Theme::Small,
        Theme::Limits,
        Theme::Hotplug,
        Theme::Large,
        Theme::Long,
        Theme::Changes,
    ];
    let theme = *all
        .iter()
        .find(|t| format!("{t:?}") == theme)
        .expect("a theme");
    let seed = seed.parse().expect("a number");
    let case = Case::new(theme, seed);
    let trace = std::env::var_os("FAIRWIND_TRACE");
    let outcome = case.run(trace.as_ref().map(Path::new));
    assert!(
        outcome.is_ok(),
        "{outcome:?}\nmachine {} (free: {})\n{:?}\nduration {} ns\nchanges {:#?}\n{}",
        case.machine,
        case.free,
        case.profile,
        case.duration,
        case.changes,
        case.workload
    );
}
