//! A study as a readable table: ours beside what was published.

use super::Done;
use super::show::{head, published};
use crate::compare::number;
use crate::output::HEADING;
use crate::text_table::Columns;
use fairwind_lab::Sample;
use fairwind_lab::study::{Judged, Outcome};
use std::fmt::Write;

/// A row of the table.
struct Line<'a> {
    experiment: &'a str,
    row: &'a Judged,
}

/// Everything.
pub(crate) fn render(done: &Done) -> String {
    let plan = &done.plan;
    let mut text = head(&plan.study);
    _ = writeln!(text, "{HEADING}runs{HEADING:#} {} a kernel", plan.seeds);
    text.push('\n');
    let mut lines = Vec::new();
    for (experiment, rows) in plan.study.experiments.iter().zip(&done.judged) {
        for (idx, row) in rows.iter().enumerate() {
            let experiment = if idx == 0 {
                experiment.name.as_str()
            } else {
                ""
            };
            lines.push(Line { experiment, row });
        }
    }
    let mean = |sample: Option<Sample>| sample.map_or("-".into(), |s| number::format(s.mean));
    let percent = |percent: Option<f64>| percent.map_or("-".into(), number::change);
    let table = Columns::of(&lines)
        .text("experiment", |line| line.experiment.to_string())
        .text("metric", |line| line.row.metric.title.clone())
        .text("unit", |line| line.row.row.unit.clone())
        .text("published", |line| {
            published(line.row.row.published.as_ref())
        })
        .number("change %", |line| {
            percent(line.row.published.map(|published| published.percent))
        })
        .number("ours", |line| mean(line.row.base))
        .number("with", |line| mean(line.row.with))
        .number("std %", |line| {
            let std = { line.row.base.zip(line.row.with) }
                .map(|(a, b)| format!("{:.1}, {:.1}", a.std_percent(), b.std_percent()));
            std.unwrap_or_else(|| "-".to_string())
        })
        .number("change %", |line| {
            percent(line.row.ours.map(|ours| ours.percent))
        })
        .text("verdict", |line| verdict(line.row));
    text.push_str(&table.layout());
    causes(&mut text, done);
    _ = writeln!(text, "\n{}", summary(&done.judged));
    if let Some(sensitivity) = &done.sensitivity {
        _ = write!(text, "\n{}", sensitivity.render(done));
    }
    text
}

/// The verdict, and what of it is noise.
pub(crate) fn verdict(row: &Judged) -> String {
    let published = row.published.is_some_and(|published| published.noise);
    let noise = match (published, row.ours.is_some_and(|ours| ours.noise)) {
        (true, true) => " (both within noise)",
        (true, false) => " (published within noise)",
        (false, true) => " (ours within noise)",
        (false, false) => "",
    };
    format!("{}{noise}", row.verdict())
}

/// Why rows are not reproduced, as far as that is known.
fn causes(text: &mut String, done: &Done) {
    for (experiment, rows) in done.plan.study.experiments.iter().zip(&done.judged) {
        for row in rows {
            if let Some(Outcome::NotReproduced | Outcome::DirectionOnly) = row.outcome {
                let cause = row.row.cause.as_deref().unwrap_or("the cause is not known");
                let (name, metric) = (&experiment.name, &row.metric.title);
                _ = write!(text, "\n{name}, {metric}: {cause}");
            }
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// How many rows have which verdict.
pub(crate) fn summary(judged: &[Vec<Judged>]) -> String {
    let rows = || judged.iter().flatten();
    let mut parts = Vec::new();
    for verdict in [
        "reproduced",
        "direction only",
        "not reproduced",
        "nothing published",
        "not measured",
    ] {
        let n = rows().filter(|row| row.verdict() == verdict).count();
        if n > 0 {
            parts.push(format!("{n} {verdict}"));
        }
    }
    format!("{} rows: {}", rows().count(), parts.join(", "))
}
