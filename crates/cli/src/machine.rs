//! `fairwind machine`: what machines there are, and what one looks like.

use crate::args::{MachineCommand, MachineShowArgs};
use crate::error::Error;
use crate::output::{self, HEADING};
use crate::text_table::Columns;
use fairwind_machine::{Machine, draw, preset_list};
use std::fmt::Write;
use std::process::ExitCode;

const OTHERS: &str = "
Others:
  2x4x2            sockets x cores x threads
  2x8x8x2          sockets x LLCs x cores of an LLC x threads
  2x2x4x8x2        sockets x NUMA nodes x LLCs of a node x cores of an LLC x threads
  FILE             a machine file (.toml), hwloc XML (lstopo box.xml), 'lscpu -J -e' output, a copy of sysfs
  host             the machine this runs on
  WHAT@PRESET      WHAT with the costs of PRESET
  WHAT,no_turbo    WHAT at its base frequency
  WHAT,disable=C6  WHAT without an idle state
";

/// Carries out `fairwind machine`.
pub(crate) fn machine(command: &MachineCommand) -> Result<ExitCode, Error> {
    let text = match command {
        MachineCommand::List => list(),
        MachineCommand::Show(args) => show(args)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let presets = preset_list();
    let table = Columns::of(&presets)
        .text("machine", |preset| preset.name.to_string())
        .number("CPUs", |preset| preset.nr_cpus.to_string())
        .text("description", |preset| preset.description.clone());
    table.layout() + OTHERS
}

fn show(args: &MachineShowArgs) -> Result<String, Error> {
    let machine = Machine::load(&args.machine)?;
    let mut text = draw(&machine);
    if args.numbers {
        _ = writeln!(text, "\n{HEADING}Numbers{HEADING:#}");
        let rows = machine.summary();
        let table = Columns::of(&rows)
            .text("name", |row| row.name.clone())
            .text("value", |row| row.value.clone())
            .text("unit", |row| row.unit.to_string())
            .text("source", |row| row.source.clone());
        text.push_str(&table.layout());
    }
    Ok(text)
}
