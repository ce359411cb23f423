//! Ticks, and other charges of the running task that no call of the scheduler claims.
//!
//! Model. A tick charges the running task in a hardware interrupt, and no wakeup or switch follows
//!        that would have charged it too. It is followed at once, since other CPUs decide by what it
//!        changed; whether it asked for a reschedule shows in the flags of the CPU's next record, and
//!        is judged there. A charge in the task's own context comes from `schedule()` that goes on with
//!        the same task, or from a system call that asks for run times.

use super::Follower;
use super::classify::Pair;
use crate::baselines::Baselines;
use crate::judge::{Decision, Measure};
use crate::record::{Record, What};
use fairwind_sched::{CpuId, TaskId};

/// A charge whose outcome the next record shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charged {
    decision: Decision,
    /// The task that ran.
    curr: TaskId,
    /// Who has the least virtual runtime.
    least: Option<TaskId>,
    /// Whether there is something to judge.
    asked: bool,
}

impl Follower<'_> {
    /// Was the charge just recorded a call of its own? The CPU's next records tell; of its last charge none
    /// does.
    pub(super) fn is_call_of_its_own(&self, pid: i32) -> bool {
        let r = &self.records[self.at];
        let mut put_prev = None;
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let other = &self.records[at];
            match &other.what {
                What::Runtime { pid: charged, .. } if *charged == pid || other.softirq => {
                    return true;
                }
                What::Migrate { .. } if other.softirq => return true,
                What::Runtime { .. } | What::Migrate { .. } | What::PlaceEntity { .. } => {}
                What::PutPrev(probe) => put_prev = put_prev.or(Some(probe.address)),
                What::SetNext(probe) if put_prev == Some(probe.address) => return false,
                What::SetNext(_) => {}
                What::Wakeup { .. } => return other.irq != r.irq,
                What::Switch { .. }
                | What::WakeupNew { .. }
                | What::Fork { .. }
                | What::Attach { .. } => return r.irq,
                What::Waking { .. } | What::Mkdir { .. } | What::Exit { .. } | What::Timer => {
                    return true;
                }
            }
        }
        false
    }

    /// The priority that the running task has when it is switched away from.
    fn next_prio(&self, curr: TaskId) -> Option<i32> {
        let pid = self.pid(curr)?;
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            if let What::Switch { prev, .. } = &self.records[at].what {
                return (prev.pid == pid).then_some(prev.prio);
            }
        }
        None
    }

    /// `schedule()` that picks the task that ran leaves no `sched_switch`: a reschedule was asked for,
    /// the task is charged, and then none is asked for any more.
    fn is_same_again(&self, r: &Record) -> bool {
        let answered = |next: usize| !self.records[next].need_resched;
        !r.irq && r.need_resched && self.next_on_cpu[self.at].is_some_and(answered)
    }

    /// Follows a charge that is a call of its own.
    pub(super) fn charge(&mut self, r: &Record, clock: u64) {
        if self.is_same_again(r) {
            self.follow_same(r, clock);
            return;
        }
        let cpu = CpuId(r.cpu);
        let rq = &self.sched.rqs[cpu];
        let curr = rq.curr;
        let asked =
            !rq.need_resched && !r.need_resched && rq.nr_running > 1 && self.sched.is_fair(curr);
        let hardirq = r.hardirq() && self.cpu(r.cpu).in_timers.is_some();
        let exits = !r.irq && self.exiting.remove(&curr);
        let kind = if hardirq { "tick" } else { "charge" };
        let charged = Charged {
            decision: Self::decision(r, Measure::Preemption, kind),
            curr,
            least: self.least_vruntime(cpu, None),
            asked,
        };
        if hardirq {
            self.sched.sched_tick(cpu, clock);
            self.cpu(r.cpu).balance_clock = Some(clock);
            self.tick_is_over(r);
        } else {
            self.sched.follow_charge(cpu, clock);
        }
        self.compare_vruntimes(r.cpu, r.ts);
        if exits {
            self.sched.follow_autogroup_exit(curr, clock);
        } else if !r.irq
            && let Some(prio) = self.next_prio(curr)
        {
            self.set_prio(curr, prio);
        }
        self.take_effects(r.cpu);
        self.cpu(r.cpu).charged = Some(charged);
    }

    /// The record after a charge shows whether a reschedule was asked for.
    pub(super) fn end_charge(&mut self, r: &Record) {
        let Some(charged) = self.cpu(r.cpu).charged.take() else {
            return;
        };
        let cpu = CpuId(r.cpu);
        let ours = self.sched.rqs[cpu].need_resched;
        let kernel = r.need_resched;
        let curr = charged.curr;
        if charged.asked {
            let baselines = Baselines {
                candidates: 2,
                fifo: Some(!kernel),
                least_vruntime: Some(kernel == (charged.least != Some(curr))),
            };
            let class = self.class_of_pair(r.cpu, Pair { a: curr, b: curr });
            let queue = self.describe_all(&self.candidates(cpu));
            let text = format!(
                "{}: kernel {kernel}, ours {ours}, of {queue}",
                self.describe(curr)
            );
            self.judge
                .judge(charged.decision, kernel == ours, baselines, || {
                    (class, text)
                });
        }
        if ours && !kernel && self.candidates(cpu) == [curr] {
            self.drop_delayed(cpu);
        }
        self.sched.rqs[cpu].need_resched = kernel;
    }

    /// The running task used its slice up and nobody else wants the CPU: none waits there whose dequeue was
    /// delayed, either.
    fn drop_delayed(&mut self, cpu: CpuId) {
        let mut next = self.sched.rqs[cpu].cfs_tasks_first;
        while next.is_some() {
            let task = next;
            next = self.sched.tasks[task].cfs_tasks_next;
            if self.sched.follow_delayed_dequeue(task) {
                self.judge.mended("sleepers that were off their queue");
            }
        }
    }
}
