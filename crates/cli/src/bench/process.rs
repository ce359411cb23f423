//! A part of a job in a process of its own.

use crate::error::Error;
use fairwind_lab::bench::Job;
use serde::de::DeserializeOwned;
use std::process::{Command, Output};

/// The command that does a part, to be started by `wrapper` if there is one.
pub(super) fn command(job: &Job, part: &str, wrapper: &[&str]) -> Result<Command, Error> {
    let this = std::env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find this program: {error}")))?;
    let mut command = match wrapper {
        [] => Command::new(this),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(this);
            command
        }
    };
    command.args(["bench", "--part", part, job.name]);
    Ok(command)
}

/// Runs it, and reads what it prints.
pub(super) fn result<T: DeserializeOwned>(job: &Job, output: &Output) -> Result<T, Error> {
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.trim();
        Error::failed(format!("job {}: {}: {why}", job.name, output.status))
    })
}

/// Does a part and gives what it measured.
pub(super) fn part<T: DeserializeOwned>(job: &Job, part: &str) -> Result<T, Error> {
    let output = run(&mut command(job, part, &[])?)?;
    result(job, &output)
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<Output, Error> {
    command.output().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        Error::failed(format!("cannot start {program}: {error}"))
    })
}
