//! Shell completions and man pages, made from the declaration of the command line.

use crate::args::Cli;
use crate::error::Error;
use crate::output;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fairwind", &mut script);
    output::print_raw(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the man page of the command, or writes the pages of all commands into a folder.
pub(crate) fn man(dir: Option<&Path>) -> Result<ExitCode, Error> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let pages = pages(&command).map_err(|error| Error::failed(format!("man page: {error}")))?;
    match dir {
        None => output::print_raw(&pages[0].1)?,
        Some(dir) => {
            let failed = |path: &Path, error: io::Error| {
                Error::failed(format!("{}: cannot write: {error}", path.display()))
            };
            fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
            for (name, page) in &pages {
                let path = dir.join(name);
                fs::write(&path, page).map_err(|error| failed(&path, error))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// File name and text of the page of a command, then those of its subcommands.
fn pages(command: &Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)?;
    let mut pages = vec![(man.get_filename(), text)];
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages.extend(self::pages(subcommand)?);
    }
    Ok(pages)
}
