//! Worked examples of spinlocks in guests: who spins, who yields to whom, and when the lock moves.
//!
//! Model.       Nothing costs anything, and 1 GHz make a cycle a ns: a window of 4096 cycles is 4.096 µs.

use fairwind_machine::{Costs, Machine};
use fairwind_sched::{Feature, KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation};
use fairwind_workload::parse;

const MS: u64 = 1_000_000;

/// One task holds a lock for 10 ms, another on another vCPU comes for it 1 ms later.
const TASKS: &str = r#"
    "holder": { "cpus": [0], "loop": 1, "spin_lock": "l", "run": 10000, "spin_unlock": "l" },
    "waiter": { "cpus": [1], "loop": 1, "delay": 1000, "spin_lock": "l", "run": 1, "spin_unlock": "l" }"#;

struct Outcome {
    report: Report,
    /// When each task of the guest ended.
    ended: Vec<u64>,
}

fn run(release: Release, machine: &str, features: &[(Feature, bool)], guest: &str) -> Outcome {
    let machine = Machine::load(machine).unwrap().with_costs(Costs::none());
    run_on(machine, release, features, guest)
}

fn run_on(
    machine: Machine,
    release: Release,
    features: &[(Feature, bool)],
    guest: &str,
) -> Outcome {
    let mut profile = KernelProfile::new(release, machine.nr_cpus());
    for &(feature, on) in features {
        profile.features.set(feature, on);
    }
    let config = Config {
        machine,
        profile,
        duration: None,
        seed: 1,
    };
    let text = format!("{{ \"guests\": {{ \"vm\": {{ {guest} }} }} }}");
    let mut simulation = Simulation::new(config, parse(&text, "vm.json").unwrap()).unwrap();
    simulation.run();
    simulation.finish().unwrap();
    let (_, inside) = simulation.guests().next().unwrap();
    let specs = inside.spec_reports();
    Outcome {
        ended: specs.iter().map(|spec| spec.ended_ns.unwrap()).collect(),
        report: simulation.report(false),
    }
}

fn two_vcpus_on_one_cpu(release: Release, how: &str) -> Outcome {
    let guest = format!("\"vcpus\": 2, {how}, \"workload\": {{ \"tasks\": {{ {TASKS} }} }}");
    run(release, "1x1x1", &[], &guest)
}

/// The host takes turns at its ticks, every 4 ms: the waiter burns whole turns while the holder waits for the CPU.
#[test]
fn a_preempted_holder_makes_the_waiter_spin_its_turns() {
    for release in Release::ALL {
        let outcome = two_vcpus_on_one_cpu(release, "\"ple_gap\": 0");
        let guest = &outcome.report.guests[0];
        assert!(guest.spin_ns >= 4 * MS, "{release:?}: {}", guest.spin_ns);
        assert_eq!((guest.yields.attempts, guest.vcpus[1].pauses), (0, 0));
        let [holder, waiter] = outcome.ended[..] else {
            panic!("two tasks")
        };
        assert_eq!(
            holder,
            10 * MS + guest.spin_ns,
            "{release:?}: the turns of the waiter"
        );
        assert!(
            waiter > holder,
            "{release:?}: the lock moves when the holder is done"
        );
    }
}

/// After a window the waiter exits, and its round finds the one that was preempted in its kernel.
#[test]
fn a_directed_yield_gives_the_turn_back_to_the_holder() {
    for release in Release::ALL {
        let outcome = two_vcpus_on_one_cpu(release, "\"ple_gap\": 128");
        let guest = &outcome.report.guests[0];
        let yields = guest.yields;
        assert!(yields.yielded > 0, "{release:?}: {yields:?}");
        assert_eq!(
            yields.attempts, yields.yielded,
            "{release:?}: there is no one else"
        );
        assert_eq!(
            guest.vcpus[1].pauses, yields.attempts,
            "{release:?}: the waiter's rounds"
        );
        assert_eq!(guest.vcpus[0].pauses, 0);
        // EEVDF: the waiter forfeits its slice with each yield. CFS takes the one that is yielded to only while it is at
        // most a wakeup granularity behind, so that the waiter still gets as much time as the holder.
        let most = match release {
            Release::V6_1 => 10 * MS,
            Release::V6_12 | Release::V6_18 => MS,
        };
        assert!(guest.spin_ns < most, "{release:?}: {}", guest.spin_ns);
        assert_eq!(outcome.ended[0], 10 * MS + guest.spin_ns, "{release:?}");
    }
}

