//! Changing what a task asks for while it lives: policy, priority, slice, clamps, CPUs, group.
//!
//! Model. Every change takes the task off its queue, changes it, and puts it back, so that the classes see only
//!        consistent tasks.
//! Source. kernel/sched/syscalls.c `set_user_nice`, `__sched_setscheduler`; core.c `rt_mutex_setprio`,
//!         `__set_cpus_allowed_ptr`, `migration_cpu_stop`, `sched_move_task`, `set_load_weight` @ 6.1, 6.12.

use crate::cpumask::CpuMask;
use crate::effects::Effect;
use crate::entity::LoadWeight;
use crate::features::Feature;
use crate::flags::{DEQUEUE_DELAYED, DEQUEUE_MOVE, DEQUEUE_SAVE, DEQUEUE_SLEEP, ENQUEUE_HEAD};
use crate::sched::Sched;
use crate::task::{Class, MAX_RT_PRIO, MaskId, OnRq, Policy, TaskState};
use crate::units::{CpuId, GroupId, Nanos, TaskId};

/// What sched_setattr() sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedAttr {
    /// Policy.
    pub policy: Policy,
    /// Nice −20..=19, for fair policies.
    pub nice: i32,
    /// Priority 1..=99 for FIFO and RR, 0 for the others.
    pub priority: i32,
    /// Slice asked for in ns (6.12; clamped to 0.1..100 ms); 0: the default.
    pub runtime: Nanos,
}

impl SchedAttr {
    /// SCHED_OTHER at a nice level.
    pub fn normal(nice: i32) -> Self {
        SchedAttr {
            policy: Policy::Normal,
            nice,
            priority: 0,
            runtime: 0,
        }
    }

    /// The kernel priority these attributes give.
    fn prio(&self) -> i32 {
        match self.policy {
            Policy::Deadline => -1,
            Policy::Fifo | Policy::Rr => MAX_RT_PRIO - 1 - self.priority,
            Policy::Normal | Policy::Batch | Policy::Idle => MAX_RT_PRIO + 20 + self.nice,
        }
    }
}

/// The attributes are not ones a task can have (EINVAL).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidAttr;

/// The set holds no CPU that is up (EINVAL).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoCpu;

/// How a task stood before a change.
struct Stood {
    cpu: CpuId,
    queued: bool,
    running: bool,
}

impl Sched {
    /// Takes a task off for a change.
    fn take_off(&mut self, task: TaskId, flags: u32) -> Stood {
        let cpu = self.tasks[task].cpu;
        let stood = Stood {
            cpu,
            queued: self.tasks[task].on_rq == OnRq::Queued,
            running: self.rqs[cpu].curr == task,
        };
        if stood.queued {
            self.dequeue_task(cpu, task, flags);
        }
        if stood.running {
            self.put_prev_task(cpu, task);
        }
        stood
    }

    /// Puts it back as it stood.
    fn put_back(&mut self, task: TaskId, stood: &Stood, flags: u32) {
        if stood.queued {
            self.enqueue_task(stood.cpu, task, flags);
        }
        if stood.running {
            self.set_next_task(stood.cpu, task, false);
        }
    }

    /// Takes a fair task off and puts it back, with the attributes that another kernel shows for it, if given.
    pub(crate) fn requeue(&mut self, task: TaskId, attr: Option<SchedAttr>) {
        let stood = self.take_off(task, DEQUEUE_SAVE);
        if let Some(attr) = attr {
            self.set_fair_attr(task, attr);
            let t = &mut self.tasks[task];
            t.normal_prio = t.static_prio;
            t.prio = t.static_prio;
            self.set_load_weight(task, true);
        }
        self.put_back(task, &stood, DEQUEUE_SAVE);
    }

    /// Sets policy, nice level and slice, as far as the policy has them.
    fn set_fair_attr(&mut self, task: TaskId, attr: SchedAttr) {
        let depth = self.ses[self.tasks[task].se].depth;
        let default_slice = self.profile.base_slice_ns(depth);
        let t = &mut self.tasks[task];
        t.policy = attr.policy;
        if attr.policy.is_fair() {
            t.static_prio = MAX_RT_PRIO + 20 + attr.nice;
            let entity = &mut self.ses[t.se];
            entity.custom_slice = attr.runtime != 0;
            entity.slice = if attr.runtime != 0 {
                attr.runtime.clamp(100_000, 100_000_000)
            } else {
                default_slice
            };
        }
    }

