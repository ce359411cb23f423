//! The class's part in switching, waking and ticking.
//!
//! Source. kernel/sched/rt.c `enqueue_task_rt`, `pick_task_rt`, `set_next_task_rt`, `put_prev_task_rt`,
//!         `wakeup_preempt_rt`, `task_tick_rt`, `update_curr_rt` @ 6.1, 6.12.

use super::balance_callbacks::BalanceCallback;
use crate::sched::Sched;
use crate::task::{Class, Policy};
use crate::units::{CpuId, Nanos, TaskId};

impl Sched {
    /// Does an RT (or deadline) task run, or wait unthrottled?
    #[inline]
    pub fn rt_runnable(&self, cpu: CpuId) -> bool {
        self.rqs[cpu].rt.queued
    }

    /// The timer of [`StartRtTimer`](crate::Effect::StartRtTimer): a period of RT throttling (6.1) ends, or the fair
    /// server (6.12) is due. A call for a timer that was moved or cancelled meanwhile does nothing.
    pub fn rt_timer(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        (self.rt_rules.timer)(self, cpu);
    }

    pub(crate) fn enqueue_task_rt(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        let se = self.tasks[task].se;
        self.update_stats_wait_start(cpu, se);
        self.enqueue_rt_entity(cpu, task, flags);
        if self.rqs[cpu].curr != task && self.tasks[task].nr_cpus_allowed > 1 {
            self.enqueue_pushable_task(cpu, task);
        }
    }

    pub(crate) fn dequeue_task_rt(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        self.update_curr_rt(cpu);
        if self.rqs[cpu].curr != task {
            let se = self.tasks[task].se;
            self.update_stats_wait_end(cpu, se);
        }
        self.dequeue_rt_entity(cpu, task, flags);
        self.dequeue_pushable_task(cpu, task);
    }

    /// The task that should run, if the class has one; it stays in line while it runs.
    #[inline]
    pub(crate) fn pick_task_rt(&mut self, cpu: CpuId) -> Option<TaskId> {
        if !self.rt_runnable(cpu) {
            return None;
        }
        self.rqs[cpu].rt.active.first().map(|(_, task)| task)
    }

    /// The task begins to run; `first` on a real switch, when it may be worth pushing the others away.
    pub(crate) fn set_next_task_rt(&mut self, cpu: CpuId, task: TaskId, first: bool) {
        let se = self.tasks[task].se;
        self.ses[se].exec_start = self.rqs[cpu].clock_task;
        if self.tasks[task].rt.on_rq {
            self.update_stats_wait_end(cpu, se);
        }
        self.dequeue_pushable_task(cpu, task);
        if !first {
            return;
        }
        if self.tasks[self.rqs[cpu].curr].class != Class::Rt {
            self.update_rt_rq_load_avg(cpu, false);
        }
        self.rt_queue_push_tasks(cpu);
    }

    /// The task stops running.
    pub(crate) fn put_prev_task_rt(&mut self, cpu: CpuId, task: TaskId) {
        let on_rq = self.tasks[task].rt.on_rq;
        if on_rq {
            let se = self.tasks[task].se;
            self.update_stats_wait_start(cpu, se);
        }
        self.update_curr_rt(cpu);
        self.update_rt_rq_load_avg(cpu, true);
        if on_rq && self.tasks[task].nr_cpus_allowed > 1 {
            self.enqueue_pushable_task(cpu, task);
        }
    }

    /// An RT task was queued while another one runs.
    pub(crate) fn wakeup_preempt_rt(&mut self, cpu: CpuId, task: TaskId, _wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (prio, curr_prio) = (self.tasks[task].prio, self.tasks[curr].prio);
        if prio < curr_prio {
            self.resched_curr(cpu);
        } else if prio == curr_prio && !self.rqs[cpu].need_resched {
            self.check_preempt_equal_prio(cpu, curr, task);
        }
    }

    /// If the running task could go elsewhere and an equal newcomer could not, the newcomer goes first: the switch
    /// then pushes the other away.
    fn check_preempt_equal_prio(&mut self, cpu: CpuId, curr: TaskId, task: TaskId) {
        if self.tasks[curr].nr_cpus_allowed == 1 || !self.cpupri_any_below(curr) {
            return;
        }
        if self.tasks[task].nr_cpus_allowed != 1 && self.cpupri_any_below(task) {
            return;
        }
        self.requeue_task_rt(cpu, task, true);
        self.resched_curr(cpu);
    }

    /// The tick: counts down the slice of a SCHED_RR task and lets its equals have their turn.
    pub(crate) fn task_tick_rt(&mut self, cpu: CpuId, task: TaskId, _queued: bool) {
        self.update_curr_rt(cpu);
        self.update_rt_rq_load_avg(cpu, true);
        if self.tasks[task].policy != Policy::Rr {
            return;
        }
        let slice = self.sched_rr_timeslice();
        let rt = &mut self.tasks[task].rt;
        // 0 is a new task's: it has not run yet.
        let left = if rt.time_slice == 0 {
            slice
        } else {
            rt.time_slice
        };
        rt.time_slice = left - 1;
        if rt.time_slice != 0 {
            return;
        }
        rt.time_slice = slice;
        let prio = self.tasks[task].prio;
        if !self.rqs[cpu].rt.active.is_alone(prio) {
            self.requeue_task_rt(cpu, task, false);
            self.resched_curr(cpu);
        }
    }

    /// A round-robin slice in ticks, rounded up; at least one.
    fn sched_rr_timeslice(&self) -> u32 {
        let ms = u64::from(self.profile.tunables.sched_rr_timeslice_ms);
        (ms * u64::from(self.profile.hz)).div_ceil(1000).max(1) as u32
    }

    /// The running task goes behind its equals.
    pub(crate) fn yield_task_rt(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        self.requeue_task_rt(cpu, curr, false);
    }

    /// Charges the running task, if it is of this class.
    pub(crate) fn update_curr_rt(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        if self.tasks[curr].class != Class::Rt {
            return;
        }
        let delta = self.charge_curr(cpu, self.tasks[curr].se);
        if delta != 0 {
            (self.rt_rules.account_runtime)(self, cpu, delta);
        }
    }

    /// Brings the utilisation by RT tasks up to date; `running` is whether one ran until now.
    pub(super) fn update_rt_rq_load_avg(&mut self, cpu: CpuId, running: bool) {
        let now = self.rq_clock_pelt(cpu);
        self.rqs[cpu].avg_rt.update(now, running);
    }

    pub(super) fn rt_queue_push_tasks(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        if !rt.pushable.is_empty() {
            rt.callbacks.queue(BalanceCallback::PushTasks);
        }
    }
}
