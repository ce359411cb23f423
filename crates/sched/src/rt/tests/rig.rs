//! A machine without costs: ticks, timers and interrupts happen on time, switches at once.

use crate::effects::Effect;
use crate::profile::{KernelProfile, Release};
use crate::sched::Sched;
use crate::task::{Policy, TaskState};
use crate::topology::Topology;
use crate::units::{CpuId, Nanos, TaskId};
use crate::{CpuMask, SchedAttr};
use alloc::vec::Vec;

pub(super) const MS: Nanos = 1_000_000;
const TICK: Nanos = 4 * MS;

pub(super) struct Rig {
    pub(super) sched: Sched,
    pub(super) now: Nanos,
    timers: Vec<(Nanos, CpuId)>,
    next_tick: Nanos,
}

impl Rig {
    /// A machine of `nr_cpus` cores that share a cache.
    pub(super) fn new(release: Release, nr_cpus: u32) -> Rig {
        Rig::with_profile(KernelProfile::new(release, nr_cpus as usize), nr_cpus)
    }

    pub(super) fn with_profile(profile: KernelProfile, nr_cpus: u32) -> Rig {
        let sched = Sched::new(profile, Topology::regular(1, nr_cpus, 1));
        Rig {
            sched,
            now: 0,
            timers: Vec::new(),
            next_tick: TICK,
        }
    }

    /// A task of a policy and priority that may use `cpus`; it starts on the first of them.
    pub(super) fn spawn(&mut self, policy: Policy, priority: i32, cpus: &[u32]) -> TaskId {
        let first = CpuId(cpus[0]);
        let task = self.sched.fork(first, self.now);
        let mask = CpuMask::of(self.sched.nr_cpus(), cpus.iter().map(|&c| CpuId(c)));
        self.sched
            .set_cpus_allowed(task, &mask, self.now)
            .expect("the CPUs are up");
        let attr = SchedAttr {
            policy,
            nice: 0,
            priority,
            runtime: 0,
        };
        self.sched
            .sched_setscheduler(task, attr, self.now)
            .expect("the attributes are legal");
        self.sched.wake_up_new_task(first, task, self.now);
        self.settle();
        task
    }

    pub(super) fn fifo(&mut self, priority: i32, cpus: &[u32]) -> TaskId {
        self.spawn(Policy::Fifo, priority, cpus)
    }

    pub(super) fn curr(&self, cpu: u32) -> TaskId {
        self.sched.rqs[CpuId(cpu)].curr
    }

    /// The task's running time, as last charged.
    pub(super) fn ran(&self, task: TaskId) -> Nanos {
        self.sched.ses[self.sched.tasks[task].se].sum_exec_runtime
    }

    /// The running task of a CPU goes to sleep.
    pub(super) fn sleep(&mut self, cpu: u32) {
        self.sched
            .set_current_state(CpuId(cpu), TaskState::Interruptible);
        self.sched.schedule(CpuId(cpu), self.now, false);
        self.settle();
    }

    pub(super) fn wake(&mut self, this_cpu: u32, task: TaskId) {
        assert!(
            self.sched
                .try_to_wake_up(CpuId(this_cpu), task, self.now, 0)
        );
        self.settle();
    }

    pub(super) fn yield_cpu(&mut self, cpu: u32) {
        self.sched.sched_yield(CpuId(cpu), self.now);
        self.sched.schedule(CpuId(cpu), self.now, false);
        self.settle();
    }

    /// Lets time pass; what is due at `end` still happens.
    pub(super) fn run_until(&mut self, end: Nanos) {
        loop {
            let timer = self
                .timers
                .iter()
                .enumerate()
                .min_by_key(|&(idx, &(at, _))| (at, idx));
            match timer.map(|(idx, &(at, cpu))| (idx, at, cpu)) {
                Some((idx, at, cpu)) if at <= self.next_tick && at <= end => {
                    self.timers.remove(idx);
                    self.now = at;
                    self.sched.rt_timer(cpu, at);
                }
                _ if self.next_tick <= end => {
                    self.now = self.next_tick;
                    self.next_tick += TICK;
                    for cpu in self.sched.rqs.ids() {
                        self.sched.sched_tick(cpu, self.now);
                    }
                }
                _ => break,
            }
            self.settle();
        }
        self.now = end;
    }

    /// Carries out what the scheduler asked for until it asks for nothing more.
    pub(super) fn settle(&mut self) {
        loop {
            for effect in core::mem::take(&mut self.sched.effects) {
                match effect {
                    Effect::TtwuIpi { cpu } => self.sched.sched_ttwu_pending(cpu, self.now),
                    Effect::PushRt { cpu } => self.sched.push_rt_tasks(cpu, self.now),
                    Effect::StartRtTimer { cpu, expires } => self.timers.push((expires, cpu)),
                    _ => {}
                }
            }
            let waiting = self
                .sched
                .rqs
                .ids()
                .find(|&cpu| self.sched.rqs[cpu].need_resched);
            match waiting {
                Some(cpu) => {
                    self.sched.schedule(cpu, self.now, true);
                }
                None if self.sched.effects.is_empty() => return,
                None => {}
            }
        }
    }
}
