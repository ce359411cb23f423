//! How far two CPUs are from each other, and a cost for each distance.
//!
//! Model.       The nearest thing that two CPUs share names their distance: the CPU itself, the
//!              core, the cluster (L2), the LLC, the node; beyond that comes the rank of the
//!              distance between their nodes.
//! Deviations.  Two packages of one node (a machine without NUMA, or one that hides it) count as
//!              `Remote(1)`, since the traffic crosses packages. CPUs of one LLC that belong to two
//!              nodes (sub-NUMA clustering) count as `Llc`.

use fairwind_sched::topology::Topology;

/// How many classes of remote distance have a cost of their own; farther ones cost as much as the
/// last.
pub const REMOTE_CLASSES: usize = 3;

/// The distance between two CPUs, nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Distance {
    /// The same logical CPU.
    SameCpu,
    /// Another hardware thread of the same core.
    Smt,
    /// Another core of the same cluster.
    Cluster,
    /// Another core under the same last-level cache.
    Llc,
    /// Another last-level cache of the same node and package.
    Node,
    /// Another node or another package. 1 is the nearest class: the rank of the two nodes' distance
    /// among the distinct distances between nodes of the machine.
    Remote(u8),
}

/// One number for each distance.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ByDistance {
    /// For [`Distance::SameCpu`].
    pub same_cpu: u64,
    /// For [`Distance::Smt`].
    pub smt: u64,
    /// For [`Distance::Cluster`].
    pub cluster: u64,
    /// For [`Distance::Llc`].
    pub llc: u64,
    /// For [`Distance::Node`].
    pub node: u64,
    /// For [`Distance::Remote`], nearest class first: `[REMOTE_CLASSES]`.
    pub remote: [u64; REMOTE_CLASSES],
}

impl ByDistance {
    /// The number for `distance`.
    pub fn get(&self, distance: Distance) -> u64 {
        match distance {
            Distance::SameCpu => self.same_cpu,
            Distance::Smt => self.smt,
            Distance::Cluster => self.cluster,
            Distance::Llc => self.llc,
            Distance::Node => self.node,
            Distance::Remote(class) => {
                self.remote[usize::from(class.max(1) - 1).min(REMOTE_CLASSES - 1)]
            }
        }
    }
}

/// The class of every pair of nodes: `[nr_nodes * nr_nodes]`, row-major, 0 on the diagonal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeClasses {
    nr_nodes: usize,
    class: Vec<u8>,
}

impl NodeClasses {
    pub(crate) fn of(topology: &Topology) -> NodeClasses {
        let matrix = &topology.node_distance;
        let nr_nodes = matrix.len();
        let mut distinct: Vec<u32> = (0..nr_nodes)
            .flat_map(|a| (0..nr_nodes).filter(move |&b| b != a).map(move |b| (a, b)))
            .map(|(a, b)| matrix[a][b])
            .collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut class = Vec::with_capacity(nr_nodes * nr_nodes);
        for (a, row) in matrix.iter().enumerate() {
            for (b, distance) in row.iter().enumerate() {
                let rank = distinct.partition_point(|d| d < distance) + 1;
                class.push(if a == b {
                    0
                } else {
                    u8::try_from(rank).unwrap_or(u8::MAX)
                });
            }
        }
        NodeClasses { nr_nodes, class }
    }

    pub(crate) fn get(&self, a: u32, b: u32) -> u8 {
        self.class[a as usize * self.nr_nodes + b as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_classes_rank_the_distinct_distances() {
        let mut topology = Topology::regular(3, 1, 1);
        topology.node_distance = vec![vec![10, 16, 32], vec![16, 10, 16], vec![32, 16, 10]];
        let classes = NodeClasses::of(&topology);
        assert_eq!(classes.get(0, 0), 0);
        assert_eq!(classes.get(0, 1), 1);
        assert_eq!(classes.get(0, 2), 2);
        assert_eq!(classes.get(2, 1), 1);
    }

    #[test]
    fn far_classes_cost_as_much_as_the_last() {
        let cost = ByDistance {
            llc: 5,
            remote: [7, 8, 9],
            ..ByDistance::default()
        };
        assert_eq!(cost.get(Distance::Llc), 5);
        assert_eq!(cost.get(Distance::Remote(1)), 7);
        assert_eq!(cost.get(Distance::Remote(3)), 9);
        assert_eq!(cost.get(Distance::Remote(200)), 9);
        // Class 0 is never produced; it must not index out of the table all the same.
        assert_eq!(cost.get(Distance::Remote(0)), 7);
    }
}
