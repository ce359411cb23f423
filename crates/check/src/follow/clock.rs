//! The clock of a queue, out of what its running task is charged.
//!
//! Model.   `update_curr` charges `clock - exec_start`, and `exec_start` is the clock of the last
//!          charge: so `exec_start + runtime` is the queue's clock, to the nanosecond.
//! Source.  kernel/sched/fair.c `update_curr` @ 6.1, 6.12.
//! Deviations. When a CPU leaves idle no charge tells its clock: the time stamp of the record stands
//!          for it, which is some µs late. Charges after that are exact relative to it.

use super::Follower;
use super::cpu::Charge;
use crate::record::Record;
use fairwind_sched::TaskId;

/// If the clock is further from the time stamp than this, the running task is not the one followed.
const PLAUSIBLE_NS: u64 = 2_000_000;

impl Follower<'_> {
    /// A task was charged for its run time.
    pub(super) fn stat_runtime(
        &mut self,
        r: &Record,
        pid: i32,
        runtime: u64,
        vruntime: Option<u64>,
    ) {
        let task = self.task(pid, "", r.cpu, r.ts);
        let cpu = self.sched.tasks[task].cpu;
        let own = cpu.0 == r.cpu;
        let waking = self.cpu(r.cpu).waking;
        if own && waking.is_none() && !r.softirq {
            self.drop_clock(r);
        }
        let clock = self.charged_clock(task, r.ts, runtime);
        if waking.is_none() && self.unthrottled_by_charge(r, cpu, clock) {
            // The clock is used up.
        } else if !own || waking.is_some() {
            if waking.is_none() {
                self.begin_pass(r.cpu);
            }
            self.cpu(r.cpu).clocks.insert(cpu.0, clock);
        } else if r.softirq {
            self.drop_clock(r);
            self.cpu(r.cpu).clocks.insert(cpu.0, clock);
        } else {
            self.cpu(r.cpu).pending_clock = Some(clock);
        }
        let charged = self.cpu(r.cpu).pending_clock == Some(clock);
        if let Some(vruntime) = vruntime {
            self.cpu(r.cpu).charges.push(Charge {
                task,
                runtime,
                vruntime,
            });
        }
        if charged {
            self.attach_charged(r, pid);
        }
        let charged = self.cpu(r.cpu).pending_clock == Some(clock);
        if charged && self.futile_pick(r, pid, clock) {
            self.cpu(r.cpu).pending_clock = None;
        } else if charged && self.is_call_of_its_own(pid) {
            self.cpu(r.cpu).pending_clock = None;
            self.charge(r, clock);
        }
    }

    fn charged_clock(&mut self, task: TaskId, ts: u64, runtime: u64) -> u64 {
        let cpu = self.sched.tasks[task].cpu;
        let se = self.sched.tasks[task].se;
        let clock = if self.sched.rqs[cpu].curr == task {
            self.sched.ses[se].exec_start.saturating_add(runtime)
        } else {
            self.clock_at(cpu, ts)
        };
        if clock.abs_diff(ts) <= PLAUSIBLE_NS {
            return clock.max(self.sched.rqs[cpu].clock);
        }
        self.sched.ses[se].exec_start = ts.saturating_sub(runtime);
        self.clock_at(cpu, ts)
    }
}
