//! `fairwind compare`: workloads under several kernels, with several seeds.
//!
//! Model.       A plan is made of the command line; its runs are done on all cores; they are put together into rows, one
//!              for each workload, load and metric, with a cell for each kernel; these become tables, JSON or CSV.
//! Invariants.  A command that is refused runs nothing and leaves nothing behind. One that is interrupted prints what is
//!              done.

mod amd;
mod args;
mod csv;
#[cfg(test)]
mod example;
mod intel;
mod json;
pub(crate) mod kernel_spec;
mod markdown;
pub(crate) mod number;
mod plain;
mod plan;
mod results;
mod subject;

pub(crate) use args::CompareArgs;

use crate::args::CostSet;
use crate::error::Error;
use crate::interrupt::{self, INTERRUPTED};
use crate::run::stuck;
use crate::{duration, output, runs};
use args::{Form, Style};
use fairwind_lab::{Metric, Run};
use plan::Plan;
use results::{Block, Results, Row};
use std::process::ExitCode;
use std::sync::Arc;

/// Carries out `fairwind compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode, Error> {
    let plan = Plan::of(args)?;
    if args.style.is_some() && args.format != Form::Table {
        output::warning("--style has no effect: it is for --format table");
    }
    interrupt::watch()?;
    let store = args.resume.as_deref().map(runs::store).transpose()?;
    let runs = runs::run(&plan.experiments, args.jobs, store.as_ref())?;
    let interrupted = runs.iter().any(Option::is_none);
    warn_of_stuck(&plan, &runs);
    let results = Results {
        blocks: blocks(&plan, &runs, args.seeds as usize),
        machine: Arc::unwrap_or_clone(plan.machine),
        kernels: plan.kernels,
        settings: settings(args),
        seeds: (args.seed, args.seeds),
        interrupted,
    };
    match args.format {
        Form::Table => output::print(&match args.style.unwrap_or(Style::Plain) {
            Style::Plain => plain::render(&results),
            Style::Intel => intel::render(&results),
            Style::Amd => amd::render(&results),
            Style::Markdown => markdown::render(&results),
        })?,
        Form::Json => output::print_raw(json::render(&results)?.as_bytes())?,
        Form::Csv => output::print_raw(&csv::render(&results)?)?,
    }
    if interrupted {
        output::note("interrupted: these are the runs that were done");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for beside kernels and machine.
fn settings(args: &CompareArgs) -> Vec<String> {
    let duration = { args.duration }.map(|d| format!("duration={}", duration::format_round(d)));
    let costs = (args.costs == CostSet::None).then(|| "costs=none".to_string());
    duration.into_iter().chain(costs).collect()
}

fn warn_of_stuck(plan: &Plan, runs: &[Option<Run>]) {
    let mut last = None;
    for (experiment, run) in plan.experiments.iter().zip(runs) {
        let since = run.as_ref().and_then(|run| run.stuck_since);
        if let Some(since) = since {
            last = Some(format!("{}: {}", experiment.label, stuck(since)));
        }
    }
    if let Some(what) = last {
        output::warning(&format!("{what}; --duration bounds the runs"));
    }
}

/// Rows of one workload and one metric make a block.
fn blocks(plan: &Plan, runs: &[Option<Run>], seeds: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let first_of = |case: usize| {
        plan.cases[..case]
            .iter()
            .all(|c| c.name != plan.cases[case].name)
    };
    for first in (0..plan.cases.len()).filter(|&case| first_of(case)) {
        let name = &plan.cases[first].name;
        let loads = (first..plan.cases.len()).take_while(|&case| plan.cases[case].name == *name);
        for metric in &plan.cases[first].metrics {
            let row = |case| row(plan, runs, seeds, case, metric);
            blocks.push(Block {
                workload: name.clone(),
                metric: metric.clone(),
                rows: loads.clone().map(row).collect(),
            });
        }
    }
    blocks
}

fn row(plan: &Plan, runs: &[Option<Run>], seeds: usize, case: usize, metric: &Metric) -> Row {
    let of_kernel = |kernel: usize| {
        (0..seeds)
            .filter_map(|nth| runs[plan.experiment(case, kernel, nth)].as_ref())
            .collect()
    };
    let of_case: Vec<Vec<&Run>> = (0..plan.kernels.len()).map(of_kernel).collect();
    Row::of(plan.cases[case].load.clone(), metric, &of_case)
}
