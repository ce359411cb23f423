//! From what a file says of each CPU to a dense topology.
//!
//! Model.       A reader gives one [`FoundCpu`] for each online CPU with any keys that tell things
//!              apart; here they are numbered densely, in the order of the CPUs' own numbers.
//! Invariants.  A cluster that is no more than one core, or as much as its LLC, is no cluster.

use std::collections::BTreeMap;

use fairwind_sched::topology::{CpuPlace, SCHED_CAPACITY_SCALE, Topology};

use crate::machine::Labels;

/// What a reader found out about one CPU. Keys need only be unique machine-wide within their kind.
#[derive(Clone, Debug)]
pub(crate) struct FoundCpu {
    pub(crate) os: u32,
    pub(crate) core: u64,
    /// `None`: no cluster known.
    pub(crate) cluster: Option<u64>,
    /// `None`: no cache is known; all CPUs of the same package and node share one.
    pub(crate) llc: Option<u64>,
    /// Number of the package.
    pub(crate) package: u32,
    /// Number of the NUMA node.
    pub(crate) node: u32,
    pub(crate) capacity: u32,
}

/// Distances between nodes by their numbers; missing pairs get 10 or 20.
pub(crate) type FoundDistances = BTreeMap<(u32, u32), u32>;

/// What came of it.
pub(crate) struct Built {
    pub(crate) topology: Topology,
    pub(crate) labels: Labels,
    pub(crate) notes: Vec<String>,
}

/// Numbers keys 0, 1, 2, … in the order of first sight.
struct Dense<K> {
    ids: BTreeMap<K, u32>,
    seen: Vec<K>,
}

impl<K: Ord + Copy> Dense<K> {
    fn new() -> Dense<K> {
        Dense {
            ids: BTreeMap::new(),
            seen: Vec::new(),
        }
    }

    fn id(&mut self, key: K) -> u32 {
        *self.ids.entry(key).or_insert_with(|| {
            self.seen.push(key);
            (self.seen.len() - 1) as u32
        })
    }
}

/// Builds the topology; `found` must not be empty and have no CPU twice.
pub(crate) fn build(mut found: Vec<FoundCpu>, distances: &FoundDistances) -> Built {
    found.sort_by_key(|cpu| cpu.os);
    let mut notes = Vec::new();
    if let Some((new, old)) = found
        .iter()
        .enumerate()
        .find(|(new, old)| *new as u32 != old.os)
    {
        notes.push(format!(
            "CPU numbers have holes (offline or absent CPUs); renumbered from 0: CPU {} is CPU {new} here, \
             and so on",
            old.os
        ));
    }

    collapse_clusters(&mut found);
    let (mut cores, mut clusters, mut llcs) = (Dense::new(), Dense::new(), Dense::new());
    let (mut packages, mut nodes) = (Dense::new(), Dense::new());
    let any_cluster = found.iter().any(|cpu| cpu.cluster.is_some());
    // Nodes and packages keep the order of their own numbers, so that a distance matrix reads as in
    // the file.
    let mut sorted: Vec<u32> = found.iter().map(|cpu| cpu.node).collect();
    sorted.sort_unstable();
    sorted.into_iter().for_each(|node| _ = nodes.id(node));
    let mut sorted: Vec<u32> = found.iter().map(|cpu| cpu.package).collect();
    sorted.sort_unstable();
    sorted
        .into_iter()
        .for_each(|package| _ = packages.id(package));

    let cpus = found
        .iter()
        .map(|cpu| {
            let core = cores.id(cpu.core);
            let cluster = match cpu.cluster {
                // A core outside any cluster is a cluster of its own beside the real ones.
                _ if !any_cluster => core,
                Some(cluster) => clusters.id((0, cluster)),
                None => clusters.id((1, cpu.core)),
            };
            CpuPlace {
                core,
                cluster,
                llc: llcs.id(llc_key(cpu)),
                package: packages.id(cpu.package),
                node: nodes.id(cpu.node),
                capacity: cpu.capacity.clamp(1, SCHED_CAPACITY_SCALE),
            }
        })
        .collect();

    let legal = distances
        .iter()
        .all(|((a, b), d)| is_legal_distance(a == b, *d));
    if !legal {
        notes
            .push("distances between nodes are not those of an ACPI SLIT: 20 taken for all".into());
    }
    let distance = |a: u32, b: u32| {
        let known = distances.get(&(a, b)).copied().filter(|_| legal);
        known.unwrap_or(if a == b { 10 } else { 20 })
    };
    let node_distance = nodes
        .seen
        .iter()
        .map(|&a| nodes.seen.iter().map(|&b| distance(a, b)).collect())
        .collect();
    if nodes.seen.len() > 1 && distances.is_empty() {
        notes.push("distances between nodes are not known: 20 taken for all".to_string());
    }
    Built {
        topology: Topology {
            cpus,
            node_distance,
        },
        labels: Labels {
            cpu: found.iter().map(|cpu| cpu.os).collect(),
            node: nodes.seen,
            package: packages.seen,
        },
        notes,
    }
}

