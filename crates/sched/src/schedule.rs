//! schedule(), the tick, and yielding.
//!
//! Source. kernel/sched/core.c `__schedule`, `pick_next_task`, `sched_tick`; syscalls.c `do_sched_yield`, `yield_to`
//!         @ 6.1, 6.12.

use crate::core::{sched_info_arrive, sched_info_depart};
use crate::features::Feature;
use crate::flags::DEQUEUE_SPECIAL;
use crate::sched::Sched;
use crate::task::{Class, TaskState};
use crate::units::{CpuId, Nanos, TaskId};

/// What a call to [`Sched::schedule`] decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Who ran.
    pub prev: TaskId,
    /// What it did when it was switched away from.
    pub prev_state: TaskState,
    /// Who runs now; equal to `prev` if nothing changed.
    pub next: TaskId,
}

impl Sched {
    /// Puts the running task of a CPU to sleep at its next [`schedule`](Self::schedule), unless it is woken before.
    ///
    /// # Panics
    /// If `state` is not one to sleep (or die) in.
    pub fn set_current_state(&mut self, cpu: CpuId, state: TaskState) {
        assert!(
            !matches!(state, TaskState::New | TaskState::Waking),
            "not a state to sleep in"
        );
        let curr = self.rqs[cpu].curr;
        self.tasks[curr].state = state;
        if state == TaskState::Dead {
            self.tasks[curr].exiting = true;
        }
    }

    /// Picks who runs next on a CPU and makes it the running task. With `preempt` the running task stays runnable
    /// whatever its state says.
    pub fn schedule(&mut self, cpu: CpuId, now: Nanos, preempt: bool) -> Switch {
        self.set_time(now);
        let stays_idle = self.stays_idle(cpu);
        let rq = &mut self.rqs[cpu];
        let prev = rq.curr;
        rq.stats.sched_count += 1;
        let skip = core::mem::take(&mut rq.clock_skip_requested);
        if skip {
            self.cpu_sums.mark(cpu);
        } else {
            self.advance_rq_clock(cpu);
        }
        if skip && self.fair.clock_skip_lasts {
            // 6.1 keeps the clock still until the switch is complete.
            self.rqs[cpu].clock_skip_active = true;
        }
        let prev_state = self.tasks[prev].state;
        let mut voluntary = false;
        let next = if stays_idle {
            prev
        } else {
            if !preempt && prev_state != TaskState::Running {
                if !core::mem::take(&mut self.rqs[cpu].curr_has_left) {
                    self.block_curr(cpu);
                }
                voluntary = true;
            }
            self.pick_next_task(cpu, prev)
        };
        let rq = &mut self.rqs[cpu];
        rq.need_resched = false;
        rq.need_resched_lazy = false;
        rq.clock_skip_active = false;
        if self.fair.clock_skip_lasts {
            // Requests made while picking (by pulled tasks) end with the switch; 6.12 keeps them for the next one.
            rq.clock_skip_requested = false;
        }
        if prev != next {
            self.finish_switch(cpu, prev, next, prev_state, voluntary);
        }
        self.rt_balance_callbacks(cpu);
        // Marked at the start, too: but a newly idle pass in between has brought the row up to date.
        self.cpu_sums.mark(cpu);
        Switch {
            prev,
            prev_state,
            next,
        }
    }

    /// Does `schedule()` of an idle CPU end without a pick, and without looking for tasks to pull, as nothing is queued there?
    pub fn stays_idle(&self, cpu: CpuId) -> bool {
        self.fair.idle_shortcut && self.is_idle(cpu) && self.rqs[cpu].nr_running == 0
    }

