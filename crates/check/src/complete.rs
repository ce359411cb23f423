//! Beginnings that a recording lacks though other events imply them.
//!
//! Model.    A wakeup is two events: `sched_waking`, then the choice of a CPU (`sched_migrate_task` if it is another
//!           one), then `sched_wakeup`. `perf sched record` leaves the last one out, older tools the first. Groups and
//!           their tasks that were there before the recording are made when it begins.
//! Deviations. Which hierarchy has the CPU controller is not recorded: where groups are told, it is one that has some of
//!           them, and all others are left out. Where all groups that are made have been removed when files tell of groups, it
//!           is the one whose tasks go to another queue with the group: see `removed_groups`.
//! Not here. The end of a wakeup: see `wakeup_ends`; what the recording says of itself: see `record`.

use crate::facts::{Facts, GroupFacts};
use crate::record::{Party, Record, What};
use crate::removed_groups;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Adds the beginnings of wakeups to records without any.
pub(crate) fn add_wakings(records: Vec<Record>) -> Vec<Record> {
    let mut complete: Vec<Record> = Vec::with_capacity(records.len() * 5 / 4);
    for record in records {
        if let What::Wakeup { pid, prio, target } = record.what {
            // A move just before it on the same CPU is part of the wakeup.
            let moved = complete.last().and_then(|last| match last.what {
                What::Migrate {
                    pid: moved, orig, ..
                } if moved == pid && last.cpu == record.cpu => Some(orig),
                _ => None,
            });
            let waking = Record {
                what: What::Waking {
                    pid,
                    comm: String::new(),
                    prio,
                    slept_on: moved.unwrap_or(target),
                },
                ..record.clone()
            };
            let at = complete.len() - usize::from(moved.is_some());
            complete.insert(at, waking);
        }
        complete.push(record);
    }
    complete
}

/// Leaves out the hierarchies of other controllers, cpusets for one, whose groups are no task groups. The CPU controller's
/// is the one with most of the groups that are told of. Where none of them is in any, nothing is left out, unless they
/// are `listed` completely. Its number.
fn retain_cpu_hierarchy(
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
    let cpu = told.or_else(|| removed_groups::hierarchy(records).filter(|_| listed));
    let is_other = |what: &What| match what {
        What::Mkdir { root, .. } | What::Attach { root, .. } => Some(*root) != cpu,
        _ => false,
    };
    if listed || cpu.is_some() {
        records.retain(|r| !is_other(&r.what));
    }
    cpu.unwrap_or(0)
}

/// Cgroups without the CPU controller are no task groups: their tasks are in the nearest one above.
fn leave_to_groups_above(records: &mut Vec<Record>, no_groups: &BTreeSet<String>) {
    records.retain(|r| !matches!(&r.what, What::Mkdir { path, .. } if no_groups.contains(path)));
    for r in records {
        if let What::Attach { path, .. } = &mut r.what {
            while no_groups.contains(path) {
                let above = path.rsplit_once('/').map_or("", |(above, _)| above);
                *path = if above.is_empty() { "/" } else { above }.to_owned();
            }
        }
    }
}

/// Makes the groups that no event makes, and puts tasks into those they are said to be in.
pub(crate) fn add_groups(records: &mut Vec<Record>, facts: &Facts) {
    let root = retain_cpu_hierarchy(records, &facts.groups, facts.groups_listed);
    leave_to_groups_above(records, &facts.no_groups);
    let Some(first) = records.first() else {
        return;
    };
    let (ts, cpu) = (first.ts, first.cpu);
    let at_start = |what| Record::of_task(ts, cpu, what);
    let mut start: Vec<Record> = Vec::new();
    let made = |path: &str| {
        let is = |what: &What| matches!(what, What::Mkdir { path: other, .. } if other == path);
        records.iter().any(|r| is(&r.what))
    };
    for path in facts
        .groups
        .keys()
        .filter(|path| *path != "/" && !made(path))
    {
        let path = path.clone();
        start.push(at_start(What::Mkdir { root, id: 0, path }));
    }
    for (pid, path) in members(records, facts) {
        start.push(at_start(What::Attach { pid, root, path }));
    }
    records.splice(0..0, start);
}

/// The first of those who are said to be in a group that no event names.
pub(crate) fn unknown_member(records: &[Record], facts: &Facts) -> Option<String> {
    let known = |who: &str| {
        let pid = who.parse().ok();
        let is = |party: &Party| Some(party.pid) == pid || party.comm == who && party.pid != 0;
        records.iter().any(|record| match &record.what {
            What::Switch { prev, next, .. } => is(prev) || is(next),
            What::Waking {
                pid: waking, comm, ..
            } => Some(*waking) == pid || comm == who,
            _ => false,
        })
    };
    let mut unknown = { facts.members.iter() }.filter(|(who, _)| !known(who));
    unknown.next().map(|(who, _)| who.clone())
}

/// Threads and their groups: those named by number or by the name that an event gives them, and those of which the debug
/// file tells.
fn members(records: &[Record], facts: &Facts) -> BTreeMap<i32, String> {
    let before = { facts.tasks.iter() }.filter(|task| task.group != "/");
    let mut members: BTreeMap<i32, String> =
        before.map(|task| (task.pid, task.group.clone())).collect();
    for (who, path) in &facts.members {
        if let Ok(pid) = who.parse() {
            members.insert(pid, path.clone());
            continue;
        }
        let named = |pid: i32, comm: &str| (comm == who && pid != 0).then_some(pid);
        for record in records {
            let pids = match &record.what {
                What::Switch { prev, next, .. } => {
                    [named(prev.pid, &prev.comm), named(next.pid, &next.comm)]
                }
                What::Waking { pid, comm, .. } => [named(*pid, comm), None],
                _ => continue,
            };
            members.extend(pids.into_iter().flatten().map(|pid| (pid, path.clone())));
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_a_cgroup_without_the_controller_are_in_the_group_above() {
        let attach = |path: &str| {
            let path = path.to_owned();
            Record::of_task(
                0,
                0,
                What::Attach {
                    pid: 7,
                    root: 1,
                    path,
                },
            )
        };
        let path = "/a/b".to_owned();
        let mut records = vec![
            Record::of_task(
                0,
                0,
                What::Mkdir {
                    root: 1,
                    id: 0,
                    path,
                },
            ),
            attach("/a/b/c"),
            attach("/d"),
            attach("/e"),
            // Damaged ones.
            attach("f"),
            attach("é"),
        ];
        let no_groups = ["/a/b", "/a/b/c", "/d", "f", "é"].map(str::to_owned).into();
        leave_to_groups_above(&mut records, &no_groups);
        let left = ["/a", "/", "/e", "/", "/"].map(attach);
        assert_eq!(records, left);
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
            let root = retain_cpu_hierarchy(&mut records, &told(paths), listed);
            (root, records.len())
        };
        assert_eq!(kept(&["/", "/a", "/b"], true), (1, 2));
        assert_eq!(kept(&["/b"], false), (1, 2));
        assert_eq!(kept(&["/"], true), (0, 0), "neither has a task group");
        assert_eq!(kept(&[], false), (0, 4), "no file tells of any");
        assert_eq!(kept(&["/c"], false), (0, 4), "there may be others");
    }
}
