//! The result of a check for people.

use super::{Report, Shares, class_text, percent};
use crate::gaps::Gap;
use crate::judge::Measure;
use std::collections::BTreeMap;
use std::fmt::Write;

const NS_PER_MS: u64 = 1_000_000;

impl Report {
    /// What was checked, the measures, what the disagreements are, and what the recording lacks.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = self.heading();
        let _ = writeln!(
            text,
            "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>18}",
            "measure", "decisions", "agree", "%", "chance %", "fifo %", "least vruntime %"
        );
        for (measure, score) in &self.scores {
            let cell = |share: Option<u64>| share.map_or_else(|| "-".to_owned(), percent);
            let shares = Shares::of(score);
            let _ = writeln!(
                text,
                "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>18}",
                measure.name(),
                score.count.decisions,
                score.count.agree,
                cell(shares.ours),
                cell(shares.chance),
                cell(shares.fifo),
                cell(shares.least_vruntime),
            );
        }
        text + &self.causes() + &self.lacks() + &self.reading.table()
    }

    fn heading(&self) -> String {
        let release = self.kernel.name();
        let cpus = if self.nr_cpus == 1 { "CPU" } else { "CPUs" };
        let ms = self.span / NS_PER_MS;
        format!(
            "kernel     {release}\nrecording  {} {cpus}, {}.{:03} s, {} events\n\n",
            self.nr_cpus,
            ms / 1000,
            ms % 1000,
            self.events
        )
    }

    /// How many disagreements of each measure have which cause, the most frequent first.
    fn causes(&self) -> String {
        let mut text = String::new();
        for &measure in self.scores.keys() {
            let mut causes: Vec<_> = self.classes(measure).into_iter().collect();
            causes.sort_by_key(|&(class, count)| (std::cmp::Reverse(count), class));
            for (class, count) in causes {
                let _ = writeln!(
                    text,
                    "{:<12}{count:>10}  {}",
                    measure.name(),
                    class_text(class)
                );
            }
        }
        if text.is_empty() {
            return text;
        }
        format!("\ndisagreements\n{text}")
    }

    /// What could not be asked, and what had to be guessed.
    fn lacks(&self) -> String {
        let mut text = String::new();
        let not_asked: BTreeMap<&Measure, u64> = { self.scores.iter() }
            .map(|(measure, score)| (measure, score.not_asked))
            .filter(|&(_, count)| count > 0)
            .collect();
        for (measure, count) in not_asked {
            let _ = writeln!(text, "not asked: {count} {}", measure.name());
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
        if text.is_empty() {
            return text;
        }
        format!("\n{text}")
    }
}
