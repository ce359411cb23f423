//! Changes of a task's class or priority, and CPUs that come and go.
//!
//! Model.  What a change leaves to be done is queued; `rt_balance_callbacks` does it.
//! Source. kernel/sched/rt.c `switched_to_rt`, `switched_from_rt`, `prio_changed_rt`, `rq_online_rt`, `rq_offline_rt`
//!         @ 6.1, 6.12.

use super::balance_callbacks::BalanceCallback;
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// The task joined the class; it is queued again already.
    pub(crate) fn switched_to_rt(&mut self, cpu: CpuId, task: TaskId) {
        if self.rqs[cpu].curr == task {
            self.update_rt_rq_load_avg(cpu, false);
            return;
        }
        if !self.tasks[task].is_queued() {
            return;
        }
        if self.tasks[task].nr_cpus_allowed > 1 && self.rqs[cpu].rt.overloaded {
            self.rt_queue_push_tasks(cpu);
        }
        if self.tasks[task].prio < self.tasks[self.rqs[cpu].curr].prio && self.rqs[cpu].online {
            self.resched_curr(cpu);
        }
    }

    /// The task left the class: if it was the last one here, others may have one to spare.
    pub(crate) fn switched_from_rt(&mut self, cpu: CpuId, task: TaskId) {
        let rt = &mut self.rqs[cpu].rt;
        if self.tasks[task].is_queued() && rt.nr_running == 0 {
            rt.callbacks.queue(BalanceCallback::PullTask);
        }
    }

    /// The task's priority changed within the class; it is queued again already.
    pub(crate) fn prio_changed_rt(&mut self, cpu: CpuId, task: TaskId, old_prio: i32) {
        if !self.tasks[task].is_queued() {
            return;
        }
        let prio = self.tasks[task].prio;
        let curr = self.rqs[cpu].curr;
        if curr == task {
            let rt = &mut self.rqs[cpu].rt;
            if old_prio < prio {
                rt.callbacks.queue(BalanceCallback::PullTask);
            }
            if prio > rt.highest_curr {
                self.resched_curr(cpu);
            }
        } else if prio < self.tasks[curr].prio {
            self.resched_curr(cpu);
        }
    }

    /// The CPUs that the task may use changed.
    ///
    /// # Panics
    /// If it is queued: whether it may migrate is counted when it is queued, and must be the same when it leaves.
    pub(crate) fn set_cpus_allowed_rt(&mut self, task: TaskId) {
        assert!(
            !self.tasks[task].rt.on_rq,
            "the CPUs of {task:?} changed while it was queued"
        );
    }

    /// The CPU takes part again; to be called after its `online` was set.
    pub(crate) fn rq_online_rt(&mut self, cpu: CpuId) {
        if self.rqs[cpu].rt.overloaded {
            self.publish_rt_overload(cpu, true);
        }
        (self.rt_rules.enable_runtime)(self, cpu);
        let highest = self.rqs[cpu].rt.highest_curr;
        self.rt_root().cpupri.set(cpu, highest);
    }

    /// The CPU stops taking part; to be called before its `online` is cleared.
    pub(crate) fn rq_offline_rt(&mut self, cpu: CpuId) {
        if self.rqs[cpu].rt.overloaded {
            self.publish_rt_overload(cpu, false);
        }
        (self.rt_rules.disable_runtime)(self, cpu);
        // The kernel stops it a little later, when the last task has left.
        self.fair_server_stop(cpu);
        self.rt_root().cpupri.set_invalid(cpu);
    }
}
