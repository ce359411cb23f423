//! What a CPU read of another one's queue without its lock, while that one may have changed it.
//!
//! Model.  A waker that takes a task to another CPU takes the virtual time of the queue where the task slept off it. It
//!         does so after it has recorded the move, and before its next record. A charge moves that time after it has read
//!         the clock, and before it is recorded; the clock is at most that of the last charge or switch, as it was recorded,
//!         and what was run since. If both can have been first, what the task has less than ours, up to what was
//!         charged, is how the race ended.
//! Source. kernel/sched/fair.c `migrate_task_rq_fair`, `update_curr` @ 6.1.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::TaskId;
use fairwind_sched::probe::{Held, ProbeField};

impl Follower<'_> {
    /// The record that is followed takes a task that is being woken off the CPU where it slept.
    pub(super) fn note_read_of_time(&mut self, task: TaskId) {
        if !self.facts.reads_time_left_behind() {
            return;
        }
        let slept_on = self.sched.tasks[task].cpu.0;
        let end = self.next_on_cpu[self.at].map_or(u64::MAX, |next| self.records[next].ts);
        let (before, after) = self.records.split_at(self.at);
        let there = |r: &&Record| r.cpu == slept_on;
        let begins = |r: &&Record| matches!(r.what, What::Runtime { .. } | What::Switch { .. });
        let last = before.iter().rev().filter(there).find(begins);
        let charge = after.iter().filter(there).find_map(|r| match r.what {
            What::Runtime {
                pid,
                runtime,
                vruntime,
            } => Some((r.ts, self.known(pid)?, runtime, vruntime?)),
            _ => None,
        });
        if let Some((last, (recorded, charged, runtime, vruntime))) = last.zip(charge)
            && last.ts.saturating_add(runtime).min(recorded) < end
        {
            let se = self.sched.tasks[charged].se;
            let moved = vruntime.wrapping_sub(self.sched.ses[se].vruntime);
            self.raced.insert(task, moved);
        }
    }

    /// Can what is told of a task differ because another CPU was first?
    pub(super) fn lost_race(&self, task: TaskId, held: &Held) -> bool {
        let vruntime = ProbeField::Vruntime as usize;
        let less = held.told.values[vruntime].map(|told| held.ours[vruntime]?.checked_sub(told));
        let moved = self.raced.get(&task);
        less.flatten()
            .zip(moved)
            .is_some_and(|(less, &moved)| less <= moved)
    }
}
