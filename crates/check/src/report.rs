//! The result of a check, and its forms.
//!
//! Units. Shares are thousandths of a percent, rounded down, so that 100 % means all.

mod explain;
mod json;
mod table;

use crate::gaps::Gap;
use crate::judge::{Class, Count, Disagreement, Judge, Measure, Score};
use crate::record::Record;
use crate::recording::Recording;
use fairwind_sched::Release;
use fairwind_trace::read::ReadStats;
use std::collections::BTreeMap;

/// Thousandths of a percent in a whole.
const WHOLE: u64 = 100_000;

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The kernel that ours was.
    pub kernel: Release,
    /// How many CPUs the machine has.
    pub nr_cpus: usize,
    /// Events that were followed.
    pub events: usize,
    /// From the first of them to the last, ns.
    pub span: u64,
    /// The measures that had a decision.
    pub scores: BTreeMap<Measure, Score>,
    /// Every disagreement, by time of the record that showed it.
    pub disagreements: Vec<Disagreement>,
    /// Where ours had to be brought in line, because the trace did not tell how it came about.
    pub mended: BTreeMap<&'static str, u64>,
    /// Facts that the recording lacks.
    pub gaps: Vec<Gap>,
    /// What was lost or could not be read.
    pub reading: ReadStats,
}

/// Agreement in thousandths of a percent, rounded down; `None` without decisions.
#[must_use]
pub fn share(count: Count) -> Option<u64> {
    (count.agree * WHOLE).checked_div(count.decisions)
}

/// A share as percent with three decimals.
#[must_use]
pub fn percent(share: u64) -> String {
    format!("{}.{:03}", share / 1000, share % 1000)
}

/// What a measure, or a simple rule beside it, agrees on.
struct Shares {
    ours: Option<u64>,
    chance: Option<u64>,
    fifo: Option<u64>,
    least_vruntime: Option<u64>,
}

impl Shares {
    fn of(score: &Score) -> Shares {
        let decisions = score.count.decisions;
        let of_agree = |agree| share(Count { decisions, agree });
        // Numbers are not guessed: there is nothing to say of chance.
        let chance = Some(score.chance_ppm / 10).filter(|_| score.chance_ppm != 0);
        Shares {
            ours: of_agree(score.count.agree),
            chance: chance.and_then(|chance| chance.checked_div(decisions)),
            fifo: score.fifo.and_then(of_agree),
            least_vruntime: score.least_vruntime.and_then(of_agree),
        }
    }
}

impl Report {
    pub(crate) fn new(recording: &Recording, judge: Judge) -> Report {
        let Judge {
            scores,
            mut disagreements,
            mended,
            ..
        } = judge;
        for disagreement in &mut disagreements {
            let ts = &mut disagreement.ts;
            *ts = ts.saturating_add_signed(recording.run_queue_offset.saturating_neg());
        }
        let time_of = |record: Option<&Record>| record.map_or(0, |record| record.ts);
        let (first, last) = (recording.records.first(), recording.records.last());
        Report {
            kernel: recording.facts.profile.release,
            nr_cpus: recording.facts.topology.nr_cpus(),
            events: recording.records.len(),
            span: time_of(last).saturating_sub(time_of(first)),
            scores,
            disagreements,
            mended,
            gaps: recording.gaps.clone(),
            reading: recording.stats.clone(),
        }
    }

    /// Agreement on a measure in thousandths of a percent; `None` without decisions.
    #[must_use]
    pub fn share(&self, measure: Measure) -> Option<u64> {
        share(self.scores.get(&measure)?.count)
    }

    /// How many disagreements of a measure are of each class.
    #[must_use]
    pub fn classes(&self, measure: Measure) -> BTreeMap<Class, u64> {
        let mut classes = BTreeMap::new();
        for disagreement in self.disagreements.iter().filter(|d| d.measure == measure) {
            *classes.entry(disagreement.class).or_default() += 1;
        }
        classes
    }
}

fn class_text(class: Class) -> String {
    match class {
        Class::NotRecorded(fact) => format!("not recorded: {fact}"),
        _ => class.name().to_owned(),
    }
}
