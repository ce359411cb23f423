//! What choosing a CPU for a task writes to, so that a question can be taken back and asked in another way.
//!
//! Model.      Choosing a CPU hardly changes a scheduler: who wakes whom, where the task was, its averages up to now, loads
//!             as seen from the root, the hint that a cache has an idle core. That is kept, a hundredth of what a copy
//!             of the scheduler would be.
//! Invariants. Once taken back, the scheduler is what it was, but for counters and for what every question makes anew: sums over
//!             CPUs and masks.

use crate::cpumask::CpuMask;
use crate::pelt::SchedAvg;
use crate::sched::Sched;
use crate::task::{Class, TaskState};
use crate::units::{CfsRqId, CpuId, Nanos, SeId, TaskId};
use alloc::vec::Vec;

/// The part of a [`Sched`] that a question for a CPU changes.
#[derive(Clone, Debug)]
pub struct BeforePlacement {
    now: Nanos,
    /// Where it is asked: [`Sched::rqs`]' wakeups there, and the last of its evenly spread choices.
    this_cpu: CpuId,
    wake_stamp: u64,
    wake_avg_idle: u64,
    distribute_prev: CpuId,
    prng: u64,
    /// The waker and the task.
    tasks: [TaskFields; 2],
    /// Of the task.
    avg: SchedAvg,
    /// Of the queues above the two tasks.
    h_loads: Vec<HLoad>,
    /// Of the caches of the CPU and of the task's.
    has_idle_cores: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct TaskFields {
    task: TaskId,
    state: TaskState,
    recent_used_cpu: CpuId,
    wakee_flips: u32,
    wakee_flip_decay_ts: u64,
    last_wakee: TaskId,
    to_empty_cfs_rq: bool,
}

#[derive(Clone, Copy, Debug)]
struct HLoad {
    cfs_rq: CfsRqId,
    h_load: u64,
    last_h_load_update: u64,
    h_load_next: SeId,
}

impl Sched {
    /// What asking for a CPU for `task` on `this_cpu` would change.
    pub fn before_placement(&self, this_cpu: CpuId, task: TaskId) -> BeforePlacement {
        let rq = &self.rqs[this_cpu];
        let pair = [rq.curr, task];
        BeforePlacement {
            now: self.now,
            this_cpu,
            wake_stamp: rq.wake_stamp,
            wake_avg_idle: rq.wake_avg_idle,
            distribute_prev: self.rt_choice(this_cpu),
            prng: self.prng,
            tasks: pair.map(|task| self.task_fields(task)),
            avg: self.ses[self.tasks[task].se].avg,
            h_loads: pair
                .into_iter()
                .flat_map(|task| self.h_loads_above(task))
                .collect(),
            has_idle_cores: self
                .caches_of(this_cpu, task)
                .map(|cpu| self.test_idle_cores(cpu)),
        }
    }

    /// The scheduler is as it was when `before` was noted.
    pub fn take_back(&mut self, before: &BeforePlacement) {
        self.set_time(before.now);
        self.prng = before.prng;
        let rq = &mut self.rqs[before.this_cpu];
        rq.wake_stamp = before.wake_stamp;
        rq.wake_avg_idle = before.wake_avg_idle;
        self.set_rt_choice(before.this_cpu, before.distribute_prev);
        for was in before.tasks {
            let task = &mut self.tasks[was.task];
            task.state = was.state;
            task.recent_used_cpu = was.recent_used_cpu;
            task.wakee_flips = was.wakee_flips;
            task.wakee_flip_decay_ts = was.wakee_flip_decay_ts;
            task.last_wakee = was.last_wakee;
            task.to_empty_cfs_rq = was.to_empty_cfs_rq;
        }
        let [_, task] = before.tasks;
        self.ses[self.tasks[task.task].se].avg = before.avg;
        for was in &before.h_loads {
            let cfs_rq = &mut self.cfs_rqs[was.cfs_rq];
            cfs_rq.h_load = was.h_load;
            cfs_rq.last_h_load_update = was.last_h_load_update;
            cfs_rq.h_load_next = was.h_load_next;
        }
        let caches = self.caches_of(before.this_cpu, task.task);
        for (cpu, had) in caches.into_iter().zip(before.has_idle_cores) {
            self.set_idle_cores(cpu, had);
        }
    }

