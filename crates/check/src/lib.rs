//! Holds the decisions of a recorded kernel against our scheduler.
//!
//! Model.       A recording (sched tracepoints of a stock kernel, probes, and the kernel's own files)
//!              is walked with a scheduler beside it. Wherever the kernel decided, ours is asked the
//!              same question with the same history, is judged, and then follows the kernel.
//!              The same records tell what the tasks did, for a simulation: see [`behaviour`].
//! Invariants.  No tolerances: equal is equal to the nanosecond. What the recording does not tell is
//!              named, and counts as a disagreement all the same.
//! Units.       ns of the trace clock.
//! Not here.    Trace formats (see `trace`), scheduling (see `sched`).
//!
//! ```no_run
//! # fn main() -> Result<(), fairwind_check::Error> {
//! let recording = fairwind_check::Recording::open("wakers".as_ref(), Default::default())?;
//! let report = fairwind_check::check(&recording);
//! assert_eq!(report.share(fairwind_check::Measure::Pick), Some(100_000));
//! # Ok(())
//! # }
//! ```

mod baselines;
pub mod behaviour;
mod complete;
mod cpu_hierarchy;
pub mod error;
pub mod facts;
mod follow;
mod gaps;
mod idle_ends;
pub mod judge;
mod median;
mod possible;
mod record;
pub mod recording;
pub mod report;
mod wakeup_ends;

pub use error::Error;
pub use facts::{Facts, Given};
pub use gaps::Gap;
pub use judge::{Class, Count, Disagreement, Measure, Score};
pub use recording::Recording;
pub use report::Report;

/// Walks a recording and counts on how many decisions our scheduler agrees with the kernel.
#[must_use]
pub fn check(recording: &Recording) -> Report {
    let mut judge = follow::follow(&recording.facts, &recording.records);
    if recording.gaps.contains(&gaps::FLAGS) {
        judge.take_back(Measure::Preemption);
        judge.take_back(Measure::Balance);
    }
    Report::new(recording, judge)
}
