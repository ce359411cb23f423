//! Tasks through the levels of the group tree: enqueue, dequeue, wakeup preemption, yield, migration.

use crate::fair::{UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::features::Feature;
use crate::flags::{
    DEQUEUE_DELAYED, DEQUEUE_SAVE, DEQUEUE_SLEEP, DEQUEUE_SPECIAL, ENQUEUE_DELAYED,
    ENQUEUE_RESTORE, ENQUEUE_WAKEUP, WF_FORK,
};
use crate::load::UPDATE_TG;
use crate::pelt::UTIL_AVG_UNCHANGED;
use crate::sched::Sched;
use crate::task::{OnRq, Policy};
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

impl Sched {
    /// Passes the queue's shortest slice up as its group's slice.
    fn inherit_slice(&mut self, cfs_rq: CfsRqId, se: SeId, slice: u64) {
        let slice = self.profile.group_slice(self.ses[se].depth, slice);
        self.ses[se].slice = slice;
        if self.cfs_rqs[cfs_rq].curr != se {
            self.cfs_rqs[cfs_rq].timeline.set_slice(se, slice);
        }
    }

    pub(super) fn enqueue_task_eevdf(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) {
        let t = &self.tasks[task];
        let mut se = t.se;
        let migrating = t.on_rq == OnRq::Migrating;
        let delayed = self.ses[se].sched_delayed;
        if !(delayed && (migrating || flags & ENQUEUE_RESTORE != 0)) {
            self.util_est_enqueue(cpu, task);
        }
        if flags & ENQUEUE_DELAYED != 0 {
            self.requeue_delayed_entity(se);
            return;
        }
        let h_nr_delayed = u32::from(flags & ENQUEUE_WAKEUP == 0 && delayed);
        let t = &mut self.tasks[task];
        let credit = core::mem::take(&mut t.to_empty_cfs_rq) && flags & ENQUEUE_WAKEUP != 0;
        let mut idle = u32::from(t.has_idle_policy());
        let mut slice = 0;
        let mut queued = false;
        while se.is_some() {
            let (cfs_rq, parent) = (self.ses[se].cfs_rq, self.ses[se].parent);
            if credit && !queued {
                self.end_delay_for_credit(cfs_rq, se);
            }
            if !queued && self.ses[se].on_rq {
                if self.ses[se].sched_delayed {
                    self.requeue_delayed_entity(se);
                }
                queued = true;
            }
            if queued {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
                self.inherit_slice(cfs_rq, se, slice);
            } else {
                if slice != 0 {
                    self.ses[se].slice = self.profile.group_slice(self.ses[se].depth, slice);
                    self.ses[se].custom_slice = true;
                }
                if credit {
                    self.credit_empty_cfs_rq(cfs_rq, se);
                }
                self.enqueue_entity_eevdf(cfs_rq, se, flags);
                flags = ENQUEUE_WAKEUP;
            }
            if parent.is_some() {
                slice = self.cfs_rq_min_slice(cfs_rq);
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_runnable += 1 - h_nr_delayed;
            cfs.h_nr_queued += 1;
            cfs.idle_h_nr_queued += idle;
            cfs.h_nr_delayed += h_nr_delayed;
            if cfs.idle {
                idle = 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                self.assert_list_leaf_cfs_rq(cpu);
                self.hrtick_update(cpu);
                return;
            }
            se = parent;
        }
        self.fair_server_enqueued(cpu);
        self.add_nr_running(cpu, 1);
        self.assert_list_leaf_cfs_rq(cpu);
        self.hrtick_update(cpu);
    }

    /// Takes a task, or a group that was delayed, off its queue and off all ancestors that empty.
    /// False: the task's dequeue is delayed.
    #[inline(always)]
    fn dequeue_entities(&mut self, cpu: CpuId, se: SeId, mut flags: u32) -> bool {
        let was_sched_idle = self.sched_idle_cpu(cpu);
        let task_sleep = flags & DEQUEUE_SLEEP != 0;
        let task_delayed = flags & DEQUEUE_DELAYED != 0;
        let entity = &self.ses[se];
        let task = entity.task.get();
        let (mut h_nr_queued, mut h_nr_delayed, mut idle) = (0, 0, 0);
        if let Some(task) = task {
            h_nr_queued = 1;
            idle = u32::from(self.tasks[task].has_idle_policy());
            if !task_sleep && !task_delayed {
                h_nr_delayed = u32::from(entity.sched_delayed);
            }
        }
        let h_nr_runnable = if h_nr_delayed == 0 { h_nr_queued } else { 0 };
        let mut slice = 0;
        let mut throttled = false;
        let mut off = true;
        let mut at = se;
        while at.is_some() {
            let (cfs_rq, parent) = (self.ses[at].cfs_rq, self.ses[at].parent);
            if off && !self.dequeue_entity_eevdf(cfs_rq, at, flags) {
                if task.is_some() && at == se {
                    return false;
                }
                // A group's own dequeue is delayed: it keeps its place, its counts change.
                slice = self.cfs_rq_min_slice(cfs_rq);
                off = false;
            }
            if !off {
                self.update_load_avg(cfs_rq, at, UPDATE_TG);
                self.se_update_runnable(at);
                self.update_cfs_group(at);
                self.inherit_slice(cfs_rq, at, slice);
                if parent.is_some() {
                    slice = self.cfs_rq_min_slice(cfs_rq);
                }
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_runnable -= h_nr_runnable;
            cfs.h_nr_queued -= h_nr_queued;
            cfs.idle_h_nr_queued -= idle;
            cfs.h_nr_delayed -= h_nr_delayed;
            if cfs.idle {
                idle = h_nr_queued;
            }
            let still_loaded = cfs.load.weight != 0;
            if self.cfs_rq_throttled(cfs_rq) {
                throttled = true;
                break;
            }
            if off && still_loaded && parent.is_some() {
                slice = self.cfs_rq_min_slice(cfs_rq);
                // The siblings of a sleeper are likely to be woken by it next, or to be what it waits for.
                if task_sleep && !self.throttled_hierarchy(cfs_rq) {
                    self.set_next_buddy(parent);
                }
                off = false;
            }
            flags |= DEQUEUE_SLEEP;
            flags &= !(DEQUEUE_DELAYED | DEQUEUE_SPECIAL);
            at = parent;
        }
        if !throttled {
            self.sub_nr_running(cpu, h_nr_queued);
            if !was_sched_idle && self.sched_idle_cpu(cpu) {
                self.rqs[cpu].next_balance = self.jiffies;
            }
        }
        if task_delayed && let Some(task) = task {
            self.hrtick_update(cpu);
            self.block_task_done(task);
        }
        true
    }

    pub(super) fn dequeue_task_eevdf(&mut self, cpu: CpuId, task: TaskId, flags: u32) -> bool {
        let t = &self.tasks[task];
        let (se, migrating) = (t.se, t.on_rq == OnRq::Migrating);
        if !(self.ses[se].sched_delayed && (migrating || flags & DEQUEUE_SAVE != 0)) {
            self.util_est_dequeue(cpu, task);
        }
        self.util_est_update_eevdf(cpu, task, flags & DEQUEUE_SLEEP != 0);
        if !self.dequeue_entities(cpu, se, flags) {
            return false;
        }
        self.hrtick_update(cpu);
        true
    }

    pub(super) fn wakeup_preempt_6_12(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (se, pse) = (self.tasks[curr].se, self.tasks[task].se);
        if se == pse || self.throttled_hierarchy(self.ses[pse].cfs_rq) {
            return;
        }
        let features = self.profile.features;
        if features.has(Feature::NEXT_BUDDY)
            && wake_flags & WF_FORK == 0
            && !self.ses[pse].sched_delayed
        {
            self.set_next_buddy(pse);
        }
        if self.rqs[cpu].need_resched || !features.has(Feature::WAKEUP_PREEMPTION) {
            return;
        }
        let (se, pse) = self.find_matching_se(se, pse);
        let (cse_is_idle, pse_is_idle) = (self.se_is_idle(se), self.se_is_idle(pse));
        if cse_is_idle && !pse_is_idle {
            self.cancel_protect_slice_6_12(se);
            self.resched_curr(cpu);
            return;
        }
        if cse_is_idle != pse_is_idle || self.tasks[task].policy != Policy::Normal {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_curr_eevdf(cfs_rq);
        if self.do_preempt_short(cfs_rq, pse, se) {
            self.cancel_protect_slice_6_12(se);
        }
        if self.pick_eevdf(&self.cfs_rqs[cfs_rq], self.protects_slices()) == Some(pse) {
            self.resched_curr(cpu);
        }
    }

    /// Forfeits the rest of the slice: the virtual runtime jumps to the deadline.
    pub(super) fn yield_task_eevdf(&mut self, cpu: CpuId) {
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        let se = self.tasks[self.rqs[cpu].curr].se;
        let cfs_rq = self.ses[se].cfs_rq;
        self.clear_buddies_eevdf(cfs_rq, se);
        self.update_rq_clock(cpu);
        self.update_curr_eevdf(cfs_rq);
        self.rqs[cpu].clock_skip_requested = true;
        if self.entity_eligible(cfs_rq, se) {
            let entity = &mut self.ses[se];
            entity.vruntime = entity.deadline;
            self.cfs_rqs[cfs_rq].update_deadline(entity, &self.profile);
        }
    }

    pub(super) fn migrate_task_rq_eevdf(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.tasks[task].on_rq != OnRq::Migrating {
            self.remove_entity_load_avg(se);
            self.migrate_se_pelt_lag(se);
        }
        self.ses[se].avg.last_update_time = 0;
    }

    /// When a task sleeps, its utilisation becomes its estimate: at once if larger, by a quarter of the way if smaller.
    pub(super) fn util_est_update_eevdf(&mut self, cpu: CpuId, task: TaskId, task_sleep: bool) {
        if !self.profile.features.has(Feature::UTIL_EST) || !task_sleep {
            return;
        }
        let se = self.tasks[task].se;
        let avg = &self.ses[se].avg;
        let mut ewma = avg.util_est;
        if ewma & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let dequeued = avg.util_avg as u32;
        if ewma <= dequeued {
            ewma = dequeued;
        } else {
            let diff = ewma - dequeued;
            if u64::from(diff) >= UTIL_EST_MARGIN {
                let capacity = self.rqs[cpu].cpu_capacity_orig;
                if self.fair.util_est_within_capacity && u64::from(dequeued) > capacity {
                    return;
                }
                // It wanted to run more than it did: its utilisation says little.
                if u64::from(dequeued) + UTIL_EST_MARGIN >= avg.runnable_avg {
                    ewma = ((ewma << UTIL_EST_WEIGHT_SHIFT) - diff) >> UTIL_EST_WEIGHT_SHIFT;
                }
            }
        }
        self.ses[se].avg.util_est = ewma | UTIL_AVG_UNCHANGED;
    }

    /// Ends the delay of a task that dies or leaves the class.
    pub(crate) fn finish_delayed(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.ses[se].sched_delayed {
            let cpu = self.tasks[task].cpu;
            self.update_rq_clock(cpu);
            self.dequeue_delayed(cpu, se);
        }
    }

    /// Takes an entity off whose dequeue was delayed. With its flags known, less of that is left to be done.
    #[inline(never)]
    pub(crate) fn dequeue_delayed(&mut self, cpu: CpuId, se: SeId) {
        self.dequeue_entities(cpu, se, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
    }
}
