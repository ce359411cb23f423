//! What the forms of output are made from.

use fairwind_sched::{CpuPlace, Nanos, Release};
use fairwind_sim::{GuestReport, MergedReport, Report, Simulation, YieldReport};
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
    /// What ran in each guest.
    pub(crate) guests: Vec<GuestResult>,
    /// The kernel.
    pub(crate) release: Release,
    /// The machine, in a line.
    pub(crate) description: String,
    /// Where each CPU sits.
    pub(crate) places: Vec<CpuPlace>,
}

/// What ran in a guest.
#[derive(Debug)]
pub(crate) struct GuestResult {
    /// Its name.
    pub(crate) name: String,
    /// Its kernel.
    pub(crate) kernel: String,
    /// Its vCPUs.
    pub(crate) nr_cpus: usize,
    /// Time of the run.
    pub(crate) duration_ns: Nanos,
    /// What its programs print.
    pub(crate) programs: Vec<ProgramResult>,
    /// Instances of a task together.
    pub(crate) specs: Vec<MergedReport>,
    /// Time its tasks spun for spinlocks.
    pub(crate) spin_ns: Nanos,
    /// Directed yields of its vCPUs.
    pub(crate) yields: YieldReport,
}

impl GuestResult {
    /// Those of a run with these reports; `programs` of each guest.
    pub(crate) fn all(
        simulation: &Simulation,
        reports: &[GuestReport],
        programs: &[Vec<Program>],
    ) -> Vec<GuestResult> {
        let each = simulation.guests().zip(reports).zip(programs);
        each.map(|(((name, inside), report), programs)| GuestResult {
            name: name.to_string(),
            kernel: report.report.kernel.clone(),
            nr_cpus: report.vcpus.len(),
            duration_ns: report.report.duration_ns,
            programs: { programs.iter() }
                .map(|program| ProgramResult::of(program, inside))
                .collect(),
            specs: inside.spec_reports(),
            spin_ns: report.spin_ns,
            yields: report.yields,
        })
        .collect()
    }
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
