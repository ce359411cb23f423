//! Worked examples: wakeups in a running machine.

mod rig;

use fairwind_sched::{Feature, Release};
use rig::{SEC, finish, prepare, prepare_with, run, task};

#[test]
fn an_idle_machine_wakes_everybody_where_they_were() {
    // Four tasks on eight CPUs: each finds its previous CPU idle and never moves again.
    let json =
        r#"{ "tasks": { "light": { "instance": 4, "loop": -1, "run": 100, "sleep": 900 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x8x1", 1, json);
        for light in &report.tasks {
            assert!(
                light.migrations <= 2,
                "{release:?}: {} moved {} times",
                light.name,
                light.migrations
            );
            assert_eq!(light.run_delay_ns, 0, "{release:?}: {}", light.name);
        }
    }
}

#[test]
fn a_pair_that_started_apart_stays_apart() {
    // Two sockets. fork spreads the two; each finds its previous CPU idle whenever it is woken, and a waker without the
    // sync hint does not pull.
    let json = r#"{ "tasks": {
        "ping": { "loop": -1, "run": 20, "resume": "pong", "suspend": "ping" },
        "pong": { "loop": -1, "suspend": "pong", "run": 20, "resume": "ping" } } }"#;
    for release in Release::ALL {
        let report = run(release, "2x4x1", 1, json);
        for task in &report.tasks {
            assert!(
                task.wakeups > 10_000 && task.migrations <= 2,
                "{release:?}: {task:?}"
            );
        }
    }
}

#[test]
fn without_sis_util_the_whole_cache_is_looked_at() {
    // Eight hogs on eight CPUs and a waking task: with SIS_UTIL the search soon gives up, without it each wakeup scans.
    let json = r#"{ "tasks": {
        "hog": { "instance": 8, "loop": -1, "run": 50000 },
        "light": { "loop": -1, "run": 100, "sleep": 900 } } }"#;
    for release in Release::ALL {
        let scanned = |on: bool| {
            let simulation = prepare_with(release, "1x8x1", SEC, json, |profile| {
                profile.features.set(Feature::SIS_UTIL, on)
            });
            let search = finish(simulation).search;
            search.scanned
        };
        let (with, without) = (scanned(true), scanned(false));
        assert!(without > 4 * with, "{release:?}: {with} and {without}");
    }
}

#[test]
fn idle_threads_of_busy_cores_come_last() {
    // Four cores of two threads, four tasks: one on each core, none shared.
    let json =
        r#"{ "tasks": { "half": { "instance": 4, "loop": -1, "run": 500, "sleep": 500 } } }"#;
    for release in Release::ALL {
        let mut simulation = prepare(release, "1x4x2", 2 * SEC, json);
        simulation.run_until(SEC);
        let mut shared = 0;
        for step in 0..500 {
            simulation.run_until(SEC + step * 1_000_000);
            let sched = simulation.sched();
            let busy = |core: u32| {
                (0..2)
                    .filter(|thread| !sched.is_idle(fairwind_sched::CpuId(2 * core + thread)))
                    .count()
            };
            shared += (0..4).filter(|&core| busy(core) == 2).count();
        }
        // Of 500 looks at four cores.
        assert!(shared <= 20, "{release:?}: {shared}");
        let report = finish(simulation);
        assert!(task(&report, "half").wakeups > 1000);
    }
}
