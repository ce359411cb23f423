//! Studies as Markdown: what was published, ours and the verdict, a table a study; docs/studies.md is made of it.

use super::Done;
use super::table::{summary, verdict};
use crate::compare::number;
use std::fmt::Write;

/// A section a study.
pub(crate) fn render(all: &[Done]) -> String {
    let sections: Vec<String> = all.iter().map(section).collect();
    sections.join("\n")
}

fn section(done: &Done) -> String {
    let study = &done.plan.study;
    let mut text = format!(
        "### {}\n\n{}. {} runs a kernel. {}.\n\n",
        study.name,
        study.title,
        done.plan.seeds,
        summary(&done.judged)
    );
    text.push_str("| experiment | metric | published % | ours % | verdict |\n| --- | --- | ---: | ---: | --- |\n");
    for (experiment, rows) in study.experiments.iter().zip(&done.judged) {
        for row in rows {
            let percent = |percent: Option<f64>| percent.map_or("-".to_string(), number::change);
            _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                experiment.name,
                row.metric.title,
                percent(row.published.map(|published| published.percent)),
                percent(row.ours.map(|ours| ours.percent)),
                verdict(row)
            );
        }
    }
    text
}
