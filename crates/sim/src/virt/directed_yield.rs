//! The handler of pause-loop exits: a vCPU that spins gives its CPU to one that may hold the lock.
//!
//! Model.       The handler goes through the guest's vCPUs as [`Round`] says. Looking at one fetches a line of it. One that
//!              is worth a try is yielded to: both run queues are locked, one after the other, and only then it shows
//!              whether it runs, sleeps, or waits. With YIELD_TO_SKIP_GUEST_MODE one in guest mode is not worth it, with
//!              YIELD_TO_READY none that runs. YIELD_TO_LOCKLESS_CHECK looks at that before the locks;
//!              YIELD_TO_SKIP_YIELDING passes over one whose run queue is locked by another directed yield,
//!              YIELD_TO_SKIP_HOST_MODE one whose CPU is not in guest mode. A yield that succeeds gives the CPU away in
//!              the middle of the round: until its thread runs again, the vCPU is in it, and others begin theirs where it
//!              began.
//! Source.      virt/kvm/kvm_main.c `kvm_vcpu_on_spin`, kernel/sched/core.c `yield_to` @ 6.1.192. YIELD_TO_SKIP_GUEST_MODE:
//!              PF_VCPU in `kvm_vcpu_yield_to` @ 3.6. YIELD_TO_LOCKLESS_CHECK and the two further ideas: Andrew Theurer,
//!              linux-kernel, September 2012.
//! Deviations.  The handler is not preempted, whatever the preemption model.

use super::vcpu::Next;
use crate::cpu::Segment;
use crate::simulation::Simulation;
use fairwind_guest::{Mode, Round, VcpuView};
use fairwind_sched::{CpuId, Feature, Nanos, TaskState};

/// Directed yields of a guest.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct YieldStats {
    /// Targets that were tried.
    pub(crate) attempts: u64,
    /// Of these, given up because the target ran or slept.
    pub(crate) failed_running: u64,
    /// Of these, given up because both queues held one task only.
    pub(crate) failed_alone: u64,
    /// Of these, passed over by one of the switches.
    pub(crate) skipped: u64,
    /// Of these, successful.
    pub(crate) yielded: u64,
    /// Attempts that took the locks.
    pub(crate) locked: u64,
}

/// A yield under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    round: Round,
    /// Among all vCPUs of the host.
    target: u32,
    /// The locks, in order; equal if it is one.
    locks: [CpuId; 2],
}

