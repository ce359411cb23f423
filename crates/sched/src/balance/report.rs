//! What passes looked at and why they moved what they moved, for whoever wants to explain them.
//!
//! Model.    Off at first. A report is begun by each pass over a domain and filled by its steps.
//! Not here. What the numbers mean: see the steps.

use super::env::{CpuIdleType, LbEnv, MigrationType};
use super::group_stats::{GroupType, SgLbStats};
use super::replay::{Found, LastBalance};
use crate::domain::{SdId, SgId};
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};
use alloc::vec::Vec;

/// A group of a domain, as a pass saw it.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// Its first CPU.
    pub first: CpuId,
    /// It is the one that balances.
    pub is_local: bool,
    /// How busy it is.
    pub group_type: GroupType,
    /// Tasks of all classes.
    pub nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// Sum of load averages.
    pub load: u64,
    /// Sum of utilisations.
    pub util: u64,
    /// Sum of runnable averages.
    pub runnable: u64,
    /// Capacity for fair tasks.
    pub capacity: u64,
}

/// What became of a task that a pass tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It moves.
    Moves,
    /// It may not run there, or a quota forbids.
    NotAllowed,
    /// It runs.
    Runs,
    /// It is cache-hot.
    Hot,
    /// It is more than is to be moved.
    TooMuch,
}

/// A pass over a domain.
#[derive(Clone, Debug)]
pub struct PassReport {
    /// The domain.
    pub sd: SdId,
    /// The domain's name.
    pub name: &'static str,
    /// Towards which CPU.
    pub dst_cpu: CpuId,
    /// When it was last balanced before, and how that had gone.
    pub before: LastBalance,
    /// In what state that CPU was.
    pub idle: CpuIdleType,
    /// The domain's groups, in the order in which they were summed up.
    pub groups: Vec<GroupReport>,
    /// The busiest group's first CPU.
    pub busiest: Option<CpuId>,
    /// In what `imbalance` is counted.
    pub migration_type: MigrationType,
    /// How much was to be moved.
    pub imbalance: i64,
    /// The busiest queue.
    pub src_cpu: Option<CpuId>,
    /// The tasks that were tried.
    pub candidates: Vec<(TaskId, Verdict)>,
    /// How many moved.
    pub moved: u32,
    /// The running task was to be pushed.
    pub active: bool,
}

impl Sched {
    /// Has passes reported from now on, or no longer; forgets the reports so far.
    pub fn report_passes(&mut self, on: bool) {
        self.lb_mut().reports = on.then(Vec::new);
    }

    /// The passes since reports were asked for.
    pub fn pass_reports(&self) -> &[PassReport] {
        self.lb().reports.as_deref().unwrap_or_default()
    }

    #[inline]
    pub(super) fn pass_report(&mut self) -> Option<&mut PassReport> {
        self.lb_mut().reports.as_mut()?.last_mut()
    }

    pub(super) fn report_pass(&mut self, dst_cpu: CpuId, sd: SdId, idle: CpuIdleType) {
        let name = self.domains.sd[sd].name;
        let before = self.last_balance(sd);
        if let Some(reports) = &mut self.lb_mut().reports {
            reports.push(PassReport {
                sd,
                name,
                dst_cpu,
                before,
                idle,
                groups: Vec::new(),
                busiest: None,
                migration_type: MigrationType::Load,
                imbalance: 0,
                src_cpu: None,
                candidates: Vec::new(),
                moved: 0,
                active: false,
            });
        }
    }

    pub(super) fn report_group(&mut self, sg: SgId, is_local: bool, sgs: &SgLbStats) {
        if self.lb().reports.is_none() {
            return;
        }
        let first = self.domains.sched_group_span(sg).first();
        let group = GroupReport {
            first: first.expect("a group has a CPU"),
            is_local,
            group_type: sgs.group_type,
            nr_running: sgs.sum_nr_running,
            idle_cpus: sgs.idle_cpus,
            load: sgs.group_load,
            util: sgs.group_util,
            runnable: sgs.group_runnable,
            capacity: sgs.group_capacity,
        };
        if let Some(report) = self.pass_report() {
            report.groups.push(group);
        }
    }

    pub(super) fn report_imbalance(&mut self, env: &LbEnv, busiest: SgId) {
        if self.lb().reports.is_none() {
            return;
        }
        let busiest = self.domains.sched_group_span(busiest).first();
        if let Some(report) = self.pass_report() {
            report.busiest = busiest;
            report.migration_type = env.migration_type;
            report.imbalance = env.imbalance;
        }
    }

    /// The pass was told what it would have found.
    pub(super) fn report_found(&mut self, found: &Found) {
        if let Some(report) = self.pass_report() {
            report.migration_type = found.migration_type;
            report.imbalance = found.imbalance;
        }
    }

    pub(super) fn report_candidate(&mut self, task: TaskId, verdict: Verdict) {
        if let Some(report) = self.pass_report() {
            report.candidates.push((task, verdict));
        }
    }
}
