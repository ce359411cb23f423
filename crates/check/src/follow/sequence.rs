//! The sequence in which records are followed: by time, but what a balancing pass did from its first move on comes at once, with
//! the switch that it was for; and so does the end of a wakeup or switch with the probe that shows how it ends.
//!
//! Model. The queues are locked meanwhile, and what other CPUs record in between comes after. Where another CPU queues a task
//!        meanwhile on the queue to which the pass goes, the pass comes when it locks that, or before another one has to do with
//!        the queue from which it comes. What a stopper takes off one queue it puts on another one without holding both, and
//!        so at its own time, and so does a task that changes where others may run: only who runs out of tasks takes one
//!        outside interrupts, and for itself. Real-time tasks are pushed once a switch is over.
//! Source. kernel/sched/fair.c `sched_balance_rq`, `sched_balance_newidle` @ 6.12; core.c `migration_cpu_stop`,
//!         `move_queued_task` @ 6.12.

use super::ahead;
use super::tasks::stopper_cpu;
use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::task::MAX_RT_PRIO;
use std::collections::{BTreeMap, BTreeSet};

/// A domain is balanced no oftener than once in this time, with HZ=1000.
const SHORTEST_JIFFY_NS: u64 = 1_000_000;

/// The records in the sequence in which they are followed. Each CPU's stay in order.
pub(super) fn in_sequence(records: &[Record]) -> Vec<Record> {
    let next_on_cpu = ahead::next_on_cpu(records);
    let order = order(records, &next_on_cpu, &further_passes(records));
    order.into_iter().map(|at| records[at].clone()).collect()
}

/// The first records of passes that come after another one with no record between them that ends a call: in a softirq, or in the
/// same `schedule()`, where what was pulled sleeps. In a softirq a pass takes all off a queue at once, which charges that queue once
/// at most, and only then puts it on the other one. The next pass between the same queues comes a jiffy later.
pub(super) fn further_passes(records: &[Record]) -> BTreeSet<usize> {
    let mut passes = BTreeSet::new();
    let mut moving: BTreeMap<u32, Moved> = BTreeMap::new();
    for (at, r) in records.iter().enumerate() {
        let same_call = |moved: &Moved| (moved.irq, moved.softirq) == (r.irq, r.softirq);
        let before = moving.remove(&r.cpu).filter(same_call);
        match r.what {
            What::Migrate { orig, dest, .. } if r.softirq || !r.irq && dest == r.cpu => {
                let moved = Moved {
                    ts: r.ts,
                    irq: r.irq,
                    softirq: r.softirq,
                    pair: (orig, dest),
                    charges: 0,
                    placed: false,
                    charge: None,
                };
                if let Some(before) = before.filter(|before| before.is_over(&moved)) {
                    passes.insert(before.charge.unwrap_or(at));
                }
                moving.insert(r.cpu, moved);
            }
            What::Runtime { .. } | What::Probe { .. } => {
                if let Some(mut moved) = before {
                    moved.note(at, r);
                    moving.insert(r.cpu, moved);
                }
            }
            _ => {}
        }
    }
    passes
}

/// A task that a pass moved, and what its CPU recorded after that.
struct Moved {
    /// When the last one was.
    ts: u64,
    irq: bool,
    softirq: bool,
    /// Between which CPUs.
    pair: (u32, u32),
    charges: u32,
    /// Has a probe shown it on its new queue?
    placed: bool,
    /// The charge that was just recorded, if it can be that of another pass.
    charge: Option<usize>,
}

impl Moved {
    /// Is the pass over, if another task is moved next?
    fn is_over(&self, next: &Moved) -> bool {
        if self.softirq {
            let apart = next.ts.saturating_sub(self.ts) > SHORTEST_JIFFY_NS;
            self.pair != next.pair || self.placed || self.charges > u32::from(!apart)
        } else {
            self.placed || self.charges > 0
        }
    }

    fn note(&mut self, at: usize, r: &Record) {
        let charges = matches!(r.what, What::Runtime { .. });
        self.placed |= r.what.probed() == Some(ProbePoint::PlaceEntity);
        self.charges += u32::from(charges);
        // Who runs out of tasks is charged once more as the task is queued.
        let queues = !self.irq && !self.placed && self.charges == 1;
        self.charge = (charges && !queues).then_some(at);
    }
}

