//! The machine of a recording: lines `cpuN package=P core=C smt=LIST llc=LIST`, or what perf tells of it. Of a CPU that is offline
//! the kernel tells no place; one that has no domain, where others have some, is isolated.
//!
//! Deviations. In the file a package is a NUMA node; all other nodes are at distance 20.

use crate::error::Error;
use crate::gaps::{self, Gap};
use fairwind_sched::domain::check_topology;
use fairwind_sched::{CpuId, CpuMask, CpuPlace, Topology};
use fairwind_trace::TraceInfo;
use fairwind_trace::read::CpuSite;
use std::collections::BTreeMap;
use std::path::Path;

/// No machine has more CPUs.
const MAX_CPUS: u32 = 1 << 13;
/// No last-level cache has more CPUs.
const MAX_CPUS_OF_A_CACHE: u32 = 1 << 10;

struct Row {
    cpu: u32,
    online: bool,
    package: u32,
    core: u32,
    llc: u32,
    node: u32,
}

/// The topology that the file tells, or else the trace; what neither tells becomes a gap. Also the CPUs that are offline.
pub(super) fn topology(
    path: &Path,
    text: &str,
    trace: &TraceInfo,
    gaps: &mut Vec<Gap>,
) -> Result<(Topology, Vec<CpuId>), Error> {
    let wrong = |problem| Error::Machine {
        path: path.to_owned(),
        problem,
    };
    let rows = match rows_of_file(path, text)? {
        Some(rows) => rows,
        None => rows_of_trace(trace, gaps)?,
    };
    let topology = place(&rows);
    check_topology(&topology).map_err(|problem| wrong(problem.to_string()))?;
    let offline = rows.iter().filter(|row| !row.online);
    Ok((topology, offline.map(|row| CpuId(row.cpu)).collect()))
}

/// The CPUs of which the file of domains tells none, if it tells any: lines `cpuN domainN NAME …`.
pub(super) fn isolated(domains: &str, nr_cpus: usize) -> CpuMask {
    let mut isolated = CpuMask::all(nr_cpus);
    for line in domains.lines() {
        let cpu = line
            .split(' ')
            .next()
            .and_then(|word| word.strip_prefix("cpu"));
        let cpu = cpu.and_then(|cpu| cpu.parse().ok());
        if let Some(cpu) = cpu.filter(|&cpu| (cpu as usize) < nr_cpus) {
            isolated.clear(CpuId(cpu));
        }
    }
    if isolated.weight() == nr_cpus {
        isolated.clear_all();
    }
    isolated
}

fn rows_of_file(path: &Path, text: &str) -> Result<Option<Vec<Row>>, Error> {
    let line = |line, expected| Error::Line {
        path: path.to_owned(),
        line,
        expected,
    };
    let mut rows = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        if !text.trim().is_empty() {
            let expected = "expected 'cpuN package=P core=C smt=LIST llc=LIST'";
            rows.push(row(text).ok_or_else(|| line(number, expected.into()))?);
        }
    }
    rows.sort_by_key(|row| row.cpu);
    if let Some(at) = (0..rows.len()).find(|&at| rows[at].cpu as usize != at) {
        let expected = format!("expected a line for each CPU from 0 on; cpu{at} has none or two");
        return Err(line(at + 1, expected));
    }
    Ok((!rows.is_empty()).then_some(rows))
}

/// What perf found, or CPUs that share all but their core.
///
/// # Errors
/// If there are more of the latter than a cache has.
fn rows_of_trace(trace: &TraceInfo, gaps: &mut Vec<Gap>) -> Result<Vec<Row>, Error> {
    if trace.sites.is_empty() {
        gaps.push(gaps::MACHINE);
        let nr_cpus = trace.nr_cpus.max(1);
        if nr_cpus > MAX_CPUS_OF_A_CACHE {
            return Err(Error::Missing {
                fact: "machine",
                hint: "it has too many CPUs to be guessed; give it with --machine",
            });
        }
        let alone = |cpu| Row {
            cpu,
            online: true,
            package: 0,
            core: cpu,
            llc: 0,
            node: 0,
        };
        return Ok((0..nr_cpus).map(alone).collect());
    }
    if trace.sites.iter().any(|site| site.llc.is_none()) {
        gaps.push(gaps::CACHES);
    }
    let row = |(cpu, site): (u32, &CpuSite)| Row {
        cpu,
        online: true,
        package: site.package,
        core: site.core,
        // Apart from the numbers of CPUs, which name the caches that are told.
        llc: site.llc.unwrap_or(MAX_CPUS.saturating_add(site.package)),
        node: site.node,
    };
    Ok((0..MAX_CPUS).zip(&trace.sites).map(row).collect())
}

