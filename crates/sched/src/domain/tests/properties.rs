//! What holds for every machine.

use super::flags::*;
use super::*;

/// Xorshift, seeded by the number of the case.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(bound)) as u32
    }
}

/// `[nr_nodes][nr_nodes]`: steps between the nodes of a random connected network.
fn network(random: &mut Random, nr_nodes: usize) -> Vec<Vec<u32>> {
    let mut steps = vec![vec![9; nr_nodes]; nr_nodes];
    for (a, b) in (0..nr_nodes).flat_map(|a| (0..=a).map(move |b| (a, b))) {
        if a == b {
            steps[a][b] = 0;
        } else if a == b + 1 || random.below(3) == 0 {
            steps[a][b] = 1;
            steps[b][a] = 1;
        }
    }
    for via in 0..nr_nodes {
        let from_via = steps[via].clone();
        for row in &mut steps {
            let to_via = row[via];
            for (direct, onward) in row.iter_mut().zip(&from_via) {
                *direct = (*direct).min(to_via + onward);
            }
        }
    }
    steps
}

/// Nodes on a random connected network, 10 for each step between them; each with LLCs of clusters of cores of
/// threads, all of random number, CPUs in random order.
fn machine(random: &mut Random) -> Topology {
    let nr_nodes = 1 + random.below(6);
    let steps = network(random, nr_nodes as usize);
    let mut cpus = Vec::new();
    let (mut core, mut cluster, mut llc) = (0, 0, 0);
    let nodes_per_package = 1 + random.below(2);
    for node in 0..nr_nodes {
        for _ in 0..1 + random.below(3) {
            for _ in 0..1 + random.below(2) {
                for _ in 0..1 + random.below(3) {
                    for _ in 0..1 + random.below(2) {
                        let package = node / nodes_per_package;
                        let capacity = SCHED_CAPACITY_SCALE >> (cluster % 5 / 4);
                        cpus.push(CpuPlace {
                            core,
                            cluster,
                            llc,
                            package,
                            node,
                            capacity,
                        });
                    }
                    core += 1;
                }
                cluster += 1;
            }
            llc += 1;
        }
    }
    for last in (1..cpus.len()).rev() {
        cpus.swap(last, random.below(last as u32 + 1) as usize);
    }
    let node_distance = steps
        .iter()
        .map(|row| row.iter().map(|steps| 10 + 10 * steps).collect())
        .collect();
    Topology {
        cpus,
        node_distance,
    }
}

fn check(domains: &Domains, active: &CpuMask) {
    for id in 0..domains.base.len() as u32 {
        if !active.test(cpu(id)) {
            assert!(chain(domains, id).is_empty());
            continue;
        }
        let mut below = SdId::NONE;
        let mut top = CpuMask::of(active.words().len() * 64, [cpu(id)]);
        for sd in domains.for_each_domain(cpu(id)) {
            check_domain(domains, cpu(id), sd, below);
            below = sd;
            top = domains.sched_domain_span(sd).clone();
        }
        assert_eq!(
            top.weight(),
            active.weight(),
            "CPU {id}'s top domain spans all"
        );

        let llc = domains.sd_llc[id as usize];
        let above = llc
            .get()
            .map_or(domains.base[id as usize], |llc| domains.sd[llc].parent);
        if let Some(above) = above.get() {
            assert_eq!(domains.sd[above].flags & SD_SHARE_LLC, 0);
        }
    }
}

