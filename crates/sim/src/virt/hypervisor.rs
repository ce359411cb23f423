//! The host's side: its guests, their vCPUs' threads, and what happened to these.

use super::guest::Guest;
use super::rq_lock::RqLock;
use super::vcpu::{NO_VCPU, Vcpu};
use crate::simulation::Simulation;
use fairwind_sched::TaskId;
use fairwind_workload::TaskSpecId;
use std::collections::VecDeque;

/// What happened to a vCPU's thread, for its guest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// It entered guest mode.
    Entered(u32),
    /// It left guest mode.
    Left(u32),
    /// It goes on at another speed.
    Speed(u32),
}

/// Guests of a host.
#[derive(Default)]
pub(crate) struct Hypervisor {
    pub(crate) guests: Vec<Guest>,
    /// Those of each guest together, in its order.
    pub(crate) vcpus: Vec<Vcpu>,
    /// `[nr_cpus]`; empty without guests.
    pub(crate) rq_locks: Vec<RqLock>,
    pub(crate) notices: VecDeque<Notice>,
}

impl Hypervisor {
    /// The vCPU that an instance of a task of the workload is, if it is one.
    pub(crate) fn vcpu_of(&self, spec: TaskSpecId, instance: u32) -> u32 {
        let guest = self.guests.iter().find(|guest| guest.threads == spec);
        guest.map_or(NO_VCPU, |guest| guest.first_vcpu + instance)
    }
}

impl Simulation {
    /// A vCPU's thread has come into being.
    pub(crate) fn vcpu_created(&mut self, task: TaskId, program: usize) {
        if self.hypervisor.guests.is_empty() {
            return;
        }
        let spec = self.runtime.spec(program);
        let vcpu = self
            .hypervisor
            .vcpu_of(spec, self.runtime.instance(program));
        self.tasks[task.idx()].vcpu = vcpu;
        if vcpu != NO_VCPU {
            self.hypervisor.vcpus[vcpu as usize].task = task;
        }
    }
}
