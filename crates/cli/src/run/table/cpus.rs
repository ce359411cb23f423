//! The section of CPUs: one line each, or one for those of an LLC or a NUMA node.

use super::percent;
use crate::duration;
use crate::run::results::Results;
use crate::text_table::Columns;
use fairwind_sched::{CpuPlace, Nanos};
use std::collections::BTreeMap;

/// More lines than this are folded.
const MOST: usize = 32;

/// CPUs together.
#[derive(Default)]
struct Row {
    name: String,
    nr_cpus: u64,
    busy_ns: Nanos,
    idle_ns: Nanos,
    switches: u64,
    /// Time of the least and the most busy CPU.
    range_ns: Option<(Nanos, Nanos)>,
}

/// Title and table.
pub(super) fn section(results: &Results, all: bool) -> (String, String) {
    let nr_cpus = results.report.cpus.len();
    if all || nr_cpus <= MOST {
        return ("CPUs".to_string(), each(results));
    }
    let llcs = fold(results, "LLC", |place| place.llc);
    let rows = if llcs.len() <= MOST {
        llcs
    } else {
        fold(results, "node", |place| place.node)
    };
    (
        format!("CPUs ({nr_cpus}, together: --all lists each)"),
        folded(&rows, results.report.duration_ns),
    )
}

fn each(results: &Results) -> String {
    let whole = results.report.duration_ns;
    Columns::of(&results.report.cpus)
        .number("CPU", |cpu| cpu.cpu.to_string())
        .number("busy", |cpu| duration::format(cpu.busy_ns))
        .number("busy %", |cpu| percent(cpu.busy_ns, whole))
        .number("idle", |cpu| duration::format(cpu.idle_ns))
        .number("switches", |cpu| cpu.switches.to_string())
        .layout()
}

fn fold(results: &Results, what: &str, id: impl Fn(&CpuPlace) -> u32) -> Vec<Row> {
    let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
    for (cpu, place) in results.report.cpus.iter().zip(&results.places) {
        let row = rows.entry(id(place)).or_default();
        row.nr_cpus += 1;
        row.busy_ns += cpu.busy_ns;
        row.idle_ns += cpu.idle_ns;
        row.switches += cpu.switches;
        let (least, most) = row.range_ns.unwrap_or((cpu.busy_ns, cpu.busy_ns));
        row.range_ns = Some((least.min(cpu.busy_ns), most.max(cpu.busy_ns)));
    }
    rows.into_iter()
        .map(|(id, row)| Row {
            name: format!("{what} {id}"),
            ..row
        })
        .collect()
}

fn folded(rows: &[Row], whole: Nanos) -> String {
    Columns::of(rows)
        .text("CPUs of", |row| row.name.clone())
        .number("CPUs", |row| row.nr_cpus.to_string())
        .number("busy", |row| duration::format(row.busy_ns))
        .number("busy %", |row| percent(row.busy_ns, whole * row.nr_cpus))
        .number("least %", |row| {
            row.range_ns
                .map_or_else(String::new, |(least, _)| percent(least, whole))
        })
        .number("most %", |row| {
            row.range_ns
                .map_or_else(String::new, |(_, most)| percent(most, whole))
        })
        .number("idle", |row| duration::format(row.idle_ns))
        .number("switches", |row| row.switches.to_string())
        .layout()
}