/// The kernel takes 10 within a node and nothing else, more than 10 and at most 255 between nodes.
pub(crate) fn is_legal_distance(same_node: bool, distance: u32) -> bool {
    if same_node {
        distance == 10
    } else {
        (11..=255).contains(&distance)
    }
}

/// What tells LLCs apart: the key found, else package and node.
type LlcKey = (Option<u64>, u32, u32);

fn llc_key(cpu: &FoundCpu) -> LlcKey {
    match cpu.llc {
        Some(_) => (cpu.llc, 0, 0),
        None => (None, cpu.package, cpu.node),
    }
}

/// Drops clusters that tell no more than the core or the LLC does.
fn collapse_clusters(found: &mut [FoundCpu]) {
    let mut cores_of: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut cpus_of_cluster: BTreeMap<u64, usize> = BTreeMap::new();
    let mut cpus_of_llc: BTreeMap<LlcKey, usize> = BTreeMap::new();
    for cpu in found.iter() {
        *cpus_of_llc.entry(llc_key(cpu)).or_default() += 1;
        if let Some(cluster) = cpu.cluster {
            cores_of.entry(cluster).or_default().push(cpu.core);
            *cpus_of_cluster.entry(cluster).or_default() += 1;
        }
    }
    for cpu in found.iter_mut() {
        let Some(cluster) = cpu.cluster else { continue };
        let one_core = cores_of[&cluster].iter().all(|core| *core == cpu.core);
        let whole_llc = cpus_of_cluster[&cluster] >= cpus_of_llc[&llc_key(cpu)];
        if one_core || whole_llc {
            cpu.cluster = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(os: u32, core: u64, cluster: Option<u64>, llc: u64, node: u32) -> FoundCpu {
        FoundCpu {
            os,
            core,
            cluster,
            llc: Some(llc),
            package: node,
            node,
            capacity: 1024,
        }
    }

    #[test]
    fn ids_become_dense_in_cpu_order_and_holes_are_noted() {
        let found = vec![
            cpu(9, 70, None, 5, 8),
            cpu(2, 40, None, 6, 3),
            cpu(0, 70, None, 5, 8),
        ];
        let built = build(found, &FoundDistances::from([((3, 8), 21), ((8, 3), 22)]));
        let places = &built.topology.cpus;
        assert_eq!(places.iter().map(|p| p.core).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(places.iter().map(|p| p.llc).collect::<Vec<_>>(), [0, 1, 0]);
        // Node 3 comes before node 8 although CPU 0 is of node 8.
        assert_eq!(places.iter().map(|p| p.node).collect::<Vec<_>>(), [1, 0, 1]);
        assert_eq!(built.topology.node_distance, [[10, 21], [22, 10]]);
        assert_eq!(built.labels.cpu, [0, 2, 9]);
        assert_eq!(built.labels.node, [3, 8]);
        assert!(
            built.notes[0].contains("CPU 2 is CPU 1 here"),
            "{:?}",
            built.notes
        );
    }

    #[test]
    fn clusters_that_say_nothing_are_dropped() {
        // Cluster 1 is one core; cluster 2 is the whole of LLC 1.
        let found = vec![
            cpu(0, 0, Some(1), 0, 0),
            cpu(1, 1, None, 0, 0),
            cpu(2, 2, Some(2), 1, 0),
            cpu(3, 3, Some(2), 1, 0),
        ];
        let built = build(found, &FoundDistances::new());
        assert!(
            built
                .topology
                .cpus
                .iter()
                .all(|place| place.cluster == place.core)
        );
    }

    #[test]
    fn real_clusters_stay() {
        let found = (0..4)
            .map(|i| cpu(i, u64::from(i), Some(u64::from(i) / 2), 0, 0))
            .collect();
        let built = build(found, &FoundDistances::new());
        let clusters: Vec<u32> = built
            .topology
            .cpus
            .iter()
            .map(|place| place.cluster)
            .collect();
        assert_eq!(clusters, [0, 0, 1, 1]);
    }
}
