//! How a wakeup or a balancing pass goes on: read ahead, since what a kernel did shows only after it began.
//!
//! Model. `sched_waking` is written before the CPU is chosen; `sched_migrate_task` right after it, by
//!        the waker, if the task leaves its CPU; `sched_wakeup` once the task is queued, by the waker
//!        or by the CPU that it goes to. A probe of `place_entity` shows whether it was off its queue.

use super::requeues::ENQUEUE_WAKEUP;
use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use std::collections::{BTreeMap, BTreeSet};

/// How a wakeup goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Index of the record that the task leaves its CPU, if it does.
    pub(super) migrate: Option<usize>,
    /// Where.
    pub(super) target: u32,
    /// By that CPU itself, which the waker left it to.
    pub(super) remote: bool,
    /// A probe shows that the task is queued anew, and so was not queued.
    pub(super) anew: bool,
}

/// Every wakeup that is seen to its end, by the index of its `sched_waking`.
pub(super) fn wakeups(records: &[Record]) -> BTreeMap<usize, Ahead> {
    let mut begun: BTreeMap<i32, (usize, Option<usize>)> = BTreeMap::new();
    // CPUs that have queued somebody anew since they last woke or began to wake somebody.
    let mut anew: BTreeSet<u32> = BTreeSet::new();
    let mut wakeups = BTreeMap::new();
    for (at, r) in records.iter().enumerate() {
        match r.what {
            What::Waking { pid, .. } => {
                begun.insert(pid, (at, None));
                anew.remove(&r.cpu);
            }
            What::Probe {
                point: ProbePoint::PlaceEntity,
                flags: Some(flags),
                ..
            } if flags & ENQUEUE_WAKEUP != 0 => _ = anew.insert(r.cpu),
            What::Migrate { pid, .. } => {
                if let Some((waking, migrate @ None)) = begun.get_mut(&pid)
                    && records[*waking].cpu == r.cpu
                {
                    *migrate = Some(at);
                }
            }
            What::Wakeup { pid, target, .. } => {
                let anew = anew.remove(&r.cpu);
                if let Some((waking, migrate)) = begun.remove(&pid) {
                    let ahead = Ahead {
                        migrate,
                        target,
                        remote: records[waking].cpu != r.cpu,
                        anew,
                    };
                    wakeups.insert(waking, ahead);
                }
            }
            _ => {}
        }
    }
    wakeups
}

/// The next record of the same CPU, for each record.
pub(super) fn next_on_cpu(records: &[Record]) -> Vec<Option<usize>> {
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    let mut next = vec![None; records.len()];
    for (at, r) in records.iter().enumerate() {
        if let Some(before) = last.insert(r.cpu, at) {
            next[before] = Some(at);
        }
    }
    next
}

/// The time by each record in sequence: it comes no later than any after it, though it may have been written later.
pub(super) fn reached(records: &[Record]) -> Vec<u64> {
    let mut reached = vec![0; records.len()];
    let mut least = u64::MAX;
    for (at, r) in records.iter().enumerate().rev() {
        least = least.min(r.ts);
        reached[at] = least;
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cpu: u32, what: What) -> Record {
        Record::of_task(0, cpu, what)
    }

    fn waking(cpu: u32, pid: i32) -> Record {
        let what = What::Waking {
            pid,
            comm: String::new(),
            prio: 120,
            slept_on: 0,
        };
        record(cpu, what)
    }

    #[test]
    fn what_was_written_late_comes_no_later_than_what_it_overtakes() {
        let records = [5, 90, 20, 30].map(|ts| Record::of_task(ts, 0, What::Timer));
        assert_eq!(reached(&records), [5, 20, 20, 30]);
    }

    #[test]
    fn a_wakeup_is_read_to_its_end() {
        let migrate = |cpu, pid| {
            let (orig, dest) = (0, 2);
            record(cpu, What::Migrate { pid, orig, dest })
        };
        let wakeup = |cpu, pid, target| {
            let prio = 120;
            record(cpu, What::Wakeup { pid, prio, target })
        };
        let place = |cpu, flags| Record::of_probe(cpu, ProbePoint::PlaceEntity, Some(flags));
        let records = [
            waking(1, 7),
            waking(3, 8),
            place(3, 9),
            place(2, 0),
            migrate(3, 7),
            migrate(1, 7),
            wakeup(3, 8, 3),
            wakeup(2, 7, 2),
            waking(1, 9),
        ];
        let wakeups = wakeups(&records);
        let left = Ahead {
            migrate: Some(5),
            target: 2,
            remote: true,
            anew: false,
        };
        let stayed = Ahead {
            migrate: None,
            target: 3,
            remote: false,
            anew: true,
        };
        assert_eq!(wakeups, BTreeMap::from([(0, left), (1, stayed)]));
        let next = next_on_cpu(&records);
        assert_eq!(next[..3], [Some(5), Some(2), Some(4)]);
        assert_eq!(next[3..], [Some(7), Some(6), Some(8), None, None, None]);
    }
}
