//! Worked examples of virtqueues, on machines whose kernels cost nothing.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation};
use fairwind_workload::parse;

/// Runs a workload on two CPUs for 110 ms.
fn run(text: &str) -> (Report, u64) {
    let config = Config {
        machine: Machine::load("1x2x1").unwrap().with_costs(Costs::none()),
        profile: KernelProfile::new(Release::V6_12, 2),
        duration: Some(110_000_000),
        seed: 1,
    };
    let workload = parse(text, "vm.json").unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(config, workload).unwrap();
    simulation.run();
    let (_, guest) = simulation.guests().next().unwrap();
    let served = guest.spec_reports().iter().map(|spec| spec.loops).sum();
    (simulation.report(false), served)
}

/// 10 us in the guest and 100 in the VMM make a round of 110, of which there are 1000 in 110 ms.
#[test]
fn a_request_is_served_by_a_thread_of_the_vmm_and_comes_back_as_an_interrupt() {
    let (report, rounds) = run(r#"{
        "tasks": { "vmm": { "sem_wait": "vm.queue", "run": 100, "sem_post": "vm.used" } },
        "guests": { "vm": { "vcpus": 1, "halt_poll_ns": 0, "virtqueues": { "queue": 0, "used": 0 },
            "workload": { "tasks": { "user": { "run": 10, "sem_post": "queue", "sem_wait": "used" } } } } } }"#);
    assert!((999..=1000).contains(&rounds), "{rounds}");
    let vmm = report
        .tasks
        .iter()
        .find(|task| task.name.starts_with("vmm"));
    assert!((99_900_000..=100_000_000).contains(&vmm.unwrap().cpu_ns));
    let vcpu = &report.guests[0].vcpus[0];
    assert!((9_990_000..=10_000_000).contains(&vcpu.run_ns), "{vcpu:?}");
    // A tick finds the vCPU halted now and then, and it halts again.
    assert!((999..1100).contains(&vcpu.halts), "{vcpu:?}");
    assert!(vcpu.exits >= rounds + vcpu.halts - 1, "{vcpu:?}");
}

/// What was posted before anybody waited is not lost: five requests at once are served one after the other.
#[test]
fn requests_wait_for_a_busy_thread() {
    let (_, rounds) = run(r#"{
        "tasks": { "vmm": { "sem_wait": "vm.queue", "run": 100, "sem_post": "vm.used" } },
        "guests": { "vm": { "vcpus": 5, "virtqueues": { "queue": 0, "used": 0 },
            "workload": { "tasks": { "user": { "instance": 5, "run": 10, "sem_post": "queue", "sem_wait": "used" } } } } } }"#);
    // The VMM's thread is always busy and shares its CPU at most now and then: 1100 times 100 us.
    assert!((1000..=1100).contains(&rounds), "{rounds}");
}

/// The interrupt goes to vCPU 1, whose kernel wakes the task on CPU 0 of the guest.
#[test]
fn a_vcpu_takes_the_interrupts_of_a_queue() {
    let (report, rounds) = run(r#"{
        "tasks": { "vmm": { "cpus": [1], "sem_wait": "vm.queue", "run": 100, "sem_post": "vm.used" } },
        "guests": { "vm": { "vcpus": 2, "virtqueues": { "queue": 0, "used": 1 },
            "workload": { "tasks": { "user": { "cpus": [0], "run": 10, "sem_post": "queue", "sem_wait": "used" } } } } } }"#);
    assert!((900..=1000).contains(&rounds), "{rounds}");
    let guest = &report.guests[0];
    assert!(
        guest.report.totals.ipis >= rounds,
        "{:?}",
        guest.report.totals
    );
    assert!(guest.vcpus[1].halts >= rounds, "{:?}", guest.vcpus[1]);
}
