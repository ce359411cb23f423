//! The command line: one declaration for parsing, help, completions and man pages.

use crate::bench::BenchArgs;
use crate::check::{CheckFormat, Requirement, cgroup_file, member, requirement};
use crate::compare::CompareArgs;
use crate::duration;
use crate::study::StudyArgs;
use crate::workload::WorkloadArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use fairwind_sched::{Nanos, Release};
use std::path::PathBuf;

/// The machine to run on where none is asked for. A preset, not the host: the same command gives
/// the same result everywhere.
pub(crate) const DEFAULT_MACHINE: &str = "desktop-8";

/// Simulate what the Linux scheduler does with a workload, on any machine.
///
/// Fairwind runs rt-app workloads and models of benchmark programs under the fair scheduler of Linux 6.1 (CFS),
/// 6.12 or 6.18 (EEVDF), with task groups, quotas, wakeup placement, load balancing and virtual machines, on a
/// machine that need not be there. Equal commands print equal results, wherever they run. It also holds the
/// decisions that a real kernel was recorded to take against its own.
#[derive(Parser, Debug)]
#[command(
    name = "fairwind",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "'fairwind COMMAND --help' tells all of a command.",
    after_long_help = TOP_HELP
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const TOP_HELP: &str = "\
Examples:
  fairwind run app.json                        what each task got, on an 8-core desktop
  fairwind run app.json --machine 2x32x2 --kernel 6.1
  fairwind run app.json --feature NO_RUN_TO_PARITY --set base_slice_ns=3ms
  fairwind run app.json --cgroup /web/cpu.max='50000 200000'   with another CPU limit
  fairwind run app.json --trace app.pftrace    and every event, for ui.perfetto.dev
  fairwind run hackbench:groups=4              a benchmark program, and what it prints
  fairwind compare app.json --with 6.1 --with NO_RUN_TO_PARITY   a difference, or noise?
  fairwind check trace.dat                     does a recorded kernel decide as ours?
  fairwind workload trace.dat -o app.json      what its tasks did, to run it elsewhere
  fairwind machine show spr-2x60               a machine as a drawing
  fairwind kernel 6.12                         its features and tunables

Exit codes:
  0    all went well
  1    the system failed: output or trace could not be written
  2    the command, a file or a value is wrong; nothing was written
  130  Ctrl-C ended the run; what was measured until then was printed

Colours are used on a terminal only, and not if NO_COLOR is set.";

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a workload and print what each task, group and CPU got
    Run(RunArgs),
    /// Compare kernels, with statistics over several runs
    Compare(CompareArgs),
    /// Do published experiments again, and judge each row
    Study(StudyArgs),
    /// Hold a recorded kernel's decisions against ours
    Check(CheckArgs),
    /// Turn a recording into a workload that can be run
    Workload(WorkloadArgs),
    /// Measure how fast Fairwind simulates on this machine
    Bench(BenchArgs),
    /// List machines, or show one
    Machine(MachineArgs),
    /// List models of benchmark programs, or show the parameters of one
    Program(ProgramArgs),
    /// Show a kernel's features and tunables
    Kernel(KernelArgs),
    /// Print a script that completes commands in a shell
    #[command(
        after_help = "For example: fairwind completions bash > ~/.local/share/bash-completion/completions/fairwind"
    )]
    Completions(CompletionsArgs),
    /// Print the man page, or write the pages of all commands
    #[command(after_help = "For example: fairwind man --dir ~/.local/share/man/man1")]
    Man(ManArgs),
}

