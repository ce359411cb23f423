//! What the verdicts owe to each constant of the machine: each is halved, and doubled, and everything is run again.

use super::Done;
use super::plan::{Plan, TIMES};
use crate::compare::number;
use crate::error::Error;
use crate::output::HEADING;
use crate::text_table::Columns;
use crate::{interrupt, runs};
use fairwind_lab::Store;
use fairwind_lab::study::{Judged, Outcome};
use serde::Serialize;
use std::num::NonZero;

/// All constants.
#[derive(Debug)]
pub(crate) struct Sensitivity {
    /// A line for each that was tried.
    pub(crate) constants: Vec<Constant>,
}

/// One constant.
#[derive(Debug, Serialize)]
pub(crate) struct Constant {
    /// Its name, as 'fairwind machine show --numbers' has it.
    pub(crate) name: &'static str,
    /// Halved.
    pub(crate) half: Tried,
    /// Doubled.
    pub(crate) double: Tried,
}

/// What became of the rows.
#[derive(Debug, Serialize)]
pub(crate) struct Tried {
    /// Rows that are reproduced.
    pub(crate) reproduced: usize,
    /// Rows whose verdict is another one.
    pub(crate) changed: Vec<Changed>,
    /// By how much the effect of the row changed whose effect changed most, in points.
    pub(crate) most_points: f64,
}

/// A row whose verdict is another one.
#[derive(Debug, Serialize)]
pub(crate) struct Changed {
    /// Its experiment.
    pub(crate) experiment: String,
    /// Its metric.
    pub(crate) metric: String,
    /// The verdict now.
    pub(crate) verdict: &'static str,
}

impl Sensitivity {
    /// Runs the study with each constant changed.
    pub(crate) fn of(
        plan: &Plan,
        judged: &[Vec<Judged>],
        jobs: Option<NonZero<usize>>,
        store: Option<&Store>,
    ) -> Result<Sensitivity, Error> {
        let mut constants = Vec::new();
        for name in plan.constants() {
            let mut tried = Vec::new();
            for times in TIMES {
                let runs = runs::run(&plan.experiments_with(name, times), jobs, store)?;
                tried.push(Tried::of(plan, judged, &plan.judge(&runs)));
            }
            if interrupt::asked() {
                break;
            }
            let [half, double] = tried.try_into().expect("a constant is tried twice");
            constants.push(Constant { name, half, double });
        }
        Ok(Sensitivity { constants })
    }

    /// As a table.
    pub(crate) fn render(&self, done: &Done) -> String {
        let rows: usize = done.judged.iter().map(Vec::len).sum();
        let mut text = format!(
            "{HEADING}Sensitivity{HEADING:#} each constant halved and doubled: how many of {rows} rows are reproduced, how many verdicts change, and by how many points the effect that changes most\n"
        );
        let cell = |tried: &Tried| {
            let changed = tried.changed.len();
            let points = number::change(tried.most_points);
            format!("{} ({changed} changed, {points})", tried.reproduced)
        };
        let table = Columns::of(&self.constants)
            .text("constant", |constant| constant.name.to_string())
            .text("halved", |constant| cell(&constant.half))
            .text("doubled", |constant| cell(&constant.double));
        text.push_str(&table.layout());
        text
    }
}

impl Tried {
    fn of(plan: &Plan, before: &[Vec<Judged>], after: &[Vec<Judged>]) -> Tried {
        let mut tried = Tried {
            reproduced: 0,
            changed: Vec::new(),
            most_points: 0.0,
        };
        let rows = { plan.study.experiments.iter() }
            .zip(before.iter().zip(after))
            .flat_map(|(experiment, (a, b))| a.iter().zip(b).map(move |rows| (experiment, rows)));
        for (experiment, (before, after)) in rows {
            tried.reproduced += usize::from(after.outcome == Some(Outcome::Reproduced));
            if after.outcome != before.outcome {
                tried.changed.push(Changed {
                    experiment: experiment.name.clone(),
                    metric: after.metric.name.clone(),
                    verdict: after.verdict(),
                });
            }
            if let Some((before, after)) = before.ours.zip(after.ours) {
                let points = after.percent - before.percent;
                if points.abs() > tried.most_points.abs() {
                    tried.most_points = points;
                }
            }
        }
        tried
    }
}
