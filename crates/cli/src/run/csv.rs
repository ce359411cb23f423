//! Results as CSV: one table at a time, columns named as the fields of the JSON form.

use super::results::Results;
use crate::args::CsvTable;
use crate::error::Error;
use csv::Writer;
use fairwind_sim::{CpuReport, GroupReport, LatencyReport, MergedReport, TaskReport};

type Rows = Writer<Vec<u8>>;

/// The table, with a header line.
pub(crate) fn render(results: &Results, table: CsvTable) -> Result<Vec<u8>, Error> {
    let mut rows = Writer::from_writer(Vec::new());
    let report = &results.report;
    let written = match table {
        CsvTable::Tasks => tasks(&mut rows, &report.tasks),
        CsvTable::Groups => groups(&mut rows, &report.groups, &results.group_tasks),
        CsvTable::Cpus => cpus(&mut rows, &report.cpus),
    };
    let failed =
        |error: &dyn std::fmt::Display| Error::failed(format!("cannot make the CSV: {error}"));
    written.map_err(|error| failed(&error))?;
    rows.into_inner().map_err(|error| failed(&error))
}

const LATENCY: [&str; 4] = [
    "wakeup_latency_count",
    "wakeup_latency_p50_ns",
    "wakeup_latency_p99_ns",
    "wakeup_latency_max_ns",
];

/// Empty where nothing was measured.
fn latency(latency: Option<LatencyReport>) -> [String; 4] {
    latency.map_or_else(Default::default, |l| {
        [l.count, l.p50_ns, l.p99_ns, l.max_ns].map(|n| n.to_string())
    })
}

fn tasks(rows: &mut Rows, tasks: &[TaskReport]) -> csv::Result<()> {
    let before = [
        "name",
        "spec",
        "group",
        "policy",
        "nice",
        "cpu_ns",
        "share_ppm",
        "stall_ns",
        "voluntary_switches",
        "involuntary_switches",
        "migrations",
        "wakeups",
    ];
    let after = ["throttled_ns", "run_delay_ns", "loops", "ended"];
    rows.write_record(before.iter().chain(&LATENCY).chain(&after))?;
    for t in tasks {
        let texts = [&*t.name, &t.spec, &t.group, t.policy].map(str::to_string);
        let nice = t.nice.to_string();
        let numbers = [
            t.cpu_ns,
            t.share_ppm,
            t.stall_ns,
            t.voluntary_switches,
            t.involuntary_switches,
            t.migrations,
            t.wakeups,
        ];
        let after = [t.throttled_ns, t.run_delay_ns, t.loops].map(|n| n.to_string());
        let record = texts
            .into_iter()
            .chain([nice])
            .chain(numbers.map(|n| n.to_string()))
            .chain(latency(t.wakeup_latency))
            .chain(after)
            .chain([t.ended.to_string()]);
        rows.write_record(record)?;
    }
    Ok(())
}

fn groups(rows: &mut Rows, groups: &[GroupReport], merged: &[MergedReport]) -> csv::Result<()> {
    let before = [
        "path",
        "weight",
        "quota_usec",
        "period_usec",
        "usage_usec",
        "cpu_ns",
        "share_ppm",
        "nr_periods",
        "nr_throttled",
        "throttled_usec",
        "nr_bursts",
        "burst_usec",
        "tasks",
        "voluntary_switches",
        "involuntary_switches",
        "migrations",
        "wakeups",
    ];
    let after = ["throttled_ns", "run_delay_ns"];
    rows.write_record(before.iter().chain(&LATENCY).chain(&after))?;
    for (g, m) in groups.iter().zip(merged) {
        let quota = g
            .quota_usec
            .map_or_else(|| "max".to_string(), |us| us.to_string());
        let numbers = [
            g.period_usec,
            g.usage_usec,
            g.cpu_ns,
            g.share_ppm,
            g.nr_periods,
            g.nr_throttled,
            g.throttled_usec,
            g.nr_bursts,
            g.burst_usec,
            m.tasks,
            m.voluntary_switches,
            m.involuntary_switches,
            m.migrations,
            m.wakeups,
        ];
        let record = [g.path.clone(), g.weight.to_string(), quota]
            .into_iter()
            .chain(numbers.map(|n| n.to_string()))
            .chain(latency(m.wakeup_latency))
            .chain([m.throttled_ns, m.run_delay_ns].map(|n| n.to_string()));
        rows.write_record(record)?;
    }
    Ok(())
}

fn cpus(rows: &mut Rows, cpus: &[CpuReport]) -> csv::Result<()> {
    let nr_states = cpus
        .iter()
        .map(|cpu| cpu.idle_state_ns.len())
        .max()
        .unwrap_or(0);
    let header = ["cpu", "busy_ns", "idle_ns", "switches"].map(str::to_string);
    let states = (0..nr_states).map(|state| format!("idle_state_{state}_ns"));
    rows.write_record(header.into_iter().chain(states))?;
    for c in cpus {
        let numbers = [u64::from(c.cpu), c.busy_ns, c.idle_ns, c.switches];
        let record = numbers.iter().chain(&c.idle_state_ns);
        rows.write_record(record.map(u64::to_string))?;
    }
    Ok(())
}
