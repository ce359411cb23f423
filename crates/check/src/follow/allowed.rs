//! Which CPUs tasks could use all through the recording, or for a part of it, as a first walk has told.
//!
//! Model.      In a first walk, decisions tell where ours takes a task, and the kernel does not. If there are some of the children
//!             of one task, and none of them nor that task comes to these CPUs, all are bound to the CPUs where any of them
//!             comes. If there are many of another task, and it does not come to these CPUs from some time to another, it is
//!             bound to those where it comes then.
//! Invariants. Nothing follows from one decision alone: neither that a task is bound, nor that it may use a CPU.

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
/// A task alone is bound if one in so many of its decisions tells it, and if for each other that tells something,
const OFTEN: usize = 32;
/// so many more do.
const AGAINST: usize = 4;
/// So many times are tried as those since when it is.
const MOST_BEGINS: usize = 64;

/// What a decision tells of whether a task is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    /// It is: ours takes it here while it is free, and the kernel does not.
    Bound(CpuId),
    /// The same, or how far the kernel looks for idle CPUs explains it.
    BoundOrNear(CpuId),
    /// It is not, or to other CPUs than ours takes it for.
    Otherwise,
}

/// A decision on a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hint {
    at: usize,
    told: Told,
}

/// What decisions tell of each task, by thread id.
pub(super) type Hints = BTreeMap<i32, Vec<Hint>>;

/// Records between which a task is bound to some CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    from: usize,
    to: usize,
    cpus: CpuMask,
}

/// What hints tell of tasks: to which CPUs each is bound, by thread id.
pub(super) fn spans(hints: &Hints, records: &[Record], nr_cpus: usize) -> BTreeMap<i32, Span> {
    let mut spans = BTreeMap::new();
    let told = hints.values().flatten().filter_map(Hint::bound);
    if told.count() < TELLING {
        return spans;
    }
    let courses = Courses::new(records, nr_cpus);
    // Who is found to be bound with its kin is not looked at alone.
    for (&parent, (forks, children)) in &courses.children {
        bind_kin(&mut spans, hints, &courses, children, (parent, *forks));
    }
    for &pid in hints.keys() {
        if !spans.contains_key(&pid) {
            let alone = bind_alone(hints, &courses, pid);
            spans.extend(alone.map(|span| (pid, span)));
        }
    }
    spans
}

/// Binds all of a kin to the CPUs where any of them comes, if what is told of them says so: children of one task, and that one
/// from when it forks the first of them.
fn bind_kin(
    spans: &mut BTreeMap<i32, Span>,
    hints: &Hints,
    courses: &Courses,
    children: &[i32],
    parent: (i32, usize),
) {
    let begins = children.iter().map(|&child| (child, 0)).chain([parent]);
    let kin: Vec<(i32, usize)> = begins.filter(|(pid, _)| !spans.contains_key(pid)).collect();
    let pids: Vec<i32> = kin.iter().map(|(pid, _)| *pid).collect();
    let mut times = vec![0; courses.nr_cpus()];
    for &(pid, from) in &kin {
        courses.count(&mut times, pid, from, usize::MAX);
    }
    let once = times.iter().filter(|&&times| times == 1).count();
    let is_all = once * ONCE <= times.iter().sum();
    if is_all && tells(hints, &pids, &courses.cpus(&times, 1)) {
        let cpus = courses.cpus(&times, COMES);
        for (pid, from) in kin.into_iter().filter(|_| cpus.weight() != 0) {
            let (to, cpus) = (usize::MAX, cpus.clone());
            spans.insert(pid, Span { from, to, cpus });
        }
    }
}

/// To which CPUs a task is bound since some of what is told of it: where most of that is explained.
fn bind_alone(hints: &Hints, courses: &Courses, pid: i32) -> Option<Span> {
    let hints = hints.get(&pid)?;
    let told = hints.iter().filter(|hint| hint.is_sure());
    let told: Vec<usize> = told.map(|hint| hint.at).collect();
    let last = *told.last()?;
    let step = told.len().div_ceil(MOST_BEGINS);
    let begins = told.iter().step_by(step);
    let spans = begins.filter_map(|&first| bound_since(hints, courses, pid, [first, last]));
    spans
        .max_by_key(|(explained, _)| *explained)
        .map(|(_, span)| span)
}

/// The same around two hints, if these tell it, and how many others do.
fn bound_since(
    hints: &[Hint],
    courses: &Courses,
    pid: i32,
    around: [usize; 2],
) -> Option<(usize, Span)> {
    let mut times = vec![0; courses.nr_cpus()];
    courses.count(&mut times, pid, around[0], around[1]);
    let cpus = courses.cpus(&times, 1);
    let (from, to) = courses.within(pid, around, &cpus);
    let within = hints.iter().filter(|hint| (from..to).contains(&hint.at));
    let tells = within
        .clone()
        .filter(|hint| hint.is_sure() || hint.told == Told::Otherwise);
    let explained = tells
        .clone()
        .filter(|hint| hint.is_explained(&cpus))
        .count();
    let others = tells.count() - explained;
    let often = explained * OFTEN >= within.count();
    if !often || explained < TELLING + AGAINST * others {
        return None;
    }
    let mut times = vec![0; courses.nr_cpus()];
    courses.count(&mut times, pid, from, to);
    let mut cpus = courses.cpus(&times, COMES);
    // Where it is when that begins it may be.
    if let Some(begins) = courses.cpu_at(pid, from) {
        cpus.set(begins);
    }
    Some((explained, Span { from, to, cpus }))
}

