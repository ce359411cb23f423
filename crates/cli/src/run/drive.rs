//! Drives a simulation to its end or to Ctrl-C, with progress, and tells of what the user may not expect.

use super::progress::Progress;
use crate::duration::format_round;
use crate::{interrupt, output};
use fairwind_lab::{DEFAULT_DURATION, Ending, end_of};
use fairwind_sim::Simulation;

/// Runs to the end, or until asked to stop.
pub(crate) fn drive(simulation: &mut Simulation) -> Ending {
    let end = end_of(simulation);
    if end != simulation.end() {
        output::note(&no_end());
    }
    let mut progress = Progress::new(end);
    let ending = fairwind_lab::drive(simulation, |now| {
        progress.show(now);
        !interrupt::asked()
    });
    drop(progress);
    if let Ending::Stuck { since } = ending {
        output::warning(&format!("{}; --duration bounds the run", stuck(since)));
    }
    ending
}

/// What is told of a workload that runs forever.
pub(crate) fn no_end() -> String {
    format!(
        "the workload has no end: simulating {}; choose with --duration or \"duration\" in \"global\"",
        format_round(DEFAULT_DURATION)
    )
}

/// What is told of a run in which nothing happens any more.
pub(crate) fn stuck(since: fairwind_sched::Nanos) -> String {
    format!(
        "since {} at the latest all tasks wait for what never comes",
        format_round(since)
    )
}
