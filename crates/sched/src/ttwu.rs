//! Waking tasks up.
//!
//! Model. try_to_wake_up: a task that is still queued is simply made runnable again; one that sleeps gets a CPU
//!        (see `wakeup`) and is queued there, directly or, across caches and to idle CPUs, by an interrupt that makes
//!        the target CPU queue it itself. A caller that keeps time can do the two steps at two times: other CPUs that choose
//!        in between see an idle CPU still idle that is chosen already.
//! Source. kernel/sched/core.c `try_to_wake_up`, `ttwu_*`, `sched_ttwu_pending` @ 6.1, 6.12.
//! Deviations. A switch is atomic here, so nobody is woken while still switching away (`on_cpu`).

use crate::effects::Effect;
use crate::features::Feature;
use crate::flags::{
    ENQUEUE_DELAYED, ENQUEUE_MIGRATED, ENQUEUE_WAKEUP, WF_MIGRATED, WF_RQ_SELECTED, WF_SYNC,
    WF_TTWU,
};
use crate::sched::Sched;
use crate::task::{Class, OnRq, TaskState};
use crate::units::{CpuId, Nanos, TaskId};

/// Moves an average an eighth of the way to a sample.
pub(crate) fn update_avg(avg: &mut u64, sample: u64) {
    let diff = sample.wrapping_sub(*avg) as i64;
    *avg = avg.wrapping_add((diff / 8) as u64);
}

/// A task between the choice of its CPU and its queueing there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakingTask {
    /// The task.
    pub task: TaskId,
    /// Where it is to be queued.
    pub cpu: CpuId,
    wake_flags: u32,
}

impl Sched {
    /// Is the task asleep in every sense (no delayed dequeue, no wakeup on its way)?
    pub fn is_blocked(&self, task: TaskId) -> bool {
        matches!(
            self.tasks[task].state,
            TaskState::Interruptible | TaskState::Uninterruptible | TaskState::Stopped
        )
    }

    /// Wakes a task on behalf of what runs on `this_cpu`; false if it was not asleep.
    ///
    /// `wake_flags`: [`WF_SYNC`] if the waker is about to sleep, [`WF_FROM_IRQ`](crate::flags::WF_FROM_IRQ) if an
    /// interrupt wakes.
    pub fn try_to_wake_up(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        now: Nanos,
        wake_flags: u32,
    ) -> bool {
        let asleep = self.is_blocked(task);
        if let Some(waking) = self.choose_cpu_to_wake_on(this_cpu, task, now, wake_flags) {
            self.wake_on_chosen_cpu(this_cpu, waking, now);
        }
        asleep
    }

    /// The first half of [`try_to_wake_up`](Self::try_to_wake_up): chooses a CPU. None: nothing is left to be done.
    pub fn choose_cpu_to_wake_on(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        now: Nanos,
        wake_flags: u32,
    ) -> Option<WakingTask> {
        self.set_time(now);
        let wake_flags = wake_flags | WF_TTWU;
        if !self.is_blocked(task) {
            return None;
        }
        let t = &mut self.tasks[task];
        let cpu = t.cpu;
        self.effects.push(Effect::Waking { task, cpu });
        if self.rqs[this_cpu].curr == task {
            // It is about to sleep and has not: nothing to queue.
            self.ttwu_do_wakeup(task);
        } else if t.on_rq == OnRq::Queued {
            self.ttwu_runnable(task, wake_flags);
        } else {
            t.state = TaskState::Waking;
            let prev_cpu = t.wake_cpu;
            let cpu = self.select_task_rq(this_cpu, task, prev_cpu, wake_flags);
            let chosen = self.tasks[task].nr_cpus_allowed > 1;
            let wake_flags = wake_flags | if chosen { WF_RQ_SELECTED } else { 0 };
            return Some(WakingTask {
                task,
                cpu,
                wake_flags,
            });
        }
        self.ttwu_stat(this_cpu, task, wake_flags);
        None
    }

    /// Is it left to the chosen CPU to queue the task itself?
    pub fn goes_on_wake_list(&self, this_cpu: CpuId, task: TaskId, cpu: CpuId) -> bool {
        self.profile.features.has(Feature::TTWU_QUEUE)
            && self.tasks[task].class != Class::Stop
            && self.ttwu_queue_cond(this_cpu, task, cpu)
    }

    /// The second half: queues the task on the chosen CPU, or on another if it may no longer use that one.
    pub fn wake_on_chosen_cpu(&mut self, this_cpu: CpuId, waking: WakingTask, now: Nanos) {
        self.set_time(now);
        let WakingTask {
            task,
            mut cpu,
            mut wake_flags,
        } = waking;
        if !self.is_cpu_usable(task, cpu) {
            cpu = self.select_fallback_rq(task);
        }
        if self.tasks[task].cpu != cpu {
            wake_flags |= WF_MIGRATED;
            self.set_task_cpu(task, cpu);
        }
        self.ttwu_queue(this_cpu, task, cpu, wake_flags);
        self.ttwu_stat(this_cpu, task, wake_flags);
    }

