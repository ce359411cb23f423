//! What the worked examples share: a scheduler that is driven by hand.

// Each test file uses its own part of this.
#![allow(dead_code)]

use fairwind_sched::{
    CpuId, CpuMask, Effect, Feature, KernelProfile, Nanos, Release, Sched, TaskId, TaskState,
    Topology,
};

pub(crate) const MS: Nanos = 1_000_000;

/// A scheduler whose caller does what its effects ask for at once.
pub(crate) struct Rig {
    pub(crate) sched: Sched,
    pub(crate) now: Nanos,
}

impl Rig {
    /// A release's defaults on a machine.
    pub(crate) fn new(release: Release, topology: Topology) -> Rig {
        let profile = KernelProfile::new(release, topology.nr_cpus());
        Rig {
            sched: Sched::new(profile, topology),
            now: MS,
        }
    }

    /// The same with changes switched on.
    pub(crate) fn with(release: Release, topology: Topology, features: &[Feature]) -> Rig {
        let mut rig = Rig::new(release, topology);
        for &feature in features {
            rig.sched.profile.features.set(feature, true);
        }
        rig
    }

    /// Takes interrupts and reschedules until nothing is asked for.
    pub(crate) fn settle(&mut self) {
        loop {
            for effect in std::mem::take(&mut self.sched.effects) {
                if let Effect::TtwuIpi { cpu } = effect {
                    self.sched.sched_ttwu_pending(cpu, self.now);
                }
            }
            let asked = self
                .sched
                .rqs
                .ids()
                .find(|&cpu| self.sched.rqs[cpu].need_resched);
            match asked {
                Some(cpu) => {
                    self.sched.schedule(cpu, self.now, false);
                }
                None if self.sched.effects.is_empty() => return,
                None => {}
            }
        }
    }

    /// A set of CPUs.
    pub(crate) fn only(&self, cpus: &[u32]) -> CpuMask {
        CpuMask::of(self.sched.nr_cpus(), cpus.iter().map(|&cpu| CpuId(cpu)))
    }

    /// A task that runs on a CPU, and may use these.
    pub(crate) fn start(&mut self, cpu: u32, cpus: &[u32]) -> TaskId {
        self.now += MS;
        let task = self.sched.spawn(CpuId(cpu), self.now);
        let here = self.only(&[cpu]);
        self.sched.set_cpus_allowed(task, &here, self.now).unwrap();
        self.sched.wake_up_new_task(CpuId(cpu), task, self.now);
        self.settle();
        let allowed = self.only(cpus);
        self.sched
            .set_cpus_allowed(task, &allowed, self.now)
            .unwrap();
        self.settle();
        assert_eq!(
            self.sched.rqs[CpuId(cpu)].curr,
            task,
            "it runs on cpu {cpu}"
        );
        task
    }

    /// A hog on each of these CPUs, bound to it.
    pub(crate) fn hogs(&mut self, cpus: &[u32]) {
        for &cpu in cpus {
            self.start(cpu, &[cpu]);
        }
    }

    /// A sleeper whose last CPU is this one.
    pub(crate) fn sleeper(&mut self, cpu: u32, cpus: &[u32]) -> TaskId {
        let task = self.start(cpu, cpus);
        self.now += MS;
        self.sched
            .set_current_state(CpuId(cpu), TaskState::Interruptible);
        self.sched.schedule(CpuId(cpu), self.now, false);
        self.settle();
        task
    }

    /// Every CPU.
    pub(crate) fn all(&self) -> Vec<u32> {
        (0..self.sched.nr_cpus() as u32).collect()
    }

    /// What runs on a CPU wakes a sleeper: where does it go?
    pub(crate) fn wake(&mut self, from: u32, task: TaskId, flags: u32) -> u32 {
        self.now += MS;
        assert!(
            self.sched
                .try_to_wake_up(CpuId(from), task, self.now, flags),
            "it slept"
        );
        let cpu = self.sched.tasks[task].cpu.0;
        self.settle();
        cpu
    }

    /// Lets the search look at so many CPUs of a cache (SIS_UTIL), and tells it whether to look for an idle core.
    pub(crate) fn set_scan(&mut self, cpu: usize, depth: i32, has_idle_cores: bool) {
        let shared = self.sched.domains.sd_llc_shared[cpu];
        self.sched.domains.sds[shared].nr_idle_scan = depth;
        self.sched.domains.sds[shared].has_idle_cores = has_idle_cores;
    }
}

/// Both releases must give the answer.
pub(crate) fn both(check: impl Fn(Release)) {
    Release::ALL.into_iter().for_each(check);
}
