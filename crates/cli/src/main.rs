//! `fairwind`: the Linux fair scheduler off the kernel, from the command line.
//!
//! Model.       Arguments become typed values, these a simulation, its report a table, JSON or CSV.
//!              Every failure a user can cause is an [`error::Error`], printed here and nowhere
//!              else.
//! Not here.    Scheduling, machines, workloads, measuring and trace formats: the other crates.

mod args;
mod bench;
mod check;
mod compare;
mod duration;
mod error;
mod generate;
mod interrupt;
mod kernel;
mod machine;
mod output;
mod profile;
mod program;
mod run;
mod runs;
mod study;
mod suggest;
mod text_table;
mod workload;

use args::{Cli, Command};
use clap::Parser;
use error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => error.print(),
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Study(args) => study::study(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Check(args) => check::run(&args),
        Command::Workload(args) => workload::run(&args),
        Command::Machine(args) => machine::machine(&args.command),
        Command::Program(args) => program::program(&args.command),
        Command::Kernel(args) => kernel::kernel(&args),
        Command::Completions(args) => generate::completions(args.shell),
        Command::Man(args) => generate::man(args.dir.as_deref()),
    }
}
