//! Queueing of tasks of any class: the layer between what happens to a task and its class.
//!
//! Units.  ns. Times in /proc/PID/schedstat wrap around, as the kernel's do, where the clocks of two CPUs are far apart.
//! Source. kernel/sched/core.c `enqueue_task`, `activate_task`, `set_task_cpu`, `wakeup_preempt`, stats.h
//!         `sched_info_*` @ 6.1, 6.12.

use crate::effects::Effect;
use crate::flags::{DEQUEUE_SAVE, DEQUEUE_SLEEP, ENQUEUE_MIGRATED, ENQUEUE_RESTORE};
use crate::rq::Rq;
use crate::sched::Sched;
use crate::task::{Class, OnRq, Task, TaskState, TaskStats};
use crate::units::{CpuId, TaskId};

/// A task gets its CPU.
#[inline]
pub(crate) fn sched_info_arrive(rq: &mut Rq, task: &mut Task, stats: &mut TaskStats) {
    if task.last_queued != 0 {
        let delta = rq
            .clock
            .wrapping_sub(core::mem::take(&mut task.last_queued));
        task.last_arrival = rq.clock;
        stats.run_delay = stats.run_delay.wrapping_add(delta);
        stats.pcount += 1;
        rq.stats.run_delay = rq.stats.run_delay.wrapping_add(delta);
        rq.stats.pcount += 1;
    }
}

/// A task loses its CPU; if it can still run it waits from now on.
#[inline]
pub(crate) fn sched_info_depart(rq: &mut Rq, task: &mut Task) {
    let ran = rq.clock.wrapping_sub(task.last_arrival);
    rq.stats.rq_cpu_time = rq.stats.rq_cpu_time.wrapping_add(ran);
    if task.state == TaskState::Running && task.last_queued == 0 {
        task.last_queued = rq.clock;
    }
}

impl Sched {
    // ---- waiting times of /proc/PID/schedstat ------------------------------------------------------------------

    pub(crate) fn sched_info_enqueue(&mut self, cpu: CpuId, task: TaskId) {
        let t = &mut self.tasks[task];
        if t.last_queued == 0 {
            t.last_queued = self.rqs[cpu].clock;
        }
    }

    fn sched_info_dequeue(&mut self, cpu: CpuId, task: TaskId) {
        let t = &mut self.tasks[task];
        if t.last_queued != 0 {
            let rq = &mut self.rqs[cpu];
            let delta = rq.clock.wrapping_sub(core::mem::take(&mut t.last_queued));
            let stats = &mut self.task_stats[task];
            stats.run_delay = stats.run_delay.wrapping_add(delta);
            rq.stats.run_delay = rq.stats.run_delay.wrapping_add(delta);
        }
    }

    // ---- classes -----------------------------------------------------------------------------------------------

    /// Queues a task on a CPU; the CPU's clock must be up to date.
    #[inline(always)]
    pub(crate) fn enqueue_task(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        match self.tasks[task].class {
            Class::Fair => {
                self.update_avg_hot_dur(task);
                (self.fair.enqueue_task)(self, cpu, task, flags);
            }
            Class::Rt => self.enqueue_task_rt(cpu, task, flags),
            Class::Stop => self.add_nr_running(cpu, 1),
            Class::Idle => {}
        }
        if flags & ENQUEUE_RESTORE == 0 {
            self.sched_info_enqueue(cpu, task);
        }
    }

    /// Takes a task off its queue; false if its dequeue is delayed.
    #[inline(always)]
    pub(crate) fn dequeue_task(&mut self, cpu: CpuId, task: TaskId, flags: u32) -> bool {
        if flags & DEQUEUE_SAVE == 0 {
            self.sched_info_dequeue(cpu, task);
        }
        match self.tasks[task].class {
            Class::Fair => {
                let done = (self.fair.dequeue_task)(self, cpu, task, flags);
                self.update_cache_hot_timeout(cpu, task, flags);
                return done;
            }
            Class::Rt => self.dequeue_task_rt(cpu, task, flags),
            Class::Stop => self.sub_nr_running(cpu, 1),
            Class::Idle => {}
        }
        true
    }

    /// Puts a task that was not queued (or is migrating) on a queue.
    pub(crate) fn activate_task(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) {
        if self.tasks[task].on_rq == OnRq::Migrating {
            flags |= ENQUEUE_MIGRATED;
        }
        self.enqueue_task(cpu, task, flags);
        self.tasks[task].on_rq = OnRq::Queued;
    }

