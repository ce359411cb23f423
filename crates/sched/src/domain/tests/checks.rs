//! What is no machine is refused, and says why.

use super::*;
use alloc::string::ToString;

fn refused(change: impl FnOnce(&mut Topology)) -> TopologyError {
    let mut topology = Topology::regular(2, 2, 2);
    assert_eq!(check_topology(&topology), Ok(()));
    change(&mut topology);
    check_topology(&topology).unwrap_err()
}

#[test]
fn what_no_machine_has() {
    assert_eq!(refused(|t| t.cpus.clear()), TopologyError::NoCpus);
    assert_eq!(
        refused(|t| t.cpus[3].node = 2),
        TopologyError::NoSuchNode {
            cpu: cpu(3),
            node: 2,
            nr_nodes: 2
        }
    );
    assert_eq!(
        refused(|t| t.node_distance[1].push(20)),
        TopologyError::DistanceRow {
            node: 1,
            len: 3,
            nr_nodes: 2
        }
    );
    assert_eq!(
        refused(|t| t.node_distance[1][1] = 11),
        TopologyError::Distance {
            from: 1,
            to: 1,
            distance: 11
        }
    );
    assert_eq!(
        refused(|t| t.node_distance[0][1] = 256),
        TopologyError::Distance {
            from: 0,
            to: 1,
            distance: 256
        }
    );
    assert_eq!(
        refused(|t| t.node_distance[1][0] = 21),
        TopologyError::Asymmetric {
            from: 0,
            to: 1,
            there: 20,
            back: 21
        }
    );
    assert_eq!(
        refused(|t| t.cpus[2].capacity = 0),
        TopologyError::Capacity {
            cpu: cpu(2),
            capacity: 0
        }
    );
    assert_eq!(
        refused(|t| t.cpus[1].llc = 1),
        TopologyError::Torn {
            shared: "core",
            torn: "last-level cache",
            one: cpu(0),
            other: cpu(1)
        }
    );
    let node = refused(|t| {
        t.cpus[2].cluster = 0;
        t.cpus[3].cluster = 0;
        t.cpus[2].node = 1;
        t.cpus[3].node = 1;
    });
    assert_eq!(
        node.to_string(),
        "CPUs 0 and 2 are in the same cluster but not in the same NUMA node; \
         a cluster must lie within one NUMA node"
    );
}

#[test]
#[should_panic(expected = "domains cannot be built: the machine has no CPU")]
fn building_from_it_is_a_bug() {
    let nothing = Topology {
        cpus: Vec::new(),
        node_distance: Vec::new(),
    };
    Domains::boot(&nothing, &DomainProfile::V6_12);
}
