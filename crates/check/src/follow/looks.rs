//! When a pass looked at the queues, before it took the lock of the one from which it moved something.
//!
//! Model.   It did so between its CPU's last record before it and its own first one, which is written with that lock held. Mostly
//!          these are close together, and ours looks at the later one. If more than a tick lies between them, without a timer
//!          interrupt, interrupts were off, as they are while it waits for the lock: which queue that is and how much to move
//!          from there it had found before, and ours is asked that with the state as it was then. A CPU that idles has no tick:
//!          its silence tells nothing. Nor does a task's before its last charge: its CPU looks for others after that.
//!          If the kernel's answer is the one for the state at the earlier time, that is a race.
//! Source.  kernel/sched/fair.c `load_balance` @ 6.1, `sched_balance_rq` @ 6.12.

use super::Follower;
use super::passes::Pass;
use crate::record::Record;
use fairwind_sched::balance::Found;
use fairwind_sched::{CpuId, Sched};

/// Ours after a CPU's last record before a pass: no earlier can it have looked at the queues.
#[derive(Clone, Debug)]
pub(super) struct Earliest {
    /// When that was written.
    pub(super) ts: u64,
    pub(super) sched: Box<Sched>,
    /// The pass came so late that it had looked at the queues at once.
    late: bool,
}

impl Earliest {
    /// What the pass found before its CPU waited for the queue's lock, if it waited for long.
    pub(super) fn found(&self, pass: &Pass) -> Option<Found> {
        if !self.late {
            return None;
        }
        let mut copy = (*self.sched).clone();
        copy.effects.clear();
        copy.report_passes(true);
        pass.at(self.ts).ask(&mut copy);
        let report = copy.pass_reports().first()?;
        let src_cpu = report.src_cpu?;
        Some(Found {
            src_cpu,
            nr_running: self.sched.rqs[src_cpu].nr_running,
            imbalance: report.imbalance,
            migration_type: report.migration_type,
        })
    }
}

impl Follower<'_> {
    /// Keeps everything as it is after a record, if the CPU's next one is a pass's first and it may have looked at once.
    pub(super) fn hold(&mut self, r: &Record) {
        let inside = r.what.is_inside();
        if !inside {
            self.cpu(r.cpu).earliest = None;
        }
        let Some(next) = self.next_on_cpu[self.at] else {
            return;
        };
        let next = &self.records[next];
        if !(next.softirq && self.moves_ahead(r.cpu)
            || inside && self.times.pulls(r.cpu, self.at + 1))
        {
            return;
        }
        let cpu = CpuId(r.cpu);
        let late = next.ts.saturating_sub(r.ts) > self.facts.profile.tick_nsec();
        if late && self.sched.is_idle(cpu) && self.sched.rqs[cpu].nr_running == 0 {
            return;
        }
        if late || !inside || self.cpu(r.cpu).earliest.is_none() {
            self.cpu(r.cpu).earliest = Some(Earliest {
                ts: r.ts,
                sched: Box::new(self.sched.clone()),
                late,
            });
        }
    }
}
