//! NUMA nodes by distance.
//!
//! Model.    The distances found in the table, in order, are the levels; at each level a node sees the CPUs
//!           of all nodes at most that far away. Level 0 is the node itself.
//! Source.   kernel/sched/topology.c: `sched_init_numa`, `sched_update_numa`, `sched_numa_find_closest`.
//! Not here. The type of the interconnect, which only NUMA page balancing asks for.

use crate::cpumask::CpuMask;
use crate::topology::Topology;
use crate::units::CpuId;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// The levels of distance and who is in reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numa {
    /// `[nr_levels]`: the distance of each level, ascending (`sched_domains_numa_distance`).
    pub distance: Vec<u32>,
    /// `[nr_levels][nr_nodes]`: the online CPUs in reach (`sched_domains_numa_masks`); empty for a node
    /// without an active CPU.
    pub masks: Vec<Vec<CpuMask>>,
}

impl Numa {
    /// Nodes count from their first active CPU on, and then with all online CPUs.
    pub(super) fn new(topology: &Topology, online: &CpuMask, active: &CpuMask) -> Numa {
        let nr_cpus = topology.nr_cpus();
        let nr_nodes = topology.node_distance.len();
        let mut has_cpu = vec![false; nr_nodes];
        let mut cpumask_of_node = vec![CpuMask::none(nr_cpus); nr_nodes];
        for cpu in online.iter() {
            let node = topology.cpus[cpu.idx()].node as usize;
            cpumask_of_node[node].set(cpu);
            has_cpu[node] |= active.test(cpu);
        }
        let nodes: Vec<usize> = (0..nr_nodes).filter(|&node| has_cpu[node]).collect();

        let distance_of = |a: usize, b: usize| topology.node_distance[a][b];
        let distances: BTreeSet<u32> = nodes
            .iter()
            .flat_map(|&a| nodes.iter().map(move |&b| distance_of(a, b)))
            .collect();
        let distance: Vec<u32> = distances.into_iter().collect();
        let masks = distance.iter().map(|&reach| {
            let mut of_nodes = vec![CpuMask::none(nr_cpus); nr_nodes];
            for &j in &nodes {
                for &k in nodes.iter().filter(|&&k| distance_of(j, k) <= reach) {
                    of_nodes[j].or_with(&cpumask_of_node[k]);
                }
            }
            of_nodes
        });
        let masks = masks.collect();
        Numa { distance, masks }
    }

    /// The CPU of `cpus` that is closest to `node`, the lowest of equals.
    pub fn sched_numa_find_closest(&self, cpus: &CpuMask, node: u32) -> Option<CpuId> {
        self.masks.iter().find_map(|of_nodes| {
            let reach = &of_nodes[node as usize];
            cpus.iter().find(|&cpu| reach.test(cpu))
        })
    }
}
