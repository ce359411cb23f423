//! Tasks through the levels of the group tree: enqueue, dequeue, wakeup preemption, fork, migration.

use crate::fair::{UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::features::Feature;
use crate::flags::{DEQUEUE_SLEEP, ENQUEUE_WAKEUP, WF_FORK};
use crate::load::UPDATE_TG;
use crate::pelt::UTIL_AVG_UNCHANGED;
use crate::sched::Sched;
use crate::task::{OnRq, Policy, TaskState};
use crate::units::{CpuId, TaskId};

impl Sched {
    pub(super) fn enqueue_task_cfs(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) {
        self.util_est_enqueue(cpu, task);
        let mut idle = u32::from(self.tasks[task].has_idle_policy());
        let mut queued = false;
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            queued = queued || self.ses[se].on_rq;
            if queued {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
            } else {
                self.enqueue_entity_cfs(cfs_rq, se, flags);
                flags = ENQUEUE_WAKEUP;
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_queued += 1;
            cfs.h_nr_runnable += 1;
            cfs.idle_h_nr_queued += idle;
            if cfs.idle {
                idle = 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                self.assert_list_leaf_cfs_rq(cpu);
                self.hrtick_update(cpu);
                return;
            }
            se = self.ses[se].parent;
        }
        self.add_nr_running(cpu, 1);
        self.assert_list_leaf_cfs_rq(cpu);
        self.hrtick_update(cpu);
    }

    pub(super) fn dequeue_task_cfs(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) -> bool {
        let task_sleep = flags & DEQUEUE_SLEEP != 0;
        let mut idle = u32::from(self.tasks[task].has_idle_policy());
        let was_sched_idle = self.sched_idle_cpu(cpu);
        self.util_est_dequeue(cpu, task);
        let mut off = true;
        let mut throttled = false;
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            if off {
                self.dequeue_entity_cfs(cfs_rq, se, flags);
            } else {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_queued -= 1;
            cfs.h_nr_runnable -= 1;
            cfs.idle_h_nr_queued -= idle;
            if cfs.idle {
                idle = 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                throttled = true;
                break;
            }
            let parent = self.ses[se].parent;
            if off && self.cfs_rqs[cfs_rq].load.weight != 0 {
                if task_sleep && parent.is_some() && !self.throttled_hierarchy(cfs_rq) {
                    self.set_next_buddy(parent);
                }
                off = false;
            }
            flags |= DEQUEUE_SLEEP;
            se = parent;
        }
        if !throttled {
            self.sub_nr_running(cpu, 1);
            if !was_sched_idle && self.sched_idle_cpu(cpu) {
                self.rqs[cpu].next_balance = self.jiffies;
            }
        }
        self.util_est_update_cfs(cpu, task, task_sleep);
        self.hrtick_update(cpu);
        true
    }

    pub(super) fn wakeup_preempt_cfs(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (curr_se, task_se) = (self.tasks[curr].se, self.tasks[task].se);
        if curr_se == task_se || self.throttled_hierarchy(self.ses[task_se].cfs_rq) {
            return;
        }
        let features = self.profile.features;
        let nr_queued = self.cfs_rqs[self.ses[curr_se].cfs_rq].nr_queued;
        let depth = self.ses[curr_se].depth;
        let scale = u64::from(nr_queued) >= self.profile.sched_nr_latency(depth);
        let mut next_buddy_marked = false;
        if features.has(Feature::NEXT_BUDDY) && scale && wake_flags & WF_FORK == 0 {
            self.set_next_buddy(task_se);
            next_buddy_marked = true;
        }
        if self.rqs[cpu].need_resched {
            return;
        }
        let mut se = curr_se;
        let idle_curr = self.tasks[curr].has_idle_policy() && !self.tasks[task].has_idle_policy();
        if !idle_curr {
            if self.tasks[task].policy != Policy::Normal
                || !features.has(Feature::WAKEUP_PREEMPTION)
            {
                return;
            }
            let (matched, pse) = self.find_matching_se(curr_se, task_se);
            se = matched;
            let (cse_is_idle, pse_is_idle) = (self.se_is_idle(se), self.se_is_idle(pse));
            if !cse_is_idle || pse_is_idle {
                if cse_is_idle != pse_is_idle {
                    return;
                }
                let cfs_rq = self.ses[se].cfs_rq;
                self.update_curr_cfs(cfs_rq);
                if self.wakeup_preempt_entity(se, pse) != 1 {
                    return;
                }
                if !next_buddy_marked {
                    self.set_next_buddy(pse);
                }
            }
        }
        self.resched_curr(cpu);
        if !self.ses[se].on_rq || curr == self.rqs[cpu].idle {
            return;
        }
        if features.has(Feature::LAST_BUDDY) && scale && self.ses[se].is_task() {
            self.set_last_buddy(se);
        }
    }

    pub(super) fn yield_task_cfs(&mut self, cpu: CpuId) {
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        let curr = self.rqs[cpu].curr;
        let se = self.tasks[curr].se;
        let cfs_rq = self.ses[se].cfs_rq;
        self.clear_buddies_cfs(cfs_rq, se);
        if self.tasks[curr].policy != Policy::Batch {
            self.update_rq_clock(cpu);
            self.update_curr_cfs(cfs_rq);
            self.rqs[cpu].clock_skip_requested = true;
        }
        self.set_skip_buddy(se);
    }

    /// A new task starts where its parent is, moved by a slice; its runtime is kept relative until it is enqueued.
    pub(super) fn task_fork_cfs(&mut self, this_cpu: CpuId, parent: TaskId, task: TaskId) {
        let se = self.tasks[task].se;
        self.update_rq_clock(this_cpu);
        let cfs_rq = self.task_cfs_rq(parent);
        let curr = self.cfs_rqs[cfs_rq].curr;
        if curr.is_some() {
            self.update_curr_cfs(cfs_rq);
            self.ses[se].vruntime = self.ses[curr].vruntime;
        }
        self.place_entity_cfs(cfs_rq, se, true);
        if self.profile.tunables.sched_child_runs_first != 0
            && curr.is_some()
            && self.vruntime_before(curr, se)
        {
            let (parents, childs) = (self.ses[curr].vruntime, self.ses[se].vruntime);
            self.ses[curr].vruntime = childs;
            self.ses[se].vruntime = parents;
            self.resched_curr(this_cpu);
        }
        let base = self.cfs_rqs[cfs_rq].zero_vruntime;
        self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
    }

    pub(super) fn migrate_task_rq_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.tasks[task].state == TaskState::Waking {
            let cfs_rq = self.ses[se].cfs_rq;
            let base = self.cfs_rqs[cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
            if self.probes.is_some() {
                self.note_hanging_base(cfs_rq, se);
            }
        }
        if self.tasks[task].on_rq != OnRq::Migrating {
            self.remove_entity_load_avg(se);
            self.migrate_se_pelt_lag(se);
        }
        self.ses[se].avg.last_update_time = 0;
    }

    /// Is the task's virtual runtime relative (or about to be made so)?
    fn vruntime_normalized(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.on_rq != OnRq::No
            || self.ses[t.se].sum_exec_runtime == 0
            || (t.state == TaskState::Waking && t.sched_remote_wakeup)
    }

    pub(super) fn detach_task_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if !self.vruntime_normalized(task) {
            let cfs_rq = self.ses[se].cfs_rq;
            self.place_entity_cfs(cfs_rq, se, false);
            let base = self.cfs_rqs[cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
        }
        self.detach_entity_cfs_rq(se);
    }

    pub(super) fn attach_task_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        self.attach_entity_cfs_rq(se);
        if !self.vruntime_normalized(task) {
            let base = self.cfs_rqs[self.ses[se].cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_add(base);
        }
    }

    /// The estimate keeps an average over activations (`ewma`) beside the last one (`enqueued`).
    fn util_est_update_cfs(&mut self, cpu: CpuId, task: TaskId, task_sleep: bool) {
        let features = self.profile.features;
        if !features.has(Feature::UTIL_EST) || !task_sleep {
            return;
        }
        let se = self.tasks[task].se;
        let avg = &self.ses[se].avg;
        let (mut enqueued, mut ewma) = (avg.util_est, avg.util_est_ewma);
        if enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let last_enqueued = i64::from(enqueued);
        enqueued = avg.util_avg as u32;
        if !(features.has(Feature::UTIL_EST_FASTUP) && ewma < enqueued) {
            let within = |value: i64| {
                let margin = UTIL_EST_MARGIN as i32;
                (value as i32).wrapping_add(margin - 1) as u32 <= (2 * margin - 2) as u32
            };
            let ewma_diff = i64::from(enqueued) - i64::from(ewma);
            if within(ewma_diff) {
                if within(last_enqueued - i64::from(enqueued)) {
                    return;
                }
            } else {
                if u64::from(enqueued) > self.rqs[cpu].cpu_capacity_orig {
                    return;
                }
                let shifted = (i64::from(ewma) << UTIL_EST_WEIGHT_SHIFT) + ewma_diff;
                ewma = (shifted >> UTIL_EST_WEIGHT_SHIFT) as u32;
            }
        } else {
            ewma = enqueued;
        }
        let avg = &mut self.ses[se].avg;
        avg.util_est = enqueued | UTIL_AVG_UNCHANGED;
        avg.util_est_ewma = ewma;
    }
}
