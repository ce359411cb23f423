//! `fairwind study`: published experiments, done again.
//!
//! Model.       A study becomes a plan, the plan runs, the runs judged rows; these become tables, Markdown, JSON or CSV. With
//!              `--sensitivity` the same is done on machines of which one constant is halved or doubled.
//! Not here.    The studies, and the rules by which rows are judged: see `lab`.

mod args;
mod csv;
mod json;
mod markdown;
mod plan;
mod sensitivity;
mod show;
mod table;

pub(crate) use args::StudyArgs;

use crate::error::Error;
use crate::interrupt::{self, INTERRUPTED};
use crate::suggest::nearest;
use crate::{output, runs};
use args::{RunStudyArgs, StudyCommand, StudyFormat};
use fairwind_lab::study::{Judged, Study, studies};
use fairwind_lab::{Experiment, Run};
use plan::Plan;
use sensitivity::Sensitivity;
use std::process::ExitCode;

/// What a study came to.
#[derive(Debug)]
pub(crate) struct Done {
    /// What was run.
    pub(crate) plan: Plan,
    /// `[nr_experiments]`: its rows.
    pub(crate) judged: Vec<Vec<Judged>>,
    /// What each constant does to the verdicts.
    pub(crate) sensitivity: Option<Sensitivity>,
    /// Ctrl-C came before the end.
    pub(crate) interrupted: bool,
}

/// Carries out `fairwind study`.
pub(crate) fn study(args: &StudyArgs) -> Result<ExitCode, Error> {
    match &args.command {
        StudyCommand::List => output::print(&show::list())?,
        StudyCommand::Show(args) => output::print(&show::show(&find(&args.study)?))?,
        StudyCommand::Run(args) => return run(args),
    }
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<Study, Error> {
    let mut studies = studies();
    if let Some(at) = studies.iter().position(|study| study.name == name) {
        return Ok(studies.swap_remove(at));
    }
    let names = studies.iter().map(|study| study.name.as_str());
    let failure = Error::input(format!("study {name}: there is none of that name"));
    Err(match nearest(name, names.chain(["all"])) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    }
    .hint("'fairwind study list' describes the studies"))
}

fn run(args: &RunStudyArgs) -> Result<ExitCode, Error> {
    let mut chosen = if args.study == "all" {
        studies()
    } else {
        vec![find(&args.study)?]
    };
    if let Some(only) = &args.only {
        for study in &mut chosen {
            study.experiments.retain(|e| e.name.contains(only.as_str()));
        }
        chosen.retain(|study| !study.experiments.is_empty());
    }
    if chosen.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        let what = format!(
            "--only {only}: no experiment of {} has that in its name",
            args.study
        );
        return Err(Error::input(what).hint("'fairwind study show STUDY' lists the experiments"));
    }
    let mut plans = Vec::new();
    for study in chosen {
        let study = if args.quick { study.quick() } else { study };
        let seeds = args.seeds.unwrap_or(study.seeds);
        plans.push(Plan::of(study, seeds)?);
    }
    interrupt::watch()?;
    let store = args.resume.as_deref().map(runs::store).transpose()?;
    // All studies in one go: between one and the next no core waits for the longest run.
    let experiments: Vec<Experiment> = plans.iter().flat_map(Plan::experiments).collect();
    let mut runs = runs::run(&experiments, args.jobs, store.as_ref())?.into_iter();
    let mut all = Vec::new();
    for plan in plans {
        let runs: Vec<Option<Run>> = runs.by_ref().take(plan.experiments().len()).collect();
        if interrupt::asked() && runs.iter().all(Option::is_none) && !all.is_empty() {
            continue;
        }
        let judged = plan.judge(&runs);
        let sensitivity = args
            .sensitivity
            .then(|| Sensitivity::of(&plan, &judged, args.jobs, store.as_ref()))
            .transpose()?;
        all.push(Done {
            interrupted: interrupt::asked(),
            plan,
            judged,
            sensitivity,
        });
    }
    match args.format {
        StudyFormat::Table => {
            let texts: Vec<String> = all.iter().map(table::render).collect();
            output::print(&texts.join("\n"))?;
        }
        StudyFormat::Markdown => output::print(&markdown::render(&all))?,
        StudyFormat::Json => output::print_raw(json::render(&all)?.as_bytes())?,
        StudyFormat::Csv => output::print_raw(&csv::render(&all)?)?,
    }
    if interrupt::asked() {
        output::note("interrupted: these are the runs that were done");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}
