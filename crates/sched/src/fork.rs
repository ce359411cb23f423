//! New tasks, and tasks that exec.
//!
//! Source. kernel/sched/core.c `sched_fork`, `sched_cgroup_fork`, `wake_up_new_task`, `sched_exec` @ 6.1, 6.12.

use crate::effects::Effect;
use crate::flags::{ENQUEUE_INITIAL, WF_EXEC, WF_FORK};
use crate::sched::Sched;
use crate::task::{Class, MaskId, TaskState};
use crate::units::{CpuId, GroupId, Nanos, TaskId};

impl Sched {
    /// Creates a task as a child of the running task of `this_cpu`, whose policy, priority, slice, CPUs and group it
    /// inherits. Change its attributes before [`wake_up_new_task`](Self::wake_up_new_task) as needed.
    pub fn fork(&mut self, this_cpu: CpuId, now: Nanos) -> TaskId {
        self.set_time(now);
        let parent = self.rqs[this_cpu].curr;
        let task = self.fork_from(this_cpu, parent);
        self.finish_fork(this_cpu, parent, task)
    }

    /// Creates a task with default attributes, as if a kernel thread on `this_cpu` had forked it.
    pub fn spawn(&mut self, this_cpu: CpuId, now: Nanos) -> TaskId {
        self.set_time(now);
        let task = self.new_task(this_cpu, MaskId(0));
        let parent = self.rqs[this_cpu].idle;
        self.ses[self.tasks[task].se].slice = self.profile.tunables.base_slice_ns;
        self.finish_fork(this_cpu, parent, task)
    }

    /// A task that slept on a CPU before anything was known of it; it is in state `New` until the caller puts it to sleep.
    pub fn follow_sleeper_from_before(&mut self, cpu: CpuId, now: Nanos) -> TaskId {
        self.set_time(now);
        let task = self.new_task(cpu, MaskId(0));
        let se = self.tasks[task].se;
        self.ses[se].slice = self.profile.tunables.base_slice_ns;
        self.tasks[task].state = TaskState::New;
        self.init_entity_runnable_average(se);
        self.assign_task_cpu(task, cpu);
        task
    }

    /// A task that sleeps has the averages of a new one but for its utilisation, 0..1024, and they count in its queue's.
    pub fn follow_new_sleeper(&mut self, task: TaskId, util: u64) {
        let se = self.tasks[task].se;
        self.init_entity_runnable_average(se);
        let avg = &mut self.ses[se].avg;
        avg.runnable_avg = util;
        avg.util_avg = util;
        self.attach_entity_cfs_rq(se);
    }

    fn finish_fork(&mut self, this_cpu: CpuId, parent: TaskId, task: TaskId) -> TaskId {
        self.tasks[task].state = TaskState::New;
        self.init_entity_runnable_average(self.tasks[task].se);
        self.assign_task_cpu(task, this_cpu);
        if self.tasks[task].class == Class::Fair {
            (self.fair.task_fork)(self, this_cpu, parent, task);
        }
        task
    }

    fn fork_from(&mut self, this_cpu: CpuId, parent: TaskId) -> TaskId {
        let cpus = self.tasks[parent].cpus;
        let task = self.new_task(this_cpu, cpus);
        let from = self.tasks[parent];
        let (load, slice, custom_slice, deadline) = {
            let se = &self.ses[from.se];
            (se.load, se.slice, se.custom_slice, se.deadline)
        };
        let child = &mut self.tasks[task];
        child.policy = from.policy;
        child.static_prio = from.static_prio;
        child.rt_priority = from.rt_priority;
        child.normal_prio = from.normal_prio;
        // Inherited priority is the parent's own, not what it was lent.
        child.prio = from.normal_prio;
        child.class = Sched::class_of_prio(from.normal_prio);
        child.group = from.group;
        child.uclamp = from.uclamp;
        child.wakee_flips = from.wakee_flips;
        child.wakee_flip_decay_ts = from.wakee_flip_decay_ts;
        child.last_wakee = from.last_wakee;
        child.recent_used_cpu = from.recent_used_cpu;
        let se = child.se;
        self.ses[se].load = load;
        self.ses[se].slice = slice;
        self.ses[se].custom_slice = custom_slice;
        self.ses[se].deadline = deadline;
        task
    }

    /// The class of a kernel priority.
    pub(crate) fn class_of_prio(prio: i32) -> Class {
        if prio < crate::task::MAX_RT_PRIO {
            Class::Rt
        } else {
            Class::Fair
        }
    }

    /// Puts a new task in a group before it first runs.
    ///
    /// # Panics
    /// If it has already run.
    pub fn set_new_task_group(&mut self, task: TaskId, group: GroupId) {
        assert_eq!(
            self.tasks[task].state,
            TaskState::New,
            "the task is not new"
        );
        self.tasks[task].group = group;
        let cpu = self.tasks[task].cpu;
        self.set_task_rq(task, cpu);
    }

    /// Makes a new task runnable on a CPU of its class's choice.
    pub fn wake_up_new_task(&mut self, this_cpu: CpuId, task: TaskId, now: Nanos) {
        self.set_time(now);
        self.tasks[task].state = TaskState::Running;
        let cpu = self.tasks[task].cpu;
        self.tasks[task].recent_used_cpu = cpu;
        let cpu = self.select_task_rq(this_cpu, task, cpu, WF_FORK);
        self.start_new_task(task, cpu);
    }

    /// Queues a new task on the CPU chosen for it.
    pub(crate) fn start_new_task(&mut self, task: TaskId, cpu: CpuId) {
        self.assign_task_cpu(task, cpu);
        self.update_rq_clock(cpu);
        self.post_init_entity_util_avg(task);
        self.activate_task(cpu, task, ENQUEUE_INITIAL);
        self.effects.push(Effect::WakeupNew { task });
        self.wakeup_preempt(cpu, task, WF_FORK);
        if self.tasks[task].class == Class::Rt {
            self.task_woken_rt(cpu, task);
        }
    }

    /// The running task of a CPU execs: its memory is new, so this is a cheap time to move it. Asks the stopper to
    /// move it if another CPU is better.
    pub fn sched_exec(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        let task = self.rqs[cpu].curr;
        if self.tasks[task].class != Class::Fair || self.tasks[task].nr_cpus_allowed == 1 {
            return;
        }
        let dest = self.select_task_rq_fair(cpu, task, cpu, WF_EXEC);
        if dest != cpu && self.active.test(dest) {
            self.effects.push(Effect::StopMigrate { cpu, task, dest });
        }
    }
}
