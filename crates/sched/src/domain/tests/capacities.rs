//! CPUs that differ in capacity.

use super::flags::*;
use super::*;

#[test]
fn large_and_small_cores_with_a_cache_each() {
    let cpus = [
        (0, 0, 0, 1024),
        (1, 1, 0, 1024),
        (2, 2, 1, 512),
        (3, 3, 1, 512),
    ];
    let domains = Domains::boot(&one_node(&cpus), &DomainProfile::V6_12);
    assert!(domains.sched_asym_cpucap_active);
    let asym = SD_ASYM_CPUCAPACITY | SD_ASYM_CPUCAPACITY_FULL;
    let mc = named(&domains, 0, "MC");
    assert_eq!(
        mc.flags & (asym | SD_PREFER_SIBLING),
        0,
        "no spreading over unequal siblings"
    );
    let pkg = named(&domains, 0, "PKG");
    assert_eq!(
        pkg.flags & (asym | SD_PREFER_SIBLING),
        asym | SD_PREFER_SIBLING
    );
    assert_eq!(domains.sd[domains.sd_asym_cpucapacity[0]].name, "PKG");

    let large = &domains.sgc[domains.sg[pkg.groups].sgc];
    assert_eq!(
        (large.capacity, large.min_capacity, large.max_capacity),
        (2048, 1024, 1024)
    );
    let small = &domains.sgc[domains.sg[domains.sg[pkg.groups].next].sgc];
    assert_eq!(
        (small.capacity, small.min_capacity, small.max_capacity),
        (1024, 512, 512)
    );

    let list: Vec<_> = domains
        .asym_cap_list
        .iter()
        .map(|entry| (entry.capacity, list(&entry.cpus)))
        .collect();
    assert_eq!(list, [(1024, "0-1".into()), (512, "2-3".into())]);
}

#[test]
fn a_domain_with_some_of_the_capacities() {
    let cpus = [
        (0, 0, 0, 1024),
        (1, 1, 0, 768),
        (2, 2, 1, 512),
        (3, 3, 1, 512),
    ];
    let domains = Domains::boot(&one_node(&cpus), &DomainProfile::V6_12);
    let full = SD_ASYM_CPUCAPACITY_FULL;
    assert_eq!(
        named(&domains, 0, "MC").flags & (full | SD_ASYM_CPUCAPACITY),
        SD_ASYM_CPUCAPACITY
    );
    assert_eq!(
        named(&domains, 2, "MC").flags & (full | SD_ASYM_CPUCAPACITY),
        0
    );
    assert_ne!(named(&domains, 2, "PKG").flags & full, 0);
    assert_eq!(domains.sd[domains.sd_asym_cpucapacity[0]].name, "PKG");
}

/// Run queues that lost some capacity to interrupts and RT tasks.
struct Busy {
    left: Vec<u64>,
    updated: Vec<u32>,
}

impl CpuCapacity for Busy {
    fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64 {
        self.updated.push(cpu.0);
        self.left[cpu.idx()]
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.left[cpu.idx()]
    }
}

#[test]
fn capacities_are_gathered_from_the_run_queues() {
    let topology = Topology::regular(1, 2, 2);
    let all = CpuMask::all(4);
    let clock = BalanceClock {
        jiffies: 500,
        hz: 250,
        max_load_balance_interval: 100,
    };
    let input = DomainInput {
        topology: &topology,
        profile: &DomainProfile::V6_12,
        online: &all,
        active: &all,
        node_reclaim_distance: 30,
        clock,
    };
    let mut rqs = Busy {
        left: vec![1000, 900, 800, 700],
        updated: Vec::new(),
    };
    let mut domains = Domains::build(&input, &mut rqs);
    assert_eq!(
        rqs.updated,
        [3, 2, 1, 0],
        "from the last CPU down, once each"
    );
    let cores = |domains: &Domains| {
        let mc = named(domains, 0, "MC").groups;
        [mc, domains.sg[mc].next].map(|sg| {
            let sgc = &domains.sgc[domains.sg[sg].sgc];
            (sgc.capacity, sgc.min_capacity, sgc.max_capacity)
        })
    };
    assert_eq!(cores(&domains), [(1900, 900, 1000), (1500, 700, 800)]);

    // Later, CPU 1 updates its own group, and on its next pass the core's first CPU gathers it.
    rqs.left[1] = 600;
    let later = BalanceClock {
        jiffies: 600,
        ..clock
    };
    domains.update_group_capacity(domains.base[1], cpu(1), &later, &mut rqs);
    assert_eq!(cores(&domains)[0], (1900, 900, 1000));
    let mc = domains.sd_llc[0];
    domains.update_group_capacity(mc, cpu(0), &later, &mut rqs);
    assert_eq!(cores(&domains)[0], (1600, 600, 1000));
    // 4 ms are one jiffy.
    assert_eq!(
        domains.sgc[domains.sg[domains.sd[mc].groups].sgc].next_update,
        601
    );
}
