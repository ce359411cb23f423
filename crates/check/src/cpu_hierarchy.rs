//! Which hierarchy of cgroups is the CPU controller's.
//!
//! Model.      It is one that has some of the groups that files tell of. Where files tell of groups and of none that an event
//!             names, these may have been removed: a task that goes to another group of tasks goes to another queue, so that its
//!             virtual runtime goes on from there, and it is picked through the group's entity. One that goes to another set of
//!             CPUs, say, keeps its queue.
//! Source.     kernel/sched/core.c `sched_move_task`; kernel/sched/fair.c `task_change_group_fair`, `set_next_task_fair` @ 6.1,
//!             6.12.
//! Deviations. No event tells it. Where nothing shows whether tasks of removed groups went to other queues, it is the only
//!             hierarchy that has some.

use crate::facts::GroupFacts;
use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A task of nice 19 ages so many times as fast as it runs.
const FASTEST: i64 = 1024 / 15 + 1;
/// A kernel has fewer hierarchies than this, a damaged recording may name more.
const MOST_HIERARCHIES: usize = 64;

/// Leaves out the hierarchies of other controllers, cpusets for one, whose groups are no task groups. The CPU controller's
/// is the one with most of the groups that are told of. Where none of them is in any, nothing is left out, unless they
/// are `listed` completely: then all is but that of removed groups, if there is one. Its number.
pub(crate) fn retain(
    records: &mut Vec<Record>,
    groups: &BTreeMap<String, GroupFacts>,
    listed: bool,
) -> u64 {
    let mut told: BTreeMap<u64, BTreeSet<&String>> = BTreeMap::new();
    for r in records.iter() {
        if let What::Mkdir { root, path, .. } | What::Attach { root, path, .. } = &r.what
            && path != "/"
            && groups.contains_key(path)
        {
            told.entry(*root).or_default().insert(path);
        }
    }
    let most = told
        .iter()
        .max_by_key(|(root, paths)| (paths.len(), Reverse(**root)));
    let told = most.map(|(root, _)| *root);
    let cpu = match told {
        None if listed => of_removed(records),
        told => told,
    };
    let is_other = |what: &What| match what {
        What::Mkdir { root, .. } | What::Attach { root, .. } => Some(*root) != cpu,
        _ => false,
    };
    if listed || cpu.is_some() {
        records.retain(|r| !is_other(&r.what));
    }
    cpu.unwrap_or(0)
}

/// The hierarchy whose groups tasks go to another queue with. Where nothing shows whether they do, it is the only one.
fn of_removed(records: &[Record]) -> Option<u64> {
    let roots = records.iter().filter_map(|r| match &r.what {
        What::Attach { root, path, .. } if path != "/" => Some(*root),
        _ => None,
    });
    let roots: BTreeSet<u64> = roots.collect();
    let shown = roots.iter().take(MOST_HIERARCHIES).map(|&root| {
        let ages = ages_otherwise(records, root);
        let moves = ages.or_else(|| is_picked_through_groups(records, root));
        (root, moves)
    });
    let shown: Vec<(u64, Option<bool>)> = shown.collect();
    let moves = shown.iter().find(|(_, moves)| *moves == Some(true));
    match (moves, &shown[..]) {
        (Some((root, _)), _) | (None, [(root, None)]) => Some(*root),
        _ => None,
    }
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
        let of = |before, after| of_removed(&[charge(before), attach(2), charge(after)]);
        assert_eq!(of(5000, 10), Some(2));
        assert_eq!(of(5000, 5010), None, "the same queue");
        assert_eq!(of(0, 0), Some(2), "nothing shows it");
        let both = [charge(5000), attach(1), charge(5010), attach(2), charge(90)];
        assert_eq!(of_removed(&both), Some(2));
        assert_eq!(of_removed(&[attach(1), attach(2)]), None);
        assert_eq!(of_removed(&[charge(10)]), None);
    }

    #[test]
    fn groups_of_other_controllers_are_left_out() {
        let mkdir = |root, path: &str| {
            let path = path.to_owned();
            Record::of_task(0, 0, What::Mkdir { root, id: 0, path })
        };
        let all = vec![
            mkdir(1, "/a"),
            mkdir(2, "/a"),
            mkdir(2, "/set"),
            mkdir(1, "/b"),
        ];
        let told = |paths: &[&str]| {
            let group = |path: &&str| ((*path).to_owned(), GroupFacts::default());
            paths.iter().map(group).collect()
        };
        let kept = |paths: &[&str], listed| {
            let mut records = all.clone();
            let root = retain(&mut records, &told(paths), listed);
            (root, records.len())
        };
        assert_eq!(kept(&["/", "/a", "/b"], true), (1, 2));
        assert_eq!(kept(&["/b"], false), (1, 2));
        assert_eq!(kept(&["/"], true), (0, 0), "neither has a task group");
        assert_eq!(kept(&[], false), (0, 4), "no file tells of any");
        assert_eq!(kept(&["/c"], false), (0, 4), "there may be others");
    }
}
