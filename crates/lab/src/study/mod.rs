//! Studies: published experiments, done again, and held against what was published.
//!
//! Model.       A study file says what is run (workload, machine, and the kernel without and with the change) and what was
//!              published of it, row by row. [`judge`] gives each row its verdict.
//! Invariants.  A study that exists is consistent: its experiments name workloads that it has, its rows have numbers.
//! Source.      Each file names its own.
//! Not here.    Kernels' names and workloads' texts are kept as they are written: who runs them reads them.

mod file;
mod judged;
mod list;
mod published;
mod verdict;

pub use file::{Experiment, Quick, Row, Study, StudyError, WorkloadText};
pub use judged::{Judged, judge_rows};
pub use list::{studies, study};
pub use published::{Numbers, Published};
pub use verdict::{Effect, Outcome, judge, judge_sides};
