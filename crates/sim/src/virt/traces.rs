//! Traces of guests beside that of their host.
//!
//! Model.       Each guest has a trace of its own, on the host's clock. Session numbers tie them together: 1 is the host.

use crate::simulation::Simulation;
use fairwind_sched::TaskId;
use fairwind_trace::TraceSink;

/// The session of the host.
const HOST: u64 = 1;

/// The session of a guest.
fn session_of(guest: usize) -> u64 {
    HOST + 1 + guest as u64
}

impl Simulation {
    /// Writes every event of a guest to a trace from now on; call before the run.
    pub fn trace_guest_to(&mut self, guest: usize, sinks: Vec<Box<dyn TraceSink>>) {
        let sim = &mut self.hypervisor.guests[guest].sim;
        sim.trace_to(sinks);
        if let Some(tracer) = &mut sim.tracer {
            tracer.session(session_of(guest), Some(HOST));
        }
    }

    /// Tells the host's trace of the guests, whose vCPUs' threads exist by now.
    pub(crate) fn trace_guests(&mut self) {
        let Some(tracer) = &mut self.tracer else {
            return;
        };
        let host = &self.hypervisor;
        if !host.guests.is_empty() {
            tracer.session(HOST, None);
        }
        for (idx, guest) in host.guests.iter().enumerate() {
            let first = guest.first_vcpu as usize;
            let vcpus = &host.vcpus[first..first + guest.nr_vcpus as usize];
            let threads: Vec<TaskId> = vcpus.iter().map(|vcpu| vcpu.task).collect();
            if threads.iter().all(|task| task.is_some()) {
                tracer.guest(&guest.name, session_of(idx), &threads);
            }
        }
    }
}
