//! Tasks that were forked between the debug file and the recording.
//!
//! Model.      Whoever records starts tasks to do so, and lastly the job. When the recording begins, each of them runs, waits for
//!             its CPU, or has just fallen asleep: its averages are those of a new task, and part of its CPU's. Which CPU that
//!             is its first record tells, or, if it has none, the debug file of the recording's end. Of two idle CPUs, the one on
//!             which the younger of them sleeps became idle later, and one on which none sleeps earlier.
//! Source.     kernel/sched/fair.c `post_init_entity_util_avg` @ 6.1, 6.12.
//! Deviations. When they fell asleep is not told, nor for how long they ran, but of those that the debug file of the end shows.

use super::times::Times;
use super::{Follower, start};
use crate::facts::TaskFacts;
use crate::record::{Record, What};
use fairwind_sched::{CpuId, TaskId};
use std::collections::BTreeMap;

/// Where a task is, and its name.
type Home<'a> = (u32, &'a str);

/// The home of each task, by thread id, that is there before the recording and does not run when it begins: by its first record,
/// or the debug file of the recording's end.
fn homes<'a>(
    records: &'a [Record],
    times: &Times,
    after: &'a [TaskFacts],
) -> BTreeMap<i32, Home<'a>> {
    let mut homes = BTreeMap::new();
    for (pid, at) in times.first_records() {
        let home = match &records[at].what {
            What::Waking { slept_on, comm, .. } => (*slept_on, comm.as_str()),
            What::Migrate { orig, .. } => (*orig, ""),
            What::Switch { next, .. } if next.pid == pid => (records[at].cpu, next.comm.as_str()),
            _ => continue,
        };
        homes.insert(pid, home);
    }
    let first_fork = records.iter().find_map(|r| match r.what {
        What::Fork { child, .. } => Some(child),
        _ => None,
    });
    // Who has a greater number than the first that was forked may have come later.
    let silent = after
        .iter()
        .filter(|task| first_fork.is_none_or(|first| task.pid < first) && !times.names(task.pid));
    homes.extend(silent.map(|task| (task.pid, (task.cpu, task.comm.as_str()))));
    homes
}

impl Follower<'_> {
    /// Newcomers that do not run are where they are.
    pub(super) fn start_newcomers(&mut self) {
        let Some(start) = self.records.first().map(|r| r.ts) else {
            return;
        };
        let homes = homes(self.records, &self.times, &self.facts.tasks_after);
        let nr_cpus = self.sched.nr_cpus();
        let newcomers = homes
            .into_iter()
            .filter(|(pid, (cpu, _))| self.names.is_younger(*pid) && (*cpu as usize) < nr_cpus);
        let newcomers: Vec<_> = newcomers.collect();
        for (place, (pid, (cpu, comm))) in newcomers.into_iter().enumerate() {
            let task = self.task(pid, comm, cpu, start);
            self.begin_as_new(pid, task);
            self.sched.rqs[CpuId(cpu)].idle_stamp = start::idle_stamp(start, nr_cpus + place);
        }
    }

    /// A task is there when the recording begins, and has the averages of a new one if it is a newcomer.
    pub(super) fn begin_as_new(&mut self, pid: i32, task: TaskId) {
        if self.names.is_younger(pid) && self.is_ordinary(task) {
            let util = util_of_new(self.ran_before(pid));
            self.sched.follow_new_sleeper(task, util);
        }
    }

    /// For how long a task ran before the recording, by the debug file of its end; 0 if it does not tell.
    fn ran_before(&self, pid: i32) -> u64 {
        let mut after = self.facts.tasks_after.iter();
        let ran = after
            .find(|task| task.pid == pid)
            .map_or(0, |task| task.sum_exec);
        let charges = self.times.charges(pid, 0).iter();
        let until = charges.take_while(|(at, _)| self.records[*at].ts <= self.facts.after);
        until.fold(ran, |ran, (_, charge)| ran.saturating_sub(*charge))
    }
}

/// Utilisation of a task that has run for so long since it was forked on an idle CPU, of which it got half to begin with.
fn util_of_new(ran: u64) -> u64 {
    let half_lives = ran as f64 / 32e6;
    1024 - (512.0 * (-half_lives).exp2()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};

    fn record(cpu: u32, what: What) -> Record {
        Record::of_task(0, cpu, what)
    }

    fn waking(pid: i32, slept_on: u32) -> Record {
        let (comm, prio) = (String::new(), 120);
        record(
            0,
            What::Waking {
                pid,
                comm,
                prio,
                slept_on,
            },
        )
    }

    fn after(pid: i32, cpu: u32) -> TaskFacts {
        TaskFacts {
            pid,
            cpu,
            ..TaskFacts::default()
        }
    }

    #[test]
    fn a_new_task_begins_with_half_of_its_cpu() {
        assert_eq!([0, 32_000_000, 1 << 40].map(util_of_new), [512, 768, 1024]);
    }

    #[test]
    fn the_first_record_of_a_task_tells_where_it_was() {
        let switch = What::Switch {
            prev: Party::of(7),
            prev_state: PrevState::Runnable,
            next: Party::of(8),
        };
        let idles = What::Switch {
            prev: Party::of(8),
            prev_state: PrevState::Interruptible,
            next: Party::of(0),
        };
        let fork = What::Fork {
            parent: 7,
            child: 20,
            comm: String::new(),
        };
        let migrate = What::Migrate {
            pid: 9,
            orig: 3,
            dest: 0,
        };
        let first = [
            record(1, switch),
            record(1, idles),
            waking(6, 2),
            record(0, migrate),
            record(0, fork),
        ];
        let records = first
            .into_iter()
            .chain([waking(7, 0), waking(6, 0), waking(20, 0)]);
        let records: Vec<Record> = records.collect();
        let seen = [(6, (2, "")), (8, (1, "")), (9, (3, ""))];
        let times = Times::new(&records, 4);
        assert_eq!(homes(&records, &times, &[]), BTreeMap::from(seen));
        // 5 was silent; 21 came after the recording.
        let after = [after(5, 4), after(6, 0), after(21, 1)];
        assert_eq!(
            homes(&records, &times, &after),
            seen.into_iter().chain([(5, (4, ""))]).collect()
        );
    }
}
