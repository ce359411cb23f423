//! Virtual machines: where a vCPU's time goes, over random hosts and guests, and that two runs are equal.
//!
//! Model.       A case is made of one number; a failing one is named in the message. `FAIRWIND_CASES=n` runs n cases instead
//!              of the usual number. While a case runs its host is changed from outside: CPUs go and come, weights, limits,
//!              priorities and affinities change.

#[path = "random/change.rs"]
mod change;
#[path = "random/draw.rs"]
mod draw;

use change::Change;
use draw::Draw;
use fairwind_machine::{Costs, Machine};
use fairwind_sched::features::GUEST_FEATURES;
use fairwind_sched::{KernelProfile, Release};
use fairwind_sim::{Config, Report, Simulation, monitor};
use fairwind_workload::parse;
use std::fmt::Write;

const DURATION: u64 = 200_000_000;

/// What runs, on the host or in a guest: hogs, sleepers, timers, pairs that wake each other, and locks.
fn tasks(draw: &mut Draw, locks: bool, group: Option<&str>) -> String {
    let mut text = String::new();
    let group = group.map_or(String::new(), |path| format!("\"taskgroup\": \"{path}\","));
    for kind in 0..draw.range(1, 4) {
        let instances = draw.range(1, 4);
        let us = |draw: &mut Draw| draw.range(1, 3000);
        let events = match draw.range(0, if locks { 4 } else { 3 }) {
            0 => format!("\"run\": {}", us(draw)),
            1 => format!("\"run\": {}, \"sleep\": {}", us(draw), us(draw)),
            2 => format!(
                "\"run\": {}, \"timer\": {{ \"ref\": \"unique\", \"period\": {} }}",
                us(draw),
                us(draw) + 100
            ),
            3 => format!(
                "\"barrier\": \"b{kind}\", \"run\": {}, \"sleep\": {}",
                us(draw),
                draw.range(0, 1) * us(draw)
            ),
            _ => format!(
                "\"spin_lock\": \"l\", \"run\": {}, \"spin_unlock\": \"l\", \"run1\": {}",
                draw.range(1, 60),
                draw.range(1, 200)
            ),
        };
        let comma = if kind > 0 { "," } else { "" };
        _ = write!(
            text,
            "{comma} \"t{kind}\": {{ {group} \"instance\": {instances}, {events} }}"
        );
    }
    text
}

/// A guest, and whether it has a virtqueue.
fn guest(draw: &mut Draw, idx: u64) -> (String, bool) {
    let vcpus = draw.range(1, 6);
    let kernel = draw.of(&["6.1", "6.12"]);
    let shape = match draw.range(0, 2) {
        0 if vcpus.is_multiple_of(2) => format!("\"topology\": \"1x{}x2\",", vcpus / 2),
        1 => format!("\"topology\": \"{vcpus}x1x1\","),
        _ => format!("\"vcpus\": {vcpus},"),
    };
    let poll = draw.range(0, 2) * 100_000;
    let gap = draw.range(0, 1) * 128;
    let kind = draw.of(&["ticket", "queued"]);
    let paravirt = draw.chance(50);
    let delay = draw.range(0, 1) * 5_000;
    let hz = draw.of(&[100, 250, 1000]);
    let mut tasks = tasks(draw, true, None);
    let mut queues = String::new();
    if draw.chance(50) {
        let (instances, run) = (draw.range(1, 4), draw.range(1, 500));
        queues = format!(
            "\"virtqueues\": {{ \"q\": 0, \"used\": {} }},",
            draw.range(0, vcpus - 1)
        );
        tasks += &format!(
            ", \"user\": {{ \"instance\": {instances}, \"sem_post\": \"q\", \"run\": {run}, \"sem_wait\": \"used\" }}"
        );
    }
    let text = format!(
        "\"vm{idx}\": {{ {shape} {queues} \"kernel\": \"{kernel},hz={hz}\", \"taskgroup\": \"/vm{idx}\", \"delay\": {delay},
         \"halt_poll_ns\": {poll}, \"ple_gap\": {gap}, \"spinlocks\": \"{kind}\", \"paravirt\": {paravirt},
         \"workload\": {{ \"tasks\": {{ {tasks} }} }} }}"
    );
    (text, !queues.is_empty())
}

