//! CPUs that go offline and come back while they are recorded.
//!
//! Model.      The thread `cpuhp/N` takes its CPU down and brings it up, step by step. It begins by giving no more tasks to the
//!             CPU, and waits until nobody still reckons with it; its stopper pushes away tasks, as is recorded. Then it takes
//!             the CPU out of the domains, and parks the CPU's threads. Coming back it lets them go on, and last gives tasks to
//!             the CPU again; after that it wakes who has asked for it, or sleeps.
//!             Domains are built by the thread, on 6.1 by a worker that waits until all is over.
//! Deviations. Domains are built where who builds them goes on; in the kernel that takes some ms.
//! Source.     kernel/cpu.c `cpuhp_thread_fun`, `smpboot_unpark_threads`; kernel/sched/core.c `sched_cpu_deactivate`,
//!             `sched_cpu_activate` @ 6.1, 6.12.

use super::Follower;
use super::tasks::bound_cpu;
use crate::record::{Party, PrevState, Record, What};
use fairwind_sched::{CpuId, Release};

/// How far down a CPU is that takes no tasks. One that is offline when the recording begins is all the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Offline {
    /// It waits until nobody reckons with it.
    Leaves,
    /// Its threads park, `cpuhp/N` last.
    ThreadsPark,
    #[default]
    Down,
    /// On the way up.
    ThreadsGoOn,
}

/// Is it the thread that takes a CPU down and up?
fn is_hotplug(comm: &str, cpu: CpuId) -> bool {
    comm.starts_with("cpuhp/") && bound_cpu(comm) == Some(cpu)
}

impl Follower<'_> {
    /// Before a record is followed: does its CPU go offline, or come back, with it?
    pub(super) fn follow_hotplug(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        match &r.what {
            What::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.worker_waits(prev, *prev_state, next);
                if is_hotplug(&prev.comm, cpu) {
                    self.hotplug_waits(cpu, *prev_state, r.ts);
                } else if is_hotplug(&next.comm, cpu) {
                    self.hotplug_goes_on(cpu, r.ts);
                }
            }
            What::Waking { comm, .. } if !r.irq && !self.sched.active.test(cpu) => {
                let curr = self.names.comm(self.sched.rqs[cpu].curr);
                if curr.is_some_and(|curr| is_hotplug(curr, cpu)) {
                    self.hotplug_wakes(cpu, comm, r.ts);
                }
            }
            _ => {}
        }
    }

    fn hotplug_waits(&mut self, cpu: CpuId, state: PrevState, ts: u64) {
        match (state, self.cpu(cpu.0).offline) {
            (PrevState::Uninterruptible, _) if self.sched.active.test(cpu) => self.leaves(cpu, ts),
            (PrevState::Stopped, Offline::ThreadsPark) => self.cpu(cpu.0).offline = Offline::Down,
            (PrevState::Interruptible, Offline::ThreadsGoOn) => self.comes_back(cpu, ts),
            _ => {}
        }
    }

    fn hotplug_goes_on(&mut self, cpu: CpuId, ts: u64) {
        match self.cpu(cpu.0).offline {
            Offline::Leaves => self.has_left(cpu, ts),
            Offline::ThreadsGoOn => self.comes_back(cpu, ts),
            _ => {}
        }
    }

    fn hotplug_wakes(&mut self, cpu: CpuId, comm: &str, ts: u64) {
        let own = bound_cpu(comm) == Some(cpu);
        match self.cpu(cpu.0).offline {
            Offline::Down if own => self.cpu(cpu.0).offline = Offline::ThreadsGoOn,
            Offline::ThreadsGoOn if !own => self.comes_back(cpu, ts),
            _ => {}
        }
    }

    fn leaves(&mut self, cpu: CpuId, ts: u64) {
        let now = self.clock_at(cpu, ts);
        // The last one doesn't.
        if self.sched.follow_cpu_leaves(cpu, now).is_ok() {
            self.cpu(cpu.0).offline = Offline::Leaves;
        }
    }

    fn has_left(&mut self, cpu: CpuId, ts: u64) {
        let now = self.clock_at(cpu, ts);
        self.sched.follow_cpu_left(cpu, now);
        self.cpu(cpu.0).offline = Offline::ThreadsPark;
        self.build_domains(cpu, Some(cpu));
    }

    fn comes_back(&mut self, cpu: CpuId, ts: u64) {
        let now = self.clock_at(cpu, ts);
        if self.sched.follow_cpu_returns(cpu, now).is_ok() {
            self.cpu(cpu.0).offline = Offline::Down;
            self.build_domains(cpu, None);
        }
    }

    /// The thread builds the domains itself, or has a worker do that.
    fn build_domains(&mut self, cpu: CpuId, leaving: Option<CpuId>) {
        if self.sched.profile.release == Release::V6_1 {
            self.domains_wait = Some((cpu, None));
            return;
        }
        self.sched.follow_domains(leaving);
        self.forget_domains();
    }

    /// A switch: the worker begins to wait until the CPU is all the way down or up, or no longer does.
    fn worker_waits(&mut self, prev: &Party, prev_state: PrevState, next: &Party) {
        match self.domains_wait {
            Some((cpu, None))
                if prev_state == PrevState::Uninterruptible
                    && prev.comm.starts_with("kworker/")
                    && bound_cpu(&prev.comm) == Some(cpu) =>
            {
                self.domains_wait = Some((cpu, Some(prev.pid)));
            }
            Some((_, Some(worker))) if worker == next.pid => {
                self.domains_wait = None;
                self.sched.follow_domains(None);
                self.forget_domains();
            }
            _ => {}
        }
    }

    /// All domains are others.
    fn forget_domains(&mut self) {
        self.pinned.clear();
        self.moved.clear();
        self.raised.clear();
        for context in &mut self.cpus {
            context.to_balance.clear();
            context.balanced.clear();
            context.pushes.clear();
            context.before_pass = None;
            context.looks = None;
        }
    }
}
