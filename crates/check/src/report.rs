//! The result of a check, and its forms.
//!
//! Units. Shares are thousandths of a percent, rounded down, so that 100 % means all.

use crate::gaps::Gap;
use crate::judge::{Class, Count, Disagreement, Judge, Measure, Score};
use crate::recording::Recording;
use fairwind_sched::Release;
use fairwind_trace::read::{Oddity, ReadStats};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Thousandths of a percent in a whole.
const WHOLE: u64 = 100_000;

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// The kernel that ours was.
    pub kernel: Release,
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

impl Report {
    pub(crate) fn new(recording: &Recording, judge: Judge) -> Report {
        let Judge {
            scores,
            mut disagreements,
            mended,
        } = judge;
        for disagreement in &mut disagreements {
            let ts = &mut disagreement.ts;
            *ts = ts.saturating_add_signed(recording.run_queue_offset.saturating_neg());
        }
        Report {
            kernel: recording.facts.profile.release,
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

    /// A table a person reads.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>18}  disagreements\n",
            "measure", "decisions", "agree", "%", "chance %", "fifo %", "least vruntime %"
        );
        for (&measure, score) in &self.scores {
            let row = Row::of(self, measure, score);
            let cell = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            let _ = writeln!(
                text,
                "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>18}  {}",
                measure.name(),
                row.decisions,
                row.agree,
                cell(&row.percent),
                cell(&row.chance_percent),
                cell(&row.fifo_percent),
                cell(&row.least_vruntime_percent),
                row.causes(),
            );
        }
        for (&measure, score) in self.scores.iter().filter(|(_, score)| score.not_asked > 0) {
            let _ = writeln!(text, "not asked: {} {}", score.not_asked, measure.name());
        }
        for (what, count) in &self.mended {
            let _ = writeln!(text, "not told by the trace: {count} {what}");
        }
        for gap in &self.gaps {
            let Gap {
                fact,
                instead,
                supply,
            } = gap;
            let _ = writeln!(text, "not recorded: {fact}: {instead} ({supply})");
        }
        text + &self.reading.table()
    }

    /// The first disagreements, one a line.
    #[must_use]
    pub fn explain(&self, limit: usize, only: Option<Measure>) -> String {
        let mut text = String::new();
        let chosen = self
            .disagreements
            .iter()
            .filter(|d| only.is_none_or(|m| m == d.measure));
        for d in chosen.take(limit) {
            let _ = writeln!(
                text,
                "{}.{:09} cpu{} {} ({}), {}: {}",
                d.ts / 1_000_000_000,
                d.ts % 1_000_000_000,
                d.cpu,
                d.measure.name(),
                d.kind,
                class_text(d.class),
                d.text
            );
        }
        text
    }

    /// The form that programs read.
    #[must_use]
    pub fn json(&self) -> impl Serialize {
        let rows = self
            .scores
            .iter()
            .map(|(&measure, score)| (measure.name(), Row::of(self, measure, score)));
        Document {
            kernel: self.kernel.name(),
            measures: rows.collect(),
            disagreements: self.disagreements.iter().map(Entry::of).collect(),
            mended: self.mended.clone(),
            not_recorded: self.gaps.iter().map(Missing::of).collect(),
            reading: losses(&self.reading),
        }
    }
}

/// What reading counted, by what it is.
fn losses(stats: &ReadStats) -> Vec<Loss> {
    let counted = Oddity::ALL.iter().filter(|what| stats.count(**what) > 0);
    counted
        .map(|&what| Loss {
            severity: what.severity().name(),
            count: stats.count(what),
            what: what.text(),
        })
        .collect()
}

fn class_text(class: Class) -> String {
    match class {
        Class::NotRecorded(fact) => format!("not recorded: {fact}"),
        _ => class.name().to_owned(),
    }
}

#[derive(Serialize)]
struct Document {
    kernel: &'static str,
    measures: BTreeMap<&'static str, Row>,
    disagreements: Vec<Entry>,
    mended: BTreeMap<&'static str, u64>,
    not_recorded: Vec<Missing>,
    reading: Vec<Loss>,
}

#[derive(Serialize)]
struct Missing {
    fact: &'static str,
    instead: &'static str,
    supply: &'static str,
}

impl Missing {
    fn of(gap: &Gap) -> Missing {
        let Gap {
            fact,
            instead,
            supply,
        } = *gap;
        Missing {
            fact,
            instead,
            supply,
        }
    }
}

#[derive(Serialize)]
struct Loss {
    severity: &'static str,
    count: u64,
    what: &'static str,
}

#[derive(Serialize)]
struct Row {
    decisions: u64,
    agree: u64,
    not_asked: u64,
    percent: Option<String>,
    chance_percent: Option<String>,
    fifo_percent: Option<String>,
    least_vruntime_percent: Option<String>,
    kinds: BTreeMap<&'static str, [u64; 2]>,
    classes: BTreeMap<String, u64>,
}

impl Row {
    fn of(report: &Report, measure: Measure, score: &Score) -> Row {
        let decisions = score.count.decisions;
        let of_agree = |agree| share(Count { decisions, agree }).map(percent);
        let chance = (score.chance_ppm != 0)
            .then(|| (score.chance_ppm / 10).checked_div(decisions).map(percent));
        Row {
            decisions,
            agree: score.count.agree,
            not_asked: score.not_asked,
            percent: of_agree(score.count.agree),
            chance_percent: chance.flatten(),
            fifo_percent: score.fifo.and_then(of_agree),
            least_vruntime_percent: score.least_vruntime.and_then(of_agree),
            kinds: score
                .kinds
                .iter()
                .map(|(kind, n)| (*kind, [n.decisions, n.agree]))
                .collect(),
            classes: report
                .classes(measure)
                .into_iter()
                .map(|(class, count)| (class_text(class), count))
                .collect(),
        }
    }

    fn causes(&self) -> String {
        let causes: Vec<String> = self
            .classes
            .iter()
            .map(|(class, count)| format!("{count} {class}"))
            .collect();
        causes.join(", ")
    }
}

#[derive(Serialize)]
struct Entry {
    time_ns: u64,
    cpu: u32,
    measure: &'static str,
    kind: &'static str,
    class: &'static str,
    fact: Option<&'static str>,
    text: String,
}

impl Entry {
    fn of(d: &Disagreement) -> Entry {
        Entry {
            time_ns: d.ts,
            cpu: d.cpu,
            measure: d.measure.name(),
            kind: d.kind,
            class: d.class.name(),
            fact: match d.class {
                Class::NotRecorded(fact) => Some(fact),
                _ => None,
            },
            text: d.text.clone(),
        }
    }
}
