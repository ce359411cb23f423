//! `fairwind program`: what programs there are, and what parameters one takes.

use crate::args::{ProgramCommand, ProgramShowArgs};
use crate::error::Error;
use crate::output::{self, HEADING};
use crate::suggest::nearest;
use crate::text_table::Columns;
use fairwind_workload::programs::{self, Info, LIST, Param};
use std::fmt::Write;
use std::process::ExitCode;

/// Carries out `fairwind program`.
pub(crate) fn program(command: &ProgramCommand) -> Result<ExitCode, Error> {
    let text = match command {
        ProgramCommand::List => list(),
        ProgramCommand::Show(args) => show(args)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    Columns::of(LIST)
        .text("program", |info| info.name.to_string())
        .text("load", |info| info.load.to_string())
        .text("description", |info| info.about.to_string())
        .layout()
}

fn show(args: &ProgramShowArgs) -> Result<String, Error> {
    let Some(info) = programs::find(&args.program) else {
        return Err(unknown(&args.program));
    };
    let metrics = programs::parse(info.name)?.metrics;
    let mut text = format!("{}: {}\n", info.name, info.about);
    let params: Vec<&Param> = info.params.iter().collect();
    let table = Columns::of(&params)
        .text("parameter", |param| param.name.to_string())
        .text("default", |param| param.default.to_string())
        .text("is", |param| param.kind.to_string())
        .text("meaning", |param| meaning(info, param));
    _ = write!(text, "\n{HEADING}Parameters{HEADING:#}\n{}", table.layout());
    let table = Columns::of(&metrics)
        .text("metric", |metric| metric.name.to_string())
        .text("unit", |metric| metric.unit.to_string())
        .text("better", |metric| {
            let better = if metric.higher_is_better {
                "higher"
            } else {
                "lower"
            };
            better.to_string()
        });
    _ = write!(text, "\n{HEADING}Metrics{HEADING:#}\n{}", table.layout());
    Ok(text)
}

fn meaning(info: &Info, param: &Param) -> String {
    let load = if param.name == info.load {
        "; the load"
    } else {
        ""
    };
    format!("{}{load}", param.help)
}

fn unknown(name: &str) -> Error {
    let failure = Error::input(format!("there is no program '{name}'"));
    match nearest(name, LIST.iter().map(|info| info.name)) {
        Some(near) => failure.hint(format!("did you mean '{near}'?")),
        None => failure.hint("'fairwind program list' names them"),
    }
}
