//! What the forms of output are made from.

use fairwind_sched::{CpuPlace, Release};
use fairwind_sim::{MergedReport, Report, Simulation};
use fairwind_workload::programs::{MetricResult, Program};

/// Everything a run measured, and what it was a run of.
#[derive(Debug)]
pub(crate) struct Results {
    /// Tasks, groups, CPUs and totals.
    pub(crate) report: Report,
    /// What was asked for beside the defaults of the kernel and the machine.
    pub(crate) settings: Vec<String>,
    /// What the programs print.
    pub(crate) programs: Vec<ProgramResult>,
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

/// What a program prints.
#[derive(Debug)]
pub(crate) struct ProgramResult {
    /// Its name.
    pub(crate) name: &'static str,
    /// It with all its parameters.
    pub(crate) spec: String,
    /// The numbers.
    pub(crate) metrics: Vec<MetricResult>,
}

impl ProgramResult {
    /// What it prints after a run.
    pub(crate) fn of(program: &Program, simulation: &Simulation) -> Self {
        let measures = simulation.measures();
        ProgramResult {
            name: program.name,
            spec: program.spec(),
            metrics: program.metrics.iter().map(|m| m.result(measures)).collect(),
        }
    }
}