fn check_domain(domains: &Domains, id: CpuId, sd: SdId, below: SdId) {
    let domain = &domains.sd[sd];
    let span = domains.sched_domain_span(sd);
    assert_eq!(domain.child, below);
    assert!(span.test(id) && span.weight() > 1);
    assert_eq!(domain.span_weight as usize, span.weight());
    if let Some(child) = below.get() {
        assert!(domains.sched_domain_span(child).is_subset(span));
        assert_eq!(domains.sd[child].parent, sd);
        assert!(domains.sd[child].level < domain.level);
        assert_eq!(
            domains.sched_domain_span(child),
            domains.sched_group_span(domain.groups)
        );
    } else {
        assert_eq!(
            list(domains.sched_group_span(domain.groups)),
            format!("{}", id.0)
        );
        assert_eq!(domains.sg[domain.groups].flags, 0);
    }

    let mut covered = CpuMask::none(domains.base.len());
    let mut weights = 0;
    for sg in domains.for_each_group(sd) {
        let group = &domains.sg[sg];
        let group_span = domains.sched_group_span(sg);
        assert!(group_span.is_subset(span));
        assert_eq!(group.group_weight as usize, group_span.weight());
        assert!(group.cores > 0 && group.cores <= group.group_weight);
        covered.or_with(group_span);
        weights += group_span.weight();
        let mask = domains.group_balance_mask(sg);
        assert!(!mask.is_empty() && mask.is_subset(group_span));
        assert_eq!(domains.sgc[group.sgc].id, domains.group_balance_cpu(sg).0);
        let sgc = &domains.sgc[group.sgc];
        assert!(sgc.min_capacity <= sgc.max_capacity && sgc.max_capacity <= sgc.capacity);
        if domain.flags & SD_OVERLAP == 0 {
            assert_eq!(mask, group_span);
        }
    }
    assert_eq!(&covered, span, "the groups cover the domain");
    if domain.flags & SD_OVERLAP == 0 {
        assert_eq!(weights, span.weight(), "the groups do not overlap");
    }
    assert!(
        domains.group_balance_mask(domain.groups).test(id),
        "a CPU climbs through its group"
    );

    // The flags that children share stay shared, those that parents share too.
    let up = SD_SERIALIZE | SD_OVERLAP | SD_NUMA | SD_ASYM_CPUCAPACITY | SD_ASYM_CPUCAPACITY_FULL;
    if let Some(child) = below.get() {
        let child = domains.sd[child].flags;
        assert_eq!(domain.flags & SD_SHARED_CHILD_MASK & !child, 0);
        assert_eq!(child & up & !domain.flags, 0);
    }
}

#[test]
fn random_machines_before_and_after_hotplug() {
    for case in 1..=400 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(case));
        let topology = machine(&mut random);
        let nr_cpus = topology.nr_cpus();
        for profile in PROFILES {
            let all = CpuMask::all(nr_cpus);
            check(&Domains::boot(&topology, &profile), &all);

            let mut active = all.clone();
            for id in 0..nr_cpus as u32 {
                if random.below(3) == 0 && active.weight() > 1 {
                    active.clear(cpu(id));
                }
            }
            let input = DomainInput {
                topology: &topology,
                profile: &profile,
                online: &all,
                active: &active,
                node_reclaim_distance: 30,
                clock: BalanceClock::boot(250, nr_cpus),
            };
            let domains = Domains::build(&input, &mut BootCapacity::new(&topology));
            check(&domains, &active);
            assert_eq!(
                domains,
                Domains::build(&input, &mut BootCapacity::new(&topology))
            );
        }
    }
}

#[test]
fn neighbours_agree_on_what_they_share() {
    for case in 1..=100 {
        let topology = machine(&mut Random(case));
        let domains = Domains::boot(&topology, &DomainProfile::V6_12);
        for (a, one) in topology.cpus.iter().enumerate() {
            for (b, other) in topology.cpus.iter().enumerate() {
                let (a, b) = (cpu(a as u32), cpu(b as u32));
                assert_eq!(
                    domains.cpus_share_cache(a, b),
                    one.llc == other.llc,
                    "{a:?} {b:?}"
                );
                assert_eq!(domains.cpu_smt_mask(a).test(b), one.core == other.core);
                if one.llc == other.llc {
                    assert_eq!(
                        domains.sd_llc_shared[a.idx()],
                        domains.sd_llc_shared[b.idx()]
                    );
                }
            }
        }
    }
}