/// Run a workload and print what each task, group and CPU got.
///
/// Simulates the workload on a machine under a kernel's scheduler, and prints per task and per
/// group: CPU time, share, switches, migrations, wakeups, wakeup latency and throttled time; per CPU:
/// busy and idle time and switches. Ctrl-C ends the simulation and prints what was measured so far; a
/// second Ctrl-C ends the command.
#[derive(Args, Debug)]
#[command(after_help = "'fairwind run --help' tells more.", after_long_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// rt-app JSON files or programs that together make the workload; - is standard input
    ///
    /// A program is one of 'fairwind program list', with parameters: hackbench:groups=4,ipc=pipe. Beside
    /// programs the tasks of files run in the background: the run is over when the programs are.
    ///
    /// Tasks follow one another in the order of the files; of a global setting that several files
    /// make, the last one counts. Keys beyond rt-app's ("cgroups", "working_set") are described in
    /// docs/workloads.md.
    #[arg(required = true, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) workloads: Vec<PathBuf>,

    /// Machine: a preset, a shorthand such as 2x4x2, a file, or host
    ///
    /// A preset ('fairwind machine list'); a shorthand SOCKETSxCORESxTHREADS or
    /// SOCKETSxLLCSxCORESxTHREADS; a machine file (.toml), hwloc XML, 'lscpu -J' output or a copy of
    /// sysfs; or 'host', the machine this runs on. WHAT@PRESET takes the costs of a preset. Settings may
    /// follow: ,no_turbo and ,disable=STATE (an idle state).
    #[arg(short, long, value_name = "M", default_value = DEFAULT_MACHINE, help_heading = "System", value_hint = ValueHint::Other)]
    pub(crate) machine: String,

    /// Kernel whose scheduler runs
    #[arg(short, long, value_name = "K", default_value = "6.12", value_parser = release_parser(), help_heading = "System")]
    pub(crate) kernel: Release,

    /// Switch a scheduler feature on (NAME) or off (NO_NAME)
    ///
    /// Names are those of the kernel's debugfs file sched/features, and of changes published for it;
    /// 'fairwind kernel K' lists them.
    /// Give several by repeating the option or with commas; the last one of a feature counts.
    #[arg(
        short,
        long = "feature",
        value_name = "F",
        value_delimiter = ',',
        help_heading = "System"
    )]
    pub(crate) features: Vec<String>,

    /// Set a tunable: base_slice_ns=3000000, base_slice_ns=3ms, hz=1000
    ///
    /// Names are those of the kernel's debugfs and sysctl files; 'fairwind kernel K' lists them. Times
    /// may have a suffix (ns, us, ms, s). Values are used as given, not scaled by the number of CPUs.
    /// base_slice_ns@2=1ms sets a tunable for one level of the group tree (0: the root's queue).
    /// Beside these: hz (ticks a second, 24 to 1200), nohz (0 or 1: idle CPUs stop their tick), irq_time
    /// (0 or 1: time in interrupts is no task's), preempt (none, voluntary, full, or lazy on 6.18) and
    /// uclamp (0 or 1: honour util_min and util_max), which a kernel's configuration decides;
    /// bw_interleave (aligned, tenth, random, even, gap) and bw_period_jitter_pct: when periods of
    /// cpu.max begin; sis_cache_hot_pct: how many idle CPUs SIS_CACHE passes over.
    #[arg(short, long = "set", value_name = "TUNABLE=V", help_heading = "System")]
    pub(crate) settings: Vec<String>,

    /// Set what a group's file says: /web/cpu.max='50000 200000', /web/cpu.weight=200
    ///
    /// Other settings of the group stay as the workload has them. Files are cpu.weight, cpu.weight.nice, cpu.shares,
    /// cpu.max, cpu.max.burst, cpu.idle, cpuset.cpus, cpu.uclamp.min and cpu.uclamp.max. May be given several times.
    #[arg(
        short,
        long = "cgroup",
        value_name = "PATH/FILE=VALUE",
        help_heading = "System"
    )]
    pub(crate) cgroups: Vec<String>,

    /// What the scheduler's own work costs: as on the machine, or nothing
    #[arg(long, value_name = "COSTS", value_enum, default_value_t = CostSet::Machine, help_heading = "System")]
    pub(crate) costs: CostSet,

    /// Simulated time after which the run ends: 10s, 500ms, '1m 30s'
    ///
    /// The workload's own "duration" counts if it is shorter. Without either, a workload that ends runs
    /// to its end, and one that does not for 10 s.
    #[arg(short, long, value_name = "D", value_parser = duration::parse, help_heading = "Run")]
    pub(crate) duration: Option<Nanos>,

    /// Seed of what the kernel draws at random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub(crate) seed: u64,

    /// Write every event to a file: .pftrace, .dat or .txt
    ///
    /// The extension chooses the format: .pftrace (or .perfetto-trace) for Perfetto, .dat for trace-cmd
    /// and KernelShark, .txt for ftrace text. May be given several times. The file appears when the run
    /// is over, also if Ctrl-C ends it.
    #[arg(short, long = "trace", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) traces: Vec<PathBuf>,

    /// Write what the kernel's own files would say into a new folder
    ///
    /// The folder gets proc/schedstat, proc/pressure/cpu, proc/PID/schedstat and proc/PID/sched of each
    /// task, and cpu.stat, cpu.stat.local, cpu.pressure, cpu.weight and cpu.max of each group below
    /// sys/fs/cgroup: the names and formats of the kernel that was simulated. The report then has the
    /// groups' pressure too.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) kernel_files: Option<PathBuf>,

    /// Form of the results
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,

    /// Which table --format csv prints
    #[arg(long, value_name = "TABLE", value_enum, help_heading = "Output")]
    pub(crate) csv_table: Option<CsvTable>,

    /// One line for each task and CPU in the table, however many
    ///
    /// Without it, instances of a task share a line where there are more than 40 tasks, and the CPUs of
    /// an LLC (or of a NUMA node, where there are many LLCs) where there are more than 32 CPUs.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) all: bool,
}

