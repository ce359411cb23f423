//! How a wakeup or a balancing pass goes on: read ahead, since what a kernel did shows only after it began.
//!
//! Model. `sched_waking` is written before the CPU is chosen; `sched_migrate_task` right after it, by
//!        the waker, if the task leaves its CPU; `sched_wakeup` once the task is queued, by the waker
//!        or by the CPU that it goes to.

use super::tasks::stopper_cpu;
use crate::record::{Record, What};
use fairwind_sched::task::MAX_RT_PRIO;
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
}

/// Every wakeup that is seen to its end, by the index of its `sched_waking`.
pub(super) fn wakeups(records: &[Record]) -> BTreeMap<usize, Ahead> {
    let mut begun: BTreeMap<i32, (usize, Option<usize>)> = BTreeMap::new();
    let mut wakeups = BTreeMap::new();
    for (at, r) in records.iter().enumerate() {
        match r.what {
            What::Waking { pid, .. } => {
                begun.insert(pid, (at, None));
            }
            What::Migrate { pid, .. } => {
                if let Some((waking, migrate @ None)) = begun.get_mut(&pid)
                    && records[*waking].cpu == r.cpu
                {
                    *migrate = Some(at);
                }
            }
            What::Wakeup { pid, target, .. } => {
                if let Some((waking, migrate)) = begun.remove(&pid) {
                    let ahead = Ahead {
                        migrate,
                        target,
                        remote: records[waking].cpu != r.cpu,
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

/// The last switch of each thread that has a name for it which the next one has no longer: then it starts a program, or
/// renames itself.
pub(super) fn last_old_names(records: &[Record]) -> BTreeMap<i32, usize> {
    let mut names: BTreeMap<i32, (usize, &str)> = BTreeMap::new();
    let mut old = BTreeMap::new();
    for (at, r) in records.iter().enumerate() {
        let What::Switch { prev, next, .. } = &r.what else {
            continue;
        };
        for party in [prev, next] {
            match names.insert(party.pid, (at, &party.comm)) {
                Some((before, name)) if name != party.comm => _ = old.insert(party.pid, before),
                _ => {}
            }
        }
    }
    old
}

/// The first records of passes that come after another one in the same softirq: from another CPU's queue, or to another.
pub(super) fn further_passes(records: &[Record]) -> BTreeSet<usize> {
    let mut passes = BTreeSet::new();
    // For each CPU in such a softirq between which CPUs it last moved a task, and the charge that it just recorded.
    let mut moving: BTreeMap<u32, ((u32, u32), Option<usize>)> = BTreeMap::new();
    for (at, r) in records.iter().enumerate() {
        match r.what {
            What::Migrate { orig, dest, .. } if r.softirq => {
                let before = moving.insert(r.cpu, ((orig, dest), None));
                if let Some((pair, charge)) = before
                    && pair != (orig, dest)
                {
                    passes.insert(charge.unwrap_or(at));
                }
            }
            What::Runtime { .. } | What::Probe { .. } if r.softirq => {
                if let Some((_, charge)) = moving.get_mut(&r.cpu) {
                    *charge = matches!(r.what, What::Runtime { .. }).then_some(at);
                }
            }
            _ => {
                moving.remove(&r.cpu);
            }
        }
    }
    passes
}

/// The order in which records are followed: by time, but what a balancing pass did from its first move on comes at once, with
/// the switch that it was for. The queues are locked meanwhile, and what other CPUs record in between comes after. What a
/// stopper takes off one queue it puts on another one without holding both, and so at its own time; and real-time tasks are
/// pushed once a switch is over.
pub(super) fn order(
    records: &[Record],
    next_on_cpu: &[Option<usize>],
    further_passes: &BTreeSet<usize>,
) -> Vec<usize> {
    let mut order = Vec::with_capacity(records.len());
    let mut followed = vec![false; records.len()];
    let mut waking: BTreeMap<u32, i32> = BTreeMap::new();
    // CPUs whose stopper runs.
    let mut stops: BTreeSet<u32> = BTreeSet::new();
    let mut real_time: BTreeSet<i32> = BTreeSet::new();
    for (at, r) in records.iter().enumerate() {
        if std::mem::replace(&mut followed[at], true) {
            continue;
        }
        order.push(at);
        note_real_time(&mut real_time, r);
        match r.what {
            What::Migrate { pid, .. }
                if waking.get(&r.cpu) != Some(&pid)
                    && (r.irq || !stops.contains(&r.cpu))
                    && !real_time.contains(&pid) => {}
            What::Waking { pid, .. } => {
                waking.insert(r.cpu, pid);
                continue;
            }
            _ => {
                if !r.what.is_inside() {
                    waking.remove(&r.cpu);
                }
                note_stopper(&mut stops, r);
                continue;
            }
        }
        let mut last = at;
        while let Some(next) = next_on_cpu[last] {
            let other = &records[next];
            let switches = matches!(other.what, What::Switch { .. }) && !r.irq;
            let same_call = other.what.is_inside() && other.irq == r.irq;
            if further_passes.contains(&next) || !(switches || same_call) {
                break;
            }
            followed[next] = true;
            order.push(next);
            note_stopper(&mut stops, other);
            note_real_time(&mut real_time, other);
            last = next;
            if switches {
                break;
            }
        }
    }
    order
}

/// After a record: which tasks does it show to be of a real-time class, and which not?
fn note_real_time(real_time: &mut BTreeSet<i32>, r: &Record) {
    let mut note = |pid: i32, prio: i32| {
        if prio < MAX_RT_PRIO {
            real_time.insert(pid);
        } else {
            real_time.remove(&pid);
        }
    };
    match &r.what {
        What::Switch { prev, next, .. } => {
            note(prev.pid, prev.prio);
            note(next.pid, next.prio);
        }
        What::Waking { pid, prio, .. } | What::Wakeup { pid, prio, .. } => note(*pid, *prio),
        _ => {}
    }
}

/// After a switch: does the CPU run its stopper?
fn note_stopper(stops: &mut BTreeSet<u32>, r: &Record) {
    if let What::Switch { next, .. } = &r.what {
        if stopper_cpu(&next.comm).is_some() {
            stops.insert(r.cpu);
        } else {
            stops.remove(&r.cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};

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
    fn a_wakeup_is_read_to_its_end() {
        let migrate = |cpu, pid| {
            let (orig, dest) = (0, 2);
            record(cpu, What::Migrate { pid, orig, dest })
        };
        let wakeup = |cpu, pid, target| {
            let prio = 120;
            record(cpu, What::Wakeup { pid, prio, target })
        };
        let records = [
            waking(1, 7),
            waking(3, 8),
            migrate(3, 7),
            migrate(1, 7),
            wakeup(3, 8, 3),
            wakeup(2, 7, 2),
            waking(1, 9),
        ];
        let wakeups = wakeups(&records);
        let left = Ahead {
            migrate: Some(3),
            target: 2,
            remote: true,
        };
        let stayed = Ahead {
            migrate: None,
            target: 3,
            remote: false,
        };
        assert_eq!(wakeups, BTreeMap::from([(0, left), (1, stayed)]));
        let next = next_on_cpu(&records);
        assert_eq!(next, [Some(3), Some(2), Some(4), Some(6), None, None, None]);
    }

    #[test]
    fn a_balancing_pass_comes_at_once() {
        let migrate = |cpu, pid| {
            let (orig, dest) = (0, cpu);
            record(cpu, What::Migrate { pid, orig, dest })
        };
        let party = || Party {
            pid: 0,
            comm: String::new(),
            prio: 120,
        };
        let switch = |cpu| {
            let what = What::Switch {
                prev: party(),
                prev_state: PrevState::Runnable,
                next: party(),
            };
            record(cpu, what)
        };
        let records = [
            migrate(1, 7),
            switch(0),
            migrate(1, 8),
            waking(0, 9),
            switch(1),
            migrate(0, 9),
            waking(1, 9),
        ];
        let order = order(&records, &next_on_cpu(&records), &BTreeSet::new());
        assert_eq!(order, [0, 2, 4, 1, 3, 5, 6]);
    }

    #[test]
    fn what_a_stopper_moves_comes_when_it_is_recorded() {
        let party = |comm: &str| Party {
            pid: 0,
            comm: comm.to_owned(),
            prio: 0,
        };
        let switch = |cpu, prev, next| {
            let what = What::Switch {
                prev: party(prev),
                prev_state: PrevState::Runnable,
                next: party(next),
            };
            record(cpu, what)
        };
        let (pid, orig, dest) = (7, 1, 0);
        let records = [
            switch(1, "hog", "migration/1"),
            record(1, What::Migrate { pid, orig, dest }),
            waking(0, 9),
            switch(1, "migration/1", "nap"),
        ];
        let order = order(&records, &next_on_cpu(&records), &BTreeSet::new());
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn real_time_tasks_are_pushed_after_the_switch_before() {
        let wakes = |pid, prio| What::Wakeup {
            pid,
            prio,
            target: 1,
        };
        let party = || Party {
            pid: 0,
            comm: String::new(),
            prio: 120,
        };
        let switch = What::Switch {
            prev: party(),
            prev_state: PrevState::Runnable,
            next: party(),
        };
        let orders = [(50, [0, 1, 2, 3]), (120, [0, 1, 3, 2])];
        for (prio, expected) in orders {
            let (pid, orig, dest) = (7, 1, 0);
            let records = [
                record(1, wakes(pid, prio)),
                record(1, What::Migrate { pid, orig, dest }),
                waking(0, 9),
                record(1, switch.clone()),
            ];
            let order = order(&records, &next_on_cpu(&records), &BTreeSet::new());
            assert_eq!(order, expected, "priority {prio}");
        }
    }

    #[test]
    fn a_softirq_balances_one_domain_after_the_other() {
        let softirq = |what| Record {
            irq: true,
            softirq: true,
            ..record(1, what)
        };
        let charge = |pid| What::Runtime {
            pid,
            runtime: 1,
            vruntime: None,
        };
        let migrate = |pid, orig| What::Migrate { pid, orig, dest: 1 };
        let records = [
            softirq(migrate(7, 0)),
            softirq(migrate(8, 0)),
            softirq(charge(1)),
            softirq(charge(2)),
            softirq(migrate(9, 2)),
            record(0, charge(3)),
            softirq(migrate(10, 3)),
        ];
        assert_eq!(further_passes(&records), BTreeSet::from([3, 6]));
        let order = order(&records, &next_on_cpu(&records), &further_passes(&records));
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
    }
}
