//! Worked examples: who gets how much CPU time.

mod rig;

use fairwind_sched::{KernelProfile, Release};
use rig::{SEC, cpu_ns, finish, near, prepare_with, run};

#[test]
fn nice_levels_share_by_weight() {
    // Weights 3121, 1024 and 335: 4480 in all.
    let json = r#"{ "tasks": {
        "a": { "priority": -5, "loop": -1, "run": 50000 },
        "b": { "priority": 0, "loop": -1, "run": 50000 },
        "c": { "priority": 5, "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        for (spec, weight) in [("a", 3121), ("b", 1024), ("c", 335)] {
            // 0.5 % of all time.
            let (got, want) = (cpu_ns(&report, spec), 10 * SEC * weight / 4480);
            assert!(
                got.abs_diff(want) <= 10 * SEC / 200,
                "{release:?} {spec}: {got} instead of {want}"
            );
        }
    }
}

#[test]
fn groups_share_by_weight_whatever_is_in_them() {
    // At the root: /a 200, /b 100. In /a: /a/x 100 with one task, /a/y 300 with three. Parts of the CPU:
    // /a/x = 2/3 · 1/4 = 1/6; /a/y = 2/3 · 3/4 = 1/2; /b = 1/3.
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 200 }, "/a/x": { "cpu.weight": 100 }, "/a/y": { "cpu.weight": 300 },
                     "/b": { "cpu.weight": 100 } },
        "tasks": {
            "x": { "taskgroup": "/a/x", "loop": -1, "run": 50000 },
            "y": { "instance": 3, "taskgroup": "/a/y", "loop": -1, "run": 50000 },
            "b": { "instance": 5, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        for (spec, part) in [("x", 6), ("y", 2), ("b", 3)] {
            let (got, want) = (cpu_ns(&report, spec), 10 * SEC / part);
            assert!(
                got.abs_diff(want) <= 10 * SEC / 200,
                "{release:?} {spec}: {got} instead of {want}"
            );
        }
    }
}

#[test]
fn a_group_keeps_its_weight_over_several_cpus() {
    // Four hogs in each group on four CPUs: each CPU runs one of each, and the weights are 3 : 1 everywhere.
    let json = r#"{
        "cgroups": { "/a": { "cpu.weight": 300 }, "/b": { "cpu.weight": 100 } },
        "tasks": {
            "a": { "instance": 4, "taskgroup": "/a", "loop": -1, "run": 50000 },
            "b": { "instance": 4, "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x4x1", 10, json);
        near("a", cpu_ns(&report, "a"), 30 * SEC, 20);
        near("b", cpu_ns(&report, "b"), 10 * SEC, 60);
    }
}

#[test]
fn an_idle_group_gets_what_is_left() {
    // cpu.idle weighs 3 where others weigh 1024: 3/1027 of the CPU, 0.29 %.
    let json = r#"{
        "cgroups": { "/low": { "cpu.idle": 1 } },
        "tasks": {
            "hog": { "loop": -1, "run": 50000 },
            "low": { "taskgroup": "/low", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        let (got, want) = (cpu_ns(&report, "low"), 10 * SEC * 3 / 1027);
        // It runs for a tick at a time.
        assert!(
            got.abs_diff(want) <= 8_000_000,
            "{release:?}: {got} instead of {want}"
        );
    }
}

#[test]
fn the_idle_policy_weighs_three() {
    let json = r#"{ "tasks": {
        "hog": { "loop": -1, "run": 50000 },
        "low": { "policy": "SCHED_IDLE", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        let (got, want) = (cpu_ns(&report, "low"), 10 * SEC * 3 / 1027);
        assert!(
            got.abs_diff(want) <= 8_000_000,
            "{release:?}: {got} instead of {want}"
        );
    }
}

#[test]
fn real_time_goes_first_up_to_its_limit() {
    // 6.1: RT tasks may take 950 ms of each second. 6.12: the fair server gives fair tasks 50 ms of each second.
    let json = r#"{ "tasks": {
        "rt": { "policy": "SCHED_FIFO", "priority": 10, "loop": -1, "run": 50000 },
        "fair": { "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        // The limit is seen at the tick, 4 ms each second.
        near(
            &format!("{release:?}"),
            cpu_ns(&report, "fair"),
            SEC / 2,
            85,
        );
        near(
            &format!("{release:?}"),
            cpu_ns(&report, "rt"),
            10 * SEC - SEC / 2,
            5,
        );
    }
}

#[test]
fn a_stronger_real_time_task_runs_alone() {
    let json = r#"{ "tasks": {
        "weak": { "policy": "SCHED_FIFO", "priority": 10, "loop": -1, "run": 1000 },
        "strong": { "policy": "SCHED_FIFO", "priority": 20, "loop": -1, "run": 1000, "sleep": 1000 } } }"#;
    for release in Release::ALL {
        let unlimited =
            |profile: &mut KernelProfile| profile.set_tunable("sched_rt_runtime_us", -1).unwrap();
        let report = finish(prepare_with(release, "1x1x1", SEC, json, unlimited));
        // It runs 1 ms of every 2 ms whatever the other does, and is never made to wait.
        near(
            &format!("{release:?}"),
            cpu_ns(&report, "strong"),
            SEC / 2,
            5,
        );
        assert_eq!(rig::task(&report, "strong").run_delay_ns, 0, "{release:?}");
    }
}

#[test]
fn pairs_of_pipes_keep_going() {
    let json = r#"{ "tasks": {
        "ping": { "loop": -1, "run": 10, "resume": "pong", "suspend": "ping" },
        "pong": { "loop": -1, "suspend": "pong", "run": 10, "resume": "ping" },
        "hog": { "instance": 3, "loop": -1, "run": 10000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x4x2", 1, json);
        let (ping, pong) = (rig::task(&report, "ping"), rig::task(&report, "pong"));
        // Each round is 20 µs of work, so 50,000 fit.
        assert!(ping.wakeups > 20_000, "{release:?}: {}", ping.wakeups);
        assert!(ping.wakeups.abs_diff(pong.wakeups) <= 1);
        for hog in report.tasks.iter().filter(|task| task.spec == "hog") {
            assert!(
                hog.share_ppm * 8 > 980_000,
                "{release:?}: {}",
                hog.share_ppm
            );
        }
    }
}
