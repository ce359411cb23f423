//! The guest's side: CPUs that somebody else runs, and interrupts that wait for them.
//!
//! Model.       A CPU advances while its vCPU is in guest mode. Whatever comes for it (timers, ticks, interrupts of other
//!              CPUs) waits until it enters, and is then taken in the order in which it came. Time it was kept from is stolen,
//!              or idle if it had halted; steal time, which KVM tells the guest, is what its thread waited for a CPU.
//! Source.      arch/x86/kernel/kvm.c `kvm_steal_clock`, kernel/sched/core.c `update_rq_clock_task` @ 6.12.117.

use crate::cpu::Segment;
use crate::event::Event;
use crate::simulation::Simulation;
use crate::speed::Speed;
use fairwind_machine::{Distance, Machine};
use fairwind_sched::{CpuId, Nanos};
use fairwind_workload::{SemId, Spinlocks};
use std::collections::VecDeque;

/// What a guest wants of its host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// The CPU has nothing to do.
    Halt(CpuId),
    /// An interrupt from one CPU to another.
    Ipi { from: CpuId, to: CpuId },
    /// Something else that waits for the CPU: a timer.
    Timer(CpuId),
    /// The CPU spun for its whole window.
    Spin(CpuId),
    /// The CPU waits for a lock, halted.
    PvWait(CpuId),
    /// The CPU put something into a virtqueue.
    Notify { cpu: CpuId, semaphore: SemId },
    /// The CPU that waits so has its lock.
    PvKick { from: CpuId, to: CpuId },
}

/// A CPU of a guest.
#[derive(Clone, Debug)]
pub(crate) struct VirtualCpu {
    /// In guest mode.
    pub(crate) runs: bool,
    /// Its speed, that of the host's CPU.
    pub(crate) speed: Speed,
    /// The host's CPU, the last one while it does not run.
    pub(crate) host: CpuId,
    /// Events that wait for it to run.
    pending: VecDeque<Event>,
    /// Time it could have executed and was not in guest mode.
    pub(crate) stolen_ns: Nanos,
    /// How long it may spin before it exits; none: for ever.
    pub(crate) spin_window_ns: Option<Nanos>,
}

/// What lies under a guest.
pub(crate) struct Platform {
    pub(crate) cpus: Vec<VirtualCpu>,
    pub(crate) requests: VecDeque<Request>,
    /// The machine of the host, which says how far CPUs are from each other.
    machine: Machine,
    pub(crate) spinlocks: Spinlocks,
}

impl Platform {
    pub(crate) fn new(nr_cpus: usize, machine: Machine, spinlocks: Spinlocks) -> Platform {
        let cpu = VirtualCpu {
            runs: false,
            speed: Speed::REFERENCE,
            host: CpuId(0),
            pending: VecDeque::new(),
            stolen_ns: 0,
            spin_window_ns: None,
        };
        Platform {
            cpus: vec![cpu; nr_cpus],
            requests: VecDeque::new(),
            machine,
            spinlocks,
        }
    }
}

