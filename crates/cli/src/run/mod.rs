//! `fairwind run`: a workload on a machine under a kernel, and what it measured.
//!
//! Model.       Everything a user can get wrong is looked at before the run begins; then traces are
//!              opened, the simulation is driven to its end or to Ctrl-C, traces are completed, and
//!              the results are printed.
//! Invariants.  A run that is refused leaves nothing behind. One that is interrupted prints what it
//!              measured and completes its traces.

mod csv;
mod drive;
pub(crate) mod input;
mod json;
mod kernel_files;
mod progress;
mod results;
mod table;
mod traces;

pub(crate) use drive::{no_end, stuck};

use crate::args::{CostSet, CsvTable, Format, RunArgs};
use crate::error::Error;
use crate::interrupt::{self, INTERRUPTED};
use crate::{output, profile};
use fairwind_lab::Ending;
use fairwind_machine::{Costs, Machine};
use fairwind_sim::{Config, Simulation};
use fairwind_trace::Header;
use results::{GuestResult, ProgramResult, Results};
use std::process::ExitCode;

/// Carries out `fairwind run`.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Error> {
    let mut machine = Machine::load(&args.machine)?;
    let nr_cpus = machine.nr_cpus();
    let mut choice = profile::choose(args.kernel, nr_cpus, &args.features, &args.settings)?;
    if args.costs == CostSet::None {
        machine = machine.with_costs(Costs::none());
        choice.settings.push("costs=none".to_string());
    }
    for note in &machine.notes {
        output::note(&format!("machine {}: {note}", machine.name));
    }
    let (mut workload, programs) = input::read(&args.workloads)?;
    for file in &args.cgroups {
        let written = workload.write_group_file(file);
        written.map_err(|error| Error::input(error).within(&format!("--cgroup {file}")))?;
    }
    choice.settings.extend(args.cgroups.iter().cloned());
    let warnings = workload.warnings.iter().map(ToString::to_string);
    for warning in profile::warnings(&choice)
        .chain(idle_options(args))
        .chain(warnings)
    {
        output::warning(&warning);
    }

    let header = Header {
        nr_cpus: nr_cpus as u32,
        kernel: args.kernel.name().to_string(),
        machine: machine.name.clone(),
        hz: choice.profile.hz,
    };
    let (description, places) = (machine.description.clone(), machine.topology.cpus.clone());
    let config = Config {
        machine,
        profile: choice.profile,
        duration: args.duration,
        seed: args.seed,
    };
    let guest_programs: Vec<_> = workload.guests.iter().map(|g| g.programs()).collect();
    let mut simulation = Simulation::new(config, workload)?;
    for warning in simulation.warnings() {
        output::warning(warning);
    }
    let kernel_files = args.kernel_files.as_deref();
    let kernel_files = kernel_files.map(kernel_files::Folder::create).transpose()?;
    if kernel_files.is_some() {
        simulation.watch_pressure();
    }
    interrupt::watch()?;
    trace(&mut simulation, args, &header)?;
    let ending = drive::drive(&mut simulation);
    simulation.finish().map_err(traces::failed)?;
    if let Some(folder) = kernel_files {
        folder.finish(&simulation.kernel_files())?;
    }

    let report = simulation.report(ending == Ending::Stopped);
    let results = Results {
        guests: GuestResult::all(&simulation, &report.guests, &guest_programs),
        report,
        settings: choice.settings,
        programs: programs
            .iter()
            .map(|p| ProgramResult::of(p, &simulation))
            .collect(),
        specs: simulation.spec_reports(),
        group_tasks: simulation.group_task_reports(),
        release: args.kernel,
        description,
        places,
    };
    print(&results, args)?;
    match ending {
        Ending::Stopped => {
            output::note("interrupted: this is what was measured until then");
            Ok(ExitCode::from(INTERRUPTED))
        }
        Ending::Over | Ending::Stuck { .. } => Ok(ExitCode::SUCCESS),
    }
}

/// Opens the traces that were asked for, those of guests included, and has the simulation write them.
fn trace(simulation: &mut Simulation, args: &RunArgs, host: &Header) -> Result<(), Error> {
    let header = |(name, guest): (&str, &Simulation)| {
        let profile = &guest.sched().profile;
        let header = Header {
            nr_cpus: guest.sched().nr_cpus() as u32,
            kernel: profile.release.name().to_string(),
            machine: name.to_string(),
            hz: profile.hz,
        };
        (name.to_string(), header)
    };
    let guests: Vec<(String, Header)> = simulation.guests().map(header).collect();
    let (sinks, guest_sinks) = traces::open(&args.traces, host, &guests)?;
    if !sinks.is_empty() {
        simulation.trace_to(sinks);
        for (idx, sinks) in guest_sinks.into_iter().enumerate() {
            simulation.trace_guest_to(idx, sinks);
        }
    }
    Ok(())
}

fn print(results: &Results, args: &RunArgs) -> Result<(), Error> {
    match args.format {
        Format::Table => output::print(&table::render(results, args.all)),
        Format::Json => output::print_raw(json::render(results)?.as_bytes()),
        Format::Csv => {
            let table = args.csv_table.unwrap_or(CsvTable::Tasks);
            output::print_raw(&csv::render(results, table)?)
        }
    }
}

/// Options that were given and do nothing.
fn idle_options(args: &RunArgs) -> Vec<String> {
    let mut idle = Vec::new();
    if args.csv_table.is_some() && args.format != Format::Csv {
        idle.push("--csv-table has no effect without --format csv".to_string());
    }
    if args.all && args.format != Format::Table {
        idle.push("--all has no effect: JSON and CSV list everything".to_string());
    }
    idle
}