/// The indices of all records, as they are followed.
fn order(
    records: &[Record],
    next_on_cpu: &[Option<usize>],
    further_passes: &BTreeSet<usize>,
) -> Vec<usize> {
    let mut order = Vec::with_capacity(records.len());
    let mut followed = vec![false; records.len()];
    // Passes that wait for a queue, by the record with which they lock it.
    let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut seen = Seen::default();
    for at in 0..records.len() {
        for at in waiting.remove(&at).into_iter().flatten() {
            order.push(at);
            seen.note(&records[at]);
        }
        if followed[at] {
            continue;
        }
        let next = if seen.begins_pass(records, next_on_cpu, at) {
            let pass = pass_from(records, next_on_cpu, further_passes, at);
            if let Some(until) = waits_for_queue(records, &pass) {
                pass.iter().for_each(|&at| followed[at] = true);
                waiting.insert(until, pass);
                continue;
            }
            pass
        } else {
            call_from(records, next_on_cpu, at)
        };
        for at in next {
            followed[at] = true;
            order.push(at);
            seen.note(&records[at]);
        }
    }
    order
}

/// The records of a pass from its first move on, and the switch that it is for.
fn pass_from(
    records: &[Record],
    next_on_cpu: &[Option<usize>],
    further_passes: &BTreeSet<usize>,
    first: usize,
) -> Vec<usize> {
    let irq = records[first].irq;
    let switches = |at: usize| matches!(records[at].what, What::Switch { .. });
    let goes_on = |&at: &usize| {
        let r = &records[at];
        let same_call = r.what.is_inside() && r.irq == irq;
        !further_passes.contains(&at) && (switches(at) && !irq || same_call)
    };
    let next = |&at: &usize| next_on_cpu[at].filter(|_| !switches(at)).filter(goes_on);
    std::iter::successors(Some(first), next).collect()
}

/// A record, and where it is the last probe of a wakeup or a switch, all that comes until that ends.
fn call_from(records: &[Record], next_on_cpu: &[Option<usize>], first: usize) -> Vec<usize> {
    let alone = vec![first];
    let Some(probed) = records[first].what.probed() else {
        return alone;
    };
    let ends = |what: &What| match probed {
        ProbePoint::PlaceEntity => matches!(what, What::Wakeup { .. } | What::WakeupNew { .. }),
        ProbePoint::SetNextEntity => matches!(what, What::Switch { .. }),
        _ => false,
    };
    let context = |at: usize| records[at].context();
    let next = |&at: &usize| next_on_cpu[at].filter(|&next| context(next) == context(first));
    let mut call = alone.clone();
    for at in std::iter::successors(next(&first), next) {
        call.push(at);
        match &records[at].what {
            what if ends(what) => return call,
            What::Runtime { .. } => {}
            _ => break,
        }
    }
    alone
}

/// What the records so far tell of CPUs and tasks.
#[derive(Default)]
struct Seen {
    /// Whom CPUs are waking.
    waking: BTreeMap<u32, i32>,
    /// CPUs whose stopper runs.
    stops: BTreeSet<u32>,
    real_time: BTreeSet<i32>,
}

impl Seen {
    /// Is a record the first move of a balancing pass?
    fn begins_pass(&self, records: &[Record], next_on_cpu: &[Option<usize>], at: usize) -> bool {
        let r = &records[at];
        let What::Migrate { pid, .. } = r.what else {
            return false;
        };
        let pulls = || !self.stops.contains(&r.cpu) && is_for_a_switch(records, next_on_cpu, at);
        let wakes = self.waking.get(&r.cpu) == Some(&pid);
        !wakes && !self.real_time.contains(&pid) && (r.irq || pulls())
    }

    fn note(&mut self, r: &Record) {
        let mut note_prio = |pid: i32, prio: i32| {
            if prio < MAX_RT_PRIO {
                self.real_time.insert(pid);
            } else {
                self.real_time.remove(&pid);
            }
        };
        match &r.what {
            What::Switch { prev, next, .. } => {
                note_prio(prev.pid, prev.prio);
                note_prio(next.pid, next.prio);
                if stopper_cpu(&next.comm).is_some() {
                    self.stops.insert(r.cpu);
                } else {
                    self.stops.remove(&r.cpu);
                }
            }
            What::Waking { pid, prio, .. } | What::Wakeup { pid, prio, .. } => {
                note_prio(*pid, *prio);
            }
            _ => {}
        }
        if let What::Waking { pid, .. } = r.what {
            self.waking.insert(r.cpu, pid);
        } else if !r.what.is_inside() {
            self.waking.remove(&r.cpu);
        }
    }
}

