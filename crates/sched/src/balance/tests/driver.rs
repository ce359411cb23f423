//! A machine as small as can be: every CPU ticks, effects are carried out at once, tasks run for
//! ever.

use crate::balance::DomainStats;
use crate::cpumask::CpuMask;
use crate::domain::SdId;
use crate::effects::Effect;
use crate::features::Feature;
use crate::profile::{KernelProfile, Release};
use crate::sched::Sched;
use crate::task::TaskState;
use crate::topology::Topology;
use crate::units::{CpuId, Nanos, TaskId};
use alloc::vec::Vec;

pub(super) const MS: Nanos = 1_000_000;
/// A tick at HZ = 250.
pub(super) const TICK: Nanos = 4 * MS;

pub(super) struct Driver {
    pub(super) sched: Sched,
    pub(super) now: Nanos,
    /// The CPUs that tick.
    pub(super) ticking: CpuMask,
}

pub(super) fn cpu(id: u32) -> CpuId {
    CpuId(id)
}

impl Driver {
    /// Sockets × cores × threads, one LLC and node a socket. Every newly idle domain is tried. The
    /// CPUs have been idle for a second.
    pub(super) fn new(release: Release, sockets: u32, cores: u32, threads: u32) -> Driver {
        Driver::on(release, Topology::regular(sockets, cores, threads))
    }

    pub(super) fn on(release: Release, topology: Topology) -> Driver {
        let nr_cpus = topology.nr_cpus();
        let mut profile = KernelProfile::new(release, nr_cpus);
        profile.features.set(Feature::NI_RANDOM, false);
        let mut driver = Driver {
            sched: Sched::new(profile, topology),
            now: 1000 * MS,
            ticking: CpuMask::all(nr_cpus),
        };
        driver.sched.set_time(driver.now);
        for cpu in driver.sched.rqs.ids() {
            driver.sched.rqs[cpu].idle_stamp = 1;
        }
        driver
    }

    pub(super) fn mask(&self, cpus: &[u32]) -> CpuMask {
        CpuMask::of(self.sched.nr_cpus(), cpus.iter().copied().map(CpuId))
    }

    /// A task that starts on the first of `cpus` and may then run on all of them.
    pub(super) fn hog(&mut self, cpus: &[u32]) -> TaskId {
        let first = cpu(cpus[0]);
        let task = self.sched.spawn(first, self.now);
        let only = self.mask(&cpus[..1]);
        self.sched.set_cpus_allowed(task, &only, self.now).unwrap();
        self.sched.wake_up_new_task(first, task, self.now);
        let all = self.mask(cpus);
        self.sched.set_cpus_allowed(task, &all, self.now).unwrap();
        self.carry_out();
        task
    }

    /// Puts the running task of a CPU to sleep.
    pub(super) fn sleep(&mut self, on: u32) {
        self.sched
            .set_current_state(cpu(on), TaskState::Interruptible);
        self.sched.schedule(cpu(on), self.now, false);
        self.carry_out();
    }

    /// Does what the scheduler asks for until it asks for nothing.
    pub(super) fn carry_out(&mut self) {
        loop {
            let effects = core::mem::take(&mut self.sched.effects);
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Resched { cpu } if self.sched.rqs[cpu].need_resched => {
                        self.sched.schedule(cpu, self.now, true);
                    }
                    Effect::TtwuIpi { cpu } => self.sched.sched_ttwu_pending(cpu, self.now),
                    Effect::RaiseSoftirq { cpu } => self.sched.sched_balance_softirq(cpu, self.now),
                    Effect::KickIlb { cpu } => self.sched.nohz_kick(cpu, self.now),
                    Effect::StopActiveBalance { cpu } => self.stop(cpu),
                    _ => {}
                }
            }
        }
    }

    /// Runs the stopper of a CPU for an active balance.
    fn stop(&mut self, on: CpuId) {
        let stop = self.sched.rqs[on].stop;
        self.sched.try_to_wake_up(on, stop, self.now, 0);
        self.sched.schedule(on, self.now, true);
        assert_eq!(self.sched.rqs[on].curr, stop);
        self.sched.active_load_balance_cpu_stop(on, self.now);
        self.sched.set_current_state(on, TaskState::Interruptible);
        self.sched.schedule(on, self.now, false);
    }

    /// Ticks every ticking CPU once, from the lowest up, a tick later.
    pub(super) fn tick(&mut self) {
        self.now += TICK;
        let ticking: Vec<CpuId> = self.ticking.iter().collect();
        for cpu in ticking {
            self.sched.sched_tick(cpu, self.now);
            self.carry_out();
        }
    }

    pub(super) fn ticks(&mut self, count: u32) {
        for _ in 0..count {
            self.tick();
        }
    }

    /// Tasks on each CPU.
    pub(super) fn nr_running(&self) -> Vec<u32> {
        self.sched.rqs.iter().map(|rq| rq.nr_running).collect()
    }

    /// A CPU's domains, the lowest first.
    pub(super) fn domains(&self, of: u32) -> Vec<SdId> {
        self.sched.domains.for_each_domain(cpu(of)).collect()
    }

    /// The counters of a CPU's domain at a height.
    pub(super) fn stats(&self, of: u32, height: usize) -> DomainStats {
        self.sched.domain_stats(self.domains(of)[height])
    }
}
