//! What was measured of guests.
//!
//! Units.       ns, as in [`Report`](crate::Report).

use super::directed_yield::YieldStats;
use crate::report::Report;
use crate::simulation::Simulation;
use fairwind_guest::Mode;
use fairwind_sched::{Nanos, TaskId};
use serde::Serialize;

/// One vCPU. Run, idle, steal and exits add up to the time since its thread began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VcpuReport {
    /// Its CPU in the guest.
    pub cpu: u32,
    /// Since when its thread exists.
    pub begun_ns: Nanos,
    /// Time in guest mode.
    pub run_ns: Nanos,
    /// Time it was halted, polling included.
    pub idle_ns: Nanos,
    /// Of this, time its thread polled.
    pub poll_ns: Nanos,
    /// Time its thread could run and had no CPU.
    pub steal_ns: Nanos,
    /// Time its thread was in the host's kernel.
    pub exit_ns: Nanos,
    /// Exits.
    pub exits: u64,
    /// Of these, because it halted.
    pub halts: u64,
    /// Of these, to send an interrupt.
    pub ipis: u64,
    /// Of these, because it spun through its window.
    pub pauses: u64,
}

/// Directed yields of a guest's vCPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct YieldReport {
    /// Targets that were tried.
    pub attempts: u64,
    /// Of these, given up because the target ran or slept.
    pub failed_running: u64,
    /// Of these, given up because both queues held one task only.
    pub failed_alone: u64,
    /// Of these, passed over by YIELD_TO_SKIP_YIELDING or YIELD_TO_SKIP_HOST_MODE.
    pub skipped: u64,
    /// Of these, successful.
    pub yielded: u64,
    /// Attempts that took the queues' locks.
    pub locked: u64,
}

/// One guest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GuestReport {
    /// Its name.
    pub name: String,
    /// Its vCPUs.
    pub vcpus: Vec<VcpuReport>,
    /// Its directed yields.
    pub yields: YieldReport,
    /// Time its tasks spun for spinlocks.
    pub spin_ns: Nanos,
    /// What was measured inside.
    pub report: Report,
}

fn yields(stats: &YieldStats) -> YieldReport {
    YieldReport {
        attempts: stats.attempts,
        failed_running: stats.failed_running,
        failed_alone: stats.failed_alone,
        skipped: stats.skipped,
        yielded: stats.yielded,
        locked: stats.locked,
    }
}

impl Simulation {
    /// The guests, in the order of the workload.
    pub fn guests(&self) -> impl Iterator<Item = (&str, &Simulation)> {
        let guests = self.hypervisor.guests.iter();
        guests.map(|guest| (guest.name.as_str(), &*guest.sim))
    }

    /// When the last task ended that the run waits for; none: not all have, or there is none.
    pub fn ended_ns(&self) -> Option<Nanos> {
        let awaited = |id: &&TaskId| {
            let program = self.tasks[id.idx()].program as usize;
            !self.workload.tasks[self.runtime.spec(program).idx()].background
        };
        let started = self.task_ids.iter().filter(|id| id.is_some());
        let ends = started
            .filter(awaited)
            .map(|id| self.tasks[id.idx()].ended_at);
        ends.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)))
            .flatten()
    }

    pub(crate) fn guest_reports(&self, interrupted: bool) -> Vec<GuestReport> {
        let guests = self.hypervisor.guests.iter();
        let report = |guest: &super::guest::Guest| {
            let first = guest.first_vcpu;
            let vcpus = first..first + guest.nr_vcpus;
            GuestReport {
                name: guest.name.clone(),
                vcpus: vcpus.map(|vcpu| self.vcpu_report(vcpu)).collect(),
                yields: yields(&guest.yields),
                spin_ns: guest.sim.tasks.iter().map(|task| task.spin_ns).sum(),
                report: guest.sim.report(interrupted),
            }
        };
        guests.map(report).collect()
    }

    fn vcpu_report(&self, vcpu: u32) -> VcpuReport {
        let v = &self.hypervisor.vcpus[vcpu as usize];
        let time = |mode| v.account.time_in(mode, self.now);
        let poll_ns = time(Mode::Poll);
        VcpuReport {
            cpu: v.cpu.0,
            begun_ns: time(Mode::Absent),
            run_ns: time(Mode::Guest),
            idle_ns: time(Mode::Halted) + poll_ns,
            poll_ns,
            steal_ns: time(Mode::Steal),
            exit_ns: time(Mode::Exit),
            exits: v.exits.all,
            halts: v.exits.halt,
            ipis: v.exits.ipi,
            pauses: v.exits.pause,
        }
    }

    /// Is a task a vCPU's thread?
    pub fn is_vcpu(&self, task: TaskId) -> bool {
        self.tasks[task.idx()].vcpu != super::NO_VCPU
    }
}
