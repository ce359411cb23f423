//! What a bench came to; also the form of its JSON, which `--baseline` reads.

use super::count::Counter;
use crate::error::Error;
use fairwind_lab::bench::{Bound, Footprint, Job, Once};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Version of the form; grows when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// The results of all jobs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) version: u32,
    /// Model name of the processor.
    pub(crate) processor: String,
    /// How many CPUs this machine has.
    pub(crate) cpus: usize,
    pub(crate) bound: Bound,
    /// What counted instructions; null: nothing did.
    pub(crate) counter: Option<Counter>,
    pub(crate) jobs: Vec<JobResults>,
}

/// The results of a job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct JobResults {
    pub(crate) job: String,
    pub(crate) events_per_s: f64,
    /// `events_per_s` as a part of hold steps a second with as many events waiting.
    pub(crate) of_bound: f64,
    pub(crate) simulated_s_per_s: f64,
    pub(crate) wakeups: u64,
    pub(crate) switches: u64,
    pub(crate) ticks: u64,
    pub(crate) instructions_per_event: Option<f64>,
    pub(crate) start_s: f64,
    pub(crate) bytes_per_task: u64,
    pub(crate) bytes_per_cpu: u64,
    pub(crate) peak_bytes: u64,
}

impl Results {
    /// No results yet.
    pub(crate) fn new(bound: Bound, counter: Option<Counter>) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let model = model.and_then(|line| line.split_once(':'));
        Results {
            version: VERSION,
            processor: model.map_or("unknown", |(_, name)| name.trim()).to_string(),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get()),
            bound,
            counter,
            jobs: Vec::new(),
        }
    }

    /// Those of a job.
    pub(crate) fn of(&self, job: &str) -> Option<&JobResults> {
        self.jobs.iter().find(|results| results.job == job)
    }
}

impl JobResults {
    /// From the median of the timed runs.
    pub(crate) fn new(
        job: &Job,
        timed: &Once,
        memory: Footprint,
        instructions_per_event: Option<f64>,
        hold_ops_per_s: f64,
    ) -> Self {
        let events_per_s = timed.events() as f64 / timed.cpu_s;
        JobResults {
            job: job.name.to_string(),
            events_per_s,
            of_bound: events_per_s / hold_ops_per_s,
            simulated_s_per_s: timed.simulated_s / timed.cpu_s,
            wakeups: timed.wakeups,
            switches: timed.switches,
            ticks: timed.ticks,
            instructions_per_event,
            start_s: timed.start_s,
            bytes_per_task: memory.bytes_per_task,
            bytes_per_cpu: memory.bytes_per_cpu,
            peak_bytes: timed.peak_bytes,
        }
    }
}

/// Reads the results of an earlier run.
pub(crate) fn read(path: &Path) -> Result<Results, Error> {
    let place = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Error::input(format!("{place}: cannot be read: {error}")))?;
    let results: Results = serde_json::from_str(&text).map_err(|error| {
        Error::input(format!("{place}: not results of a bench: {error}"))
            .hint("'fairwind bench --format json > FILE' makes such a file")
    })?;
    if results.version != VERSION {
        let what = format!(
            "{place}: results of version {}, this program reads version {VERSION}",
            results.version
        );
        return Err(Error::input(what).hint("make them again with this program"));
    }
    Ok(results)
}
