//! Experiments: the same workload under several kernels, often enough to tell a difference from chance.
//!
//! Model.       An [`Experiment`] is one run: workload, machine, kernel and seed. It gives [`Measures`], numbers by
//!              name. [`run_all`] does many on all cores, [`Store`] keeps what is done for the next time, and
//!              [`compare`](fn@compare) says what two [`Sample`]s of a measure tell of each other. A [`study`] is a published
//!              experiment with its figures, to hold ours against. [`mod@bench`] measures the simulation's own speed.
//! Invariants.  What an experiment measures depends on nothing but the experiment: not on the number of threads, nor
//!              on the order of the runs, nor on whether it was run now or read from a store.
//! Not here.    Scheduling and simulation (see `sim`); tables, and everything else that is printed (see `cli`).

pub mod bench;
mod drive;
mod experiment;
mod matrix;
mod measures;
mod metric;
mod sample;
mod store;
pub mod study;

pub use drive::{DEFAULT_DURATION, Ending, drive, end_of};
pub use experiment::{Experiment, Run};
pub use matrix::{Progress, RunError, run_all};
pub use measures::Measures;
pub use metric::{
    Better, COUNTERS, GUEST_METRICS, METRICS, Metric, MetricError, MetricInfo, find_metric,
    program_metrics,
};
pub use sample::{CONFIDENCE, Comparison, Difference, Sample, Verdict, compare};
pub use store::{Key, Store, StoreError};
