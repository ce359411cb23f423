//! The section of totals: the run as a whole, and how wakeups were placed.

use crate::duration;
use crate::run::results::Results;
use std::fmt::Write;

/// Name and value, a line each.
pub(super) fn section(results: &Results) -> String {
    let totals = &results.report.totals;
    let search = &results.report.search;
    let mut lines: Vec<(&str, String)> = vec![
        ("wakeups", totals.wakeups.to_string()),
        ("switches", totals.switches.to_string()),
        ("migrations", totals.migrations.to_string()),
        ("ticks", totals.ticks.to_string()),
        ("IPIs", totals.ipis.to_string()),
    ];
    if totals.lock_wait_ns > 0 {
        lines.push(("lock waits", duration::format(totals.lock_wait_ns)));
    }
    if totals.energy_mj > 0 {
        let joules = format!(
            "{}.{:03} J",
            totals.energy_mj / 1000,
            totals.energy_mj % 1000
        );
        lines.push(("energy", joules));
    }
    let placed = format!(
        "{} wakeups of fair tasks: {} stayed on the previous CPU, {} migrated; {} on the waker's CPU",
        search.wakeups, search.prev_cpu, search.migrated, search.this_cpu
    );
    lines.push(("placed", placed));
    let searched = format!(
        "{} found idle at once, {} LLC scans, {} CPUs looked at, {} scans found one ({} an idle core), {} forks",
        search.fast_hits,
        search.scans,
        search.scanned,
        search.scan_hits,
        search.scan_cores,
        search.slow_path
    );
    lines.push(("searches", searched));
    if search.cache_hot > 0 {
        let left = format!("{} idle CPUs left to tasks asleep there", search.cache_hot);
        lines.push(("cache hot", left));
    }
    if search.empty_cfs_rq > 0 {
        let steered = format!(
            "{} wakeups to a CPU where their group had no task",
            search.empty_cfs_rq
        );
        lines.push(("steered", steered));
    }
    let mut text = String::new();
    for (name, value) in lines {
        _ = writeln!(text, "{name:<10}  {value}");
    }
    text
}
