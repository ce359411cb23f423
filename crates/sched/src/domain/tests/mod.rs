//! Domains against recorded kernels, hand-derived trees and general properties.

mod capacities;
mod checks;
mod hotplug;
mod machines;
mod numa;
mod properties;
mod recordings;

use super::*;
use crate::topology::{CpuPlace, SCHED_CAPACITY_SCALE, Topology};
use alloc::format;
use alloc::string::String;
use alloc::vec;

const PROFILES: [DomainProfile; 2] = [DomainProfile::V6_1, DomainProfile::V6_12];

fn cpu(id: u32) -> CpuId {
    CpuId(id)
}

/// A set as the kernel prints it: `0-3,6`.
fn list(mask: &CpuMask) -> String {
    let mut out = String::new();
    let mut cpus = mask.iter().map(|cpu| cpu.0).peekable();
    while let Some(first) = cpus.next() {
        let mut last = first;
        while let Some(next) = cpus.next_if(|&next| next == last + 1) {
            last = next;
        }
        let comma = if out.is_empty() { "" } else { "," };
        out += &if first == last {
            format!("{comma}{first}")
        } else {
            format!("{comma}{first}-{last}")
        };
    }
    out
}

/// The chain of a CPU, a line for each domain, each group as `sgc id:span`, with ` mask` where that differs.
fn chain(domains: &Domains, id: u32) -> Vec<String> {
    let lines = domains.for_each_domain(cpu(id)).map(|sd| {
        let domain = &domains.sd[sd];
        let groups: Vec<String> = domains
            .for_each_group(sd)
            .map(|sg| {
                let span = list(domains.sched_group_span(sg));
                let mask = list(domains.group_balance_mask(sg));
                let mask = if mask == span {
                    String::new()
                } else {
                    format!(" mask={mask}")
                };
                format!("{}:{span}{mask}", domains.sgc[domains.sg[sg].sgc].id)
            })
            .collect();
        format!(
            "{} {} [{}]",
            domain.name,
            list(domains.sched_domain_span(sd)),
            groups.join(" | ")
        )
    });
    lines.collect()
}

/// The domain of a CPU with the given name, the lowest of them.
fn named<'a>(domains: &'a Domains, id: u32, name: &str) -> &'a SchedDomain {
    let sd = domains
        .for_each_domain(cpu(id))
        .find(|&sd| domains.sd[sd].name == name);
    &domains.sd[sd.unwrap_or_else(|| panic!("CPU {id} has no {name}: {:?}", chain(domains, id)))]
}

/// A machine of nodes at the given distances, each one package and one LLC of single-threaded cores.
fn nodes(node_distance: Vec<Vec<u32>>, cores: u32) -> Topology {
    let mut topology = Topology::regular(node_distance.len() as u32, cores, 1);
    topology.node_distance = node_distance;
    topology
}

/// One node; each CPU by (core, cluster, llc, capacity).
fn one_node(cpus: &[(u32, u32, u32, u32)]) -> Topology {
    let place = |&(core, cluster, llc, capacity)| CpuPlace {
        core,
        cluster,
        llc,
        package: 0,
        node: 0,
        capacity,
    };
    Topology {
        cpus: cpus.iter().map(place).collect(),
        node_distance: vec![vec![10]],
    }
}
