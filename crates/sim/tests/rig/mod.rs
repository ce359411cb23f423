//! What the worked examples share: a workload on a machine without costs, watched by every monitor.

// Each test file uses its own part of this.
#![allow(dead_code)]

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{KernelProfile, Release, SeId, TaskId};
use fairwind_sim::{Config, Report, Simulation, TaskReport, monitor};
use fairwind_workload::parse;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SEC: u64 = 1_000_000_000;

/// The simulation at time 0; `tune` changes the kernel.
pub(crate) fn prepare_with(
    release: Release,
    machine: &str,
    duration: u64,
    json: &str,
    tune: impl FnOnce(&mut KernelProfile),
) -> Simulation {
    let machine = Machine::load(machine).unwrap().with_costs(Costs::none());
    let mut profile = KernelProfile::new(release, machine.nr_cpus());
    tune(&mut profile);
    let config = Config {
        machine,
        profile,
        duration: Some(duration),
        seed: 1,
    };
    let mut simulation = Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
    for monitor in monitor::all() {
        simulation.add_monitor(monitor);
    }
    simulation
}

/// The simulation at time 0.
pub(crate) fn prepare(release: Release, machine: &str, duration: u64, json: &str) -> Simulation {
    prepare_with(release, machine, duration, json, |_| {})
}

/// Runs to the end.
pub(crate) fn finish(mut simulation: Simulation) -> Report {
    simulation.run();
    assert_eq!(simulation.violation(), None);
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

/// Runs a workload for so many seconds.
pub(crate) fn run(release: Release, machine: &str, seconds: u64, json: &str) -> Report {
    finish(prepare(release, machine, seconds * SEC, json))
}

/// The report of the first task of a name.
pub(crate) fn task<'a>(report: &'a Report, spec: &str) -> &'a TaskReport {
    report.tasks.iter().find(|task| task.spec == spec).unwrap()
}

/// CPU time of all tasks of a name.
pub(crate) fn cpu_ns(report: &Report, spec: &str) -> u64 {
    report
        .tasks
        .iter()
        .filter(|task| task.spec == spec)
        .map(|task| task.cpu_ns)
        .sum()
}

/// The `nth` task that was started, and its entity.
pub(crate) fn nth(simulation: &Simulation, nth: usize) -> (TaskId, SeId) {
    let task = simulation.live_tasks()[nth];
    (task, simulation.sched().tasks[task].se)
}

/// Is `got` within `part` per thousand of `want`?
#[track_caller]
pub(crate) fn near(what: &str, got: u64, want: u64, per_thousand: u64) {
    let apart = got.abs_diff(want);
    assert!(
        apart * 1000 <= want * per_thousand,
        "{what}: {got} instead of {want}"
    );
}
