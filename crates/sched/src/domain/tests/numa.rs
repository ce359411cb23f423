//! Overlapping groups, derived by hand. Stock Debian kernels (6.1.192 and 6.12.117), booted on these networks
//! under QEMU with `sched_verbose`, print the same groups, capacity ids and balance masks.

use super::flags::*;
use super::*;

#[test]
fn a_ring_of_four_nodes() {
    // 0 --- 1
    // |     |
    // 3 --- 2     two cores a node: CPUs 0-1, 2-3, 4-5, 6-7
    let ring = vec![
        vec![10, 20, 30, 20],
        vec![20, 10, 20, 30],
        vec![30, 20, 10, 20],
        vec![20, 30, 20, 10],
    ];
    for profile in PROFILES {
        let domains = Domains::boot(&nodes(ring.clone(), 2), &profile);
        // Of the group 2-7 only CPUs 4-5 come through 2-7; CPUs 2-3 come through 0-5, 6-7 through 0-1,4-7.
        assert_eq!(
            chain(&domains, 0),
            [
                "MC 0-1 [0:0 | 1:1]",
                "NUMA 0-3,6-7 [0:0-1 | 2:2-3 | 6:6-7]",
                "NUMA 0-7 [0:0-3,6-7 mask=0-1 | 4:2-7 mask=4-5]"
            ]
        );
        assert_eq!(
            chain(&domains, 3),
            [
                "MC 2-3 [3:3 | 2:2]",
                "NUMA 0-5 [2:2-3 | 4:4-5 | 0:0-1]",
                "NUMA 0-7 [2:0-5 mask=2-3 | 6:0-1,4-7 mask=6-7]"
            ]
        );
        assert_eq!(
            chain(&domains, 4),
            [
                "MC 4-5 [4:4 | 5:5]",
                "NUMA 2-7 [4:4-5 | 6:6-7 | 2:2-3]",
                "NUMA 0-7 [4:2-7 mask=4-5 | 0:0-3,6-7 mask=0-1]"
            ]
        );
        assert_eq!(
            chain(&domains, 7)[2],
            "NUMA 0-7 [6:0-1,4-7 mask=6-7 | 2:0-5 mask=2-3]"
        );

        let top = domains.for_each_domain(cpu(0)).last().unwrap();
        let first = domains.sd[top].groups;
        assert_eq!(domains.group_balance_cpu(domains.sg[first].next), cpu(4));
        assert_eq!(domains.sgc[domains.sg[first].sgc].capacity, 6 * 1024);
        // 30 is not beyond the reclaim distance of 30.
        let affine = SD_BALANCE_EXEC | SD_BALANCE_FORK | SD_WAKE_AFFINE;
        assert_eq!(domains.sd[top].flags & affine, affine);
        // Two CPUs a node: an eighth is nothing, one task is the least.
        assert_eq!(domains.sd[top].imb_numa_nr, 1);
        assert_eq!(domains.sd[domains.sd_numa[0]].span_weight, 6);

        assert_eq!(domains.numa.distance, [10, 20, 30]);
        let mask = CpuMask::of(8, [cpu(4), cpu(7)]);
        assert_eq!(domains.numa.sched_numa_find_closest(&mask, 0), Some(cpu(7)));
        assert_eq!(domains.numa.sched_numa_find_closest(&mask, 2), Some(cpu(4)));
        assert_eq!(
            domains.numa.sched_numa_find_closest(&CpuMask::none(8), 2),
            None
        );

        // The CPUs of a node share their rings: three in the middle, two at the top, four nodes.
        assert_eq!(domains.sg.len(), 8 + 4 * 3 + 4 * 2);
    }
}

#[test]
fn a_line_of_four_nodes() {
    // 0 --- 1 --- 2 --- 3     one CPU a node
    let line = vec![
        vec![10, 20, 30, 40],
        vec![20, 10, 20, 30],
        vec![30, 20, 10, 20],
        vec![40, 30, 20, 10],
    ];
    let domains = Domains::boot(&nodes(line, 1), &DomainProfile::V6_12);
    // NUMA at 30 from CPU 0: CPU 2's child 1-3 reaches beyond 0-2, so its own child's child stands for it.
    assert_eq!(
        chain(&domains, 0),
        [
            "NUMA 0-1 [0:0 | 1:1]",
            "NUMA 0-2 [0:0-1 mask=0 | 2:2]",
            "NUMA 0-3 [0:0-2 mask=0 | 3:1-3 mask=3]"
        ]
    );
    assert_eq!(
        chain(&domains, 1),
        [
            "NUMA 0-2 [1:1 | 2:2 | 0:0]",
            "NUMA 0-3 [1:0-2 mask=1 | 3:2-3 mask=3]"
        ]
    );
    assert_eq!(
        chain(&domains, 2),
        [
            "NUMA 1-3 [2:2 | 3:3 | 1:1]",
            "NUMA 0-3 [2:1-3 mask=2 | 0:0-1 mask=0]"
        ]
    );
    assert_eq!(
        chain(&domains, 3),
        [
            "NUMA 2-3 [3:3 | 2:2]",
            "NUMA 1-3 [3:2-3 mask=3 | 1:1]",
            "NUMA 0-3 [3:1-3 mask=3 | 0:0-2 mask=0]"
        ]
    );
    // The group that stands in uses the capacity record of the level it comes from.
    let middle = domains.for_each_domain(cpu(0)).nth(1).unwrap();
    let stand_in = domains.sg[domains.sg[domains.sd[middle].groups].next].sgc;
    let own = domains.sg[domains.sd[domains.base[2]].groups].sgc;
    assert_eq!(stand_in, own);
    // 40 is too far for new and waking tasks.
    let top = domains.for_each_domain(cpu(0)).last().unwrap();
    assert_eq!(
        domains.sd[top].flags,
        SD_BALANCE_NEWIDLE | SD_SERIALIZE | SD_OVERLAP | SD_NUMA
    );
}

