//! A compact plain-text drawing of a machine's topology.
//!
//! Model.       One line for each LLC of each node of each package, a core as the CPUs in its
//!              braces. Runs of like things are folded, so that the drawing stays about a screen
//!              high whatever the machine.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::cpulist::format_list;
use crate::machine::Machine;

/// So many packages, nodes of a package or LLCs of a node are drawn before the middle of a run of
/// like ones is folded: the first length with which the drawing fits a screen, else the last.
const RUN_MAX: [usize; 3] = [8, 4, 3];
/// Lines of a screen, for the tree of packages.
const SCREEN: usize = 32;
/// So many cores of an LLC are drawn before the middle is folded.
const CORES_MAX: usize = 8;
/// So many nodes have their distance matrix drawn.
const MATRIX_MAX: usize = 8;

/// Core → its CPUs.
type Cores = BTreeMap<u32, Vec<u32>>;
/// LLC → its cores.
type Llcs = BTreeMap<u32, Cores>;
/// Node → its LLCs.
type Nodes = BTreeMap<u32, Llcs>;

/// Draws the topology; every line ends with a newline.
pub fn draw(machine: &Machine) -> String {
    let packages = tree(machine);
    let mut out = String::new();
    headline(machine, &mut out);
    let mut drawn = String::new();
    for run_max in RUN_MAX {
        drawn = draw_packages(machine, &packages, run_max);
        if drawn.lines().count() <= SCREEN {
            break;
        }
    }
    out.push_str(&drawn);
    distances(machine, &mut out);
    for note in &machine.notes {
        _ = writeln!(out, "note: {note}");
    }
    out
}

fn tree(machine: &Machine) -> BTreeMap<u32, Nodes> {
    let mut packages: BTreeMap<u32, Nodes> = BTreeMap::new();
    for (cpu, place) in machine.topology.cpus.iter().enumerate() {
        let nodes = packages.entry(place.package).or_default();
        let cores = nodes
            .entry(place.node)
            .or_default()
            .entry(place.llc)
            .or_default();
        cores.entry(place.core).or_default().push(cpu as u32);
    }
    packages
}

fn headline(machine: &Machine, out: &mut String) {
    let cpus = &machine.topology.cpus;
    let count = |of: fn(&fairwind_sched::topology::CpuPlace) -> u32| {
        let mut ids: Vec<u32> = cpus.iter().map(of).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len()
    };
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (cores, clusters) = (count(|p| p.core), count(|p| p.cluster));
    let mut parts = vec![
        plural(count(|p| p.package), "package"),
        plural(machine.topology.node_distance.len(), "NUMA node"),
        plural(count(|p| p.llc), "LLC"),
    ];
    if clusters != cores {
        parts.push(plural(clusters, "cluster"));
    }
    parts.push(plural(cores, "core"));
    parts.push(plural(cpus.len(), "CPU"));
    let about = if machine.description.is_empty() {
        ""
    } else {
        ": "
    };
    _ = writeln!(out, "{}{about}{}", machine.name, machine.description);
    _ = writeln!(out, "{}", parts.join(", "));
}

fn draw_packages(machine: &Machine, packages: &BTreeMap<u32, Nodes>, run_max: usize) -> String {
    let mut out = String::new();
    let shapes: Vec<Shape> = packages.values().map(package_shape).collect();
    let entries: Vec<(&u32, &Nodes)> = packages.iter().collect();
    for step in fold(&shapes, run_max) {
        match step {
            Step::Show(idx) => {
                let (id, nodes) = entries[idx];
                _ = writeln!(out, "package {}", machine.labels.package[*id as usize]);
                draw_nodes(machine, nodes, run_max, &mut out);
            }
            Step::Skip(n) => _ = writeln!(out, "... {n} more packages like these"),
        }
    }
    out
}

fn draw_nodes(machine: &Machine, nodes: &Nodes, run_max: usize, out: &mut String) {
    let shapes: Vec<Shape> = nodes.values().map(|llcs| vec![node_shape(llcs)]).collect();
    let entries: Vec<(&u32, &Llcs)> = nodes.iter().collect();
    for step in fold(&shapes, run_max) {
        match step {
            Step::Show(idx) => {
                let (id, llcs) = entries[idx];
                _ = writeln!(out, "  node {}", machine.labels.node[*id as usize]);
                draw_llcs(machine, llcs, run_max, out);
            }
            Step::Skip(n) => _ = writeln!(out, "  ... {n} more nodes like these"),
        }
    }
}

