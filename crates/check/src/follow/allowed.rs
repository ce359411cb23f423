//! Which CPUs tasks may use, as a first walk has told.
//!
//! Model.      In a first walk, decisions tell where ours takes a task, and the kernel does not. If there are some of the children
//!             of one task, and none of them nor that task comes to these CPUs, all are bound to the CPUs where any of them
//!             comes. So it is with those of them that have one name, or that were forked from some fork on, by when what their
//!             parent may use had changed, if that takes fewer words to tell (see `spans`); and from one time to another one, if
//!             what is told changes then. A task alone tells too little, and so do kin on one CPU: who stays there, for
//!             whatever reason, looks bound.
//! Invariants. No decision alone tells that tasks are bound. One alone tells that they may use a CPU only where others, before and
//!             after it, tell that they are bound.

use super::Follower;
use super::courses::{Courses, Stay};
use super::spans::{Span, Tale, astray, spans};
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
    /// They have siblings that were forked before a change of what their parent may use.
    are_younger: bool,
}

/// What hints tell of tasks: to which CPUs each is bound, and from when on, by that.
pub(super) fn bounds(hints: &Hints, records: &[Record], nr_cpus: usize) -> Vec<Bound> {
    if hints.values().flatten().count() < TELLING {
        return Vec::new();
    }
    let courses = Courses::new(records, nr_cpus);
    let mut bounds = BTreeMap::new();
    for (&parent, children) in &courses.children {
        let unbound = |(child, _): &&(i32, usize)| bound_cpu(courses.comm(*child)).is_none();
        let children: Vec<_> = children.iter().filter(unbound).copied().collect();
        let family = Kin::family(parent, &children, hints, &courses);
        if family.hints.len() < TELLING {
            continue;
        }
        for (kin, spans) in kins(parent, &children, hints, &courses) {
            for (pid, bound) in kin.bounds(&spans, &courses) {
                // Which of its children are bound tells better since when a task is itself than where its siblings are.
                if pid == parent && kin.are_younger {
                    bounds.insert(pid, bound);
                } else {
                    bounds.entry(pid).or_insert(bound);
                }
            }
        }
    }
    let mut bounds: Vec<Bound> = bounds.into_values().flatten().collect();
    bounds.sort_by_key(|bound| bound.from);
    bounds
}

/// A family, all of it, by name, or those that are forked from some fork on, whichever takes the fewest words to tell where they
/// are; and the spans of that.
fn kins(
    parent: i32,
    children: &[(i32, usize)],
    hints: &Hints,
    courses: &Courses,
) -> Vec<(Kin, Vec<Span>)> {
    let family = Kin::family(parent, children, hints, courses);
    let mut by_name: BTreeMap<&str, Vec<(i32, usize)>> = BTreeMap::new();
    for &(pid, from) in &family.tasks {
        let namesakes = by_name.entry(courses.comm(pid)).or_default();
        namesakes.push((pid, from));
    }
    let by_name = by_name.into_values();
    let by_name = by_name
        .map(|tasks| Kin::new(tasks, hints, courses))
        .collect();
    let mut ways = vec![(0.0, vec![family]), (0.0, by_name)];
    if let Some((older, words)) = changes(children, hints, courses) {
        let mut younger = Kin::family(parent, &children[older..], hints, courses);
        younger.are_younger = true;
        if younger.tells_of_several(hints) {
            ways.push((words + (children.len() as f64).ln(), vec![younger]));
        }
    }
    let told = ways.into_iter().map(|(mut words, kins)| {
        let told = kins.into_iter().map(|kin| {
            let (more, spans) = spans(&kin.stays, &kin.hints, courses.nr_cpus);
            words += more;
            (kin, spans)
        });
        let told: Vec<_> = told.collect();
        (words, told)
    });
    let least = told.min_by(|a, b| a.0.total_cmp(&b.0));
    least.map_or_else(Vec::new, |(_, told)| told)
}

/// How many children are older than a change of what their parent may use, which the younger ones inherit, if there is one: the
/// least, of changes that are told in as few words and after which they come to as few CPUs. And in how many words it is told
/// where the older ones are, which are free.
fn changes(children: &[(i32, usize)], hints: &Hints, courses: &Courses) -> Option<(usize, f64)> {
    let hints = |child: i32| hints.get(&child).into_iter().flatten();
    let mut tale = Tale::new(courses.nr_cpus);
    let younger = children.iter().rev().map(|&(child, _)| {
        let stays = courses.stays(child, 0);
        stays.iter().for_each(|stay| tale.come(stay.cpu));
        hints(child).for_each(|(_, cpu)| tale.hint(*cpu));
        (tale.words(), tale.cpus())
    });
    let mut younger: Vec<_> = younger.collect();
    younger.reverse();
    let mut older = 0;
    let changes = (1..children.len()).map(|at| {
        older += hints(children[at - 1].0).count();
        (at, astray(older), younger[at])
    });
    let least = changes.min_by(|(_, older, younger), (_, others_older, others_younger)| {
        let words = (older + younger.0).total_cmp(&(others_older + others_younger.0));
        words.then(younger.1.cmp(&others_younger.1))
    });
    least.map(|(at, older, _)| (at, older))
}

impl Kin {
    /// Children, and their parent from when on it forks the first of them.
    fn family(parent: i32, children: &[(i32, usize)], hints: &Hints, courses: &Courses) -> Kin {
        let tasks = children.iter().map(|&(child, _)| (child, 0));
        let forks = children.first().map(|&(_, forks)| (parent, forks));
        Kin::new(tasks.chain(forks).collect(), hints, courses)
    }

    fn new(tasks: Vec<(i32, usize)>, hints: &Hints, courses: &Courses) -> Kin {
        let stays = { tasks.iter() }.flat_map(|&(pid, from)| courses.stays(pid, from));
        let told = tasks.iter().filter_map(|(pid, _)| hints.get(pid));
        Kin {
            stays: stays.copied().collect(),
            hints: told.flatten().copied().collect(),
            tasks,
            are_younger: false,
        }
    }

    /// Does what tells that they are bound tell that of several of them?
    fn tells_of_several(&self, hints: &Hints) -> bool {
        let told = { self.tasks.iter() }.filter(|(pid, _)| hints.contains_key(pid));
        told.count() >= KIN
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
    fn younger_kin_are_bound_if_their_parent_was_while_it_forked() {
        let mut records = vec![comes(1, 7), forks(1, 2), forks(1, 3)];
        let younger = records.len();
        records.extend([comes(1, 2), forks(1, 4), forks(1, 5)]);
        let older = (0..8).flat_map(|cpu| [comes(2, cpu), comes(3, 7 - cpu)]);
        let ways = [(4, 2), (5, 3), (4, 3), (5, 2), (1, 2)];
        let ways = ways.into_iter().map(|(pid, cpu)| comes(pid, cpu));
        records.extend(older.chain(ways));
        let hints = |last: i32| Hints::from([(4, hint(5, 2)), (last, hint(6, 1))]);
        let bounds = |last: i32| bounds(&hints(last), &records, NR_CPUS);
        let told = bounds(5);
        let bound: Vec<i32> = told.iter().map(|bound| bound.pid).collect();
        assert_eq!(bound, [4, 5, 1]);
        assert!(told.iter().all(|bound| bound.cpus == Some(mask(&[2, 3]))));
        assert_eq!(told[2].from, younger + 1, "as it forked the first");
        assert!(bounds(4).is_empty(), "one of them alone tells that");
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