#[test]
fn nodes_in_the_middle_have_fewer_domains() {
    // 0 ----- 1
    // |     / |
    // |   /   |
    // 2 ----- 3     one CPU a node; only 0 and 3 are not neighbours
    let mesh = vec![
        vec![10, 20, 20, 30],
        vec![20, 10, 20, 20],
        vec![20, 20, 10, 20],
        vec![30, 20, 20, 10],
    ];
    let domains = Domains::boot(&nodes(mesh, 1), &DomainProfile::V6_12);
    assert_eq!(
        chain(&domains, 0),
        [
            "NUMA 0-2 [0:0 | 1:1 | 2:2]",
            "NUMA 0-3 [0:0-2 mask=0 | 3:1-3 mask=3]"
        ]
    );
    assert_eq!(chain(&domains, 1), ["NUMA 0-3 [1:1 | 2:2 | 3:3 | 0:0]"]);
    assert_eq!(chain(&domains, 2), ["NUMA 0-3 [2:2 | 3:3 | 0:0 | 1:1]"]);
    assert_eq!(
        chain(&domains, 3),
        [
            "NUMA 1-3 [3:3 | 1:1 | 2:2]",
            "NUMA 0-3 [3:1-3 mask=3 | 0:0-2 mask=0]"
        ]
    );
}

#[test]
fn a_ring_that_lost_a_cpu() {
    // The ring of four nodes of two cores, CPU 2 gone: node 1 has CPU 3 only.
    let ring = vec![
        vec![10, 20, 30, 20],
        vec![20, 10, 20, 30],
        vec![30, 20, 10, 20],
        vec![20, 30, 20, 10],
    ];
    let topology = nodes(ring, 2);
    let mut active = CpuMask::all(8);
    active.clear(cpu(2));
    for profile in PROFILES {
        let input = DomainInput {
            topology: &topology,
            profile: &profile,
            online: &active,
            active: &active,
            node_reclaim_distance: 30,
            clock: BalanceClock::boot(250, 7),
        };
        let domains = Domains::build(&input, &mut BootCapacity::new(&topology));
        assert_eq!(
            chain(&domains, 3),
            [
                "NUMA 0-1,3-5 [3:3 | 4:4-5 | 0:0-1]",
                "NUMA 0-1,3-7 [3:0-1,3-5 mask=3 | 6:0-1,4-7 mask=6-7]"
            ]
        );
        assert_eq!(
            chain(&domains, 7),
            [
                "MC 6-7 [7:7 | 6:6]",
                "NUMA 0-1,4-7 [6:6-7 | 0:0-1 | 4:4-5]",
                "NUMA 0-1,3-7 [6:0-1,4-7 mask=6-7 | 3:0-1,3-5 mask=3]"
            ]
        );
        let lonely = &domains.sd[domains.base[3]];
        assert_eq!((lonely.min_interval, lonely.max_interval), (5, 10));
    }
}

#[test]
fn a_line_of_six_nodes() {
    // 0 --- 1 --- 2 --- 3 --- 4 --- 5     one CPU a node
    let line = (0..6u32)
        .map(|a| (0..6).map(|b| 10 + 10 * a.abs_diff(b)).collect())
        .collect();
    let domains = Domains::boot(&nodes(line, 1), &DomainProfile::V6_12);
    assert_eq!(
        chain(&domains, 0),
        [
            "NUMA 0-1 [0:0 | 1:1]",
            "NUMA 0-2 [0:0-1 mask=0 | 2:2]",
            "NUMA 0-3 [0:0-2 mask=0 | 3:3]",
            "NUMA 0-4 [0:0-3 mask=0 | 4:4]",
            "NUMA 0-5 [0:0-4 mask=0 | 5:1-5 mask=5]"
        ]
    );
    assert_eq!(
        chain(&domains, 2),
        [
            "NUMA 1-3 [2:2 | 3:3 | 1:1]",
            "NUMA 0-4 [2:1-3 mask=2 | 4:4 | 0:0-1 mask=0]",
            "NUMA 0-5 [2:0-4 mask=2 | 5:3-5 mask=5]"
        ]
    );
}