    /// Takes a queued task off to put it on another queue.
    pub(crate) fn deactivate_task(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        self.tasks[task].on_rq = OnRq::Migrating;
        self.dequeue_task(cpu, task, flags);
    }

    /// Takes a sleeping task off its queue, unless its class delays that.
    pub(crate) fn block_task(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        if self.fair.block_clears_on_rq_first {
            self.tasks[task].on_rq = OnRq::No;
        }
        if self.dequeue_task(cpu, task, DEQUEUE_SLEEP | flags) {
            self.block_task_done(task);
        }
    }

    /// The task is off its queue for good.
    pub(crate) fn block_task_done(&mut self, task: TaskId) {
        self.tasks[task].on_rq = OnRq::No;
    }

    /// The running task goes back in line (or away).
    #[inline(always)]
    pub(crate) fn put_prev_task(&mut self, cpu: CpuId, task: TaskId) {
        match self.tasks[task].class {
            Class::Fair => self.put_prev_task_fair(task),
            Class::Rt => self.put_prev_task_rt(cpu, task),
            Class::Stop => self.charge_stop(cpu),
            Class::Idle => self.fair_server_update_idle_time(cpu),
        }
    }

    /// A task becomes the running one; `first` on a real switch.
    #[inline(always)]
    pub(crate) fn set_next_task(&mut self, cpu: CpuId, task: TaskId, first: bool) {
        match self.tasks[task].class {
            Class::Fair => self.set_next_task_fair(task, first),
            Class::Rt => self.set_next_task_rt(cpu, task, first),
            Class::Stop => {
                let se = self.tasks[task].se;
                self.ses[se].exec_start = self.rqs[cpu].clock_task;
            }
            Class::Idle => self.set_next_task_idle(cpu),
        }
    }

    /// Charges the running stopper.
    fn charge_stop(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        self.charge_curr(cpu, self.tasks[curr].se);
    }

    fn set_next_task_idle(&mut self, cpu: CpuId) {
        self.update_idle_core(cpu);
        self.rqs[cpu].stats.sched_goidle += 1;
        let se = self.tasks[self.rqs[cpu].idle].se;
        self.ses[se].exec_start = self.rqs[cpu].clock_task;
        self.update_idle_rq_clock_pelt(cpu);
    }

    /// A task was queued: should it preempt the running one?
    #[inline(always)]
    pub(crate) fn wakeup_preempt(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (class, curr_class) = (self.tasks[task].class, self.tasks[curr].class);
        if class == curr_class {
            match class {
                Class::Fair => (self.fair.wakeup_preempt)(self, cpu, task, wake_flags),
                Class::Rt => self.wakeup_preempt_rt(cpu, task, wake_flags),
                Class::Idle => self.resched_curr(cpu),
                Class::Stop => {}
            }
        } else if class < curr_class {
            self.resched_curr(cpu);
        }
        // The switch that follows at once need not read the clock again.
        let rq = &mut self.rqs[cpu];
        if rq.need_resched && self.tasks[rq.curr].is_queued() {
            rq.clock_skip_requested = true;
        }
    }

    // ---- moving ------------------------------------------------------------------------------------------------

    /// Gives a task that is not queued (or migrating) another CPU.
    pub(crate) fn set_task_cpu(&mut self, task: TaskId, new_cpu: CpuId) {
        let orig = self.tasks[task].cpu;
        self.effects.push(Effect::Migrate {
            task,
            orig,
            dest: new_cpu,
        });
        if orig != new_cpu {
            if self.tasks[task].class == Class::Fair {
                (self.fair.migrate_task_rq)(self, task);
            }
            let se = self.tasks[task].se;
            self.ses[se].nr_migrations += 1;
        }
        self.assign_task_cpu(task, new_cpu);
    }

    /// The bare assignment, for new tasks.
    pub(crate) fn assign_task_cpu(&mut self, task: TaskId, cpu: CpuId) {
        self.set_task_rq(task, cpu);
        let t = &mut self.tasks[task];
        t.cpu = cpu;
        t.wake_cpu = cpu;
    }

    /// Moves a queued task that does not run to another CPU.
    pub(crate) fn move_queued_task(&mut self, task: TaskId, new_cpu: CpuId) {
        let cpu = self.tasks[task].cpu;
        self.deactivate_task(cpu, task, 0);
        self.set_task_cpu(task, new_cpu);
        self.update_rq_clock(new_cpu);
        self.activate_task(new_cpu, task, 0);
        self.wakeup_preempt(new_cpu, task, 0);
    }
}