/// The record before which a pass comes where another CPU queues a task, after its first move, on the queue to which it goes:
/// the one with which it locks that, or before that another CPU the queue from which they come.
fn waits_for_queue(records: &[Record], pass: &[usize]) -> Option<usize> {
    let first = *pass.first()?;
    let What::Migrate { orig, dest, .. } = records[first].what else {
        return None;
    };
    let moves = |&&at: &&usize| match records[at].what {
        What::Migrate {
            orig: o, dest: d, ..
        } => (o, d) == (orig, dest),
        _ => false,
    };
    let locks = pass[pass.iter().take_while(moves).count()..].first();
    let locks = *locks.filter(|&&at| records[at].what.is_inside())?;
    let cpu = records[first].cpu;
    let meanwhile = |until: usize| (first..until).filter(|&at| records[at].cpu != cpu);
    let queues_on = |at: usize, cpu: u32| match records[at].what {
        What::Wakeup { target, .. } | What::WakeupNew { target, .. } => target == cpu,
        What::Migrate {
            orig: o, dest: d, ..
        } => o == cpu || d == cpu,
        What::Runtime { .. } | What::Probe { .. } => {
            moves_to(&records[..at], records[at].cpu) == Some(cpu)
        }
        _ => false,
    };
    let switches = |at: usize| matches!(records[at].what, What::Switch { .. });
    let changes =
        |at: usize, cpu: u32| switches(at) && records[at].cpu == cpu || queues_on(at, cpu);
    let taken = meanwhile(locks).find(|&at| changes(at, orig));
    let until = taken.map_or(locks, |at| {
        begin_of_call(&records[..at], records[at].cpu).unwrap_or(at)
    });
    meanwhile(until)
        .any(|at| queues_on(at, dest))
        .then_some(until)
}

/// Where a CPU has moved a task to, if that is the last that it has recorded.
fn moves_to(records: &[Record], cpu: u32) -> Option<u32> {
    match records.iter().rev().find(|r| r.cpu == cpu)?.what {
        What::Migrate { dest, .. } => Some(dest),
        _ => None,
    }
}

/// The first record of the call that a CPU is in at the end, if it has recorded any of it.
fn begin_of_call(records: &[Record], cpu: u32) -> Option<usize> {
    let own = records
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, r)| r.cpu == cpu);
    let call = own.take_while(|(_, r)| r.what.is_inside());
    call.last().map(|(at, _)| at)
}

