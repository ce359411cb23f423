//! What a run measured, as plain data.
//!
//! Units. `_ns` nanoseconds, `_usec` microseconds (names and units of cgroup v2's cpu.stat), `_mj` millijoules; shares are in
//!        millionths of the CPU time of the whole machine.

use crate::latency::Latencies;
use crate::measure::GroupUsage;
use crate::psi::PressureReport;
use crate::simulation::Simulation;
use crate::task_run::TaskRun;
use crate::virt::GuestReport;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{CpuId, GroupId, Nanos, Policy, TaskId};
use serde::Serialize;

/// Version of the JSON form; grows when a field changes its meaning or goes away.
pub const REPORT_VERSION: u32 = 1;

/// Percentiles of a latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LatencyReport {
    /// How many were measured.
    pub count: u64,
    /// Half were at most this long, to 1 %.
    pub p50_ns: Nanos,
    /// 99 % were at most this long, to 1 %.
    pub p99_ns: Nanos,
    /// The longest, to 1 %.
    pub max_ns: Nanos,
}

impl LatencyReport {
    /// None if nothing was measured.
    pub(crate) fn of(latencies: &Latencies) -> Option<Self> {
        (latencies.count() > 0).then(|| LatencyReport {
            count: latencies.count(),
            p50_ns: latencies.quantile(0.50),
            p99_ns: latencies.quantile(0.99),
            max_ns: latencies.max(),
        })
    }
}

/// One task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// The task of the workload file it is an instance of.
    pub spec: String,
    /// Path of its group at the end.
    pub group: String,
    /// Its policy at the end.
    pub policy: &'static str,
    /// Its nice level at the end.
    pub nice: i32,
    /// CPU time.
    pub cpu_ns: Nanos,
    /// CPU time in millionths of all CPU time of the machine.
    pub share_ppm: u64,
    /// Of the CPU time, lost to cold caches.
    pub stall_ns: Nanos,
    /// Switches away because it slept (nvcsw).
    pub voluntary_switches: u64,
    /// Switches away while it could run (nivcsw).
    pub involuntary_switches: u64,
    /// How often it changed its CPU.
    pub migrations: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// From a wakeup until its first instruction in user space; none: it was never woken.
    pub wakeup_latency: Option<LatencyReport>,
    /// Time it waited because its group was out of quota.
    pub throttled_ns: Nanos,
    /// Time it waited for a CPU (run_delay).
    pub run_delay_ns: Nanos,
    /// Runs through a phase.
    pub loops: u64,
    /// It has ended.
    pub ended: bool,
}

/// One group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GroupReport {
    /// Its path.
    pub path: String,
    /// cpu.weight.
    pub weight: u64,
    /// Quota in µs per period; none: unlimited.
    pub quota_usec: Option<u64>,
    /// Period in µs.
    pub period_usec: u64,
    /// cpu.stat: CPU time that tasks spent in it and below, wherever they were at the end.
    pub usage_usec: u64,
    /// The same in ns.
    pub cpu_ns: Nanos,
    /// The same in millionths of all CPU time of the machine.
    pub share_ppm: u64,
    /// cpu.stat: periods with something to run.
    pub nr_periods: u64,
    /// cpu.stat: periods in which it was throttled.
    pub nr_throttled: u64,
    /// cpu.stat: total time its queues were throttled.
    pub throttled_usec: u64,
    /// cpu.stat: periods that used burst.
    pub nr_bursts: u64,
    /// cpu.stat: runtime taken from burst.
    pub burst_usec: u64,
    /// cpu.pressure; none unless it was watched.
    pub pressure: Option<PressureReport>,
}

/// One CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CpuReport {
    /// Which.
    pub cpu: u32,
    /// Time a task ran.
    pub busy_ns: Nanos,
    /// Time nothing ran.
    pub idle_ns: Nanos,
    /// Context switches, to idle included.
    pub switches: u64,
    /// Time in each idle state, shallow to deep.
    pub idle_state_ns: Vec<Nanos>,
}

