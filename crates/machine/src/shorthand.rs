//! `2x4x2` and its longer forms, and the regular topologies that they and the machine files
//! describe.
//!
//! Model.       Three numbers: sockets × cores × threads, as [`Topology::regular`]. Four: sockets ×
//!              LLCs × cores of an LLC × threads. Five: sockets × NUMA nodes of a socket × LLCs of
//!              a node × cores of an LLC × threads. SMT siblings are numbered next to each other.

use fairwind_sched::topology::{CpuPlace, SCHED_CAPACITY_SCALE, Topology};

use crate::cpulist::CPU_MAX;
use crate::error::Error;

/// A machine all of whose parts are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Regular {
    pub(crate) sockets: u32,
    pub(crate) nodes_per_socket: u32,
    /// More than 1: the sockets share a bus to their memory, and `nodes_per_socket` is 1.
    pub(crate) sockets_per_node: u32,
    /// Of one socket.
    pub(crate) llcs_per_node: u32,
    pub(crate) cores_per_llc: u32,
    /// 1: no clusters.
    pub(crate) cores_per_cluster: u32,
    pub(crate) threads_per_core: u32,
    /// Siblings are `nr_cores` apart instead of next to each other.
    pub(crate) siblings_apart: bool,
}

impl Regular {
    /// How many CPUs, or what is wrong with the numbers.
    pub(crate) fn check(&self) -> Result<u32, String> {
        let factors = [
            self.sockets,
            self.nodes_per_socket,
            self.llcs_per_node,
            self.cores_per_llc,
            self.threads_per_core,
        ];
        if factors.contains(&0) || self.cores_per_cluster == 0 || self.sockets_per_node == 0 {
            return Err("every number must be at least 1".to_string());
        }
        if self.sockets_per_node > 1 && self.nodes_per_socket > 1 {
            return Err("either a node has several sockets, or a socket several nodes".to_string());
        }
        if !self.sockets.is_multiple_of(self.sockets_per_node) {
            return Err("sockets_per_node must divide sockets".to_string());
        }
        if !self.cores_per_llc.is_multiple_of(self.cores_per_cluster) {
            return Err("cores_per_cluster must divide cores_per_llc".to_string());
        }
        let nr_cpus = factors
            .iter()
            .try_fold(1u32, |product, n| product.checked_mul(*n));
        match nr_cpus {
            Some(nr_cpus) if nr_cpus <= CPU_MAX + 1 => Ok(nr_cpus),
            _ => Err(format!("more than {} CPUs", CPU_MAX + 1)),
        }
    }

    /// Nodes in all.
    pub(crate) fn nr_nodes(&self) -> u32 {
        self.sockets * self.nodes_per_socket / self.sockets_per_node
    }

    /// Distances where none are given: 10 within a node, 12 within a socket, 20 beyond.
    pub(crate) fn default_distances(&self) -> Vec<Vec<u32>> {
        let socket = |node: u32| node / self.nodes_per_socket;
        let distance = |a: u32, b: u32| match (a == b, socket(a) == socket(b)) {
            (true, _) => 10,
            (false, true) => 12,
            (false, false) => 20,
        };
        let nodes = 0..self.nr_nodes();
        nodes
            .clone()
            .map(|a| nodes.clone().map(|b| distance(a, b)).collect())
            .collect()
    }

    /// The topology; the numbers must have passed `check`.
    pub(crate) fn topology(&self, node_distance: Vec<Vec<u32>>) -> Topology {
        let nr_cores =
            self.sockets * self.nodes_per_socket * self.llcs_per_node * self.cores_per_llc;
        let clustered = self.cores_per_cluster > 1;
        let place = |core: u32| {
            let llc = core / self.cores_per_llc;
            // A node, or a socket's part of one.
            let part = llc / self.llcs_per_node;
            CpuPlace {
                core,
                cluster: if clustered {
                    core / self.cores_per_cluster
                } else {
                    core
                },
                llc,
                package: part / self.nodes_per_socket,
                node: part / self.sockets_per_node,
                capacity: SCHED_CAPACITY_SCALE,
            }
        };
        let cpus = if self.siblings_apart {
            (0..self.threads_per_core)
                .flat_map(|_| (0..nr_cores).map(place))
                .collect()
        } else {
            (0..nr_cores)
                .flat_map(|core| (0..self.threads_per_core).map(move |_| core))
                .map(place)
                .collect()
        };
        Topology {
            cpus,
            node_distance,
        }
    }
}

