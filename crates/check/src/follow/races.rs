//! What a CPU read of another one's queue without its lock, while that one may have changed it.
//!
//! Model.  A waker that takes a task to another CPU takes the virtual time of the queue where the task slept off it. It
//!         does so after it has recorded the move, and before its next record. A charge moves that time after it has read
//!         the clock, and before it is recorded; the clock is at most that of the last charge or switch, as it was recorded,
//!         and what was run since. If both can have been first, what the task has less than ours, up to what was
//!         charged, is how the race ended. A running task that goes to sleep moves that time, too, as it leaves its queue:
//!         between its last charge and the switch. What the task has more, up to that, is how that race ended.
//! Source. kernel/sched/fair.c `migrate_task_rq_fair`, `update_curr`, `dequeue_entity` @ 6.1.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::probe::{Held, ProbeField};
use fairwind_sched::{CpuId, TaskId};

/// How much less or more than ours a task can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Raced {
    less: u64,
    more: u64,
}

impl Follower<'_> {
    /// The record that is followed takes a task that is being woken off the CPU where it slept.
    pub(super) fn note_read_of_time(&mut self, task: TaskId) {
        if !self.facts.reads_time_left_behind() {
            return;
        }
        let slept_on = self.sched.tasks[task].cpu.0;
        self.charge_recorded(slept_on);
        let mut raced = Raced {
            less: 0,
            more: self.moved_by_leaving(slept_on, task),
        };
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
            raced.less = vruntime.wrapping_sub(self.sched.ses[se].vruntime);
        }
        if raced != Raced::default() {
            self.raced.insert(task, raced);
        }
    }

    /// The running task of a CPU is about to leave its queues.
    pub(super) fn note_times_left(&mut self, cpu: u32, task: TaskId) {
        if self.facts.reads_time_left_behind() {
            let queues = self.queues_above(task).into_iter();
            let time = |cfs_rq| (cfs_rq, self.sched.cfs_rqs[cfs_rq].zero_vruntime);
            let left = queues.map(time).collect();
            self.cpu(cpu).left = left;
        }
    }

    /// By how much the running task of a CPU, which has left it and is still to switch, moved the time of a task's queue.
    fn moved_by_leaving(&self, cpu: u32, task: TaskId) -> u64 {
        let queue = self.sched.ses[self.sched.tasks[task].se].cfs_rq;
        let mut left = self.cpus[cpu as usize].left.iter();
        let before = left.find(|(cfs_rq, _)| *cfs_rq == queue);
        let now = self.sched.cfs_rqs[queue].zero_vruntime;
        before.map_or(0, |(_, before)| now.wrapping_sub(*before))
    }

    /// What a CPU has recorded to charge its running task is charged, though the call that it belongs to goes on.
    fn charge_recorded(&mut self, cpu: u32) {
        let curr = self.sched.rqs[CpuId(cpu)].curr;
        let charge = self.times.records_until(cpu, self.at).last();
        let Some((&charge, clock)) = charge.zip(self.cpus[cpu as usize].pending_clock) else {
            return;
        };
        if !self.sched.tasks[curr].is_queued() {
            return;
        }
        let told = std::mem::take(self.told());
        self.begin_told(cpu);
        self.sched.follow_charge(CpuId(cpu), clock);
        self.end_told(&self.records[charge]);
        *self.told() = told;
    }

    /// Can what is told of a task differ because another CPU was first?
    pub(super) fn lost_race(&self, task: TaskId, held: &Held) -> bool {
        let vruntime = ProbeField::Vruntime as usize;
        let sides = held.told.values[vruntime].zip(held.ours[vruntime]);
        self.raced
            .get(&task)
            .zip(sides)
            .is_some_and(|(raced, (told, ours))| {
                if told <= ours {
                    ours - told <= raced.less
                } else {
                    told - ours <= raced.more
                }
            })
    }
}
