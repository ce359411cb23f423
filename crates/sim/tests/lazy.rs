//! A worked example of `preempt=lazy`: who is preempted on another CPU hears of it at the tick.

mod rig;

use fairwind_sched::{Preempt, Release};
use rig::{MS, SEC, finish, prepare_with, task};

/// A hog with slices of 100 ms on CPU 1, and there a sleeper with slices of 1 ms, which a task on CPU 0 resumes every 10.3 ms.
const PAIR: &str = r#"{ "tasks": {
    "hog": { "cpus": [1], "loop": -1, "phases": { "p": { "dl-runtime": 100000, "run": 50000 } } },
    "sleeper": { "cpus": [1], "loop": -1, "phases": { "p": { "dl-runtime": 1000, "suspend": "", "run": 100 } } },
    "waker": { "cpus": [0], "loop": -1, "sleep": 10300, "resume": "sleeper" } } }"#;

/// The longest that the sleeper waited for its CPU, and how often it was resumed.
fn longest_wait(preempt: Preempt) -> (u64, u64) {
    let tune = |profile: &mut fairwind_sched::KernelProfile| profile.preempt = preempt;
    let report = finish(prepare_with(Release::V6_18, "1x2x1", SEC, PAIR, tune));
    let sleeper = task(&report, "sleeper");
    (
        sleeper.wakeup_latency.as_ref().unwrap().max_ns,
        sleeper.wakeups,
    )
}

#[test]
fn another_cpu_is_not_interrupted_for_a_lazy_wakeup() {
    // Without costs an interrupt takes no time; the tick comes every 4 ms, and the two are not in step. Latencies are told
    // in steps of a hundredth.
    let (at_once, wakeups) = longest_wait(Preempt::Voluntary);
    assert!(wakeups > 90);
    assert_eq!(at_once, 0);
    let (lazily, _) = longest_wait(Preempt::Lazy);
    assert!((3 * MS..=4 * MS + MS / 25).contains(&lazily), "{lazily}");
}
