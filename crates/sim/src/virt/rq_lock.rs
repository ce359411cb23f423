//! Run-queue locks that directed yields take: two at a time, by many vCPUs' threads at once.
//!
//! Model.       A lock has one owner, and waiters that spin on their CPUs and are served in the order in which they came.
//!              A context switch holds that of its CPU's queue from `schedule` until the next task runs.
//!              Two are taken in the order of their CPUs. Handing over costs by distance; of ticket locks
//!              (TICKET_SPINLOCKS) every waiter fetches the line, and the next is on average in the middle of them.
//! Source.      kernel/sched/core.c `double_rq_lock`, `__schedule`, `finish_lock_switch` @ 6.1.192.
//! Deviations.  Others that need such a lock (switches, wakeups, the tick) wait as long as its owner and the present waiters will take,
//!              but do not queue themselves.

use super::vcpu::NO_VCPU;
use crate::cpu::Segment;
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Feature, Nanos};
use std::collections::VecDeque;

/// The lock of one run queue, as far as directed yields are concerned.
#[derive(Clone, Debug)]
pub(crate) struct RqLock {
    owner: u32,
    waiters: VecDeque<u32>,
    last: CpuId,
    /// Until when a context switch of its CPU holds it.
    switching_until: Nanos,
}

impl RqLock {
    /// That of a CPU.
    pub(crate) fn of(cpu: CpuId) -> RqLock {
        RqLock {
            owner: NO_VCPU,
            waiters: VecDeque::new(),
            last: cpu,
            switching_until: 0,
        }
    }
}

impl Simulation {
    /// The thread of `vcpu`, which runs on `cpu`, takes the lock of `rq`, or begins to wait for it.
    pub(crate) fn rq_lock(&mut self, cpu: CpuId, vcpu: u32, rq: CpuId) {
        let transfer = self.rq_lock_transfer(self.hypervisor.rq_locks[rq.idx()].last, cpu, 0);
        let task = self.hypervisor.vcpus[vcpu as usize].task;
        let lock = &mut self.hypervisor.rq_locks[rq.idx()];
        if lock.owner == NO_VCPU {
            (lock.owner, lock.last) = (vcpu, cpu);
            let switching = lock.switching_until.saturating_sub(self.now);
            self.tasks[task.idx()].kernel_left += transfer + self.stall_work(cpu, switching);
        } else {
            lock.waiters.push_back(vcpu);
            self.hypervisor.vcpus[vcpu as usize].waits_for = Some(rq);
        }
    }

    /// Gives the lock of `rq` to the first who waits.
    pub(crate) fn rq_unlock(&mut self, cpu: CpuId, rq: CpuId) {
        let lock = &mut self.hypervisor.rq_locks[rq.idx()];
        let waiting = lock.waiters.len() as u64;
        let Some(next) = lock.waiters.pop_front() else {
            lock.owner = NO_VCPU;
            return;
        };
        let v = &mut self.hypervisor.vcpus[next as usize];
        v.waits_for = None;
        let (at, task) = (v.host, v.task);
        lock.owner = next;
        lock.last = at;
        let handover = self.rq_lock_transfer(cpu, at, waiting - 1);
        self.charge(at);
        self.tasks[task.idx()].kernel_left += handover;
        self.resume(at);
    }

    fn rq_lock_transfer(&self, from: CpuId, to: CpuId, others: u64) -> Nanos {
        let costs = &self.machine.costs;
        let line = costs.lock_handover_ns.get(self.machine.distance(from, to));
        if self.sched.profile.features.has(Feature::TICKET_SPINLOCKS) {
            line + line * others / 2
        } else {
            line
        }
    }

    /// A context switch of `cpu`, which takes so much work, holds the lock of its queue; what it has to wait for it.
    pub(crate) fn rq_lock_for_switch(&mut self, cpu: CpuId, work: Nanos) -> Nanos {
        if self.hypervisor.rq_locks.is_empty() {
            return 0;
        }
        let wait = self.rq_lock_wait(cpu);
        let until = self.now + self.kernel_ns(cpu, wait + work);
        self.hypervisor.rq_locks[cpu.idx()].switching_until = until;
        wait
    }

    /// How long somebody else waits for the lock of `rq`.
    pub(crate) fn rq_lock_wait(&self, rq: CpuId) -> Nanos {
        let Some(lock) = self.hypervisor.rq_locks.get(rq.idx()) else {
            return 0;
        };
        let ahead = u64::from(lock.owner != NO_VCPU) + lock.waiters.len() as u64;
        ahead * (self.rq_lock_transfer(lock.last, rq, 0) + self.machine.costs.kernel.atomic_ns)
    }

    /// Is the lock of `rq` taken or wanted by a directed yield?
    pub(crate) fn is_in_directed_yield(&self, rq: CpuId) -> bool {
        self.hypervisor.rq_locks[rq.idx()].owner != NO_VCPU
    }

    /// Waits for a lock.
    pub(crate) fn plan_lock_wait(&mut self, cpu: CpuId) {
        self.plan_open(cpu, Segment::LockWait);
    }
}

#[cfg(test)]
mod tests {
    use crate::monitor::testbed::with_costs;
    use fairwind_machine::Costs;
    use fairwind_sched::{CpuId, Release};

    #[test]
    fn a_directed_yield_waits_until_a_switch_is_done() {
        let json = r#"{ "guests": { "vm": { "vcpus": 2, "workload": { "tasks": { "hog": { "run": 100 } } } } } }"#;
        let mut simulation = with_costs(Costs::none(), Release::V6_1, "1x2x1", json, 0);
        simulation.run_until(10_000);
        let rq = CpuId(0);
        assert_eq!(simulation.rq_lock_for_switch(rq, 5_000), 0);
        simulation.now += 2_000;
        let task = simulation.hypervisor.vcpus[1].task;
        let before = simulation.tasks[task.idx()].kernel_left;
        simulation.rq_lock(CpuId(1), 1, rq);
        assert_eq!(simulation.tasks[task.idx()].kernel_left - before, 3_000);
    }
}
