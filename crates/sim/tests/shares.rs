//! Worked examples: who gets how much CPU time.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation};
use fairwind_workload::parse;

fn run(release: Release, machine: &str, seconds: u64, json: &str) -> Report {
    let machine = Machine::load(machine).unwrap().with_costs(Costs::none());
    let profile = KernelProfile::new(release, machine.nr_cpus());
    let config = Config {
        machine,
        profile,
        duration: Some(seconds * 1_000_000_000),
        seed: 1,
    };
    let mut simulation = Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
    simulation.run();
    simulation.finish().unwrap();
    let report = simulation.report(false);
    for cpu in &report.cpus {
        assert_eq!(
            cpu.busy_ns + cpu.idle_ns,
            report.duration_ns,
            "cpu {}",
            cpu.cpu
        );
    }
    report
}

#[test]
fn nice_levels_share_by_weight() {
    // Weights 3121, 1024 and 335: 4480 in all.
    let json = r#"{ "tasks": {
        "a": { "priority": -5, "loop": -1, "run": 50000 },
        "b": { "priority": 0, "loop": -1, "run": 50000 },
        "c": { "priority": 5, "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        for (task, weight) in report.tasks.iter().zip([3121.0, 1024.0, 335.0]) {
            let (got, want) = (task.share_ppm as f64 / 1e6, weight / 4480.0);
            assert!(
                (got - want).abs() < 0.005,
                "{release:?} {}: {got} instead of {want}",
                task.name
            );
        }
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
        let [ping, pong, hogs @ ..] = report.tasks.as_slice() else {
            panic!("two tasks and three hogs")
        };
        // Each round is 20 us of work, so 50,000 fit; wakeups and switches cost some of them.
        assert!(ping.wakeups > 20_000, "{release:?}: {}", ping.wakeups);
        assert!(ping.wakeups.abs_diff(pong.wakeups) <= 1);
        for hog in hogs {
            // Of the eight CPUs, one each.
            assert!(hog.share_ppm > 122_000, "{release:?}: {}", hog.share_ppm);
        }
    }
}
