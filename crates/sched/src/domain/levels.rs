//! The levels that chains of domains are made of, bottom up: SMT, CLS, MC, PKG, NODE and the NUMA distances.
//!
//! Invariants. Below NUMA each level splits the CPUs into disjoint sets, and a set lies within one set of the
//!             next level.
//! Source.     arch/x86/kernel/smpboot.c: `set_cpu_sibling_map`, `match_smt`, `match_l2c`, `match_llc`,
//!             `build_sched_topology` (6.1: `x86_topology`); kernel/sched/topology.c: `sched_init_numa`.

use super::flags::{SD_NUMA, SD_SHARE_CPUCAPACITY, SD_SHARE_LLC, SdFlags};
use super::numa::Numa;
use super::profile::DomainProfile;
use crate::cpumask::CpuMask;
use crate::topology::{CpuPlace, Topology};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// One level; the kernel's `sched_domain_topology_level`.
pub(super) struct Level {
    pub(super) name: &'static str,
    /// What the level says of the hardware.
    pub(super) sd_flags: SdFlags,
    /// Sets of different nodes may overlap (`SDTL_OVERLAP`).
    pub(super) overlaps: bool,
    /// Index into [`Numa::distance`].
    pub(super) numa_level: usize,
    /// `[nr_cpus]`: which set each CPU has; `NO_SET` for a CPU that is offline.
    set_of: Vec<u32>,
    /// The sets of online CPUs.
    sets: Vec<CpuMask>,
}

const NO_SET: u32 = u32::MAX;

impl Level {
    /// Which of the level's sets the CPU has.
    pub(super) fn set_of(&self, cpu: usize) -> usize {
        self.set_of[cpu] as usize
    }

    pub(super) fn nr_sets(&self) -> usize {
        self.sets.len()
    }

    /// The set of online CPUs.
    pub(super) fn set(&self, set: usize) -> &CpuMask {
        &self.sets[set]
    }

    /// A level whose sets are the online CPUs of equal key.
    fn by_key(
        name: &'static str,
        sd_flags: SdFlags,
        topology: &Topology,
        online: &CpuMask,
        key: impl Fn(&CpuPlace) -> (u32, u32),
    ) -> Level {
        let mut sets = Vec::new();
        let mut set_of = vec![NO_SET; topology.nr_cpus()];
        let mut known = BTreeMap::new();
        for cpu in online.iter() {
            let set = *known
                .entry(key(&topology.cpus[cpu.idx()]))
                .or_insert_with(|| {
                    sets.push(CpuMask::none(topology.nr_cpus()));
                    sets.len() - 1
                });
            sets[set].set(cpu);
            set_of[cpu.idx()] = set as u32;
        }
        Level {
            name,
            sd_flags,
            overlaps: false,
            numa_level: 0,
            set_of,
            sets,
        }
    }

    /// The level of a NUMA distance, a set for each node.
    fn by_distance(numa_level: usize, numa: &Numa, topology: &Topology, online: &CpuMask) -> Level {
        let mut set_of = vec![NO_SET; topology.nr_cpus()];
        for cpu in online.iter() {
            set_of[cpu.idx()] = topology.cpus[cpu.idx()].node;
        }
        let is_node = numa_level == 0;
        Level {
            name: if is_node { "NODE" } else { "NUMA" },
            sd_flags: if is_node { 0 } else { SD_NUMA },
            overlaps: !is_node,
            numa_level,
            set_of,
            sets: numa.masks[numa_level].clone(),
        }
    }
}

/// All levels of an x86 machine with SCHED_SMT, SCHED_CLUSTER, SCHED_MC and NUMA configured.
///
/// CPUs of different nodes never count as sharing a cache: a cache that the firmware reports across nodes
/// (sub-NUMA clustering) is split at the nodes.
pub(super) fn x86_levels(
    topology: &Topology,
    profile: &DomainProfile,
    online: &CpuMask,
    numa: &Numa,
) -> Vec<Level> {
    let by_key = |name, sd_flags, key: fn(&CpuPlace) -> (u32, u32)| {
        Level::by_key(name, sd_flags, topology, online, key)
    };
    let mut levels = vec![
        by_key("SMT", SD_SHARE_CPUCAPACITY | SD_SHARE_LLC, |place| {
            (place.core, place.node)
        }),
        by_key("CLS", profile.cluster_flags, |place| {
            (place.cluster, place.node)
        }),
        by_key("MC", SD_SHARE_LLC, |place| (place.llc, place.node)),
    ];
    // Where a package has several nodes, the NUMA levels span it, and a level between would tear them.
    if !has_numa_in_package(topology) {
        levels.push(by_key(profile.pkg_name, 0, |place| (place.node, 0)));
    }
    for numa_level in 0..numa.distance.len() {
        levels.push(Level::by_distance(numa_level, numa, topology, online));
    }
    levels
}

/// Does a package hold more than one node? Decided at boot from every CPU, online now or not.
fn has_numa_in_package(topology: &Topology) -> bool {
    let mut node_of = BTreeMap::new();
    topology
        .cpus
        .iter()
        .any(|place| *node_of.entry(place.package).or_insert(place.node) != place.node)
}