    /// The running task leaves its queue, for the state it is in.
    pub(crate) fn block_curr(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu].curr;
        let special = matches!(self.tasks[curr].state, TaskState::Stopped | TaskState::Dead);
        let flags = if special { DEQUEUE_SPECIAL } else { 0 };
        self.block_task(cpu, curr, flags);
    }

    pub(crate) fn finish_switch(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        next: TaskId,
        prev_state: TaskState,
        voluntary: bool,
    ) {
        let rq = &mut self.rqs[cpu];
        rq.stats.nr_switches += 1;
        rq.curr = next;
        let t = &mut self.tasks[prev];
        t.on_cpu = false;
        let stats = &mut self.task_stats[prev];
        stats.nvcsw += u64::from(voluntary);
        stats.nivcsw += u64::from(!voluntary);
        if prev != rq.idle {
            sched_info_depart(rq, t);
        }
        let t = &mut self.tasks[next];
        t.on_cpu = true;
        if next != rq.idle {
            sched_info_arrive(rq, t, &mut self.task_stats[next]);
        }
        if prev_state == TaskState::Dead && voluntary && self.tasks[prev].class == Class::Fair {
            self.finish_delayed(prev);
            self.remove_entity_load_avg(self.tasks[prev].se);
        }
    }

    fn pick_next_task(&mut self, cpu: CpuId, prev: TaskId) -> TaskId {
        let rq = &self.rqs[cpu];
        if self.tasks[prev].class >= Class::Fair
            && rq.nr_running == self.cfs_rqs[rq.cfs].h_nr_queued
        {
            if let Some(task) = (self.fair.pick_next_task)(self, cpu, prev, true) {
                return task;
            }
            // A newly idle pull may have brought a task of another class in the meantime: it cannot here.
            let idle = self.rqs[cpu].idle;
            if prev != idle || self.fair.put_prev_before_pick {
                self.put_prev_task(cpu, prev);
                self.set_next_task(cpu, idle, true);
            }
            return idle;
        }
        self.prev_balance(cpu, prev);
        let mut from = prev;
        if self.fair.put_prev_before_pick {
            self.put_prev_task(cpu, prev);
            from = TaskId::NONE;
        }
        let stop = self.rqs[cpu].stop;
        if self.tasks[stop].is_queued() {
            return self.switch_class(cpu, from, stop);
        }
        if self.fair_server_is_next(cpu) {
            if let Some(task) = (self.fair.pick_next_task)(self, cpu, from, false) {
                return task;
            }
            self.fair_server_stop(cpu);
        }
        if let Some(task) = self.pick_task_rt(cpu) {
            return self.switch_class(cpu, from, task);
        }
        if let Some(task) = (self.fair.pick_next_task)(self, cpu, from, false) {
            return task;
        }
        let idle = self.rqs[cpu].idle;
        self.switch_class(cpu, from, idle)
    }

    fn switch_class(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) -> TaskId {
        if prev != next {
            if prev.is_some() {
                self.put_prev_task(cpu, prev);
            }
            self.set_next_task(cpu, next, true);
        }
        next
    }

    /// Before the classes are asked, each from the running task's down may pull tasks from other CPUs.
    fn prev_balance(&mut self, cpu: CpuId, prev: TaskId) {
        let class = self.tasks[prev].class;
        if class == Class::Stop && self.tasks[self.rqs[cpu].stop].is_queued() {
            return;
        }
        if class <= Class::Rt && self.balance_rt(cpu, prev) {
            return;
        }
        if class <= Class::Fair {
            let cfs = self.rqs[cpu].cfs;
            let runnable = if self.fair.put_prev_before_pick {
                self.rqs[cpu].nr_running != 0
            } else {
                self.cfs_rqs[cfs].nr_queued != 0
            };
            if !runnable {
                self.sched_balance_newidle(cpu);
            }
        }
    }

    /// The timer interrupt of a CPU.
    pub fn sched_tick(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.advance_rq_clock(cpu);
        if self.rqs[cpu].need_resched_lazy {
            self.resched_curr(cpu);
        }
        let curr = self.rqs[cpu].curr;
        match self.tasks[curr].class {
            Class::Fair => self.task_tick_fair(cpu, curr, false),
            Class::Rt => self.task_tick_rt(cpu, curr, false),
            Class::Stop | Class::Idle => {}
        }
        let idle = self.idle_cpu(cpu);
        self.rqs[cpu].idle_balance = idle;
        self.sched_balance_trigger(cpu);
    }

    /// The hrtick of a CPU: its running task's slice ends.
    pub fn hrtick(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(cpu);
        let curr = self.rqs[cpu].curr;
        match self.tasks[curr].class {
            Class::Fair => self.task_tick_fair(cpu, curr, true),
            Class::Rt => self.task_tick_rt(cpu, curr, true),
            Class::Stop | Class::Idle => {}
        }
    }

    /// sched_yield() by the running task; to be followed by [`schedule`](Self::schedule).
    pub fn sched_yield(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.rqs[cpu].stats.yld_count += 1;
        let curr = self.rqs[cpu].curr;
        match self.tasks[curr].class {
            Class::Fair => (self.fair.yield_task)(self, cpu),
            Class::Rt => self.yield_task_rt(cpu),
            Class::Stop | Class::Idle => {}
        }
    }

    /// The running task of `cpu` gives way to `target`; true if that could be arranged, and then
    /// [`schedule`](Self::schedule) is to follow. `None`: both queues hold one task only (ESRCH).
    pub fn yield_to(&mut self, cpu: CpuId, target: TaskId, now: Nanos) -> Option<bool> {
        self.set_time(now);
        let curr = self.rqs[cpu].curr;
        let target_cpu = self.tasks[target].cpu;
        if self.profile.features.has(Feature::YIELD_TO_NR_RUNNING)
            && self.rqs[cpu].nr_running == 1
            && self.rqs[target_cpu].nr_running == 1
        {
            return None;
        }
        let (class, target_class) = (self.tasks[curr].class, self.tasks[target].class);
        if class != Class::Fair
            || class != target_class
            || self.tasks[target].on_cpu
            || self.tasks[target].state != TaskState::Running
        {
            return Some(false);
        }
        let se = self.tasks[target].se;
        if !self.ses[se].on_rq || self.throttled_hierarchy(self.ses[se].cfs_rq) {
            return Some(false);
        }
        self.set_next_buddy(se);
        (self.fair.yield_task)(self, cpu);
        self.rqs[cpu].stats.yld_count += 1;
        if cpu != target_cpu {
            self.resched_curr(target_cpu);
        }
        Some(true)
    }
}