const RUN_HELP: &str = "\
Columns:
  CPU time   time on a CPU          %CPU     the same, in percent of one CPU
  share      in percent of all CPU time of the machine
  vol/invol  switches away because it slept / while it could run
  migr       changes of CPU
  p50 p99 max  from a wakeup until it ran (to 1 %)
  waited     runnable, but not on a CPU
  throttled  waited because its group was out of quota

JSON is described in docs/report.md; it has a version. Names in JSON and CSV end in the unit.

Exit codes:
  0    all went well
  1    the system failed: output or trace could not be written
  2    the command, a file or a value is wrong; nothing was written
  130  Ctrl-C ended the run; what was measured until then was printed";

/// Hold a recorded kernel's decisions against ours, one by one.
///
/// Walks a recording of a real kernel with our scheduler beside it. Wherever the kernel decided, ours
/// is asked the same question with the same history; then it follows the kernel. Printed per measure:
/// how often both agree, and what chance, first come first served and the least virtual runtime would
/// have scored on the same decisions; then what the recording does not tell and what stands in for it.
#[derive(Args, Debug)]
#[command(after_long_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// Recording: a folder with a trace and the kernel's own files, or a trace alone
    ///
    /// A trace is a trace.dat, a perf.data ('perf sched record', 'perf record -a -e sched:*'), ftrace's
    /// text, or the text of 'trace-cmd report -t -l' or 'perf script --ns'. docs/recording.md tells how
    /// to make one.
    #[arg(value_name = "RECORDING", value_hint = ValueHint::AnyPath)]
    pub(crate) recording: PathBuf,

    /// Also print the first N disagreements, each with both sides and its cause
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) explain: usize,

    /// Form of the result
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = CheckFormat::Table)]
    pub(crate) format: CheckFormat,

    /// Fail if a measure agrees on less: pick=99.9
    #[arg(short, long, value_name = "MEASURE=PERCENT", value_parser = requirement)]
    pub(crate) require: Vec<Requirement>,

    /// Kernel that ours behaves like, if not the one the recording tells
    #[arg(short, long, value_name = "K", value_parser = release_parser(), help_heading = FACTS)]
    pub(crate) kernel: Option<Release>,

    /// Machine, if not the one the recording tells; as of 'fairwind run'
    #[arg(short, long, value_name = "M", help_heading = FACTS, value_hint = ValueHint::Other)]
    pub(crate) machine: Option<String>,

    /// Switch a scheduler feature on (NAME) or off (NO_NAME); as of 'fairwind run'
    #[arg(short, long = "feature", value_name = "F", value_delimiter = ',', help_heading = FACTS)]
    pub(crate) features: Vec<String>,

    /// Set a tunable; as of 'fairwind run'
    #[arg(short, long = "set", value_name = "TUNABLE=VALUE", help_heading = FACTS)]
    pub(crate) settings: Vec<String>,

    /// Set what a group's file says: /web/cpu.weight=200, /web/cpu.max='20000 100000'
    ///
    /// The path is from the root group on; files are those of either cgroup version. A group exists from
    /// the start of the recording if no event makes it.
    #[arg(short, long = "cgroup", value_name = "PATH/FILE=VALUE", value_parser = cgroup_file, help_heading = FACTS)]
    pub(crate) cgroups: Vec<String>,

    /// Put a task, by thread id or name, into a group from its first moment on: nginx=/web
    #[arg(long = "member", value_name = "TASK=GROUP", value_parser = member, help_heading = FACTS)]
    pub(crate) members: Vec<(String, String)>,

    /// Folder with the kernel's own files, for a trace that is not in it
    #[arg(long = "files", value_name = "D", help_heading = FACTS, value_hint = ValueHint::DirPath)]
    pub(crate) files: Option<PathBuf>,
}

