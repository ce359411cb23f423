//! From the command line to what is to be run and what is to be compared.
//!
//! Invariants.  Everything that can be wrong is found here, before the first run.

use super::args::CompareArgs;
use super::kernel_spec::{self, Kernel};
use super::subject;
use crate::args::CostSet;
use crate::error::Error;
use crate::output;
use crate::run::no_end;
use crate::suggest::nearest;
use fairwind_lab::{
    Better, COUNTERS, Experiment, GUEST_METRICS, METRICS, Metric, end_of, find_metric,
    program_metrics,
};
use fairwind_machine::{Costs, Machine};
use fairwind_sim::Simulation;
use fairwind_workload::programs::Program;
use fairwind_workload::{GuestSpec, Workload};
use std::sync::Arc;

/// One workload at one load.
#[derive(Debug)]
pub(crate) struct Case {
    /// The workload's name.
    pub(crate) name: String,
    /// How much of it, as in `60-pairs`; none: as it is.
    pub(crate) load: Option<String>,
    /// What to compare.
    pub(crate) metrics: Vec<Metric>,
    /// `[kernel]`: the workload, its groups' files written as that says.
    workloads: Vec<Arc<Workload>>,
    programs: Arc<Vec<Program>>,
}

/// What is to be run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The machine.
    pub(crate) machine: Arc<Machine>,
    /// The kernels, the base first.
    pub(crate) kernels: Vec<Kernel>,
    /// The workloads; the loads of one follow one another.
    pub(crate) cases: Vec<Case>,
    /// The runs. Seeds change slowest, so that what is done when Ctrl-C comes has all kernels.
    pub(crate) experiments: Vec<Experiment>,
}

impl Plan {
    /// Reads and checks everything.
    pub(crate) fn of(args: &CompareArgs) -> Result<Plan, Error> {
        let mut machine = Machine::load(&args.machine)?;
        for note in &machine.notes {
            output::note(&format!("machine {}: {note}", machine.name));
        }
        if args.costs == CostSet::None {
            machine = machine.with_costs(Costs::none());
        }
        let kernels = kernels(args, machine.nr_cpus())?;
        let asked = metrics(args);
        let cases = cases(args, &asked, &kernels)?;
        let mut plan = Plan {
            machine: Arc::new(machine),
            kernels,
            cases,
            experiments: Vec::new(),
        };
        plan.experiments = plan.experiments(args);
        plan.try_out(asked.is_empty())?;
        if args.counters {
            let counters = || COUNTERS.iter().filter_map(|c| Metric::parse(c.name).ok());
            for case in &mut plan.cases {
                case.metrics.extend(counters());
            }
        }
        Ok(plan)
    }

    /// Where the run of a case under a kernel with the `nth` seed stands among the experiments.
    pub(crate) fn experiment(&self, case: usize, kernel: usize, nth: usize) -> usize {
        (nth * self.cases.len() + case) * self.kernels.len() + kernel
    }

    fn experiments(&self, args: &CompareArgs) -> Vec<Experiment> {
        let mut experiments = Vec::new();
        for seed in args.seed..args.seed + args.seeds {
            for case in &self.cases {
                for (kernel, workload) in self.kernels.iter().zip(&case.workloads) {
                    let load = case.load.as_deref().unwrap_or("as it is");
                    experiments.push(Experiment {
                        label: format!("{} {load}, {}, seed {seed}", case.name, kernel.label),
                        workload: Arc::clone(workload),
                        programs: Arc::clone(&case.programs),
                        machine: Arc::clone(&self.machine),
                        profile: kernel.choice.profile.clone(),
                        duration: args.duration,
                        seed,
                    });
                }
            }
        }
        experiments
    }

