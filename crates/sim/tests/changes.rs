//! Published changes and tunables of levels: what each does to a running machine, and that it does nothing where its
//! precondition never holds.

mod rig;

use fairwind_sched::{BwInterleave, Feature, KernelProfile, Release};
use fairwind_sim::Report;
use fairwind_trace::{CounterInfo, Event, EventKind, GroupInfo, TaskInfo, TraceSink};
use rig::{SEC, cpu_ns, finish, near, prepare_with};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Keeps the events of a run.
struct Keep(Rc<RefCell<Vec<Event>>>);

impl TraceSink for Keep {
    fn task(&mut self, _: u32, _: &TaskInfo) -> io::Result<()> {
        Ok(())
    }
    fn group(&mut self, _: u32, _: &GroupInfo) -> io::Result<()> {
        Ok(())
    }
    fn counter(&mut self, _: u32, _: &CounterInfo) -> io::Result<()> {
        Ok(())
    }
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.0.borrow_mut().push(*event);
        Ok(())
    }
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// Report and events of half a second on two nodes with SMT.
fn run(
    release: Release,
    json: &str,
    tune: impl FnOnce(&mut KernelProfile),
) -> (Report, Vec<Event>) {
    let mut simulation = prepare_with(release, "2x2x2", SEC / 2, json, tune);
    let events = Rc::new(RefCell::new(Vec::new()));
    simulation.trace_to(vec![Box::new(Keep(Rc::clone(&events)))]);
    let report = finish(simulation);
    let events = events.take();
    assert!(events.len() > 5_000, "something happens: {}", events.len());
    (report, events)
}

/// The change makes no difference to any event.
fn changes_nothing(json: &str, change: impl Fn(&mut KernelProfile)) {
    changes_nothing_of(json, |_| {}, change);
}

/// The change makes no difference to any event of a kernel that is set like this.
fn changes_nothing_of(
    json: &str,
    kernel: impl Fn(&mut KernelProfile),
    change: impl Fn(&mut KernelProfile),
) {
    for release in Release::ALL {
        let (_, without) = run(release, json, &kernel);
        let (_, with) = run(release, json, |profile| {
            kernel(profile);
            change(profile);
        });
        assert!(with == without, "{release:?}");
    }
}

fn on(feature: Feature) -> impl Fn(&mut KernelProfile) {
    move |profile| profile.features.set(feature, true)
}

/// Hogs, sleepers and two that wake each other, more than there are CPUs, all in the root.
const IN_THE_ROOT: &str = r#"{ "tasks": {
    "hog": { "instance": 6, "loop": -1, "run": 50000 },
    "light": { "instance": 6, "loop": -1, "run": 300, "sleep": 100 },
    "ping": { "loop": -1, "run": 20, "resume": "pong", "suspend": "ping" },
    "pong": { "loop": -1, "suspend": "pong", "run": 20, "resume": "ping" } } }"#;

/// The same in groups.
const IN_GROUPS: &str = r#"{
    "cgroups": { "/a": {}, "/a/b": {} },
    "tasks": {
    "hog": { "instance": 6, "taskgroup": "/a", "loop": -1, "run": 50000 },
    "light": { "instance": 6, "taskgroup": "/a/b", "loop": -1, "run": 300, "sleep": 100 },
    "ping": { "taskgroup": "/a/b", "loop": -1, "run": 20, "resume": "pong", "suspend": "ping" },
    "pong": { "taskgroup": "/a", "loop": -1, "suspend": "pong", "run": 20, "resume": "ping" } } }"#;

#[test]
fn tasks_of_the_root_are_not_steered_to_empty_queues() {
    changes_nothing(IN_THE_ROOT, on(Feature::SIS_EMPTY_CFS_RQ));
}

#[test]
fn tasks_of_a_group_are() {
    for release in Release::ALL {
        let (report, _) = run(release, IN_GROUPS, on(Feature::SIS_EMPTY_CFS_RQ));
        assert!(report.search.empty_cfs_rq > 100, "{release:?}");
    }
}

#[test]
fn cpus_are_not_hot_for_tasks_that_sleep_long() {
    // No sleep is shorter than migration_cost: every average stays 0.
    let json = r#"{ "tasks": {
        "hog": { "instance": 4, "loop": -1, "run": 50000 },
        "light": { "instance": 12, "loop": -1, "run": 300, "sleep": 600 } } }"#;
    changes_nothing(json, on(Feature::SIS_CACHE));
}

#[test]
fn queues_are_not_compared_for_tasks_that_are_bound() {
    let json = r#"{ "tasks": {
        "hog": { "instance": 3, "cpus": [0], "loop": -1, "run": 50000 },
        "ping": { "cpus": [0], "loop": -1, "run": 20, "resume": "pong", "suspend": "ping" },
        "pong": { "cpus": [2], "loop": -1, "suspend": "pong", "run": 20, "resume": "ping" },
        "light": { "cpus": [1], "loop": -1, "run": 30, "sleep": 60 } } }"#;
    changes_nothing(json, on(Feature::WA_QUEUED_WEIGHT));
}

#[test]
fn cold_tasks_go_first_only_where_some_are_hot() {
    let nothing_is_hot = |profile: &mut KernelProfile| profile.tunables.migration_cost_ns = 0;
    changes_nothing_of(IN_THE_ROOT, nothing_is_hot, on(Feature::LB_COLD_FIRST));
}

#[test]
fn the_roots_tick_is_never_left_out() {
    changes_nothing(IN_THE_ROOT, on(Feature::SPARSE_GROUP_TICK));
}

