//! Virtqueues: how a guest's tasks reach threads of the VMM, and these the guest.
//!
//! Model.       A virtqueue is a semaphore of each kernel. A guest's task that posts to its own makes its vCPU exit, and adds
//!              one to the host's on the CPU where the vCPU was: a notification (ioeventfd). A task of the host that posts
//!              to its own adds one to the guest's by an interrupt, for which the vCPU is kicked (irqfd).
//! Source.      virt/kvm/eventfd.c `ioeventfd_write`, `irqfd_wakeup` @ 6.1.192; drivers/vhost/vhost.c `vhost_signal`.
//! Deviations.  Neither side suppresses notifications while the other is busy.

use super::platform::Request;
use crate::event::Event;
use crate::simulation::Simulation;
use fairwind_sched::CpuId;
use fairwind_sched::flags::WF_FROM_IRQ;
use fairwind_workload::{Effect, SemId};

impl Simulation {
    /// The task that runs on `cpu` posts to its side of a virtqueue.
    pub(crate) fn notify(&mut self, cpu: CpuId, semaphore: SemId) {
        self.cpus[cpu.idx()].debt += self.machine.costs.kernel.syscall_ns;
        if self.platform.is_some() {
            return self.request(Request::Notify { cpu, semaphore });
        }
        let found = self
            .hypervisor
            .guests
            .iter()
            .enumerate()
            .find_map(|(idx, guest)| {
                let queue = { guest.virtqueues.iter() }.find(|queue| queue.host == semaphore)?;
                Some((idx, *queue))
            });
        let (guest, queue) = found.expect("semaphores cross by virtqueues only");
        let to = CpuId(queue.vcpu);
        let guest = &mut self.hypervisor.guests[guest];
        let vcpu = guest.first_vcpu + queue.vcpu;
        let semaphore = queue.guest;
        guest.sim.keep(to, Event::Virtqueue { cpu: to, semaphore });
        self.kick(cpu, vcpu);
    }

    /// The guest's CPU `cpu` has posted to its side of a virtqueue.
    pub(crate) fn notified(&mut self, guest: usize, cpu: CpuId, semaphore: SemId) {
        let vcpu = self.vcpu_at(guest, cpu);
        let host = self.hypervisor.vcpus[vcpu as usize].host;
        let queues = &self.hypervisor.guests[guest].virtqueues;
        let queue = queues.iter().find(|queue| queue.guest == semaphore);
        let queue = *queue.expect("semaphores cross by virtqueues only");
        self.on_behalf_of(vcpu, |sim| {
            if let Some(task) = sim.post(queue.host) {
                sim.wake_from_program(host, sim.task_ids[task], 0);
            }
        });
    }

    /// A guest's CPU takes the interrupt of a virtqueue.
    pub(crate) fn virtqueue_interrupt(&mut self, cpu: CpuId, semaphore: SemId) {
        self.enter_irq(cpu, self.machine.costs.kernel.interrupt_ns);
        if let Some(task) = self.post(semaphore) {
            self.wake(cpu, self.task_ids[task], WF_FROM_IRQ);
        }
        self.leave_irq(cpu);
    }

    /// Adds one to a semaphore; who is to be woken, one at most.
    fn post(&mut self, semaphore: SemId) -> Option<usize> {
        let mut effects = std::mem::take(&mut self.program_effects);
        self.runtime.post(semaphore, &mut effects);
        let woken = effects.list.iter().find_map(|effect| match effect {
            Effect::Wake { task, .. } => Some(*task),
            _ => None,
        });
        effects.clear();
        self.program_effects = effects;
        woken
    }
}
