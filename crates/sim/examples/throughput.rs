//! How fast the simulation is: a wakeup-heavy workload on a machine of 240 CPUs.
//!
//! Model. 240 pairs of tasks that wake each other in turn with little work between, as netperf's request-response does. An
//!        event is a wakeup or a switch; the time is that of the run, without setting up.
//! Use.   `cargo run --release -p fairwind-sim --example throughput [MACHINE [PAIRS [SIMULATED_MS]]]`

#![allow(clippy::print_stdout)]

use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Simulation};
use fairwind_workload::parse;
use std::fmt::Write;
use std::time::Instant;

/// Pairs in which each side works for 5 µs and wakes the other.
fn workload(pairs: u32) -> String {
    let mut text = String::from("{ \"tasks\": {\n");
    for pair in 0..pairs {
        let comma = if pair + 1 < pairs { "," } else { "" };
        writeln!(
            text,
            r#""c{pair}": {{ "loop": -1, "run": 5, "sem_post": "q{pair}", "sem_wait": "a{pair}" }},
               "s{pair}": {{ "loop": -1, "sem_wait": "q{pair}", "run": 5, "sem_post": "a{pair}" }}{comma}"#
        )
        .expect("to memory");
    }
    text + "} }"
}

fn main() {
    let mut args = std::env::args().skip(1);
    let machine = args.next().unwrap_or_else(|| "spr-2x60".to_string());
    let pairs: u32 = args
        .next()
        .map_or(240, |n| n.parse().expect("PAIRS is a number"));
    let ms: u64 = args
        .next()
        .map_or(200, |n| n.parse().expect("SIMULATED_MS is a number"));
    let workload = parse(&workload(pairs), "throughput.json").expect("the workload is well formed");
    for release in Release::ALL {
        let machine = Machine::load(&machine).expect("the machine can be loaded");
        let profile = KernelProfile::new(release, machine.nr_cpus());
        let config = Config {
            machine,
            profile,
            duration: Some(ms * 1_000_000),
            seed: 1,
        };
        let mut simulation =
            Simulation::new(config, workload.clone()).expect("the workload fits the machine");
        let start = Instant::now();
        simulation.run();
        let wall = start.elapsed();
        simulation.finish().expect("no trace is written");
        let totals = simulation.report(false).totals;
        let events = totals.wakeups + totals.switches;
        println!(
            "{}: {events} events ({} wakeups, {} switches) in {:.3} s: {:.2} M events/s, {:.4} simulated s per s",
            release.name(),
            totals.wakeups,
            totals.switches,
            wall.as_secs_f64(),
            events as f64 / wall.as_secs_f64() / 1e6,
            ms as f64 / 1e3 / wall.as_secs_f64(),
        );
    }
}
