//! The command line of `fairwind compare`.

use crate::args::{CostSet, DEFAULT_MACHINE};
use crate::duration;
use clap::{Args, ValueEnum, ValueHint};
use fairwind_sched::Nanos;
use std::num::NonZero;
use std::path::PathBuf;

/// Compare kernels: which differences are there, and which are noise.
///
/// Runs each workload under the base kernel and under each --with, with several seeds, on all cores. Prints mean and
/// standard deviation of each metric, the change in percent of the base, its 95 % interval, and whether it is more than
/// chance (Welch's t test). Results depend neither on the number of cores nor on the order of the runs. Ctrl-C prints
/// what is done.
#[derive(Args, Debug)]
#[command(after_help = "'fairwind compare --help' tells more.", after_long_help = HELP)]
pub(crate) struct CompareArgs {
    /// Workloads to run, each by itself: rt-app JSON files or programs; - is standard input
    ///
    /// A program is one of 'fairwind program list', with parameters: hackbench:groups=4,ipc=pipe. What is joined with +
    /// runs together: hackbench+background.json.
    #[arg(required = true, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) workloads: Vec<String>,

    /// Run each workload at these loads: 60,120,180,240
    ///
    /// A load is put into the parameter that says how much a program does (pairs of netperf, groups of hackbench: see
    /// 'fairwind program show'), if its specification leaves that open.
    #[arg(short, long = "load", value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) loads: Vec<u64>,

    /// Machine: a preset, a shorthand such as 2x4x2, a file, or host; as of 'fairwind run'
    #[arg(short, long, value_name = "M", default_value = DEFAULT_MACHINE, help_heading = "System", value_hint = ValueHint::Other)]
    pub(crate) machine: String,

    /// Kernel to compare with.
    #[arg(
        short,
        long,
        help = "Kernel to compare with: KERNEL[,SWITCH]...",
        value_name = "SPEC",
        default_value = "6.12",
        help_heading = "System"
    )]
    pub(crate) base: String,

    /// Kernel to compare; without KERNEL: the base with these switches; may be given several times
    #[arg(
        short,
        long = "with",
        value_name = "SPEC",
        required = true,
        help_heading = "System"
    )]
    pub(crate) with: Vec<String>,

    /// What the scheduler's own work costs: as on the machine, or nothing
    #[arg(long, value_name = "COSTS", value_enum, default_value_t = CostSet::Machine, help_heading = "System")]
    pub(crate) costs: CostSet,

    /// Simulated time after which each run ends: 10s, 500ms; as of 'fairwind run'
    #[arg(short, long, value_name = "D", value_parser = duration::parse, help_heading = "Runs")]
    pub(crate) duration: Option<Nanos>,

    /// Runs of each workload under each kernel, each with a seed of its own
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Runs")]
    pub(crate) seeds: u64,

    /// The first seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 62), help_heading = "Runs")]
    pub(crate) seed: u64,

    /// Keep each run that is done in a file, and do not repeat those that it has
    ///
    /// The file is made if it is not there. Runs of another scenario or of another build of the command are not used;
    /// they stay.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Runs")]
    pub(crate) resume: Option<PathBuf>,

    /// How many runs at once, if not one a core
    #[arg(short, long, value_name = "N", help_heading = "Runs")]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// What to compare: NAME, NAME:TASK or NAME:/GROUP; may be given several times
    ///
    /// Without it, what the programs are run for; of files, throughput or time, wakeup latency, and the time throttled
    /// where groups have limits.
    #[arg(
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    pub(crate) metrics: Vec<String>,

    /// Also compare how wakeups were placed
    #[arg(long, help_heading = "Output")]
    pub(crate) counters: bool,

    /// Style of the tables
    #[arg(long, value_name = "STYLE", value_enum, help_heading = "Output")]
    pub(crate) style: Option<Style>,

    /// Form of the results
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Form::Table, help_heading = "Output")]
    pub(crate) format: Form,
}

/// Style of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Style {
    /// Means, intervals and verdicts (the default)
    Plain,
    /// As Intel's kernel developers mail them: case, load, baseline(std%), compare%(std%)
    Intel,
    /// As AMD's do.
    #[value(help = "As AMD's do: normalised to 1.00, with [pct imp](CV)")]
    Amd,
    /// Markdown
    Markdown,
}

/// Form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Form {
    /// For people
    Table,
    /// Everything, the value of each run included
    Json,
    /// A line for each workload, kernel and metric
    Csv,
}

const HELP: &str = "\
Kernels:
  6.12                             a kernel ('fairwind kernel' lists them)
  6.12,NO_RUN_TO_PARITY            with a feature switched, as --feature of 'fairwind run'
  6.1,migration_cost_ns=100us      with a tunable set, as --set of 'fairwind run'
  NO_RUN_TO_PARITY,hz=1000         in --with: the base, and these
  /web/cpu.max=50000 200000        with a group's file written, as --cgroup of 'fairwind run'

Metrics:
  loops         loops/s     runs of tasks through their phases (default, if the workload has no end)
  elapsed       s           until the last task has ended (default, if all end)
  p50 p99 max   us          wakeup latency (default: p99)
  cpu           % of a CPU  CPU time
  share         %           CPU time, of that of the whole machine
  stall         %           CPU time lost to cold caches
  waited        ms          time tasks could run and had no CPU, added up
  throttled     ms          time tasks waited for quota, added up (default, if a group has a limit)
  nr_throttled              periods in which a group was throttled; of a group only
  wakeups switches migrations ipis  /s
  lock_wait     ms          time CPUs waited for run-queue locks
  energy power  J, W        where the machine's power is known
Most are also there for a task of the workload (p99:client) and for a group (share:/web).
A program has its own: hackbench.time, netperf.trans_rate; netperf#2.trans_rate is the second's.
Of a workload's guests, all together (guests.netperf.trans_rate: the mean of those that run one):
  guest.loops   loops/s     runs of their tasks through their phases (default)
  guest.elapsed s           until the last of their tasks has ended
  guest.run guest.exit  %   vCPUs in guest mode, in the host's kernel; of all the host's CPUs
  guest.steal   %           vCPUs' wait for a CPU, of their time
  guest.spin    ms          spinning for spinlocks, added up
  yield.attempts yield.failed yield.succeeded yield.locked    directed yields

Verdicts:
  better, worse   more than chance at 95 %; higher, lower: where neither is better
  within noise    chance may explain it
  exact           no run differed from another of its kernel: nothing to test
  same            nor from any of the base
  one run         --seeds 1 tells nothing of chance

Examples:
  fairwind compare app.json --with NO_RUN_TO_PARITY
  fairwind compare app.json web.json --base 6.1 --with 6.12 --seeds 10 --metric p99:worker
  fairwind compare app.json --with /web/cpu.max.burst=20000 --with '/web/cpu.max=50000 200000'
  fairwind compare netperf --load 60,120,240 -m spr-2x60 --with NO_SIS_UTIL --style intel

Exit codes:
  0    all went well
  1    the system failed: output or --resume could not be written
  2    the command, a file or a value is wrong; nothing was run
  130  Ctrl-C ended it; what was done until then was printed";
