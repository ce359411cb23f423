//! When a pass looked at the queues, before it took the lock of the one from which it moved something.
//!
//! Model.   It did so between its CPU's last record before it and its own first one, which is written with that lock held. Mostly
//!          these are close together, and ours looks at the later one. If more than a tick lies between them, without a timer
//!          interrupt, interrupts were off, as they are while it waits for the lock: which queue that is and how much to move
//!          from there it had found before, and ours is asked that with the state as it was then. A CPU that idles has no tick:
//!          its silence tells nothing. Nor does a task's before its last charge: its CPU looks for others after that.
//!          If the kernel's answer is the one for the state at an earlier time, or with what is found there, that is a race.
//!          States in between are tried only for passes that were wrong in an earlier walk.
//! Deviations. Of the states in between the last are kept.
//! Source.  kernel/sched/fair.c `load_balance` @ 6.1, `sched_balance_rq` @ 6.12.

use super::Follower;
use super::passes::{Answer, Asked, Pass};
use crate::record::Record;
use fairwind_sched::balance::Found;
use fairwind_sched::{CpuId, Sched};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many states are kept.
const MOST_STATES: usize = 64;

/// Ours since a CPU's last record before a pass: no earlier can it have looked at the queues.
#[derive(Clone, Debug)]
pub(super) struct Looks {
    /// After that record, and then after each that changed a queue.
    states: VecDeque<State>,
    /// The pass came so late that it had looked at the queues at once.
    late: bool,
    /// Ours had another answer in an earlier walk.
    was_wrong: bool,
}

/// Ours after a record.
#[derive(Clone, Debug)]
struct State {
    /// When that was written.
    ts: u64,
    sched: Arc<Sched>,
}

impl State {
    /// Which queue a pass finds that looks now, and how much to move from there.
    fn find(&self, pass: &Pass) -> Option<Found> {
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

impl Looks {
    /// What the pass found before its CPU waited for the queue's lock, if it waited for long, and when.
    pub(super) fn found(&self, pass: &Pass) -> Option<(u64, Found)> {
        let earliest = self.states.front().filter(|_| self.late)?;
        Some((earliest.ts, earliest.find(pass)?))
    }
}

impl Follower<'_> {
    /// Keeps everything as it is after a record, if the CPU's next one is a pass's first and it may have looked at once; and if
    /// a queue has changed, for others whose passes may look now.
    pub(super) fn hold(&mut self, r: &Record) {
        self.hold_for_others(r);
        let inside = r.what.is_inside();
        if !inside {
            self.cpu(r.cpu).looks = None;
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
        let silent = next.ts.saturating_sub(r.ts) > self.facts.profile.tick_nsec();
        let idles = self.sched.is_idle(cpu) && self.sched.rqs[cpu].nr_running == 0;
        let was_wrong = self.learned.wrong_passes.contains(&(r.cpu, next.ts));
        let looks = self.cpu(r.cpu).looks.take();
        let looks = looks.filter(|_| inside && !silent);
        let looks = looks.unwrap_or_else(|| Looks {
            states: VecDeque::from([self.state(r)]),
            late: silent && !idles,
            was_wrong,
        });
        self.cpu(r.cpu).looks = Some(Looks { was_wrong, ..looks });
    }

    fn hold_for_others(&mut self, r: &Record) {
        if self.learned.wrong_passes.is_empty() || !r.what.changes_queues() {
            return;
        }
        let looks = |cpu: &usize| {
            let context = &self.cpus[*cpu];
            let was_wrong = context.looks.as_ref().is_some_and(|looks| looks.was_wrong);
            *cpu != r.cpu as usize && was_wrong && context.before_pass.is_none()
        };
        let others: Vec<usize> = (0..self.cpus.len()).filter(looks).collect();
        if others.is_empty() {
            return;
        }
        let state = self.state(r);
        for cpu in others {
            if let Some(looks) = &mut self.cpus[cpu].looks {
                if looks.states.len() == MOST_STATES {
                    looks.states.remove(1);
                }
                looks.states.push_back(state.clone());
            }
        }
    }

    fn state(&self, r: &Record) -> State {
        State {
            ts: r.ts,
            sched: Arc::new(self.sched.clone()),
        }
    }

    /// Does ours do the same as the kernel if it looks at the queues earlier, and then moves tasks at once or later?
    pub(super) fn looked_earlier(&self, asked: &Asked, same: impl Fn(&Answer) -> bool) -> bool {
        let states = asked.looks.iter().flat_map(|looks| &looks.states);
        states.into_iter().any(|state| {
            let found = state.find(&asked.pass);
            same(&self.ask_with(&state.sched, asked, None, None))
                || found.is_some() && same(&self.ask_with(&asked.before, asked, None, found))
        })
    }
}
