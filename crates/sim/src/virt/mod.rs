//! Virtual machines: a simulation inside the simulation of its host.
//!
//! Model.       A guest is a [`Simulation`] of its own: the same scheduler, programs and costs, on CPUs that advance only while
//!              their vCPU's thread is in guest mode on the host. Host and guests share one clock and one loop, which takes
//!              the earliest event of all; at equal times the host's goes first, then the guests' in order.
//!              Neither calls the other while it handles an event. What the other must know is noted, and the notes are
//!              settled before the next event, at the same time.
//! Invariants.  A guest's CPU executes, takes interrupts and decides only while its vCPU is in guest mode.
//! Units.       ns of the host's clock, which the guest's is too.
//! Source.      virt/kvm/kvm_main.c, arch/x86/kvm @ 6.1.192, 6.12.117.
//! Deviations.  An interrupt that was sent to a vCPU reaches it when it next enters guest mode; one that runs is brought out
//!              for it (no posted interrupts). The guest's own costs are the host's: nested paging is free. Rearming the
//!              guest's timers does not exit. A guest's timer takes no time on the host unless it wakes or interrupts. A guest's kernel is
//!              not told which vCPUs are preempted (`vcpu_is_preempted`), and takes such a one for idle if it has no task.
//! Not here.    What KVM decides (see `guest`), scheduling (see `sched`).

mod directed_yield;
mod guest;
mod hypervisor;
mod params;
mod platform;
mod report;
mod rq_lock;
mod settle;
mod traces;
mod vcpu;
mod virtqueue;

pub(crate) use hypervisor::{Hypervisor, Notice};
pub(crate) use platform::{Platform, Request};
pub use report::{GuestReport, VcpuReport, YieldReport};
pub(crate) use vcpu::NO_VCPU;

use crate::simulation::Simulation;
use fairwind_sched::Nanos;

impl Simulation {
    /// Time of the next event of the host or a guest, and whose it is: none for the host.
    pub(crate) fn next_event(&mut self) -> Option<(Nanos, Option<usize>)> {
        let mut next = self.queue.peek_time().map(|time| (time, None));
        for (idx, guest) in self.hypervisor.guests.iter_mut().enumerate() {
            if let Some(time) = guest.sim.queue.peek_time()
                && next.is_none_or(|(earliest, _)| time < earliest)
            {
                next = Some((time, Some(idx)));
            }
        }
        next
    }
}