/// What wakeup placement did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SearchReport {
    /// Fair wakeups placed.
    pub wakeups: u64,
    /// Of these, onto the previous CPU.
    pub prev_cpu: u64,
    /// Of these, onto the waker's CPU.
    pub this_cpu: u64,
    /// Of these, onto another CPU than the previous one.
    pub migrated: u64,
    /// Wakeups whose first candidates were idle.
    pub fast_hits: u64,
    /// Scans of a last-level cache.
    pub scans: u64,
    /// Scans that found a CPU.
    pub scan_hits: u64,
    /// Of these, idle cores.
    pub scan_cores: u64,
    /// CPUs looked at in scans.
    pub scanned: u64,
    /// Idle CPUs passed over since they were cache hot (SIS_CACHE).
    pub cache_hot: u64,
    /// Wakeups sent to a CPU where their group has no task (SIS_EMPTY_CFS_RQ).
    pub empty_cfs_rq: u64,
    /// Placements at fork and exec.
    pub slow_path: u64,
}

/// The run as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunTotals {
    /// Wakeups, new tasks included.
    pub wakeups: u64,
    /// Context switches, to idle included.
    pub switches: u64,
    /// Ticks handled.
    pub ticks: u64,
    /// Interrupts between CPUs.
    pub ipis: u64,
    /// Changes of CPU.
    pub migrations: u64,
    /// Time CPUs waited for each other's run-queue locks.
    pub lock_wait_ns: Nanos,
    /// Energy; 0 if the machine's power is not known.
    pub energy_mj: u64,
}

/// What a run measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// The kernel.
    pub kernel: String,
    /// The machine.
    pub machine: String,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time.
    pub duration_ns: Nanos,
    /// The run was stopped before its end.
    pub interrupted: bool,
    /// Tasks in order of creation.
    pub tasks: Vec<TaskReport>,
    /// Groups, parents before children; the root first.
    pub groups: Vec<GroupReport>,
    /// CPUs.
    pub cpus: Vec<CpuReport>,
    /// Wakeup placement.
    pub search: SearchReport,
    /// Virtual machines.
    pub guests: Vec<GuestReport>,
    /// The run as a whole.
    pub totals: RunTotals,
}

fn policy_name(policy: Policy) -> &'static str {
    match policy {
        Policy::Normal => "SCHED_OTHER",
        Policy::Fifo => "SCHED_FIFO",
        Policy::Rr => "SCHED_RR",
        Policy::Batch => "SCHED_BATCH",
        Policy::Idle => "SCHED_IDLE",
        Policy::Deadline => "SCHED_DEADLINE",
    }
}

/// `part` in millionths of `whole`, rounded down; 0 of nothing.
fn ppm(part: Nanos, whole: u128) -> u64 {
    (u128::from(part) * 1_000_000)
        .checked_div(whole)
        .unwrap_or(0) as u64
}

impl Simulation {
    /// What was measured so far; call [`finish`](Simulation::finish) first.
    pub fn report(&self, interrupted: bool) -> Report {
        let whole = u128::from(self.now) * self.sched.nr_cpus() as u128;
        let usage = self.group_usage_below();
        let started = self.task_ids.iter().filter(|id| id.is_some());
        let tasks = started
            .map(|&id| self.task_report(id, &self.tasks[id.idx()], whole))
            .collect();
        let groups = self
            .sched
            .groups
            .ids()
            .filter(|&g| !self.sched.groups[g].dead);
        Report {
            version: REPORT_VERSION,
            kernel: self.sched.profile.release.name().to_string(),
            machine: self.machine.name.clone(),
            seed: self.seed,
            duration_ns: self.now,
            interrupted,
            tasks,
            groups: groups
                .map(|g| self.group_report(g, usage[g.idx()].cpu_ns, whole))
                .collect(),
            cpus: self
                .sched
                .rqs
                .ids()
                .map(|cpu| self.cpu_report(cpu))
                .collect(),
            search: self.search_report(),
            guests: self.guest_reports(interrupted),
            totals: self.totals(),
        }
    }