    /// Gives the task's entity the weight of its policy and nice level; `update` where it is attached to a queue.
    fn set_load_weight(&mut self, task: TaskId, update: bool) {
        let t = &self.tasks[task];
        let lw = if t.has_idle_policy() {
            LoadWeight::idle_policy()
        } else {
            LoadWeight::of_nice(t.nice())
        };
        let (se, new) = (t.se, t.state == TaskState::New);
        if update && t.class == Class::Fair && !new {
            let cfs_rq = self.ses[se].cfs_rq;
            (self.fair.reweight_entity)(self, cfs_rq, se, lw.weight);
        }
        self.ses[se].load = lw;
        if new {
            // It is on no queue's averages yet, and starts fully loaded with whatever weight it starts with.
            self.init_entity_runnable_average(se);
        }
    }

    /// Changes the nice level; out of −20..=19 is ignored, as by the kernel.
    pub fn set_user_nice(&mut self, task: TaskId, nice: i32, now: Nanos) {
        self.set_time(now);
        if self.tasks[task].nice() == nice || !(-20..=19).contains(&nice) {
            return;
        }
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        if !self.tasks[task].policy.is_fair() {
            self.tasks[task].static_prio = MAX_RT_PRIO + 20 + nice;
            return;
        }
        let stood = self.take_off(task, DEQUEUE_SAVE);
        let old_prio = self.tasks[task].prio;
        self.tasks[task].static_prio = MAX_RT_PRIO + 20 + nice;
        self.set_load_weight(task, true);
        self.tasks[task].normal_prio = MAX_RT_PRIO + 20 + nice;
        if self.tasks[task].class == Class::Fair {
            self.tasks[task].prio = self.tasks[task].normal_prio;
        }
        self.put_back(task, &stood, DEQUEUE_SAVE);
        self.prio_changed(cpu, task, old_prio);
    }

    fn prio_changed(&mut self, cpu: CpuId, task: TaskId, old_prio: i32) {
        match self.tasks[task].class {
            Class::Fair => self.prio_changed_fair(cpu, task, old_prio),
            Class::Rt => self.prio_changed_rt(cpu, task, old_prio),
            Class::Stop | Class::Idle => {}
        }
    }

    fn check_class_changed(&mut self, cpu: CpuId, task: TaskId, prev: Class, old_prio: i32) {
        let class = self.tasks[task].class;
        if self.tasks[task].state == TaskState::New {
            // It joins its class when it first wakes, on the CPU chosen then.
            return;
        }
        if prev != class {
            match prev {
                Class::Fair => (self.fair.detach_task)(self, task),
                Class::Rt => self.switched_from_rt(cpu, task),
                Class::Stop | Class::Idle => {}
            }
            match class {
                Class::Fair => self.switched_to_fair(cpu, task),
                Class::Rt => self.switched_to_rt(cpu, task),
                Class::Stop | Class::Idle => {}
            }
        } else if old_prio != self.tasks[task].prio {
            self.prio_changed(cpu, task, old_prio);
        }
    }

    /// Sets policy, priority and slice.
    ///
    /// # Errors
    /// If a value is out of its range, or a priority is given to a policy that has none.
    pub fn sched_setscheduler(
        &mut self,
        task: TaskId,
        attr: SchedAttr,
        now: Nanos,
    ) -> Result<(), InvalidAttr> {
        let rt = matches!(attr.policy, Policy::Fifo | Policy::Rr);
        if !(-20..=19).contains(&attr.nice)
            || rt != (1..=99).contains(&attr.priority)
            || (!rt && attr.priority != 0)
        {
            return Err(InvalidAttr);
        }
        self.set_time(now);
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        let t = &self.tasks[task];
        let (old_prio, prev_class) = (t.prio, t.class);
        let unchanged = t.policy == attr.policy
            && (rt && t.rt_priority == attr.priority
                || attr.policy.is_fair()
                    && t.nice() == attr.nice
                    && (!self.fair.has_slices || attr.runtime == self.ses[t.se].slice));
        if unchanged {
            return Ok(());
        }
        let new_prio = attr.prio();
        // A lent priority that is stronger stays.
        let boosted = t.prio < t.normal_prio;
        let effective = if boosted {
            t.prio.min(new_prio)
        } else {
            new_prio
        };
        let mut flags = DEQUEUE_SAVE | DEQUEUE_MOVE;
        if effective == old_prio {
            flags &= !DEQUEUE_MOVE;
        }
        let next_class = Sched::class_of_prio(effective);
        if prev_class != next_class {
            self.end_delay(task);
        }
        let stood = self.take_off(task, flags);
        self.set_fair_attr(task, attr);
        let t = &mut self.tasks[task];
        t.rt_priority = attr.priority;
        t.normal_prio = new_prio;
        self.set_load_weight(task, true);
        let t = &mut self.tasks[task];
        t.class = next_class;
        t.prio = effective;
        if old_prio < effective {
            flags |= ENQUEUE_HEAD;
        }
        self.put_back(task, &stood, flags);
        self.check_class_changed(cpu, task, prev_class, old_prio);
        self.rt_balance_callbacks(cpu);
        Ok(())
    }

