//! Worked examples: lag and deadlines of EEVDF.

mod rig;

use fairwind_sched::{CfsRqId, Feature, Release, SeId};
use fairwind_sim::Simulation;
use rig::{MS, SEC, finish, nth, prepare, prepare_with, task};

const ROOT: CfsRqId = CfsRqId(0);

/// V of a queue whose entities all weigh 1024, rounded down, and the lag of one of them.
fn lag(simulation: &Simulation, se: SeId) -> i64 {
    let sched = simulation.sched();
    let cfs = &sched.cfs_rqs[ROOT];
    let curr = cfs.curr.get().filter(|&curr| sched.ses[curr].on_rq);
    let all = cfs.timeline.iter().map(|entry| entry.se).chain(curr);
    let keys: Vec<i64> = all
        .map(|se| sched.ses[se].vruntime.wrapping_sub(cfs.zero_vruntime) as i64)
        .collect();
    let average = keys.iter().sum::<i64>().div_euclid(keys.len() as i64);
    average - sched.ses[se].vruntime.wrapping_sub(cfs.zero_vruntime) as i64
}

#[test]
fn nobody_is_owed_more_than_a_slice_and_a_tick() {
    // Three equal hogs. Each should have had a third of the time; a slice of 0.7 ms is seen to be over at the tick, every
    // 4 ms, so the running one is ahead by at most 4.7 ms · 2/3, and those behind by as much between them.
    let json = r#"{ "tasks": { "hog": { "instance": 3, "loop": -1, "run": 50000 } } }"#;
    let mut simulation = prepare(Release::V6_12, "1x1x1", SEC, json);
    simulation.run_until(MS);
    for step in 2..1000 {
        simulation.run_until(step * MS);
        for hog in 0..3 {
            let se = nth(&simulation, hog).1;
            let entity = &simulation.sched().ses[se];
            let vruntime_is_stale = simulation.sched().cfs_rqs[ROOT].curr == se;
            if vruntime_is_stale {
                continue;
            }
            let lag = lag(&simulation, se);
            assert!(lag.abs() <= 4_700_000, "at {step} ms: {lag} of {entity:?}");
        }
    }
    let report = finish(simulation);
    for hog in &report.tasks {
        assert!(
            hog.cpu_ns.abs_diff(SEC / 3) <= 4_700_000,
            "{}: {}",
            hog.name,
            hog.cpu_ns
        );
    }
}

#[test]
fn a_task_that_ran_too_much_waits_for_it_after_its_sleep() {
    // The sleeper runs ahead of the hog by what it runs, so it sleeps with negative lag. Delayed, it stays queued until
    // the hog has caught up; awake before, it is still behind. It can get half of the CPU and no more, though it asks for
    // 10 of each 11 ms.
    let json = r#"{ "tasks": {
        "hog": { "loop": -1, "run": 50000 },
        "sleeper": { "loop": -1, "run": 10000, "sleep": 1000 } } }"#;
    let report = finish(prepare(Release::V6_12, "1x1x1", 10 * SEC, json));
    let got = task(&report, "sleeper").cpu_ns;
    assert!(got <= 5 * SEC + 10 * MS, "{got}");
    assert!(got >= 4 * SEC, "{got}");
}

/// A sleeper that runs ahead of the hog beside it.
const SHORT: &str = r#"{ "tasks": {
    "hog": { "loop": -1, "run": 50000 },
    "sleeper": { "dl-runtime": 100, "loop": -1, "run": 1000, "sleep": 20000 } } }"#;

#[test]
fn a_delayed_task_is_queued_and_not_runnable() {
    // A short slice lets it cut in with lag 0. After 1 ms, V is 0.5 ms further and the sleeper 1 ms: it is ahead by 0.5 ms.
    let mut simulation = prepare(Release::V6_12, "1x1x1", SEC, SHORT);
    let mut seen = false;
    for step in 1..1000 {
        simulation.run_until(step * MS / 4);
        let sched = simulation.sched();
        let se = nth(&simulation, 1).1;
        if sched.ses[se].sched_delayed {
            seen = true;
            let cfs = &sched.cfs_rqs[ROOT];
            assert_eq!(
                (cfs.h_nr_queued, cfs.h_nr_runnable, cfs.h_nr_delayed),
                (2, 1, 1)
            );
            assert!(
                lag(&simulation, se) < 0,
                "only lag that is owed is slept off in line"
            );
        }
    }
    assert!(seen);
}

#[test]
fn the_feature_lets_it_go_at_once() {
    let off = |profile: &mut fairwind_sched::KernelProfile| {
        profile.features.set(Feature::DELAY_DEQUEUE, false)
    };
    let mut simulation = prepare_with(Release::V6_12, "1x1x1", SEC, SHORT, off);
    for step in 1..1000 {
        simulation.run_until(step * MS / 4);
        assert_eq!(simulation.sched().cfs_rqs[ROOT].h_nr_delayed, 0);
    }
}

#[test]
fn a_short_slice_is_served_first() {
    // Both sleepers need 1 ms of each 20 ms beside two hogs that ask for slices of 50 ms. The one with the short slice may
    // cut the hog's off; the one with an equal slice waits for its deadline.
    let json = |slice: u64| {
        format!(
            r#"{{ "tasks": {{
            "hog": {{ "instance": 2, "dl-runtime": 50000, "loop": -1, "run": 50000 }},
            "sleeper": {{ "dl-runtime": {slice}, "loop": -1, "run": 1000,
                "timer": {{ "ref": "t", "period": 20000, "mode": "absolute" }} }} }} }}"#
        )
    };
    let short = finish(prepare(Release::V6_12, "1x1x1", 10 * SEC, &json(1000)));
    let long = finish(prepare(Release::V6_12, "1x1x1", 10 * SEC, &json(50_000)));
    let latency = |report: &fairwind_sim::Report| task(report, "sleeper").wakeup_latency.unwrap();
    // It needs a twentieth where its share is a third, so mostly it is owed time and may cut in at once. When it is not,
    // it waits until the hogs have run enough for it to be eligible, which a tick must notice: two ticks at most.
    assert!(latency(&short).p50_ns <= 1000, "{:?}", latency(&short));
    assert!(latency(&short).max_ns <= 8_100_000, "{:?}", latency(&short));
    // With equal slices a hog's may have to end first, 50 ms at the longest and up to a tick late.
    assert!(
        (20 * MS..=60 * MS).contains(&latency(&long).p99_ns),
        "{:?}",
        latency(&long)
    );
}

#[test]
fn slices_do_not_change_shares() {
    let json = r#"{ "tasks": {
        "short": { "dl-runtime": 1000, "loop": -1, "run": 50000 },
        "long": { "dl-runtime": 20000, "loop": -1, "run": 50000 } } }"#;
    let report = finish(prepare(Release::V6_12, "1x1x1", 10 * SEC, json));
    // Apart by at most the longer slice and a tick.
    let (short, long) = (task(&report, "short").cpu_ns, task(&report, "long").cpu_ns);
    assert!(short.abs_diff(long) <= 2 * 24 * MS, "{short} and {long}");
    // Slices of 1 ms end at the tick, every 4 ms; those of 20 ms last five ticks. Within 24 ms each runs 12.
    let switches = |name| task(&report, name).involuntary_switches;
    assert!(
        switches("short") > 2 * switches("long") / 2,
        "{} and {}",
        switches("short"),
        switches("long")
    );
}
