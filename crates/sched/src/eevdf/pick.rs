//! Which entity runs next, and the bookkeeping when it starts and stops.

use super::lag::{deadline_before, queued_curr};
use crate::cfs_rq::CfsRq;
use crate::features::Feature;
use crate::load::UPDATE_TG;
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

impl Sched {
    /// The eligible entity with the earliest deadline; ties go to the one queued first, and to `curr` last.
    /// With `protect` a running entity that is eligible keeps the CPU while its slice is protected.
    #[inline(always)]
    pub(super) fn pick_eevdf(&self, cfs: &CfsRq, protect: bool) -> Option<SeId> {
        let curr = queued_curr(&self.ses, cfs);
        if cfs.nr_queued == 1 {
            return match curr {
                Some(_) => Some(cfs.curr),
                None => cfs.timeline.first().map(|e| e.se),
            };
        }
        let sums = cfs.sums_with(curr);
        let curr = curr.filter(|curr| cfs.eligible(sums, curr.vruntime));
        if let Some(curr) = curr
            && protect
            && (self.fair.protect_slice)(curr)
        {
            return Some(cfs.curr);
        }
        let mut waiting = cfs.timeline.iter();
        let best = waiting.find(|e| cfs.eligible(sums, e.vruntime));
        match (best, curr) {
            (Some(best), Some(curr)) if deadline_before(curr.deadline, best.key) => Some(cfs.curr),
            (None, curr) => curr.map(|_| cfs.curr),
            (best, _) => best.map(|e| e.se),
        }
    }

    /// None: the pick was asleep, and is now off the queue; pick again from the root.
    #[inline(always)]
    pub(super) fn pick_next_entity_eevdf(
        &mut self,
        cpu: CpuId,
        cfs_rq: CfsRqId,
        protect: bool,
    ) -> Option<SeId> {
        let cfs = &self.cfs_rqs[cfs_rq];
        if cfs.next.is_some()
            && self.profile.features.has(Feature::PICK_BUDDY)
            && self.entity_eligible(cfs_rq, cfs.next)
        {
            return Some(cfs.next);
        }
        // Only virtual times that a damaged recording told leave nobody eligible.
        let first = || cfs.timeline.iter().next().map(|waiting| waiting.se);
        let se = self
            .pick_eevdf(cfs, protect)
            .or_else(first)
            .expect("a queue that is not empty has an entity that waits or runs");
        if self.ses[se].sched_delayed {
            self.dequeue_delayed(cpu, se);
            return None;
        }
        Some(se)
    }

    /// Does RUN_TO_PARITY, or what a release does without it, protect the running slice?
    pub(super) fn protects_slices(&self) -> bool {
        self.fair.quantum_without_parity || self.profile.features.has(Feature::RUN_TO_PARITY)
    }

    fn pick_task_eevdf(&mut self, cpu: CpuId) -> Option<TaskId> {
        let protect = self.protects_slices();
        'again: loop {
            let mut cfs_rq = self.rqs[cpu].cfs;
            if self.cfs_rqs[cfs_rq].nr_queued == 0 {
                return None;
            }
            loop {
                let cfs = &self.cfs_rqs[cfs_rq];
                if let Some(curr) = queued_curr(&self.ses, cfs)
                    && curr.exec_start != self.rqs[cpu].clock_task
                {
                    self.charge_time(cfs_rq, cpu, cfs.curr);
                }
                if self.check_cfs_rq_runtime(cfs_rq) {
                    continue 'again;
                }
                let Some(se) = self.pick_next_entity_eevdf(cpu, cfs_rq, protect) else {
                    continue 'again;
                };
                let entity = &self.ses[se];
                cfs_rq = entity.my_q;
                if cfs_rq.is_none() {
                    return Some(entity.task);
                }
            }
        }
    }

    pub(super) fn pick_next_task_eevdf(
        &mut self,
        cpu: CpuId,
        prev: TaskId,
        newidle: bool,
    ) -> Option<TaskId> {
        let task = loop {
            match self.pick_task_eevdf(cpu) {
                Some(task) => break task,
                None if newidle && self.sched_balance_newidle(cpu) > 0 => {}
                None => return None,
            }
        };
        if prev == task {
            return Some(task);
        }
        if self.tasks[prev].class == crate::task::Class::Fair {
            self.switch_fair(
                prev,
                task,
                Sched::put_prev_entity_eevdf,
                Sched::set_next_entity_eevdf,
            );
            if self.tasks[task].is_queued() {
                self.cfs_tasks_picked(cpu, task);
            }
            self.fair_task_starts(cpu, task);
        } else {
            self.put_prev_task(cpu, prev);
            self.set_next_task_fair(task, true);
        }
        Some(task)
    }

    #[inline(always)]
    pub(super) fn set_next_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, first: bool) {
        self.probe(ProbePoint::SetNextEntity, cfs_rq, se);
        self.clear_buddies_eevdf(cfs_rq, se);
        if self.ses[se].on_rq {
            self.update_load_avg(cfs_rq, se, UPDATE_TG);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let rq = &self.rqs[cfs.cpu];
        let entity = &mut self.ses[se];
        entity.exec_start = rq.clock_task;
        entity.prev_sum_exec_runtime = entity.sum_exec_runtime;
        let on_rq = entity.on_rq;
        if on_rq {
            entity.wait_ends(rq.clock, false);
            cfs.leave_line_eevdf(se, entity);
        }
        debug_assert!(cfs.curr.is_none());
        cfs.curr = se;
        if on_rq && (first || self.fair.protects_put_back) {
            (self.fair.set_protect_slice)(self, cfs_rq, se);
        }
    }

    #[inline(always)]
    pub(super) fn put_prev_entity_eevdf(&mut self, cfs_rq: CfsRqId, prev: SeId) {
        self.probe(ProbePoint::PutPrevEntity, cfs_rq, prev);
        if self.ses[prev].on_rq {
            self.update_curr_eevdf(cfs_rq);
        }
        // A throttling takes the entity off.
        self.check_cfs_rq_runtime(cfs_rq);
        if self.ses[prev].on_rq {
            self.update_load_avg(cfs_rq, prev, 0);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[prev];
        if entity.on_rq {
            entity.wait_starts(self.rqs[cfs.cpu].clock);
            cfs.line_up_eevdf(prev, entity);
        }
        cfs.curr = SeId::NONE;
    }
}
