//! Who gets a mutex, who wakes first, who lends a priority: step by step.

use fairwind_workload::*;

/// A run time driven by hand.
struct Hand {
    runtime: Runtime,
    out: Effects,
}

impl Hand {
    fn new(text: &str) -> Hand {
        let workload = parse(text, "test.json").unwrap_or_else(|error| panic!("{error}"));
        let options = RunOptions {
            log_loops: true,
            ..RunOptions::default()
        };
        Hand {
            runtime: Runtime::with_options(&workload, options),
            out: Effects::default(),
        }
    }

    /// Steps a task; what it does and what it brings about.
    fn step(&mut self, task: usize, now: u64) -> (Step, Vec<Effect>) {
        self.out.clear();
        let step = self.runtime.step(task, now, &mut self.out);
        (step, self.out.list.clone())
    }
}

fn wake(task: usize) -> Effect {
    Effect::Wake { task, sync: false }
}

fn boost(owner: usize, donor: usize) -> Effect {
    Effect::Boost { owner, donor }
}

fn unboost(owner: usize, donor: usize) -> Effect {
    Effect::Unboost { owner, donor }
}

const RUN: Step = Step::Run { work_ns: 1_000 };

/// Tasks that lock `m` around a run.
fn contenders(instances: u32, global: &str) -> String {
    format!(
        r#"{{"tasks": {{"a": {{"instance": {instances}, "lock": "m", "run": 1, "unlock": "m",
            "run1": 1}}}}, "global": {{ {global} }}}}"#
    )
}

#[test]
fn a_plain_mutex_can_be_taken_before_the_woken_waiter_comes() {
    let mut hand = Hand::new(&contenders(3, ""));
    assert_eq!(hand.step(0, 0), (RUN, vec![]));
    assert_eq!(hand.step(1, 0), (Step::Block, vec![]));
    // 0 unlocks, which wakes 1, and 2 takes the mutex before 1 runs.
    assert_eq!(hand.step(0, 1), (RUN, vec![wake(1)]));
    assert_eq!(hand.step(2, 1), (RUN, vec![]));
    assert_eq!(hand.step(1, 1), (Step::Block, vec![]));
    // 1 has marked the mutex as contended, so that 2 wakes it.
    assert_eq!(hand.step(2, 2), (RUN, vec![wake(1)]));
    assert_eq!(hand.step(1, 2), (RUN, vec![]));
    // 1 cannot know that nobody waits and marks it again; its unlock finds no one.
    assert_eq!(hand.step(1, 3), (RUN, vec![]));
}

#[test]
fn a_barger_that_sees_a_free_mutex_wakes_nobody() {
    let mut hand = Hand::new(&contenders(4, ""));
    assert_eq!(hand.step(0, 0).0, RUN);
    assert_eq!(hand.step(1, 0).0, Step::Block);
    assert_eq!(hand.step(2, 0).0, Step::Block);
    assert_eq!(hand.step(0, 1), (RUN, vec![wake(1)]));
    // 3 takes and frees the mutex while 1 is on its way: 2 stays asleep, 1 will wake it.
    assert_eq!(hand.step(3, 1), (RUN, vec![]));
    assert_eq!(hand.step(3, 2), (RUN, vec![]));
    assert_eq!(hand.step(1, 2), (RUN, vec![]));
    assert_eq!(hand.step(1, 3), (RUN, vec![wake(2)]));
}

#[test]
fn real_time_waiters_come_first() {
    let text = r#"{"tasks": {
        "h": {"lock": "m", "run": 1, "unlock": "m", "run1": 1},
        "n": {"lock": "m", "run": 1, "unlock": "m"},
        "lo": {"policy": "SCHED_FIFO", "priority": 5, "lock": "m", "run": 1, "unlock": "m"},
        "hi": {"policy": "SCHED_RR", "priority": 50, "lock": "m", "run": 1, "unlock": "m"}}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(0, 0).0, RUN);
    for task in 1..4 {
        assert_eq!(hand.step(task, 0).0, Step::Block);
    }
    assert_eq!(hand.step(0, 1).1, [wake(3)]);
    assert_eq!(hand.step(3, 1).0, RUN);
    assert_eq!(hand.step(3, 2).1, [wake(2)]);
}