    /// Puts each workload on the machine once, and again with other settings of its groups; tells what it asks for and does not get. Chooses metrics where none were
    /// asked for.
    fn try_out(&mut self, choose: bool) -> Result<(), Error> {
        let mut told = Vec::new();
        let mut tell = |what: String| {
            if !told.contains(&what) {
                output::warning(&what);
                told.push(what);
            }
        };
        let mut endless = false;
        for case in 0..self.cases.len() {
            let simulation = self.experiments[self.experiment(case, 0, 0)].simulation()?;
            for warning in simulation.warnings() {
                tell(format!("{}: {warning}", self.cases[case].name));
            }
            if choose {
                let programs = Arc::clone(&self.cases[case].programs);
                let limited = self.cases[case].workloads.iter().any(|w| has_limits(w));
                let guests = &self.cases[case].workloads[0].guests;
                let metrics = default_metrics(&simulation, &programs, guests, limited);
                self.cases[case].metrics = metrics;
            }
            endless |= end_of(&simulation) != simulation.end();
            for (kernel, _) in { self.kernels.iter().enumerate().skip(1) }
                .filter(|(_, kernel)| !kernel.group_files.is_empty())
            {
                self.experiments[self.experiment(case, kernel, 0)].simulation()?;
            }
        }
        if endless {
            output::note(&no_end());
        }
        Ok(())
    }
}

fn kernels(args: &CompareArgs, nr_cpus: usize) -> Result<Vec<Kernel>, Error> {
    let base = kernel_spec::base(&args.base, nr_cpus)?;
    let mut kernels = vec![base];
    for spec in &args.with {
        let kernel = kernel_spec::with(spec, &kernels[0], nr_cpus)?;
        if kernels[1..].iter().any(|other| other.label == *spec) {
            return Err(Error::input(format!("--with {spec}: given twice")));
        }
        kernels.push(kernel);
    }
    let mut told = Vec::new();
    for warning in { kernels.iter() }.flat_map(|kernel| crate::profile::warnings(&kernel.choice)) {
        if !told.contains(&warning) {
            output::warning(&warning);
            told.push(warning);
        }
    }
    Ok(kernels)
}

/// The metrics that were asked for by name; whether a program has one is seen later.
fn metrics(args: &CompareArgs) -> Vec<Metric> {
    let mut asked: Vec<Metric> = Vec::new();
    for name in &args.metrics {
        let metric = Metric::parse(name).unwrap_or_else(|_| Metric {
            name: name.clone(),
            title: name.clone(),
            unit: String::new(),
            better: Better::Neither,
        });
        if !asked.contains(&metric) {
            asked.push(metric);
        }
    }
    asked
}

/// A workload under each kernel.
fn under(kernels: &[Kernel], name: &str, workload: &Workload) -> Result<Vec<Arc<Workload>>, Error> {
    let plain = Arc::new(workload.clone());
    let under = |kernel: &Kernel| {
        if kernel.group_files.is_empty() {
            return Ok(Arc::clone(&plain));
        }
        let mut workload = workload.clone();
        for file in &kernel.group_files {
            let written = workload.write_group_file(file);
            written.map_err(|error| Error::input(error).within(&format!("{file} of {name}")))?;
        }
        Ok(Arc::new(workload))
    };
    kernels.iter().map(under).collect()
}

fn cases(args: &CompareArgs, asked: &[Metric], kernels: &[Kernel]) -> Result<Vec<Case>, Error> {
    let mut cases: Vec<Case> = Vec::new();
    for text in &args.workloads {
        let subjects = subject::read(text, &args.loads)?;
        let name = &subjects[0].name;
        if cases.iter().any(|case| case.name == *name) {
            let what = format!("WORKLOAD {text}: there is another one called {name}");
            return Err(Error::input(what));
        }
        for subject in subjects {
            let metrics = { asked.iter() }.filter_map(|metric| {
                let guests = &subject.workload.guests;
                let found = find_metric(&metric.name, &subject.programs, guests)?;
                has_part(&subject.workload, metric).then_some(found)
            });
            cases.push(Case {
                metrics: metrics.collect(),
                workloads: under(kernels, &subject.name, &subject.workload)?,
                name: subject.name,
                load: subject.load,
                programs: Arc::new(subject.programs),
            });
        }
    }
    for metric in asked {
        let is_there = |case: &Case| case.metrics.iter().any(|own| own.name == metric.name);
        if !cases.iter().any(is_there) {
            return Err(unknown_metric(metric, &cases));
        }
    }
    Ok(cases)
}

fn part(metric: &Metric) -> Option<&str> {
    metric.name.split_once(':').map(|(_, part)| part)
}

