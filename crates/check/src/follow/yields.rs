//! `sched_yield()`: not recorded, but it charges the running task.
//!
//! Model.  `sched_yield()` is the only call that charges its task while it holds no lock but that of the queue, so
//!         that preemption is disabled once. Then it calls `schedule()`, which does not charge again. If no switch
//!         follows, the task was picked again. A timer interrupt that comes before that finds preemption disabled.
//!         What its tick asks for is forgotten in `schedule()`, and not judged unless a record in the interrupt shows it.
//! Source. kernel/sched/core.c `do_sched_yield` @ 6.1; syscalls.c @ 6.12; fair.c `yield_task_fair`.
//! Deviations. A timer interrupt that is the next thing recorded after a yield, and finds preemption disabled, is taken to come
//!         before its `schedule()`, though the task may have been picked again and gone on to another such place.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::ProbePoint;

impl Follower<'_> {
    /// Is a charge of the running task that of `sched_yield()`?
    pub(super) fn is_yield(&self, r: &Record) -> bool {
        let rq = &self.sched.rqs[CpuId(r.cpu)];
        !r.irq && r.preempt_depth == 1 && rq.nr_running > 1 && self.sched.is_fair(rq.curr)
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
        if !r.irq || r.what == What::Timer && r.preempt_depth == 0 {
            self.cpu(r.cpu).yields = false;
        }
    }

    /// Is the next thing that the running task does to be switched away from?
    fn switches_next(&self) -> bool {
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let r = &self.records[at];
            if !r.irq {
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
