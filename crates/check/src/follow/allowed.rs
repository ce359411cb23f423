//! Which CPUs tasks may use, as a first walk has told.
//!
//! Model.      In a first walk, decisions tell where ours takes a task, and the kernel does not. If there are some of the children
//!             of one task, and none of them nor that task comes to these CPUs, all are bound to the CPUs where any of them
//!             comes. A task alone tells too little, and so do kin on one CPU: who stays there, for whatever reason, looks bound.
//! Invariants. Nothing follows from one decision alone: neither that tasks are bound, nor that they may use a CPU.

use super::Follower;
use super::courses::Courses;
use super::learned::Learned;
use crate::record::Record;
use fairwind_sched::{CpuId, CpuMask, TaskId};
use std::collections::BTreeMap;

/// So many decisions have to tell that a task is bound.
const TELLING: usize = 3;
/// So often kin have to come to a CPU that all of them may use.
const COMES: usize = 2;
/// As long as more than one in so many times kin come to a CPU are the first to it and the last, there are others to which they
/// may come.
const ONCE: usize = 8;
/// What kin are bound to explains all but one in so many decisions that tell it.
const EXPLAINED: usize = 4;

/// Where ours takes each task, by thread id, while it is free, and the kernel does not, which it would not if the task is bound.
pub(super) type Hints = BTreeMap<i32, Vec<CpuId>>;

/// From which record on a task is bound to some CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    from: usize,
    cpus: CpuMask,
}

/// What hints tell of tasks: to which CPUs each is bound, by thread id.
pub(super) fn bounds(hints: &Hints, records: &[Record], nr_cpus: usize) -> BTreeMap<i32, Bound> {
    let mut bounds = BTreeMap::new();
    if hints.values().flatten().count() < TELLING {
        return bounds;
    }
    let courses = Courses::new(records, nr_cpus);
    for (&parent, (forks, children)) in &courses.children {
        let begins = children.iter().map(|&child| (child, 0));
        let kin: Vec<(i32, usize)> = begins.chain([(parent, *forks)]).collect();
        let Some(cpus) = bound_to(hints, &courses, &kin) else {
            continue;
        };
        for (pid, from) in kin {
            let cpus = cpus.clone();
            bounds.entry(pid).or_insert(Bound { from, cpus });
        }
    }
    bounds
}

/// To which CPUs kin are bound, each from a record on: where any of them comes, if what is told of them says so.
fn bound_to(hints: &Hints, courses: &Courses, kin: &[(i32, usize)]) -> Option<CpuMask> {
    let mut times = vec![0; courses.nr_cpus()];
    for &(pid, from) in kin {
        courses.count(&mut times, pid, from);
    }
    let once = times.iter().filter(|&&times| times == 1).count();
    let comes = courses.cpus(&times, 1);
    let told = kin.iter().filter_map(|(pid, _)| hints.get(pid)).flatten();
    let explained = told.clone().filter(|cpu| !comes.test(**cpu)).count();
    let others = told.count() - explained;
    let is_bound = once * ONCE <= times.iter().sum()
        && explained >= TELLING
        && others * EXPLAINED <= explained;
    let usual = courses.cpus(&times, COMES);
    (is_bound && usual.weight() > 1).then_some(usual)
}

impl Learned {
    /// The CPUs to which a task is bound at a record, if that is known.
    pub(super) fn bound_at(&self, pid: i32, at: usize) -> Option<&CpuMask> {
        let bound = self.bounds.get(&pid).filter(|bound| bound.from <= at)?;
        Some(&bound.cpus)
    }
}

impl Follower<'_> {
    /// Ours takes a task to a CPU while it is free, and the kernel does not.
    pub(super) fn hint(&mut self, task: TaskId, free: CpuId) {
        if let Some(pid) = self.pid(task) {
            self.hints.entry(pid).or_default().push(free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::What;

    const NR_CPUS: usize = 8;

    fn comes(pid: i32, target: u32) -> Record {
        Record::of_task(
            0,
            0,
            What::Wakeup {
                pid,
                prio: 120,
                target,
            },
        )
    }

    fn forks(parent: i32, child: i32) -> Record {
        let comm = String::new();
        Record::of_task(
            0,
            0,
            What::Fork {
                parent,
                child,
                comm,
            },
        )
    }

    fn mask(cpus: &[u32]) -> CpuMask {
        CpuMask::of(NR_CPUS, cpus.iter().map(|&cpu| CpuId(cpu)))
    }

    /// A task comes to its CPU and forks two, which come to two CPUs, twice each.
    fn family() -> Vec<Record> {
        let own = [comes(1, 7), comes(1, 2), forks(1, 2), forks(1, 3)];
        let ways = [(2, 2), (3, 3), (2, 3), (3, 2), (2, 2), (3, 3), (2, 3)];
        let ways = ways.into_iter().map(|(pid, cpu)| comes(pid, cpu));
        own.into_iter().chain(ways).collect()
    }

    #[test]
    fn kin_are_bound_if_three_decisions_on_any_of_them_tell() {
        let records = family();
        let hints = |of: usize| Hints::from([(2, vec![CpuId(5); of]), (3, vec![CpuId(5)])]);
        assert!(bounds(&hints(1), &records, NR_CPUS).is_empty());
        let bounds = bounds(&hints(2), &records, NR_CPUS);
        let of = |pid: i32| (bounds[&pid].from, bounds[&pid].cpus.clone());
        assert_eq!(of(3), (0, mask(&[2, 3])));
        assert_eq!(of(1), (2, mask(&[2, 3])), "as its children");
    }

    #[test]
    fn kin_are_not_bound_if_they_come_to_more_and_more_cpus() {
        let mut records = family();
        records.extend([comes(2, 4), comes(3, 6)]);
        let hints = Hints::from([(2, vec![CpuId(5); 3])]);
        assert!(bounds(&hints, &records, NR_CPUS).is_empty());
    }

    #[test]
    fn kin_are_not_bound_if_one_comes_where_ours_takes_them() {
        let hints = Hints::from([(2, vec![CpuId(3); 3])]);
        assert!(bounds(&hints, &family(), NR_CPUS).is_empty());
    }
}