#[test]
fn a_level_that_no_task_is_at_has_no_say() {
    changes_nothing(IN_GROUPS, |profile| {
        for name in ["base_slice_ns@3", "latency_ns@3", "min_granularity_ns@3"] {
            // Each release has some of them.
            let _ = profile.set_tunable(name, 50_000_000);
        }
    });
}

#[test]
fn without_limits_their_periods_do_not_matter() {
    for interleave in [BwInterleave::Tenth, BwInterleave::Even, BwInterleave::Gap] {
        for release in Release::ALL {
            let aligned =
                |profile: &mut KernelProfile| profile.bw_interleave = BwInterleave::Aligned;
            let (_, without) = run(release, IN_GROUPS, aligned);
            let (_, with) = run(release, IN_GROUPS, |profile| {
                profile.bw_interleave = interleave;
                profile.bw_period_jitter_pct = 10;
            });
            assert!(with == without, "{release:?} {interleave:?}");
        }
    }
}

#[test]
fn without_group_scheduling_groups_are_as_if_they_were_not_there() {
    // Migrations, switches and wakeups, with their times; groups have announcements and counters of their own.
    let decisions = |release: Release, json: &str, groups: bool| -> Vec<Event> {
        let (_, events) = run(release, json, |profile| {
            profile.features.set(Feature::FAIR_GROUP_SCHED, groups);
        });
        let mut events = events;
        events.retain(|event| {
            matches!(
                event.kind,
                EventKind::SchedSwitch { .. }
                    | EventKind::SchedWakeup { .. }
                    | EventKind::SchedMigrateTask { .. }
            )
        });
        events
    };
    for release in Release::ALL {
        let in_the_root = decisions(release, IN_THE_ROOT, true);
        assert!(
            decisions(release, IN_THE_ROOT, false) == in_the_root,
            "{release:?}"
        );
        assert!(
            decisions(release, IN_GROUPS, false) == in_the_root,
            "{release:?}"
        );
        assert!(
            decisions(release, IN_GROUPS, true) != in_the_root,
            "{release:?}"
        );
    }
}

#[test]
fn without_group_scheduling_tasks_share_by_themselves() {
    // One hog in /a, three in /b, one CPU: a quarter each, and no limit holds.
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 300, "cpu.max": "10000 100000" }, "/b": {} },
        "tasks": {
            "one": { "taskgroup": "/a", "loop": -1, "run": 50000 },
            "three": { "instance": 3, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let simulation = prepare_with(release, "1x1x1", 10 * SEC, json, |profile| {
            profile.features.set(Feature::FAIR_GROUP_SCHED, false);
        });
        assert_eq!(simulation.warnings().len(), 1, "{release:?}: it is told");
        let report = finish(simulation);
        near("one", cpu_ns(&report, "one"), 10 * SEC / 4, 10);
        // The report still tells what each group used.
        near("/a", report.groups[1].cpu_ns, 10 * SEC / 4, 10);
        assert_eq!(report.groups[1].nr_throttled, 0, "{release:?}");
    }
}

/// Times a hog was switched away while it could run, in ten seconds on one CPU.
fn preemptions(release: Release, json: &str, settings: &[(&str, i64)]) -> u64 {
    let simulation = prepare_with(release, "1x1x1", 10 * SEC, json, |profile| {
        for &(name, value) in settings {
            profile.set_tunable(name, value).unwrap();
        }
    });
    finish(simulation)
        .tasks
        .iter()
        .map(|task| task.involuntary_switches)
        .sum()
}

#[test]
fn a_level_has_its_own_slices() {
    // Two hogs in one group: their turns are those of level 1. The root's queue has one entity, and nothing to choose.
    let inside = r#"{ "cgroups": { "/a": {} }, "tasks": {
        "hog": { "instance": 2, "taskgroup": "/a", "loop": -1, "run": 50000 } } }"#;
    // A hog each in two groups: the groups' turns are those of level 0.
    let between = r#"{ "cgroups": { "/a": {}, "/b": {} }, "tasks": {
        "a": { "taskgroup": "/a", "loop": -1, "run": 50000 },
        "b": { "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    let long = |release: Release, level: u32| match release {
        // Two entities, half of the period each: 20 ms.
        Release::V6_1 => (format!("latency_ns@{level}"), 40_000_000),
        Release::V6_12 | Release::V6_18 => (format!("base_slice_ns@{level}"), 20_000_000),
    };
    let settings = [
        ("base_slice_ns@0", 3_000_000),
        ("base_slice_ns@1", 20_000_000),
    ];
    let own = preemptions(Release::V6_12, between, &settings);
    assert!(own.abs_diff(2500) <= 25, "its own value goes first: {own}");
    for release in Release::ALL {
        for (json, level) in [(inside, 1), (between, 0)] {
            let turns = |level: u32| {
                let (name, value) = long(release, level);
                preemptions(release, json, &[(&name, value)])
            };
            // By default a turn lasts a tick of 4 ms: 2500 in 10 s. A turn of 20 ms ends at the tick at or after it.
            let default = preemptions(release, json, &[]);
            assert!(default.abs_diff(2500) <= 25, "{release:?}: {default}");
            let tuned = turns(level);
            assert!(
                (400..=505).contains(&tuned),
                "{release:?} level {level}: {tuned}"
            );
            let other = turns(1 - level);
            // 6.12: a group's entity takes over the slice of those in the group.
            let inherits = release != Release::V6_1 && level == 0;
            let expected = if inherits { tuned } else { 2500 };
            assert!(
                other.abs_diff(expected) <= 25,
                "{release:?}: the other level: {other}"
            );
        }
    }
}
