//! `sched_yield()`: not recorded, but it charges the running task.
//!
//! Model.  `sched_yield()` charges its task while it holds no lock but that of the queue, so that preemption is
//!         disabled once. Then it calls `schedule()`, which does not charge again unless an interrupt in between brought the
//!         clock up to date. If no switch follows, the task was picked again. A task that is alone on its CPU is charged by
//!         `schedule()` instead, which charges the groups above it, too.
//!         A timer interrupt that comes before that finds preemption disabled, or it has not come far enough for that: then
//!         the task is switched away from without having been asked to, or it comes at once. What the interrupt's tick asks for
//!         is forgotten in `schedule()`, and not judged unless a record in the interrupt shows it.
//!         Before EEVDF, a task of SCHED_BATCH that yields is charged by `schedule()` only: for it a task gives way though nobody
//!         has asked it to, and though it was not woken as it was about to sleep.
//!         Who sets a group's weight charges the task beside which the group is queued with that lock alone, too. Where
//!         that asks for a reschedule, it is still asked for when the task is charged next.
//! Source. kernel/sched/core.c `do_sched_yield` @ 6.1; syscalls.c @ 6.12; fair.c `yield_task_fair`,
//!         `sched_group_set_shares`.
//! Deviations. A charge by who sets a group's weight that asks for no reschedule is taken for a yield, and so is that of a task
//!         that is alone and asks for its run time. A timer interrupt that is the next thing recorded after a yield, and finds
//!         preemption disabled, is taken to come before its `schedule()`, though the task may have been picked again and gone
//!         on to another such place; and so is one within 1 ms that finds it enabled, if a switch follows.

use super::Follower;
use super::phases::CALL_NS;
use crate::record::{PrevState, Record, What};
use fairwind_sched::{CpuId, Policy};