/// Heading of the options that tell what a recording does not.
const FACTS: &str = "What the recording does not tell";

const CHECK_HELP: &str = "\
Measures:
  state       virtual runtime and deadline where the recording shows them, to the nanosecond
  pick        the next task, of two or more that could run
  preemption  whether a wakeup or a tick asked for a reschedule
  placement   the CPU of a wakeup or a new task
  balance     tasks moved between queues; what only one side moves counts against

Causes of disagreements, each decided by a test on the trace:
  ours          nothing in the trace excuses it
  race          another CPU recorded a change while the decision was taken
  not recorded  it depends on a fact that the recording lacks, which is named

Exit codes:
  0  the recording was read
  1  a --require was not met
  2  the recording or an option is wrong";

/// `fairwind machine`.
#[derive(Args, Debug)]
pub(crate) struct MachineArgs {
    /// What about machines.
    #[command(subcommand)]
    pub(crate) command: MachineCommand,
}

/// What about machines.
#[derive(Subcommand, Debug)]
pub(crate) enum MachineCommand {
    /// List the machines that come with Fairwind
    List,
    /// Draw a machine's topology
    Show(MachineShowArgs),
}

/// `fairwind machine show`.
#[derive(Args, Debug)]
pub(crate) struct MachineShowArgs {
    /// A preset, a shorthand such as 2x4x2, a file, or host
    ///
    /// As --machine of 'fairwind run'.
    #[arg(value_name = "M", value_hint = ValueHint::Other)]
    pub(crate) machine: String,

    /// Also list cache sizes and costs, each with its source
    #[arg(short, long)]
    pub(crate) numbers: bool,
}

/// List models of benchmark programs, or show the parameters of one.
#[derive(Args, Debug)]
pub(crate) struct ProgramArgs {
    /// What about programs.
    #[command(subcommand)]
    pub(crate) command: ProgramCommand,
}

/// What about programs.
#[derive(Subcommand, Debug)]
pub(crate) enum ProgramCommand {
    /// List the programs that can be run
    List,
    /// Show a program's parameters and metrics
    Show(ProgramShowArgs),
}

/// `fairwind program show`.
#[derive(Args, Debug)]
pub(crate) struct ProgramShowArgs {
    /// A program, such as hackbench
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::Other)]
    pub(crate) program: String,
}

/// Show a kernel's features and tunables, by the kernel's names, with their defaults.
#[derive(Args, Debug)]
pub(crate) struct KernelArgs {
    /// Kernel; without it, the kernels are listed
    #[arg(value_name = "K", value_parser = release_parser())]
    pub(crate) kernel: Option<Release>,

    /// Machine for whose number of CPUs times are scaled
    #[arg(short, long, value_name = "M", default_value = DEFAULT_MACHINE, value_hint = ValueHint::Other)]
    pub(crate) machine: String,
}

/// `fairwind completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// `fairwind man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(short, long, value_name = "D", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

/// What the scheduler's own work costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CostSet {
    /// As on the machine
    Machine,
    /// Nothing costs anything: the bare decisions of the scheduler
    None,
}

/// Form of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// Everything (docs/report.md)
    Json,
    /// One table, see --csv-table
    Csv,
}

/// A table as CSV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CsvTable {
    /// One line a task (the default)
    Tasks,
    /// One line a group
    Groups,
    /// One line a CPU
    Cpus,
}

/// Takes `6.12` and the point release that was followed.
fn release_parser() -> impl TypedValueParser<Value = Release> {
    let values = Release::ALL.map(|r| PossibleValue::new(r.name()).alias(r.point_release()));
    PossibleValuesParser::new(values)
        .map(|name| Release::parse(&name).expect("only names of releases pass"))
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }
}
