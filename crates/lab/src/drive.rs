//! Drives a simulation to its end, in steps short enough to stop in between.
//!
//! Model.       Each step simulates so much time as takes about [`STEP`] of real time. Where a run stops between steps
//!              does not change what is simulated.
//! Invariants.  Every run ends: one that has neither a duration nor an end of its own after [`DEFAULT_DURATION`], one
//!              whose tasks all wait for what never comes when nothing has happened for [`STUCK`].

use fairwind_sched::Nanos;
use fairwind_sim::{Outcome, Simulation};
use std::time::{Duration, Instant};

/// How long a run goes on that knows no end.
pub const DEFAULT_DURATION: Nanos = 10_000_000_000;
/// Real time a step should take.
const STEP: Duration = Duration::from_millis(20);
/// Shortest and longest step in simulated time. The longest bounds the real time of a step in which a quiet machine
/// becomes busy.
const STEP_NS: std::ops::RangeInclusive<Nanos> = 10_000..=10_000_000;
/// No single sleep of a workload is longer than 2^32 us, 72 minutes.
const STUCK: Nanos = 2 * 3600 * 1_000_000_000;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// By itself.
    Over,
    /// It was asked to.
    Stopped,
    /// All tasks wait for what never comes.
    Stuck {
        /// When something last happened, or a little later.
        since: Nanos,
    },
}

/// When a run ends at the latest; none: with its last task.
pub fn end_of(simulation: &Simulation) -> Option<Nanos> {
    match simulation.end() {
        None if !simulation.workload_ends() => Some(DEFAULT_DURATION),
        end => end,
    }
}

/// Runs to the end, or until `go_on`, which is told the simulated time after each step, refuses.
pub fn drive(simulation: &mut Simulation, mut go_on: impl FnMut(Nanos) -> bool) -> Ending {
    let end = end_of(simulation);
    let mut activity = Activity::default();
    let mut step = 1_000_000;
    while go_on(simulation.now()) {
        let until = simulation.now() + step;
        let until = end.map_or(until, |end| end.min(until));
        let started = Instant::now();
        if simulation.run_until(until) == Outcome::Finished || end == Some(simulation.now()) {
            return Ending::Over;
        }
        let took = started.elapsed();
        step = if took > STEP { step / 2 } else { step * 2 };
        step = step.clamp(*STEP_NS.start(), *STEP_NS.end());
        if end.is_none() && activity.is_stuck(simulation) {
            return Ending::Stuck {
                since: activity.last,
            };
        }
    }
    Ending::Stopped
}

/// When something last happened, looked at every second of simulated time.
#[derive(Default)]
struct Activity {
    looked_at: Nanos,
    switches: u64,
    last: Nanos,
}

impl Activity {
    /// Has nothing happened for longer than any sleep lasts?
    fn is_stuck(&mut self, simulation: &Simulation) -> bool {
        let now = simulation.now();
        if now < self.looked_at + 1_000_000_000 {
            return false;
        }
        self.looked_at = now;
        let sched = simulation.sched();
        let switches = sched
            .rqs
            .ids()
            .map(|cpu| sched.rqs[cpu].stats.nr_switches)
            .sum();
        let idle = sched.rqs.ids().all(|cpu| sched.rqs[cpu].nr_running == 0);
        if self.switches != switches || !idle {
            (self.switches, self.last) = (switches, now);
        }
        now - self.last >= STUCK
    }
}
