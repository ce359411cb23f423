//! `fairwind bench`: how fast the simulation is.
//!
//! Model.       Each part of each job is done by this same command in a process of its own, one after the other, so that no
//!              part finds memory or caches as another left them. Medians are printed, after Ctrl-C those of the jobs
//!              that were done.
//! Not here.    The jobs, and what is measured inside a process (see `lab`).

mod args;
mod count;
mod csv;
mod process;
mod results;
mod table;

pub(crate) use args::BenchArgs;

use crate::error::Error;
use crate::interrupt::{self, INTERRUPTED};
use crate::output;
use crate::suggest::nearest;
use args::{BenchFormat, Part};
use count::Counter;
use fairwind_lab::bench::{Bound, JOBS, Job, Once, Size, footprint, hold_ops_per_s, once};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use results::{JobResults, Results};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// Carries out `fairwind bench`.
pub(crate) fn bench(args: &BenchArgs) -> Result<ExitCode, Error> {
    let jobs = if args.jobs.is_empty() {
        JOBS.iter().collect()
    } else {
        args.jobs
            .iter()
            .map(|name| find(name))
            .collect::<Result<Vec<_>, _>>()?
    };
    if let Some(part) = args.part {
        for job in jobs {
            do_part(job, part)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let baseline = args.baseline.as_deref().map(results::read).transpose()?;
    let counter = Counter::of_this_machine();
    if counter.is_none() {
        output::note(
            "instructions are not counted: this needs hardware counters and perf, or valgrind",
        );
    }
    interrupt::watch()?;
    let progress = progress(jobs.len());
    let mut results = Results::new(Bound::measure(), counter);
    for job in &jobs {
        if interrupt::asked() {
            break;
        }
        progress.set_message(job.name);
        match measure(job, args.runs, counter) {
            Ok(measured) => results.jobs.push(measured),
            // Ctrl-C ends the process that does the part, too.
            Err(_) if interrupt::asked() => break,
            Err(error) => return Err(error),
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let interrupted = results.jobs.len() < jobs.len();
    if interrupted {
        output::note("interrupted: these are the jobs that were done");
    }
    match args.format {
        BenchFormat::Table => output::print(&table::render(&results, baseline.as_ref()))?,
        BenchFormat::Json => output::print_raw(json(&results)?.as_bytes())?,
        BenchFormat::Csv => output::print_raw(&csv::render(&results)?)?,
    }
    Ok(if interrupted {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

fn progress(jobs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len} jobs, {msg}, {elapsed}")
        .expect("the template is well-formed")
        .progress_chars("=> ");
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

fn find(name: &str) -> Result<&'static Job, Error> {
    if let Some(job) = Job::find(name) {
        return Ok(job);
    }
    let failure = Error::input(format!("job {name}: there is none of that name"));
    let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
    Err(match nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    }
    .hint(format!("jobs are {}", names.join(", "))))
}

/// What a process of its own does.
fn do_part(job: &Job, part: Part) -> Result<(), Error> {
    let thrice = Size {
        measured: 3 * job.small.measured,
        ..job.small
    };
    match part {
        Part::Time => tell(&once(job, job.full)),
        Part::Memory => tell(&footprint(job, job.full)),
        Part::Once => tell(&once(job, job.small)),
        Part::Thrice => tell(&once(job, thrice)),
    }
}

fn tell(result: &impl Serialize) -> Result<(), Error> {
    output::print_raw(json(result)?.as_bytes())
}

fn json(what: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(what)
        .map_err(|error| Error::failed(format!("cannot make the JSON: {error}")))?;
    Ok(text + "\n")
}

fn measure(job: &Job, runs: u32, counter: Option<Counter>) -> Result<JobResults, Error> {
    let mut timed: Vec<Once> = (0..runs)
        .map(|_| process::part(job, "time"))
        .collect::<Result<_, _>>()?;
    timed.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    let median = timed[timed.len() / 2];
    let memory = process::part(job, "memory")?;
    let instructions = match counter {
        Some(counter) => Some(counter.instructions_per_event(job)?),
        None => None,
    };
    let hold = hold_ops_per_s(median.pending);
    Ok(JobResults::new(job, &median, memory, instructions, hold))
}
