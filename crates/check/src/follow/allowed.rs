//! Which CPUs tasks may use, as a first walk has told.
//!
//! Model.      In a first walk, decisions tell where ours takes a task, and the kernel does not. If there are some of the children
//!             of one task, and none of them nor that task comes to these CPUs, all are bound to the CPUs where any of them
//!             comes. So it is with those of them that have one name, if that takes fewer words to tell (see `spans`); and
//!             from one time to another one, if what is told changes then. A task alone tells too little, and so do kin on
//!             one CPU: who stays there, for whatever reason, looks bound.
//! Invariants. No decision alone tells that tasks are bound. One alone tells that they may use a CPU only where others, before and
//!             after it, tell that they are bound.

use super::Follower;
use super::courses::{Courses, Stay};
use super::spans::{Span, spans};
use super::tasks::bound_cpu;
use crate::record::Record;
use fairwind_sched::{CpuId, CpuMask, TaskId};
use std::collections::BTreeMap;

/// So many decisions have to tell that a task is bound.
const TELLING: usize = 3;
/// A task alone tells too little.
const KIN: usize = 2;
/// So often kin have to come to a CPU that all of them may use, unless others tell meanwhile that they are bound.
const COMES: usize = 2;
/// So many decisions that being bound explains outweigh one that it does not, or a CPU to which kin come only once: there may be as
/// many others to which they never come by chance.
const EXPLAINED: usize = 4;
/// So many times that kin come to any CPU outweigh one to which they come only once, or a decision that being bound does not explain.
const ONCE: usize = 8;

/// Where ours takes each task, by thread id, while it is free, and the kernel does not, which it would not if the task is bound;
/// and with which record.
pub(super) type Hints = BTreeMap<i32, Vec<(usize, CpuId)>>;

/// From a record on, a task is bound to some CPUs, or free again after that.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) from: usize,
    pub(super) pid: i32,
    pub(super) cpus: Option<CpuMask>,
}

/// Tasks that are bound alike, if they are.
struct Kin {
    /// By thread id, and from which record on each is one of them.
    tasks: Vec<(i32, usize)>,
    stays: Vec<Stay>,
    hints: Vec<(usize, CpuId)>,
}

/// What hints tell of tasks: to which CPUs each is bound, and from when on, by that.
pub(super) fn bounds(hints: &Hints, records: &[Record], nr_cpus: usize) -> Vec<Bound> {
    if hints.values().flatten().count() < TELLING {
        return Vec::new();
    }
    let courses = Courses::new(records, nr_cpus);
    let mut bounds = BTreeMap::new();
    for (&parent, (forks, children)) in &courses.children {
        let unbound = |child: &&i32| bound_cpu(courses.comm(**child)).is_none();
        let tasks = children.iter().filter(unbound).map(|&child| (child, 0));
        let family = Kin::new(tasks.chain([(parent, *forks)]).collect(), hints, &courses);
        if family.hints.len() < TELLING {
            continue;
        }
        for (kin, spans) in kins(family, hints, &courses) {
            for (pid, bound) in kin.bounds(&spans, &courses) {
                bounds.entry(pid).or_insert(bound);
            }
        }
    }
    let mut bounds: Vec<Bound> = bounds.into_values().flatten().collect();
    bounds.sort_by_key(|bound| bound.from);
    bounds
}

/// A family, all of it or by name, whichever takes fewer words to tell where they are; and the spans of that.
fn kins(family: Kin, hints: &Hints, courses: &Courses) -> Vec<(Kin, Vec<Span>)> {
    let mut by_name: BTreeMap<&str, Vec<(i32, usize)>> = BTreeMap::new();
    for &(pid, from) in &family.tasks {
        let namesakes = by_name.entry(courses.comm(pid)).or_default();
        namesakes.push((pid, from));
    }
    let tell = |kin: Kin| {
        let (words, spans) = spans(&kin.stays, &kin.hints, courses.nr_cpus);
        (words, (kin, spans))
    };
    let by_name = { by_name.into_values() }.map(|tasks| tell(Kin::new(tasks, hints, courses)));
    let (words, by_name): (Vec<f64>, Vec<_>) = by_name.unzip();
    let (words_of_all, all) = tell(family);
    if words.into_iter().sum::<f64>() < words_of_all {
        by_name
    } else {
        vec![all]
    }
}

impl Kin {
    fn new(tasks: Vec<(i32, usize)>, hints: &Hints, courses: &Courses) -> Kin {
        let stays = { tasks.iter() }.flat_map(|&(pid, from)| courses.stays(pid, from));
        let told = tasks.iter().filter_map(|(pid, _)| hints.get(pid));
        Kin {
            stays: stays.copied().collect(),
            hints: told.flatten().copied().collect(),
            tasks,
        }
    }

    /// To which CPUs each of them is bound in each span of time, from the first one on in which they are; none if they never are.
    fn bounds(&self, spans: &[Span], courses: &Courses) -> Vec<(i32, Vec<Bound>)> {
        let spans = spans
            .iter()
            .map(|span| (span, self.bound_to(span, courses)));
        let spans: Vec<_> = spans.skip_while(|(_, cpus)| cpus.is_none()).collect();
        if self.tasks.len() < KIN || spans.is_empty() {
            return Vec::new();
        }
        let bounds = self.tasks.iter().map(|&(pid, from)| {
            let later = spans.iter().filter(|(span, _)| span.to > from);
            let bounds = later.map(|(span, cpus)| Bound {
                from: span.from.max(from),
                pid,
                cpus: cpus.clone(),
            });
            (pid, bounds.collect())
        });
        bounds.collect()
    }

