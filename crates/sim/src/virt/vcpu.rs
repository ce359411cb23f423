//! A vCPU's thread on the host: KVM's loop around guest mode.
//!
//! Model.       The thread enters guest mode and stays there until the host interrupts it, or the guest halts, sends an
//!              interrupt or spins too long. An exit costs `vm_exit_ns` in the host's kernel, the way back included. A halted
//!              vCPU polls for an event for a while if it is alone on its CPU, then its thread sleeps.
//! Source.      virt/kvm/kvm_main.c @ 6.12.117: `kvm_vcpu_halt`, `kvm_vcpu_block`, `kvm_sched_in`, `kvm_sched_out`,
//!              `kvm_vcpu_can_poll`.
//! Deviations.  Polling sees that another task was queued on its CPU only when it is asked to give way.

use super::directed_yield::Attempt;
use super::hypervisor::Notice;
use crate::cpu::Segment;
use crate::simulation::Simulation;
use fairwind_guest::{Account, HaltPoll, Mode, PleParams, PleWindow, Round, SpinLoop};
use fairwind_sched::{CpuId, Nanos, TaskId, TaskState};

/// No vCPU: the task is an ordinary one.
pub(crate) const NO_VCPU: u32 = u32::MAX;

/// What the thread does when it is on a CPU and done with its kernel work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Enter guest mode.
    Enter,
    /// Halt.
    Halt,
    /// Look for an event until a time.
    Poll { until: Nanos },
    /// Sleep until there is an event.
    Block,
    /// It slept: find out for how long.
    Woken,
    /// Look for a vCPU to yield to.
    OnSpin(Round),
    /// Take the first lock.
    LockFirst(Attempt),
    /// Take the second lock.
    LockSecond(Attempt),
    /// Look at the target under both locks.
    Locked(Attempt),
    /// Yield to it, or not.
    Decide(Attempt),
    /// It yielded to that one of its guest.
    Yielded { boosted: usize },
}

/// Exits by reason.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Exits {
    pub(crate) halt: u64,
    pub(crate) ipi: u64,
    pub(crate) pause: u64,
    /// All, those for the host's interrupts included.
    pub(crate) all: u64,
}

/// A vCPU.
#[derive(Clone, Debug)]
pub(crate) struct Vcpu {
    pub(crate) guest: usize,
    /// Its CPU in the guest.
    pub(crate) cpu: CpuId,
    /// Its thread; none before it starts.
    pub(crate) task: TaskId,
    /// The host's CPU it is or was on.
    pub(crate) host: CpuId,
    pub(crate) account: Account,
    pub(crate) next: Next,
    /// An event waits for it.
    pub(crate) kicked: bool,
    /// It was preempted, or woken, and has not run since.
    pub(crate) ready: bool,
    pub(crate) preempted: bool,
    /// It was in its kernel when it left guest mode.
    pub(crate) in_kernel: bool,
    pub(crate) halt_poll: HaltPoll,
    halted_at: Nanos,
    pub(crate) ple: PleWindow,
    pub(crate) spin: SpinLoop,
    /// The run queue whose lock it waits for.
    pub(crate) waits_for: Option<CpuId>,
    /// Of its steal time, what the guest knows.
    pub(crate) steal_told: Nanos,
    pub(crate) exits: Exits,
}

impl Vcpu {
    pub(crate) fn new(guest: usize, index: u32, ple: &PleParams) -> Vcpu {
        Vcpu {
            guest,
            cpu: CpuId(index),
            task: TaskId::NONE,
            host: CpuId(0),
            account: Account::default(),
            next: Next::Enter,
            kicked: false,
            ready: false,
            preempted: false,
            in_kernel: false,
            halt_poll: HaltPoll::default(),
            halted_at: 0,
            ple: PleWindow::new(ple),
            spin: SpinLoop::default(),
            waits_for: None,
            steal_told: 0,
            exits: Exits::default(),
        }
    }
}

impl Simulation {
    fn vcpu(&mut self, vcpu: u32) -> &mut Vcpu {
        &mut self.hypervisor.vcpus[vcpu as usize]
    }

