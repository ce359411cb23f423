//! Settling between host and guests: what happened to vCPUs' threads, and what guests ask for.
//!
//! Model.       Notes are taken in the order in which they were made, the host's before the guests', until there are none.

use super::hypervisor::Notice;
use super::platform::Request;
use super::vcpu::Next;
use crate::event::Event;
use crate::simulation::Simulation;
use fairwind_guest::Mode;
use fairwind_sched::{CpuId, Feature, Nanos};

impl Simulation {
    /// Carries out all notes; to be called after each event while there are guests.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(notice) = self.hypervisor.notices.pop_front() {
                self.tell_guest(notice);
            }
            let mut guests = self.hypervisor.guests.iter_mut().enumerate();
            let request = guests.find_map(|(idx, guest)| {
                let requests = &mut guest.sim.platform.as_mut()?.requests;
                requests.pop_front().map(|request| (idx, request))
            });
            match request {
                Some((guest, request)) => self.grant(guest, request),
                None => return,
            }
        }
    }

    fn tell_guest(&mut self, notice: Notice) {
        let now = self.now;
        match notice {
            Notice::Entered(vcpu) => {
                let window_ns = self.spin_window_ns(vcpu);
                let v = &mut self.hypervisor.vcpus[vcpu as usize];
                let steal = v.account.steal(now);
                let told = std::mem::replace(&mut v.steal_told, steal);
                let (guest, cpu, host) = (v.guest, v.cpu, v.host);
                let speed = self.speed(host);
                let sim = &mut self.hypervisor.guests[guest].sim;
                sim.virtual_cpu_runs(cpu, now, host, speed, steal - told, window_ns);
            }
            Notice::Left(vcpu) => {
                let v = &mut self.hypervisor.vcpus[vcpu as usize];
                let sim = &mut self.hypervisor.guests[v.guest].sim;
                v.in_kernel = sim.virtual_cpu_stops(v.cpu, now);
            }
            Notice::Speed(vcpu) => {
                let v = &self.hypervisor.vcpus[vcpu as usize];
                let (guest, cpu) = (v.guest, v.cpu);
                let speed = self.speed(v.host);
                let sim = &mut self.hypervisor.guests[guest].sim;
                sim.virtual_cpu_speed(cpu, now, speed);
            }
        }
    }

    /// How long the vCPU may spin, in ns; none: the hardware does not watch.
    fn spin_window_ns(&self, vcpu: u32) -> Option<Nanos> {
        let v = &self.hypervisor.vcpus[vcpu as usize];
        let params = &self.hypervisor.guests[v.guest].kvm.ple;
        let khz = self.machine.costs.frequency.base_khz.max(1);
        let watched = params.gap > 0 && self.sched.profile.features.has(Feature::PLE);
        watched.then(|| u64::from(v.ple.cycles()) * 1_000_000 / khz)
    }

    pub(crate) fn vcpu_at(&self, guest: usize, cpu: CpuId) -> u32 {
        self.hypervisor.guests[guest].first_vcpu + cpu.0
    }

    fn grant(&mut self, guest: usize, request: Request) {
        match request {
            Request::Halt(cpu) => self.halt(guest, cpu),
            Request::Ipi { from, to } | Request::PvKick { from, to } => {
                let to = self.vcpu_at(guest, to);
                let sender = self.vcpu_at(guest, from);
                let host = self.hypervisor.vcpus[sender as usize].host;
                self.hypervisor.vcpus[sender as usize].exits.ipi += 1;
                self.on_behalf_of(sender, |sim| sim.kick(host, to));
            }
            Request::Notify { cpu, semaphore } => self.notified(guest, cpu, semaphore),
            Request::Timer(cpu) => self.timer_kick(self.vcpu_at(guest, cpu)),
            Request::Spin(cpu) => self.pause(guest, cpu),
            Request::PvWait(cpu) => {
                let vcpu = self.vcpu_at(guest, cpu);
                if self.mode(vcpu) == Mode::Guest && self.guest_spins(guest, cpu) {
                    let sim = &mut self.hypervisor.guests[guest].sim;
                    let curr = sim.sched.rqs[cpu].curr;
                    sim.tasks[curr.idx()].pv_waits = true;
                    self.halt_vcpu(vcpu);
                }
            }
        }
    }

    /// Does something in the host's kernel on behalf of a vCPU, which exits for it unless it has left guest mode meanwhile.
    pub(crate) fn on_behalf_of(&mut self, vcpu: u32, act: impl FnOnce(&mut Simulation)) {
        let host = self.hypervisor.vcpus[vcpu as usize].host;
        // Where exits take no time, its thread may even sleep by now and its CPU be idle.
        let goes_on = self.mode(vcpu) == Mode::Guest || self.sched.is_idle(host);
        if goes_on {
            self.charge(host);
        }
        act(self);
        if goes_on {
            self.carry_out_effects(host);
            self.resume(host);
        }
    }

    pub(crate) fn mode(&self, vcpu: u32) -> Mode {
        self.hypervisor.vcpus[vcpu as usize].account.mode()
    }

    /// The guest's CPU has executed HLT, unless an interrupt came first.
    fn halt(&mut self, guest: usize, cpu: CpuId) {
        let vcpu = self.vcpu_at(guest, cpu);
        let sim = &self.hypervisor.guests[guest].sim;
        let idle = sim.cpus[cpu.idx()].idle_since.is_some() && !sim.has_pending(cpu);
        if self.mode(vcpu) != Mode::Guest || !idle {
            return;
        }
        self.halt_vcpu(vcpu);
    }

    fn guest_spins(&self, guest: usize, cpu: CpuId) -> bool {
        self.hypervisor.guests[guest].sim.is_spinning(cpu)
    }

    /// The vCPU exits because it spun for too long, unless the lock came meanwhile.
    fn pause(&mut self, guest: usize, cpu: CpuId) {
        let vcpu = self.vcpu_at(guest, cpu);
        if self.mode(vcpu) != Mode::Guest || !self.guest_spins(guest, cpu) {
            return;
        }
        let host = self.hypervisor.vcpus[vcpu as usize].host;
        self.charge(host);
        self.begin_round(vcpu);
        self.resume(host);
    }

    /// The vCPU, in guest mode, exits and halts.
    fn halt_vcpu(&mut self, vcpu: u32) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.exits.halt += 1;
        v.next = Next::Halt;
        let host = v.host;
        self.charge(host);
        self.resume(host);
    }

    /// An event for a vCPU came from what runs on `from`.
    pub(crate) fn kick(&mut self, from: CpuId, vcpu: u32) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.kicked = true;
        let (host, task) = (v.host, v.task);
        match v.account.mode() {
            Mode::Guest if host != from => self.send_ipi(from, host),
            Mode::Poll => self.end_poll(host),
            Mode::Halted => {
                self.wake_from_program(from, task, 0);
                self.carry_out_effects(from);
            }
            Mode::Guest | Mode::Exit | Mode::Steal | Mode::Absent => {}
        }
    }

    /// A timer of the guest has expired, which the host's timer of the vCPU's CPU finds out.
    fn timer_kick(&mut self, vcpu: u32) {
        let v = &mut self.hypervisor.vcpus[vcpu as usize];
        v.kicked = true;
        let (host, task) = (v.host, v.task);
        match v.account.mode() {
            Mode::Guest => self.interrupt_vcpu(host),
            Mode::Poll => self.end_poll(host),
            Mode::Halted => {
                let task = self.tasks[task.idx()].program;
                self.queue.push(
                    self.now,
                    Event::Timer {
                        task,
                        cpu: host,
                        awake: false,
                    },
                );
            }
            Mode::Exit | Mode::Steal | Mode::Absent => {}
        }
    }

    /// The thread that polls on a CPU finds an event.
    fn end_poll(&mut self, host: CpuId) {
        self.charge(host);
        self.resume(host);
    }
}
