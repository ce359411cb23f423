//! A large machine: 240 CPUs, 480 tasks, nothing but wakeups.

use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation};
use fairwind_workload::parse;
use std::fmt::Write;

const MS: u64 = 1_000_000;

/// 240 pairs, each side of which works for 5 µs and wakes the other.
fn pairs(release: Release, duration: u64) -> Report {
    let mut text = String::from("{ \"tasks\": {\n");
    for pair in 0..240 {
        let comma = if pair < 239 { "," } else { "" };
        writeln!(
            text,
            r#""c{pair}": {{ "loop": -1, "run": 5, "sem_post": "q{pair}", "sem_wait": "a{pair}" }},
               "s{pair}": {{ "loop": -1, "sem_wait": "q{pair}", "run": 5, "sem_post": "a{pair}" }}{comma}"#
        )
        .unwrap();
    }
    let workload = parse(&(text + "} }"), "pairs.json").unwrap();
    let machine = Machine::load("spr-2x60").unwrap();
    let profile = KernelProfile::new(release, machine.nr_cpus());
    let config = Config {
        machine,
        profile,
        duration: Some(duration),
        seed: 1,
    };
    let mut simulation = Simulation::new(config, workload).unwrap();
    simulation.run();
    simulation.finish().unwrap();
    simulation.report(false)
}

#[test]
fn pairs_on_240_cpus_keep_waking_each_other() {
    for release in Release::ALL {
        let report = pairs(release, 100 * MS);
        assert_eq!((report.cpus.len(), report.tasks.len()), (240, 480));
        for cpu in &report.cpus {
            assert_eq!(
                cpu.busy_ns + cpu.idle_ns,
                100 * MS,
                "{release:?}: cpu {}",
                cpu.cpu
            );
        }
        // A round of a pair is two times 5 µs of work, two wakeups, and what these cost, a few µs each: 240 pairs make
        // between 2 · 240 · 100 ms / 100 µs and 2 · 240 · 100 ms / 10 µs wakeups.
        let wakeups = report.totals.wakeups;
        assert!(
            (480_000..4_800_000).contains(&wakeups),
            "{release:?}: {wakeups}"
        );
        // Nearly everybody sleeps and is switched in for each wakeup, and idles or lets another run after it.
        assert!(
            report.totals.switches >= wakeups,
            "{release:?}: {}",
            report.totals.switches
        );
        // Nobody is left behind: each pair does at least a tenth of the average.
        let least = report.tasks.iter().map(|task| task.wakeups).min().unwrap();
        assert!(
            least * 480 * 10 >= wakeups,
            "{release:?}: {least} of {wakeups}"
        );
        // The parts agree with the whole.
        let sum: u64 = report.tasks.iter().map(|task| task.wakeups).sum();
        assert!(
            wakeups.abs_diff(sum) <= 480,
            "{release:?}: {sum} of {wakeups}"
        );
    }
}
