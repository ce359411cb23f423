//! A machine: topology, caches, costs, and the names its parts have outside.

use fairwind_sched::topology::Topology;
use fairwind_sched::units::CpuId;

use crate::caches::{Caches, Footprint, WorkingSet, refill_ns};
use crate::costs::Costs;
use crate::distance::{Distance, NodeClasses};

/// The numbers that the parts have in the file or on the system, by our dense ids.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Labels {
    /// `[nr_cpus]`: number of the CPU.
    pub cpu: Vec<u32>,
    /// `[nr_nodes]`: number of the NUMA node.
    pub node: Vec<u32>,
    /// `[nr_packages]`: number of the package.
    pub package: Vec<u32>,
}

/// Hardware as facts and costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Short name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// The scheduler's view.
    pub topology: Topology,
    /// What the parts are called outside.
    pub labels: Labels,
    /// Cache sizes.
    pub caches: Caches,
    /// What things cost.
    pub costs: Costs,
    /// What had to be assumed or changed to make this machine of its description.
    pub notes: Vec<String>,
    node_classes: NodeClasses,
}

impl Machine {
    /// Puts a machine together; labels are the dense ids themselves.
    ///
    /// # Panics
    /// When the topology has no CPU, or its ids and its distance matrix do not fit together.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        topology: Topology,
        caches: Caches,
        costs: Costs,
    ) -> Machine {
        let nr_nodes = topology.node_distance.len();
        assert!(topology.nr_cpus() > 0, "a machine has a CPU");
        assert!(
            topology
                .node_distance
                .iter()
                .all(|row| row.len() == nr_nodes),
            "the distance matrix is square"
        );
        assert!(
            topology
                .cpus
                .iter()
                .all(|place| (place.node as usize) < nr_nodes),
            "every node has its distances"
        );
        let nr_packages = topology
            .cpus
            .iter()
            .map(|place| place.package + 1)
            .max()
            .unwrap_or(0);
        let labels = Labels {
            cpu: (0..topology.nr_cpus() as u32).collect(),
            node: (0..nr_nodes as u32).collect(),
            package: (0..nr_packages).collect(),
        };
        let node_classes = NodeClasses::of(&topology);
        Machine {
            name: name.into(),
            description: description.into(),
            topology,
            labels,
            caches,
            costs,
            notes: Vec::new(),
            node_classes,
        }
    }

    /// The same machine with other costs (`--costs none` gives [`Costs::none`]).
    pub fn with_costs(mut self, costs: Costs) -> Machine {
        self.costs = costs;
        self
    }

    /// How many logical CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.topology.nr_cpus()
    }

    /// The distance between two CPUs, in constant time.
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::SameCpu;
        }
        let (a, b) = (
            &self.topology.cpus[a.0 as usize],
            &self.topology.cpus[b.0 as usize],
        );
        if a.core == b.core {
            Distance::Smt
        } else if a.cluster == b.cluster {
            Distance::Cluster
        } else if a.llc == b.llc {
            Distance::Llc
        } else if a.node != b.node {
            Distance::Remote(self.node_classes.get(a.node, b.node))
        } else if a.package != b.package {
            Distance::Remote(1)
        } else {
            Distance::Node
        }
    }

    /// Extra time that a task pays to warm the caches up again. `from` is the distance from the CPU
    /// where it last ran to where it runs now; `since` is what others brought through the former's
    /// caches meanwhile.
    pub fn refill_ns(&self, working_set: WorkingSet, since: Footprint, from: Distance) -> u64 {
        refill_ns(&self.caches, &self.costs.refill, working_set, since, from)
    }
}
