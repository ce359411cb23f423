//! The sections of guests: where their vCPUs' time went, and what ran inside.

use super::{latency, percent, time_or_dash};
use crate::duration;
use crate::run::results::{GuestResult, Results};
use crate::text_table::Columns;
use fairwind_sched::Nanos;
use fairwind_sim::VcpuReport;

/// More vCPUs than this are told of together.
const MOST: usize = 16;

/// vCPUs together.
struct Row {
    name: String,
    vcpus: u64,
    sum: VcpuReport,
}

/// Title and table of all guests' vCPUs.
pub(super) fn section(results: &Results, all: bool) -> (String, String) {
    let guests = &results.report.guests;
    let count: usize = guests.iter().map(|guest| guest.vcpus.len()).sum();
    let each = all || count <= MOST;
    let mut rows = Vec::new();
    for guest in guests {
        if each {
            rows.extend(guest.vcpus.iter().map(|vcpu| Row {
                name: format!("{} {}", guest.name, vcpu.cpu),
                vcpus: 1,
                sum: vcpu.clone(),
            }));
        } else {
            rows.extend(together(&guest.name, &guest.vcpus));
        }
    }
    let title = if each {
        "vCPUs".to_string()
    } else {
        format!("vCPUs ({count}, each guest's together: --all lists each)")
    };
    (title, vcpus(&rows, results.report.duration_ns))
}

fn together(name: &str, vcpus: &[VcpuReport]) -> Option<Row> {
    let (first, rest) = vcpus.split_first()?;
    let sum = rest.iter().fold(first.clone(), |sum, vcpu| VcpuReport {
        cpu: sum.cpu,
        begun_ns: sum.begun_ns + vcpu.begun_ns,
        run_ns: sum.run_ns + vcpu.run_ns,
        idle_ns: sum.idle_ns + vcpu.idle_ns,
        poll_ns: sum.poll_ns + vcpu.poll_ns,
        steal_ns: sum.steal_ns + vcpu.steal_ns,
        exit_ns: sum.exit_ns + vcpu.exit_ns,
        exits: sum.exits + vcpu.exits,
        halts: sum.halts + vcpu.halts,
        ipis: sum.ipis + vcpu.ipis,
        pauses: sum.pauses + vcpu.pauses,
    });
    Some(Row {
        name: name.to_string(),
        vcpus: vcpus.len() as u64,
        sum,
    })
}

fn vcpus(rows: &[Row], duration: Nanos) -> String {
    let of = move |row: &Row, ns: Nanos| percent(ns, duration * row.vcpus);
    Columns::of(rows)
        .text("vCPU", |row| row.name.clone())
        .when(
            |row| row.vcpus > 1,
            |c| c.number("vCPUs", |row| row.vcpus.to_string()),
        )
        .number("run %", move |row| of(row, row.sum.run_ns))
        .number("idle %", move |row| of(row, row.sum.idle_ns))
        .number("steal %", move |row| of(row, row.sum.steal_ns))
        .number("exits %", move |row| of(row, row.sum.exit_ns))
        .number("polled", |row| time_or_dash(row.sum.poll_ns))
        .number("exits", |row| row.sum.exits.to_string())
        .number("halts", |row| row.sum.halts.to_string())
        .number("IPIs", |row| row.sum.ipis.to_string())
        .number("pauses", |row| row.sum.pauses.to_string())
        .layout()
}

/// What is told of each guest's inside: programs, then tasks by kind, spinning and directed yields.
pub(super) fn inside(guest: &GuestResult) -> String {
    let whole = guest.duration_ns;
    let mut text = super::programs::section(&guest.programs);
    text.push_str(
        &Columns::of(&guest.specs)
            .text("task", |m| m.name.clone())
            .number("tasks", |m| m.tasks.to_string())
            .number("CPU time", |m| duration::format(m.cpu_ns))
            .number("%CPU", |m| percent(m.cpu_ns, whole))
            .number("vol", |m| m.voluntary_switches.to_string())
            .number("invol", |m| m.involuntary_switches.to_string())
            .number("migr", |m| m.migrations.to_string())
            .number("wakeups", |m| m.wakeups.to_string())
            .number("p50", |m| latency(m.wakeup_latency, |l| l.p50_ns))
            .number("p99", |m| latency(m.wakeup_latency, |l| l.p99_ns))
            .number("max", |m| latency(m.wakeup_latency, |l| l.max_ns))
            .number("waited", |m| time_or_dash(m.run_delay_ns))
            .layout(),
    );
    if guest.spin_ns > 0 {
        text.push_str(&format!(
            "spun for locks  {}\n",
            duration::format(guest.spin_ns)
        ));
    }
    let y = &guest.yields;
    if y.attempts > 0 {
        text.push_str(&format!(
            "directed yields  {} tried: {} succeeded, {} found the target running or asleep, {} one task on both queues, {} passed over; {} took the locks\n",
            y.attempts, y.yielded, y.failed_running, y.failed_alone, y.skipped, y.locked
        ));
    }
    text
}
