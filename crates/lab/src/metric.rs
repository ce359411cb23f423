//! The metrics: name, unit, and which way is better.
//!
//! Model.       Every run has those of [`METRICS`]; `p99` is of the whole run, `p99:web` of the task `web`, `p99:/web` of the
//!              group `/web`. A program has its own besides: `netperf.trans_rate` is what netperf calls Trans. Rate, and
//!              `netperf#2.trans_rate` that of the second netperf of a workload. `guests.netperf.trans_rate` is the mean over
//!              the guests that run one.

use fairwind_workload::GuestSpec;
use fairwind_workload::programs::{self, Program};
use std::fmt;

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// That depends.
    Neither,
}

impl Better {
    /// What turns a change into one for the better; of what is neither, more counts as positive.
    pub fn sign(self) -> f64 {
        match self {
            Better::Higher | Better::Neither => 1.0,
            Better::Lower => -1.0,
        }
    }

    /// As a sentence of a table's head.
    pub fn interpretation(self) -> &'static str {
        match self {
            Better::Higher => "Higher is better",
            Better::Lower => "Lower is better",
            Better::Neither => "Neither is better",
        }
    }
}

/// A row of [`METRICS`].
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; empty: a count.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What it is, one line.
    pub help: &'static str,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    better: Better,
    help: &'static str,
) -> MetricInfo {
    MetricInfo {
        name,
        unit,
        better,
        help,
    }
}

/// Every metric that a run of any workload has.
pub const METRICS: &[MetricInfo] = &[
    metric(
        "loops",
        "loops/s",
        Better::Higher,
        "runs of tasks through their phases",
    ),
    metric(
        "elapsed",
        "s",
        Better::Lower,
        "until the last task has ended, if all end",
    ),
    metric(
        "p50",
        "us",
        Better::Lower,
        "wakeup latency that half of the wakeups stay below",
    ),
    metric(
        "p99",
        "us",
        Better::Lower,
        "wakeup latency that 99 % of the wakeups stay below",
    ),
    metric("max", "us", Better::Lower, "longest wakeup latency"),
    metric("cpu", "% of a CPU", Better::Neither, "CPU time"),
    metric(
        "share",
        "%",
        Better::Neither,
        "CPU time, of that of the whole machine",
    ),
    metric("stall", "%", Better::Lower, "CPU time lost to cold caches"),
    metric(
        "waited",
        "ms",
        Better::Lower,
        "time tasks could run and had no CPU, added up",
    ),
    metric(
        "throttled",
        "ms",
        Better::Lower,
        "time tasks waited for quota, added up",
    ),
    metric(
        "nr_throttled",
        "",
        Better::Lower,
        "periods in which the group was throttled",
    ),
    metric("wakeups", "/s", Better::Neither, "wakeups"),
    metric("switches", "/s", Better::Neither, "context switches"),
    metric("migrations", "/s", Better::Neither, "changes of CPU"),
    metric(
        "migrated",
        "%",
        Better::Neither,
        "wakeups placed on another CPU than the previous one, of those placed",
    ),
    metric("ipis", "/s", Better::Neither, "interrupts from CPU to CPU"),
    metric(
        "lock_wait",
        "ms",
        Better::Lower,
        "time CPUs waited for run-queue locks, added up",
    ),
    metric(
        "energy",
        "J",
        Better::Lower,
        "energy, where the machine's power is known",
    ),
    metric(
        "power",
        "W",
        Better::Lower,
        "mean power, where the machine's power is known",
    ),
];

/// How wakeups were placed: counts over the whole run.
pub const COUNTERS: &[MetricInfo] = &[
    metric(
        "search.wakeups",
        "",
        Better::Neither,
        "wakeups of fair tasks placed",
    ),
    metric(
        "search.prev_cpu",
        "",
        Better::Neither,
        "of these, on the previous CPU",
    ),
    metric(
        "search.this_cpu",
        "",
        Better::Neither,
        "of these, on the waker's CPU",
    ),
    metric(
        "search.migrated",
        "",
        Better::Neither,
        "of these, on another CPU than the previous one",
    ),
    metric(
        "search.fast_hits",
        "",
        Better::Neither,
        "wakeups whose first candidates were idle",
    ),
    metric(
        "search.scans",
        "",
        Better::Neither,
        "scans of a last-level cache for an idle CPU",
    ),
    metric(
        "search.scan_hits",
        "",
        Better::Neither,
        "scans that found a CPU",
    ),
    metric(
        "search.scan_cores",
        "",
        Better::Neither,
        "of these, an idle core",
    ),
    metric(
        "search.scanned",
        "",
        Better::Neither,
        "CPUs looked at in scans",
    ),
    metric(
        "search.cache_hot",
        "",
        Better::Neither,
        "idle CPUs passed over since they were cache hot (SIS_CACHE)",
    ),
    metric(
        "search.empty_cfs_rq",
        "",
        Better::Neither,
        "wakeups sent to where their group has no task (SIS_EMPTY_CFS_RQ)",
    ),
    metric(
        "search.slow_path",
        "",
        Better::Neither,
        "placements at fork and exec",
    ),
];

