//! What a run measured, as numbers by name.
//!
//! Model.       Everything that can be compared is measured in every run, so that another metric needs no other run.
//!              `p99` is a number of the whole run; `p99:web` is that of the task `web` of the workload, all its
//!              instances together, and `p99:/web` that of the group `/web` and what is below it.
//! Units.       Those of [`METRICS`](crate::METRICS).

use crate::metric::program_metrics;
use fairwind_sim::{
    GuestReport, LatencyReport, MergedReport, Report, SearchReport, Simulation, VcpuReport,
};
use fairwind_workload::GuestSpec;
use fairwind_workload::programs::Program;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Numbers by name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures {
    values: BTreeMap<String, f64>,
}

impl Measures {
    /// Those of a run of these programs, or of none, that is over; call [`Simulation::finish`] first.
    pub fn of(simulation: &Simulation, programs: &[Program], guests: &[GuestSpec]) -> Measures {
        let report = simulation.report(false);
        let seconds = report.duration_ns as f64 / 1e9;
        let mut measures = Measures::default();
        measures.whole(&report, seconds);
        for (metric, computed_by) in program_metrics(programs) {
            if let Some(value) = computed_by.result(simulation.measures()).value {
                measures.put(&metric.name, "", value);
            }
        }
        measures.guests(&report, simulation, guests);
        for spec in simulation.spec_reports() {
            measures.tasks(&format!(":{}", spec.name), &spec, seconds);
        }
        let groups = simulation.group_task_reports();
        for (group, tasks) in report.groups.iter().zip(&groups) {
            let whole = group.path == "/";
            let of = if whole {
                String::new()
            } else {
                format!(":{}", group.path)
            };
            measures.tasks(&of, tasks, seconds);
            if !whole {
                measures.put("nr_throttled", &of, group.nr_throttled as f64);
            }
        }
        measures
    }

    /// A number by its name; none: not measured in this run.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// Names of all numbers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    fn put(&mut self, metric: &str, of: &str, value: f64) {
        self.values.insert(format!("{metric}{of}"), value);
    }

    fn whole(&mut self, report: &Report, seconds: f64) {
        let totals = &report.totals;
        let mut put = |metric: &str, value: f64| self.put(metric, "", value);
        if seconds > 0.0 {
            put("switches", totals.switches as f64 / seconds);
            put("ipis", totals.ipis as f64 / seconds);
            if totals.energy_mj > 0 {
                put("power", totals.energy_mj as f64 / 1e3 / seconds);
            }
        }
        put("lock_wait", totals.lock_wait_ns as f64 / 1e6);
        if totals.energy_mj > 0 {
            put("energy", totals.energy_mj as f64 / 1e3);
        }
        let SearchReport {
            wakeups,
            prev_cpu,
            this_cpu,
            migrated,
            fast_hits,
            scans,
            scan_hits,
            scan_cores,
            scanned,
            cache_hot,
            empty_cfs_rq,
            slow_path,
        } = report.search;
        if wakeups > 0 {
            put("migrated", migrated as f64 * 100.0 / wakeups as f64);
        }
        for (name, count) in [
            ("search.wakeups", wakeups),
            ("search.prev_cpu", prev_cpu),
            ("search.this_cpu", this_cpu),
            ("search.migrated", migrated),
            ("search.fast_hits", fast_hits),
            ("search.scans", scans),
            ("search.scan_hits", scan_hits),
            ("search.scan_cores", scan_cores),
            ("search.scanned", scanned),
            ("search.cache_hot", cache_hot),
            ("search.empty_cfs_rq", empty_cfs_rq),
            ("search.slow_path", slow_path),
        ] {
            put(name, count as f64);
        }
    }

    fn guests(&mut self, report: &Report, simulation: &Simulation, specs: &[GuestSpec]) {
        if report.guests.is_empty() {
            return;
        }
        // Each program's metric: its sum over guests, and how many.
        let mut inside: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for ((_, guest), spec) in simulation.guests().zip(specs) {
            let programs = spec.programs();
            for (metric, computed_by) in program_metrics(&programs) {
                if let Some(value) = computed_by.result(guest.measures()).value {
                    let (sum, count) = inside.entry(metric.name).or_default();
                    *sum += value;
                    *count += 1.0;
                }
            }
        }
        for (name, (sum, count)) in inside {
            self.put(&format!("guests.{name}"), "", sum / count);
        }
        let ended = simulation.guests().map(|(_, guest)| guest.ended_ns());
        if let Some(ended) = ended
            .reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)))
            .flatten()
        {
            self.put("guest.elapsed", "", ended as f64 / 1e9);
        }
        let vcpus = || report.guests.iter().flat_map(|guest| &guest.vcpus);
        let time = |of: fn(&VcpuReport) -> u64| vcpus().map(of).sum::<u64>() as f64;
        let machine = report.duration_ns as f64 * report.cpus.len() as f64;
        let whole = report.duration_ns as f64 * vcpus().count() as f64;
        if machine > 0.0 {
            let specs = simulation
                .guests()
                .flat_map(|(_, guest)| guest.spec_reports());
            let loops: u64 = specs.map(|spec| spec.loops).sum();
            self.put(
                "guest.loops",
                "",
                loops as f64 * 1e9 / report.duration_ns as f64,
            );
            self.put("guest.run", "", time(|v| v.run_ns) * 100.0 / machine);
            self.put("guest.exit", "", time(|v| v.exit_ns) * 100.0 / machine);
            self.put("guest.steal", "", time(|v| v.steal_ns) * 100.0 / whole);
        }
        let sum = |of: fn(&GuestReport) -> u64| report.guests.iter().map(of).sum::<u64>() as f64;
        self.put("guest.spin", "", sum(|g| g.spin_ns) / 1e6);
        self.put("yield.attempts", "", sum(|g| g.yields.attempts));
        self.put("yield.failed", "", sum(|g| g.yields.failed_running));
        self.put("yield.succeeded", "", sum(|g| g.yields.yielded));
        self.put("yield.locked", "", sum(|g| g.yields.locked));
    }

    fn tasks(&mut self, of: &str, tasks: &MergedReport, seconds: f64) {
        let mut put = |metric: &str, value: f64| self.put(metric, of, value);
        if seconds > 0.0 {
            put("loops", tasks.loops as f64 / seconds);
            put("cpu", tasks.cpu_ns as f64 / 1e7 / seconds);
            put("wakeups", tasks.wakeups as f64 / seconds);
            put("migrations", tasks.migrations as f64 / seconds);
            // Those of the whole run are the machine's, which include switches to idle.
            if !of.is_empty() {
                let switches = tasks.voluntary_switches + tasks.involuntary_switches;
                put("switches", switches as f64 / seconds);
            }
        }
        if let Some(ended) = tasks.ended_ns {
            put("elapsed", ended as f64 / 1e9);
        }
        put("share", tasks.share_ppm as f64 / 1e4);
        put("waited", tasks.run_delay_ns as f64 / 1e6);
        put("throttled", tasks.throttled_ns as f64 / 1e6);
        if tasks.cpu_ns > 0 {
            put("stall", tasks.stall_ns as f64 * 100.0 / tasks.cpu_ns as f64);
        }
        if let Some(LatencyReport {
            p50_ns,
            p99_ns,
            max_ns,
            ..
        }) = tasks.wakeup_latency
        {
            put("p50", p50_ns as f64 / 1e3);
            put("p99", p99_ns as f64 / 1e3);
            put("max", max_ns as f64 / 1e3);
        }
    }
}