    /// The run as a whole, so far.
    pub fn totals(&self) -> RunTotals {
        RunTotals {
            wakeups: self.totals.wakeups,
            switches: self.totals.switches,
            ticks: self.totals.ticks,
            ipis: self.totals.ipis,
            migrations: self.totals.migrations,
            lock_wait_ns: self.locks.contended_ns,
            energy_mj: self.power.energy_mj(),
        }
    }

    /// CPU time spent in each group and below, `[nr_groups]`.
    pub(crate) fn group_usage_below(&self) -> Vec<GroupUsage> {
        let mut usage = self.group_usage.clone();
        // Groups are made after their parents: from the last to the first, each is complete when it is added.
        for group in (1..usage.len()).rev() {
            let below = usage[group];
            let parent = &mut usage[self.sched.groups[GroupId(group as u32)].parent.idx()];
            parent.cpu_ns += below.cpu_ns;
            parent.system_ns += below.system_ns;
        }
        usage
    }

    fn task_report(&self, id: TaskId, run: &TaskRun, whole: u128) -> TaskReport {
        let t = &self.sched.tasks[id];
        let stats = &self.sched.task_stats[id];
        let program = run.program as usize;
        TaskReport {
            name: self.runtime.name(program),
            spec: self.workload.tasks[self.runtime.spec(program).idx()]
                .name
                .clone(),
            group: self.group_paths[t.group.idx()].clone(),
            policy: policy_name(t.policy),
            nice: t.nice(),
            cpu_ns: run.cpu_ns,
            share_ppm: ppm(run.cpu_ns, whole),
            stall_ns: run.stall_ns,
            voluntary_switches: stats.nvcsw,
            involuntary_switches: stats.nivcsw,
            migrations: self.sched.ses[t.se].nr_migrations,
            wakeups: run.wakeups,
            wakeup_latency: LatencyReport::of(&run.latencies),
            throttled_ns: run.throttled_ns,
            run_delay_ns: stats.run_delay,
            loops: self.runtime.loops(program),
            ended: run.ended_at.is_some(),
        }
    }

    fn group_report(&self, id: GroupId, cpu_ns: Nanos, whole: u128) -> GroupReport {
        let group = &self.sched.groups[id];
        let b = &group.bandwidth;
        GroupReport {
            path: self.group_paths[id.idx()].clone(),
            weight: fairwind_sched::cgroup::weight_of_shares(group.shares >> 10),
            quota_usec: (b.quota != RUNTIME_INF).then_some(b.quota / 1000),
            period_usec: b.period / 1000,
            usage_usec: cpu_ns / 1000,
            cpu_ns,
            share_ppm: ppm(cpu_ns, whole),
            nr_periods: b.nr_periods,
            nr_throttled: b.nr_throttled,
            throttled_usec: b.throttled_time / 1000,
            nr_bursts: b.nr_burst,
            burst_usec: b.burst_time / 1000,
            pressure: self.pressure(id),
        }
    }

    fn cpu_report(&self, cpu: CpuId) -> CpuReport {
        let c = &self.cpus[cpu.idx()];
        CpuReport {
            cpu: cpu.0,
            busy_ns: c.busy_ns,
            idle_ns: c.idle_ns,
            switches: self.sched.rqs[cpu].stats.nr_switches,
            idle_state_ns: c.idle_state_ns.clone(),
        }
    }

    fn search_report(&self) -> SearchReport {
        let s = &self.sched.search;
        SearchReport {
            wakeups: s.wakeups,
            prev_cpu: s.prev_cpu,
            this_cpu: s.this_cpu,
            migrated: s.wakeups - s.prev_cpu,
            fast_hits: s.fast_hits,
            scans: s.scans,
            scan_hits: s.scan_hits,
            scan_cores: s.scan_cores,
            scanned: s.scanned,
            cache_hot: s.cache_hot,
            empty_cfs_rq: s.empty_cfs_rq,
            slow_path: s.slow_path,
        }
    }
}
