//! What running and a change of weight do to an entity: virtual runtime, deadline, preemption at the tick.

use super::lag::{deadline_before, div_s64, entry};
use crate::cfs_rq::CfsRq;
use crate::entity::SchedEntity;
use crate::features::{Feature, Features};
use crate::load::{self, UPDATE_TG};
use crate::probe::ProbePoint;
use crate::profile::KernelProfile;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, SeId};

/// Keeps lag and remaining slice, which are real time, while the weight changes:
/// `v' = V − (V − v)·w/w'`, `d' = V + (d − V)·w/w'`.
fn reweight_eevdf(entity: &mut SchedEntity, avruntime: u64, weight: u64, tick_nsec: u64) {
    let old_weight = entity.load.weight as i64;
    if avruntime != entity.vruntime {
        let limit = entity.lag_limit_6_12(tick_nsec);
        let vlag = entity.lag(avruntime, limit).wrapping_mul(old_weight);
        entity.vruntime = avruntime.wrapping_sub(div_s64(vlag, weight as i64) as u64);
    }
    let vslice = (entity.deadline.wrapping_sub(avruntime) as i64).wrapping_mul(old_weight);
    entity.deadline = avruntime.wrapping_add(div_s64(vslice, weight as i64) as u64);
}

impl CfsRq {
    /// The slice of the running entity is used up when its virtual runtime reaches the deadline; then the next deadline is
    /// set.
    #[inline(always)]
    pub(super) fn update_deadline(
        &mut self,
        curr: &mut SchedEntity,
        profile: &KernelProfile,
    ) -> bool {
        if (curr.vruntime.wrapping_sub(curr.deadline) as i64) < 0 {
            return false;
        }
        if !curr.custom_slice {
            curr.slice = profile.base_slice_ns(curr.depth);
        }
        let vslice = curr.load.calc_delta_fair(curr.slice);
        curr.deadline = curr.vruntime.wrapping_add(vslice);
        self.move_to_average(curr.on_rq.then_some(curr));
        true
    }
}

impl Sched {
    // ---- running -----------------------------------------------------------------------------------------------------

    /// 6.12: the running entity is beaten by a shorter slice: it lost its protection and is not eligible.
    #[inline]
    pub(super) fn did_preempt_short(features: Features, cfs: &CfsRq, curr: &SchedEntity) -> bool {
        features.has(Feature::PREEMPT_SHORT)
            && !curr.protect_slice_6_12()
            && !cfs.eligible(cfs.sums_with(curr.on_rq.then_some(curr)), curr.vruntime)
    }

    /// 6.12: may `pse`, which asks for a shorter slice, cut `se`'s short?
    pub(super) fn do_preempt_short(&self, cfs_rq: CfsRqId, pse: SeId, se: SeId) -> bool {
        let (woken, curr) = (&self.ses[pse], &self.ses[se]);
        self.profile.features.has(Feature::PREEMPT_SHORT)
            && woken.slice < curr.slice
            && self.entity_eligible(cfs_rq, pse)
            && (deadline_before(woken.deadline, curr.deadline) || !self.entity_eligible(cfs_rq, se))
    }

    /// Most calls come twice at one time, or on a queue that runs nobody: those end before the function proper.
    #[inline(always)]
    pub(super) fn update_curr_eevdf(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (curr, cpu) = (cfs.curr, cfs.cpu);
        if curr.is_some() && self.ses[curr].exec_start != self.rqs[cpu].clock_task {
            self.charge_time(cfs_rq, cpu, curr);
        }
    }

    #[inline(never)]
    pub(super) fn charge_time(&mut self, cfs_rq: CfsRqId, cpu: CpuId, curr: SeId) {
        let delta_exec = self.charge_curr(cpu, curr);
        if delta_exec == 0 {
            return;
        }
        let entity = &mut self.ses[curr];
        entity.vruntime = entity
            .vruntime
            .wrapping_add(entity.load.calc_delta_fair(delta_exec));
        let entity = if self.probes.is_some() {
            self.probe(ProbePoint::StatRuntime, cfs_rq, curr);
            &mut self.ses[curr]
        } else {
            entity
        };
        let is_task = entity.is_task();
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let slice_ended = cfs.update_deadline(entity, &self.profile);
        let resched = cfs.nr_queued != 1
            && (slice_ended || (self.fair.is_overdue)(self.profile.features, cfs, entity));
        if is_task {
            self.fair_server_update(cpu, delta_exec);
        }
        self.account_cfs_rq_runtime(cfs_rq, delta_exec);
        if resched {
            self.resched_curr_lazy(cpu);
            self.clear_buddies_eevdf(cfs_rq, curr);
        }
    }

    #[inline(always)]
    pub(super) fn entity_tick_eevdf(&mut self, cfs_rq: CfsRqId, curr: SeId, queued: bool) {
        self.update_curr_eevdf(cfs_rq);
        self.update_load_avg(cfs_rq, curr, UPDATE_TG);
        self.update_cfs_group(curr);
        if queued {
            self.resched_curr_lazy(self.cpu_of(cfs_rq));
        }
    }

    pub(super) fn clear_buddies_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.cfs_rqs[cfs_rq].next == se {
            self.clear_buddies_next(se);
        }
    }

    // ---- weights -----------------------------------------------------------------------------------------------------

    #[inline(always)]
    pub(super) fn reweight_entity_6_12(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let on_rq = self.ses[se].on_rq;
        let mut avruntime = 0;
        if on_rq {
            self.update_curr_eevdf(cfs_rq);
            avruntime = self.avg_vruntime(cfs_rq);
            if self.probes.is_some() {
                self.note_weighed(cfs_rq, se);
            }
        }
        if self.probes.is_some() {
            let old_weight = self.ses[se].load.weight;
            self.note_factors_weighed(cfs_rq, se, old_weight, weight);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        let waits = on_rq && cfs.curr != se;
        if waits {
            cfs.count_out(entity);
        }
        let old_weight = entity.load.weight;
        load::dequeue_load_avg(cfs, entity);
        if on_rq {
            reweight_eevdf(entity, avruntime, weight, self.tick_nsec);
        } else {
            let scaled = entity.vlag.wrapping_mul(old_weight as i64);
            entity.vlag = div_s64(scaled, weight as i64);
        }
        load::reweight_load_avg(cfs, entity, weight);
        if on_rq {
            cfs.load.sub(old_weight);
            cfs.load.add(weight);
        }
        if waits {
            cfs.count_in(entity);
            cfs.timeline.replace(entry(se, entity));
        }
    }

    pub(super) fn update_cfs_group_6_12(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.cfs_rqs[gcfs_rq].load.weight == 0 || self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        let entity = &self.ses[se];
        let cfs_rq = entity.cfs_rq;
        if entity.load.weight != shares {
            self.reweight_entity_6_12(cfs_rq, se, shares);
        } else if self.probes.is_some() && entity.on_rq {
            self.note_weighed(cfs_rq, se);
        }
    }

    /// Tells the group at most once a millisecond.
    pub(super) fn update_tg_load_avg_limited(&mut self, cfs_rq: CfsRqId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        if self.now.wrapping_sub(cfs.last_update_tg_load_avg) < 1_000_000
            || !self.rqs[cfs.cpu].online
        {
            return;
        }
        if load::contribute_tg_load_avg(cfs, &mut self.groups) {
            cfs.last_update_tg_load_avg = self.now;
        }
    }
}