/// Reads a shorthand; `None` when `spec` does not look like one at all.
pub(crate) fn parse(spec: &str) -> Option<Result<Regular, Error>> {
    let looks = spec.contains('x')
        && spec.starts_with(|c: char| c.is_ascii_digit())
        && spec.chars().all(|c| c.is_ascii_digit() || c == 'x');
    looks.then(|| {
        let fail = |what: String| Error::Shorthand {
            spec: spec.to_string(),
            what,
        };
        let numbers: Vec<u32> = spec
            .split('x')
            .map(|part| {
                part.parse()
                    .map_err(|_| fail(format!("'{part}' is not a number")))
            })
            .collect::<Result<_, _>>()?;
        let (sockets, nodes, llcs, cores, threads) = match numbers[..] {
            [s, c, t] => (s, 1, 1, c, t),
            [s, l, c, t] => (s, 1, l, c, t),
            [s, n, l, c, t] => (s, n, l, c, t),
            _ => return Err(fail(format!("{} numbers", numbers.len()))),
        };
        let regular = Regular {
            sockets,
            nodes_per_socket: nodes,
            sockets_per_node: 1,
            llcs_per_node: llcs,
            cores_per_llc: cores,
            cores_per_cluster: 1,
            threads_per_core: threads,
            siblings_apart: false,
        };
        regular.check().map_err(fail)?;
        Ok(regular)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(spec: &str) -> Topology {
        let regular = parse(spec).unwrap().unwrap();
        regular.topology(regular.default_distances())
    }

    #[test]
    fn three_numbers_are_the_schedulers_regular_topology() {
        assert_eq!(topology("2x4x2"), Topology::regular(2, 4, 2));
        assert_eq!(topology("1x1x1"), Topology::regular(1, 1, 1));
    }

    #[test]
    fn four_and_five_numbers() {
        let four = topology("2x8x8x2");
        assert_eq!(four.nr_cpus(), 256);
        assert_eq!(four.cpus[255].llc, 15);
        assert_eq!(four.cpus[255].node, 1);
        let five = topology("2x2x2x4x1");
        assert_eq!(five.nr_cpus(), 32);
        assert_eq!(five.cpus[31].node, 3);
        assert_eq!(five.cpus[8].node, 1);
        assert_eq!(five.cpus[8].package, 0);
        assert_eq!(five.node_distance[0], [10, 12, 20, 20]);
    }

    #[test]
    fn siblings_apart_repeat_the_cores() {
        let mut regular = parse("2x2x2").unwrap().unwrap();
        regular.siblings_apart = true;
        let cpus = regular.topology(regular.default_distances()).cpus;
        assert_eq!(
            cpus.iter().map(|p| p.core).collect::<Vec<_>>(),
            [0, 1, 2, 3, 0, 1, 2, 3]
        );
    }

    #[test]
    fn wrong_shorthands_say_why() {
        assert!(parse("x5570").is_none());
        assert!(parse("desktop-8").is_none());
        for (spec, what) in [
            ("2x4", "2 numbers"),
            ("0x4x2", "at least 1"),
            ("2xx2", "'' is not a number"),
            ("9999x9999x9", "more than 65536 CPUs"),
            ("99999999999x1x1", "is not a number"),
        ] {
            let text = parse(spec).unwrap().unwrap_err().to_string();
            assert!(text.contains(what), "{spec}: {text}");
        }
    }
}
