//! Tables as AMD's kernel developers mail them.
//!
//! Model.       What was compared comes first; then for each test a head between two rules, and rows in which each kernel
//!              has its mean relative to the base's, the improvement in percent in brackets, and its coefficient of
//!              variation in parentheses. The brackets of a column stand below that of its title.

use super::plain::{counters, notes};
use super::results::{Block, Results, Row};
use crate::kernel::algorithm;
use fairwind_lab::Verdict;
use std::fmt::Write;

/// What follows a kernel's name in the head of its column.
const LEGEND: &str = "[pct imp](CV)";
/// Blanks between columns.
const GAP: usize = 5;
/// A rule.
const RULE: &str = "==================================================================";

/// Everything.
pub(crate) fn render(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = format!(
        "o System information\n\n  - {}, {} CPUs, simulated\n",
        machine.name,
        machine.nr_cpus()
    );
    if !machine.description.is_empty() {
        _ = writeln!(text, "  - {}", machine.description);
    }
    _ = writeln!(text, "  - {}", results.runs());
    text.push_str("\no Kernel information\n\n");
    for (kernel, name) in results.kernels.iter().zip(names(results)) {
        let (release, class) = (kernel.release.point_release(), algorithm(kernel.release));
        _ = write!(text, "{name:<16}:   Linux {release} ({class})");
        for setting in &kernel.choice.settings {
            _ = write!(text, "\n{:20}+ {setting}", "");
        }
        text.push('\n');
    }
    text.push_str("\no Benchmark results\n");
    for block in results.blocks.iter().filter(|block| !block.is_counter()) {
        text.push('\n');
        table(&mut text, results, block);
    }
    text.push_str(&counters(results));
    for note in notes(results) {
        _ = writeln!(text, "\n{note}");
    }
    text
}

/// What the kernels are called in the tables.
fn names(results: &Results) -> Vec<&str> {
    let labels = results.kernels.iter().map(|kernel| kernel.label.as_str());
    std::iter::once("base").chain(labels.skip(1)).collect()
}

fn table(text: &mut String, results: &Results, block: &Block) {
    let unit = match block.metric.unit.as_str() {
        "" => "count",
        unit => unit,
    };
    _ = writeln!(text, "{RULE}");
    _ = writeln!(text, "Test          : {}", block.workload);
    _ = writeln!(
        text,
        "Units         : Normalized {} in {unit}",
        block.metric.title
    );
    _ = writeln!(
        text,
        "Interpretation: {}",
        block.metric.better.interpretation()
    );
    _ = writeln!(text, "Statistic     : AMean");
    _ = writeln!(text, "{RULE}");
    let labels: Vec<&str> = block
        .rows
        .iter()
        .map(|row| row.load.as_deref().unwrap_or("all"))
        .collect();
    let names = names(results);
    let cells: Vec<Vec<[String; 2]>> = block.rows.iter().map(|row| cells(block, row)).collect();
    let mut lines = vec!["Case:".to_string()];
    let label_width = { labels.iter().chain([&"Case:"]) }
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    lines.extend(labels.iter().map(|label| format!("{label:>label_width$}")));
    for (column, name) in names.iter().enumerate() {
        // The bracket of each line stands where the widest part before it ends.
        let mut parts = vec![[name.to_string(), LEGEND.to_string()]];
        parts.extend(cells.iter().map(|row| row[column].clone()));
        let reach = |line: &String, part: &str| line.chars().count() + GAP + part.chars().count();
        let bracket = { lines.iter().zip(&parts) }
            .map(|(line, part)| reach(line, &part[0]))
            .max()
            .unwrap_or(0);
        for (line, [before, after]) in lines.iter_mut().zip(&parts) {
            let width = bracket - line.chars().count();
            _ = write!(line, "{before:>width$}{after}");
        }
    }
    for line in &lines {
        _ = writeln!(text, "{line}");
    }
    noise(text, block, &names);
}

/// `1.00 ` and `[ -0.00]( 2.08)` of each kernel.
fn cells(block: &Block, row: &Row) -> Vec<[String; 2]> {
    let better = block.metric.better;
    let base = row.cells[0].as_ref().map(|cell| cell.sample.mean);
    let cell = |kernel: usize| {
        let cell = row.cells[kernel].as_ref()?;
        let improvement = row.improvement(kernel, better)?;
        let ratio = base.map(|base| {
            if base == 0.0 {
                1.0
            } else {
                cell.sample.mean / base
            }
        })?;
        let cv = cell.sample.std_percent();
        Some([
            format!("{ratio:.2} "),
            format!("[{improvement:6.2}]({cv:5.2})"),
        ])
    };
    let none = || ["- ".to_string(), format!("[{:>6}]({:>5})", "-", "-")];
    (0..row.cells.len())
        .map(|kernel| cell(kernel).unwrap_or_else(none))
        .collect()
}

/// Names the cells whose difference may be chance.
fn noise(text: &mut String, block: &Block, names: &[&str]) {
    for (kernel, name) in names.iter().enumerate().skip(1) {
        let noise = block.rows.iter().filter(|row| {
            let cell = row.cells[kernel].as_ref();
            cell.and_then(|cell| cell.comparison)
                .is_some_and(|c| c.verdict == Verdict::Noise)
        });
        let rows: Vec<&str> = noise
            .map(|row| row.load.as_deref().unwrap_or("all"))
            .collect();
        if !rows.is_empty() {
            _ = writeln!(text, "{name}, within noise: {}", rows.join(", "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{block, results};
    use super::render;
    use fairwind_lab::Better;

    #[test]
    fn lines_are_those_of_the_mails() {
        let hackbench = [
            ("1-groups", [(1.0, 2.36), (1.0147, 3.02)]),
            ("16-groups", [(2.0, 3.44), (1.8048, 1.04)]),
        ];
        let tbench = [("512", [(100.0, 0.2), (288.25, 63.11)])];
        let results = results(vec![
            block("hackbench", "time", Better::Lower, &hackbench),
            block("tbench", "throughput", Better::Higher, &tbench),
        ]);
        let expected = "\
o System information

  - 1x8x1, 8 CPUs, simulated
  - regular machine 1x8x1
  - 10 a kernel, seeds 1 to 10

o Kernel information

base            :   Linux 6.12.117 (EEVDF)
NO_SIS_UTIL     :   Linux 6.12.117 (EEVDF)
                    + NO_SIS_UTIL

o Benchmark results

==================================================================
Test          : hackbench
Units         : Normalized time in units/s
Interpretation: Lower is better
Statistic     : AMean
==================================================================
Case:          base[pct imp](CV)     NO_SIS_UTIL[pct imp](CV)
 1-groups     1.00 [ -0.00]( 2.36)         1.01 [ -1.47]( 3.02)
16-groups     1.00 [ -0.00]( 3.44)         0.90 [  9.76]( 1.04)
NO_SIS_UTIL, within noise: 1-groups

==================================================================
Test          : tbench
Units         : Normalized throughput in units/s
Interpretation: Higher is better
Statistic     : AMean
==================================================================
Case:      base[pct imp](CV)     NO_SIS_UTIL[pct imp](CV)
  512     1.00 [  0.00]( 0.20)         2.88 [188.25](63.11)
";
        assert_eq!(render(&results), expected);
    }
}