    /// Asks in another way, from what was before; the scheduler stays what it is.
    pub fn ask_otherwise<T>(
        &mut self,
        before: &BeforePlacement,
        ask: impl FnOnce(&mut Sched) -> T,
    ) -> T {
        let [_, task] = before.tasks;
        let after = self.before_placement(before.this_cpu, task.task);
        self.take_back(before);
        let answer = ask(self);
        self.take_back(&after);
        answer
    }

    /// Asks as if a task that is not queued could use these CPUs; `None` if none of them is up.
    pub fn ask_within<T>(
        &mut self,
        task: TaskId,
        cpus: &CpuMask,
        ask: impl FnOnce(&mut Sched) -> T,
    ) -> Option<T> {
        if !self.active.intersects(cpus) {
            return None;
        }
        let id = self.mask_id(cpus);
        let weight = cpus.weight() as u32;
        let t = &mut self.tasks[task];
        let was = (t.cpus, t.nr_cpus_allowed);
        (t.cpus, t.nr_cpus_allowed) = (id, weight);
        let answer = ask(self);
        let t = &mut self.tasks[task];
        (t.cpus, t.nr_cpus_allowed) = was;
        Some(answer)
    }

    /// A task may use these CPUs alone, and nothing happens to it for that; false if none of them is there.
    pub fn follow_cpus_allowed(&mut self, task: TaskId, cpus: &CpuMask) -> bool {
        if !self.active.intersects(cpus) {
            return false;
        }
        let id = self.mask_id(cpus);
        let weight = cpus.weight() as u32;
        let t = &mut self.tasks[task];
        let before = core::mem::replace(&mut t.nr_cpus_allowed, weight);
        t.cpus = id;
        if t.class == Class::Rt && t.is_queued() {
            let cpu = t.cpu;
            let migratory = &mut self.rqs[cpu].rt.nr_migratory;
            *migratory = *migratory + u32::from(weight > 1) - u32::from(before > 1);
            self.update_rt_overload(cpu);
        }
        true
    }

    fn task_fields(&self, task: TaskId) -> TaskFields {
        let t = &self.tasks[task];
        TaskFields {
            task,
            state: t.state,
            recent_used_cpu: t.recent_used_cpu,
            wakee_flips: t.wakee_flips,
            wakee_flip_decay_ts: t.wakee_flip_decay_ts,
            last_wakee: t.last_wakee,
            to_empty_cfs_rq: t.to_empty_cfs_rq,
        }
    }

    fn h_loads_above(&self, task: TaskId) -> impl Iterator<Item = HLoad> + '_ {
        let first = self.tasks[task].se;
        let entities = core::iter::successors(first.get(), |&se| self.ses[se].parent.get());
        let queues = entities.filter_map(|se| self.ses[se].cfs_rq.get());
        queues.map(|id| {
            let cfs_rq = &self.cfs_rqs[id];
            HLoad {
                cfs_rq: id,
                h_load: cfs_rq.h_load,
                last_h_load_update: cfs_rq.last_h_load_update,
                h_load_next: cfs_rq.h_load_next,
            }
        })
    }