impl Simulation {
    /// How far apart two CPUs are: of a guest, those of the host that they are on.
    #[inline]
    pub(crate) fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        match &self.platform {
            None => self.machine.distance(a, b),
            Some(platform) => {
                let host = |cpu: CpuId| platform.cpus[cpu.idx()].host;
                platform.machine.distance(host(a), host(b))
            }
        }
    }

    /// Does the CPU advance? Always but in a guest.
    #[inline]
    pub(crate) fn executes(&self, cpu: CpuId) -> bool {
        { self.platform.as_ref() }.is_none_or(|platform| platform.cpus[cpu.idx()].runs)
    }

    /// Keeps an event of a guest until its CPU runs; true: that is done, or it is for nobody any more.
    pub(crate) fn defer(&mut self, event: Event) -> bool {
        let cpu = match event {
            Event::Segment { .. } => return false,
            // A step of the CPU's own kernel, for which it is not interrupted.
            Event::Placed { cpu } if self.executes(cpu) => return false,
            Event::Placed { cpu } => cpu,
            Event::Ipi { cpu } | Event::Virtqueue { cpu, .. } => cpu,
            Event::Timer { cpu, .. } => self.online(cpu),
            Event::Tick { cpu } if self.tick_is_stopped(cpu) => {
                self.cpus[cpu.idx()].tick_queued = false;
                return true;
            }
            Event::Tick { cpu } => cpu,
            Event::Hrtick { cpu, generation } => {
                if self.cpus[cpu.idx()].hrtick_generation != generation {
                    return true;
                }
                cpu
            }
            Event::RtTimer { cpu, generation } => {
                if self.cpus[cpu.idx()].rt_timer_generation != generation {
                    return true;
                }
                cpu
            }
            Event::PeriodTimer { group, generation } => {
                if self.period_generations[group.idx()] != generation {
                    return true;
                }
                self.timer_cpu(group)
            }
            Event::SlackTimer { group } => self.timer_cpu(group),
            Event::Start { .. } => self.sched.active.first().unwrap_or(CpuId(0)),
        };
        if let Some(platform) = &mut self.platform {
            platform.cpus[cpu.idx()].pending.push_back(event);
            platform.requests.push_back(Request::Timer(cpu));
        }
        true
    }

    /// Sends an interrupt from one CPU of a guest to another.
    pub(crate) fn send_virtual_ipi(&mut self, from: CpuId, to: CpuId) {
        self.totals.ipis += 1;
        self.cpus[from.idx()].debt += self.machine.costs.kernel.ipi_send_ns;
        self.keep(to, Event::Ipi { cpu: to });
        self.request(Request::Ipi { from, to });
    }

    /// Keeps an interrupt for a CPU of a guest until it runs.
    pub(crate) fn keep(&mut self, cpu: CpuId, event: Event) {
        if let Some(platform) = &mut self.platform {
            platform.cpus[cpu.idx()].pending.push_back(event);
        }
    }

    /// Does an event wait for the CPU?
    pub(crate) fn has_pending(&self, cpu: CpuId) -> bool {
        { self.platform.as_ref() }.is_some_and(|p| !p.cpus[cpu.idx()].pending.is_empty())
    }

    /// A CPU of a guest goes on, at this time, on this CPU of the host; `steal` is what its thread has waited since the
    /// last time.
    pub(crate) fn virtual_cpu_runs(
        &mut self,
        cpu: CpuId,
        now: Nanos,
        host: CpuId,
        speed: Speed,
        steal: Nanos,
        spin_window_ns: Option<Nanos>,
    ) {
        self.now = now;
        self.account(cpu);
        self.sched.rqs[cpu].nontask_time += steal;
        let Some(platform) = &mut self.platform else {
            return;
        };
        let c = &mut platform.cpus[cpu.idx()];
        (c.runs, c.host, c.speed, c.spin_window_ns) = (true, host, speed, spin_window_ns);
        let pending = std::mem::take(&mut c.pending);
        if pending.is_empty() {
            self.resume(cpu);
        }
        for event in pending {
            self.take(event);
        }
    }

    /// A CPU of a guest goes on at another speed.
    pub(crate) fn virtual_cpu_speed(&mut self, cpu: CpuId, now: Nanos, speed: Speed) {
        self.now = now;
        if !self.executes(cpu) {
            return;
        }
        self.charge(cpu);
        if let Some(platform) = &mut self.platform {
            platform.cpus[cpu.idx()].speed = speed;
        }
        self.resume(cpu);
    }

    /// A CPU of a guest stands still from now on; was it in its kernel?
    pub(crate) fn virtual_cpu_stops(&mut self, cpu: CpuId, now: Nanos) -> bool {
        self.now = now;
        let in_user = matches!(self.cpus[cpu.idx()].segment, Segment::User { .. });
        let locked = self.tasks[self.sched.rqs[cpu].curr.idx()].preempt_count > 0;
        let in_kernel = !in_user || locked;
        self.charge(cpu);
        self.account(cpu);
        if let Some(platform) = &mut self.platform {
            platform.cpus[cpu.idx()].runs = false;
        }
        in_kernel
    }

    /// Asks the host for something, in a guest.
    pub(crate) fn request(&mut self, request: Request) {
        if let Some(platform) = &mut self.platform {
            platform.requests.push_back(request);
        }
    }
}