    /// To which CPUs they are bound in a span: where any of them comes, if what is told of them says so. A CPU to which they come
    /// only once is one of these if what is told before and after that says that they are bound.
    fn bound_to(&self, span: &Span, courses: &Courses) -> Option<CpuMask> {
        let here = || self.stays.iter().filter(|stay| span.has(stay));
        let comes = courses.cpus(here(), 1);
        let told = { self.hints.iter() }.filter(|(at, _)| (span.from..span.to).contains(at));
        let explained = told.clone().filter(|(_, cpu)| !comes.test(*cpu));
        let ats = explained.clone().map(|&(at, _)| at);
        let while_bound = ats.clone().min()?..ats.max()?;
        let mut usual = courses.cpus(here(), COMES);
        for stay in here().filter(|stay| while_bound.contains(&stay.first)) {
            usual.set(stay.cpu);
        }
        let once = comes.weight() - usual.weight();
        let explained = explained.count();
        let others = told.count() - explained;
        let stays = here().count();
        let few = once * ONCE <= stays
            && (others * EXPLAINED <= explained || others * ONCE <= stays)
            || (once + others) * EXPLAINED <= explained;
        let is_bound = explained >= TELLING && few;
        (is_bound && usual.weight() > 1).then_some(usual)
    }
}

impl Follower<'_> {
    /// Ours takes a task to a CPU while it is free, and the kernel does not.
    pub(super) fn hint(&mut self, task: TaskId, free: CpuId) {
        if let Some(pid) = self.pid(task) {
            self.hints.entry(pid).or_default().push((self.at, free));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::What;

    const NR_CPUS: usize = 8;

    fn comes(pid: i32, target: u32) -> Record {
        let prio = 120;
        Record::of_task(0, 0, What::Wakeup { pid, prio, target })
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

    fn hint(cpu: u32, times: usize) -> Vec<(usize, CpuId)> {
        vec![(5, CpuId(cpu)); times]
    }

    #[test]
    fn kin_are_bound_if_three_decisions_on_any_of_them_tell() {
        let records = family();
        let hints = |of: usize| Hints::from([(2, hint(5, of)), (3, hint(5, 1))]);
        assert!(bounds(&hints(1), &records, NR_CPUS).is_empty());
        let bounds = bounds(&hints(2), &records, NR_CPUS);
        let of = |pid: i32| bounds.iter().find(|bound| bound.pid == pid).unwrap();
        assert_eq!((of(3).from, of(3).cpus.clone()), (0, Some(mask(&[2, 3]))));
        let parent = (of(1).from, of(1).cpus.clone());
        assert_eq!(parent, (2, Some(mask(&[2, 3]))), "as its children");
    }

    #[test]
    fn kin_may_use_a_cpu_to_which_one_comes_once_while_they_are_bound() {
        let mut records = family();
        let once = records.len();
        records.extend([comes(2, 4), comes(2, 2)]);
        let bounds_by = |ats: [usize; 4]| {
            let hints = Hints::from([(2, ats.map(|at| (at, CpuId(5))).to_vec())]);
            let bounds = bounds(&hints, &records, NR_CPUS);
            let of = bounds.iter().find(|bound| bound.pid == 3);
            of.and_then(|bound| bound.cpus.clone())
        };
        assert_eq!(
            bounds_by([once - 2, once - 1, once, once + 1]),
            Some(mask(&[2, 3, 4]))
        );
        let before = once - 1;
        assert_eq!(bounds_by([before; 4]), Some(mask(&[2, 3])), "by then");
    }

    #[test]
    fn kin_are_not_bound_if_they_come_to_more_and_more_cpus() {
        let mut records = family();
        records.extend([comes(2, 4), comes(3, 6)]);
        let hints = Hints::from([(2, hint(5, 3))]);
        assert!(bounds(&hints, &records, NR_CPUS).is_empty());
    }

    #[test]
    fn kin_are_not_bound_if_one_comes_where_ours_takes_them() {
        let hints = Hints::from([(2, hint(3, 3))]);
        assert!(bounds(&hints, &family(), NR_CPUS).is_empty());
    }

    #[test]
    fn kin_are_bound_though_ours_goes_astray_now_and_then_where_they_come_often() {
        let mut records = family();
        let (often, seldom) = (24, 4);
        let ways = (0..often).flat_map(|_| [(2, 2), (3, 3), (2, 3), (3, 2)]);
        records.extend(ways.map(|(pid, cpu)| comes(pid, cpu)));
        let astray = vec![(5, CpuId(2)); 3];
        let told = hint(5, 3).into_iter().chain(astray).collect();
        let hints = Hints::from([(2, told)]);
        let is_bound = |records: &[Record]| !bounds(&hints, records, NR_CPUS).is_empty();
        assert!(is_bound(&records));
        records.truncate(family().len() + seldom);
        assert!(!is_bound(&records));
    }

    #[test]
    fn kin_are_bound_to_others_from_when_on_that_is_told() {
        let mut records = family();
        let changes = records.len();
        let ways = [(2, 5), (3, 6), (2, 6), (3, 5), (2, 5), (3, 6)];
        records.extend(ways.map(|(pid, cpu)| comes(pid, cpu)));
        // Ours takes them back to where they were, which the kernel does not.
        let told = (changes + 1..changes + 6)
            .map(|at| (at, CpuId(2)))
            .collect();
        let bounds = bounds(&Hints::from([(2, told)]), &records, NR_CPUS);
        let of: Vec<_> = bounds.iter().filter(|bound| bound.pid == 2).collect();
        let [bound] = &of[..] else {
            panic!("bound once: {of:?}")
        };
        assert_eq!(bound.from, changes);
        assert_eq!(bound.cpus, Some(mask(&[5, 6])));
    }
}
