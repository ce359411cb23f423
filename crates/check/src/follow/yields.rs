//! `sched_yield()`: not recorded, but it charges the running task.
//!
//! Model.  `sched_yield()` charges its task while it holds no lock but that of the queue, so that preemption is
//!         disabled once. Then it calls `schedule()`, which does not charge again. If no switch
//!         follows, the task was picked again. A task that is alone on its CPU is charged by `schedule()` instead, which
//!         charges the groups above it, too. A timer interrupt that comes before that finds preemption disabled.
//!         What its tick asks for is forgotten in `schedule()`, and not judged unless a record in the interrupt shows it.
//!         Who sets a group's weight charges the task beside which the group is queued with that lock alone, too. Where
//!         that asks for a reschedule, it is still asked for when the task is charged next.
//! Source. kernel/sched/core.c `do_sched_yield` @ 6.1; syscalls.c @ 6.12; fair.c `yield_task_fair`,
//!         `sched_group_set_shares`.
//! Deviations. A charge by who sets a group's weight that asks for no reschedule is taken for a yield, and so is that of a task
//!         that is alone and asks for its run time. A timer interrupt that is the next thing recorded after a yield, and finds
//!         preemption disabled, is taken to come before its `schedule()`, though the task may have been picked again and gone
//!         on to another such place.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::ProbePoint;

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
        self.sched.sched_yield(cpu, clock);
        self.take_effects(r.cpu);
        if !self.switches_next() {
            self.follow_same(r, clock);
        }
        self.cpu(r.cpu).yields = true;
    }

    /// A yield's `schedule()` is over at the next record out of interrupts, or if a timer's finds preemption enabled.
    pub(super) fn end_yield(&mut self, r: &Record) {
        if Self::ends_yield(r) {
            self.cpu(r.cpu).yields = false;
        }
    }

    fn ends_yield(r: &Record) -> bool {
        !r.irq || r.what == What::Timer && r.preempt_depth == 0
    }

    /// Is the next thing that the running task does to be switched away from? Not if a timer interrupt before that finds that the
    /// yield is over.
    fn switches_next(&self) -> bool {
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let r = &self.records[at];
            if Self::ends_yield(r) {
                // Where one is in a deeper group than the other, entities are set before the first is put.
                let changes = matches!(
                    r.what.probed(),
                    Some(ProbePoint::PutPrevEntity | ProbePoint::SetNextEntity)
                );
                return changes || matches!(r.what, What::Switch { .. });
            }
        }
        false
    }
}
