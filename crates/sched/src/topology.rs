//! What the scheduler is told about the hardware: which CPUs share what.
//!
//! Not here. Scheduling domains built from it (see `domain`); costs and sources (see the `machine` crate).

use alloc::vec::Vec;

/// Full capacity of a CPU, the kernel's `SCHED_CAPACITY_SCALE`.
pub const SCHED_CAPACITY_SCALE: u32 = 1024;

/// Where one logical CPU sits. Two CPUs share a thing when the ids are equal; ids are machine-wide
/// (core 3 of package 1 has another id than core 3 of package 0) and dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuPlace {
    /// Physical core: CPUs of one core are SMT siblings.
    pub core: u32,
    /// Cluster of cores that share an L2 or a fabric stop below the LLC; equal to `core` where there is none.
    pub cluster: u32,
    /// Last-level cache.
    pub llc: u32,
    /// Package (socket).
    pub package: u32,
    /// NUMA node, an index into [`Topology::node_distance`].
    pub node: u32,
    /// Capacity at the highest frequency, up to [`SCHED_CAPACITY_SCALE`]
    pub capacity: u32,
}

/// The machine as the scheduler sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// One place for each CPU, indexed by `CpuId`.
    pub cpus: Vec<CpuPlace>,
    /// `[nr_nodes][nr_nodes]`, as in the ACPI SLIT: 10 is local.
    pub node_distance: Vec<Vec<u32>>,
}

impl Topology {
    /// `sockets` × `cores` × `threads`, one LLC and one NUMA node a socket, distance 20 between sockets,
    /// SMT siblings numbered next to each other (as QEMU and the recordings do).
    pub fn regular(sockets: u32, cores: u32, threads: u32) -> Topology {
        let mut cpus = Vec::new();
        for package in 0..sockets {
            for core in 0..cores {
                let core = package * cores + core;
                for _ in 0..threads {
                    cpus.push(CpuPlace {
                        core,
                        cluster: core,
                        llc: package,
                        package,
                        node: package,
                        capacity: SCHED_CAPACITY_SCALE,
                    });
                }
            }
        }
        let node_distance = (0..sockets)
            .map(|a| (0..sockets).map(|b| if a == b { 10 } else { 20 }).collect())
            .collect();
        Topology {
            cpus,
            node_distance,
        }
    }

    /// How many CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }
}