impl Simulation {
    /// The vCPU has spun through its window.
    pub(crate) fn begin_round(&mut self, vcpu: u32) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        let guest = &self.hypervisor.guests[v.guest];
        v.exits.pause += 1;
        v.ple.exited(&guest.kvm.ple);
        let round = Round::new(
            v.cpu.idx(),
            guest.nr_vcpus as usize,
            guest.last_boosted,
            &mut v.spin,
        );
        v.next = Next::OnSpin(round);
        self.tasks[v.task.idx()].preempt_count += 1;
    }

    /// Looks for a vCPU to yield to.
    pub(crate) fn on_spin(&mut self, cpu: CpuId, vcpu: u32, mut round: Round) {
        let v = &self.hypervisor.vcpus[vcpu as usize];
        let (guest, task) = (v.guest, v.task);
        let first = self.hypervisor.guests[guest].first_vcpu;
        let features = self.sched.profile.features;
        let ready_only = features.has(Feature::YIELD_TO_READY);
        let mut spent = 0;
        let next = loop {
            let Some(idx) = round.next_vcpu() else {
                self.end_round(vcpu);
                break Next::Enter;
            };
            let target = first + idx as u32;
            spent += self.look_at(cpu, target);
            let view = self.view(target);
            let spin = &mut self.hypervisor.vcpus[target as usize].spin;
            if !round.accepts(idx, view, spin, ready_only) {
                continue;
            }
            if features.has(Feature::YIELD_TO_SKIP_GUEST_MODE) && self.mode(target) == Mode::Guest {
                continue;
            }
            let stats = &mut self.hypervisor.guests[guest].yields;
            stats.attempts += 1;
            let target_task = self.hypervisor.vcpus[target as usize].task;
            let rq = self.sched.tasks[target_task].cpu;
            if features.has(Feature::YIELD_TO_NR_RUNNING)
                && self.sched.rqs[cpu].nr_running == 1
                && self.sched.rqs[rq].nr_running == 1
            {
                stats.failed_alone += 1;
                round.found_nothing();
                continue;
            }
            let t = &self.sched.tasks[target_task];
            if features.has(Feature::YIELD_TO_LOCKLESS_CHECK)
                && (t.on_cpu || t.state != TaskState::Running)
            {
                stats.failed_running += 1;
                continue;
            }
            let yielding =
                features.has(Feature::YIELD_TO_SKIP_YIELDING) && self.is_in_directed_yield(rq);
            let host_mode = features.has(Feature::YIELD_TO_SKIP_HOST_MODE)
                && self.cpus[rq.idx()].segment != Segment::Guest;
            let stats = &mut self.hypervisor.guests[guest].yields;
            if yielding || host_mode {
                stats.skipped += 1;
                continue;
            }
            stats.locked += 1;
            break Next::LockFirst(Attempt {
                round,
                target,
                locks: [cpu.min(rq), cpu.max(rq)],
            });
        };
        self.hypervisor.vcpus[vcpu as usize].next = next;
        self.tasks[task.idx()].kernel_left += spent;
    }

    /// Time to look at a vCPU.
    fn look_at(&self, cpu: CpuId, target: u32) -> Nanos {
        let host = self.hypervisor.vcpus[target as usize].host;
        let distance = self.machine.distance(host, cpu);
        self.machine.costs.search_ns.get(distance)
    }

    fn view(&self, vcpu: u32) -> VcpuView {
        let v = &self.hypervisor.vcpus[vcpu as usize];
        VcpuView {
            ready: v.ready,
            preempted: v.preempted,
            blocking: matches!(v.account.mode(), Mode::Halted | Mode::Absent),
            pending_interrupt: v.kicked,
            in_kernel: v.in_kernel,
        }
    }

    fn end_round(&mut self, vcpu: u32) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        Round::finish(&mut v.spin);
        self.tasks[v.task.idx()].preempt_count -= 1;
    }

    /// Takes the first lock.
    pub(crate) fn lock_first(&mut self, cpu: CpuId, vcpu: u32, attempt: Attempt) {
        self.hypervisor.vcpus[vcpu as usize].next = Next::LockSecond(attempt);
        self.rq_lock(cpu, vcpu, attempt.locks[0]);
    }

    /// Takes the second lock, if it is another one.
    pub(crate) fn lock_second(&mut self, cpu: CpuId, vcpu: u32, attempt: Attempt) {
        self.hypervisor.vcpus[vcpu as usize].next = Next::Locked(attempt);
        if attempt.locks[0] != attempt.locks[1] {
            self.rq_lock(cpu, vcpu, attempt.locks[1]);
        }
    }

    /// Both locks are held: looks at the target, which takes a line of it.
    pub(crate) fn look_locked(&mut self, cpu: CpuId, vcpu: u32, attempt: Attempt) {
        let spent = self.look_at(cpu, attempt.target);
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.next = Next::Decide(attempt);
        self.tasks[v.task.idx()].kernel_left += spent;
    }

    /// Yields or gives up, and unlocks.
    pub(crate) fn decide(&mut self, cpu: CpuId, vcpu: u32, attempt: Attempt) {
        let Attempt {
            mut round,
            target,
            locks,
        } = attempt;
        let t = &self.hypervisor.vcpus[target as usize];
        let (task, target_idx, guest) = (t.task, t.cpu.idx(), t.guest);
        let moved = !locks.contains(&self.sched.tasks[task].cpu);
        let yielded = if moved {
            None
        } else {
            Some(self.sched.yield_to(cpu, task, self.now))
        };
        let host = &mut self.hypervisor;
        let stats = &mut host.guests[guest].yields;
        let next = match yielded {
            // It moved meanwhile: lock the queues it is on now.
            None => {
                let rq = self.sched.tasks[task].cpu;
                Next::LockFirst(Attempt {
                    round,
                    target,
                    locks: [cpu.min(rq), cpu.max(rq)],
                })
            }
            Some(None) => {
                stats.failed_alone += 1;
                round.found_nothing();
                Next::OnSpin(round)
            }
            Some(Some(false)) => {
                stats.failed_running += 1;
                Next::OnSpin(round)
            }
            Some(Some(true)) => {
                stats.yielded += 1;
                Next::Yielded {
                    boosted: target_idx,
                }
            }
        };
        host.vcpus[vcpu as usize].next = next;
        self.rq_unlock(cpu, locks[0]);
        if locks[0] != locks[1] {
            self.rq_unlock(cpu, locks[1]);
        }
        self.carry_out_effects(cpu);
        if yielded == Some(Some(true)) {
            self.tasks[self.hypervisor.vcpus[vcpu as usize].task.idx()].preempt_count -= 1;
            self.switch(cpu);
        }
    }

    /// The vCPU that yielded runs again, and its round ends.
    pub(crate) fn yielded(&mut self, vcpu: u32, boosted: usize) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.next = Next::Enter;
        Round::finish(&mut v.spin);
        self.hypervisor.guests[v.guest].last_boosted = boosted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::testbed::with_costs;
    use crate::virt::vcpu::Vcpu;
    use fairwind_machine::Costs;
    use fairwind_sched::Release;

    #[test]
    fn who_yields_is_in_its_round_until_it_runs_again() {
        // CFS leaves the waiter its turn here: the holder has run for longer, by more than a wakeup granularity.
        for release in [Release::V6_12, Release::V6_18] {
            // The second vCPU is preempted while it holds the lock that the first comes for.
            let json = r#"{ "guests": { "vm": { "vcpus": 2, "workload": { "tasks": {
                "holder": { "cpus": [1], "loop": 1, "spin_lock": "l", "run": 10000, "spin_unlock": "l" },
                "waiter": { "cpus": [0], "loop": 1, "delay": 1000, "spin_lock": "l", "run": 1, "spin_unlock": "l" }
                } } } } }"#;
            let mut simulation = with_costs(Costs::none(), release, "1x1x1", json, 0);
            let mut now = 0;
            let mut steps_until = |simulation: &mut Simulation, waits: bool| {
                let gave_way = |v: &Vcpu| v.ready && matches!(v.next, Next::Yielded { .. });
                while gave_way(&simulation.hypervisor.vcpus[0]) != waits {
                    now += 100;
                    assert!(now < 20_000_000, "{release:?}: {waits}");
                    simulation.run_until(now);
                }
            };
            steps_until(&mut simulation, true);
            assert!(simulation.hypervisor.vcpus[0].spin.in_spin_loop);
            assert_eq!(simulation.hypervisor.guests[0].last_boosted, 0);
            steps_until(&mut simulation, false);
            assert!(!simulation.hypervisor.vcpus[0].spin.in_spin_loop);
            assert_eq!(simulation.hypervisor.guests[0].last_boosted, 1);
        }
    }
}