/// The thread of the VMM that serves a guest's queue.
fn vmm(draw: &mut Draw, idx: u64) -> String {
    let (run, sleep) = (draw.range(1, 200), draw.range(0, 1) * draw.range(1, 500));
    format!(
        ", \"vmm{idx}\": {{ \"taskgroup\": \"/vm{idx}\", \"sem_wait\": \"vm{idx}.q\", \"run\": {run}, \"sleep\": {sleep}, \"sem_post\": \"vm{idx}.used\" }}"
    )
}

/// A host with guests in groups of their own, some with a limit, and tasks beside them; and what is changed when.
fn case(number: u64) -> (Config, String, Vec<(u64, Change)>) {
    let mut draw = Draw::new(number);
    let machine = draw.of(&["1x1x1", "1x2x1", "1x2x2", "2x2x2"]);
    let mut machine = Machine::load(machine).unwrap();
    if draw.chance(25) {
        machine = machine.with_costs(Costs::none());
    }
    let release = draw.of(&Release::ALL);
    let mut profile = KernelProfile::new(release, machine.nr_cpus());
    for &feature in GUEST_FEATURES {
        profile.features.set(feature, draw.chance(50));
    }
    let nr_guests = draw.range(1, 3);
    let guests: Vec<(String, bool)> = (0..nr_guests).map(|idx| guest(&mut draw, idx)).collect();
    let served = (0..nr_guests).filter(|&idx| guests[idx as usize].1);
    let vmms: String = served.map(|idx| vmm(&mut draw, idx)).collect();
    let guests: Vec<String> = guests.into_iter().map(|(text, _)| text).collect();
    let groups: Vec<String> = (0..nr_guests)
        .map(|idx| {
            let limit = match draw.range(0, 2) {
                0 => format!(", \"cpu.max\": \"{} 10000\"", draw.range(2, 20) * 1000),
                _ => String::new(),
            };
            let weight = draw.spread(20, 800);
            format!("\"/vm{idx}\": {{ \"cpu.weight\": {weight}{limit} }}")
        })
        .collect();
    let group = (draw.chance(50)).then_some("/vm0");
    let beside = tasks(&mut draw, false, group);
    let text = format!(
        "{{ \"cgroups\": {{ {} }}, \"tasks\": {{ {beside} {vmms} }}, \"guests\": {{ {} }} }}",
        groups.join(", "),
        guests.join(", ")
    );
    let nr_cpus = machine.nr_cpus() as u64;
    let nr_changes = draw.range(0, 1) * draw.range(1, 12);
    let change = |draw: &mut Draw| Change::random(draw, nr_cpus, true, true);
    let mut changes: Vec<(u64, Change)> = (0..nr_changes)
        .map(|_| (draw.range(0, DURATION), change(&mut draw)))
        .collect();
    changes.sort_by_key(|change| change.0);
    let config = Config {
        machine,
        profile,
        duration: Some(DURATION),
        seed: number,
    };
    (config, text, changes)
}

fn run(number: u64, watched: bool) -> Report {
    let (config, text, changes) = case(number);
    let workload =
        parse(&text, "case.json").unwrap_or_else(|e| panic!("case {number}: {e}\n{text}"));
    let mut simulation = Simulation::new(config, workload).unwrap();
    if watched {
        for monitor in monitor::all() {
            simulation.add_monitor(monitor);
        }
    }
    for (time, change) in &changes {
        simulation.run_until(*time);
        if simulation.violation().is_none() {
            change.apply(&mut simulation);
        }
    }
    simulation.run();
    assert!(
        simulation.violation().is_none(),
        "case {number}: {:?}\n{changes:?}\n{text}",
        simulation.violation()
    );
    simulation.finish().unwrap();
    simulation.report(false)
}

