//! Which tasks are of SCHED_BATCH: not recorded, but whether they preempt when they are woken tells it.
//!
//! Model.      Whatever changes a task's attributes may have made it one of SCHED_BATCH, or one of SCHED_NORMAL again, and so
//!             may chrt, which a task may have been before it runs another program. Where the kernel lets it preempt and ours
//!             does not, or the other way round, and the other one of these policies explains that, [`TELLING`] times in a row,
//!             it has that one. Where a switch is asked for with either, because who ran has had its slice, that tells nothing.
//!             An earlier walk has learned what tasks were from such a change on, if no wakeup after it spoke against that.
//!             Before EEVDF, yields tell it, too (`yields`).
//! Invariants. A decision is answered with what others told, not with what it tells itself.
//! Deviations. Of a change after which nothing tells the policy, ours takes it to be as before.
//! Source.     kernel/sched/fair.c `check_preempt_wakeup` @ 6.1, `check_preempt_wakeup_fair` @ 6.12.

use super::Follower;
use super::classify::NOT_UPDATES;
use super::placing_clock::NOT_CLOCK;
use crate::judge::Class;
use crate::record::Record;
use fairwind_sched::replay::FollowedWakeup;
use fairwind_sched::{Policy, TaskId};

/// So many wakeups in a row have to tell that a task's policy is another one.
const TELLING: u32 = 2;

/// Which of two policies it is does not show in a weight.
const NOT_POLICY: Class = Class::NotRecorded("SCHED_BATCH");

/// A task, by its thread id, and the record with which its attributes changed.
pub(super) type Change = (i32, usize);

impl Follower<'_> {
    /// After a task's attributes were changed, or something of it that looks the same in the records: an earlier walk may have
    /// learned what that made it.
    pub(super) fn may_change_policy(&mut self, task: TaskId) {
        self.changed_at.insert(task, self.at);
        self.take_learned_policy(task);
    }

    fn take_learned_policy(&mut self, task: TaskId) {
        let change = self.last_change(task);
        if let Some(policy) = change.and_then(|change| self.learned.policies.get(&change)) {
            self.take_policy(task, *policy);
        }
    }

    /// A task exits: if it is the command that changes policies, it may have changed anybody's.
    pub(super) fn end_command(&mut self, r: &Record) {
        if !self.uses_chrt || !self.runs_chrt(r.cpu) {
            return;
        }
        self.chrt_ended = Some(self.at);
        let learned = self.learned.policies.iter();
        let changed = learned.filter(|((_, at), _)| *at == self.at);
        let changed = changed.map(|((pid, _), policy)| (*pid, *policy));
        for (pid, policy) in changed.collect::<Vec<_>>() {
            if let Some(task) = self.known(pid) {
                self.take_policy(task, policy);
            }
        }
    }

    /// A task runs another program: chrt, unseen, may have changed its policy before it started that.
    pub(super) fn runs_another(&mut self, task: TaskId) {
        self.renamed_at.insert(task, self.at);
        self.take_learned_policy(task);
    }

    fn last_change(&self, task: TaskId) -> Option<Change> {
        let own = self.changed_at.get(&task).copied();
        let renamed = self.renamed_at.get(&task).copied();
        Some((self.pid(task)?, own.max(self.chrt_ended).max(renamed)?))
    }

    /// A policy instead of the other one that no weight tells from it.
    fn take_policy(&mut self, task: TaskId, policy: Policy) {
        let own = &mut self.sched.tasks[task].policy;
        if matches!(own, Policy::Normal | Policy::Batch) {
            *own = policy;
        }
    }

    /// How a task yields tells its policy, and what its last change made it if nothing has told that yet.
    pub(super) fn learn_by_yield(&mut self, task: TaskId, policy: Policy) {
        self.take_policy(task, policy);
        if let Some(change) = self.last_change(task) {
            self.policies.entry(change).or_insert(Some(policy));
        }
    }

    /// Why ours differs on whether a woken task preempted `curr`, if that would be its own error: its own attributes were
    /// changed, nothing since has told with which policy, and the other one explains it. Who runs by SCHED_IDLE is preempted
    /// by either.
    pub(super) fn class_of_policy(
        &self,
        [task, curr]: [TaskId; 2],
        [kernel, ours]: [bool; 2],
    ) -> Class {
        let change = self.last_change(task);
        let own = self.changed_at.get(&task);
        let untold = |change| !self.policies.contains_key(&change);
        let explained = match self.sched.tasks[task].policy {
            Policy::Normal => !kernel && ours,
            Policy::Batch => kernel && !ours,
            _ => false,
        };
        let idles = self.sched.tasks[curr].policy == Policy::Idle;
        if explained && !idles && own.is_some() && change.is_some_and(untold) {
            NOT_POLICY
        } else {
            Class::Ours
        }
    }

    /// Does a wakeup tell the policy of a task, for which the sides could differ for this reason? Where much is known, if ours then
    /// would err; else if it was changed.
    pub(super) fn tells_policy(&self, task: TaskId, class: Class) -> bool {
        match class {
            Class::Ours | NOT_POLICY => true,
            NOT_UPDATES | NOT_CLOCK => {
                self.changed_at.contains_key(&task) || self.chrt_ended.is_some()
            }
            _ => false,
        }
    }

    /// Would ours ask for a switch as well if the task that wakes up were of SCHED_BATCH? Then a switch tells nothing of its policy.
    /// Where that is told already, it is not asked.
    pub(super) fn asks_as_batch(&self, task: TaskId, wakeup: FollowedWakeup, clock: u64) -> bool {
        let parent = self.parents.get(&task).copied();
        let untold = [Some(task), parent].into_iter().flatten().any(|task| {
            let change = self.last_change(task);
            let told = change.is_none_or(|change| self.policies.contains_key(&change));
            !told || self.other_policy.contains_key(&task)
        });
        if !untold || self.sched.tasks[task].policy != Policy::Normal {
            return false;
        }
        let mut copy = self.copy();
        copy.tasks[task].policy = Policy::Batch;
        copy.follow_wakeup(task, wakeup, clock);
        copy.rqs[wakeup.cpu].need_resched
    }

    /// Whether a woken task preempted is told. It tells as much of its parent, which it has its policy from.
    pub(super) fn learn_batch(&mut self, task: TaskId, [kernel, ours]: [bool; 2]) {
        let parent = self.parents.get(&task).copied();
        for task in [Some(task), parent].into_iter().flatten() {
            let change = self.last_change(task);
            let other = match self.sched.tasks[task].policy {
                Policy::Normal if !kernel && ours => Policy::Batch,
                Policy::Batch if kernel && !ours => Policy::Normal,
                policy => {
                    if kernel {
                        self.other_policy.remove(&task);
                        // As it is of SCHED_NORMAL, another policy would have come later than with the change.
                        if let Some(change) = change.filter(|_| policy == Policy::Normal) {
                            self.policies.entry(change).or_insert(None);
                        }
                    }
                    continue;
                }
            };
            let told = self.other_policy.entry(task).or_default();
            *told += 1;
            if *told == TELLING {
                self.sched.tasks[task].policy = other;
                self.other_policy.remove(&task);
                if let Some(change) = change {
                    let policy = self.policies.entry(change);
                    policy
                        .and_modify(|told| *told = None)
                        .or_insert(Some(other));
                }
            }
        }
    }
}