/// Does a CPU that moves a task, outside interrupts, take it for itself, and all that comes with it, until it switches?
fn is_for_a_switch(records: &[Record], next_on_cpu: &[Option<usize>], at: usize) -> bool {
    let cpu = records[at].cpu;
    let own = std::iter::successors(Some(at), |&at| next_on_cpu[at]);
    let mut own = own.map(|at| &records[at]);
    let end = own.find(|r| match r.what {
        What::Migrate { dest, .. } => dest != cpu,
        _ => r.irq || !r.what.is_inside(),
    });
    let idles = |end: &Record| match end.what {
        What::Switch {
            ref prev,
            prev_state,
            ..
        } => prev.pid == 0 || prev_state != PrevState::Runnable,
        _ => false,
    };
    end.is_some_and(idles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ahead::next_on_cpu;
    use crate::record::Party;

    fn record(cpu: u32, what: What) -> Record {
        Record::of_task(0, cpu, what)
    }

    fn softirq(cpu: u32, what: What) -> Record {
        Record {
            irq: true,
            softirq: true,
            ..record(cpu, what)
        }
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

    fn charge(pid: i32) -> What {
        What::Runtime {
            pid,
            runtime: 1,
            vruntime: None,
        }
    }

    fn migrate(cpu: u32, pid: i32, orig: u32, dest: u32) -> Record {
        record(cpu, What::Migrate { pid, orig, dest })
    }

    fn switch(cpu: u32, [prev, next]: [&str; 2], prev_state: PrevState) -> Record {
        let party = |comm: &str| Party {
            pid: i32::from(!comm.starts_with("swapper")),
            comm: comm.to_owned(),
            prio: 120,
        };
        let what = What::Switch {
            prev: party(prev),
            prev_state,
            next: party(next),
        };
        record(cpu, what)
    }

    fn order_of(records: &[Record]) -> Vec<usize> {
        order(records, &next_on_cpu(records), &further_passes(records))
    }

    const TASKS: [&str; 2] = ["nap", "hog"];

    #[test]
    fn a_balancing_pass_comes_at_once() {
        let sleeps = PrevState::Interruptible;
        let records = [
            migrate(1, 7, 0, 1),
            switch(0, TASKS, sleeps),
            migrate(1, 8, 0, 1),
            waking(0, 9),
            switch(1, TASKS, sleeps),
            migrate(0, 9, 1, 0),
            waking(1, 9),
        ];
        assert_eq!(order_of(&records), [0, 2, 4, 1, 3, 5, 6]);
    }

    #[test]
    fn what_a_stopper_moves_comes_when_it_is_recorded() {
        let records = [
            switch(1, ["hog", "migration/1"], PrevState::Runnable),
            migrate(1, 7, 1, 0),
            waking(0, 9),
            switch(1, ["migration/1", "nap"], PrevState::Interruptible),
        ];
        assert_eq!(order_of(&records), [0, 1, 2, 3]);
    }

    #[test]
    fn real_time_tasks_are_pushed_after_the_switch_before() {
        let (pid, target) = (7, 1);
        for (prio, expected) in [(50, [0, 1, 2, 3]), (120, [0, 1, 3, 2])] {
            let records = [
                record(1, What::Wakeup { pid, prio, target }),
                migrate(1, pid, 0, 1),
                waking(0, 9),
                switch(1, TASKS, PrevState::Interruptible),
            ];
            assert_eq!(order_of(&records), expected, "priority {prio}");
        }
    }

    #[test]
    fn a_wakeup_and_a_switch_end_with_the_probe_that_shows_how() {
        let probe = |cpu, point| Record::of_probe(cpu, point, None);
        let wakeup = || {
            let (pid, prio, target) = (7, 120, 0);
            record(0, What::Wakeup { pid, prio, target })
        };
        let runs = || switch(0, TASKS, PrevState::Runnable);
        let other = || waking(1, 9);
        let (places, sets) = (ProbePoint::PlaceEntity, ProbePoint::SetNextEntity);
        // Its waker is held up before it charges the task that runs there.
        let stalled = [
            probe(0, places),
            probe(0, places),
            other(),
            record(0, charge(5)),
            wakeup(),
        ];
        assert_eq!(order_of(&stalled), [0, 1, 3, 4, 2]);
        assert_eq!(order_of(&[probe(0, sets), other(), runs()]), [0, 2, 1]);
        // What these probes show does not end so.
        assert_eq!(order_of(&[probe(0, sets), other(), wakeup()]), [0, 1, 2]);
        assert_eq!(order_of(&[probe(0, places), other(), runs()]), [0, 1, 2]);
        assert_eq!(
            order_of(&[record(0, charge(5)), other(), runs()]),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_softirq_balances_one_domain_after_the_other() {
        let moves = |pid, orig| softirq(1, What::Migrate { pid, orig, dest: 1 });
        let records = [
            moves(7, 0),
            moves(8, 0),
            softirq(1, charge(1)),
            softirq(1, charge(2)),
            moves(9, 2),
            record(0, charge(3)),
            moves(10, 3),
        ];
        assert_eq!(further_passes(&records), BTreeSet::from([3, 6]));
        assert_eq!(order_of(&records), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_pass_from_the_same_queue_comes_a_jiffy_later() {
        let moves = |pid| {
            softirq(
                1,
                What::Migrate {
                    pid,
                    orig: 0,
                    dest: 2,
                },
            )
        };
        let passes = |between: &[What], later: u64| {
            let between = between.iter().map(|what| softirq(1, what.clone()));
            let mut records = vec![moves(7)];
            records.extend(between.chain([moves(8)]));
            records.last_mut().unwrap().ts = later;
            further_passes(&records).into_iter().collect::<Vec<_>>()
        };
        let [soon, later] = [1, 2].map(|jiffies| jiffies * SHORTEST_JIFFY_NS);
        // The second task is of the group of the one that runs where they come from.
        assert_eq!(passes(&[charge(1)], soon), []);
        assert_eq!(passes(&[], later), [], "the CPU was held up");
        assert_eq!(passes(&[charge(1)], later), [1]);
        assert_eq!(passes(&[charge(2), charge(1)], soon), [2]);
    }

    #[test]
    fn a_cpu_pulls_again_if_what_it_pulled_sleeps() {
        let records = [
            migrate(1, 7, 0, 1),
            record(1, charge(5)),
            // The charge on the queue from which the next one comes.
            record(1, charge(6)),
            migrate(1, 8, 0, 1),
            record(1, charge(5)),
            migrate(1, 9, 2, 1),
        ];
        assert_eq!(further_passes(&records), BTreeSet::from([2, 5]));
    }

    #[test]
    fn a_pass_waits_for_the_queue_to_which_it_goes() {
        let (orig, dest) = (2, 1);
        let moves = |pid| softirq(1, What::Migrate { pid, orig, dest });
        // Another CPU queues a task there, elsewhere, or where the tasks come from.
        for (target, expected) in [(1, [2, 0, 1, 3]), (3, [0, 1, 3, 2]), (2, [0, 1, 3, 2])] {
            let (pid, prio) = (9, 120);
            let wakeup = record(0, What::Wakeup { pid, prio, target });
            let records = [moves(7), moves(8), wakeup, softirq(1, charge(5))];
            assert_eq!(order_of(&records), expected, "onto CPU {target}");
        }
        // One is queued there, then another one where the tasks come from, by a call that begins with a charge.
        let wakeup = |pid, target| {
            let prio = 120;
            record(0, What::Wakeup { pid, prio, target })
        };
        let records = [
            moves(7),
            wakeup(9, dest),
            waking(0, 8),
            record(0, charge(6)),
            wakeup(8, orig),
            softirq(1, charge(5)),
        ];
        assert_eq!(order_of(&records), [1, 2, 0, 5, 3, 4]);
        // A stopper had moved one before, and puts it there, or elsewhere.
        for (to, expected) in [(dest, [0, 2, 1, 3]), (0, [0, 1, 3, 2])] {
            let records = [
                migrate(3, 9, 3, to),
                moves(7),
                record(3, charge(6)),
                softirq(1, charge(5)),
            ];
            assert_eq!(order_of(&records), expected, "onto CPU {to}");
        }
    }

    #[test]
    fn who_changes_where_others_may_run_does_so_at_its_own_time() {
        let (sleeps, goes_on) = (PrevState::Interruptible, PrevState::Runnable);
        let moved = |dest, prev_state| {
            let records = [
                migrate(1, 7, 3, dest),
                waking(0, 9),
                switch(1, TASKS, prev_state),
            ];
            order_of(&records)
        };
        assert_eq!(moved(1, sleeps), [0, 2, 1], "it pulls");
        assert_eq!(moved(2, sleeps), [0, 1, 2]);
        assert_eq!(moved(1, goes_on), [0, 1, 2]);
        let pulls_idle = [
            migrate(1, 7, 3, 1),
            waking(0, 9),
            switch(1, ["swapper/1", "b"], goes_on),
        ];
        assert_eq!(order_of(&pulls_idle), [0, 2, 1], "an idle CPU pulls");
    }

    #[test]
    fn every_record_is_followed_once() {
        // All sequences of six records of two CPUs out of these.
        let kinds = |kind: usize| match kind {
            0 => softirq(
                1,
                What::Migrate {
                    pid: 7,
                    orig: 2,
                    dest: 1,
                },
            ),
            1 => softirq(
                1,
                What::Migrate {
                    pid: 8,
                    orig: 3,
                    dest: 1,
                },
            ),
            2 => softirq(1, charge(5)),
            3 => record(1, charge(5)),
            4 => record(
                0,
                What::Wakeup {
                    pid: 9,
                    prio: 120,
                    target: 1,
                },
            ),
            _ => migrate(1, 6, 3, 1),
        };
        for n in 0..6_usize.pow(6) {
            let records: Vec<Record> = (0..6).map(|at| kinds(n / 6_usize.pow(at) % 6)).collect();
            let mut order = order_of(&records);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5], "case {n}");
        }
    }
}
