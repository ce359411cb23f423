//! Queues that were out of runtime when their task was put back.
//!
//! Model.  A queue is throttled when its task is put back, or not before that runs again. So it was if its CPU goes idle although
//!         the task, which could run, has not run since; and if a pick did not get down to its queue, though ours would. Which of
//!         several above it is the one whose entity is placed next (see `unplaced`), or the one with the least left in ours.
//! Source. kernel/sched/fair.c `check_cfs_rq_runtime`, `put_prev_entity`, `pick_task_fair` @ 6.1, 6.12.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::{CfsRqId, CpuId, TaskId};

/// What is mended where ours has runtime left.
pub(super) const COULD_RUN: &str = "queues without runtime that could run";

impl Follower<'_> {
    /// schedule() charged a task that could run only when it put it back: its pick did not get down to that one's queue. If
    /// ours would, a group above it is out of runtime.
    pub(super) fn exhaust_above(&mut self, r: &Record, prev: TaskId, next: TaskId, clock: u64) {
        let cpu = CpuId(r.cpu);
        let charged_by_put = self.cpu(r.cpu).charged_by_put;
        if !self.limits.are_set() || !charged_by_put || self.is_throttled(prev) {
            return;
        }
        let own = self.sched.ses[self.sched.tasks[prev].se].cfs_rq;
        let mut above = self.limited_above(prev, next);
        above.retain(|&cfs_rq| cfs_rq != own);
        let Some(cfs_rq) = self.least_left(above) else {
            return;
        };
        let refilled = self.is_being_refilled(self.sched.cfs_rqs[cfs_rq].tg);
        let goes_idle = next == self.sched.rqs[cpu].idle;
        if refilled || !(goes_idle || self.is_passed(r, prev, next)) {
            return;
        }
        let mut copy = self.copy();
        copy.newidle_balancing = false;
        copy.cfs_rqs[own].runtime_remaining = i64::MAX;
        let ours = copy.schedule(cpu, clock, false).next;
        if self.queues_above(ours).contains(&own) {
            self.exhaust(cfs_rq, clock);
        }
    }

    /// A task that could run is put back. If its CPU goes idle without it, a queue above it is out of runtime; but while the pool
    /// is being refilled it may have been that only until then.
    pub(super) fn exhaust_before_idling(
        &mut self,
        r: &Record,
        prev: TaskId,
        next: TaskId,
        clock: u64,
    ) {
        if !self.limits.are_set() || self.limits.are_tried || self.is_throttled(prev) {
            return;
        }
        let limited = self.limited_above(prev, self.sched.rqs[CpuId(r.cpu)].idle);
        if !self.idles_without(r, prev, next, &limited) {
            return;
        }
        let Some(cfs_rq) = self.likely_exhausted(limited) else {
            return;
        };
        let group = self.sched.cfs_rqs[cfs_rq].tg;
        if !self.refilled_since_charge(cfs_rq) && !self.is_being_refilled(group) {
            self.exhaust(cfs_rq, clock);
        }
    }

    /// A queue is out of runtime at `clock`.
    pub(super) fn exhaust(&mut self, cfs_rq: CfsRqId, clock: u64) {
        if self.sched.follow_exhausted(cfs_rq, clock) {
            self.judge.mended(COULD_RUN);
        }
    }

    /// Which of some queues is the one out of runtime.
    pub(super) fn likely_exhausted(&self, queues: Vec<CfsRqId>) -> Option<CfsRqId> {
        let is_placed = |cfs_rq: &CfsRqId| {
            let se = self.sched.cfs_rqs[*cfs_rq].se;
            self.is_placed_first(se) == Some(true)
        };
        let placed = queues.iter().copied().find(is_placed);
        placed.or_else(|| self.least_left(queues))
    }

    /// Was the pool refilled after the queue's running entity was last charged? The kernel may have put it back before that.
    fn refilled_since_charge(&self, cfs_rq: CfsRqId) -> bool {
        let queue = &self.sched.cfs_rqs[cfs_rq];
        let charged = queue.curr.get().map(|curr| self.sched.ses[curr].exec_start);
        let refill = self.limits.refills.get(&queue.tg);
        refill.is_some_and(|&at| charged.is_none_or(|charged| self.records[at].ts >= charged))
    }

    /// Does the CPU go idle before it runs a task of one of these queues again? Until then none of them is refilled, nor left by
    /// the task.
    fn idles_without(&self, r: &Record, task: TaskId, next: TaskId, limited: &[CfsRqId]) -> bool {
        let is_of = |task| {
            let above = self.queues_above(task);
            above.iter().any(|cfs_rq| limited.contains(cfs_rq))
        };
        if limited.is_empty() || is_of(next) {
            return false;
        }
        let pid = self.pid(task);
        let refills = limited.iter().map(|&cfs_rq| {
            let group = &self.sched.groups[self.sched.cfs_rqs[cfs_rq].tg];
            group.bandwidth.period_expires
        });
        let refill = refills.min().unwrap_or(0);
        let until_refill = self.records[self.at + 1..].iter();
        let mut until_refill = until_refill.take_while(|r| r.ts < refill);
        let ends = until_refill.find_map(|later| match &later.what {
            What::Switch { next, .. } if later.cpu == r.cpu => {
                let runs = self.known(next.pid).is_some_and(is_of);
                (runs || next.pid == 0).then_some(!runs)
            }
            What::Migrate { pid: moved, .. } if Some(*moved) == pid => Some(false),
            _ => None,
        });
        ends.unwrap_or(false)
    }
}
