//! Instructions per event.
//!
//! Model.       A job's small size is done once, and once for three times as long. The difference of the instructions,
//!              divided by that of the events, is free of what starting costs. Hardware counters count where the machine
//!              has them (`perf stat`), else valgrind does, which runs each instruction under its eyes; either counts
//!              those of the process and not of the kernel.

use super::process::{command, result, run};
use crate::error::Error;
use fairwind_lab::bench::{Job, Once};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// What counts instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Counter {
    /// Hardware counters, by perf.
    #[serde(rename = "perf")]
    Perf,
    /// Valgrind's cachegrind, without its caches.
    #[serde(rename = "valgrind")]
    Valgrind,
}

const PERF: [&str; 6] = ["perf", "stat", "-x,", "-e", "instructions:u", "--"];
const VALGRIND: [&str; 4] = [
    "valgrind",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--cachegrind-out-file=/dev/null",
];

impl Counter {
    /// What this machine has; none: neither counters nor valgrind.
    pub(crate) fn of_this_machine() -> Option<Counter> {
        let perf = Command::new(PERF[0]).args(&PERF[1..]).arg("true").output();
        if perf.is_ok_and(|output| Counter::Perf.count(&output.stderr).is_some()) {
            return Some(Counter::Perf);
        }
        let valgrind = Command::new(VALGRIND[0]).arg("--version").output();
        valgrind.is_ok().then_some(Counter::Valgrind)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Counter::Perf => "perf",
            Counter::Valgrind => "valgrind",
        }
    }

    /// The number of instructions in what it printed.
    fn count(self, stderr: &[u8]) -> Option<u64> {
        let text = String::from_utf8_lossy(stderr);
        text.lines().find_map(|line| match self {
            Counter::Perf => {
                let (count, event) = line.split_once(',')?;
                event.contains("instructions").then(|| count.parse().ok())?
            }
            Counter::Valgrind => {
                let (_, count) = line
                    .split_once("I   refs:")
                    .or(line.split_once("I refs:"))?;
                count.trim().replace(',', "").parse().ok()
            }
        })
    }

    fn counted(self, job: &Job, part: &str) -> Result<(u64, u64), Error> {
        let wrapper: &[&str] = match self {
            Counter::Perf => &PERF,
            Counter::Valgrind => &VALGRIND,
        };
        let output = run(&mut command(job, part, wrapper)?)?;
        let once: Once = result(job, &output)?;
        let instructions = self
            .count(&output.stderr)
            .ok_or_else(|| Error::failed(format!("{} did not print a count", self.name())))?;
        Ok((instructions, once.events()))
    }

    /// Instructions per event of a job.
    pub(crate) fn instructions_per_event(self, job: &Job) -> Result<f64, Error> {
        let (less, fewer) = self.counted(job, "once")?;
        let (more, events) = self.counted(job, "thrice")?;
        Ok((more - less) as f64 / (events - fewer) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_the_counters_print() {
        let perf = b"junk\n1534902,,instructions:u,1520000,100.00,,\n";
        assert_eq!(Counter::Perf.count(perf), Some(1_534_902));
        let none = b"<not supported>,,instructions:u,0,100.00,,\n";
        assert_eq!(Counter::Perf.count(none), None);
        let valgrind = b"==7== \n==7== I   refs:      1,234,567\n";
        assert_eq!(Counter::Valgrind.count(valgrind), Some(1_234_567));
    }
}
