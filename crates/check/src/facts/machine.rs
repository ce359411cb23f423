//! The machine of a recording: lines `cpuN package=P core=C smt=LIST llc=LIST`.
//!
//! Deviations. A package is a NUMA node; all other nodes are at distance 20.

use crate::error::Error;
use fairwind_sched::{CpuPlace, Topology};
use std::collections::BTreeMap;
use std::path::Path;

struct Row {
    cpu: u32,
    package: u32,
    core: u32,
    llc: u32,
}

/// The topology, or none if the file says nothing.
pub(super) fn topology(path: &Path, text: &str) -> Result<Option<Topology>, Error> {
    let mut rows = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        rows.push(row(line).ok_or_else(|| Error::Line {
            path: path.to_owned(),
            line: number + 1,
            expected: "expected 'cpuN package=P core=C smt=LIST llc=LIST'".into(),
        })?);
    }
    if rows.is_empty() {
        return Ok(None);
    }
    rows.sort_by_key(|row| row.cpu);
    if let Some(at) = (0..rows.len()).find(|&at| rows[at].cpu as usize != at) {
        return Err(Error::Line {
            path: path.to_owned(),
            line: at + 1,
            expected: format!("expected a line for each CPU from 0 on; cpu{at} has none or two"),
        });
    }
    let mut cores = BTreeMap::new();
    let mut llcs = BTreeMap::new();
    let cpus: Vec<CpuPlace> = rows
        .iter()
        .map(|row| {
            let next = cores.len() as u32;
            let core = *cores.entry((row.package, row.core)).or_insert(next);
            let next = llcs.len() as u32;
            let llc = *llcs.entry(row.llc).or_insert(next);
            CpuPlace {
                core,
                cluster: core,
                llc,
                package: row.package,
                node: row.package,
                capacity: 1024,
            }
        })
        .collect();
    let nodes = cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1);
    let distance = |a, b| if a == b { 10 } else { 20 };
    let node_distance = (0..nodes)
        .map(|a| (0..nodes).map(|b| distance(a, b)).collect())
        .collect();
    Ok(Some(Topology {
        cpus,
        node_distance,
    }))
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut row = Row {
        cpu,
        package: 0,
        core: 0,
        llc: cpu,
    };
    for word in words {
        let (key, value) = word.split_once('=')?;
        match key {
            "package" => row.package = value.parse().ok()?,
            "core" => row.core = value.parse().ok()?,
            "llc" if !value.is_empty() => {
                row.llc = value.split(['-', ',']).next()?.parse().ok()?;
            }
            _ => {}
        }
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packages_of_two_threads() {
        let text = "cpu0 package=0 core=0 smt=0-1 llc=0-1\ncpu1 package=0 core=0 smt=0-1 llc=0-1\n\
            cpu2 package=1 core=0 smt=2-3 llc=2-3\ncpu3 package=1 core=0 smt=2-3 llc=2-3\n";
        let topology = topology(Path::new("topology"), text).unwrap().unwrap();
        let places: Vec<_> = topology
            .cpus
            .iter()
            .map(|cpu| (cpu.core, cpu.llc, cpu.node))
            .collect();
        assert_eq!(places, [(0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1)]);
        assert_eq!(topology.node_distance, [[10, 20], [20, 10]]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = topology(Path::new("t"), "cpu0 package=0\ncpu2 package=0\n").unwrap_err();
        assert!(error.to_string().starts_with("t:2: "), "{error}");
        assert!(topology(Path::new("t"), "CPU 0\n").is_err());
        assert!(topology(Path::new("t"), "").unwrap().is_none());
    }
}