    /// Ends a delayed dequeue: the task leaves the fair class asleep.
    fn end_delay(&mut self, task: TaskId) {
        if self.ses[self.tasks[task].se].sched_delayed {
            let cpu = self.tasks[task].cpu;
            self.dequeue_task(cpu, task, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
        }
    }

    /// Lends a task the priority of `donor`, who waits for it (or takes the loan back: `None`).
    pub fn rt_mutex_setprio(&mut self, task: TaskId, donor: Option<TaskId>, now: Nanos) {
        self.set_time(now);
        let normal = self.tasks[task].normal_prio;
        let prio = donor.map_or(normal, |donor| self.tasks[donor].prio.min(normal));
        let old_prio = self.tasks[task].prio;
        if prio == old_prio {
            return;
        }
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        let prev_class = self.tasks[task].class;
        let next_class = Sched::class_of_prio(prio);
        if prev_class != next_class {
            self.end_delay(task);
        }
        let mut flags = DEQUEUE_SAVE | DEQUEUE_MOVE;
        let stood = self.take_off(task, flags);
        if prio < MAX_RT_PRIO && old_prio < prio {
            flags |= ENQUEUE_HEAD;
        }
        self.tasks[task].class = next_class;
        self.tasks[task].prio = prio;
        self.put_back(task, &stood, flags);
        self.check_class_changed(cpu, task, prev_class, old_prio);
        self.rt_balance_callbacks(cpu);
    }

    /// Sets the utilisation clamps, 0..=1024 with min ≤ max.
    ///
    /// # Errors
    /// If they are not.
    pub fn set_uclamp(&mut self, task: TaskId, min: u16, max: u16) -> Result<(), InvalidAttr> {
        if min > max || max > 1024 {
            return Err(InvalidAttr);
        }
        self.tasks[task].uclamp = [min, max];
        Ok(())
    }

    /// The clamps in force: the task's, held within its groups'; 0 and 1024 where the kernel has none.
    pub(crate) fn uclamp_eff(&self, task: TaskId) -> (u64, u64) {
        if !self.profile.uclamp {
            return (0, 1024);
        }
        let t = &self.tasks[task];
        let [mut min, mut max] = t.uclamp;
        let mut group = t.group;
        while group.is_some() && group != GroupId::ROOT {
            let [low, high] = self.groups[group].uclamp;
            min = min.clamp(low.min(high), high);
            max = max.min(high);
            group = self.groups[group].parent;
        }
        (u64::from(min), u64::from(max))
    }

    // ---- CPUs --------------------------------------------------------------------------------------------------

    /// May the task run there now? Threads bound to their CPU may also while it goes offline: they clear it.
    pub(crate) fn is_cpu_usable(&self, task: TaskId, cpu: CpuId) -> bool {
        self.cpu_allowed(task, cpu)
            && (self.active.test(cpu) || self.tasks[task].is_per_cpu_kthread)
    }

    /// Any CPU for a task whose own is gone: on its node, then among its allowed ones, then anywhere.
    pub(crate) fn select_fallback_rq(&mut self, task: TaskId) -> CpuId {
        let node = self.topology.cpus[self.tasks[task].cpu.idx()].node;
        let near = self
            .active
            .iter()
            .find(|&c| self.topology.cpus[c.idx()].node == node && self.cpu_allowed(task, c));
        let any = near.or_else(|| self.active.iter().find(|&c| self.cpu_allowed(task, c)));
        any.unwrap_or_else(|| {
            // None of its CPUs is left: the affinity is broken, as the kernel does with a message.
            self.do_set_cpus_allowed(task, MaskId(0));
            self.active.first().expect("one CPU is always up")
        })
    }

    fn do_set_cpus_allowed(&mut self, task: TaskId, id: MaskId) {
        let stood = self.take_off(task, DEQUEUE_SAVE);
        self.tasks[task].cpus = id;
        self.tasks[task].nr_cpus_allowed = self.mask_weight(id);
        if self.tasks[task].class == Class::Rt {
            self.set_cpus_allowed_rt(task);
        }
        self.put_back(task, &stood, DEQUEUE_SAVE);
    }

    /// Sets the CPUs a task may use, and moves it if it is on another.
    ///
    /// # Errors
    /// If none of them is up.
    pub fn set_cpus_allowed(
        &mut self,
        task: TaskId,
        cpus: &CpuMask,
        now: Nanos,
    ) -> Result<(), NoCpu> {
        self.set_time(now);
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        let id = self.mask_id(cpus);
        if self.tasks[task].cpus == id {
            return Ok(());
        }
        let dest = self.active.iter().find(|&c| cpus.test(c)).ok_or(NoCpu)?;
        self.do_set_cpus_allowed(task, id);
        if self.cpu_allowed(task, cpu) || self.tasks[task].state == TaskState::New {
            return Ok(());
        }
        if self.tasks[task].on_cpu || self.tasks[task].state == TaskState::Waking {
            self.effects.push(Effect::StopMigrate { cpu, task, dest });
        } else if self.tasks[task].is_queued() {
            self.move_queued_task(task, dest);
        }
        Ok(())
    }

    /// The stopper of `cpu` moves a task that ran there when it was asked to (the handler of `StopMigrate`).
    pub fn migration_cpu_stop(&mut self, cpu: CpuId, task: TaskId, dest: CpuId, now: Nanos) {
        self.set_time(now);
        // It may be among those that are still to be queued here.
        self.sched_ttwu_pending(cpu, now);
        let at = self.tasks[task].cpu;
        if at != cpu {
            // It moved by itself; where it is now, it may be as wrong.
            if self.tasks[task].on_cpu && !self.cpu_allowed(task, at) {
                self.effects.push(Effect::StopMigrate {
                    cpu: at,
                    task,
                    dest,
                });
            }
            return;
        }
        if self.tasks[task].is_queued() && !self.tasks[task].on_cpu {
            self.update_rq_clock(cpu);
            // Its CPUs may have changed since the request.
            let dest = match (
                self.is_cpu_usable(task, dest),
                self.is_cpu_usable(task, cpu),
            ) {
                (true, _) => dest,
                (false, true) => return,
                (false, false) => self.select_fallback_rq(task),
            };
            self.move_queued_task(task, dest);
        } else {
            self.tasks[task].wake_cpu = dest;
        }
    }

    // ---- groups ------------------------------------------------------------------------------------------------

    /// Moves a task to another group.
    pub fn sched_move_task(&mut self, task: TaskId, group: GroupId, now: Nanos) {
        if self.tasks[task].group != group {
            self.change_group(task, group, now);
        }
    }

    /// Takes a task out of its group and puts it into one, be it the same: an exiting task leaves its autogroup so, and
    /// one that begins a session gets another, whether there are any or not.
    pub(crate) fn change_group(&mut self, task: TaskId, group: GroupId, now: Nanos) {
        self.set_time(now);
        if !self.profile.features.has(Feature::FAIR_GROUP_SCHED) {
            self.tasks[task].group = group;
            return;
        }
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        let flags = DEQUEUE_SAVE | DEQUEUE_MOVE;
        let stood = self.take_off(task, flags);
        self.tasks[task].group = group;
        if self.tasks[task].class == Class::Fair && self.tasks[task].state != TaskState::New {
            (self.fair.detach_task)(self, task);
            self.ses[self.tasks[task].se].avg.last_update_time = 0;
            self.set_task_rq(task, cpu);
            (self.fair.attach_task)(self, task);
        } else {
            self.set_task_rq(task, cpu);
        }
        self.put_back(task, &stood, flags);
        if stood.running {
            self.resched_curr(cpu);
        }
    }
}
