//! Worked examples: CPU pressure of groups.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, PressureReport, Report, Simulation};
use fairwind_workload::parse;

fn start(release: Release, machine: &str, milliseconds: u64, json: &str) -> Simulation {
    let machine = Machine::load(machine).unwrap().with_costs(Costs::none());
    let profile = KernelProfile::new(release, machine.nr_cpus());
    assert_eq!(profile.hz, 250, "periods below are those of ticks of 4 ms");
    let duration = Some(milliseconds * 1_000_000);
    let config = Config {
        machine,
        profile,
        duration,
        seed: 1,
    };
    Simulation::new(config, parse(json, "test.json").unwrap()).unwrap()
}

fn run(release: Release, machine: &str, milliseconds: u64, json: &str) -> Report {
    let mut simulation = start(release, machine, milliseconds, json);
    simulation.watch_pressure();
    simulation.run();
    simulation.finish().unwrap();
    simulation.report(false)
}

fn of(report: &Report, path: &str) -> PressureReport {
    let group = report
        .groups
        .iter()
        .find(|group| group.path == path)
        .unwrap();
    group.pressure.unwrap()
}

#[test]
fn two_hogs_on_a_cpu_stall_all_the_time_and_never_fully() {
    let json = r#"{ "cgroups": { "/g": {} }, "tasks": {
        "hog": { "instance": 2, "taskgroup": "/g", "loop": -1, "run": 10000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10_000, json);
        // Samples of 100 % at 2004, 4012, 6016 and 8020 ms. From 204800 (100 %) and the weights 1677, 1981, 2034 of
        // 2048, rounded up: 37100, 67480, 92356, 112725 make 18.11, 32.94, 45.09, 55.04 %; for 60 s 6700, 13181,
        // 19450, 25514; for 300 s 1400, 2791, 4172, 5544.
        let expected = PressureReport {
            some_total_usec: 10_000_000,
            some_avg10_centi: 55_04,
            some_avg60_centi: 12_45,
            some_avg300_centi: 2_70,
            ..PressureReport::default()
        };
        assert_eq!(of(&report, "/g"), expected, "{release:?}");
        assert_eq!(of(&report, "/"), expected, "{release:?}");
    }
}

#[test]
fn a_task_alone_on_its_cpu_does_not_stall() {
    let json = r#"{ "cgroups": { "/g": {} }, "tasks": {
        "hog": { "instance": 2, "taskgroup": "/g", "loop": -1, "run": 10000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x2x1", 5_000, json);
        // Both may start on CPU 0 and share it until one is moved, at the latest after some ticks.
        let pressure = of(&report, "/g");
        assert!(
            pressure.some_total_usec < 20_000,
            "{release:?} {pressure:?}"
        );
        assert_eq!(pressure.full_total_usec, 0, "{release:?}");
    }
}

#[test]
fn a_throttled_group_stalls_fully() {
    let json = r#"{ "cgroups": { "/g": { "cpu.max": "50000 100000" } }, "tasks": {
        "hog": { "taskgroup": "/g", "loop": -1, "run": 10000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10_000, json);
        let (group, root) = (of(&report, "/g"), of(&report, "/"));
        let throttled = report.groups[1].throttled_usec;
        // Half of the time, but for what the ticks let it overrun.
        assert!(
            group.full_total_usec.abs_diff(5_000_000) < 60_000,
            "{release:?} {group:?}"
        );
        assert_eq!(
            group.full_total_usec, group.some_total_usec,
            "{release:?}: it has one task"
        );
        // The time throttled is added up when it ends, at the end of each period.
        assert!(
            group.full_total_usec.abs_diff(throttled) < 60_000,
            "{release:?}: {throttled}"
        );
        // The CPU had nothing else to do, yet nobody could run.
        assert_eq!(root.some_total_usec, group.some_total_usec, "{release:?}");
        assert_eq!(root.full_total_usec, 0, "{release:?}");
    }
}

