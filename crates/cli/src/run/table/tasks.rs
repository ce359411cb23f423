//! The section of tasks: one line each, or one line for the instances of each.

use super::{latency, percent, share, time_or_dash};
use crate::duration;
use crate::run::results::Results;
use crate::text_table::Columns;
use fairwind_sim::{MergedReport, TaskReport};

/// More tasks than this are folded.
const MOST: usize = 40;

/// Title and table.
pub(super) fn section(results: &Results, all: bool) -> (String, String) {
    let tasks = &results.report.tasks;
    if tasks.is_empty() {
        return ("Tasks".to_string(), "none\n".to_string());
    }
    if all || tasks.len() <= MOST {
        return ("Tasks".to_string(), each(results));
    }
    let title = format!(
        "Tasks ({}, instances together: --all lists each)",
        tasks.len()
    );
    (title, folded(results))
}

fn each(results: &Results) -> String {
    let whole = results.report.duration_ns;
    let odd = |t: &TaskReport| t.policy != "SCHED_OTHER" || t.nice != 0;
    Columns::of(&results.report.tasks)
        .text("task", |t| t.name.clone())
        .when(|t| t.group != "/", |c| c.text("group", |t| t.group.clone()))
        .when(odd, |c| {
            c.text("policy", |t| {
                t.policy.trim_start_matches("SCHED_").to_string()
            })
            .number("nice", |t| match t.policy {
                "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE" => "-".to_string(),
                _ => t.nice.to_string(),
            })
        })
        .number("CPU time", |t| duration::format(t.cpu_ns))
        .number("%CPU", |t| percent(t.cpu_ns, whole))
        .number("share", |t| share(t.share_ppm))
        .number("vol", |t| t.voluntary_switches.to_string())
        .number("invol", |t| t.involuntary_switches.to_string())
        .number("migr", |t| t.migrations.to_string())
        .number("wakeups", |t| t.wakeups.to_string())
        .number("p50", |t| latency(t.wakeup_latency, |l| l.p50_ns))
        .number("p99", |t| latency(t.wakeup_latency, |l| l.p99_ns))
        .number("max", |t| latency(t.wakeup_latency, |l| l.max_ns))
        .number("waited", |t| time_or_dash(t.run_delay_ns))
        .when(
            |t| t.throttled_ns > 0,
            |c| c.number("throttled", |t| time_or_dash(t.throttled_ns)),
        )
        .layout()
}

fn folded(results: &Results) -> String {
    let whole = results.report.duration_ns;
    let columns = Columns::of(&results.specs)
        .text("task", |m| m.name.clone())
        .number("tasks", |m| m.tasks.to_string())
        .number("CPU time", |m| duration::format(m.cpu_ns))
        .number("%CPU", |m| percent(m.cpu_ns, whole))
        .number("share", |m| share(m.share_ppm));
    counts(columns)
        .number("waited", |m| time_or_dash(m.run_delay_ns))
        .when(
            |m| m.throttled_ns > 0,
            |c| c.number("throttled", |m| time_or_dash(m.throttled_ns)),
        )
        .layout()
}

/// Switches, migrations, wakeups and latencies of tasks together.
pub(super) fn counts(columns: Columns<'_, MergedReport>) -> Columns<'_, MergedReport> {
    columns
        .number("vol", |m| m.voluntary_switches.to_string())
        .number("invol", |m| m.involuntary_switches.to_string())
        .number("migr", |m| m.migrations.to_string())
        .number("wakeups", |m| m.wakeups.to_string())
        .number("p50", |m| latency(m.wakeup_latency, |l| l.p50_ns))
        .number("p99", |m| latency(m.wakeup_latency, |l| l.p99_ns))
        .number("max", |m| latency(m.wakeup_latency, |l| l.max_ns))
}
