//! What the forms of output are made from.

use fairwind_sched::{CpuPlace, Release};
use fairwind_sim::{MergedReport, Report};

/// Everything a run measured, and what it was a run of.
#[derive(Debug)]
pub(crate) struct Results {
    /// Tasks, groups, CPUs and totals.
    pub(crate) report: Report,
    /// What was asked for beside the defaults of the kernel and the machine.
    pub(crate) settings: Vec<String>,
    /// Instances of a task of the workload together.
    pub(crate) specs: Vec<MergedReport>,
    /// The tasks of each group together, in the order of the report's groups.
    pub(crate) group_tasks: Vec<MergedReport>,
    /// The kernel.
    pub(crate) release: Release,
    /// The machine, in a line.
    pub(crate) description: String,
    /// Where each CPU sits.
    pub(crate) places: Vec<CpuPlace>,
}
