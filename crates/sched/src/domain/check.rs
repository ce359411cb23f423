//! Is a topology one that domains can be built from?
//!
//! Source.     `topology_sane` and `topology_span_sane` (a kernel that finds such a machine warns and gives
//!             up the level or the domains), `slit_valid` of drivers/acpi/numa/srat.c.
//! Deviations. An asymmetric distance table is refused; the kernel warns and builds what it can.

use crate::topology::{CpuPlace, SCHED_CAPACITY_SCALE, Topology};
use crate::units::CpuId;
use alloc::collections::BTreeMap;
use core::fmt;

/// Distance of a node to itself.
pub(super) const LOCAL_DISTANCE: u32 = 10;
/// Distances lie below this (the firmware's table has a byte for each).
const NR_DISTANCE_VALUES: u32 = 256;

/// Why a [`Topology`] cannot be a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// There is no CPU.
    NoCpus,
    /// A CPU's node has no row in the distance table.
    NoSuchNode {
        /// The CPU.
        cpu: CpuId,
        /// Its node.
        node: u32,
        /// Rows of the table.
        nr_nodes: usize,
    },
    /// A row of the distance table is not as long as the table is high.
    DistanceRow {
        /// The row.
        node: usize,
        /// Its length.
        len: usize,
        /// Rows of the table.
        nr_nodes: usize,
    },
    /// A distance is not 10 for a node itself and 11 to 255 otherwise.
    Distance {
        /// The row.
        from: usize,
        /// The column.
        to: usize,
        /// What the table says.
        distance: u32,
    },
    /// It is further there than back.
    Asymmetric {
        /// The row.
        from: usize,
        /// The column.
        to: usize,
        /// Distance there.
        there: u32,
        /// Distance back.
        back: u32,
    },
    /// A capacity is not 1 to 1024.
    Capacity {
        /// The CPU.
        cpu: CpuId,
        /// Its capacity.
        capacity: u32,
    },
    /// Two CPUs of one core or cluster differ in something larger.
    Torn {
        /// What they share.
        shared: &'static str,
        /// What they should then share too.
        torn: &'static str,
        /// One CPU.
        one: CpuId,
        /// The other.
        other: CpuId,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TopologyError::NoCpus => write!(f, "the machine has no CPU; give it at least one"),
            TopologyError::NoSuchNode {
                cpu,
                node,
                nr_nodes,
            } => write!(
                f,
                "CPU {} is on NUMA node {node}, but the distance table has {nr_nodes} rows; \
                 add a row and a column for each node, or correct the CPU's node",
                cpu.0
            ),
            TopologyError::DistanceRow {
                node,
                len,
                nr_nodes,
            } => write!(
                f,
                "row {node} of the NUMA distance table has {len} entries, but there are {nr_nodes} rows; \
                 the table must be square"
            ),
            TopologyError::Distance { from, to, distance } => write!(
                f,
                "the NUMA distance from node {from} to node {to} is {distance}; it must be 10 from a node \
                 to itself and 11 to 255 between two nodes"
            ),
            TopologyError::Asymmetric {
                from,
                to,
                there,
                back,
            } => write!(
                f,
                "the NUMA distance from node {from} to node {to} is {there}, but {back} the other way; \
                 make them equal"
            ),
            TopologyError::Capacity { cpu, capacity } => {
                write!(
                    f,
                    "CPU {} has capacity {capacity}; it must be 1 to 1024",
                    cpu.0
                )
            }
            TopologyError::Torn {
                shared,
                torn,
                one,
                other,
            } => write!(
                f,
                "CPUs {} and {} are in the same {shared} but not in the same {torn}; \
                 a {shared} must lie within one {torn}",
                one.0, other.0
            ),
        }
    }
}

impl core::error::Error for TopologyError {}

/// Checks what [`Domains::build`](super::Domains::build) relies on.
///
/// # Errors
/// The first thing that no machine has.
pub fn check_topology(topology: &Topology) -> Result<(), TopologyError> {
    if topology.cpus.is_empty() {
        return Err(TopologyError::NoCpus);
    }
    check_distances(&topology.node_distance)?;
    let nr_nodes = topology.node_distance.len();
    let mut cores = BTreeMap::new();
    let mut clusters = BTreeMap::new();
    for (cpu, place) in topology.cpus.iter().enumerate() {
        let cpu = CpuId(cpu as u32);
        if place.node as usize >= nr_nodes {
            return Err(TopologyError::NoSuchNode {
                cpu,
                node: place.node,
                nr_nodes,
            });
        }
        if place.capacity == 0 || place.capacity > SCHED_CAPACITY_SCALE {
            return Err(TopologyError::Capacity {
                cpu,
                capacity: place.capacity,
            });
        }
        check_shared(&mut cores, "core", place.core, cpu, place)?;
        check_shared(&mut clusters, "cluster", place.cluster, cpu, place)?;
    }
    Ok(())
}

fn check_distances(table: &[alloc::vec::Vec<u32>]) -> Result<(), TopologyError> {
    let nr_nodes = table.len();
    for (node, row) in table.iter().enumerate() {
        if row.len() != nr_nodes {
            return Err(TopologyError::DistanceRow {
                node,
                len: row.len(),
                nr_nodes,
            });
        }
    }
    for (from, row) in table.iter().enumerate() {
        for (to, &distance) in row.iter().enumerate() {
            let is_local = distance == LOCAL_DISTANCE;
            let is_remote = distance > LOCAL_DISTANCE && distance < NR_DISTANCE_VALUES;
            if (from == to && !is_local) || (from != to && !is_remote) {
                return Err(TopologyError::Distance { from, to, distance });
            }
            let back = table[to][from];
            if distance != back {
                return Err(TopologyError::Asymmetric {
                    from,
                    to,
                    there: distance,
                    back,
                });
            }
        }
    }
    Ok(())
}

/// Compares a CPU with the first CPU seen of the same core or cluster.
fn check_shared<'a>(
    seen: &mut BTreeMap<u32, (CpuId, &'a CpuPlace)>,
    shared: &'static str,
    id: u32,
    cpu: CpuId,
    place: &'a CpuPlace,
) -> Result<(), TopologyError> {
    let &mut (one, first) = seen.entry(id).or_insert((cpu, place));
    let torn = if shared == "core" && first.cluster != place.cluster {
        "cluster"
    } else if first.llc != place.llc {
        "last-level cache"
    } else if first.node != place.node {
        "NUMA node"
    } else {
        return Ok(());
    };
    Err(TopologyError::Torn {
        shared,
        torn,
        one,
        other: cpu,
    })
}
