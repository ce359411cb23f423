//! Every preset loads, and is the machine that its name says.

use fairwind_machine::{Distance, Machine, preset_list};
use fairwind_sched::units::CpuId;

/// Name, then numbers of packages, nodes, LLCs, cores and CPUs.
const COUNTS: &[(&str, [usize; 5])] = &[
    ("generic", [1, 1, 1, 8, 16]),
    ("desktop-8", [1, 1, 1, 8, 16]),
    ("irwindale", [2, 1, 2, 2, 4]),
    ("x5570", [2, 2, 2, 8, 16]),
    ("wsm-ex", [4, 4, 4, 40, 80]),
    ("spr-2x60", [2, 2, 2, 120, 240]),
    ("epyc-2s", [2, 2, 16, 128, 256]),
    ("power-smt8-1", [1, 1, 1, 1, 8]),
    ("power-smt8-2", [1, 1, 2, 2, 16]),
    ("power-smt8-4", [1, 1, 4, 4, 32]),
    ("power-smt8-8", [1, 1, 8, 8, 64]),
];

fn counts(machine: &Machine) -> [usize; 5] {
    let cpus = &machine.topology.cpus;
    let count = |of: fn(&fairwind_sched::topology::CpuPlace) -> u32| {
        // Ids are dense, so the highest one tells how many there are.
        cpus.iter().map(of).max().map_or(0, |max| max as usize + 1)
    };
    [
        count(|p| p.package),
        machine.topology.node_distance.len(),
        count(|p| p.llc),
        count(|p| p.core),
        cpus.len(),
    ]
}

#[test]
fn presets_have_their_counts_and_are_all_listed() {
    let list = preset_list();
    let listed: Vec<&str> = list.iter().map(|line| line.name).collect();
    assert_eq!(
        listed,
        COUNTS.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    for (line, (name, expected)) in list.iter().zip(COUNTS) {
        let machine = Machine::load(name).unwrap();
        assert_eq!(counts(&machine), *expected, "{name}");
        assert_eq!(machine.name, *name);
        assert_eq!(line.nr_cpus, expected[4]);
        assert!(!line.description.is_empty());
    }
}

#[test]
fn every_number_has_a_source() {
    for (name, _) in COUNTS {
        for row in Machine::load(name).unwrap().summary() {
            assert!(
                row.source.len() > 5,
                "{name}: {} has source '{}'",
                row.name,
                row.source
            );
        }
    }
}

/// Nearer is never dearer, in every table of every preset.
#[test]
fn costs_do_not_fall_with_distance() {
    for (name, _) in COUNTS {
        let costs = Machine::load(name).unwrap().costs;
        for table in [costs.search_ns, costs.ipi_ns, costs.lock_handover_ns] {
            let by_distance = [
                Distance::SameCpu,
                Distance::Smt,
                Distance::Cluster,
                Distance::Llc,
                Distance::Node,
                Distance::Remote(1),
                Distance::Remote(2),
            ]
            .map(|distance| table.get(distance));
            assert!(by_distance.is_sorted(), "{name}: {by_distance:?}");
        }
        let refill = costs.refill;
        let by_place = [
            refill.l2_line_ps,
            refill.llc_line_ps,
            refill.other_llc_line_ps,
            refill.memory_local_line_ps,
        ];
        assert!(by_place.is_sorted(), "{name}: {by_place:?}");
        assert!(
            refill.memory_remote_line_ps[0] >= refill.memory_local_line_ps,
            "{name}"
        );
        let total: Vec<usize> = (1..=costs.smt_speed_per_1024.len())
            .map(|busy| busy * costs.smt_speed_per_1024(busy) as usize)
            .collect();
        assert!(
            total.is_sorted(),
            "{name}: more busy threads do less: {total:?}"
        );
    }
}

#[test]
fn the_sockets_of_irwindale_share_a_node() {
    let machine = Machine::load("irwindale").unwrap();
    let distance = |a, b| machine.distance(CpuId(a), CpuId(b));
    assert_eq!(distance(0, 2), Distance::Smt);
    assert_eq!(distance(0, 1), Distance::Remote(1));
    assert_eq!(machine.topology.node_distance, [[10]]);
}

#[test]
fn x5570_siblings_are_eight_apart() {
    let machine = Machine::load("x5570").unwrap();
    let distance = |a, b| machine.distance(CpuId(a), CpuId(b));
    assert_eq!(distance(3, 3), Distance::SameCpu);
    assert_eq!(distance(0, 8), Distance::Smt);
    assert_eq!(distance(0, 3), Distance::Llc);
    assert_eq!(distance(0, 11), Distance::Llc);
    assert_eq!(distance(0, 4), Distance::Remote(1));
    assert_eq!(distance(12, 0), Distance::Remote(1));
    // intel_idle's Nehalem table: C6 from 800 us, C3 from 80 us, C1E from 20 us.
    let idle = &machine.costs.idle;
    assert_eq!(idle.states()[idle.idle_state_for(800_000)].name, "C6");
    assert_eq!(idle.states()[idle.idle_state_for(79_999)].name, "C1E");
    // Turbo: 3.333 / 2.933 × 1024, rounded down.
    assert_eq!(machine.costs.frequency.speed_per_1024(1), 1163);
}

#[test]
fn epyc_has_llcs_within_a_node_and_power_an_llc_a_core() {
    let epyc = Machine::load("epyc-2s").unwrap();
    assert_eq!(epyc.distance(CpuId(0), CpuId(7)), Distance::Llc);
    assert_eq!(epyc.distance(CpuId(0), CpuId(8)), Distance::Node);
    assert_eq!(epyc.distance(CpuId(0), CpuId(64)), Distance::Remote(1));
    assert_eq!(epyc.distance(CpuId(0), CpuId(128)), Distance::Smt);
    let power = Machine::load("power-smt8-8").unwrap();
    assert_eq!(power.distance(CpuId(0), CpuId(7)), Distance::Smt);
    assert_eq!(power.distance(CpuId(0), CpuId(8)), Distance::Node);
}

#[test]
fn with_costs_none_is_free() {
    let machine = Machine::load("spr-2x60")
        .unwrap()
        .with_costs(fairwind_machine::Costs::none());
    assert_eq!(machine.nr_cpus(), 240);
    let set = fairwind_machine::WorkingSet::of(1 << 20);
    assert_eq!(
        machine.refill_ns(set, Default::default(), Distance::Remote(1)),
        0
    );
}

#[test]
fn a_large_machine_stays_small() {
    let machine = Machine::load("32x8x8x2").unwrap();
    assert_eq!(machine.nr_cpus(), 4096);
    assert_eq!(machine.distance(CpuId(0), CpuId(4095)), Distance::Remote(1));
    assert_eq!(machine.distance(CpuId(0), CpuId(16)), Distance::Node);
}