#[test]
fn a_pi_mutex_is_handed_over() {
    let mut hand = Hand::new(&contenders(3, r#""pi_enabled": true"#));
    assert_eq!(hand.step(0, 0), (RUN, vec![]));
    assert_eq!(hand.step(1, 0), (Step::Block, vec![boost(0, 1)]));
    assert_eq!(hand.step(2, 0), (Step::Block, vec![boost(0, 2)]));
    // 1 owns it from the unlock on, and 2 now waits for 1.
    let effects = vec![unboost(0, 1), unboost(0, 2), boost(1, 2), wake(1)];
    assert_eq!(hand.step(0, 1), (RUN, effects));
    // 0 comes again before 1 ran: it must queue.
    assert_eq!(hand.step(0, 2), (Step::Block, vec![boost(1, 0)]));
    assert_eq!(hand.step(1, 2), (RUN, vec![]));
}

#[test]
fn boosts_go_along_the_chain() {
    // c waits for b, which waits for a.
    let text = r#"{"tasks": {
        "a": {"lock": "x", "run": 1, "unlock": "x", "run1": 1},
        "b": {"lock": "y", "run": 1, "lock1": "x", "run1": 1, "unlock1": "x", "unlock": "y",
              "run2": 1},
        "c": {"lock": "y", "run": 1, "unlock": "y"}}, "global": {"pi_enabled": true}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(0, 0).0, RUN);
    assert_eq!(hand.step(1, 0).0, RUN);
    assert_eq!(hand.step(1, 1), (Step::Block, vec![boost(0, 1)]));
    assert_eq!(
        hand.step(2, 1),
        (Step::Block, vec![boost(1, 2), boost(0, 2)])
    );
    // a gives x to b: neither b nor c lends to a any more; c still lends to b.
    assert_eq!(
        hand.step(0, 2),
        (RUN, vec![unboost(0, 1), unboost(0, 2), wake(1)])
    );
    assert_eq!(hand.step(1, 2), (RUN, vec![]));
    assert_eq!(hand.step(1, 3), (RUN, vec![unboost(1, 2), wake(2)]));
    assert_eq!(hand.step(2, 3), (RUN, vec![]));
}

#[test]
fn a_task_that_blocks_brings_its_own_waiters_along() {
    // c waits for b before b waits for a.
    let text = r#"{"tasks": {
        "a": {"lock": "x", "run": 1, "unlock": "x", "run1": 1},
        "b": {"lock": "y", "run": 1, "lock1": "x", "run1": 1},
        "c": {"instance": 2, "lock": "y", "run": 1}}, "global": {"pi_enabled": true}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(0, 0).0, RUN);
    assert_eq!(hand.step(1, 0).0, RUN);
    assert_eq!(hand.step(2, 0).1, [boost(1, 2)]);
    assert_eq!(hand.step(3, 0).1, [boost(1, 3)]);
    assert_eq!(
        hand.step(1, 1),
        (Step::Block, vec![boost(0, 1), boost(0, 2), boost(0, 3)])
    );
    assert_eq!(
        hand.step(0, 2).1,
        [unboost(0, 1), unboost(0, 2), unboost(0, 3), wake(1)]
    );
}

#[test]
fn a_circle_of_pi_mutexes_never_ends_and_lends_nothing() {
    let text = r#"{"tasks": {
        "a": {"lock": "x", "run": 1, "lock1": "y", "run1": 1},
        "b": {"lock": "y", "run": 1, "lock1": "x", "run1": 1}}, "global": {"pi_enabled": true}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(0, 0).0, RUN);
    assert_eq!(hand.step(1, 0).0, RUN);
    assert_eq!(hand.step(0, 1), (Step::Block, vec![boost(1, 0)]));
    assert_eq!(hand.step(1, 1), (Step::Block, vec![]));
}