impl Follower<'_> {
    /// Is a charge of the running task that of `sched_yield()`?
    pub(super) fn is_yield(&self, r: &Record) -> bool {
        let rq = &self.sched.rqs[CpuId(r.cpu)];
        let alone_locked = !r.irq && r.preempt_depth == 1;
        alone_locked
            && rq.nr_running > 1
            && self.sched.is_fair(rq.curr)
            && !self.leaves_resched(r.cpu)
    }

    /// Is a charge that of `schedule()`, called by a task that yields and is alone on its CPU?
    pub(super) fn yields_alone(&self, r: &Record) -> bool {
        let rq = &self.sched.rqs[CpuId(r.cpu)];
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at].what);
        let goes_on = next.is_some_and(|next| next.probed().is_some());
        let by_schedule = !r.irq && r.preempt_depth == 2 && !goes_on;
        by_schedule && rq.nr_running == 1 && self.sched.is_fair(rq.curr)
    }

    /// Is a charge that of `schedule()`, called by a task of SCHED_BATCH that yields? Nobody has asked the task to give way, nor
    /// woken it as it was about to sleep, and yet it gives way.
    pub(super) fn is_batch_yield(&self, r: &Record, pid: i32) -> bool {
        let rq = &self.sched.rqs[CpuId(r.cpu)];
        let unasked = !r.irq && r.preempt_depth == 2 && !r.need_resched;
        if !unasked || self.facts.picks_by_deadline() || !self.sched.is_fair(rq.curr) {
            return false;
        }
        let Some(next) = self.next_on_cpu[self.at] else {
            return false;
        };
        let gives_way = matches!(&self.records[next].what, What::Switch { prev_state, .. } if *prev_state == PrevState::Runnable);
        let se = self.sched.tasks[rq.curr].se;
        // Then it is charged again, if an interrupt came in between.
        let has_yielded = self.sched.cfs_rqs[self.sched.ses[se].cfs_rq].skip == se;
        let asks = |other: &Record| match other.what {
            What::Runtime { pid: charged, .. } => charged == pid,
            What::Wakeup { target, .. } | What::WakeupNew { target, .. } => target == r.cpu,
            _ => false,
        };
        let asked = || self.records[self.at + 1..next].iter().any(asks);
        gives_way && !has_yielded && !asked() && !self.is_woken(pid)
    }

    /// Has anybody woken a running task since its CPU's last record out of interrupts?
    fn is_woken(&self, pid: i32) -> bool {
        let cpu = self.records[self.at].cpu;
        let since = self.records[..self.at].iter().rev();
        let mut since = since.take_while(|r| r.cpu != cpu || r.irq);
        since.any(|r| matches!(r.what, What::Wakeup { pid: woken, .. } if woken == pid))
    }

    /// The running task yields, and its policy is SCHED_BATCH: `schedule()`, which follows, charges it.
    pub(super) fn follow_batch_yield(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let rq = &self.sched.rqs[cpu];
        let (curr, clock) = (rq.curr, rq.clock);
        self.learn_by_yield(curr, Policy::Batch);
        self.sched.sched_yield(cpu, clock);
        self.take_effects(r.cpu);
        self.cpu(r.cpu).yields = true;
    }

    /// Is a reschedule still asked for when a CPU next charges its task, and nobody has been woken for it meanwhile?
    fn leaves_resched(&self, cpu: u32) -> bool {
        let Some(next) = self.next_on_cpu[self.at] else {
            return false;
        };
        let r = &self.records[next];
        let charges = matches!(r.what, What::Runtime { .. }) && !r.irq && r.need_resched;
        let wakes = |r: &Record| matches!(r.what, What::Wakeup { target, .. } if target == cpu);
        charges && !self.records[self.at + 1..next].iter().any(wakes)
    }

    /// The running task yields.
    pub(super) fn follow_yield(&mut self, r: &Record, clock: u64) {
        let cpu = CpuId(r.cpu);
        if !self.facts.picks_by_deadline() {
            // Of one of SCHED_BATCH it would be no charge.
            self.learn_by_yield(self.sched.rqs[cpu].curr, Policy::Normal);
        }
        self.sched.sched_yield(cpu, clock);
        self.take_effects(r.cpu);
        if !self.switches_next(r.ts, false) {
            self.follow_same(r, clock);
        }
        self.cpu(r.cpu).yields = true;
    }

    /// A yield's `schedule()` is over at the next record out of interrupts, or if a timer's finds preemption enabled and no
    /// switch shows that it was still to come.
    pub(super) fn end_yield(&mut self, r: &Record) {
        if !self.cpu(r.cpu).yields {
            return;
        }
        let preemptible = r.what == What::Timer && r.preempt_depth == 0;
        if !r.irq || preemptible && !self.switches_next(self.yielded(r.cpu), true) {
            self.cpu(r.cpu).yields = false;
        }
    }

    /// When the task that yields was charged: with its CPU's last record out of interrupts.
    fn yielded(&self, cpu: u32) -> u64 {
        let mut before = self.records[..self.at].iter().rev();
        let yielded = before.find(|r| r.cpu == cpu && !r.irq);
        yielded.map_or(0, |r| r.ts)
    }

    /// Is the next thing that the running task does to be switched away from while it could go on, in the yield's `schedule()`?
    /// `yielded`: when it was charged; `preemptible`: a timer interrupt found preemption enabled, so that one which is asked for may
    /// have come before. It has if the interrupt came later than the call takes.
    fn switches_next(&self, yielded: u64, mut preemptible: bool) -> bool {
        let later = |r: &Record| r.ts.saturating_sub(yielded) > CALL_NS;
        let now = &self.records[self.at];
        let own = self.times.records_of(now.cpu, self.at + 1);
        let mut own = own.iter().map(|&at| &self.records[at]).peekable();
        let mut comes_after = preemptible && later(now);
        while let Some(r) = own.next_if(|r| r.irq) {
            preemptible |= r.what == What::Timer && r.preempt_depth == 0;
            comes_after |= preemptible && later(r);
            if comes_after && r.need_resched {
                return false;
            }
        }
        if comes_after && own.peek().is_some_and(|r| r.need_resched) {
            return false;
        }
        // Where one is in a deeper group than the other, entities are set before the first is put. The task is charged once more
        // if an interrupt brought the clock up to date.
        let mut charged = false;
        let mut is_inside = |r: &&Record| match r.what {
            What::Runtime { .. } => {
                let asked = preemptible && r.need_resched;
                r.preempt_depth == 2 && !asked && !std::mem::replace(&mut charged, true)
            }
            _ => r.what.probed().is_some(),
        };
        let end = own.find(|r| r.irq || !is_inside(r));
        match end.map(|end| &end.what) {
            Some(What::Switch { prev_state, .. }) => *prev_state == PrevState::Runnable,
            _ => false,
        }
    }
}
