//! FLAT_GROUPS held against the full hierarchy: how far off each task's CPU time is.
//!
//! Model. The same workload both ways; the error is the largest difference of a task's CPU time, in parts of the time of all
//!        CPUs. docs/guide.md tells the errors, and they are the bounds here.

mod rig;

use fairwind_sched::{Feature, Release};
use rig::{SEC, finish, prepare_with};

/// The largest error over the tasks, in millionths of all CPU time.
fn error(release: Release, machine: &str, json: &str) -> u64 {
    let report = |flat: bool| {
        finish(prepare_with(release, machine, 10 * SEC, json, |profile| {
            profile.features.set(Feature::FLAT_GROUPS, flat);
        }))
    };
    let (full, flat) = (report(false), report(true));
    let pairs = full.tasks.iter().zip(&flat.tasks);
    pairs
        .map(|(full, flat)| full.share_ppm.abs_diff(flat.share_ppm))
        .max()
        .unwrap()
}

/// Both releases are at most this far off, in hundredths of a percent, as docs/guide.md tells.
fn at_most(machine: &str, json: &str, bounds: [u64; 2]) {
    let errors = Release::ALL.map(|release| error(release, machine, json));
    let near = { errors.iter() }
        .zip(bounds)
        .all(|(&error, bound)| error <= bound * 100);
    assert!(near, "{errors:?} ppm");
}

#[test]
fn hogs_in_three_levels_on_one_cpu() {
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 300 }, "/a/x": { "cpu.weight": 100 }, "/a/y": { "cpu.weight": 300 },
                     "/b": { "cpu.weight": 100 } },
        "tasks": {
            "x": { "taskgroup": "/a/x", "loop": -1, "run": 50000 },
            "y": { "instance": 3, "taskgroup": "/a/y", "loop": -1, "run": 50000 },
            "a": { "taskgroup": "/a", "loop": -1, "run": 50000 },
            "b": { "instance": 5, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    at_most("1x1x1", json, [4, 0]);
}

#[test]
fn a_hog_at_each_of_six_levels() {
    let json = r#"{ "cgroups": { "/1": {}, "/1/2": {}, "/1/2/3": {}, "/1/2/3/4": {}, "/1/2/3/4/5": {} },
        "tasks": {
            "d0": { "loop": -1, "run": 50000 },
            "d1": { "taskgroup": "/1", "loop": -1, "run": 50000 },
            "d2": { "taskgroup": "/1/2", "loop": -1, "run": 50000 },
            "d3": { "taskgroup": "/1/2/3", "loop": -1, "run": 50000 },
            "d4": { "taskgroup": "/1/2/3/4", "loop": -1, "run": 50000 },
            "d5": { "taskgroup": "/1/2/3/4/5", "loop": -1, "run": 50000 } } }"#;
    at_most("1x1x1", json, [8, 4]);
}

#[test]
fn hogs_on_four_cpus() {
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 200 }, "/a/x": { "cpu.weight": 100 }, "/a/y": { "cpu.weight": 300 },
                     "/b": { "cpu.weight": 100 } },
        "tasks": {
            "x": { "instance": 4, "taskgroup": "/a/x", "loop": -1, "run": 50000 },
            "y": { "instance": 4, "taskgroup": "/a/y", "loop": -1, "run": 50000 },
            "b": { "instance": 4, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    at_most("1x4x1", json, [10, 8]);
}

#[test]
fn sleepers_beside_hogs() {
    // /a/light is there for 3 ms of every 10 and wants less than its part; what it leaves is /a/hog's in the hierarchy.
    let json = r#"{
        "cgroups": { "/a": {}, "/a/light": {}, "/a/hog": {}, "/b": {} },
        "tasks": {
            "light": { "taskgroup": "/a/light", "loop": -1, "run": 1000, "timer": { "ref": "t", "period": 10000 } },
            "hog": { "taskgroup": "/a/hog", "loop": -1, "run": 50000 },
            "b": { "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    at_most("1x1x1", json, [1, 97]);
}

#[test]
fn sleepers_and_hogs_on_four_cpus() {
    // Groups within groups whose tasks come and go all the time, more than there are CPUs.
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 200 }, "/a/x": { "cpu.weight": 100 }, "/a/y": { "cpu.weight": 300 },
                     "/b": {}, "/b/z": {} },
        "tasks": {
            "x": { "instance": 4, "taskgroup": "/a/x", "loop": -1, "run": 3000, "sleep": 1000 },
            "y": { "instance": 4, "taskgroup": "/a/y", "loop": -1, "run": 700, "sleep": 1000 },
            "z": { "instance": 4, "taskgroup": "/b/z", "loop": -1, "run": 2000, "sleep": 300 },
            "b": { "instance": 4, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    at_most("1x4x1", json, [342, 281]);
}

#[test]
fn one_level_of_groups_is_the_hierarchy_itself() {
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 200 }, "/b": {} },
        "tasks": {
            "a": { "instance": 3, "taskgroup": "/a", "loop": -1, "run": 700, "sleep": 300 },
            "b": { "instance": 5, "taskgroup": "/b", "loop": -1, "run": 50000 },
            "root": { "loop": -1, "run": 300, "sleep": 500 } } }"#;
    for release in Release::ALL {
        assert_eq!(error(release, "1x2x2", json), 0, "{release:?}");
    }
}

#[test]
fn limits_that_would_not_hold_are_refused() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "10000 100000" }, "/a/b": {} },
        "tasks": { "hog": { "taskgroup": "/a/b", "loop": -1, "run": 50000 } } }"#;
    let machine = fairwind_machine::Machine::load("1x1x1").unwrap();
    let mut profile = fairwind_sched::KernelProfile::new(Release::V6_12, 1);
    profile.features.set(Feature::FLAT_GROUPS, true);
    let config = fairwind_sim::Config {
        machine,
        profile,
        duration: Some(SEC),
        seed: 1,
    };
    let workload = fairwind_workload::parse(json, "test.json").unwrap();
    let error = fairwind_sim::Simulation::new(config, workload)
        .err()
        .unwrap();
    assert!(error.to_string().contains("/a/b"), "{error}");
}
