//! A CPU leaves.

use super::flags::*;
use super::*;

fn without(topology: &Topology, profile: &DomainProfile, gone: u32, still_online: bool) -> Domains {
    let nr_cpus = topology.nr_cpus();
    let mut active = CpuMask::all(nr_cpus);
    active.clear(cpu(gone));
    let online = if still_online {
        CpuMask::all(nr_cpus)
    } else {
        active.clone()
    };
    let input = DomainInput {
        topology,
        profile,
        online: &online,
        active: &active,
        node_reclaim_distance: 30,
        clock: BalanceClock {
            jiffies: 1000,
            hz: 250,
            max_load_balance_interval: 75,
        },
    };
    Domains::build(&input, &mut BootCapacity::new(topology))
}

/// Flags of the group of CPUs 0 and 1 in the MC domain.
fn core_flags(domains: &Domains) -> SdFlags {
    domains.sg[named(domains, 0, "MC").groups].flags
}

#[test]
fn a_thread_leaves_its_core() {
    let topology = Topology::regular(1, 2, 2);
    for (profile, still_online) in [(DomainProfile::V6_1, false), (DomainProfile::V6_12, true)] {
        let domains = without(&topology, &profile, 3, still_online);
        assert_eq!(
            chain(&domains, 0),
            ["SMT 0-1 [0:0 | 1:1]", "MC 0-2 [0:0-1 | 2:2]"]
        );
        assert_eq!(chain(&domains, 2), ["MC 0-2 [2:2 | 0:0-1]"]);
        assert!(chain(&domains, 3).is_empty());
        assert_eq!((domains.sd_llc_size[3], domains.sd_llc_id[3]), (1, cpu(3)));
        assert!(domains.sched_smt_present, "the other core still has two");

        // The intervals count a CPU that is still online; the weights do not.
        let mc = named(&domains, 2, "MC");
        let nr_online = if still_online { 4 } else { 3 };
        assert_eq!((mc.min_interval, mc.span_weight), (nr_online, 3));
        assert_eq!(domains.sds[mc.shared].nr_busy_cpus, nr_online as i32);
        assert_eq!(domains.sds[mc.shared].r#ref, 3);
        assert_eq!((mc.last_balance, mc.last_decay_max_lb_cost), (1000, 1000));
        // 3 or 4 ms are one jiffy of 4 ms.
        assert_eq!(domains.sgc[domains.sg[mc.groups].sgc].next_update, 1001);

        // The lonely thread's group is that of a single CPU. The core's has the flags of the CLS domain that
        // it was made of, until 6.12 gives it those of the SMT domain.
        let is_core = core_flags(&domains) & SD_SHARE_CPUCAPACITY != 0;
        assert_eq!(is_core, still_online);
        let lonely = &domains.sg[mc.groups];
        assert_eq!((lonely.flags, lonely.cores, lonely.group_weight), (0, 1, 1));
        let core = &domains.sg[lonely.next];
        assert_eq!((core.cores, core.group_weight), (1, 2));
        assert_eq!(domains.sgc[core.sgc].capacity, 2048);

        let siblings = if still_online { "2-3" } else { "2" };
        assert_eq!(list(domains.cpu_smt_mask(cpu(2))), siblings);
    }
}

#[test]
fn the_last_cpu_of_a_node_takes_the_node_along() {
    let topology = nodes(
        vec![vec![10, 20, 25], vec![20, 10, 25], vec![25, 25, 10]],
        1,
    );
    let domains = without(&topology, &DomainProfile::V6_12, 2, true);
    assert_eq!(domains.numa.distance, [10, 20]);
    assert_eq!(chain(&domains, 0), ["NUMA 0-1 [0:0 | 1:1]"]);
    assert!(domains.numa.masks[1][2].is_empty());
}

#[test]
fn one_cpu_left() {
    let topology = Topology::regular(1, 1, 2);
    let domains = without(&topology, &DomainProfile::V6_12, 0, true);
    assert!(domains.sd.is_empty());
    assert!(!domains.sched_smt_present);
}
