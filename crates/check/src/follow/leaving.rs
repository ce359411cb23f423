//! Tasks that go to sleep: they leave their queue in `schedule()`, some time before its switch is recorded.
//!
//! Model.  The charge that is the last record of the running task before a switch in which it sleeps is that of leaving its
//!         queue. What other CPUs find there until the switch they find without it: the CPU may look for other tasks
//!         meanwhile, wait for locks, or as a vCPU not run at all.
//! Source. kernel/sched/core.c `__schedule`, `deactivate_task`, `block_task` @ 6.1, 6.12.

use super::Follower;
use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{CpuId, TaskId, TaskState};

impl Follower<'_> {
    /// The kernel has taken a sleeper off its queue, which in ours may still be there (DELAY_DEQUEUE).
    pub(super) fn take_sleeper_off(&mut self, task: TaskId) {
        if self.sched.follow_delayed_dequeue(task) {
            self.judge.mended("sleepers that were off their queue");
        }
    }

    /// After a record was followed: if it is the charge with which a task leaves its queue, it has left.
    pub(super) fn leave_queue_for_sleep(&mut self, r: &Record) {
        let (cpu, clock) = (CpuId(r.cpu), self.cpu(r.cpu).pending_clock);
        let (What::Runtime { pid, .. }, Some(clock)) = (&r.what, clock) else {
            return;
        };
        let curr = self.sched.rqs[cpu].curr;
        let left = self.sched.rqs[cpu].curr_has_left;
        let t = &self.sched.tasks[curr];
        let runs = t.is_queued() && t.state == TaskState::Running && self.is_ordinary(curr);
        if left || !runs || self.pid(curr) != Some(*pid) {
            return;
        }
        let Some((prio, state, next)) = self.sleep_ahead(r.cpu, *pid) else {
            return;
        };
        // Its priority, and the time of its queue, change after that.
        self.begin_told(r.cpu);
        self.sched.follow_charge(cpu, clock);
        self.end_told(r);
        self.set_prio(curr, prio);
        if let Some(next) = next {
            self.unthrottle_above(r, next, clock);
            self.mend_next(cpu, next, clock);
        }
        self.set_prev_state(cpu, state);
        self.note_times_left(r.cpu, curr);
        self.begin_told(r.cpu);
        self.sched.follow_block(cpu, clock);
        self.end_told(r);
        self.take_effects(r.cpu);
    }

    /// The switch that a CPU is about to record, if its running task sleeps: with which priority, in which state, and who is
    /// next, if that has not come meanwhile.
    fn sleep_ahead(&self, cpu: u32, pid: i32) -> Option<(i32, PrevState, Option<TaskId>)> {
        let own = self.times.records_of(cpu, self.at + 1).iter();
        let mut pulls = false;
        for &at in own {
            match &self.records[at].what {
                What::Switch {
                    prev,
                    prev_state,
                    next,
                } if prev.pid == pid && *prev_state != PrevState::Runnable => {
                    let mut meanwhile = self.records[self.at..at].iter();
                    let comes = pulls || meanwhile.any(|r| brings(r, next.pid));
                    let next = self.known(next.pid).filter(|_| !comes);
                    return Some((prev.prio, *prev_state, next));
                }
                What::Migrate { dest, .. } if *dest == cpu => pulls = true,
                What::Migrate { .. } => return None,
                // It is taken off and put back, to change an attribute.
                What::Probe { point, .. } if *point == ProbePoint::PlaceEntity && !pulls => {
                    return None;
                }
                What::Runtime { pid: charged, .. } if *charged == pid && !pulls => return None,
                what if what.is_inside() => {}
                _ => return None,
            }
        }
        None
    }
}

/// Does a record put a task on a queue?
fn brings(r: &Record, task: i32) -> bool {
    match r.what {
        What::Wakeup { pid, .. } | What::WakeupNew { pid, .. } | What::Migrate { pid, .. } => {
            pid == task
        }
        _ => false,
    }
}
