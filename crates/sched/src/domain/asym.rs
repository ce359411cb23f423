//! CPUs of different capacities.
//!
//! Source. kernel/sched/topology.c: `asym_cpu_capacity_scan`, `asym_cpu_capacity_classify`.

use super::flags::{SD_ASYM_CPUCAPACITY, SD_ASYM_CPUCAPACITY_FULL, SdFlags};
use crate::cpumask::CpuMask;
use crate::topology::Topology;
use crate::units::CpuId;
use alloc::vec::Vec;

/// The CPUs of one capacity; the kernel's `asym_cap_data`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsymCap {
    /// The capacity.
    pub capacity: u32,
    /// Its CPUs, online or not.
    pub cpus: CpuMask,
}

/// All capacities of the machine, the largest first; none where all CPUs are alike.
pub(super) fn asym_cpu_capacity_scan(topology: &Topology) -> Vec<AsymCap> {
    let nr_cpus = topology.nr_cpus();
    let mut list: Vec<AsymCap> = Vec::new();
    for (cpu, place) in topology.cpus.iter().enumerate() {
        let at = list.partition_point(|entry| entry.capacity > place.capacity);
        if list
            .get(at)
            .is_none_or(|entry| entry.capacity != place.capacity)
        {
            list.insert(
                at,
                AsymCap {
                    capacity: place.capacity,
                    cpus: CpuMask::none(nr_cpus),
                },
            );
        }
        list[at].cpus.set(CpuId(cpu as u32));
    }
    if list.len() == 1 {
        list.clear();
    }
    list
}

/// The asymmetry flags of a domain: two capacities within it, and whether those are all of the partition.
pub(super) fn asym_cpu_capacity_classify(
    list: &[AsymCap],
    sd_span: &CpuMask,
    cpu_map: &CpuMask,
) -> SdFlags {
    let count = list
        .iter()
        .filter(|entry| sd_span.intersects(&entry.cpus))
        .count();
    let all = list
        .iter()
        .filter(|entry| cpu_map.intersects(&entry.cpus))
        .count();
    if count < 2 {
        0
    } else if count < all {
        SD_ASYM_CPUCAPACITY
    } else {
        SD_ASYM_CPUCAPACITY | SD_ASYM_CPUCAPACITY_FULL
    }
}
