//! The tables of Fairwind's own: means, spreads, changes with their intervals, verdicts.

use super::number;
use super::results::{Block, Cell, Results};
use crate::kernel::algorithm;
use crate::output::HEADING;
use crate::text_table::Columns;
use fairwind_lab::{Better, CONFIDENCE, Comparison, Verdict};
use std::fmt::Write;

/// Everything.
pub(crate) fn render(results: &Results) -> String {
    let mut text = header(results);
    for block in results.blocks.iter().filter(|block| !block.is_counter()) {
        let better = block.metric.better.interpretation().to_lowercase();
        let (name, title) = (&block.workload, block.title());
        _ = writeln!(text, "\n{HEADING}{name}{HEADING:#} {title}, {better}");
        text.push_str(&table(results, &[block]));
    }
    text.push_str(&counters(results));
    for note in notes(results) {
        _ = writeln!(text, "\n{note}");
    }
    text
}

fn header(results: &Results) -> String {
    let machine = &results.machine;
    let (name, nr_cpus) = (&machine.name, machine.nr_cpus());
    let plural = if nr_cpus == 1 { "" } else { "s" };
    let mut text = format!("machine  {name}, {nr_cpus} CPU{plural}");
    if !machine.description.is_empty() {
        _ = write!(text, ": {}", machine.description);
    }
    for (idx, kernel) in results.kernels.iter().enumerate() {
        let title = if idx == 0 { "base" } else { "with" };
        let (release, class) = (kernel.release.name(), algorithm(kernel.release));
        _ = write!(text, "\n{title}     {} ({release}, {class}", kernel.label);
        if !kernel.choice.settings.is_empty() {
            _ = write!(text, ": {}", kernel.choice.settings.join(", "));
        }
        text.push(')');
    }
    _ = write!(text, "\nruns     {}", results.runs());
    if !results.settings.is_empty() {
        _ = write!(text, ", {}", results.settings.join(", "));
    }
    if results.interrupted {
        text.push_str(", interrupted");
    }
    text.push('\n');
    text
}

/// How wakeups were placed, in a table of its own; nothing if that was not asked for.
pub(crate) fn counters(results: &Results) -> String {
    let mut text = String::new();
    let counters: Vec<&Block> = results.blocks.iter().filter(|b| b.is_counter()).collect();
    for of_workload in counters.chunk_by(|a, b| a.workload == b.workload) {
        let name = &of_workload[0].workload;
        _ = writeln!(text, "\n{HEADING}{name}{HEADING:#} how wakeups were placed");
        text.push_str(&table(results, of_workload));
    }
    text
}

/// A line of a table.
struct Line<'a> {
    metric: &'a str,
    load: Option<&'a str>,
    kernel: &'a str,
    cell: Option<&'a Cell>,
}

/// One metric without its name, or several each with it.
fn table(results: &Results, blocks: &[&Block]) -> String {
    let mut lines = Vec::new();
    let rows = { blocks.iter() }.flat_map(|block| block.rows.iter().map(move |row| (block, row)));
    for (block, row) in rows {
        for (idx, (kernel, cell)) in results.kernels.iter().zip(&row.cells).enumerate() {
            lines.push(Line {
                metric: if idx == 0 { &block.metric.name } else { "" },
                load: row
                    .load
                    .as_deref()
                    .map(|load| if idx == 0 { load } else { "" }),
                kernel: &kernel.label,
                cell: cell.as_ref(),
            });
        }
    }
    let of = |line: &Line<'_>, text: &dyn Fn(&Cell) -> String| {
        line.cell.map_or_else(|| "-".to_string(), text)
    };
    let compared = |line: &Line<'_>, text: &dyn Fn(&Comparison) -> Option<String>| {
        let comparison = line.cell.and_then(|cell| cell.comparison.as_ref());
        comparison.map_or_else(String::new, |c| text(c).unwrap_or_else(|| "-".to_string()))
    };
    Columns::of(&lines)
        .when(
            |_| blocks.len() > 1,
            |table| table.text("metric", |line| line.metric.to_string()),
        )
        .when(
            |line| line.load.is_some(),
            |table| table.text("load", |line| line.load.unwrap_or("-").to_string()),
        )
        .text("kernel", |line| line.kernel.to_string())
        .number("runs", |line| {
            of(line, &|cell| cell.sample.runs.to_string())
        })
        .number("mean", |line| {
            of(line, &|cell| number::format(cell.sample.mean))
        })
        .number("std %", |line| {
            of(line, &|cell| format!("{:.2}", cell.sample.std_percent()))
        })
        .number("change %", |line| {
            compared(line, &|c| c.percent.map(number::change))
        })
        .number(interval_title(), |line| compared(line, &interval))
        .number("p", |line| {
            compared(line, &|c| c.tested.map(|test| format!("{:.3}", test.p)))
        })
        .text("verdict", |line| compared(line, &|c| Some(verdict(c))))
        .layout()
}

const fn interval_title() -> &'static str {
    const { assert!(CONFIDENCE == 95) };
    "95 % interval"
}

/// Where the change lies.
pub(crate) fn interval(comparison: &Comparison) -> Option<String> {
    let (low, high) = comparison.tested?.interval?;
    Some(format!(
        "{} to {}",
        number::change(low),
        number::change(high)
    ))
}

/// The verdict, and whether it is one of certainty.
pub(crate) fn verdict(comparison: &Comparison) -> String {
    let name = comparison.verdict.name();
    if comparison.is_exact() && comparison.verdict != Verdict::Same {
        format!("{name} (exact)")
    } else {
        name.to_string()
    }
}

/// What must be known to read the tables.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    let tested = results.nr_tested();
    let by_chance = tested as f64 * f64::from(100 - CONFIDENCE) / 100.0;
    if by_chance >= 1.0 {
        notes.push(format!(
            "{tested} tests at {CONFIDENCE} %: without any effect, about {by_chance:.0} would still be called different."
        ));
    }
    if results.comparisons().any(Comparison::is_exact) {
        notes.push(
            "exact, same: no run differed from another of its kernel. The seed changes nothing here: the difference holds for this workload to the last digit, and says nothing of others."
                .to_string(),
        );
    }
    if results
        .comparisons()
        .any(|c| c.verdict == Verdict::Untested)
    {
        notes.push("one run: nothing is known of chance; --seeds makes more.".to_string());
    }
    notes
}

/// In a mail's table, where signs say what is better: how the metric is read.
pub(crate) fn sign_note(better: Better) -> &'static str {
    match better {
        Better::Neither => "Positive is more.",
        Better::Higher | Better::Lower => "Positive is better.",
    }
}
