//! Reads a machine from sysfs: the running system, or a copy of its `/sys/devices/system`.
//!
//! Model.       `cpu/cpuN/topology` and `cpu/cpuN/cache` say what a CPU shares, `node/nodeN` gives
//!              nodes and distances, `cpu/cpu0/cpuidle` the idle states. CPUs are those of
//!              `cpu/online`.
//! Source.      Documentation/ABI/stable/sysfs-devices-system-cpu and -node.
//! Deviations.  Caches and idle states of the first CPU stand for all; sysfs knows no power of idle
//!              states, so they keep that of the cost set's state with the nearest exit latency.

use std::fs;
use std::path::Path;

use crate::caches::Caches;
use crate::cpulist::parse_list;
use crate::error::Error;
use crate::idle::IdleState;
use crate::load::Found;
use crate::places::FoundCpu;

/// Where the running system has it.
pub(crate) const HOST: &str = "/sys/devices/system";

/// Reads the tree under `root`.
pub(crate) fn read(root: &Path) -> Result<Found, Error> {
    let cpu_dir = root.join("cpu");
    let online_path = cpu_dir.join("online");
    let online = fs::read_to_string(&online_path).map_err(|error| Error::Read {
        path: online_path.display().to_string(),
        reason: format!("{error}; expected a copy of {HOST}"),
    })?;
    let online = list(&online_path, &online)?;
    let Some(first) = online.first().copied() else {
        return Err(wrong(&online_path, "no CPU in it".to_string()));
    };

    let mut found = Found::default();
    let nodes = nodes(root, &mut found)?;
    for os in online {
        let dir = cpu_dir.join(format!("cpu{os}"));
        let topology = dir.join("topology");
        let package = number(&topology.join("physical_package_id")).unwrap_or(0);
        let siblings = [
            topology.join("core_cpus_list"),
            topology.join("thread_siblings_list"),
        ];
        let caches = caches(&dir)?;
        let outermost = caches.iter().max_by_key(|cache| cache.level);
        let l2 = caches.iter().find(|cache| cache.level == 2);
        if os == first {
            found.caches = sizes(&caches);
        }
        let cluster = match (l2, outermost) {
            (Some(l2), Some(llc)) if llc.level > 2 => Some(l2.key),
            _ => None,
        };
        found.cpus.push(FoundCpu {
            os,
            core: first_of(&siblings[0])
                .or_else(|| first_of(&siblings[1]))
                .unwrap_or(os)
                .into(),
            cluster: first_of(&topology.join("cluster_cpus_list"))
                .map(u64::from)
                .or(cluster),
            llc: outermost.map(|llc| llc.key),
            package,
            node: nodes
                .iter()
                .find(|(_, cpus)| cpus.contains(&os))
                .map_or(0, |(node, _)| *node),
            capacity: number(&dir.join("cpu_capacity")).unwrap_or(u32::MAX),
        });
    }
    found.idle = idle_states(&cpu_dir.join(format!("cpu{first}")).join("cpuidle"));
    found.description = format!("read from {}", root.display());
    Ok(found)
}

fn nodes(root: &Path, found: &mut Found) -> Result<Vec<(u32, Vec<u32>)>, Error> {
    let dir = root.join("node");
    let online_path = dir.join("online");
    // A kernel without NUMA has no such directory.
    let Ok(online) = fs::read_to_string(&online_path) else {
        return Ok(Vec::new());
    };
    let numbers = list(&online_path, &online)?;
    let mut nodes = Vec::new();
    for &node in &numbers {
        let node_dir = dir.join(format!("node{node}"));
        let path = node_dir.join("cpulist");
        let cpus = fs::read_to_string(&path).unwrap_or_default();
        nodes.push((node, list(&path, &cpus)?));
        let path = node_dir.join("distance");
        let row = fs::read_to_string(&path).unwrap_or_default();
        for (idx, word) in row.split_whitespace().enumerate() {
            let distance = word
                .parse()
                .map_err(|_| wrong(&path, format!("'{word}' is not a distance")))?;
            if let Some(other) = numbers.get(idx) {
                found.distances.insert((node, *other), distance);
            }
        }
    }
    Ok(nodes)
}

struct FoundCache {
    level: u32,
    /// Level and first CPU that shares it.
    key: u64,
    bytes: u64,
    line_bytes: u64,
}

fn caches(cpu_dir: &Path) -> Result<Vec<FoundCache>, Error> {
    let mut caches = Vec::new();
    for index in 0.. {
        let dir = cpu_dir.join("cache").join(format!("index{index}"));
        let Some(level) = number(&dir.join("level")) else {
            break;
        };
        if fs::read_to_string(dir.join("type")).is_ok_and(|kind| kind.trim() == "Instruction") {
            continue;
        }
        let path = dir.join("size");
        let size = fs::read_to_string(&path).unwrap_or_default();
        let bytes = match size.trim().trim_end_matches('K').parse::<u64>() {
            Ok(kib) => kib.saturating_mul(1024),
            Err(_) if size.is_empty() => 0,
            Err(_) => return Err(wrong(&path, format!("'{}' is not a size", size.trim()))),
        };
        let shared_with = first_of(&dir.join("shared_cpu_list")).unwrap_or(0);
        caches.push(FoundCache {
            level,
            key: u64::from(level) << 32 | u64::from(shared_with),
            bytes,
            line_bytes: number(&dir.join("coherency_line_size")).unwrap_or(0).into(),
        });
    }
    Ok(caches)
}

fn sizes(caches: &[FoundCache]) -> Caches {
    let llc_level = caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let bytes = |level: u32| {
        caches
            .iter()
            .find(|cache| cache.level == level)
            .map_or(0, |cache| cache.bytes)
    };
    Caches {
        line_bytes: caches
            .iter()
            .map(|cache| cache.line_bytes)
            .max()
            .unwrap_or(0),
        l1d_bytes: if llc_level > 1 { bytes(1) } else { 0 },
        l2_bytes: if llc_level > 2 { bytes(2) } else { 0 },
        l2_per_cluster: false,
        llc_bytes: bytes(llc_level),
    }
}

fn idle_states(dir: &Path) -> Vec<IdleState> {
    (0..)
        .map_while(|idx| {
            let dir = dir.join(format!("state{idx}"));
            let desc = fs::read_to_string(dir.join("desc")).unwrap_or_default();
            let micros = |name| number(&dir.join(name)).map(|us| u64::from(us) * 1000);
            Some(IdleState {
                name: fs::read_to_string(dir.join("name"))
                    .ok()?
                    .trim()
                    .to_string(),
                exit_latency_ns: micros("latency")?,
                target_residency_ns: micros("residency")?,
                power_mw: 0,
                polling: idx == 0 || desc.contains("MWAIT"),
            })
        })
        .collect()
}

fn list(path: &Path, text: &str) -> Result<Vec<u32>, Error> {
    parse_list(text).map_err(|what| wrong(path, what))
}

fn first_of(path: &Path) -> Option<u32> {
    let text = fs::read_to_string(path).ok()?;
    parse_list(&text).ok()?.first().copied()
}

fn number(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn wrong(path: &Path, what: String) -> Error {
    let mend = String::new();
    Error::Content {
        file: path.display().to_string(),
        place: Some((1, 1)),
        what,
        mend,
    }
}
