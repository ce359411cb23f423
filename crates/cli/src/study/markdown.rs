//! Studies as Markdown: what was published, ours and the verdict, a table a study; docs/studies.md is made of it.

use super::Done;
use super::sensitivity::Constant;
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
    if let Some(sensitivity) = &done.sensitivity {
        text.push_str(&sensitive_to(&sensitivity.constants));
    }
    text
}

/// The constants that some verdict hangs on.
fn sensitive_to(constants: &[Constant]) -> String {
    let changes = |constant: &&Constant| {
        !constant.half.changed.is_empty() || !constant.double.changed.is_empty()
    };
    let some: Vec<&Constant> = constants.iter().filter(changes).collect();
    let mut text = format!(
        "\n{} of {} constants, halved and doubled, change no verdict.\n",
        constants.len() - some.len(),
        constants.len()
    );
    if !some.is_empty() {
        text.push_str("\n| constant | reproduced, halved | verdicts changed | reproduced, doubled | verdicts changed |\n| --- | ---: | ---: | ---: | ---: |\n");
    }
    for Constant { name, half, double } in some {
        _ = writeln!(
            text,
            "| `{name}` | {} | {} | {} | {} |",
            half.reproduced,
            half.changed.len(),
            double.reproduced,
            double.changed.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sensitivity::{Changed, Tried};
    use super::*;

    fn tried(reproduced: usize, changed: usize) -> Tried {
        let row = |_| Changed {
            experiment: "e".to_string(),
            metric: "m".to_string(),
            verdict: "direction only",
        };
        Tried {
            reproduced,
            changed: (0..changed).map(row).collect(),
            most_points: 0.0,
        }
    }

    #[test]
    fn only_constants_that_change_a_verdict_are_listed() {
        let constants = [
            ("kernel.tick_ns", tried(4, 0), tried(4, 0)),
            ("kernel.wakeup_ns", tried(3, 1), tried(4, 0)),
        ]
        .map(|(name, half, double)| Constant { name, half, double });
        let text = sensitive_to(&constants);
        assert!(text.starts_with("\n1 of 2 constants, halved and doubled, change no verdict.\n\n"));
        assert!(
            text.ends_with("| `kernel.wakeup_ns` | 3 | 1 | 4 | 0 |\n"),
            "{text}"
        );
        assert!(!text.contains("tick"), "{text}");
    }
}
