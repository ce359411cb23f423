//! Beginnings that a recording lacks though other events imply them.
//!
//! Model.    A wakeup is two events: `sched_waking`, then the choice of a CPU (`sched_migrate_task` if it is another
//!           one), then `sched_wakeup`. `perf sched record` leaves the last one out, older tools the first. Groups and
//!           their tasks that were there before the recording are made when it begins.
//! Not here. The end of a wakeup: see `wakeup_ends`; what the recording says of itself: see `record`.

use crate::cpu_hierarchy;
use crate::facts::{Facts, TaskFacts};
use crate::record::{Party, Record, What};
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
    let root = cpu_hierarchy::retain(records, &facts.groups, facts.groups_listed);
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
    let mut members = members(records, facts);
    if let Some(group) = group_of_reader(records, &facts.tasks) {
        for pid in unaccounted(records, &facts.tasks) {
            members.entry(pid).or_insert_with(|| group.to_owned());
        }
    }
    attach_as_they_begin(records, &mut members, root);
    for (pid, path) in members {
        start.push(at_start(What::Attach { pid, root, path }));
    }
    records.splice(0..0, start);
}

/// The group of who read the debug file, if it is in one: it ran then, had hardly begun, and is over.
fn group_of_reader<'a>(records: &[Record], tasks: &'a [TaskFacts]) -> Option<&'a str> {
    let seen = |pid: i32| {
        records.iter().any(|r| match &r.what {
            What::Switch { prev, next, .. } => prev.pid == pid || next.pid == pid,
            _ => false,
        })
    };
    let over = { tasks.iter() }.filter(|task| task.runs && !seen(task.pid));
    let reader = over.min_by_key(|task| task.sum_exec)?;
    (reader.group != "/").then_some(&reader.group)
}

/// Threads that ran before the recording, and that the debug file does not tell: somebody has started them since.
fn unaccounted(records: &[Record], tasks: &[TaskFacts]) -> BTreeSet<i32> {
    let mut told: BTreeSet<i32> = tasks.iter().map(|task| task.pid).collect();
    told.insert(0);
    let mut unaccounted = BTreeSet::new();
    for record in records {
        match &record.what {
            What::Fork { child, .. } => {
                told.insert(*child);
            }
            What::Switch { prev, next, .. } => {
                let parties = [prev, next].into_iter();
                let started = parties.filter(|party| !party.comm.starts_with("kworker/"));
                let new = started.filter(|party| !told.contains(&party.pid));
                unaccounted.extend(new.map(|party| party.pid));
            }
            _ => {}
        }
    }
    unaccounted
}

/// Puts those of some threads into their groups that begin in the recording, as they do so, and takes them from the others: by
/// an event of its own who has another group than its parent.
fn attach_as_they_begin(records: &mut Vec<Record>, members: &mut BTreeMap<i32, String>, root: u64) {
    let mut inherit = Vec::new();
    let mut begin = Vec::new();
    for (at, record) in records.iter().enumerate() {
        match record.what {
            What::Fork { parent, child, .. } if members.get(&parent) == members.get(&child) => {
                inherit.push(child);
            }
            What::WakeupNew { pid, .. } => begin.push((at, pid)),
            _ => {}
        }
    }
    for child in inherit {
        members.remove(&child);
    }
    for (at, pid) in begin.into_iter().rev() {
        if let Some(path) = members.remove(&pid) {
            let Record { ts, cpu, .. } = records[at];
            let attach = What::Attach { pid, root, path };
            records.insert(at + 1, Record::of_task(ts, cpu, attach));
        }
    }
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
    use crate::record::PrevState;

    #[test]
    fn who_was_started_after_the_debug_file_was_read_is_in_the_group_of_its_reader() {
        let task = |pid, sum_exec, group: &str| TaskFacts {
            pid,
            sum_exec,
            group: group.to_owned(),
            runs: true,
            ..TaskFacts::default()
        };
        let tasks = [
            task(7, 900, "/c"),
            task(8, 20, "/autogroup-3"),
            task(9, 1, "/b"),
        ];
        let party = |pid, comm: &str| Party {
            pid,
            comm: comm.to_owned(),
            prio: 120,
        };
        let switch = |prev: Party, next: Party| {
            let prev_state = PrevState::Runnable;
            let what = What::Switch {
                prev,
                prev_state,
                next,
            };
            Record::of_task(0, 0, what)
        };
        let fork = What::Fork {
            parent: 20,
            child: 30,
            comm: String::new(),
        };
        let records = [
            switch(party(0, "swapper/0"), party(20, "perf")),
            Record::of_task(0, 0, fork),
            switch(party(20, "perf"), party(30, "job")),
            switch(party(30, "job"), party(40, "kworker/0:1")),
            switch(party(40, "kworker/0:1"), party(9, "sh")),
        ];
        assert_eq!(group_of_reader(&records, &tasks), Some("/autogroup-3"));
        assert_eq!(unaccounted(&records, &tasks), BTreeSet::from([20]));
        assert_eq!(group_of_reader(&records, &tasks[2..]), None, "it goes on");
    }

    #[test]
    fn members_that_begin_in_the_recording_go_to_their_groups_as_they_begin() {
        let record = |what| Record::of_task(5, 1, what);
        let begins = |parent, child| {
            let fork = What::Fork {
                parent,
                child,
                comm: String::new(),
            };
            let woken = What::WakeupNew {
                pid: child,
                prio: 120,
                target: 0,
            };
            [record(fork), record(woken)]
        };
        let mut records = [begins(7, 8), begins(8, 9)].concat();
        let group = || "/web".to_owned();
        let mut members = BTreeMap::from([(3, group()), (8, group()), (9, group())]);
        attach_as_they_begin(&mut records, &mut members, 1);
        let attach = record(What::Attach {
            pid: 8,
            root: 1,
            path: group(),
        });
        let [first, second] = [begins(7, 8), begins(8, 9)];
        assert_eq!(records, [&first[..], &[attach], &second].concat());
        assert_eq!(members, BTreeMap::from([(3, group())]));
    }

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
}
