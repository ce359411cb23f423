//! Picks that find nobody: throttling took the last fair tasks off.
//!
//! Model.  What `schedule()` does after that (it looks for others to pull, and puts the task back that ran) it does at a later
//!         clock, so that this task is charged once more, or only then if the pick reused the clock of a wakeup. A task on its way
//!         to sleep that is still in line then (DELAY_DEQUEUE) shows that the pick did not get down to it. Where ours would
//!         have found somebody, a queue is out of runtime (see `exhausted`).
//! Source. kernel/sched/fair.c `pick_task_fair`, `pick_next_task_fair`, `put_prev_entity` @ 6.1, 6.12.

use super::Follower;
use crate::record::{PrevState, Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::ProbePoint;

impl Follower<'_> {
    /// schedule() throttled the last fair tasks, if it then looked for others to pull: it moved some here, or, since looking
    /// took time, it charged the task that ran once more. That one could run, or is on its way to sleep and still in line
    /// (DELAY_DEQUEUE). This is the first charge.
    pub(super) fn futile_pick(&mut self, r: &Record, pid: i32, clock: u64) -> bool {
        if r.irq || !self.limits.are_set() {
            return false;
        }
        let (mut put, mut charged, mut charged_by_put, mut pulled) = (false, false, false, false);
        let mut at = self.at;
        let state = loop {
            let Some(next) = self.next_on_cpu[at] else {
                return false;
            };
            at = next;
            match &self.records[at].what {
                What::Runtime { pid: again, .. } if *again == pid => {
                    charged = true;
                    charged_by_put |= put;
                }
                What::Probe { point, .. } => put = *point == ProbePoint::PutPrevEntity,
                What::Migrate { dest, .. } if *dest == r.cpu => pulled = true,
                What::Switch {
                    prev, prev_state, ..
                } if prev.pid == pid => match prev_state {
                    PrevState::Runnable if charged || pulled => break PrevState::Runnable,
                    PrevState::Interruptible | PrevState::Uninterruptible if charged_by_put => {
                        break *prev_state;
                    }
                    _ => return false,
                },
                inside if inside.is_inside() => {}
                _ => return false,
            }
        };
        if state == PrevState::Runnable {
            self.picks_in_vain(r.cpu, clock, state)
        } else {
            // A pick that gets down to a sleeper takes it off its queue, and it is charged no more.
            self.picks_in_vain_surely(r.cpu, clock, state)
        }
    }

    /// schedule() went idle though the task could run, and charged it only when it put it back: a pick that reuses the clock
    /// of a wakeup charges nothing, and throttles the last fair tasks all the same.
    pub(super) fn futile_pick_before_charge(&mut self, cpu: u32) {
        let rq = &self.sched.rqs[CpuId(cpu)];
        let (clock, reuses) = (rq.clock, rq.clock_skip_requested);
        if self.limits.are_set() && reuses && self.cpu(cpu).charged_by_put {
            self.picks_in_vain_surely(cpu, clock, PrevState::Runnable);
        }
    }

    /// If a pick finds nobody, it is carried out.
    fn picks_in_vain(&mut self, cpu: u32, clock: u64, state: PrevState) -> bool {
        self.take_effects(cpu);
        let before = self.copy();
        let curr = self.sched.rqs[CpuId(cpu)].curr;
        if state != PrevState::Runnable && self.sched.tasks[curr].is_queued() {
            self.set_prev_state(CpuId(cpu), state);
            self.sched.follow_block(CpuId(cpu), clock);
        }
        let futile =
            self.sched.follow_futile_pick(CpuId(cpu), clock) && self.sched.tasks[curr].is_queued();
        if !futile {
            self.sched = before;
        }
        self.take_effects(cpu);
        futile
    }

    /// The same where the kernel's pick found nobody: if ours would, a queue is out of runtime.
    fn picks_in_vain_surely(&mut self, cpu: u32, clock: u64, state: PrevState) -> bool {
        if self.picks_in_vain(cpu, clock, state) {
            return true;
        }
        let rq = &self.sched.rqs[CpuId(cpu)];
        let Some(cfs_rq) = self.likely_exhausted(self.limited_above(rq.curr, rq.idle)) else {
            return false;
        };
        self.exhaust(cfs_rq, clock);
        self.picks_in_vain(cpu, clock, state)
    }
}
