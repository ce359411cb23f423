//! The command line of `fairwind study`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

/// Do published experiments again, and hold the results against what was published.
#[derive(Args, Debug)]
pub(crate) struct StudyArgs {
    /// What about studies.
    #[command(subcommand)]
    pub(crate) command: StudyCommand,
}

/// What about studies.
#[derive(Subcommand, Debug)]
pub(crate) enum StudyCommand {
    /// List the studies that come with Fairwind
    List,
    /// Show a study: what is run, what was published, and how the kernel and machine were chosen
    Show(ShowArgs),
    /// Run a study and judge each published row
    Run(RunStudyArgs),
}

/// `fairwind study show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// A study of 'fairwind study list'
    #[arg(value_name = "STUDY", value_hint = ValueHint::Other)]
    pub(crate) study: String,
}

/// Run a study and judge each published row.
///
/// Each experiment is run under the kernel without the change and with it, with several seeds. Every row of the
/// published table is printed with ours beside it and a verdict. Ctrl-C prints what is done.
#[derive(Args, Debug)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunStudyArgs {
    /// A study of 'fairwind study list', or all
    #[arg(value_name = "STUDY", value_hint = ValueHint::Other)]
    pub(crate) study: String,

    /// Runs a kernel, if not as many as the study says
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: Option<u64>,

    /// Fewer and shorter runs: a first look; --seeds tells how many all the same
    #[arg(long)]
    pub(crate) quick: bool,

    /// Only the experiments whose names contain this
    #[arg(short, long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) only: Option<String>,

    /// Also halve and double each constant of the machine, and tell which verdicts change
    #[arg(long)]
    pub(crate) sensitivity: bool,

    /// Keep each run that is done in a file, and do not repeat those that it has
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) resume: Option<PathBuf>,

    /// How many runs at once, if not one a core
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Form of the results
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = StudyFormat::Table)]
    pub(crate) format: StudyFormat,
}

/// Form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StudyFormat {
    /// For people
    Table,
    /// A table a study: published, ours, verdict
    Markdown,
    /// Everything (docs/studies.md)
    Json,
    /// A line for each published row
    Csv,
}

const RUN_HELP: &str = "\
Changes are in percent of the kernel without the change; positive is better (more, where neither is).

Verdicts:
  reproduced      same sign and within 25 % of the published change, or both within noise
  direction only  same sign
  not reproduced  neither
  not measured    no run is done, or none measured it

Exit codes:
  0    all went well, whatever the verdicts
  1    the system failed: output or --resume could not be written
  2    the command or a value is wrong; nothing was run
  130  Ctrl-C ended it; what was done until then was printed";