    fn caches_of(&self, this_cpu: CpuId, task: TaskId) -> [CpuId; 2] {
        [this_cpu, self.tasks[task].wake_cpu]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::CpuSumsTable;
    use crate::flags::WF_SYNC;
    use crate::search_stats::SearchStats;
    use crate::task::{Policy, TaskStats};
    use crate::{KernelProfile, Release, SchedAttr, Topology};
    use alloc::format;
    use alloc::string::String;

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_queue_counts_the_real_time_tasks_that_may_still_go_elsewhere() {
        let profile = KernelProfile::new(Release::V6_12, 2);
        let mut sched = Sched::new(profile, Topology::regular(1, 2, 1));
        let task = sched.spawn(CpuId(0), 0);
        let attr = SchedAttr {
            policy: Policy::Fifo,
            priority: 1,
            ..SchedAttr::normal(0)
        };
        sched.sched_setscheduler(task, attr, 0).unwrap();
        sched.wake_up_new_task(CpuId(0), task, 0);
        let migratory = |sched: &Sched| sched.rqs[CpuId(0)].rt.nr_migratory;
        assert_eq!(migratory(&sched), 1);
        let alone = CpuMask::of(2, [CpuId(0)]);
        for (cpus, expected) in [(alone, 0), (sched.active.clone(), 1)] {
            assert!(sched.follow_cpus_allowed(task, &cpus));
            assert_eq!(migratory(&sched), expected);
        }
    }

    /// All that is taken back, as text.
    fn all(sched: &Sched) -> String {
        let mut sched = sched.clone();
        let nr_cpus = sched.nr_cpus();
        sched.search = SearchStats::default();
        sched.search_mask = CpuMask::none(nr_cpus);
        if let Some(root) = &mut sched.rqs[CpuId(0)].rt.root {
            root.lowest_mask = CpuMask::none(nr_cpus);
        }
        sched.cpu_sums = CpuSumsTable::new(nr_cpus, &sched.domains);
        for at in 0..sched.domains.sd.len() {
            *sched.domain_stats_mut(crate::domain::SdId(at as u32)) = Default::default();
        }
        for task in sched.tasks.ids() {
            sched.task_stats[task] = TaskStats::default();
        }
        format!("{sched:?}")
    }

    /// Two caches of two cores with two threads; fair and RT tasks that run, wait and sleep.
    fn machine(release: Release) -> (Sched, Vec<TaskId>) {
        let topology = Topology::regular(2, 2, 2);
        let profile = KernelProfile::new(release, topology.nr_cpus());
        let mut sched = Sched::new(profile, topology);
        let mut sleepers = Vec::new();
        for at in 0..18_u32 {
            let (cpu, now) = (CpuId(at % 8), MS * u64::from(at + 1));
            let task = sched.spawn(cpu, now);
            if at % 4 == 1 {
                let fifo = SchedAttr {
                    policy: Policy::Fifo,
                    priority: 5,
                    ..SchedAttr::normal(0)
                };
                sched.sched_setscheduler(task, fifo, now).unwrap();
            }
            sched.wake_up_new_task(cpu, task, now);
            sched.schedule(cpu, now, false);
            let curr = sched.rqs[cpu].curr;
            if at % 3 == 0 && !sched.is_idle(cpu) {
                sched.set_current_state(cpu, TaskState::Interruptible);
                sched.schedule(cpu, now + MS / 2, false);
                sleepers.push(curr);
            }
        }
        sched.effects.clear();
        (sched, sleepers)
    }

    #[test]
    fn a_question_leaves_nothing_behind() {
        for release in [Release::V6_1, Release::V6_12] {
            let (mut sched, sleepers) = machine(release);
            assert!(sleepers.len() > 2);
            let was = all(&sched);
            let mut changed = 0;
            for task in sleepers {
                for here in sched.rqs.ids() {
                    for (flags, after) in [(0, 0), (WF_SYNC, 3 * MS), (0, 2000 * MS)] {
                        let before = sched.before_placement(here, task);
                        sched.ask_wakeup_cpu(here, task, 20 * MS + after, flags);
                        changed += u32::from(all(&sched) != was);
                        sched.take_back(&before);
                        assert!(all(&sched) == was, "{release:?} {task:?} {here:?} {flags}");
                    }
                }
            }
            assert!(changed > 100);
        }
    }
}