fn parts(workload: &Workload) -> impl Iterator<Item = &str> {
    let tasks = workload.tasks.iter().map(|task| task.name.as_str());
    tasks.chain(workload.groups.iter().skip(1).map(|g| g.path.as_str()))
}

/// Is what a metric is of in the workload: guests, if it is of those, and its part, if it is of one?
fn has_part(workload: &Workload, metric: &Metric) -> bool {
    let of_guests = GUEST_METRICS.iter().any(|info| info.name == metric.name);
    let there = |part| parts(workload).any(|name| name == part);
    (!of_guests || !workload.guests.is_empty()) && part(metric).is_none_or(there)
}

/// How many names a hint lists.
const LISTED: usize = 20;

fn unknown_metric(metric: &Metric, cases: &[Case]) -> Error {
    let name = &metric.name;
    let stem = name.split(':').next().unwrap_or(name);
    let own: Vec<String> = { cases.iter() }
        .flat_map(|case| program_metrics(&case.programs))
        .map(|(metric, _)| metric.name)
        .chain({ cases.iter() }.flat_map(|case| of_programs_in(&case.workloads[0].guests)))
        .collect();
    let guests = cases
        .iter()
        .any(|case| !case.workloads[0].guests.is_empty());
    let of_guests = if guests { GUEST_METRICS } else { &[] };
    let (what, word, known): (_, _, Vec<&str>) = match part(metric) {
        Some(part) if Metric::parse(stem).is_ok() => {
            let known = cases.iter().flat_map(|case| parts(&case.workloads[0]));
            (
                "no workload has such a task or group",
                part,
                known.collect(),
            )
        }
        _ => {
            let general = METRICS.iter().chain(of_guests).chain(COUNTERS);
            let general = general.map(|info| info.name);
            let known = own.iter().map(String::as_str).chain(general);
            ("there is no such metric", stem, known.collect())
        }
    };
    let failure = Error::input(format!("--metric {name}: {what}"));
    let failure = match nearest(word, known.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    };
    let mut names: Vec<&str> = Vec::new();
    for name in known {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // Those that contain the word come first.
    names.sort_by_key(|name| !name.contains(word));
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let listed = names.join(", ");
    failure.hint(match more {
        0 => format!("there are: {listed}"),
        _ => format!("there are: {listed} and {more} more"),
    })
}

fn has_limits(workload: &Workload) -> bool {
    let mut limits = { workload.groups.iter() }.filter_map(|group| group.bandwidth);
    limits.any(|limit| limit.quota_us.is_some())
}

/// What each program in the guests is run for.
fn of_programs_in(guests: &[GuestSpec]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for programs in guests.iter().map(GuestSpec::programs) {
        for metric in run_for(&programs) {
            let name = format!("guests.{}", metric.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The first metric of each program.
fn run_for(programs: &[Program]) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    let mut before = None;
    for (metric, _) in program_metrics(programs) {
        let of = metric.name.split('.').next().map(str::to_string);
        if of != before {
            metrics.push(metric);
        }
        before = of;
    }
    metrics
}

/// What each program is run for, in guests, too; else throughput of a workload that goes on, or time of one that ends, and wakeup
/// latency, and where groups are limited the time that this costs.
fn default_metrics(
    simulation: &Simulation,
    programs: &[Program],
    guests: &[GuestSpec],
    limited: bool,
) -> Vec<Metric> {
    let mut metrics = run_for(programs);
    let inside = of_programs_in(guests);
    let inside = inside.iter().map(String::as_str);
    metrics.extend(inside.filter_map(|name| find_metric(name, &[], guests)));
    if metrics.is_empty() {
        let ends = simulation.end().is_none() && simulation.workload_ends();
        let throughput = if guests.is_empty() {
            vec!["loops"]
        } else {
            vec!["loops", "guest.loops"]
        };
        let first = if ends { vec!["elapsed"] } else { throughput };
        let names = first.into_iter().chain(["p99"]);
        let names = names.chain(limited.then_some("throttled"));
        metrics.extend(names.filter_map(|name| Metric::parse(name).ok()));
    }
    metrics
}
