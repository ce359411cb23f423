//! The summary of `lscpu -J`: counts, lists of CPUs, cache sizes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cpulist::parse_list;
use crate::load::Found;
use crate::lscpu::parse_size;
use crate::places::FoundCpu;

pub(super) fn read(fields: &[Value]) -> Result<Found, String> {
    let mut data = BTreeMap::new();
    flatten(fields, &mut data);
    let text = |name: &str| data.get(name).map(String::as_str);
    let count = |name: &str, default: usize| match text(name) {
        None | Some("-") => Ok(default),
        Some(value) => match value.parse::<usize>() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("'{name}' is '{value}', not a count")),
        },
    };

    let cpus = match text("On-line CPU(s) list") {
        Some(list) => parse_list(list)?,
        None => (0..count("CPU(s)", 0)? as u32).collect(),
    };
    if cpus.is_empty() {
        return Err("neither 'On-line CPU(s) list' nor 'CPU(s)' in it".to_string());
    }
    let mut found = Found {
        description: text("Model name").unwrap_or("").to_string(),
        ..Found::default()
    };
    if let Some(offline) = text("Off-line CPU(s) list") {
        found
            .notes
            .push(format!("offline CPUs left out: {offline}"));
    }

    let threads = count("Thread(s) per core", 1)?;
    let sockets = count("Socket(s)", 1)?;
    let nodes = node_lists(&data, &cpus)?;
    let apart = text("Architecture").is_none_or(|a| a.starts_with("x86")) && threads > 1;
    let cores = cores_in_order(&nodes, threads, apart);
    if threads > 1 {
        found.notes.push(format!(
            "lscpu's summary does not say which CPUs are SMT siblings: taken as numbered {}; \
             'lscpu -J -e' would say",
            if apart { "apart" } else { "next to each other" }
        ));
    }

    // The outermost cache that is told is the LLC; one a socket where its instances are not told.
    let cache = |name: &str| text(name).and_then(parse_size);
    let each = |cache: Option<(u64, Option<u64>)>| {
        cache.map_or(0, |(bytes, instances)| {
            bytes / instances.unwrap_or(1).max(1)
        })
    };
    let (l1d, l2, l3) = (cache("L1d cache"), cache("L2 cache"), cache("L3 cache"));
    let (outermost, default_instances) = match (l3, l2) {
        (Some(l3), _) => (Some(l3), sockets),
        (None, Some(l2)) => (Some(l2), cores.len()),
        (None, None) => (None, sockets),
    };
    let instances = outermost
        .and_then(|(_, n)| n)
        .map_or(default_instances, |n| n as usize);
    found.caches.l1d_bytes = each(l1d);
    found.caches.l2_bytes = if l3.is_some() { each(l2) } else { 0 };
    found.caches.llc_bytes = each(outermost);
    let l2_instances = match (l3, l2) {
        (Some(_), Some((_, Some(n)))) => n as usize,
        _ => cores.len(),
    };

    // Things of one kind divide the cores evenly, in order.
    let share = |idx: usize, parts: usize| idx * parts.clamp(1, cores.len()) / cores.len();
    for (idx, (node, siblings)) in cores.iter().enumerate() {
        for os in siblings {
            found.cpus.push(FoundCpu {
                os: *os,
                core: idx as u64,
                cluster: Some(share(idx, l2_instances) as u64),
                llc: outermost.map(|_| share(idx, instances) as u64),
                package: share(idx, sockets) as u32,
                node: *node,
                capacity: u32::MAX,
            });
        }
    }
    Ok(found)
}

/// Name → data, of nested fields as well, names without the colon.
fn flatten(fields: &[Value], data: &mut BTreeMap<String, String>) {
    for field in fields {
        let name = field.get("field").and_then(Value::as_str).unwrap_or("");
        if let Some(value) = field.get("data").and_then(Value::as_str) {
            data.insert(
                name.trim_end_matches(':').trim().to_string(),
                value.trim().to_string(),
            );
        }
        if let Some(children) = field.get("children").and_then(Value::as_array) {
            flatten(children, data);
        }
    }
}

/// Each node's online CPUs; one node with all where none is told.
fn node_lists(
    data: &BTreeMap<String, String>,
    online: &[u32],
) -> Result<BTreeMap<u32, Vec<u32>>, String> {
    let mut nodes = BTreeMap::new();
    for (name, list) in data {
        let number = name
            .strip_prefix("NUMA node")
            .and_then(|rest| rest.strip_suffix(" CPU(s)"));
        let Some(number) = number.and_then(|n| n.trim().parse::<u32>().ok()) else {
            continue;
        };
        let cpus: Vec<u32> = parse_list(list.trim_matches('-'))
            .map_err(|what| format!("'{name}': {what}"))?
            .into_iter()
            .filter(|cpu| online.binary_search(cpu).is_ok())
            .collect();
        if !cpus.is_empty() {
            nodes.insert(number, cpus);
        }
    }
    let mut covered: Vec<u32> = nodes.values().flatten().copied().collect();
    covered.sort_unstable();
    if covered.is_empty() {
        nodes.insert(0, online.to_vec());
    } else if covered != online {
        return Err("the NUMA nodes' CPUs are not the online CPUs, each once".to_string());
    }
    Ok(nodes)
}

/// Node and CPUs of each core, node by node.
fn cores_in_order(
    nodes: &BTreeMap<u32, Vec<u32>>,
    threads: usize,
    apart: bool,
) -> Vec<(u32, Vec<u32>)> {
    let mut cores = Vec::new();
    for (node, cpus) in nodes {
        let nr_cores = cpus.len().div_ceil(threads);
        for core in 0..nr_cores {
            let siblings: Vec<u32> = if apart {
                cpus.iter().copied().skip(core).step_by(nr_cores).collect()
            } else {
                cpus.iter()
                    .copied()
                    .skip(core * threads)
                    .take(threads)
                    .collect()
            };
            cores.push((*node, siblings));
        }
    }
    cores
}