fn place(rows: &[Row]) -> Topology {
    let mut cores = BTreeMap::new();
    let mut llcs = BTreeMap::new();
    let mut packages = BTreeMap::new();
    let mut nodes = BTreeMap::new();
    let cpus: Vec<CpuPlace> = rows
        .iter()
        .map(|row| {
            let core = dense(&mut cores, (row.package, row.core));
            CpuPlace {
                core,
                cluster: core,
                llc: dense(&mut llcs, row.llc),
                package: dense(&mut packages, row.package),
                node: dense(&mut nodes, row.node),
                capacity: 1024,
            }
        })
        .collect();
    let distance = |a, b| if a == b { 10 } else { 20 };
    let nr_nodes = nodes.len() as u32;
    let node_distance = (0..nr_nodes)
        .map(|a| (0..nr_nodes).map(|b| distance(a, b)).collect())
        .collect();
    Topology {
        cpus,
        node_distance,
    }
}

/// The number of a thing, counted in the order in which things appear.
fn dense<K: Ord>(seen: &mut BTreeMap<K, u32>, key: K) -> u32 {
    let next = seen.len() as u32;
    *seen.entry(key).or_insert(next)
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let places = ["package=", "core=", "smt=", "llc="];
    if words.clone().eq(places) {
        return Some(Row {
            cpu,
            online: false,
            package: 0,
            core: MAX_CPUS.saturating_add(cpu),
            llc: cpu,
            node: 0,
        });
    }
    let mut row = Row {
        cpu,
        online: true,
        package: 0,
        core: 0,
        llc: cpu,
        node: 0,
    };
    for word in words {
        let (key, value) = word.split_once('=')?;
        match key {
            "package" => {
                row.package = value.parse().ok()?;
                row.node = row.package;
            }
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

    fn read(text: &str, trace: &TraceInfo) -> Result<(Topology, Vec<Gap>), Error> {
        let mut gaps = Vec::new();
        let (topology, _) = topology(Path::new("t"), text, trace, &mut gaps)?;
        Ok((topology, gaps))
    }

    #[test]
    fn cpus_may_be_offline_or_isolated() {
        let text = "cpu0 package=0 core=0 smt=0 llc=0,2\ncpu1 package= core= smt= llc=\n\
            cpu2 package=0 core=2 smt=2 llc=0,2\n";
        let none = TraceInfo::default();
        let (topology, offline) = topology(Path::new("t"), text, &none, &mut Vec::new()).unwrap();
        assert_eq!((topology.nr_cpus(), offline), (3, vec![CpuId(1)]));
        assert_eq!(topology.cpus[0].llc, topology.cpus[2].llc);
        let domains = "cpu0 domain0 MC flags=\ncpu2 domain0 MC flags=\ncpu9 domain0 MC flags=\n";
        let isolated: Vec<CpuId> = isolated(domains, 4).iter().collect();
        assert_eq!(isolated, [CpuId(1), CpuId(3)]);
        assert!(super::isolated("", 4).is_empty(), "nothing is told");
    }

    #[test]
    fn two_packages_of_two_threads() {
        let text = "cpu0 package=0 core=0 smt=0-1 llc=0-1\ncpu1 package=0 core=0 smt=0-1 llc=0-1\n\
            cpu2 package=1 core=0 smt=2-3 llc=2-3\ncpu3 package=1 core=0 smt=2-3 llc=2-3\n";
        let (topology, gaps) = read(text, &TraceInfo::default()).unwrap();
        let places: Vec<_> = topology
            .cpus
            .iter()
            .map(|cpu| (cpu.core, cpu.llc, cpu.node))
            .collect();
        assert_eq!(places, [(0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1)]);
        assert_eq!(topology.node_distance, [[10, 20], [20, 10]]);
        assert!(gaps.is_empty());
    }

    #[test]
    fn a_bad_line_is_named() {
        let none = TraceInfo::default();
        let error = read("cpu0 package=0\ncpu2 package=0\n", &none).unwrap_err();
        assert!(error.to_string().starts_with("t:2: "), "{error}");
        assert!(read("CPU 0\n", &none).is_err());
        let torn = "cpu0 core=0 llc=0\ncpu1 core=0 llc=1\n";
        let error = read(torn, &none).unwrap_err().to_string();
        assert!(
            error.starts_with("t: ") && error.contains("--machine"),
            "{error}"
        );
    }

    #[test]
    fn the_trace_stands_in_for_the_file() {
        let site = |core, llc| CpuSite {
            package: 3,
            core,
            llc,
            node: 0,
        };
        let mut trace = TraceInfo {
            nr_cpus: 2,
            ..TraceInfo::default()
        };
        let (one, gaps) = read("", &trace).unwrap();
        assert_eq!(one, Topology::regular(1, 2, 1));
        assert_eq!(gaps, [gaps::MACHINE]);
        trace.sites = vec![site(7, Some(0)), site(9, Some(0))];
        assert_eq!(read("", &trace).unwrap(), (one.clone(), vec![]));
        trace.sites = vec![site(7, None), site(9, None)];
        assert_eq!(read("", &trace).unwrap(), (one, vec![gaps::CACHES]));
    }
}
