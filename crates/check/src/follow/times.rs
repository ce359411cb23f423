//! What comes later in the recording: when a task is first named and next charged, what priority it shows and when it goes to another group;
//! when a CPU next switches, leaves idle or pulls a task.

use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbeField;
use std::collections::BTreeMap;

/// Places in the recording, by task and by CPU.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The record with which each task is first named.
    first: BTreeMap<i32, usize>,
    /// Charges of each task: index and runtime.
    charges: BTreeMap<i32, Vec<(usize, u64)>>,
    /// Records that show each task's priority.
    prios: BTreeMap<i32, Vec<(usize, i32)>>,
    /// Records with which each task may leave its queue or its place in it.
    leaves_queue: BTreeMap<i32, Vec<usize>>,
    /// Switches of each CPU from its idle task.
    leaves: Vec<Vec<usize>>,
    /// All switches of each CPU, and whom from if the clock stands still from its last charge until then.
    switches: Vec<Vec<(usize, Option<i32>)>>,
    /// All records of each CPU.
    own: Vec<Vec<usize>>,
    /// Where a CPU's calls end: its records that are not part of one, and those of its interrupts.
    outside: Vec<Vec<usize>>,
    /// What each CPU pulls to itself.
    pulls: Vec<Vec<usize>>,
    /// Records of each task that goes to another group.
    attaches: BTreeMap<i32, Vec<usize>>,
    /// Probes that show the virtual runtime of each entity, by its address.
    shown: BTreeMap<u64, Vec<usize>>,
}

impl Times {
    pub(super) fn new(records: &[Record], nr_cpus: usize) -> Times {
        let mut times = Times {
            leaves: vec![Vec::new(); nr_cpus],
            switches: vec![Vec::new(); nr_cpus],
            own: vec![Vec::new(); nr_cpus],
            outside: vec![Vec::new(); nr_cpus],
            pulls: vec![Vec::new(); nr_cpus],
            ..Times::default()
        };
        for (at, r) in records.iter().enumerate() {
            let cpu = r.cpu as usize;
            if cpu >= nr_cpus {
                continue;
            }
            times.own[cpu].push(at);
            for pid in named(&r.what) {
                times.first.entry(pid).or_insert(at);
            }
            if r.irq || !r.what.is_inside() {
                times.outside[cpu].push(at);
            }
            match &r.what {
                What::Runtime { pid, runtime, .. } => {
                    times.charges.entry(*pid).or_default().push((at, *runtime));
                }
                What::Switch {
                    prev,
                    prev_state,
                    next,
                } => {
                    let stays = *prev_state == PrevState::Runnable && next.pid != 0;
                    let leaves = *prev_state != PrevState::Runnable;
                    let uncharged = leaves && !times.is_charged_last(records, r.cpu, prev.pid);
                    let from = (stays || uncharged).then_some(prev.pid);
                    times.switches[cpu].push((at, from));
                    if prev.pid == 0 {
                        times.leaves[cpu].push(at);
                    }
                    for party in [prev, next] {
                        times.shows_prio(at, party.pid, party.prio);
                    }
                }
                What::Waking { pid, prio, .. } => {
                    times.shows_prio(at, *pid, *prio);
                    times.leaves_queue.entry(*pid).or_default().push(at);
                }
                What::Wakeup { pid, prio, .. } => times.shows_prio(at, *pid, *prio),
                What::Migrate { pid, dest, .. } => {
                    times.leaves_queue.entry(*pid).or_default().push(at);
                    if *dest == r.cpu {
                        times.pulls[cpu].push(at);
                    }
                }
                What::Attach { pid, .. } => {
                    times.leaves_queue.entry(*pid).or_default().push(at);
                    times.attaches.entry(*pid).or_default().push(at);
                }
                What::Probe {
                    address, values, ..
                } if values[ProbeField::Vruntime as usize].is_some() => {
                    times.shown.entry(*address).or_default().push(at);
                }
                _ => {}
            }
        }
        times
    }

    /// As a CPU's switch was just recorded: did the call that ends with it charge the task that the CPU leaves?
    fn is_charged_last(&self, records: &[Record], cpu: u32, pid: i32) -> bool {
        let charges = self.charges.get(&pid).and_then(|charges| charges.last());
        let outside = self.outside[cpu as usize].iter().rev().nth(1);
        charges.is_some_and(|&(at, _)| records[at].cpu == cpu && outside.is_none_or(|&o| o < at))
    }

    fn shows_prio(&mut self, at: usize, pid: i32, prio: i32) {
        self.prios.entry(pid).or_default().push((at, prio));
    }

    /// Every task that records name, but the idle ones, and the first record that does.
    pub(super) fn first_records(&self) -> impl Iterator<Item = (i32, usize)> {
        let first = self.first.iter().map(|(&pid, &at)| (pid, at));
        first.filter(|(pid, _)| *pid != 0)
    }

    /// Is this the record that first names a task?
    pub(super) fn is_first(&self, pid: i32, at: usize) -> bool {
        self.first.get(&pid) == Some(&at)
    }

    /// Is a task ever named?
    pub(super) fn names(&self, pid: i32) -> bool {
        self.first.contains_key(&pid)
    }

    /// The next record that shows a task's priority, and what it is.
    pub(super) fn prio(&self, pid: i32, at: usize) -> Option<(usize, i32)> {
        let shown = self.prios.get(&pid)?;
        let next = shown.partition_point(|&(index, _)| index <= at);
        shown.get(next).copied()
    }

