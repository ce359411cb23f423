//! Programs on simulated machines: every monitor watches, and what they carry and measure is conserved.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{Feature, KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation, monitor};
use fairwind_workload::programs::{self, LIST};

/// A small one of each program.
const SMALL: [&str; 16] = [
    "hackbench:groups=2,fds=3,loops=5",
    "hackbench:groups=1,fds=4,loops=20,ipc=pipe,mode=thread",
    "perf-pipe:loops=200",
    "perf-pipe:loops=200,mode=thread,cgroup=/a/b",
    "netperf:pairs=3,duration=5ms",
    "lat_ctx:processes=4,size=16k,rounds=20",
    "tbench:clients=2,duration=5ms",
    "dbench:clients=3,duration=5ms",
    "schbench:threads=3,duration=20ms,operations=1",
    "stress-ng:cpu=3,cpu-ops=12",
    "sysbench-cpu:threads=3,time=5ms",
    "sysbench-threads:threads=4,time=5ms,yields=20,locks=2",
    "volano:rooms=1,users=4,messages=5",
    "httperf:sessions=3,calls=20,burst=5,workers=2",
    "oltp:connections=3,duration=10ms",
    "producer-consumer:pairs=3,items=30,places=2",
];

struct Run {
    simulation: Simulation,
    report: Report,
    /// The first metric.
    value: f64,
}

fn run(spec: &str, release: Release, machine: Machine, seed: u64, watch: bool) -> Run {
    let profile = KernelProfile::new(release, machine.nr_cpus());
    run_kernel(spec, profile, machine, seed, watch)
}

fn run_kernel(spec: &str, profile: KernelProfile, machine: Machine, seed: u64, watch: bool) -> Run {
    let program = programs::parse(spec).unwrap();
    let config = Config {
        machine,
        profile,
        duration: None,
        seed,
    };
    let mut simulation = Simulation::new(config, program.workload.clone()).unwrap();
    if watch {
        for monitor in monitor::all() {
            simulation.add_monitor(monitor);
        }
    }
    simulation.run();
    assert_eq!(simulation.violation(), None, "{spec}");
    simulation.finish().unwrap();
    let report = simulation.report(false);
    for cpu in &report.cpus {
        assert_eq!(cpu.busy_ns + cpu.idle_ns, report.duration_ns, "{spec}");
    }
    let value = program.metrics[0].result(simulation.measures()).value;
    Run {
        simulation,
        report,
        value: value.unwrap(),
    }
}

fn machine(name: &str) -> Machine {
    Machine::load(name).unwrap()
}

#[test]
fn every_program_is_here_and_runs_watched_on_every_kernel() {
    for info in LIST {
        let here = |spec: &&str| spec.split(':').next() == Some(info.name);
        assert!(SMALL.iter().any(here), "{}", info.name);
    }
    for release in Release::ALL {
        for spec in SMALL {
            for name in ["1x1x1", "1x2x2", "2x2x1"] {
                let run = run(spec, release, machine(name), 1, true);
                assert!(run.value > 0.0, "{spec}: {}", run.value);
                let program = programs::parse(spec).unwrap();
                for stream in 0..program.workload.objects.streams.len() as u32 {
                    let (written, read) = run.simulation.stream_bytes(stream);
                    assert!(read <= written, "{spec}: {read} of {written}");
                }
            }
        }
    }
}

#[test]
fn equal_seeds_are_equal_and_others_spread_as_the_steps_vary() {
    for spec in ["perf-pipe:loops=500", "hackbench:groups=1,fds=5,loops=20"] {
        let value = |seed| run(spec, Release::V6_12, machine("1x2x1"), seed, false).value;
        assert_eq!(value(3).to_bits(), value(3).to_bits(), "{spec}");
        let values: Vec<f64> = (1..=8).map(value).collect();
        let mean = values.iter().sum::<f64>() / 8.0;
        let apart = |value: &f64| (value / mean - 1.0).abs();
        assert!(
            values.iter().any(|value| apart(value) > 0.0),
            "{spec}: {values:?}"
        );
        assert!(
            values.iter().all(|value| apart(value) < 0.5),
            "{spec}: {values:?}"
        );
    }
}