#[test]
fn only_the_owner_unlocks_a_pi_mutex() {
    let text = |pi: bool| {
        format!(
            r#"{{"tasks": {{"a": {{"lock": "m", "run": 1, "unlock": "m", "run1": 1}},
                "b": {{"unlock": "m", "run": 1}}, "c": {{"lock": "m", "run": 1}}}},
                "global": {{"pi_enabled": {pi}}}}}"#
        )
    };
    for pi in [true, false] {
        let mut hand = Hand::new(&text(pi));
        assert_eq!(hand.step(0, 0).0, RUN);
        assert_eq!(hand.step(1, 0), (RUN, vec![]));
        let taken = hand.step(2, 0).0;
        assert_eq!(taken, if pi { Step::Block } else { RUN }, "pi_enabled {pi}");
    }
}

#[test]
fn the_releaser_of_a_barrier_can_lap_those_it_woke() {
    // rt-app's barrier lets the last one through again as long as the others have not run.
    let text = r#"{"tasks": {"a": {"barrier": "B", "run": 1}, "b": {"barrier": "B", "run": 1}}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(0, 0).0, Step::Block);
    assert_eq!(hand.step(1, 0), (RUN, vec![wake(0)]));
    assert_eq!(hand.step(1, 1), (RUN, vec![]));
    assert_eq!(hand.step(0, 1), (RUN, vec![]));
    assert_eq!(hand.step(1, 2), (Step::Block, vec![]));
}

#[test]
fn a_woken_semaphore_waiter_can_be_overtaken() {
    let text = r#"{"tasks": {"p": {"sem_post": "s", "run": 1},
        "w": {"instance": 2, "sem_wait": "s", "run": 1}}}"#;
    let mut hand = Hand::new(text);
    assert_eq!(hand.step(1, 0).0, Step::Block);
    assert_eq!(hand.step(0, 0), (RUN, vec![wake(1)]));
    assert_eq!(hand.step(2, 0), (RUN, vec![]));
    assert_eq!(hand.step(1, 0), (Step::Block, vec![]));
}

#[test]
#[should_panic(expected = "is not woken")]
fn stepping_a_sleeper_is_a_bug() {
    let mut hand = Hand::new(r#"{"tasks": {"a": {"suspend", "run": 1}}}"#);
    hand.step(0, 0);
    hand.step(0, 1);
}

#[test]
#[should_panic(expected = "has ended")]
fn stepping_the_dead_is_a_bug() {
    let mut hand = Hand::new(r#"{"tasks": {"a": {"loop": 1, "run": 1}}}"#);
    hand.step(0, 0);
    hand.step(0, 1);
    hand.step(0, 2);
}

#[test]
fn attributes_change_when_a_phase_begins_and_only_then() {
    let text = r#"{"tasks": {"a": {"priority": 3, "cpus": [2], "loop": 2, "phases": {
        "p": {"loop": 2, "run": 1, "cpus": "0-1", "taskgroup": "/g"},
        "q": {"run": 1, "policy": "SCHED_BATCH"},
        "r": {"run": 1, "working_set": 64, "util_min": 10}}}}}"#;
    let mut hand = Hand::new(text);
    let initial = hand.runtime.initial_attrs(0).clone();
    assert_eq!(initial.policy, Some(Policy::Other));
    assert_eq!(initial.priority, Some(3));
    assert_eq!(initial.cpus, Some(Affinity::Cpus(vec![0, 1])));
    assert_eq!(initial.group, Some(GroupIdx(1)));
    let mut set = Vec::new();
    let mut pattern = String::new();
    for now in 0.. {
        match hand.step(0, now).0 {
            Step::SetAttrs(id) => {
                pattern.push('s');
                set.push(hand.runtime.attrs(id).clone());
            }
            Step::Exit => break,
            _ => pattern.push('r'),
        }
    }
    // p p q r, then the same again, where p must set as well.
    assert_eq!(pattern, "rrsrsrsrrsrsr");
    assert_eq!(set[0].policy, Some(Policy::Batch));
    assert_eq!(
        set[0].priority,
        Some(0),
        "a policy without priority sets its default"
    );
    assert_eq!(
        set[0].cpus,
        Some(Affinity::Cpus(vec![2])),
        "back to the task's"
    );
    assert_eq!(set[0].group, None, "groups stay");
    assert_eq!(set[1].working_set, Some(64));
    assert_eq!(set[1].util_min, Some(10));
    assert_eq!(set[2].working_set, Some(0));
    assert_eq!(set[2].cpus, Some(Affinity::Cpus(vec![0, 1])));
}

