//! Tables as Intel's kernel developers mail them.
//!
//! Model.       A block has a title with a line of `=` below, then case, load, the base as 1.00 with its std in percent,
//!              and the change in percent with the other's std. Columns are padded and separated by tabs. Positive
//!              changes are improvements. There is room for one kernel beside the base; each further one has its own
//!              tables.

use super::number;
use super::plain::{counters, notes, sign_note};
use super::results::{Block, Results, Row};
use fairwind_lab::Verdict;
use std::fmt::Write;

/// Everything.
pub(crate) fn render(results: &Results) -> String {
    let (machine, cpus) = (&results.machine.name, results.machine.nr_cpus());
    let mut text = String::new();
    for (idx, kernel) in results.kernels.iter().enumerate().skip(1) {
        if idx > 1 {
            text.push('\n');
        }
        let (base, with) = (&results.kernels[0].label, &kernel.label);
        _ = writeln!(text, "baseline: {base}");
        _ = writeln!(text, "compare:  {with}");
        _ = writeln!(text, "machine:  {machine}, {cpus} CPUs, simulated");
        _ = writeln!(text, "runs:     {}", results.runs());
        for block in results.blocks.iter().filter(|block| !block.is_counter()) {
            text.push('\n');
            table(&mut text, block, idx);
        }
    }
    text.push_str(&counters(results));
    for note in notes(results) {
        _ = writeln!(text, "\n{note}");
    }
    text
}

fn table(text: &mut String, block: &Block, kernel: usize) {
    let name = &block.workload;
    _ = writeln!(text, "{name}\n{}", "=".repeat(name.chars().count()));
    _ = writeln!(
        text,
        "{:<16}\t{:<8}\tbaseline(std%)\tcompare%( std%)",
        "case", "load"
    );
    for row in &block.rows {
        _ = writeln!(text, "{}", line(block, row, kernel));
    }
    text.push_str(sign_note(block.metric.better));
    let noise = block.rows.iter().filter(|row| {
        let cell = row.cells[kernel].as_ref();
        cell.and_then(|cell| cell.comparison)
            .is_some_and(|c| c.verdict == Verdict::Noise)
    });
    let loads: Vec<&str> = noise
        .map(|row| row.load.as_deref().unwrap_or("this"))
        .collect();
    if !loads.is_empty() {
        _ = write!(text, " Within noise: {}.", loads.join(", "));
    }
    text.push('\n');
}

fn line(block: &Block, row: &Row, kernel: usize) -> String {
    let case = &block.metric.title;
    let load = row.load.as_deref().unwrap_or("-");
    let base = match &row.cells[0] {
        Some(cell) => format!("{:5.2} ({:6.2})", 1.0, cell.sample.std_percent()),
        None => format!("{:>5} ({:>6})", "-", "-"),
    };
    let change = row.improvement(kernel, block.metric.better);
    let change = change.map_or("-".to_string(), number::change);
    let std = row.cells[kernel].as_ref();
    let std = std.map_or("-".to_string(), |cell| {
        format!("{:.2}", cell.sample.std_percent())
    });
    format!("{case:<16}\t{load:<8}\t{base}\t{change:>6} ({std:>6})")
}

#[cfg(test)]
mod tests {
    use super::super::example::{block, results};
    use super::render;
    use fairwind_lab::Better;

    /// The figures of the first block are those that were published for SIS_CACHE.
    #[test]
    fn lines_are_those_of_the_mails() {
        let netperf = [
            ("60-threads", [(100.0, 1.37), (100.04, 1.47)]),
            ("180-threads", [(100.0, 2.03), (101.25, 1.66)]),
            ("240-threads", [(100.0, 41.31), (173.71, 22.02)]),
            ("300-threads", [(100.0, 12.79), (765.38, 15.84)]),
        ];
        let hackbench = [("1-groups", [(2.0, 9.21), (2.1576, 2.03)])];
        let results = results(vec![
            block("netperf", "TCP_RR", Better::Higher, &netperf),
            block("hackbench", "process-pipe", Better::Lower, &hackbench),
        ]);
        let expected = "\
baseline: 6.12
compare:  NO_SIS_UTIL
machine:  1x8x1, 8 CPUs, simulated
runs:     10 a kernel, seeds 1 to 10

netperf
=======
case            \tload    \tbaseline(std%)\tcompare%( std%)
TCP_RR          \t60-threads\t 1.00 (  1.37)\t +0.04 (  1.47)
TCP_RR          \t180-threads\t 1.00 (  2.03)\t +1.25 (  1.66)
TCP_RR          \t240-threads\t 1.00 ( 41.31)\t+73.71 ( 22.02)
TCP_RR          \t300-threads\t 1.00 ( 12.79)\t+665.38 ( 15.84)
Positive is better. Within noise: 60-threads, 180-threads.

hackbench
=========
case            \tload    \tbaseline(std%)\tcompare%( std%)
process-pipe    \t1-groups\t 1.00 (  9.21)\t -7.88 (  2.03)
Positive is better.
";
        assert_eq!(render(&results), expected);
    }
}
