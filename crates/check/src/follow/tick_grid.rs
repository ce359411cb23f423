//! When each CPU's tick expires.
//!
//! Model.  A CPU's ticks keep their phase for ever, which follows from the kernel's clocks. Where these are not told it is that
//!         which the timer interrupts that charged a task follow most closely. A tick that was late expires next at the first
//!         time of its grid after it was served; a CPU that was idle has none in between.
//! Units.  ns of the trace clock.

use super::phases::logarithm;
use crate::record::{Record, What};
use std::collections::BTreeMap;

/// More interrupts than this do not tell more.
const MAX_TICKS: usize = 256;

/// The ticks of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    period: u64,
    phases: BTreeMap<u32, u64>,
    served: BTreeMap<u32, u64>,
}

impl Ticks {
    pub(super) fn new(records: &[Record], period: u64, known: Option<u64>) -> Ticks {
        let mut interrupts: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for r in records {
            match r.what {
                What::Timer => {
                    last.insert(r.cpu, r.ts % period);
                    continue;
                }
                What::Runtime { .. } if r.irq && !r.softirq => {
                    if let Some(at) = last.get(&r.cpu) {
                        let seen = interrupts.entry(r.cpu).or_default();
                        if seen.len() < MAX_TICKS {
                            seen.push(*at);
                        }
                    }
                }
                _ => {}
            }
            last.remove(&r.cpu);
        }
        let best = |seen: &Vec<u64>| {
            let cost = |&phase: &u64| -> u64 {
                let after = |at: &u64| logarithm((at + period - phase) % period);
                seen.iter().map(after).sum()
            };
            seen.iter().copied().min_by_key(cost)
        };
        let phases = interrupts
            .iter()
            .filter_map(|(&cpu, seen)| Some((cpu, known.or_else(|| best(seen))?)));
        Ticks {
            period,
            phases: phases.collect(),
            served: BTreeMap::new(),
        }
    }

    /// When the tick of a CPU expired that is due at `now`; later than that if none is.
    pub(super) fn expires(&self, cpu: u32, now: u64) -> u64 {
        let (Some(&phase), Some(&served)) = (self.phases.get(&cpu), self.served.get(&cpu)) else {
            return now;
        };
        let into = (served + self.period - phase) % self.period;
        served - into + self.period
    }

    /// All that had expired on a CPU has been served, or its tick starts again.
    pub(super) fn served(&mut self, cpu: u32, now: u64) {
        self.served.insert(cpu, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_tick_expires_on_its_grid() {
        let what = |timer: bool| match timer {
            true => What::Timer,
            false => What::Runtime {
                pid: 1,
                runtime: 1,
                vruntime: None,
            },
        };
        let record = |ts: u64, timer: bool| Record {
            irq: true,
            ..Record::of_task(ts, 0, what(timer))
        };
        let late = |k: u64| k * 4 * MS + 1_000_000 + 1000 * (k % 3);
        let records: Vec<Record> = (10..40)
            .flat_map(|k| [record(late(k), true), record(late(k) + 500, false)])
            .collect();
        let mut ticks = Ticks::new(&records, 4 * MS, None);
        // Of an interrupt before the first that was seen nothing is known.
        assert_eq!(ticks.expires(0, 50 * MS), 50 * MS);
        ticks.served(0, 42 * MS);
        assert_eq!(ticks.expires(0, 50 * MS), 45 * MS);
        ticks.served(0, 45 * MS);
        assert_eq!(ticks.expires(0, 50 * MS), 49 * MS);
    }
}