#[test]
fn cpus_of_one_phase_only_return_to_the_inherited_ones() {
    let text = r#"{"tasks": {"a": {"phases": {"p": {"run": 1, "cpus": [1]}, "q": {"run": 1}}}}}"#;
    let mut hand = Hand::new(text);
    hand.step(0, 0);
    let Step::SetAttrs(id) = hand.step(0, 1).0 else {
        panic!("q sets nothing");
    };
    assert_eq!(hand.runtime.attrs(id).cpus, Some(Affinity::Inherited));
}

#[test]
fn statistics_are_those_of_rt_apps_log() {
    // The CPU is slow and late: the run of 1000 takes 1200, the one until 3350 ends at 4100.
    let text = r#"{"tasks": {"a": {"loop": 2, "run": 1, "runtime1": 2,
        "timer": {"ref": "unique", "period": 10}}}}"#;
    let workload = parse(text, "t").unwrap();
    let options = RunOptions {
        log_loops: true,
        t_zero_ns: 100,
        ..RunOptions::default()
    };
    let mut runtime = Runtime::with_options(&workload, options);
    let mut out = Effects::default();
    assert_eq!(runtime.start().collect::<Vec<_>>(), [(0, 100)]);
    assert_eq!(runtime.step(0, 150, &mut out), RUN);
    assert_eq!(
        runtime.step(0, 1_350, &mut out),
        Step::RunTime { until_ns: 3_350 }
    );
    // Due at 100 + 10000; slack 10100 - 4100 = 6000; wakes 40 late.
    assert_eq!(runtime.step(0, 4_100, &mut out), Step::SleepUntil(10_100));
    assert_eq!(runtime.step(0, 10_140, &mut out), RUN);
    runtime.woke(0, 10_100, 10_140);
    let row = LoopRow {
        task: 0,
        phase: 0,
        start_ns: 150,
        end_ns: 10_140,
        run_ns: (1_350 - 150) + (4_100 - 1_350),
        slack_ns: 6_000,
        c_duration_ns: 3_000,
        c_period_ns: 10_000,
        wu_lat_ns: 40,
        timers: 1,
        missed: 0,
    };
    assert_eq!(out.rows, [row]);
    assert_eq!(
        runtime.step(0, 15_000, &mut out),
        Step::RunTime { until_ns: 17_000 }
    );
    // Due at 20100, come to at 20300: missed by 200.
    assert_eq!(runtime.step(0, 20_300, &mut out), Step::Exit);
    let stats = *runtime.stats(0).unwrap();
    assert_eq!((stats.loops, stats.timers, stats.missed), (2, 2, 1));
    assert_eq!(
        (stats.slack_min_ns, stats.slack_avg_ns()),
        (-200, Some(2_900))
    );
    assert_eq!((stats.wu_lat_ns, stats.wu_lat_max_ns), (40, 40));
    assert_eq!(stats.period_ns, 9_990 + (20_300 - 10_140));
    assert_eq!((stats.c_duration_ns, stats.c_period_ns), (6_000, 20_000));
    let wakeups = (
        stats.wakeups,
        stats.wakeup_latency_ns,
        stats.wakeup_latency_max_ns,
    );
    assert_eq!(wakeups, (1, 40, 40));
    assert_eq!(runtime.nr_alive(), 0);
}

#[test]
fn slack_is_the_last_timers_or_the_sum() {
    for (cumulative, slack) in [(false, 20_000), (true, 30_000)] {
        let text = format!(
            r#"{{"tasks": {{"a": {{"loop": 1, "timer0": {{"ref": "unique", "period": 10}},
                "timer1": {{"ref": "unique", "period": 20}}}}}},
                "global": {{"cumulative_slack": {cumulative}}}}}"#
        );
        let mut hand = Hand::new(&text);
        assert_eq!(hand.step(0, 0).0, Step::SleepUntil(10_000));
        assert_eq!(hand.step(0, 10_000).0, Step::SleepUntil(30_000));
        assert_eq!(hand.step(0, 30_000).0, Step::Exit);
        assert_eq!(hand.runtime.stats(0).unwrap().slack_ns, slack);
    }
}
