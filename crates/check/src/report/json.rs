//! The result of a check for programs.
//!
//! Units. Shares are percent with three decimals, times ns of the trace's clock.

use super::{Report, Shares, class_text};
use crate::gaps::Gap;
use crate::judge::{Class, Disagreement, Measure, Score};
use fairwind_trace::read::{Oddity, ReadStats};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the form: it grows when a field changes its meaning or goes away.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document {
    version: u32,
    kernel: &'static str,
    cpus: usize,
    events: usize,
    span_ns: u64,
    measures: BTreeMap<&'static str, Row>,
    disagreements: Vec<Entry>,
    mended: BTreeMap<&'static str, u64>,
    not_recorded: Vec<Missing>,
    reading: Vec<Loss>,
}

impl Report {
    /// Everything.
    #[must_use]
    pub fn json(&self) -> impl Serialize {
        let rows = { self.scores.iter() }
            .map(|(&measure, score)| (measure.name(), Row::of(self, measure, score)));
        Document {
            version: VERSION,
            kernel: self.kernel.name(),
            cpus: self.nr_cpus,
            events: self.events,
            span_ns: self.span,
            measures: rows.collect(),
            disagreements: self.disagreements.iter().map(Entry::of).collect(),
            mended: self.mended.clone(),
            not_recorded: self.gaps.iter().map(Missing::of).collect(),
            reading: losses(&self.reading),
        }
    }
}

#[derive(Serialize)]
struct Row {
    decisions: u64,
    agree: u64,
    not_asked: u64,
    percent: Option<f64>,
    chance_percent: Option<f64>,
    fifo_percent: Option<f64>,
    least_vruntime_percent: Option<f64>,
    kinds: BTreeMap<&'static str, [u64; 2]>,
    classes: BTreeMap<String, u64>,
}

impl Row {
    fn of(report: &Report, measure: Measure, score: &Score) -> Row {
        let shares = Shares::of(score);
        let percent = |share: Option<u64>| share.map(|share| share as f64 / 1000.0);
        let kinds = { score.kinds.iter() }.map(|(kind, n)| (*kind, [n.decisions, n.agree]));
        let classes = report.classes(measure).into_iter();
        Row {
            decisions: score.count.decisions,
            agree: score.count.agree,
            not_asked: score.not_asked,
            percent: percent(shares.ours),
            chance_percent: percent(shares.chance),
            fifo_percent: percent(shares.fifo),
            least_vruntime_percent: percent(shares.least_vruntime),
            kinds: kinds.collect(),
            classes: classes
                .map(|(class, count)| (class_text(class), count))
                .collect(),
        }
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
