//! From a study to the runs that it takes.
//!
//! Model.       Each experiment has runs under one kernel or two, with each seed. Where constants of the machine are halved
//!              and doubled, all of them again for each such machine.

use crate::compare::kernel_spec::{self, Kernel};
use crate::error::Error;
use fairwind_lab::study::{Judged, Study, judge_rows};
use fairwind_lab::{Experiment, Run, find_metric};
use fairwind_machine::Machine;
use fairwind_workload::programs::{self, Program};
use fairwind_workload::{Workload, parse};
use std::sync::Arc;

/// What a constant of the machine is multiplied by.
pub(crate) const TIMES: [(u64, u64); 2] = [(1, 2), (2, 1)];

/// The runs of a study.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The study.
    pub(crate) study: Study,
    /// One for each of its experiments.
    pub(crate) parts: Vec<Part>,
    /// Runs a kernel.
    pub(crate) seeds: u64,
}

/// What one experiment takes.
#[derive(Debug)]
pub(crate) struct Part {
    /// The machine.
    pub(crate) machine: Arc<Machine>,
    /// The kernels: without the change, and with it if there is one.
    pub(crate) kernels: Vec<Kernel>,
    /// For each seed.
    workloads: Vec<(Arc<Workload>, Arc<Vec<Program>>)>,
}

impl Plan {
    /// Reads what the study names. A study that comes along has no errors: a test reads them all.
    pub(crate) fn of(study: Study, seeds: u64) -> Result<Plan, Error> {
        let mut parts = Vec::new();
        for experiment in &study.experiments {
            let at =
                |error: Error| error.within(&format!("study {}, {}", study.name, experiment.name));
            let machine = Machine::load(&experiment.machine).map_err(|e| at(e.into()))?;
            let base = kernel_spec::base(&experiment.base, machine.nr_cpus()).map_err(at)?;
            let with = { experiment.with.as_ref() }
                .map(|with| kernel_spec::with(with, &base, machine.nr_cpus()))
                .transpose()
                .map_err(at)?;
            let mut workloads = Vec::new();
            for seed in 1..=seeds {
                workloads.push(workload(&study, &experiment.workload, seed).map_err(at)?);
            }
            parts.push(Part {
                machine: Arc::new(machine),
                kernels: [Some(base), with].into_iter().flatten().collect(),
                workloads,
            });
        }
        let plan = Plan {
            study,
            parts,
            seeds,
        };
        plan.check()?;
        Ok(plan)
    }

    /// All metrics are known, and all workloads fit the machines.
    fn check(&self) -> Result<(), Error> {
        for (part, experiment) in self.parts.iter().zip(&self.study.experiments) {
            let at = format!("study {}, {}", self.study.name, experiment.name);
            for row in &experiment.rows {
                for name in [Some(&row.metric), row.against.as_ref()]
                    .into_iter()
                    .flatten()
                {
                    if find_metric(name, &part.workloads[0].1, &part.workloads[0].0.guests)
                        .is_none()
                    {
                        return Err(Error::input(format!("{at}: no metric {name}")));
                    }
                }
            }
        }
        for experiment in self.experiments() {
            experiment.simulation()?;
        }
        Ok(())
    }

    /// The runs. Seeds change slowest, so that what is done when Ctrl-C comes has all experiments.
    pub(crate) fn experiments(&self) -> Vec<Experiment> {
        self.experiments_on(Arc::clone)
    }

    /// The runs with one constant of each machine changed.
    pub(crate) fn experiments_with(&self, constant: &str, times: (u64, u64)) -> Vec<Experiment> {
        self.experiments_on(|machine| {
            Arc::new(Machine::clone(machine).with_constant_times(constant, times))
        })
    }