    /// The thread's next step; true: a stretch of execution is planned.
    pub(crate) fn vcpu_step(&mut self, cpu: CpuId, vcpu: u32) -> bool {
        let now = self.now;
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        if v.waits_for.is_some() {
            self.plan_lock_wait(cpu);
            return true;
        }
        match v.next {
            Next::Enter => {
                v.account.enter(Mode::Guest, now);
                v.kicked = false;
                self.hypervisor.notices.push_back(Notice::Entered(vcpu));
                self.plan_open(cpu, Segment::Guest);
                return true;
            }
            Next::Halt => {
                v.halted_at = now;
                let params = &self.hypervisor.guests[v.guest].kvm.halt_poll;
                let time = v.halt_poll.time(params);
                v.account.enter(Mode::Poll, now);
                v.next = if time == 0 {
                    Next::Block
                } else {
                    Next::Poll { until: now + time }
                };
            }
            Next::Poll { until } => {
                if v.kicked {
                    self.halt_is_over(vcpu);
                } else if now < until && self.sched.rqs[cpu].nr_running == 1 {
                    self.plan(cpu, Segment::Poll, until - now);
                    return true;
                } else {
                    v.next = Next::Block;
                }
            }
            Next::Block => {
                if v.kicked {
                    self.halt_is_over(vcpu);
                } else {
                    v.next = Next::Woken;
                    self.sched.set_current_state(cpu, TaskState::Interruptible);
                    self.switch(cpu);
                }
            }
            Next::Woken => self.halt_is_over(vcpu),
            Next::OnSpin(round) => self.on_spin(cpu, vcpu, round),
            Next::LockFirst(attempt) => self.lock_first(cpu, vcpu, attempt),
            Next::LockSecond(attempt) => self.lock_second(cpu, vcpu, attempt),
            Next::Locked(attempt) => self.look_locked(cpu, vcpu, attempt),
            Next::Decide(attempt) => self.decide(cpu, vcpu, attempt),
            Next::Yielded { boosted } => self.yielded(vcpu, boosted),
        }
        false
    }

    /// The CPU is asked to give way while the running thread polls: it sleeps, and is not preempted.
    pub(crate) fn poll_gives_way(&mut self, cpu: CpuId, vcpu: u32) {
        if vcpu == NO_VCPU {
            return;
        }
        let v = self.vcpu(vcpu);
        if matches!(v.next, Next::Poll { .. } | Next::Block) && !v.kicked {
            v.next = Next::Woken;
            self.sched.set_current_state(cpu, TaskState::Interruptible);
        }
    }

    /// The vCPU goes on after a halt; polling learns from it.
    fn halt_is_over(&mut self, vcpu: u32) {
        let now = self.now;
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        let params = &self.hypervisor.guests[v.guest].kvm.halt_poll;
        v.halt_poll.halted(now - v.halted_at, params);
        if v.account.mode() == Mode::Poll {
            v.account.enter(Mode::Exit, now);
        }
        v.next = Next::Enter;
    }

    /// The running thread leaves guest mode.
    pub(crate) fn vcpu_left(&mut self, task: TaskId) {
        let exit_ns = self.machine.costs.kernel.vm_exit_ns;
        let run = &mut self.tasks[task.idx()];
        run.kernel_left += exit_ns;
        let (vcpu, now) = (run.vcpu, self.now);
        let v = self.vcpu(vcpu);
        v.exits.all += 1;
        v.account.enter(Mode::Exit, now);
        self.hypervisor.notices.push_back(Notice::Left(vcpu));
    }

    /// The thread is switched in.
    pub(crate) fn vcpu_scheduled_in(&mut self, cpu: CpuId, vcpu: u32) {
        let now = self.now;
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.account.enter(Mode::Exit, now);
        (v.ready, v.preempted, v.host) = (false, false, cpu);
        v.ple.scheduled_in(&self.hypervisor.guests[v.guest].kvm.ple);
    }

    /// The thread is switched out.
    pub(crate) fn vcpu_scheduled_out(&mut self, vcpu: u32, runnable: bool) {
        let now = self.now;
        let v = self.vcpu(vcpu);
        let mode = if runnable { Mode::Steal } else { Mode::Halted };
        v.account.enter(mode, now);
        (v.ready, v.preempted) = (runnable, runnable);
    }

    /// The thread can run again.
    #[inline]
    pub(crate) fn vcpu_woken(&mut self, task: TaskId) {
        let (vcpu, now) = (self.tasks[task.idx()].vcpu, self.now);
        if vcpu == NO_VCPU {
            return;
        }
        let v = self.vcpu(vcpu);
        if matches!(v.account.mode(), Mode::Halted | Mode::Absent) {
            v.account.enter(Mode::Steal, now);
            v.ready = true;
        }
    }
}