#[test]
fn on_a_cpu_a_group_of_one_task_stalls_as_long_as_its_task_waits() {
    // In 6.12 the sleepers' dequeues are delayed: they compete on while they sleep, and do not count as running.
    let json = r#"{ "cgroups": { "/a": {}, "/b": { "cpu.max": "30000 50000" }, "/c/d": {}, "/e": {} }, "tasks": {
        "a": { "taskgroup": "/a", "loop": -1, "run": 3000, "sleep": 4000 },
        "b": { "taskgroup": "/b", "loop": -1, "run": 20000 },
        "d": { "taskgroup": "/c/d", "loop": -1, "run": 700, "sleep": 900 },
        "e": { "taskgroup": "/e", "loop": -1, "run": 2000, "iorun": 3000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10_000, json);
        for task in &report.tasks {
            let pressure = of(&report, &task.group);
            // A wait that goes on at the end is pressure already, and will be run_delay when it ends.
            let missing = pressure
                .some_total_usec
                .checked_sub(task.run_delay_ns / 1000);
            assert!(
                missing.is_some_and(|us| us < 40_000),
                "{release:?} {}: {missing:?} {pressure:?}",
                task.name
            );
            assert_eq!(
                pressure.full_total_usec, pressure.some_total_usec,
                "{release:?} {}",
                task.name
            );
            assert!(
                pressure.some_total_usec > 100_000,
                "{release:?} {}: {pressure:?}",
                task.name
            );
        }
        assert_eq!(of(&report, "/c"), of(&report, "/c/d"), "{release:?}");
    }
}

#[test]
fn watching_changes_nothing_and_reading_does_not_either() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "150000 100000" }, "/a/b": {} }, "tasks": {
        "a": { "instance": 6, "taskgroup": "/a", "loop": -1, "run": 3000, "sleep": 4000 },
        "b": { "instance": 4, "taskgroup": "/a/b", "loop": -1, "run": 700, "sleep": 900 } } }"#;
    for release in Release::ALL {
        let mut plain = start(release, "1x2x2", 7_000, json);
        plain.run();
        plain.finish().unwrap();
        let mut plain = plain.report(false);
        assert!(plain.groups.iter().all(|group| group.pressure.is_none()));

        let watched = run(release, "1x2x2", 7_000, json);
        let mut read = start(release, "1x2x2", 7_000, json);
        read.watch_pressure();
        for second in 1..=7 {
            read.run_until(second * 1_000_000_000);
            read.kernel_files();
        }
        read.finish().unwrap();
        assert_eq!(read.report(false), watched, "{release:?}");
        for (plain, watched) in plain.groups.iter_mut().zip(&watched.groups) {
            plain.pressure = watched.pressure;
        }
        assert_eq!(plain, watched, "{release:?}");
    }
}

#[test]
fn who_sleeps_and_still_competes_does_not_stall_others() {
    // One of two tasks waits whenever both want to run, and never both: `some` is the sum of their waits. 6.12 leaves
    // the sleeper in the queue until it has paid for what it had too much, which must not count.
    let json = r#"{ "cgroups": { "/g": {} }, "tasks": {
        "hog": { "taskgroup": "/g", "loop": -1, "run": 10000 },
        "sleeper": { "taskgroup": "/g", "loop": -1, "run": 1000, "sleep": 3000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10_000, json);
        let waited: u64 = report
            .tasks
            .iter()
            .map(|task| task.run_delay_ns / 1000)
            .sum();
        let pressure = of(&report, "/g");
        assert!(
            pressure.some_total_usec.abs_diff(waited) < 20_000,
            "{release:?}: {waited} {pressure:?}"
        );
        // A loop lasts 4 ms and as long as the sleeper waits; while the sleeper runs its 1 ms, the hog waits: a quarter of
        // the time, or more.
        assert!(
            pressure.some_total_usec > 2_400_000,
            "{release:?}: {pressure:?}"
        );
        assert_eq!(pressure.full_total_usec, 0, "{release:?}");
    }
}
