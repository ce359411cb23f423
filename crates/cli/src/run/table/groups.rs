//! The section of groups: what their tasks and those below got, and what their limits did.

use super::{latency, percent, share, time_or_dash};
use crate::duration;
use crate::run::results::Results;
use crate::text_table::Columns;
use fairwind_sim::{GroupReport, MergedReport};

/// A group, and its tasks together.
type Row<'a> = (&'a GroupReport, &'a MergedReport);

/// The tables: of all groups, and of those with a quota.
pub(super) fn section(results: &Results) -> String {
    let whole = results.report.duration_ns;
    let rows: Vec<Row<'_>> = results
        .report
        .groups
        .iter()
        .zip(&results.group_tasks)
        .collect();
    let mut text = Columns::of(&rows)
        .text("group", |(g, _)| g.path.clone())
        .number("weight", |(g, _)| {
            if g.path == "/" {
                "-".to_string()
            } else {
                g.weight.to_string()
            }
        })
        .number("tasks", |(_, m)| m.tasks.to_string())
        .number("CPU time", |(g, _)| duration::format(g.cpu_ns))
        .number("%CPU", |(g, _)| percent(g.cpu_ns, whole))
        .number("share", |(g, _)| share(g.share_ppm))
        .number("vol", |(_, m)| m.voluntary_switches.to_string())
        .number("invol", |(_, m)| m.involuntary_switches.to_string())
        .number("migr", |(_, m)| m.migrations.to_string())
        .number("wakeups", |(_, m)| m.wakeups.to_string())
        .number("p50", |(_, m)| latency(m.wakeup_latency, |l| l.p50_ns))
        .number("p99", |(_, m)| latency(m.wakeup_latency, |l| l.p99_ns))
        .number("max", |(_, m)| latency(m.wakeup_latency, |l| l.max_ns))
        .when(
            |(_, m)| m.throttled_ns > 0,
            |c| c.number("throttled", |(_, m)| time_or_dash(m.throttled_ns)),
        )
        .layout();
    let limited: Vec<&GroupReport> = results
        .report
        .groups
        .iter()
        .filter(|g| g.quota_usec.is_some())
        .collect();
    if !limited.is_empty() {
        text.push('\n');
        text.push_str(&limits(&limited));
    }
    text
}

/// cpu.stat of the groups that have a quota.
fn limits(groups: &[&GroupReport]) -> String {
    let us = |us: u64| duration::format_round(us * 1000);
    Columns::of(groups)
        .text("group", |g| g.path.clone())
        .number("quota", |g| {
            g.quota_usec.map_or_else(|| "max".to_string(), us)
        })
        .number("period", |g| us(g.period_usec))
        .number("limit %CPU", |g| {
            percent(g.quota_usec.unwrap_or(0), g.period_usec)
        })
        .number("nr_periods", |g| g.nr_periods.to_string())
        .number("nr_throttled", |g| g.nr_throttled.to_string())
        .number("throttled time", |g| time_or_dash(g.throttled_usec * 1000))
        .when(
            |g| g.nr_bursts > 0,
            |c| {
                c.number("nr_bursts", |g| g.nr_bursts.to_string())
                    .number("burst time", |g| time_or_dash(g.burst_usec * 1000))
            },
        )
        .layout()
}
