//! `fairwind study list` and `show`.

use crate::output::HEADING;
use crate::text_table::Columns;
use fairwind_lab::study::{Published, Study, studies};
use std::fmt::Write;

/// A line for each study.
pub(crate) fn list() -> String {
    Columns::of(&studies())
        .text("study", |study| study.name.clone())
        .number("rows", |study| nr_rows(study).to_string())
        .text("about", |study| study.title.clone())
        .layout()
}

fn nr_rows(study: &Study) -> usize {
    study.experiments.iter().map(|e| e.rows.len()).sum()
}

/// All that is known of a study before it is run.
pub(crate) fn show(study: &Study) -> String {
    let mut text = head(study);
    _ = writeln!(
        text,
        "{HEADING}runs{HEADING:#} {} a kernel; {} with --quick",
        study.seeds, study.quick.seeds
    );
    for experiment in &study.experiments {
        _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", experiment.name);
        let with = match &experiment.with {
            Some(with) => format!(", with {with}"),
            None => String::new(),
        };
        _ = writeln!(
            text,
            "{} on {}: kernel {}{with}",
            experiment.workload, experiment.machine, experiment.base
        );
        let table = Columns::of(&experiment.rows)
            .text("metric", |row| match &row.against {
                Some(against) => format!("{} / {against}", row.metric),
                None => row.metric.clone(),
            })
            .text("unit", |row| row.unit.clone())
            .text("published", |row| published(row.published.as_ref()));
        text.push_str(&table.layout());
    }
    text
}

/// What is said of a study before its rows.
pub(crate) fn head(study: &Study) -> String {
    let mut text = String::new();
    _ = writeln!(text, "{HEADING}{}{HEADING:#}: {}", study.name, study.title);
    _ = writeln!(text, "\n{HEADING}published{HEADING:#} {}", study.published);
    _ = writeln!(text, "{HEADING}kernel{HEADING:#} {}", study.kernel);
    _ = writeln!(text, "{HEADING}machine{HEADING:#} {}", study.machine);
    for note in &study.notes {
        _ = writeln!(text, "{HEADING}note{HEADING:#} {note}");
    }
    text
}

/// Published figures as they are in the file.
pub(crate) fn published(published: Option<&Published>) -> String {
    let join = |values: &[f64]| {
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        texts.join(", ")
    };
    match published {
        None => "-".to_string(),
        Some(Published::Numbers { base, with }) => {
            format!("{} -> {}", join(base.values()), join(with.values()))
        }
        Some(Published::Improvement {
            improvement_percent,
            std_percent,
        }) => {
            let std = std_percent.map(|(base, with)| format!(" (std {base} %, {with} %)"));
            format!("{improvement_percent:+} %{}", std.unwrap_or_default())
        }
    }
}
