//! What running and a change of weight do to an entity: virtual runtime, deadline, preemption at the tick.

use super::lag::div_s64;
use crate::features::Feature;
use crate::load::UPDATE_TG;
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, SeId};

impl Sched {
    // ---- running -----------------------------------------------------------------------------------------------------

    /// A slice is used up when the virtual runtime reaches the deadline; then the next deadline is set.
    #[inline]
    pub(super) fn update_deadline(&mut self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let entity = &mut self.ses[se];
        if (entity.vruntime.wrapping_sub(entity.deadline) as i64) < 0 {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = self.profile.base_slice_ns(entity.depth);
        }
        entity.deadline = entity
            .vruntime
            .wrapping_add(entity.load.calc_delta_fair(entity.slice));
        self.avg_vruntime(cfs_rq);
        true
    }

    /// The running entity is beaten by a shorter slice: it lost its protection and is not eligible.
    fn did_preempt_short(&self, cfs_rq: CfsRqId, curr: SeId) -> bool {
        self.profile.features.has(Feature::PREEMPT_SHORT)
            && !self.protect_slice(curr)
            && !self.entity_eligible(cfs_rq, curr)
    }

    /// May `pse`, which asks for a shorter slice, cut `se`'s short?
    pub(super) fn do_preempt_short(&self, cfs_rq: CfsRqId, pse: SeId, se: SeId) -> bool {
        self.profile.features.has(Feature::PREEMPT_SHORT)
            && self.ses[pse].slice < self.ses[se].slice
            && self.entity_eligible(cfs_rq, pse)
            && (self.deadline_before(pse, se) || !self.entity_eligible(cfs_rq, se))
    }

    /// Most calls come twice at one time, or on a queue that runs nobody: those end before the function proper.
    #[inline]
    pub(super) fn update_curr_eevdf(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (curr, cpu) = (cfs.curr, cfs.cpu);
        if curr.is_some() && self.ses[curr].exec_start != self.rqs[cpu].clock_task {
            self.charge_time(cfs_rq, cpu, curr);
        }
    }

    fn charge_time(&mut self, cfs_rq: CfsRqId, cpu: CpuId, curr: SeId) {
        let delta_exec = self.charge_curr(cpu, curr);
        if delta_exec == 0 {
            return;
        }
        let entity = &mut self.ses[curr];
        let is_task = entity.is_task();
        entity.vruntime = entity
            .vruntime
            .wrapping_add(entity.load.calc_delta_fair(delta_exec));
        self.probe(ProbePoint::StatRuntime, cfs_rq, curr);
        let resched = self.update_deadline(cfs_rq, curr);
        if is_task {
            self.fair_server_update(cpu, delta_exec);
        }
        self.account_cfs_rq_runtime(cfs_rq, delta_exec);
        if self.cfs_rqs[cfs_rq].nr_queued == 1 {
            return;
        }
        if resched || self.did_preempt_short(cfs_rq, curr) {
            self.resched_curr(cpu);
            self.clear_buddies_eevdf(cfs_rq, curr);
        }
    }

    pub(super) fn entity_tick_eevdf(&mut self, cfs_rq: CfsRqId, curr: SeId, queued: bool) {
        self.update_curr_eevdf(cfs_rq);
        self.update_load_avg(cfs_rq, curr, UPDATE_TG);
        self.update_cfs_group(curr);
        if queued {
            self.resched_curr(self.cpu_of(cfs_rq));
        }
    }

    pub(super) fn clear_buddies_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.cfs_rqs[cfs_rq].next == se {
            self.clear_buddies_next(se);
        }
    }

    // ---- weights -----------------------------------------------------------------------------------------------------

    /// Keeps lag and remaining slice, which are real time, while the weight changes:
    /// `v' = V − (V − v)·w/w'`, `d' = V + (d − V)·w/w'`.
    fn reweight_eevdf(&mut self, se: SeId, avruntime: u64, weight: u64) {
        let old_weight = self.ses[se].load.weight as i64;
        if avruntime != self.ses[se].vruntime {
            let vlag = self.entity_lag(avruntime, se).wrapping_mul(old_weight);
            self.ses[se].vruntime = avruntime.wrapping_sub(div_s64(vlag, weight as i64) as u64);
        }
        let entity = &mut self.ses[se];
        let vslice = (entity.deadline.wrapping_sub(avruntime) as i64).wrapping_mul(old_weight);
        entity.deadline = avruntime.wrapping_add(div_s64(vslice, weight as i64) as u64);
    }

    pub(super) fn reweight_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        let on_rq = self.ses[se].on_rq;
        let mut avruntime = 0;
        if on_rq {
            self.update_curr_eevdf(cfs_rq);
            avruntime = self.avg_vruntime(cfs_rq);
            if self.probes.is_some() {
                self.note_weighed(cfs_rq, se);
            }
            if !curr {
                self.timeline_remove(cfs_rq, se);
            }
            let old = self.ses[se].load.weight;
            self.cfs_rqs[cfs_rq].load.sub(old);
        }
        self.dequeue_load_avg(cfs_rq, se);
        if on_rq {
            self.reweight_eevdf(se, avruntime, weight);
        } else {
            let entity = &mut self.ses[se];
            let scaled = entity.vlag.wrapping_mul(entity.load.weight as i64);
            entity.vlag = div_s64(scaled, weight as i64);
        }
        self.reweight_load_avg(cfs_rq, se, weight);
        if on_rq {
            self.cfs_rqs[cfs_rq].load.add(weight);
            if !curr {
                self.timeline_add(cfs_rq, se);
            }
        }
    }

    pub(super) fn update_cfs_group_eevdf(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.cfs_rqs[gcfs_rq].load.weight == 0 || self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        let cfs_rq = self.ses[se].cfs_rq;
        if self.ses[se].load.weight != shares {
            self.reweight_entity_eevdf(cfs_rq, se, shares);
        } else if self.probes.is_some() && self.ses[se].on_rq {
            self.note_weighed(cfs_rq, se);
        }
    }

    /// Tells the group at most once a millisecond.
    pub(super) fn update_tg_load_avg_limited(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        if !self.rqs[cfs.cpu].online
            || self.now.wrapping_sub(cfs.last_update_tg_load_avg) < 1_000_000
        {
            return;
        }
        if self.contribute_tg_load_avg(cfs_rq) {
            self.cfs_rqs[cfs_rq].last_update_tg_load_avg = self.now;
        }
    }
}
