//! Sessions: a task that begins one with `setsid()` gets an autogroup, and one that exits leaves its own.
//!
//! Model.      Both take the running task off its queue, put it into the group that it is now in, be it the same as before, and ask
//!             for a reschedule. That charges it once: in `setsid()` with three locks held, which no other call holds that
//!             does so and asks for that, but for one that sets another nice level. Whether autogroups are on no event tells. The
//!             task's next virtual runtime does: a new group's queues begin at a certain one.
//! Source.     kernel/sched/autogroup.c `autogroup_move_group`, `sched_autogroup_exit_task`; core.c `sched_move_task` @ 6.1,
//!             6.12.
//! Deviations. Other threads of the task that begins a session stay where they are, and a task that a cgroup gives back to the
//!             root group stays there. A kernel that does not count locks tells of no session.

use super::Follower;
use crate::record::{PrevState, Record, What};
use fairwind_sched::cfs_rq::NEW_QUEUE_VRUNTIME;
use fairwind_sched::probe::{ProbeField, ProbePoint, Told};
use fairwind_sched::{GroupId, TaskId};
use std::collections::BTreeSet;

/// That of the signal handlers, the task's and that of its queue.
const LOCKS_OF_SETSID: u8 = 3;
/// What a task may have run since it came to a new queue, or be ahead of or behind it. A machine that was just started has run less
/// than some seconds in all.
const NEAR_NS: u64 = 100_000_000;
/// What the kernel calls autogroups where it names groups.
const PREFIX: &str = "/autogroup-";

/// Which groups are autogroups, and whether tasks are put into them.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Tasks that have begun to exit and are still in their autogroup.
    pub(super) exiting: BTreeSet<TaskId>,
    autogroups: BTreeSet<GroupId>,
    enabled: bool,
}

impl Follower<'_> {
    /// A group was made: if by its name it is an autogroup, there are some.
    pub(super) fn note_autogroup(&mut self, path: &str, group: GroupId) {
        if path.starts_with(PREFIX) {
            self.sessions.autogroups.insert(group);
            self.sessions.enabled = true;
        }
    }

    /// The group into which a running task was put, be it the same, if that is why it was charged and taken off its queue,
    /// before a record.
    pub(super) fn regrouped(
        &mut self,
        charge: Option<usize>,
        after: Option<usize>,
        task: TaskId,
    ) -> Option<GroupId> {
        let group = self.sched.tasks[task].group;
        let in_autogroup = self.sessions.autogroups.contains(&group);
        if self.sessions.exiting.remove(&task) {
            return Some(if in_autogroup { GroupId::ROOT } else { group });
        }
        let charge = &self.records[charge?];
        if !self.begins_session(charge, &self.records[after?], task) {
            return None;
        }
        if !(in_autogroup || group == GroupId::ROOT) || !self.gets_autogroup(task) {
            return Some(group);
        }
        let group = self.make_group(GroupId::ROOT, charge.ts);
        self.sessions.autogroups.insert(group);
        Some(group)
    }

    fn begins_session(&self, charge: &Record, after: &Record, task: TaskId) -> bool {
        let makes_way = matches!(
            after.what,
            What::Switch {
                prev_state: PrevState::Runnable,
                ..
            }
        );
        let prio = self.prio_ahead(task).map(|(_, prio)| prio);
        self.sched.is_fair(task)
            && !charge.irq
            && charge.preempt_depth == LOCKS_OF_SETSID
            && !charge.need_resched
            && (after.need_resched || makes_way)
            && prio.is_none_or(|prio| prio == self.sched.tasks[task].prio)
    }

    /// Is a task that begins a session put into a new group?
    fn gets_autogroup(&mut self, task: TaskId) -> bool {
        let is_new = |vruntime: u64| {
            vruntime
                .wrapping_sub(NEW_QUEUE_VRUNTIME)
                .cast_signed()
                .unsigned_abs()
                < NEAR_NS
        };
        let se = self.sched.tasks[task].se;
        let is_told = |told: &&Told| told.se == se && told.point == ProbePoint::SetNextEntity;
        let told = self.told().iter().find(is_told);
        let told = told.and_then(|told| told.values[ProbeField::Vruntime as usize]);
        let shown = told.or_else(|| {
            let (at, _) = self.times.charges(self.pid(task)?, self.at).first()?;
            match self.records[*at].what {
                What::Runtime { vruntime, .. } => vruntime,
                _ => None,
            }
        });
        if let Some(shown) = shown.filter(|_| !is_new(self.sched.ses[se].vruntime)) {
            self.sessions.enabled = is_new(shown);
        }
        self.sessions.enabled
    }
}
