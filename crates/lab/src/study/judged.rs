//! The rows of an experiment after its runs: ours beside what was published.

use super::file::{Experiment, Row};
use super::verdict::{Effect, Outcome, judge, judge_sides};
use crate::experiment::Run;
use crate::metric::Metric;
use crate::sample::{Comparison, Sample, compare};

/// A row, and what came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The published row.
    pub row: Row,
    /// Its metric.
    pub metric: Metric,
    /// The published effect; none: nothing was published.
    pub published: Option<Effect>,
    /// Ours without the change; none: no run measured it.
    pub base: Option<Sample>,
    /// Ours with it.
    pub with: Option<Sample>,
    /// How they differ.
    pub comparison: Option<Comparison>,
    /// Our effect.
    pub ours: Option<Effect>,
    /// Whether they agree; none: ours is not known, or nothing was published.
    pub outcome: Option<Outcome>,
}

impl Judged {
    /// The verdict in words.
    pub fn verdict(&self) -> &'static str {
        match (self.outcome, self.ours, self.published) {
            (Some(outcome), ..) => outcome.name(),
            (None, Some(_), None) => "nothing published",
            (None, ..) => "not measured",
        }
    }
}

/// Judges all rows of an experiment: `metric` knows metrics by name, `base` and `with` are the runs under either kernel. A
/// row that compares two metrics takes both from `base`.
pub fn judge_rows(
    experiment: &Experiment,
    metric: impl Fn(&str) -> Option<Metric>,
    base: &[&Run],
    with: &[&Run],
) -> Vec<Judged> {
    let of = |runs: &[&Run], name: &str| {
        let values: Vec<f64> = { runs.iter() }
            .filter_map(|run| run.measures.get(name))
            .collect();
        Sample::of(&values)
    };
    let judged = |row: &Row| {
        let metric = metric(&row.metric)?;
        let published = row.published.as_ref().map(|p| p.effect(metric.better));
        let before = of(base, &row.metric);
        let after = match &row.against {
            Some(against) => of(base, against),
            None => of(with, &row.metric),
        };
        let comparison = before
            .zip(after)
            .map(|(before, after)| compare(&before, &after, metric.better));
        let ours = comparison.and_then(|c| Effect::ours(&c, metric.better.sign()));
        let outcome = row
            .published
            .as_ref()
            .zip(ours)
            .and_then(|(figures, ours)| {
                let published = figures.effect(metric.better);
                let Some(factor) = row.within_factor else {
                    return Some(judge(published, figures.noise_percent(), ours));
                };
                let sides = (before?.mean, after?.mean);
                Some(judge_sides(figures.means()?, sides, factor))
            });
        Some(Judged {
            row: row.clone(),
            published,
            base: before,
            with: after,
            comparison,
            ours,
            outcome,
            metric,
        })
    };
    experiment.rows.iter().filter_map(judged).collect()
}
