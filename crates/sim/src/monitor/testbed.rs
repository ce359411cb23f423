//! Small simulations to break by hand.

use super::Monitor;
use crate::simulation::{Config, Simulation};
use fairwind_machine::{Costs, Machine};
use fairwind_sched::{GroupId, KernelProfile, Release, SeId, TaskId};
use fairwind_workload::parse;

/// Two hogs in the root, two in a limited group below another, and a sleeper.
const MIXED: &str = r#"{
    "cgroups": { "/a": { "cpu.weight": 200 }, "/a/b": { "cpu.max": "20000 50000" } },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 1000 },
        "limited": { "instance": 2, "taskgroup": "/a/b", "loop": -1, "run": 1000 },
        "sleeper": { "loop": -1, "run": 500, "sleep": 3000 } } }"#;

/// The mixed workload on one CPU at 20 ms, without any monitor.
pub(super) fn mixed(release: Release) -> Simulation {
    running(release, "1x1x1", MIXED, 20_000_000)
}

/// A workload on a machine without costs, run up to a time.
pub(super) fn running(release: Release, machine: &str, json: &str, until: u64) -> Simulation {
    with_costs(Costs::none(), release, machine, json, until)
}

/// The same with costs.
pub(crate) fn with_costs(
    costs: Costs,
    release: Release,
    machine: &str,
    json: &str,
    until: u64,
) -> Simulation {
    let machine = Machine::load(machine).unwrap().with_costs(costs);
    let profile = KernelProfile::new(release, machine.nr_cpus());
    let config = Config {
        machine,
        profile,
        duration: Some(1 << 40),
        seed: 1,
    };
    let mut simulation = Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
    simulation.run_until(until);
    simulation
}

/// The entity of the `nth` live task whose name begins so.
pub(super) fn task(simulation: &Simulation, name: &str, nth: usize) -> (TaskId, SeId) {
    let named = |id: &&TaskId| {
        let program = simulation.tasks[id.idx()].program as usize;
        simulation.runtime.name(program).starts_with(name)
    };
    let live = simulation.live_tasks();
    let id = *live.iter().filter(named).nth(nth).unwrap();
    (id, simulation.sched.tasks[id].se)
}

/// The group of a path.
pub(super) fn group(simulation: &Simulation, path: &str) -> GroupId {
    GroupId(
        simulation
            .group_paths
            .iter()
            .position(|p| p == path)
            .unwrap() as u32,
    )
}

/// The monitor accepts the state as it is, and no longer once it has been tampered with.
#[track_caller]
pub(super) fn fires(
    mut monitor: impl Monitor,
    simulation: &mut Simulation,
    tamper: impl FnOnce(&mut Simulation),
    says: &str,
) {
    assert_eq!(monitor.check(simulation), Ok(()));
    tamper(simulation);
    let violation = monitor.check(simulation).expect_err("the rule is broken");
    assert_eq!(violation.rule, monitor.name());
    assert!(violation.what.contains(says), "{violation}");
}