    /// Asks the task's class for a CPU; falls back to any allowed one that is up.
    #[inline(always)]
    pub(crate) fn select_task_rq(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        prev_cpu: CpuId,
        wake_flags: u32,
    ) -> CpuId {
        let cpu = if self.tasks[task].nr_cpus_allowed > 1 {
            match self.tasks[task].class {
                Class::Fair => self.select_task_rq_fair(this_cpu, task, prev_cpu, wake_flags),
                Class::Rt => self.select_task_rq_rt(this_cpu, task, prev_cpu, wake_flags),
                Class::Stop | Class::Idle => prev_cpu,
            }
        } else {
            self.mask(self.tasks[task].cpus)
                .first()
                .expect("a task may use some CPU")
        };
        if self.is_cpu_usable(task, cpu) {
            cpu
        } else {
            self.select_fallback_rq(task)
        }
    }

    #[inline(always)]
    fn ttwu_stat(&mut self, this_cpu: CpuId, task: TaskId, wake_flags: u32) {
        let cpu = self.tasks[task].cpu;
        let local = cpu == this_cpu;
        let rq = &mut self.rqs[this_cpu].stats;
        rq.ttwu_count += 1;
        rq.ttwu_local += u64::from(local);
        let stats = &mut self.task_stats[task];
        stats.nr_wakeups += 1;
        stats.nr_wakeups_local += u64::from(local);
        stats.nr_wakeups_migrate += u64::from(wake_flags & WF_MIGRATED != 0);
        stats.nr_wakeups_sync += u64::from(wake_flags & WF_SYNC != 0);
        if !local {
            let near = self
                .domains
                .for_each_domain(this_cpu)
                .find(|&sd| self.domains.sched_domain_span(sd).test(cpu));
            if let Some(sd) = near {
                self.domain_stats_mut(sd).ttwu_wake_remote += 1;
            }
        }
    }

    fn ttwu_do_wakeup(&mut self, task: TaskId) {
        self.tasks[task].state = TaskState::Running;
        self.effects.push(Effect::Wakeup { task });
    }

    /// Asleep but still queued: it is running right now, or its dequeue was delayed.
    fn ttwu_runnable(&mut self, task: TaskId, wake_flags: u32) {
        let cpu = self.tasks[task].cpu;
        self.update_rq_clock(cpu);
        if self.ses[self.tasks[task].se].sched_delayed {
            self.enqueue_task(cpu, task, ENQUEUE_DELAYED);
        }
        if self.fair.preempts_by_running || !self.tasks[task].on_cpu {
            self.wakeup_preempt(cpu, task, wake_flags);
        }
        self.ttwu_do_wakeup(task);
    }

    #[inline(always)]
    pub(crate) fn ttwu_do_activate(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let mut flags = ENQUEUE_WAKEUP;
        if wake_flags & WF_MIGRATED != 0 {
            flags |= ENQUEUE_MIGRATED;
        }
        self.activate_task(cpu, task, flags);
        self.wakeup_preempt(cpu, task, wake_flags);
        self.ttwu_do_wakeup(task);
        if self.tasks[task].class == Class::Rt {
            self.task_woken_rt(cpu, task);
        }
        let rq = &mut self.rqs[cpu];
        if rq.idle_stamp != 0 {
            let delta = rq.clock.wrapping_sub(rq.idle_stamp);
            update_avg(&mut rq.avg_idle, delta);
            rq.avg_idle = rq.avg_idle.min(2 * rq.max_idle_balance_cost);
            if self.fair.keeps_wake_avg_idle {
                rq.wake_stamp = self.jiffies;
                rq.wake_avg_idle = rq.avg_idle / 2;
            }
            rq.idle_stamp = 0;
        }
    }

    /// Is it better to let the target CPU queue the task itself?
    fn ttwu_queue_cond(&self, this_cpu: CpuId, task: TaskId, cpu: CpuId) -> bool {
        if !self.active.test(cpu) || !self.cpu_allowed(task, cpu) {
            return false;
        }
        // Across caches the target's queue is cheaper to touch from there.
        if !self.cpus_share_cache(this_cpu, cpu) {
            return true;
        }
        cpu != this_cpu && self.rqs[cpu].nr_running == 0
    }

    fn ttwu_queue(&mut self, this_cpu: CpuId, task: TaskId, cpu: CpuId, wake_flags: u32) {
        if self.goes_on_wake_list(this_cpu, task, cpu) {
            self.tasks[task].sched_remote_wakeup = wake_flags & WF_MIGRATED != 0;
            self.cpu_sums.mark(cpu);
            let rq = &mut self.rqs[cpu];
            rq.ttwu_pending = true;
            rq.ttwu_queue.push(task);
            if rq.ttwu_queue.len() == 1 {
                self.effects.push(Effect::TtwuIpi { cpu });
            }
            return;
        }
        self.advance_rq_clock(cpu);
        self.ttwu_do_activate(cpu, task, wake_flags);
    }

    /// Queues what others woke for this CPU (the handler of `TtwuIpi`).
    pub fn sched_ttwu_pending(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        if self.rqs[cpu].ttwu_queue.is_empty() {
            return;
        }
        self.advance_rq_clock(cpu);
        let mut queue = core::mem::take(&mut self.rqs[cpu].ttwu_queue);
        for &task in &queue {
            let flags = if self.tasks[task].sched_remote_wakeup {
                WF_MIGRATED
            } else {
                0
            };
            self.ttwu_do_activate(cpu, task, flags);
        }
        queue.clear();
        // Keep the allocation: this is a hot path.
        let rq = &mut self.rqs[cpu];
        rq.ttwu_queue = queue;
        rq.ttwu_pending = false;
    }
}