#[test]
fn without_costs_a_call_takes_a_nanosecond() {
    // One CPU. The parent forks, writes and reads: 3 calls and it waits. Then in each round the child reads, writes and
    // reads on until it waits, and the parent does the same: 2 calls each. At the end of the last round the child's
    // read is its end, and the parent waits for it: 2 calls more than rounds tell.
    let free = machine("1x1x1").with_costs(Costs::none());
    let run = run("perf-pipe:loops=100", Release::V6_12, free, 1, true);
    let child = run
        .report
        .tasks
        .iter()
        .find(|task| task.spec == "answer")
        .unwrap();
    assert_eq!(child.cpu_ns, 100 * 2 + 1);
    let parent = run
        .report
        .tasks
        .iter()
        .find(|task| task.spec == "perf")
        .unwrap();
    // A fork, the rounds, wait() and its own end.
    assert_eq!(parent.cpu_ns, 1 + 100 * 2 + 1 + 1);
    // Each is woken for every message but those that are there before it asks.
    assert!((98..=100).contains(&child.wakeups), "{}", child.wakeups);
    assert!((98..=101).contains(&parent.wakeups), "{}", parent.wakeups);
}

#[test]
fn a_process_switch_costs_more_than_a_thread_switch() {
    // On one CPU every message is a switch between the two: two a round.
    let value = |mode: &str| {
        let spec = format!("perf-pipe:loops=2000,mode={mode}");
        1e6 / run(&spec, Release::V6_12, machine("1x1x1"), 1, false).value
    };
    let mm_switch_us = machine("1x1x1").costs.kernel.mm_switch_ns as f64 / 1e3;
    let apart = value("process") - value("thread");
    assert!((apart - 2.0 * mm_switch_us).abs() < 0.15, "{apart}");
}

/// More tasks than CPUs, of which half run at a time: most wakeups find their CPU taken by another pair's task, and take another's.
#[test]
fn cpus_that_are_hot_are_left_to_their_tasks() {
    for release in Release::ALL {
        let migrated = |on: bool| {
            let program = programs::parse("netperf:pairs=11,duration=50ms").unwrap();
            let mut profile = KernelProfile::new(release, 16);
            profile.features.set(Feature::SIS_CACHE, on);
            let config = Config {
                machine: Machine::load("1x8x2").unwrap(),
                profile,
                duration: None,
                seed: 1,
            };
            let mut simulation = Simulation::new(config, program.workload).unwrap();
            simulation.run();
            simulation.finish().unwrap();
            simulation.report(false).search.migrated
        };
        let (without, with) = (migrated(false), migrated(true));
        assert!(with * 2 < without, "{release:?}: {with} of {without}");
    }
}

#[test]
fn a_group_level_costs_at_each_wakeup_sleep_and_pick() {
    const OPS: u32 = 2000;
    let machine = || Machine::load("1x1x1").unwrap();
    let level_us = machine().costs.kernel.group_level_ns as f64 / 1e3;
    for release in Release::ALL {
        let program = |group: &str| {
            let spec = format!("perf-pipe:loops={OPS},cgroup={group}");
            // Whether a wakeup preempts hangs on times, so that both runs would not switch equally often.
            let mut profile = KernelProfile::new(release, 1);
            profile.features.set(Feature::WAKEUP_PREEMPTION, false);
            run_kernel(&spec, profile, machine(), 1, false)
        };
        let (deep, flat) = (program("/a/b"), program("/a"));
        let more = (1e6 / deep.value - 1e6 / flat.value) / level_us;
        // A task is picked as often as it stops.
        let times = { deep.report.tasks.iter() }
            .map(|t| t.wakeups + 2 * t.voluntary_switches + t.involuntary_switches)
            .sum::<u64>();
        let times = times as f64 / f64::from(OPS);
        assert!(
            times > 3.0 && (more - times).abs() < 0.1,
            "{release:?}: {more} of {times}"
        );
    }
}
