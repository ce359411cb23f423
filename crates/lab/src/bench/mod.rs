//! The speed of the simulation itself: fixed jobs, done once in a process of their own.
//!
//! Model.       A [`Job`] is a workload on a machine. [`once`] simulates its start, which is timed for itself, and then a
//!              fixed stretch of simulated time, which is what counts. [`Bound`] says what the machine could do at most:
//!              a bare event queue, and the latency of memory.
//! Units.       An event is a wakeup or a context switch, to idle included; ticks are counted apart.
//! Invariants.  What is simulated depends on the job and its size alone, so that two runs of a job differ in time only.
//! Not here.    Repeating, counting instructions, tables (see `cli`).

mod bound;
mod jobs;
mod once;

pub use bound::{Bound, hold_ops_per_s};
pub use jobs::{JOBS, Job, Size};
pub use once::{Footprint, Once, footprint, once};