/// What is measured of guests, where there are some.
pub const GUEST_METRICS: &[MetricInfo] = &[
    metric(
        "guest.elapsed",
        "s",
        Better::Lower,
        "until the last task that guests' runs wait for has ended",
    ),
    metric(
        "guest.loops",
        "loops/s",
        Better::Higher,
        "runs of guests' tasks through their phases",
    ),
    metric(
        "guest.run",
        "%",
        Better::Neither,
        "time vCPUs were in guest mode, of that of all the host's CPUs",
    ),
    metric(
        "guest.exit",
        "%",
        Better::Lower,
        "time vCPUs' threads were in the host's kernel, of that of all the host's CPUs",
    ),
    metric(
        "guest.steal",
        "%",
        Better::Lower,
        "time vCPUs waited for a CPU, of their time",
    ),
    metric(
        "guest.spin",
        "ms",
        Better::Lower,
        "time guests spun for spinlocks, added up",
    ),
    metric(
        "yield.attempts",
        "",
        Better::Neither,
        "directed yields tried",
    ),
    metric(
        "yield.failed",
        "",
        Better::Neither,
        "of these, given up: the target ran or slept",
    ),
    metric(
        "yield.succeeded",
        "",
        Better::Neither,
        "of these, successful",
    ),
    metric(
        "yield.locked",
        "",
        Better::Neither,
        "of these, with both queues locked",
    ),
];

/// What to compare: a metric, of the whole run or of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name in [`Measures`](crate::Measures).
    pub name: String,
    /// What tables call it.
    pub title: String,
    /// The unit of its values; empty: a count.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
}

/// No metric has that name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetricError {
    /// What was asked for, without the part.
    pub stem: String,
}

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown metric {}", self.stem)
    }
}

impl std::error::Error for MetricError {}

impl Metric {
    /// The metric that `name` means: `p99`, `p99:TASK` or `p99:/GROUP`.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn parse(name: &str) -> Result<Metric, MetricError> {
        let stem = name.split_once(':').map_or(name, |(stem, _)| stem);
        let known = METRICS.iter().chain(COUNTERS).chain(GUEST_METRICS);
        let info = { known }.find(|info| info.name == stem);
        let info = info.ok_or_else(|| MetricError {
            stem: stem.to_string(),
        })?;
        Ok(Metric {
            name: name.to_string(),
            title: name.to_string(),
            unit: info.unit.to_string(),
            better: info.better,
        })
    }
}

/// The metrics of the programs of a workload, in their order, each with what it is computed by.
pub fn program_metrics(programs: &[Program]) -> Vec<(Metric, &programs::Metric)> {
    let mut metrics = Vec::new();
    for (idx, program) in programs.iter().enumerate() {
        let before = programs[..idx].iter();
        let nth = 1 + before.filter(|other| other.name == program.name).count();
        let nth = if nth > 1 {
            format!("#{nth}")
        } else {
            String::new()
        };
        let own = |metric: &programs::Metric| Metric {
            name: format!("{}{nth}.{}", program.name, word(metric.name)),
            title: format!("{}{nth}", metric.name),
            unit: metric.unit.to_string(),
            better: if metric.higher_is_better {
                Better::Higher
            } else {
                Better::Lower
            },
        };
        metrics.extend(program.metrics.iter().map(|metric| (own(metric), metric)));
    }
    metrics
}

/// The metric of that name: one that every run has, one of these programs, or of those in these guests, `guests.` and the
/// name it has there.
pub fn find_metric(name: &str, programs: &[Program], guests: &[GuestSpec]) -> Option<Metric> {
    let own = |name: &str, programs: &[Program]| {
        let mut metrics = program_metrics(programs).into_iter();
        metrics.find_map(|(metric, _)| (metric.name == name).then_some(metric))
    };
    if let Some(inside) = name.strip_prefix("guests.") {
        let found = { guests.iter() }.find_map(|guest| own(inside, &guest.programs()));
        return found.map(|metric| Metric {
            name: name.to_string(),
            ..metric
        });
    }
    own(name, programs).or_else(|| Metric::parse(name).ok())
}

/// A name as one word: `Trans. Rate` is `trans_rate`.
fn word(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<String> = { parts.filter(|part| !part.is_empty()) }
        .map(str::to_lowercase)
        .collect();
    parts.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_its_metric_s_unit_and_direction() {
        let metric = Metric::parse("p99:/web").unwrap();
        assert_eq!(
            (&*metric.name, &*metric.unit, metric.better),
            ("p99:/web", "us", Better::Lower)
        );
        assert_eq!(Metric::parse("p98:web").unwrap_err().stem, "p98");
    }

    #[test]
    fn programs_have_their_own_and_a_second_one_is_told_from_the_first() {
        let program = || programs::parse("netperf:pairs=2").unwrap();
        let (_, joined) = programs::join(None, vec![program(), program()]);
        let metrics = program_metrics(&joined);
        let names: Vec<_> = { metrics.iter() }
            .map(|(metric, _)| (&*metric.name, &*metric.title, metric.better))
            .collect();
        assert_eq!(
            names,
            [
                ("netperf.trans_rate", "Trans. Rate", Better::Higher),
                ("netperf#2.trans_rate", "Trans. Rate#2", Better::Higher)
            ]
        );
    }
}
