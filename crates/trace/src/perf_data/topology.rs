//! Where the CPUs sit, as perf found it in sysfs.
//!
//! Model.   Three features: the core and package of each CPU, the CPUs of each NUMA node, and the CPUs
//!          of each cache. The last-level cache of a CPU is the one of the highest level.
//! Source.  tools/perf/Documentation/perf.data-file-format.txt @ v6.12.

use super::features::{MAX_CPUS, string};
use crate::read::cursor::Cursor;
use crate::read::trace_file::CpuSite;

/// No machine has more levels of caches, each of which lists every CPU once, and nodes beside them.
const MAX_LISTS_OF_A_CPU: usize = 8;

/// What perf tells of the machine.
#[derive(Debug, Default)]
pub(super) struct PerfTopology {
    /// `[cpu]`: core and package.
    places: Vec<(u32, u32)>,
    /// A node's number and its CPUs.
    nodes: Vec<(u32, Vec<u32>)>,
    /// A cache's level and its CPUs.
    caches: Vec<(u32, Vec<u32>)>,
    /// How many CPUs all lists have.
    listed: usize,
}

impl PerfTopology {
    /// Cores and packages. They follow two lists of siblings that say the same in other words.
    pub(super) fn cpus(&mut self, cursor: &mut Cursor<'_>, nr_cpus: u32) -> Option<()> {
        for _siblings in ["cores", "threads"] {
            for _ in 0..cursor.u32()? {
                string(cursor)?;
            }
        }
        self.places.clear();
        for _ in 0..nr_cpus {
            let (core, package) = (cursor.u32()?, cursor.u32()?);
            self.places.push((core, package));
        }
        Some(())
    }

    /// Nodes.
    pub(super) fn nodes(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()? {
            let node = cursor.u32()?;
            let _memory = (cursor.u64()?, cursor.u64()?);
            let cpus = self.cpu_list(&string(cursor)?)?;
            self.nodes.push((node, cpus));
        }
        Some(())
    }

    /// Caches, those for instructions left out.
    pub(super) fn caches(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let _version = cursor.u32()?;
        for _ in 0..cursor.u32()? {
            let level = cursor.u32()?;
            let _geometry = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            let (kind, _size, cpus) = (string(cursor)?, string(cursor)?, string(cursor)?);
            if kind != "Instruction" {
                let cpus = self.cpu_list(&cpus)?;
                self.caches.push((level, cpus));
            }
        }
        Some(())
    }

    /// CPUs of a list such as `0-3,8`. `None` if all lists have more than a machine's can.
    fn cpu_list(&mut self, text: &str) -> Option<Vec<u32>> {
        let mut cpus = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
                let range = first..last.saturating_add(1).min(MAX_CPUS);
                self.listed += range.len();
                if self.listed > MAX_LISTS_OF_A_CPU * MAX_CPUS as usize {
                    return None;
                }
                cpus.extend(range);
            }
        }
        Some(cpus)
    }

    /// `[cpu]`: where it sits.
    pub(super) fn sites(&self) -> Vec<CpuSite> {
        let site = |&(core, package): &(u32, u32)| CpuSite {
            package,
            core,
            llc: None,
            node: 0,
        };
        let mut sites: Vec<CpuSite> = self.places.iter().map(site).collect();
        for (node, cpus) in &self.nodes {
            for cpu in cpus {
                if let Some(site) = sites.get_mut(*cpu as usize) {
                    site.node = *node;
                }
            }
        }
        let mut levels = vec![0; sites.len()];
        for (level, cpus) in &self.caches {
            for &cpu in cpus {
                let Some(site) = sites.get_mut(cpu as usize) else {
                    continue;
                };
                if *level >= levels[cpu as usize] {
                    levels[cpu as usize] = *level;
                    site.llc = cpus.first().copied();
                }
            }
        }
        sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_and_the_node_of_a_cpu_are_found() {
        let mut topology = PerfTopology {
            places: vec![(0, 0), (1, 0), (0, 1)],
            ..PerfTopology::default()
        };
        topology.nodes = vec![(0, vec![0, 1]), (1, vec![2])];
        topology.caches = vec![(3, vec![0, 1]), (1, vec![0]), (1, vec![1])];
        let sites: Vec<_> = topology
            .sites()
            .iter()
            .map(|site| (site.package, site.core, site.llc, site.node))
            .collect();
        assert_eq!(
            sites,
            [(0, 0, Some(0), 0), (0, 1, Some(0), 0), (1, 0, None, 1)]
        );
        let list = topology.cpu_list("0-2,5,x,9-");
        assert_eq!(list, Some(vec![0, 1, 2, 5]));
        let endless = ["0-4294967295"; 9].join(",");
        assert_eq!(topology.cpu_list(&endless), None);
    }
}
