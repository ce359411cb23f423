//! The hierarchy of the CPU controller, where no file tells of its groups any more.
//!
//! Model.   A task that goes to another group of tasks goes to another queue: its virtual runtime goes on from there, and it is
//!          picked through the group's entity. One that goes to another set of CPUs, say, keeps its queue.
//! Source.  kernel/sched/core.c `sched_move_task`; kernel/sched/fair.c `task_change_group_fair`, `set_next_task_fair` @ 6.1,
//!          6.12.

use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use std::collections::{BTreeMap, BTreeSet};

/// A task of nice 19 ages so many times as fast as it runs.
const FASTEST: i64 = 1024 / 15 + 1;

/// The hierarchy whose groups tasks go to another queue with. Where nothing shows whether they do, it is the only one.
pub(crate) fn hierarchy(records: &[Record]) -> Option<u64> {
    let roots = records.iter().filter_map(|r| match &r.what {
        What::Attach { root, path, .. } if path != "/" => Some(*root),
        _ => None,
    });
    let roots: BTreeSet<u64> = roots.collect();
    let shown =
        |root: &&u64| ages_otherwise(records, **root).or(is_picked_through_groups(records, **root));
    let mut moved = roots.iter().filter(|root| shown(root) == Some(true));
    if let Some(root) = moved.next() {
        return Some(*root);
    }
    let root = roots.first().filter(|root| shown(root).is_none());
    root.filter(|_| roots.len() == 1).copied()
}

/// Do the virtual runtimes of running tasks that are moved go on from elsewhere? None: there are none.
fn ages_otherwise(records: &[Record], root: u64) -> Option<bool> {
    // What each CPU's running task was last shown to have, and whether it was moved since.
    let mut shown: BTreeMap<u32, (i32, u64, bool)> = BTreeMap::new();
    let mut found = None;
    for r in records {
        match &r.what {
            What::Runtime {
                pid,
                runtime,
                vruntime: Some(vruntime),
            } => {
                if let Some((before, from, true)) = shown.get(&r.cpu)
                    && before == pid
                {
                    let aged = vruntime.wrapping_sub(*from).cast_signed();
                    let most = runtime.cast_signed().saturating_mul(FASTEST);
                    let elsewhere = !(0..=most).contains(&aged);
                    found = Some(found.unwrap_or(false) || elsewhere);
                }
                shown.insert(r.cpu, (*pid, *vruntime, false));
            }
            What::Attach { pid, root: of, .. } if *of == root => {
                if let Some((last, _, moved)) = shown.get_mut(&r.cpu) {
                    *moved |= last == pid;
                }
            }
            What::Switch { .. } => {
                shown.remove(&r.cpu);
            }
            _ => {}
        }
    }
    found
}

/// Are tasks that were moved picked through another entity? None: no probe shows entities.
fn is_picked_through_groups(records: &[Record], root: u64) -> Option<bool> {
    let mut members: BTreeSet<i32> = BTreeSet::new();
    let mut set: BTreeMap<u32, usize> = BTreeMap::new();
    let mut found = None;
    for r in records {
        match &r.what {
            What::Attach {
                pid,
                root: of,
                path,
            } if *of == root && path != "/" => {
                members.insert(*pid);
            }
            What::Probe {
                point: ProbePoint::SetNextEntity,
                ..
            } if r.what.shows_entity() => *set.entry(r.cpu).or_default() += 1,
            What::Switch { next, .. } => {
                let entities = set.remove(&r.cpu).unwrap_or(0);
                if members.contains(&next.pid) && entities > 0 {
                    found = Some(found.unwrap_or(false) || entities > 1);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attach(root: u64) -> Record {
        let path = "/a".to_owned();
        Record::of_task(20, 0, What::Attach { pid: 7, root, path })
    }

    fn charge(vruntime: u64) -> Record {
        let vruntime = (vruntime != 0).then_some(vruntime);
        let (pid, runtime) = (7, 10);
        let what = What::Runtime {
            pid,
            runtime,
            vruntime,
        };
        Record::of_task(10, 0, what)
    }

    #[test]
    fn whose_tasks_go_on_from_elsewhere_is_the_one_of_task_groups() {
        let of = |before, after| hierarchy(&[charge(before), attach(2), charge(after)]);
        assert_eq!(of(5000, 10), Some(2));
        assert_eq!(of(5000, 5010), None, "the same queue");
        assert_eq!(of(0, 0), Some(2), "nothing shows it");
        let both = [charge(5000), attach(1), charge(5010), attach(2), charge(90)];
        assert_eq!(hierarchy(&both), Some(2));
        assert_eq!(hierarchy(&[attach(1), attach(2)]), None);
        assert_eq!(hierarchy(&[charge(10)]), None);
    }
}
