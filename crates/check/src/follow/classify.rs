//! Why the sides differ: tests on the trace and on what was known, never a tolerance.

use super::Follower;
use super::placing_clock::NOT_CLOCK;
use crate::judge::Class;
use crate::record::What;
use fairwind_sched::replay::HangsOn;
use fairwind_sched::task::{Class as TaskClass, TaskState};
use fairwind_sched::{CpuId, TaskId};
use std::ops::Range;

/// Two tasks whose states decide.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) a: TaskId,
    pub(super) b: TaskId,
}

/// A task whose virtual runtime the recording has not shown yet.
pub(super) const EARLIER_STATE: Class = Class::NotRecorded("state from before the recording");

/// The weight of a group on one CPU follows from its load on the others. No event tells when these brought it up to date.
pub(super) const NOT_UPDATES: Class =
    Class::NotRecorded("when groups' loads were brought up to date");

/// Others read the averages of a CPU as they were when it last brought them up to date, which no event tells.
pub(super) const NOT_AVERAGED: Class = Class::NotRecorded("when averages were brought up to date");

/// Which CPUs a task may use shows only in where it is put.
pub(super) const NOT_ALLOWED: Class = Class::NotRecorded("allowed CPUs");

/// A task with the state that decides, as it was at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    task: TaskId,
    vruntime: u64,
    deadline: u64,
    weight: u64,
}

impl Follower<'_> {
    /// For a choice between tasks of a queue.
    pub(super) fn class_of_pair(&self, cpu: u32, pair: Pair) -> Class {
        let pair = [pair.a, pair.b];
        let fair = pair.iter().all(|&task| self.sched.is_fair(task));
        let hangs = fair.then(|| self.sched.order_hangs(pair[0], pair[1]));
        self.class_of_choice(cpu, &pair, hangs.flatten())
    }

    /// For whether the running task has had its slice.
    pub(super) fn class_of_slice(&self, cpu: u32, curr: TaskId) -> Class {
        self.class_of_choice(cpu, &[curr], self.sched.slice_hangs(curr))
    }

    /// The states of all who have to do with it must have been shown, or follow from what has been, and no other CPU may have
    /// changed the queue since this CPU's last record.
    fn class_of_choice(&self, cpu: u32, tasks: &[TaskId], hangs: Option<HangsOn>) -> Class {
        for &task in tasks {
            // Of an idle task there is nothing to be known.
            if self.sched.tasks[task].class == TaskClass::Idle {
                continue;
            }
            let se = self.sched.tasks[task].se;
            if self.unsure.contains(&task) || !self.is_known(se) {
                return EARLIER_STATE;
            }
        }
        if let Some(on) = hangs {
            return self.class_of_hanging(on);
        }
        let start = self.records[..self.at]
            .iter()
            .rposition(|r| r.cpu == cpu)
            .unwrap_or(0);
        if self.others_changed(cpu, start..self.at) {
            Class::Race
        } else {
            Class::Ours
        }
    }

    /// For what hangs on something that no event tells.
    pub(super) fn class_of_hanging(&self, on: HangsOn) -> Class {
        match on {
            HangsOn::Updates => self.class_of_loads(),
            HangsOn::Clock => NOT_CLOCK,
            HangsOn::Start => EARLIER_STATE,
        }
    }

    /// For what hangs on the load of a group: that is what it is by the group's weight, if a file tells that.
    pub(super) fn class_of_loads(&self) -> Class {
        self.judge.lacking.map_or(NOT_UPDATES, Class::NotRecorded)
    }

    /// Did other CPUs record a change of a CPU's queue among these records?
    pub(super) fn others_changed(&self, cpu: u32, records: Range<usize>) -> bool {
        let others = self.records[records].iter().filter(|r| r.cpu != cpu);
        let mut changed = others.filter_map(|r| match r.what {
            What::Wakeup { target, .. } | What::WakeupNew { target, .. } => Some(target),
            What::Migrate { dest, .. } => Some(dest),
            _ => None,
        });
        changed.any(|target| target == cpu)
    }

    /// Fair tasks that could run on a CPU, the running one included.
    pub(super) fn candidates(&self, cpu: CpuId) -> Vec<TaskId> {
        let mut candidates = Vec::new();
        let mut next = self.sched.rqs[cpu].cfs_tasks_first;
        while next.is_some() {
            let task = &self.sched.tasks[next];
            let se = &self.sched.ses[task.se];
            let blocked = task.state != TaskState::Running && next == self.sched.rqs[cpu].curr;
            if !se.sched_delayed && !blocked && !self.is_throttled(next) {
                candidates.push(next);
            }
            next = task.cfs_tasks_next;
        }
        candidates
    }

    pub(super) fn is_throttled(&self, task: TaskId) -> bool {
        let cfs_rq = self.sched.ses[self.sched.tasks[task].se].cfs_rq;
        self.sched.cfs_rqs[cfs_rq].throttle_count != 0
    }

    /// Who has the least virtual runtime of a CPU's candidates, `without` one.
    pub(super) fn least_vruntime(&self, cpu: CpuId, without: Option<TaskId>) -> Option<TaskId> {
        let vruntime = |task: &TaskId| self.sched.ses[self.sched.tasks[*task].se].vruntime;
        self.candidates(cpu)
            .into_iter()
            .filter(|task| Some(*task) != without)
            .min_by(|a, b| (vruntime(a).wrapping_sub(vruntime(b)) as i64).cmp(&0))
    }

    /// Who waits longest of a CPU's candidates; one that runs does not wait.
    pub(super) fn longest_waiting(&self, cpu: CpuId) -> Option<TaskId> {
        let curr = self.sched.rqs[cpu].curr;
        let since = |task: &TaskId| (*task == curr, self.sched.tasks[*task].last_queued);
        self.candidates(cpu).into_iter().min_by_key(since)
    }

    /// A task with the state that decides, as it is now.
    pub(super) fn shown(&self, task: TaskId) -> Shown {
        let se = &self.sched.ses[self.sched.tasks[task].se];
        Shown {
            task,
            vruntime: se.vruntime,
            deadline: se.deadline,
            weight: se.load.weight,
        }
    }

    pub(super) fn describe(&self, shown: Shown) -> String {
        format!(
            "{} (vruntime {} deadline {} weight {})",
            self.name(shown.task),
            shown.vruntime,
            shown.deadline,
            shown.weight
        )
    }

    pub(super) fn describe_all(&self, shown: &[Shown]) -> String {
        let described: Vec<String> = shown.iter().map(|&shown| self.describe(shown)).collect();
        described.join(", ")
    }
}
