//! Whole machines, numbers derived by hand from the rules of `sd_init` and `build_sched_domains`.

use super::flags::*;
use super::*;

#[test]
fn two_sockets_of_sixty_cores() {
    for profile in PROFILES {
        let domains = Domains::boot(&Topology::regular(2, 60, 2), &profile);
        let sds: Vec<&SchedDomain> = domains
            .for_each_domain(cpu(130))
            .map(|sd| &domains.sd[sd])
            .collect();
        let shape: Vec<_> = sds
            .iter()
            .map(|sd| {
                (
                    sd.name,
                    sd.level,
                    sd.span_weight,
                    sd.min_interval,
                    sd.max_interval,
                )
            })
            .collect();
        // PKG (level 3) and NODE (level 4) span what MC spans, and go; the levels stay counted.
        let expected = [
            ("SMT", 0, 2, 2, 4),
            ("MC", 2, 120, 120, 240),
            ("NUMA", 5, 240, 240, 480),
        ];
        assert_eq!(shape, expected);
        let costs: Vec<_> = sds
            .iter()
            .map(|sd| {
                (
                    sd.imbalance_pct,
                    sd.cache_nice_tries,
                    sd.busy_factor,
                    sd.balance_interval,
                )
            })
            .collect();
        assert_eq!(
            costs,
            [(110, 0, 16, 2), (117, 1, 16, 120), (117, 2, 16, 240)]
        );
        // An eighth of the node's 120 CPUs; the machine is one NUMA domain of the first level.
        assert_eq!(
            sds.iter().map(|sd| sd.imb_numa_nr).collect::<Vec<_>>(),
            [0, 0, 15]
        );
        assert!(
            sds.iter().all(
                |sd| (sd.newidle_call, sd.newidle_success, sd.newidle_ratio) == (512, 256, 512)
            )
        );

        assert_eq!(domains.sd_llc_size[130], 120);
        assert_eq!(domains.sd_llc_id[130], cpu(120));
        assert_eq!(domains.sd_share_id[130], cpu(120));
        let shared = &domains.sds[domains.sd_llc_shared[130]];
        assert_eq!((shared.r#ref, shared.nr_busy_cpus), (120, 120));
        assert!(!shared.has_idle_cores);
        assert_eq!(domains.sd[domains.sd_numa[130]].name, "NUMA");
        assert!(domains.sched_smt_present);
        assert!(!domains.sched_cluster_active && !domains.sched_asym_cpucap_active);

        let mc = named(&domains, 130, "MC");
        let group = &domains.sg[mc.groups];
        assert_eq!((group.group_weight, group.cores), (2, 1));
        // The group was made of the CLS domain, which is gone; only 6.12 remembers that it is a core.
        let is_core = group.flags & SD_SHARE_CPUCAPACITY != 0;
        assert_eq!(is_core, profile == DomainProfile::V6_12);
        let numa = named(&domains, 130, "NUMA");
        let group = &domains.sg[numa.groups];
        assert_eq!((group.group_weight, group.cores), (120, 60));
        assert_eq!(domains.sgc[group.sgc].capacity, 120 * 1024);

        // One thread group a thread, one core group a core, two rings of two nodes; 240 CPUs of 3 domains.
        assert_eq!(domains.sg.len(), 240 + 120 + 4);
        assert_eq!(domains.sgc.len(), 240 + 120 + 2);
        assert_eq!(domains.sd.len(), 240 * 3);
        // A cache record for each core and each socket.
        assert_eq!(domains.sds.len(), 120 + 2);
    }
}

/// Two sockets of `llcs` caches of 8 cores of 2 threads, `nodes` nodes a socket.
fn epyc(llcs: u32, nodes: u32, near: u32, far: u32) -> Topology {
    let mut topology = Topology::regular(2, llcs * 8, 2);
    for place in &mut topology.cpus {
        place.llc = place.core / 8;
        place.node = place.llc * nodes / llcs;
    }
    let distance = |a: u32, b: u32| match (a == b, a / nodes == b / nodes) {
        (true, _) => 10,
        (false, true) => near,
        (false, false) => far,
    };
    topology.node_distance = (0..2 * nodes)
        .map(|a| (0..2 * nodes).map(|b| distance(a, b)).collect())
        .collect();
    topology
}

#[test]
fn several_caches_in_a_node() {
    for (profile, pkg) in [(DomainProfile::V6_1, "DIE"), (DomainProfile::V6_12, "PKG")] {
        let domains = Domains::boot(&epyc(8, 1, 12, 20), &profile);
        let shape: Vec<_> = domains
            .for_each_domain(cpu(200))
            .map(|sd| &domains.sd[sd])
            .map(|sd| (sd.name, sd.span_weight, sd.cache_nice_tries, sd.imb_numa_nr))
            .collect();
        // Eight caches in a node: eight tasks.
        assert_eq!(
            shape,
            [
                ("SMT", 2, 0, 0),
                ("MC", 16, 1, 0),
                (pkg, 128, 1, 8),
                ("NUMA", 256, 2, 8)
            ]
        );
        assert_eq!(
            named(&domains, 200, pkg).flags,
            SD_BALANCE_NEWIDLE
                | SD_BALANCE_EXEC
                | SD_BALANCE_FORK
                | SD_WAKE_AFFINE
                | SD_PREFER_SIBLING
        );
        assert!(named(&domains, 200, pkg).shared.is_none());
        assert_eq!(domains.sd_llc_id[200], cpu(192));
        assert_eq!(domains.sd_llc_size[200], 16);
        assert!(domains.cpus_share_cache(cpu(192), cpu(207)));
        assert!(!domains.cpus_share_cache(cpu(191), cpu(192)));
    }
}

#[test]
fn several_nodes_in_a_package() {
    for profile in PROFILES {
        let topology = epyc(8, 4, 12, 32);
        let domains = Domains::boot(&topology, &profile);
        let shape: Vec<_> = domains
            .for_each_domain(cpu(0))
            .map(|sd| &domains.sd[sd])
            .map(|sd| (sd.name, sd.level, sd.span_weight, sd.imb_numa_nr))
            .collect();
        // No PKG level at all. Two caches in a node: two tasks; the machine is two NUMA domains of the
        // first level, so four.
        assert_eq!(
            shape,
            [
                ("SMT", 0, 2, 0),
                ("MC", 2, 16, 0),
                ("NODE", 3, 32, 2),
                ("NUMA", 4, 128, 2),
                ("NUMA", 5, 256, 4)
            ]
        );
        let affine = SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE;
        let top = |domains: &Domains| {
            let top = domains.for_each_domain(cpu(0)).last().unwrap();
            domains.sd[top].flags & affine
        };
        assert_eq!(named(&domains, 0, "NUMA").flags & affine, affine);
        assert_eq!(top(&domains), 0, "32 is beyond the reclaim distance of 30");

        let all = CpuMask::all(256);
        let input = DomainInput {
            topology: &topology,
            profile: &profile,
            online: &all,
            active: &all,
            node_reclaim_distance: 32,
            clock: BalanceClock::boot(250, 256),
        };
        let zen = Domains::build(&input, &mut BootCapacity::new(&topology));
        assert_eq!(
            top(&zen),
            affine,
            "32 is within the reclaim distance of Zen"
        );
    }
}

#[test]
fn a_cache_across_nodes_is_split() {
    // Sub-NUMA clustering: one LLC id in the package, two nodes.
    let mut topology = Topology::regular(1, 8, 1);
    for place in &mut topology.cpus {
        place.node = place.core / 4;
    }
    topology.node_distance = vec![vec![10, 21], vec![21, 10]];
    let domains = Domains::boot(&topology, &DomainProfile::V6_12);
    assert_eq!(
        chain(&domains, 5),
        ["MC 4-7 [5:5 | 6:6 | 7:7 | 4:4]", "NUMA 0-7 [4:4-7 | 0:0-3]"]
    );
    assert_eq!(domains.sd_llc_size[5], 4);
}

#[test]
fn clusters_below_the_cache() {
    // Eight single-threaded cores, an L2 for each four, one LLC.
    let cpus: Vec<_> = (0..8)
        .map(|core| (core, core / 4, 0, SCHED_CAPACITY_SCALE))
        .collect();
    let topology = one_node(&cpus);

    let domains = Domains::boot(&topology, &DomainProfile::V6_12);
    assert_eq!(
        chain(&domains, 6),
        ["CLS 4-7 [6:6 | 7:7 | 4:4 | 5:5]", "MC 0-7 [4:4-7 | 0:0-3]"]
    );
    assert!(domains.sched_cluster_active && !domains.sched_smt_present);
    assert_eq!(domains.sd[domains.base[6].get().unwrap()].child, SdId::NONE);
    assert_ne!(named(&domains, 6, "CLS").flags & SD_CLUSTER, 0);
    assert_eq!(
        (domains.sd_share_id[6], domains.sd_llc_id[6]),
        (cpu(4), cpu(0))
    );
    assert!(domains.cpus_share_cache(cpu(0), cpu(7)));
    assert!(!domains.cpus_share_resources(cpu(0), cpu(7)));
    // The groups of the lowest domain are single CPUs, and forget that they were SMT domains.
    let base = domains.base[6];
    assert!(
        domains
            .for_each_group(base)
            .all(|sg| domains.sg[sg].flags == 0)
    );

    let domains = Domains::boot(&topology, &DomainProfile::V6_1);
    assert_eq!(
        chain(&domains, 6),
        ["CLS 4-7 [6:6 | 7:7 | 4:4 | 5:5]", "MC 0-7 [4:4-7 | 0:0-3]"]
    );
    assert!(!domains.sched_cluster_active);
    assert_eq!(named(&domains, 6, "CLS").flags & SD_CLUSTER, 0);
    assert_eq!(domains.sd_share_id[6], cpu(0));
}

#[test]
fn a_cluster_as_large_as_the_cache_stands_for_it() {
    let cpus: Vec<_> = (0..8)
        .map(|id| (id / 2, 10 + id / 4, id / 4, SCHED_CAPACITY_SCALE))
        .collect();
    let domains = Domains::boot(&one_node(&cpus), &DomainProfile::V6_12);
    assert_eq!(
        chain(&domains, 0),
        [
            "SMT 0-1 [0:0 | 1:1]",
            "CLS 0-3 [0:0-1 | 2:2-3]",
            "PKG 0-7 [0:0-3 | 4:4-7]"
        ]
    );
    assert_eq!(domains.sd[domains.sd_llc[0]].name, "CLS");
    // Since 6.12 the group above takes over the flags of the domain that is left.
    let pkg = named(&domains, 0, "PKG");
    assert_ne!(domains.sg[pkg.groups].flags & SD_CLUSTER, 0);
    let domains = Domains::boot(&one_node(&cpus), &DomainProfile::V6_1);
    let pkg = named(&domains, 0, "DIE");
    assert_eq!(domains.sg[pkg.groups].flags & SD_CLUSTER, 0);
}

#[test]
fn four_thousand_cpus_take_memory_in_proportion() {
    // 32 nodes of 64 cores of 2 threads.
    let domains = Domains::boot(&Topology::regular(32, 64, 2), &DomainProfile::V6_12);
    assert_eq!(domains.sd.len(), 4096 * 3);
    // A ring of 32 nodes for each node, not for each CPU.
    assert_eq!(domains.sg.len(), 4096 + 2048 + 32 * 32);
    assert_eq!(domains.sgc.len(), 4096 + 2048 + 32);
    // Threads, cores, nodes and the machine.
    assert_eq!(domains.spans.len(), 4096 + 2048 + 32 + 1);
}
