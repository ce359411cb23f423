//! Worked examples: what CFS gives to sleepers.

mod rig;

use fairwind_sched::{CfsRqId, Feature, KernelProfile, Release};
use rig::{MS, SEC, finish, nth, prepare, prepare_with, task};

const ROOT: CfsRqId = CfsRqId(0);

/// A hog, and a sleeper that starts at 1 ms and wakes again at 101 ms.
const SLEEPER: &str = r#"{ "tasks": {
    "hog": { "loop": -1, "run": 50000 },
    "sleeper": { "delay": 1000, "loop": -1, "sleep": 100000, "run": 10000 } } }"#;

/// Virtual runtime of the sleeper relative to `min_vruntime` when it has just been woken.
fn credit(tune: impl FnOnce(&mut KernelProfile)) -> i64 {
    let mut simulation = prepare_with(Release::V6_1, "1x1x1", SEC, SLEEPER, tune);
    let mut before = false;
    for step in 50_000..300_000 {
        simulation.run_until(step * 1000);
        let sched = simulation.sched();
        let se = nth(&simulation, 1).1;
        if std::mem::replace(&mut before, sched.ses[se].on_rq)
            || !sched.ses[se].on_rq
            || step < 90_000
        {
            continue;
        }
        let entity = &sched.ses[se];
        return entity
            .vruntime
            .wrapping_sub(sched.cfs_rqs[ROOT].zero_vruntime) as i64;
    }
    panic!("it never woke");
}

#[test]
fn a_sleeper_gets_half_a_period() {
    // One CPU: latency_ns is 6 ms.
    assert_eq!(credit(|_| {}), -3_000_000);
}

#[test]
fn all_of_it_without_gentle_fair_sleepers() {
    assert_eq!(
        credit(|profile| profile.features.set(Feature::GENTLE_FAIR_SLEEPERS, false)),
        -6_000_000
    );
}

#[test]
fn the_period_is_a_tunable() {
    assert_eq!(
        credit(|profile| profile.set_tunable("latency_ns", 20_000_000).unwrap()),
        -10_000_000
    );
}

#[test]
fn the_credit_is_more_than_the_granularity_so_it_preempts() {
    // 3 ms of credit against a wakeup granularity of 1 ms: it runs at once.
    let report = finish(prepare(Release::V6_1, "1x1x1", 10 * SEC, SLEEPER));
    let latency = task(&report, "sleeper").wakeup_latency.unwrap();
    // All but its start, for which it has no credit.
    assert!(latency.p50_ns <= 10_000, "{latency:?}");
    // Without wakeup preemption it waits for the tick that ends the hog's slice.
    let off = |profile: &mut KernelProfile| profile.features.set(Feature::WAKEUP_PREEMPTION, false);
    let report = finish(prepare_with(Release::V6_1, "1x1x1", 10 * SEC, SLEEPER, off));
    let latency = task(&report, "sleeper").wakeup_latency.unwrap();
    assert!((MS..=4 * MS).contains(&latency.p50_ns), "{latency:?}");
}

#[test]
fn a_new_task_starts_a_slice_late() {
    // START_DEBIT: beside one hog, a slice of half the period: 3 ms right of min_vruntime.
    let json = r#"{ "tasks": {
        "hog": { "loop": -1, "run": 50000 },
        "new": { "delay": 50500, "loop": -1, "run": 50000 } } }"#;
    let place = |tune: fn(&mut KernelProfile)| {
        let mut simulation = prepare_with(Release::V6_1, "1x1x1", SEC, json, tune);
        simulation.run_until(50_500_000);
        let sched = simulation.sched();
        let se = nth(&simulation, 1).1;
        sched.ses[se]
            .vruntime
            .wrapping_sub(sched.cfs_rqs[ROOT].zero_vruntime) as i64
    };
    let late = place(|_| {});
    assert!((2_999_990..=3_000_000).contains(&late), "{late}");
    assert_eq!(
        place(|profile| profile.features.set(Feature::START_DEBIT, false)),
        0
    );
}
