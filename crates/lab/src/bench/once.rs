//! A job done once, and what it took.
//!
//! Units.       CPU time of this process in seconds, so that others on the machine disturb less; memory in bytes, as the kernel counts this process's pages: nothing else may have run
//!              in the process before.

use super::{Job, Size};
use fairwind_machine::Machine;
use fairwind_sched::{KernelProfile, Nanos, Release};
use fairwind_sim::{Config, Simulation};
use fairwind_workload::Workload;
use serde::{Deserialize, Serialize};
use std::fs;

/// What a job took.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Once {
    /// CPU time until every task had started, reading the workload included.
    pub start_s: f64,
    /// CPU time of what was measured.
    pub cpu_s: f64,
    /// Simulated time of that.
    pub simulated_s: f64,
    /// Wakeups in it.
    pub wakeups: u64,
    /// Switches in it.
    pub switches: u64,
    /// Ticks in it.
    pub ticks: u64,
    /// Events waiting in the queue at its end.
    pub pending: usize,
    /// The process's most memory.
    pub peak_bytes: u64,
}

impl Once {
    /// Wakeups and switches.
    pub fn events(&self) -> u64 {
        self.wakeups + self.switches
    }
}

/// Memory of a job.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Footprint {
    /// Of a machine with the job's groups and no task, divided by its CPUs.
    pub bytes_per_cpu: u64,
    /// Of what the tasks add, divided by their number.
    pub bytes_per_task: u64,
}

fn simulation(size: Size, workload: Workload) -> Simulation {
    let machine = Machine::load(size.machine).expect("the jobs' machines are known");
    let profile = KernelProfile::new(Release::V6_12, machine.nr_cpus());
    let config = Config {
        machine,
        profile,
        duration: Some(Nanos::MAX / 2),
        seed: 1,
    };
    Simulation::new(config, workload).expect("the jobs fit their machines")
}

/// Does a job.
pub fn once(job: &Job, size: Size) -> Once {
    let began = cpu_s();
    let mut simulation = simulation(size, job.workload(size));
    simulation.run_until(size.start);
    let started = cpu_s();
    let before = counts(&simulation);
    simulation.run_until(size.start + size.measured);
    let ended = cpu_s();
    let after = counts(&simulation);
    Once {
        start_s: started - began,
        cpu_s: ended - started,
        simulated_s: size.measured as f64 / 1e9,
        wakeups: after[0] - before[0],
        switches: after[1] - before[1],
        ticks: after[2] - before[2],
        pending: simulation.pending_events(),
        peak_bytes: memory("VmHWM:"),
    }
}

/// Wakeups, switches and ticks so far, of the host and its guests.
fn counts(simulation: &Simulation) -> [u64; 3] {
    let guests = simulation.guests().map(|(_, guest)| guest.totals());
    let all = std::iter::once(simulation.totals()).chain(guests);
    all.fold([0; 3], |[wakeups, switches, ticks], totals| {
        [
            wakeups + totals.wakeups,
            switches + totals.switches,
            ticks + totals.ticks,
        ]
    })
}

/// Measures a job's memory. The job is done for as long as it is in its small size.
pub fn footprint(job: &Job, size: Size) -> Footprint {
    let nothing = memory("VmRSS:");
    let mut groups = job.workload(size);
    groups.tasks.clear();
    groups.guests.clear();
    let machine = simulation(size, groups);
    let with_machine = memory("VmRSS:");
    let of_machine = with_machine - nothing;
    let mut simulation = simulation(size, job.workload(size));
    simulation.run_until(size.start + job.small.measured);
    let of_tasks = memory("VmHWM:").saturating_sub(with_machine + of_machine);
    Footprint {
        bytes_per_cpu: of_machine / machine.sched().nr_cpus() as u64,
        bytes_per_task: of_tasks / u64::from(size.tasks),
    }
}

/// CPU time of this process so far; 0 where the kernel does not tell.
fn cpu_s() -> f64 {
    let schedstat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = schedstat
        .split(' ')
        .next()
        .and_then(|ns| ns.parse::<u64>().ok());
    ns.unwrap_or(0) as f64 / 1e9
}

/// A line of /proc/self/status in bytes; 0 where there is none.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|l| {
        let rest = l.strip_prefix(line)?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::JOBS;

    #[test]
    fn every_job_has_its_tasks_and_a_machine() {
        for job in JOBS {
            Machine::load(job.full.machine).expect("the machine is known");
            let mut simulation = simulation(job.small, job.workload(job.small));
            simulation.run_until(job.small.start);
            let has = simulation.report(false).tasks.len() as u32;
            // A program's own task, which starts the others, may come on top.
            let wanted = job.small.tasks..=job.small.tasks + 2;
            assert!(wanted.contains(&has), "{}: {has}", job.name);
        }
    }
}
