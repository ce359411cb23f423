//! The command line of `fairwind bench`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Measure how fast Fairwind simulates on this machine.
///
/// Does fixed jobs, one at a time on one core, each several times in a process of its own, and prints the medians. The
/// jobs are the same everywhere; only the times differ.
#[derive(Args, Debug)]
#[command(after_long_help = BENCH_HELP)]
pub(crate) struct BenchArgs {
    /// Jobs to do; without any, all
    #[arg(value_name = "JOB", value_hint = ValueHint::Other)]
    pub(crate) jobs: Vec<String>,

    /// How often each job is timed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,

    /// Results of an earlier run (--format json) to compare with, as ratios
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Option<PathBuf>,

    /// Form of the results
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = BenchFormat::Table)]
    pub(crate) format: BenchFormat,

    /// Do one part of one job in this process, and print what it took: what the command calls itself with.
    #[arg(long, value_name = "PART", value_enum, hide = true)]
    pub(crate) part: Option<Part>,
}

/// What one process does of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Part {
    /// All of it, timed
    Time,
    /// All of it for a short time, for its memory
    Memory,
    /// Its small size
    Once,
    /// Its small size for three times as long
    Thrice,
}

/// Form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchFormat {
    /// For people
    Table,
    /// Everything (docs/performance.md)
    Json,
    /// A line for each job
    Csv,
}

const BENCH_HELP: &str = "\
Columns:
  M events/s    wakeups and switches (to idle included) a second of CPU time; ticks are not counted
  of bound      the same as a part of what a bare event queue can do with as many events waiting
  sim s/s       simulated seconds a second of CPU time
  instr/event   instructions per event, counted by 'perf stat' or else by valgrind, in a small size of the job
  start s       CPU time until every task had started
  B/task B/CPU  memory that a task and a CPU add
  peak MiB      the most memory of the process

Exit codes:
  0  all went well
  1  the system failed: a process could not be started, or output could not be written
  2  a job or the --baseline is wrong; nothing was run";
