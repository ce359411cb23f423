//! Virtual time, lag, eligibility, and the timeline that is ordered by deadline.

use crate::cfs_rq::CfsRq;
use crate::entity::SchedEntity;
use crate::sched::Sched;
use crate::timeline::Entry;
use crate::units::{CfsRqId, SeId};

/// Division by the kernel's `div_s64`: the divisor is taken as 32 bits.
#[inline(always)]
pub(super) fn div_s64(dividend: i64, divisor: i64) -> i64 {
    dividend / i64::from(divisor as i32)
}

/// `v − v0`.
#[inline(always)]
fn entity_key(cfs: &CfsRq, entity: &SchedEntity) -> i64 {
    entity.vruntime.wrapping_sub(cfs.zero_vruntime) as i64
}

impl Sched {
    // ---- virtual time and lag ----------------------------------------------------------------------------------------

    /// `curr` if it counts in the queue.
    #[inline(always)]
    pub(super) fn queued_curr(&self, cfs_rq: CfsRqId) -> Option<SeId> {
        let curr = self.cfs_rqs[cfs_rq].curr;
        (curr.is_some() && self.ses[curr].on_rq).then_some(curr)
    }

    /// The queue's sums with the running entity counted in: (Σ w·(v − v0), Σ w).
    #[inline]
    pub(crate) fn vruntime_sums(&self, cfs: &CfsRq) -> (i64, i64) {
        let (mut runtime, mut weight) = (cfs.avg_vruntime, cfs.avg_load as i64);
        if cfs.curr.is_some() {
            let curr = &self.ses[cfs.curr];
            if curr.on_rq {
                let w = curr.weight() as i64;
                runtime = runtime.wrapping_add(entity_key(cfs, curr).wrapping_mul(w));
                weight += w;
            }
        }
        (runtime, weight)
    }

    /// The queue's virtual time V; moves the origin of the sums there.
    pub(crate) fn avg_vruntime(&mut self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let delta = if cfs.avg_load != 0 {
            let (mut runtime, weight) = self.vruntime_sums(cfs);
            // Round down, also below zero, so that the average is to the left and everybody at it is eligible.
            if runtime < 0 {
                runtime -= weight - 1;
            }
            div_s64(runtime, weight)
        } else if let Some(curr) = self.queued_curr(cfs_rq) {
            entity_key(cfs, &self.ses[curr])
        } else {
            return cfs.zero_vruntime;
        };
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.avg_vruntime = cfs
            .avg_vruntime
            .wrapping_sub((cfs.avg_load as i64).wrapping_mul(delta));
        cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(delta as u64);
        cfs.zero_vruntime
    }

    /// The most lag an entity may keep, either sign: max(2 slices, a tick) of its virtual time.
    pub(crate) fn lag_limit(&mut self, se: SeId) -> i64 {
        let tick = self.tick_nsec();
        let entity = &mut self.ses[se];
        entity.load.calc_delta_fair((2 * entity.slice).max(tick)) as i64
    }

    /// `V − v`, limited.
    pub(super) fn entity_lag(&mut self, avruntime: u64, se: SeId) -> i64 {
        let limit = self.lag_limit(se);
        let vlag = avruntime.wrapping_sub(self.ses[se].vruntime) as i64;
        vlag.clamp(-limit, limit)
    }

    pub(super) fn update_entity_lag(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let avruntime = self.avg_vruntime(cfs_rq);
        self.ses[se].vlag = self.entity_lag(avruntime, se);
    }

    /// Is an entity owed CPU time? `v ≤ V`, without the division: Σ w·(v_i − v0) ≥ (v − v0) · Σ w.
    pub fn entity_eligible(&self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (avg, load) = self.vruntime_sums(cfs);
        avg >= entity_key(cfs, &self.ses[se]).wrapping_mul(load)
    }

    /// Does `a`'s deadline come first?
    #[inline(always)]
    pub(super) fn deadline_before(&self, a: SeId, b: SeId) -> bool {
        (self.ses[a].deadline.wrapping_sub(self.ses[b].deadline) as i64) < 0
    }

    /// Are the sums with an entity of that virtual runtime far from an overflow, beyond which nobody may be eligible?
    ///
    /// Σ w·(v − v0) is at most max |v − v0| · Σ w. Ten bits are left for entities that join later.
    pub(super) fn can_hold_eevdf(&self, cfs_rq: CfsRqId, se: SeId, vruntime: u64) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        let key = vruntime.wrapping_sub(cfs.zero_vruntime) as i64;
        let weight = cfs.avg_load.saturating_add(self.ses[se].weight());
        let product = key.unsigned_abs().checked_mul(weight);
        product.is_some_and(|product| product < 1 << 53)
    }

    // ---- the timeline ------------------------------------------------------------------------------------------------

    pub(super) fn timeline_add(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &self.ses[se];
        let weight = entity.weight();
        let weighted = entity_key(cfs, entity).wrapping_mul(weight as i64);
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_add(weighted);
        cfs.avg_load += weight;
        let entry = Entry {
            key: entity.deadline,
            vruntime: entity.vruntime,
            slice: entity.slice,
            se,
        };
        cfs.timeline.insert(entry);
    }

    pub(super) fn timeline_remove(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &self.ses[se];
        let weight = entity.weight();
        let weighted = entity_key(cfs, entity).wrapping_mul(weight as i64);
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_sub(weighted);
        cfs.avg_load -= weight;
        cfs.timeline.remove(se);
    }

    /// The shortest slice anybody in the queue asks for; `u64::MAX` if it is empty.
    pub(super) fn cfs_rq_min_slice(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let curr = cfs.curr.get().map(|curr| &self.ses[curr]);
        let curr = curr.filter(|curr| curr.on_rq);
        let waiting = cfs.timeline.min_slice().unwrap_or(u64::MAX);
        waiting.min(curr.map_or(u64::MAX, |curr| curr.slice))
    }

    // ---- slice protection --------------------------------------------------------------------------------------------

    /// While an entity runs its `vlag` has no meaning; equal to the deadline it says that the slice is protected.
    #[inline]
    pub(super) fn protect_slice(&self, se: SeId) -> bool {
        self.ses[se].vlag as u64 == self.ses[se].deadline
    }

    pub(super) fn cancel_protect_slice(&mut self, se: SeId) {
        if self.protect_slice(se) {
            self.ses[se].vlag = self.ses[se].deadline.wrapping_add(1) as i64;
        }
    }
}
