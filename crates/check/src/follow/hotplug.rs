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

/// The CPU that a thread of this name takes down and up.
fn hotplug_cpu(comm: &str) -> Option<CpuId> {
    bound_cpu(comm).filter(|_| comm.starts_with("cpuhp/"))
}

impl Follower<'_> {
    /// Before a record is followed: does its CPU go offline, or come back, with it?
    pub(super) fn follow_hotplug(&mut self, r: &Record) {
        if let What::Switch {
            prev,
            prev_state,
            next,
        } = &r.what
        {
            self.worker_waits(prev, *prev_state, next);
        }
        let cpu = CpuId(r.cpu);
        let active = self.sched.active.test(cpu);
        let own = |comm: &str| hotplug_cpu(comm) == Some(cpu);
        match (&r.what, self.cpu(r.cpu).offline) {
            (
                What::Switch {
                    prev, prev_state, ..
                },
                offline,
            ) if own(&prev.comm) => match (prev_state, offline) {
                (PrevState::Uninterruptible, _) if active => self.leaves(cpu, r.ts),
                (PrevState::Stopped, Offline::ThreadsPark) => {
                    self.cpu(r.cpu).offline = Offline::Down;
                }
                (PrevState::Interruptible, Offline::ThreadsGoOn) => self.comes_back(cpu, r.ts),
                _ => {}
            },
            (What::Switch { next, .. }, Offline::Leaves) if own(&next.comm) => {
                self.has_left(cpu, r.ts);
            }
            (What::Switch { next, .. }, Offline::ThreadsGoOn) if own(&next.comm) => {
                self.comes_back(cpu, r.ts);
            }
            (What::Waking { comm, .. }, offline) if !active && !r.irq && self.runs_hotplug(cpu) => {
                match (offline, bound_cpu(comm) == Some(cpu)) {
                    (Offline::Down, true) => self.cpu(r.cpu).offline = Offline::ThreadsGoOn,
                    (Offline::ThreadsGoOn, false) => self.comes_back(cpu, r.ts),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn runs_hotplug(&self, cpu: CpuId) -> bool {
        let comm = self.names.comm(self.sched.rqs[cpu].curr);
        comm.and_then(hotplug_cpu) == Some(cpu)
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
            context.earliest = None;
        }
    }
}
