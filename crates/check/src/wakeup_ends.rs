//! The ends of wakeups, for recordings without `sched_wakeup`, such as those of `perf sched record`.
//!
//! Model.      A CPU without fair or other tasks completes its wakeups itself (TTWU_QUEUE): before its next event. For
//!             any other CPU the waker does, with the events that belong to it: the choice of another CPU, the charge of
//!             the task that runs where the wakeup goes, the place in line. The wakeup of a task that still runs is
//!             complete when it is switched away, or was a wakeup for nothing if it goes on.
//! Deviations. Where a wakeup without an event of its own is completed is inferred from who runs; TTWU_QUEUE also
//!             depends on caches and on the CPU that the task is leaving.

use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use std::collections::BTreeMap;

/// A wakeup that has begun.
#[derive(Clone, Copy)]
struct Begun {
    pid: i32,
    prio: i32,
    target: u32,
    /// The task that runs where it goes has been charged.
    charged: bool,
}

impl Begun {
    /// Its end on a CPU, at the time and in the context of another record. A switch has forgotten whether one was asked for;
    /// from a task that could have gone on it was.
    fn end(self, cpu: u32, like: &Record) -> Record {
        let preempts = match &like.what {
            What::Switch {
                prev, prev_state, ..
            } => prev.pid != 0 && *prev_state == PrevState::Runnable,
            _ => false,
        };
        let Begun {
            pid, prio, target, ..
        } = self;
        Record {
            ts: like.ts,
            cpu,
            pid: like.pid,
            irq: like.irq,
            softirq: like.softirq,
            interrupts_softirq: like.interrupts_softirq,
            need_resched: like.need_resched || preempts && cpu == like.cpu,
            preempt_depth: like.preempt_depth,
            what: What::Wakeup { pid, prio, target },
        }
    }
}

/// Wakeups that have not ended, and who runs.
#[derive(Default)]
struct Wakeups {
    /// By the CPU of the waker.
    begun: BTreeMap<u32, Begun>,
    /// Those of which the target will complete them, when it leaves idle.
    queued: Vec<Begun>,
    /// By the task, which still runs.
    held: BTreeMap<i32, Begun>,
    /// By the CPU.
    running: BTreeMap<u32, i32>,
}

/// Adds the ends of wakeups to records without any.
pub(crate) fn add(records: Vec<Record>) -> Vec<Record> {
    let mut wakeups = Wakeups::default();
    let mut complete = Vec::with_capacity(records.len() * 5 / 4);
    for record in records {
        wakeups.end_before(&record, &mut complete);
        let after = wakeups.take(&record);
        complete.push(record);
        complete.extend(after);
    }
    complete
}

impl Wakeups {
    /// Ends what is over before a record.
    fn end_before(&mut self, record: &Record, complete: &mut Vec<Record>) {
        let cpu = record.cpu;
        if record.what.probed() != Some(ProbePoint::PlaceEntity) {
            complete.extend(self.queued_on(cpu).map(|over| over.end(cpu, record)));
        }
        if let What::Switch { next, .. } = &record.what {
            // Who runs has been woken, also if its waker has not recorded anything since.
            let runs = |(_, begun): &(&u32, &Begun)| begun.pid == next.pid;
            if let Some((&waker, &over)) = self.begun.iter().find(runs) {
                self.begun.remove(&waker);
                complete.push(over.end(waker, record));
            }
        }
        if self.is_of_wakeup(record) {
            return;
        }
        let Some(over) = self.begun.remove(&cpu) else {
            return;
        };
        if self.running.values().any(|pid| *pid == over.pid) {
            self.held.insert(over.pid, over);
        } else if over.target != cpu && self.is_idle(over.target) {
            self.queued.push(over);
        } else {
            complete.push(over.end(cpu, record));
        }
    }

    fn is_idle(&self, cpu: u32) -> bool {
        self.running.get(&cpu) == Some(&0)
    }

    /// Takes the wakeups that an idle CPU completes itself, also if their wakers have not recorded anything since.
    fn queued_on(&mut self, cpu: u32) -> impl Iterator<Item = Begun> + use<> {
        let queued = std::mem::take(&mut self.queued).into_iter();
        let (mut here, elsewhere): (Vec<_>, Vec<_>) = queued.partition(|over| over.target == cpu);
        self.queued = elsewhere;
        if self.is_idle(cpu) {
            let begun = std::mem::take(&mut self.begun);
            for (waker, over) in begun {
                if waker != cpu && over.target == cpu {
                    here.push(over);
                } else {
                    self.begun.insert(waker, over);
                }
            }
        }
        here.into_iter()
    }

    /// Is the record a part of the wakeup that its CPU has begun?
    fn is_of_wakeup(&mut self, record: &Record) -> bool {
        let Some(begun) = self.begun.get_mut(&record.cpu) else {
            return false;
        };
        match record.what {
            What::Migrate { pid, dest, .. } if begun.pid == pid => {
                begun.target = dest;
                true
            }
            What::Runtime { pid, .. } if self.running.get(&begun.target) == Some(&pid) => {
                !std::mem::replace(&mut begun.charged, true)
            }
            What::Probe {
                point: ProbePoint::PlaceEntity,
                ..
            } => true,
            _ => false,
        }
    }

    /// Notes what a record begins; gives the wakeup that it ends.
    fn take(&mut self, record: &Record) -> Option<Record> {
        match &record.what {
            What::Waking {
                pid,
                prio,
                slept_on,
                ..
            } => {
                let begun = Begun {
                    pid: *pid,
                    prio: *prio,
                    target: *slept_on,
                    charged: false,
                };
                self.begun.insert(record.cpu, begun);
                None
            }
            What::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.running.insert(record.cpu, next.pid);
                let held = self.held.remove(&prev.pid)?;
                (*prev_state != PrevState::Runnable).then(|| held.end(held.target, record))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Party;

    /// A switch from task 1 on CPU 0, right after it has woken task 2 there: does the wakeup's end ask for it?
    fn asked(prev_state: PrevState) -> bool {
        let waking = What::Waking {
            pid: 2,
            comm: String::new(),
            prio: 120,
            slept_on: 0,
        };
        let switch = What::Switch {
            prev: Party::of(1),
            prev_state,
            next: Party::of(2),
        };
        let records = add(vec![
            Record::of_task(10, 0, waking),
            Record::of_task(20, 0, switch),
        ]);
        let end = { records.iter() }.find(|r| matches!(r.what, What::Wakeup { pid: 2, .. }));
        end.expect("it ends").need_resched
    }

    #[test]
    fn a_switch_from_a_task_that_could_go_on_was_asked_for() {
        assert!(asked(PrevState::Runnable));
        assert!(!asked(PrevState::Interruptible));
    }
}
