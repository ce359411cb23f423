//! When a CPU is chosen for a task that stays where it is, or is new.
//!
//! Model. A wakeup and a fork are recorded before the CPU is chosen. The record that a woken task leaves its CPU ends the choice;
//!        where it stays, none does, and for a new task only the next one of its CPU that is of no interrupt. That takes as long
//!        as usual, and the queues of other CPUs are read one after the other meanwhile: ours is asked when half of it is over.
//! Units. ns of the trace clock.
//! Source. kernel/sched/core.c `try_to_wake_up`, `wake_up_new_task` @ 6.1, 6.12.

use super::ahead::Ahead;
use crate::median::median;
use crate::record::{Record, What};
use std::collections::BTreeMap;

/// How long after the record before it a CPU is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choosing {
    /// For a task that is woken and stays.
    pub(super) of_wakeup: u64,
    /// For a new task.
    pub(super) of_fork: u64,
}

impl Choosing {
    pub(super) fn usual(
        records: &[Record],
        ahead: &BTreeMap<usize, Ahead>,
        next_on_cpu: &[Option<usize>],
    ) -> Choosing {
        let takes = |from: usize, to: usize| records[to].ts.saturating_sub(records[from].ts);
        let left = ahead.iter().filter_map(|(&waking, ahead)| {
            let migrate = ahead
                .migrate
                .filter(|_| next_on_cpu[waking] == ahead.migrate)?;
            Some(takes(waking, migrate))
        });
        let is_fork = |r: &Record| matches!(r.what, What::Fork { .. });
        let started = records.iter().zip(next_on_cpu).enumerate();
        let started = started.filter_map(|(fork, (r, &next))| {
            let next = next.filter(|&next| is_fork(r) && !records[next].irq)?;
            Some(takes(fork, next))
        });
        Choosing {
            of_wakeup: median(left.collect()).unwrap_or(0) / 2,
            of_fork: median(started.collect()).unwrap_or(0) / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ahead;

    #[test]
    fn half_of_what_it_usually_takes() {
        let waking = || What::Waking {
            pid: 7,
            comm: String::new(),
            prio: 120,
            slept_on: 0,
        };
        let migrate = || What::Migrate {
            pid: 7,
            orig: 0,
            dest: 1,
        };
        let wakeup = || What::Wakeup {
            pid: 7,
            prio: 120,
            target: 1,
        };
        let fork = || What::Fork {
            parent: 7,
            child: 8,
            comm: String::new(),
        };
        let wakeup_new = || What::WakeupNew {
            pid: 8,
            prio: 120,
            target: 0,
        };
        let mut records = Vec::new();
        // An interrupt comes between in the last one of each, which tells nothing.
        for (begins, takes, interrupted) in [(100, 6, false), (200, 8, false), (300, 40, true)] {
            records.push(Record::of_task(begins, 0, waking()));
            if interrupted {
                records.push(Record::of_task(begins + 1, 0, What::Timer));
            }
            records.push(Record::of_task(begins + takes, 0, migrate()));
            records.push(Record::of_task(begins + takes + 1, 0, wakeup()));
            records.push(Record::of_task(begins + 50, 0, fork()));
            if interrupted {
                let timer = Record::of_task(begins + 51, 0, What::Timer);
                records.push(Record { irq: true, ..timer });
            }
            records.push(Record::of_task(begins + 50 + 3 * takes, 0, wakeup_new()));
        }
        let ahead = ahead::wakeups(&records);
        let choosing = Choosing::usual(&records, &ahead, &ahead::next_on_cpu(&records));
        let expected = Choosing {
            of_wakeup: 4,
            of_fork: 12,
        };
        assert_eq!(choosing, expected);
    }
}