fn draw_llcs(machine: &Machine, llcs: &Llcs, run_max: usize, out: &mut String) {
    let shapes: Vec<Shape> = llcs
        .values()
        .map(|cores| vec![vec![llc_shape(cores)]])
        .collect();
    let entries: Vec<(&u32, &Cores)> = llcs.iter().collect();
    for step in fold(&shapes, run_max) {
        match step {
            Step::Show(idx) => draw_llc(machine, *entries[idx].0, entries[idx].1, out),
            Step::Skip(n) => _ = writeln!(out, "    ... {n} more LLCs like these"),
        }
    }
}

fn draw_llc(machine: &Machine, id: u32, cores: &Cores, out: &mut String) {
    let braces: Vec<String> = cores
        .values()
        .map(|cpus| format!("{{{}}}", format_list(cpus)))
        .collect();
    let drawn = if braces.len() <= CORES_MAX {
        braces.join(" ")
    } else {
        let last = &braces[braces.len() - 1];
        format!("{} .. {last}", braces[..3].join(" "))
    };
    let nr_cores = cores.len();
    let plural = if nr_cores == 1 { "" } else { "s" };
    let size = size(machine.caches.llc_bytes);
    _ = writeln!(
        out,
        "    LLC {id}  {size}  {nr_cores} core{plural}  {drawn}"
    );
}

fn distances(machine: &Machine, out: &mut String) {
    let matrix = &machine.topology.node_distance;
    if matrix.len() < 2 {
        return;
    }
    if matrix.len() > MATRIX_MAX {
        let mut distinct: Vec<u32> = matrix.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let distinct: Vec<String> = distinct.iter().map(u32::to_string).collect();
        _ = writeln!(out, "node distances: {}", distinct.join(", "));
        return;
    }
    let cells = |row: &[u32]| row.iter().map(|n| format!("{n:>4}")).collect::<String>();
    _ = writeln!(out, "node distances\n      {}", cells(&machine.labels.node));
    for (node, row) in machine.labels.node.iter().zip(matrix) {
        _ = writeln!(out, "  {node:>4}{}", cells(row));
    }
}

/// A size in the largest unit that leaves a number of at least 1.
pub(crate) fn size(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..0x10_0000 => (1u64 << 10, "KiB"),
        0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    match (bytes % scale) * 10 / scale {
        0 => format!("{} {unit}", bytes / scale),
        tenths => format!("{}.{tenths} {unit}", bytes / scale),
    }
}

/// What makes things alike: for each node, for each LLC, the number of CPUs of each core.
type Shape = Vec<Vec<Vec<usize>>>;

fn llc_shape(cores: &Cores) -> Vec<usize> {
    cores.values().map(Vec::len).collect()
}

fn node_shape(llcs: &Llcs) -> Vec<Vec<usize>> {
    llcs.values().map(llc_shape).collect()
}

fn package_shape(nodes: &Nodes) -> Shape {
    nodes.values().map(node_shape).collect()
}

#[derive(PartialEq, Eq, Debug)]
enum Step {
    Show(usize),
    Skip(usize),
}

/// Folds runs of equal shapes longer than `run_max`, which is at least 3, to their first two and
/// their last.
fn fold(shapes: &[Shape], run_max: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut start = 0;
    while start < shapes.len() {
        let same = shapes[start..]
            .iter()
            .take_while(|shape| **shape == shapes[start])
            .count();
        let end = start + same;
        if same > run_max {
            let folded = [
                Step::Show(start),
                Step::Show(start + 1),
                Step::Skip(same - 3),
            ];
            steps.extend(folded);
            steps.push(Step::Show(end - 1));
        } else {
            steps.extend((start..end).map(Step::Show));
        }
        start = end;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(48 << 10), "48 KiB");
        assert_eq!(size(115_200 << 10), "112.5 MiB");
        assert_eq!(size(1 << 30), "1 GiB");
    }

    #[test]
    fn long_runs_of_like_things_are_folded() {
        let like = vec![vec![vec![1]]];
        let other = vec![vec![vec![2]]];
        let mut shapes = vec![like; 9];
        assert_eq!(fold(&shapes[..8], 8).len(), 8);
        shapes.push(other);
        let expected = [
            Step::Show(0),
            Step::Show(1),
            Step::Skip(6),
            Step::Show(8),
            Step::Show(9),
        ];
        assert_eq!(fold(&shapes, 8), expected);
    }
}
