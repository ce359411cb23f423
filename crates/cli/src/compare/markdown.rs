//! Tables as Markdown.

use super::number;
use super::plain::{counters, interval, notes, verdict};
use super::results::{Block, Results};
use fairwind_lab::Comparison;
use std::fmt::Write;

/// Everything.
pub(crate) fn render(results: &Results) -> String {
    let (machine, cpus) = (&results.machine.name, results.machine.nr_cpus());
    let mut text = format!("{machine}, {cpus} CPUs, simulated; {}.\n", results.runs());
    for block in results.blocks.iter().filter(|block| !block.is_counter()) {
        let better = block.metric.better.interpretation().to_lowercase();
        _ = write!(
            text,
            "\n**{}**: {}, {better}\n\n",
            block.workload,
            block.title()
        );
        table(&mut text, results, block);
    }
    text.push_str(&counters(results));
    for note in notes(results) {
        _ = writeln!(text, "\n{note}");
    }
    text
}

fn table(text: &mut String, results: &Results, block: &Block) {
    text.push_str("| load | kernel | mean | std % | change % | 95 % interval | verdict |\n");
    text.push_str("| --- | --- | ---: | ---: | ---: | ---: | --- |\n");
    for row in &block.rows {
        for (kernel, cell) in results.kernels.iter().zip(&row.cells) {
            let load = row.load.as_deref().unwrap_or("-");
            _ = write!(text, "| {load} | {} |", kernel.label);
            let Some(cell) = cell else {
                text.push_str(" - | - | - | - | - |\n");
                continue;
            };
            let (mean, std) = (number::format(cell.sample.mean), cell.sample.std_percent());
            _ = write!(text, " {mean} | {std:.2} |");
            let of = |what: &dyn Fn(&Comparison) -> Option<String>| {
                { cell.comparison.as_ref() }
                    .map_or(String::new(), |c| what(c).unwrap_or("-".into()))
            };
            let change = of(&|c| c.percent.map(number::change));
            let (interval, verdict) = (of(&interval), of(&|c| Some(verdict(c))));
            _ = writeln!(text, " {change} | {interval} | {verdict} |");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{block, results};
    use super::render;
    use fairwind_lab::Better;

    /// The interval: t of 18 degrees of freedom is 2.100922 at 97.5 %; sqrt(1/10 + 1/10) × 1 = 0.447214.
    #[test]
    fn a_table_has_its_rule_and_all_columns() {
        let rows = [("as-is", [(100.0, 1.0), (102.0, 100.0 / 102.0)])];
        let results = results(vec![block("web", "loops", Better::Higher, &rows)]);
        let expected = "\
1x8x1, 8 CPUs, simulated; 10 a kernel, seeds 1 to 10.

**web**: loops (units/s), higher is better

| load | kernel | mean | std % | change % | 95 % interval | verdict |
| --- | --- | ---: | ---: | ---: | ---: | --- |
| as-is | 6.12 | 100 | 1.00 |  |  |  |
| as-is | NO_SIS_UTIL | 102 | 0.98 | +2.00 | +1.06 to +2.94 | better |
";
        assert_eq!(render(&results), expected);
    }
}