#[test]
fn run_idle_steal_and_exits_are_all_of_a_vcpu_s_time() {
    let mut stole = 0;
    let cases = std::env::var("FAIRWIND_CASES").map_or(150, |n| n.parse().expect("a number"));
    for number in 0..cases {
        let report = run(number, number % 3 == 0);
        for guest in &report.guests {
            for (vcpu, cpu) in guest.vcpus.iter().zip(&guest.report.cpus) {
                let all = vcpu.begun_ns + vcpu.run_ns + vcpu.idle_ns + vcpu.steal_ns + vcpu.exit_ns;
                assert_eq!(all, report.duration_ns, "case {number}: {vcpu:?}");
                // What the guest saw itself run for is what the host let it run for.
                assert!(
                    cpu.busy_ns <= vcpu.run_ns,
                    "case {number}: {cpu:?} {vcpu:?}"
                );
                let name = format!("{}.vcpu-{}", guest.name, vcpu.cpu);
                let thread = report.tasks.iter().find(|task| task.name == name);
                let cpu_ns = thread.map_or(0, |thread| thread.cpu_ns);
                let on_a_cpu = vcpu.run_ns + vcpu.exit_ns + vcpu.poll_ns;
                assert_eq!(cpu_ns, on_a_cpu, "case {number}: {vcpu:?}");
                stole += vcpu.steal_ns;
            }
            let busy: u64 = guest.report.cpus.iter().map(|cpu| cpu.busy_ns).sum();
            let tasks: u64 = guest.report.tasks.iter().map(|task| task.cpu_ns).sum();
            assert!(tasks <= busy, "case {number}");
        }
    }
    assert!(stole > 0, "the cases do something");
}

#[test]
fn two_runs_are_equal() {
    for number in 0..20 {
        assert!(run(number, false) == run(number, false), "case {number}");
    }
}

/// The hog's CPU ticks at the rate of the guest's kernel, whatever the host's is.
#[test]
fn a_guest_has_the_switches_it_is_given() {
    let ticks = |kernel: &str| {
        let text = format!(
            "{{ \"guests\": {{ \"vm\": {{ \"vcpus\": 1, {kernel} \"workload\": {{ \"tasks\": {{ \"hog\": {{ \"run\": 1000 }} }} }} }} }} }}"
        );
        let machine = Machine::load("1x1x1").unwrap();
        let mut profile = KernelProfile::new(Release::V6_12, 1);
        profile.hz = 100;
        let config = Config {
            machine,
            profile,
            duration: Some(1_000_000_000),
            seed: 1,
        };
        let mut simulation = Simulation::new(config, parse(&text, "vm.json").unwrap()).unwrap();
        simulation.run();
        simulation.report(false).guests[0].report.totals.ticks
    };
    assert!((240..=260).contains(&ticks("")), "the default");
    assert!((990..=1010).contains(&ticks("\"kernel\": \"hz=1000\",")));
    assert!((490..=510).contains(&ticks("\"kernel\": \"6.1,hz=250,hz=500\",")));
}

/// A guest that is idle for a second halts once, but for its ticks.
#[test]
fn an_idle_guest_ticks_only_with_nohz_off() {
    let ticks = |kernel: &str| {
        let text = format!(
            "{{ \"guests\": {{ \"vm\": {{ \"vcpus\": 1, \"kernel\": \"{kernel}\",
                \"workload\": {{ \"tasks\": {{ \"idler\": {{ \"run\": 10, \"sleep\": 2000000 }} }} }} }} }} }}"
        );
        let machine = Machine::load("1x1x1").unwrap();
        let config = Config {
            machine,
            profile: KernelProfile::new(Release::V6_12, 1),
            duration: Some(1_000_000_000),
            seed: 1,
        };
        let mut simulation = Simulation::new(config, parse(&text, "vm.json").unwrap()).unwrap();
        simulation.run();
        let report = simulation.report(false);
        let guest = &report.guests[0];
        (guest.report.totals.ticks, guest.vcpus[0].halts)
    };
    let (ticks_with, halts_with) = ticks("hz=1000,nohz=0");
    assert!((990..=1010).contains(&ticks_with), "{ticks_with}");
    assert!((990..=1010).contains(&halts_with), "{halts_with}");
    let (ticks_without, halts_without) = ticks("hz=1000");
    assert!(ticks_without < 10, "{ticks_without}");
    assert!(halts_without < 10, "{halts_without}");
}
