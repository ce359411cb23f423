//! Results as a readable table.

mod cpus;
mod groups;
mod guests;
mod programs;
mod tasks;
mod totals;

use super::results::Results;
use crate::duration;
use crate::kernel::algorithm;
use crate::output::HEADING;
use fairwind_sched::Nanos;
use fairwind_sim::LatencyReport;
use std::fmt::Write;

/// The whole table; `all`: nothing is folded.
pub(crate) fn render(results: &Results, all: bool) -> String {
    let mut text = header(results);
    let mut section = |title: String, table: String| {
        let (title, rest) = title.split_once(' ').unwrap_or((&title, ""));
        _ = write!(text, "\n{HEADING}{title}{HEADING:#}");
        _ = if rest.is_empty() {
            writeln!(text)
        } else {
            writeln!(text, " {rest}")
        };
        text.push_str(&table);
    };
    if !results.programs.is_empty() {
        section("Programs".to_string(), programs::section(&results.programs));
    }
    let (title, table) = tasks::section(results, all);
    section(title, table);
    if results.report.groups.len() > 1 {
        section("Groups".to_string(), groups::section(results));
    }
    let (title, table) = cpus::section(results, all);
    section(title, table);
    if !results.guests.is_empty() {
        let (title, table) = guests::section(results, all);
        section(title, table);
        for guest in &results.guests {
            let title = format!(
                "Guest {}, {} CPUs, kernel {}",
                guest.name, guest.nr_cpus, guest.kernel
            );
            section(title, guests::inside(guest));
        }
    }
    section("Totals".to_string(), totals::section(results));
    text
}

fn header(results: &Results) -> String {
    let report = &results.report;
    let nr_cpus = report.cpus.len();
    let plural = if nr_cpus == 1 { "" } else { "s" };
    let mut text = format!("machine   {}, {nr_cpus} CPU{plural}", report.machine);
    if !results.description.is_empty() {
        _ = write!(text, ": {}", results.description);
    }
    _ = write!(
        text,
        "\nkernel    {} ({})",
        report.kernel,
        algorithm(results.release)
    );
    if !results.settings.is_empty() {
        _ = write!(text, ", {}", results.settings.join(", "));
    }
    _ = write!(
        text,
        "\nduration  {}",
        duration::format_round(report.duration_ns)
    );
    if report.interrupted {
        text.push_str(", interrupted");
    }
    _ = writeln!(text, "\nseed      {}", report.seed);
    text
}

/// Part of a time, in percent with two decimals, rounded down.
fn percent(part: Nanos, whole: Nanos) -> String {
    let hundredths = u128::from(part) * 10_000 / u128::from(whole.max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Millionths as percent with two decimals, rounded down.
fn share(ppm: u64) -> String {
    format!("{}.{:02}", ppm / 10_000, ppm / 100 % 100)
}

/// Nothing for no time, which is what most rows have.
fn time_or_dash(ns: Nanos) -> String {
    if ns == 0 {
        "-".to_string()
    } else {
        duration::format(ns)
    }
}

/// One value of a latency; nothing where none was measured.
fn latency(of: Option<LatencyReport>, value: impl Fn(LatencyReport) -> Nanos) -> String {
    of.map_or_else(|| "-".to_string(), |l| duration::format(value(l)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rounded_down_to_hundredths_of_a_percent() {
        assert_eq!(percent(1, 3), "33.33");
        assert_eq!(percent(2_500_000_000, 1_000_000_000), "250.00");
        assert_eq!(percent(0, 0), "0.00");
        assert_eq!(share(62_599), "6.25");
        assert_eq!(share(1_000_000), "100.00");
    }
}
