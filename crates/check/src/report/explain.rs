//! Disagreements for people.

use super::{Report, class_text};
use crate::judge::Measure;
use std::fmt::Write;

const NS_PER_S: u64 = 1_000_000_000;
/// Lines are no longer than this where they can be broken.
const WIDTH: usize = 110;

impl Report {
    /// The first disagreements: when, where, about what and why; then both sides.
    #[must_use]
    pub fn explain(&self, limit: usize, only: Option<Measure>) -> String {
        let mut text = String::new();
        let chosen = { self.disagreements.iter() }.filter(|d| only.is_none_or(|m| m == d.measure));
        for d in chosen.take(limit) {
            let _ = writeln!(
                text,
                "{}.{:09} cpu{} {} ({}), {}\n{}",
                d.ts / NS_PER_S,
                d.ts % NS_PER_S,
                d.cpu,
                d.measure.name(),
                d.kind,
                class_text(d.class),
                broken(&d.text)
            );
        }
        text
    }
}

/// A text with a line for each part between semicolons, and for each group of CPUs, in which items after commas that do
/// not fit go on the next line.
fn broken(text: &str) -> String {
    let mut lines = String::new();
    for part in text.split("; ") {
        for (nth, group) in part.split(" | ").enumerate() {
            let mut line = if nth == 0 { "  " } else { "    " }.to_owned();
            let mut items = group.split(", ").peekable();
            while let Some(item) = items.next() {
                if line.trim_start() != "" && line.len() + item.len() > WIDTH {
                    lines += line.trim_end();
                    lines.push('\n');
                    line = "    ".to_owned();
                }
                line += item;
                if items.peek().is_some() {
                    line += ", ";
                }
            }
            lines += &line;
            lines.push('\n');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_items() {
        let cpus: Vec<String> = (0..12).map(|cpu| format!("cpu{cpu} idle load 0")).collect();
        let text = format!("a:1, b; groups [x | y]; {}", cpus.join(", "));
        let expected = "  a:1, b\n  groups [x\n    y]\n  \
            cpu0 idle load 0, cpu1 idle load 0, cpu2 idle load 0, cpu3 idle load 0, cpu4 idle load 0, cpu5 idle load 0,\n    \
            cpu6 idle load 0, cpu7 idle load 0, cpu8 idle load 0, cpu9 idle load 0, cpu10 idle load 0,\n    \
            cpu11 idle load 0\n";
        assert_eq!(broken(&text), expected);
    }
}
