//! `schedule()` that no switch ends: the CPU goes on with who ran.
//!
//! Model. A reschedule that was asked for and is no longer was answered in between. Where a task was queued that sleeps, as one
//!        that is pulled may (DELAY_DEQUEUE), the pick only takes it off the queue; a CPU that has nobody else stays idle, or
//!        pulls again.
//! Deviations. What is pulled in vain before others are pulled is followed and not asked.
//! Source. kernel/sched/core.c `__schedule`; fair.c `pick_task_fair`, `pick_next_entity`, `sched_balance_newidle` @ 6.12.

use super::Follower;
use crate::judge::Measure;
use crate::record::{Record, What};
use fairwind_sched::CpuId;

impl Follower<'_> {
    /// `schedule()` went on with the task that ran.
    pub(super) fn follow_same(&mut self, r: &Record, clock: u64) {
        let cpu = CpuId(r.cpu);
        let curr = self.sched.rqs[cpu].curr;
        let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
        self.follow_pick(r, clock, curr, &moves, false);
        self.sched.rqs[cpu].need_resched = false;
    }

    /// The same, and charged it, so it did update the clock.
    pub(super) fn go_on_charged(&mut self, r: &Record, clock: u64) {
        self.sched.rqs[CpuId(r.cpu)].clock_skip_requested = false;
        self.follow_same(r, clock);
    }

    /// `schedule()` went on with the task that ran, without charging it.
    pub(super) fn follow_same_silently(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let answered = self.answered(cpu).is_some();
        if r.need_resched && answered && !r.what.is_inside() && !self.sched.is_idle(cpu) {
            if self.loses_task_next(r.cpu) {
                self.cpu(r.cpu).goes_on_later = true;
            } else {
                self.follow_same(r, self.sched.rqs[cpu].clock);
            }
        }
    }

    /// A CPU's next record, if it shows that no reschedule is asked for any more, and is no switch.
    fn answered(&self, cpu: CpuId) -> Option<usize> {
        let next = *self.times.records_of(cpu.0, self.at + 1).first()?;
        let r = &self.records[next];
        (!r.need_resched && !matches!(r.what, What::Switch { .. })).then_some(next)
    }

    /// A task was queued on a CPU, and ours asks for a reschedule there, which no record shows. If the CPU's next one shows
    /// none and ours would go on with who runs, `schedule()` has done so: so it is where the task sleeps and only leaves the
    /// queue (DELAY_DEQUEUE). It charged nobody, for it had been asked not to update the clock.
    pub(super) fn follow_same_unseen(&mut self, cpu: CpuId) {
        let rq = &self.sched.rqs[cpu];
        let idle = self.sched.is_idle(cpu);
        let all_sleep = self.sched.cfs_rqs[rq.cfs].h_nr_runnable == 0;
        let answers = if idle {
            all_sleep
        } else {
            rq.clock_skip_requested
        };
        let asked = rq.need_resched && answers;
        let (curr, clock) = (rq.curr, rq.clock);
        if !asked || !(idle || self.sched.is_fair(curr)) {
            return;
        }
        let Some(answered) = self.answered(cpu).map(|at| &self.records[at]) else {
            return;
        };
        let mut copy = self.copy();
        copy.newidle_balancing = false;
        let (switch, _) = copy.follow_switch(cpu, clock, curr);
        if switch.next != curr {
            return;
        }
        if idle {
            self.stay_idle(answered, clock);
        } else {
            self.follow_same(answered, clock);
        }
    }

    /// A task was woken on an idle CPU, and may not run: its group is out of runtime.
    pub(super) fn stay_idle_unseen(&mut self, cpu: CpuId) {
        if self.sched.is_idle(cpu) {
            self.follow_same_unseen(cpu);
        }
    }

    /// A CPU has pulled tasks, and no switch follows at once: they sleep, and only leave the queue (DELAY_DEQUEUE). It stays
    /// idle, or looks again for others to pull.
    pub(super) fn end_pull_in_vain(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at].what);
        let switches = matches!(next, Some(What::Switch { .. }));
        if r.irq || self.cpu(r.cpu).moves.is_empty() || switches {
            return;
        }
        let clock = self.clock_at(cpu, self.pulled_before(r));
        if self.sched.is_idle(cpu) {
            self.stay_idle(r, clock);
        } else if self.sched.rqs[cpu].curr_has_left {
            let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
            self.judge.not_asked(Measure::Balance);
            if let Some(&charged) = self.cpu(r.cpu).clocks.get(&r.cpu) {
                self.limit_clock(cpu, charged);
            }
            self.follow_moves(r.cpu, clock, &moves);
            self.sched.follow_pick_in_vain(cpu);
            self.cpu(r.cpu).before_pass = None;
        }
        self.settle_clocks(r.cpu);
        self.forget_told();
    }

    /// `schedule()` of an idle CPU found nobody to run.
    fn stay_idle(&mut self, r: &Record, clock: u64) {
        let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
        let cpu = CpuId(r.cpu);
        let idle = self.sched.rqs[cpu].idle;
        let looks = !self.sched.stays_idle(cpu) || !moves.is_empty();
        self.follow_pick(r, clock, idle, &moves, looks);
        self.sched.rqs[CpuId(r.cpu)].need_resched = false;
    }

    /// Does another CPU take a task from a CPU before that one records more? Perhaps it went on with the task that ran because
    /// the one that was to preempt it was gone.
    fn loses_task_next(&self, cpu: u32) -> bool {
        let next = self.next_on_cpu[self.at].unwrap_or(self.at);
        let mut between = self.records[self.at..next].iter();
        between.any(|r| matches!(r.what, What::Migrate { orig, .. } if orig == cpu && r.cpu != cpu))
    }

    /// Before a CPU's next record: it went on with the task that ran.
    pub(super) fn go_on(&mut self, r: &Record) {
        if std::mem::take(&mut self.cpu(r.cpu).goes_on_later) && !self.sched.is_idle(CpuId(r.cpu)) {
            self.follow_same(r, self.sched.rqs[CpuId(r.cpu)].clock);
        }
    }
}