    /// May a task leave its queue, or its place in it, between two records?
    pub(super) fn leaves_queue(&self, pid: i32, since: usize, until: usize) -> bool {
        let leaves = self.leaves_queue.get(&pid).map_or(&[][..], Vec::as_slice);
        let next = leaves.partition_point(|&index| index <= since);
        leaves.get(next).is_some_and(|&index| index < until)
    }

    /// A task's charges after a record.
    pub(super) fn charges(&self, pid: i32, at: usize) -> &[(usize, u64)] {
        let Some(charges) = self.charges.get(&pid) else {
            return &[];
        };
        &charges[charges.partition_point(|&(index, _)| index <= at)..]
    }

    /// The records of a CPU, not before `at`.
    pub(super) fn records_of(&self, cpu: u32, at: usize) -> &[usize] {
        let own = &self.own[cpu as usize];
        &own[own.partition_point(|&index| index < at)..]
    }

    /// The records of a CPU before `at`.
    pub(super) fn records_until(&self, cpu: u32, at: usize) -> &[usize] {
        let own = &self.own[cpu as usize];
        &own[..own.partition_point(|&index| index < at)]
    }

    /// Records with which a task goes to another group, not before `at`.
    pub(super) fn attaches(&self, pid: i32, at: usize) -> &[usize] {
        let attaches = self.attaches.get(&pid).map_or(&[][..], Vec::as_slice);
        &attaches[attaches.partition_point(|&index| index < at)..]
    }

    /// A CPU's next switch, not before `at`.
    pub(super) fn switch(&self, cpu: u32, at: usize) -> Option<usize> {
        Some(self.next_switch(cpu, at)?.0)
    }

    /// Does a CPU pull a task in the call that its records, not before `at`, belong to?
    pub(super) fn pulls(&self, cpu: u32, at: usize) -> bool {
        let over = from(&self.outside[cpu as usize], at);
        let pull = from(&self.pulls[cpu as usize], at);
        pull.is_some_and(|pull| over.is_none_or(|over| pull < over))
    }

    /// The next probe after a record that shows the virtual runtime of the entity with an address.
    pub(super) fn shown(&self, address: u64, at: usize) -> Option<usize> {
        from(self.shown.get(&address)?, at + 1)
    }

    /// A CPU's next switch after a record, if its clock stands still from a running task's last charge until then: the task has to
    /// make way and stays queued, or leaves without a charge.
    pub(super) fn clock_stands_until(&self, cpu: u32, pid: i32, at: usize) -> Option<usize> {
        let (next, from) = self.next_switch(cpu, at + 1)?;
        (from == Some(pid)).then_some(next)
    }

    fn next_switch(&self, cpu: u32, at: usize) -> Option<(usize, Option<i32>)> {
        let switches = &self.switches[cpu as usize];
        let next = switches.partition_point(|&(index, _)| index < at);
        switches.get(next).copied()
    }

    /// A CPU's last switch before a record.
    pub(super) fn last_switch(&self, cpu: u32, at: usize) -> Option<usize> {
        let switches = &self.switches[cpu as usize];
        let next = switches.partition_point(|&(index, _)| index < at);
        switches[..next].last().map(|&(index, _)| index)
    }

    /// The record, not before `at`, with which a CPU next leaves idle.
    pub(super) fn leave(&self, cpu: u32, at: usize) -> Option<usize> {
        from(&self.leaves[cpu as usize], at)
    }
}

/// The tasks of which a record says that they run, sleep, are woken, moved or new.
fn named(what: &What) -> impl Iterator<Item = i32> {
    let (pid, other) = match what {
        What::Switch { prev, next, .. } => (Some(prev.pid), Some(next.pid)),
        What::Fork { child, .. } => (Some(*child), None),
        What::Waking { pid, .. }
        | What::Migrate { pid, .. }
        | What::Wakeup { pid, .. }
        | What::WakeupNew { pid, .. }
        | What::Runtime { pid, .. }
        | What::Exit { pid } => (Some(*pid), None),
        _ => (None, None),
    };
    pid.into_iter().chain(other)
}

/// The first place that is not before `at`.
fn from(places: &[usize], at: usize) -> Option<usize> {
    let next = places.partition_point(|&index| index < at);
    places.get(next).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Party;

    fn record(what: What) -> Record {
        Record::of_task(0, 0, what)
    }

    fn switch(prev: i32, prev_state: PrevState, next: i32) -> Record {
        let [prev, next] = [prev, next].map(Party::of);
        record(What::Switch {
            prev,
            prev_state,
            next,
        })
    }

    fn charge(irq: bool) -> Record {
        let (pid, runtime, vruntime) = (1, 1, None);
        let what = What::Runtime {
            pid,
            runtime,
            vruntime,
        };
        Record {
            irq,
            ..record(what)
        }
    }

    #[test]
    fn who_sleeps_after_a_tick_has_charged_it_last_was_not_charged_for_that() {
        let (ran, sleeps) = (PrevState::Runnable, PrevState::Interruptible);
        let stands_until = |charges: &[Record]| {
            let mut records = vec![switch(2, ran, 1)];
            records.extend_from_slice(charges);
            records.push(switch(1, sleeps, 2));
            Times::new(&records, 1).clock_stands_until(0, 1, 0)
        };
        assert_eq!(stands_until(&[charge(true)]), Some(2));
        assert_eq!(stands_until(&[charge(true), charge(false)]), None);
    }
}