    fn experiments_on(&self, machine: impl Fn(&Arc<Machine>) -> Arc<Machine>) -> Vec<Experiment> {
        let machines: Vec<Arc<Machine>> = { self.parts.iter() }
            .map(|part| machine(&part.machine))
            .collect();
        let mut experiments = Vec::new();
        for seed in 1..=self.seeds {
            for ((part, machine), experiment) in self
                .parts
                .iter()
                .zip(&machines)
                .zip(&self.study.experiments)
            {
                let (workload, programs) = &part.workloads[seed as usize - 1];
                for kernel in &part.kernels {
                    experiments.push(Experiment {
                        label: format!(
                            "{}, {}, {}, seed {seed}",
                            self.study.name, experiment.name, kernel.label
                        ),
                        workload: Arc::clone(workload),
                        programs: Arc::clone(programs),
                        machine: Arc::clone(machine),
                        profile: kernel.choice.profile.clone(),
                        duration: None,
                        seed,
                    });
                }
            }
        }
        experiments
    }

    /// Judges the rows of each experiment, of runs in the order of [`experiments`](Self::experiments).
    pub(crate) fn judge(&self, runs: &[Option<Run>]) -> Vec<Vec<Judged>> {
        // [nr_parts][nr_kernels][runs]
        let mut of_parts: Vec<Vec<Vec<&Run>>> = { self.parts.iter() }
            .map(|part| vec![Vec::new(); part.kernels.len()])
            .collect();
        let mut runs = runs.iter();
        for _ in 0..self.seeds {
            for of_kernel in of_parts.iter_mut().flatten() {
                of_kernel.extend(runs.next().into_iter().flatten());
            }
        }
        let judge = |((part, experiment), of_kernels): ((&Part, _), &Vec<Vec<&Run>>)| {
            let with = of_kernels.get(1).map_or(&[][..], Vec::as_slice);
            let metric =
                |name: &str| find_metric(name, &part.workloads[0].1, &part.workloads[0].0.guests);
            judge_rows(experiment, metric, &of_kernels[0], with)
        };
        let parts = self.parts.iter().zip(&self.study.experiments);
        parts.zip(&of_parts).map(judge).collect()
    }

    /// Constants that some machine of the study has.
    pub(crate) fn constants(&self) -> Vec<&'static str> {
        let mut constants = Vec::new();
        for constant in self.parts.iter().flat_map(|part| part.machine.constants()) {
            if !constants.contains(&constant) {
                constants.push(constant);
            }
        }
        constants
    }
}

type Read = (Arc<Workload>, Arc<Vec<Program>>);

fn workload(study: &Study, name: &str, seed: u64) -> Result<Read, Error> {
    let text = &study.workloads[name];
    let file = text.rt_app(seed).map_err(Error::input)?;
    let file = file.map(|text| parse(&text, name)).transpose()?;
    let mut made = Vec::new();
    for spec in &text.programs {
        made.push(programs::parse(spec)?);
    }
    let (workload, programs) = programs::join(file, made);
    Ok((Arc::new(workload), Arc::new(programs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_lab::study::studies;

    #[test]
    fn every_study_that_comes_along_can_be_run() {
        for study in studies() {
            let name = study.name.clone();
            let plan = Plan::of(study, 2).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let kernels: usize = plan.parts.iter().map(|part| part.kernels.len()).sum();
            assert_eq!(plan.experiments().len(), 2 * kernels);
        }
    }

    /// What is drawn differs from seed to seed, and is the same under both kernels.
    #[test]
    fn a_seed_s_workload_is_that_of_both_kernels() {
        let study = fairwind_lab::study::study("bandwidth-timers").unwrap();
        let plan = Plan::of(study, 2).unwrap();
        let two_groups = 1;
        let per_seed: usize = plan.parts.iter().map(|part| part.kernels.len()).sum();
        let experiments = plan.experiments();
        let workload = |seed: usize, kernel: usize| {
            &experiments[seed * per_seed + 2 * two_groups + kernel].workload
        };
        assert_eq!(workload(0, 0), workload(0, 1));
        assert_ne!(workload(0, 0), workload(1, 0));
    }
}