/// 2^15 PAUSEs of 10 cycles: after 327.68 µs the waiter halts, and the holder has the CPU for itself until it kicks.
#[test]
fn a_paravirtual_waiter_halts_and_is_kicked() {
    for release in Release::ALL {
        let how = "\"ple_gap\": 0, \"halt_poll_ns\": 0, \"paravirt\": true";
        let outcome = two_vcpus_on_one_cpu(release, how);
        let guest = &outcome.report.guests[0];
        // The ticks of its guest at 4 and 8 ms may wake it to look again.
        assert!(guest.spin_ns <= 3 * 327_680 && guest.spin_ns.is_multiple_of(327_680));
        assert_eq!(outcome.ended[0], 10 * MS + guest.spin_ns, "{release:?}");
        assert!(outcome.ended[1] >= outcome.ended[0] && outcome.ended[1] < 11 * MS);
    }
}

/// Each vCPU has a CPU for itself, and one waits for what the other holds: there is nobody to yield to.
fn nobody_to_yield_to(features: &[(Feature, bool)]) -> fairwind_sim::YieldReport {
    let guest = format!("\"vcpus\": 2, \"workload\": {{ \"tasks\": {{ {TASKS} }} }}");
    run(Release::V6_1, "1x2x1", features, &guest).report.guests[0].yields
}

#[test]
fn before_there_was_a_look_at_it_every_running_target_costs_two_locks() {
    let before = [
        (Feature::YIELD_TO_READY, false),
        (Feature::YIELD_TO_NR_RUNNING, false),
    ];
    let yields = nobody_to_yield_to(&before);
    // The window doubles with each exit: 9 ms are 11 windows, and the first of 4.096 µs.
    assert!(yields.attempts > 5, "{yields:?}");
    assert_eq!(
        (yields.locked, yields.failed_running, yields.yielded),
        (yields.attempts, yields.attempts, 0)
    );

    let with = |feature| [before[0], before[1], (feature, true)];
    let lockless = nobody_to_yield_to(&with(Feature::YIELD_TO_LOCKLESS_CHECK));
    assert_eq!(lockless.attempts, yields.attempts);
    assert_eq!(
        (lockless.locked, lockless.failed_running),
        (0, yields.attempts)
    );

    // The holder's CPU is in guest mode, and no other directed yield is under way: nothing is passed over.
    for feature in [
        Feature::YIELD_TO_SKIP_HOST_MODE,
        Feature::YIELD_TO_SKIP_YIELDING,
    ] {
        assert_eq!(nobody_to_yield_to(&with(feature)), yields, "{feature:?}");
    }
}

/// As Linux 3.6 had it: the handler leaves those alone that run in guest mode, before it asks the scheduler.
#[test]
fn targets_in_guest_mode_are_not_tried() {
    let as_in_3_6 = [
        (Feature::YIELD_TO_READY, false),
        (Feature::YIELD_TO_NR_RUNNING, false),
        (Feature::YIELD_TO_SKIP_GUEST_MODE, true),
    ];
    assert_eq!(nobody_to_yield_to(&as_in_3_6).attempts, 0);
    // With costs, others are in the handler too while one is.
    let tried = many_handlers(&as_in_3_6);
    assert!(tried.attempts > 0, "{tried:?}");
    assert!(tried.attempts < many_handlers(&as_in_3_6[..2]).attempts);
}

/// As KVM is today: a vCPU that runs is not ready, and so not tried.
#[test]
fn running_vcpus_are_not_tried_today() {
    assert_eq!(nobody_to_yield_to(&[]).attempts, 0);
    let alone = nobody_to_yield_to(&[(Feature::YIELD_TO_READY, false)]);
    assert!(alone.attempts > 0);
    assert_eq!((alone.failed_alone, alone.locked), (alone.attempts, 0));
}

/// Eight vCPUs on eight CPUs, all of which want one lock, with the machine's costs.
fn many_handlers(features: &[(Feature, bool)]) -> fairwind_sim::YieldReport {
    let tasks: Vec<String> = (0..8)
        .map(|cpu| {
            format!(
                "\"w{cpu}\": {{ \"cpus\": [{cpu}], \"loop\": 50, \"spin_lock\": \"l\", \"run\": 20, \"spin_unlock\": \"l\" }}"
            )
        })
        .collect();
    let guest = format!(
        "\"vcpus\": 8, \"workload\": {{ \"tasks\": {{ {} }} }}",
        tasks.join(", ")
    );
    let machine = Machine::load("1x8x1").unwrap();
    run_on(machine, Release::V6_1, features, &guest)
        .report
        .guests[0]
        .yields
}

/// Many handlers at once: some targets' CPUs are in the host's kernel, or their queues are locked.
#[test]
fn targets_in_the_host_or_in_other_yields_are_passed_over() {
    for feature in [
        Feature::YIELD_TO_SKIP_HOST_MODE,
        Feature::YIELD_TO_SKIP_YIELDING,
    ] {
        let yields = many_handlers(&[
            (Feature::YIELD_TO_READY, false),
            (Feature::YIELD_TO_NR_RUNNING, false),
            (feature, true),
        ]);
        assert!(yields.skipped > 0, "{feature:?}: {yields:?}");
        assert_eq!(
            yields.attempts,
            yields.skipped + yields.locked,
            "{feature:?}"
        );
    }
}
