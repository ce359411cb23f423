//! Beginnings that a recording lacks though other events imply them.
//!
//! Model.    A wakeup is two events: `sched_waking`, then the choice of a CPU (`sched_migrate_task` if it is another
//!           one), then `sched_wakeup`. `perf sched record` leaves the last one out, older tools the first. Groups and
//!           their tasks that were there before the recording are made when it begins.
//! Not here. The end of a wakeup: see `wakeup_ends`; what the recording says of itself: see `record`.

use crate::facts::Facts;
use crate::record::{Record, What};
use std::collections::BTreeMap;

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

/// Makes the groups that no event makes, and puts tasks into those they are said to be in.
pub(crate) fn add_groups(records: &mut Vec<Record>, facts: &Facts) {
    let Some(first) = records.first() else {
        return;
    };
    let at_start = |what| Record {
        ts: first.ts,
        cpu: first.cpu,
        irq: false,
        softirq: false,
        need_resched: false,
        preempt_depth: 0,
        what,
    };
    let mut start: Vec<Record> = Vec::new();
    let made = |path: &str| {
        let is = |what: &What| matches!(what, What::Mkdir { path: other } if other == path);
        records.iter().any(|r| is(&r.what))
    };
    for path in facts
        .groups
        .keys()
        .filter(|path| *path != "/" && !made(path))
    {
        start.push(at_start(What::Mkdir { path: path.clone() }));
    }
    for (pid, path) in members(records, facts) {
        start.push(at_start(What::Attach { pid, path }));
    }
    records.splice(0..0, start);
}

/// Threads and their groups: those named by number or by the name that an event gives them.
fn members(records: &[Record], facts: &Facts) -> BTreeMap<i32, String> {
    let mut members = BTreeMap::new();
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