impl Hint {
    fn bound(&self) -> Option<CpuId> {
        match self.told {
            Told::Bound(cpu) | Told::BoundOrNear(cpu) => Some(cpu),
            Told::Nothing | Told::Otherwise => None,
        }
    }

    fn is_sure(&self) -> bool {
        matches!(self.told, Told::Bound(_))
    }

    /// Does it tell that the task is bound, as it is if it may use these CPUs alone?
    fn is_explained(&self, cpus: &CpuMask) -> bool {
        self.bound().is_some_and(|cpu| !cpus.test(cpu))
    }
}

/// Do decisions on kin tell that they are bound to some CPUs?
fn tells(hints: &Hints, pids: &[i32], cpus: &CpuMask) -> bool {
    let of_kin = pids.iter().filter_map(|pid| hints.get(pid)).flatten();
    let told = of_kin.filter(|hint| hint.bound().is_some());
    let explained = told.clone().filter(|hint| hint.is_explained(cpus)).count();
    explained >= TELLING && (told.count() - explained) * EXPLAINED <= explained
}

impl Learned {
    /// The CPUs to which a task is bound at a record, if that is known.
    pub(super) fn bound_at(&self, pid: i32, at: usize) -> Option<&CpuMask> {
        let span = self.spans.get(&pid)?;
        (span.from..span.to).contains(&at).then_some(&span.cpus)
    }
}

impl Follower<'_> {
    /// A decision on a task told whether it is bound.
    pub(super) fn hint(&mut self, task: TaskId, told: Told) {
        if let Some(pid) = self.pid(task) {
            let at = self.at;
            self.hints.entry(pid).or_default().push(Hint { at, told });
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

    /// That a task is told to be bound with these records, where ours takes it to `free`.
    fn told(ats: &[usize], free: u32) -> Vec<Hint> {
        let told = Told::Bound(CpuId(free));
        ats.iter().map(|&at| Hint { at, told }).collect()
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
        let hints = |of: &[usize]| Hints::from([(2, told(of, 5)), (3, told(&[6], 5))]);
        assert!(spans(&hints(&[5]), &records, NR_CPUS).is_empty());
        let spans = spans(&hints(&[5, 6]), &records, NR_CPUS);
        let of = |pid: i32| (spans[&pid].from, spans[&pid].to, spans[&pid].cpus.clone());
        assert_eq!(of(3), (0, usize::MAX, mask(&[2, 3])));
        assert_eq!(of(1), (2, usize::MAX, mask(&[2, 3])), "as its children");
    }

    #[test]
    fn kin_are_not_bound_if_they_come_to_more_and_more_cpus() {
        let mut records = family();
        records.extend([comes(2, 4), comes(3, 6)]);
        let hints = Hints::from([(2, told(&[5, 6, 7], 5))]);
        assert!(!spans(&hints, &records, NR_CPUS).contains_key(&3));
    }

    #[test]
    fn kin_are_not_bound_if_one_comes_where_ours_takes_them() {
        let hints = Hints::from([(2, told(&[5, 6, 7], 3))]);
        assert!(spans(&hints, &family(), NR_CPUS).is_empty());
    }

    #[test]
    fn a_task_alone_is_bound_from_when_it_leaves_other_cpus_until_it_comes_to_some() {
        let ways = [5, 1, 2, 1, 2, 1, 5].into_iter();
        let records: Vec<Record> = ways.map(|cpu| comes(9, cpu)).collect();
        let hints = Hints::from([(9, told(&[2, 3, 4], 5))]);
        let found = spans(&hints, &records, NR_CPUS);
        assert_eq!(found[&9].cpus, mask(&[1, 2]));
        assert_eq!((found[&9].from, found[&9].to), (1, 6));
    }

    #[test]
    fn a_task_alone_is_not_bound_if_that_is_seldom_told_or_denied() {
        let ways = [1, 2, 1, 2, 1, 2].into_iter();
        let records: Vec<Record> = ways.map(|cpu| comes(9, cpu)).collect();
        let with = |told_else: Told, times: usize| {
            let others = (0..times).map(|_| Hint {
                at: 3,
                told: told_else,
            });
            let hints = told(&[2, 3, 4], 5).into_iter().chain(others);
            spans(&Hints::from([(9, hints.collect())]), &records, NR_CPUS)
        };
        assert!(with(Told::Nothing, 3 * OFTEN - 3).contains_key(&9));
        assert!(!with(Told::Nothing, 3 * OFTEN - 2).contains_key(&9));
        assert!(!with(Told::Otherwise, 1).contains_key(&9));
        assert!(with(Told::BoundOrNear(CpuId(5)), 9).contains_key(&9));
    }
}
