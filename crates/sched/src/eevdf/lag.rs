//! Virtual time, lag, eligibility, and the timeline that is ordered by deadline.

use crate::cfs_rq::CfsRq;
use crate::entity::SchedEntity;
use crate::sched::Sched;
use crate::table::Table;
use crate::timeline::Entry;
use crate::units::{CfsRqId, Nanos, SeId};

/// Division by the kernel's `div_s64`: the divisor is taken as 32 bits.
#[inline(always)]
pub(super) fn div_s64(dividend: i64, divisor: i64) -> i64 {
    dividend / i64::from(divisor as i32)
}

/// Does deadline `a` come first?
#[inline(always)]
pub(super) fn deadline_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The running entity of a queue, if it counts there.
#[inline(always)]
pub(super) fn queued_curr<'a>(
    ses: &'a Table<SeId, SchedEntity>,
    cfs: &CfsRq,
) -> Option<&'a SchedEntity> {
    let curr = cfs.curr.get().map(|curr| &ses[curr]);
    curr.filter(|curr| curr.on_rq)
}

impl CfsRq {
    /// `v − v0`.
    #[inline(always)]
    fn key(&self, vruntime: u64) -> i64 {
        vruntime.wrapping_sub(self.zero_vruntime) as i64
    }

    /// The sums with the running entity, if it counts, counted in: (Σ w·(v − v0), Σ w).
    #[inline(always)]
    pub(super) fn sums_with(&self, curr: Option<&SchedEntity>) -> (i64, i64) {
        let (mut runtime, mut weight) = (self.avg_vruntime, self.avg_load as i64);
        if let Some(curr) = curr {
            let w = curr.weight() as i64;
            runtime = runtime.wrapping_add(self.key(curr.vruntime).wrapping_mul(w));
            weight += w;
        }
        (runtime, weight)
    }

    /// Is who has this virtual runtime owed CPU time? `v ≤ V`, without the division: Σ w·(v_i − v0) ≥ (v − v0) · Σ w.
    #[inline(always)]
    pub(super) fn eligible(&self, (runtime, weight): (i64, i64), vruntime: u64) -> bool {
        runtime >= self.key(vruntime).wrapping_mul(weight)
    }

    /// The queue's virtual time V, `curr` being the running entity if it counts; moves the origin of the sums there.
    #[inline]
    pub(super) fn move_to_average(&mut self, curr: Option<&SchedEntity>) -> u64 {
        let delta = if self.avg_load != 0 {
            let (mut runtime, weight) = self.sums_with(curr);
            self.zero_weight = weight;
            // Round down, also below zero, so that the average is to the left and everybody at it is eligible.
            if runtime < 0 {
                runtime -= weight - 1;
            }
            div_s64(runtime, weight)
        } else if let Some(curr) = curr {
            self.key(curr.vruntime)
        } else {
            return self.zero_vruntime;
        };
        self.avg_vruntime = self
            .avg_vruntime
            .wrapping_sub((self.avg_load as i64).wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add(delta as u64);
        self.zero_vruntime
    }

    /// Counts an entity of the line in the sums.
    #[inline(always)]
    pub(super) fn count_in(&mut self, entity: &SchedEntity) {
        let weight = entity.weight();
        let weighted = self.key(entity.vruntime).wrapping_mul(weight as i64);
        self.avg_vruntime = self.avg_vruntime.wrapping_add(weighted);
        self.avg_load += weight;
    }

    /// Takes it out of them.
    #[inline(always)]
    pub(super) fn count_out(&mut self, entity: &SchedEntity) {
        let weight = entity.weight();
        let weighted = self.key(entity.vruntime).wrapping_mul(weight as i64);
        self.avg_vruntime = self.avg_vruntime.wrapping_sub(weighted);
        self.avg_load -= weight;
    }

    /// Puts an entity in line by its deadline.
    #[inline]
    pub(super) fn line_up_eevdf(&mut self, se: SeId, entity: &SchedEntity) {
        self.count_in(entity);
        self.timeline.insert(entry(se, entity));
    }

    /// Takes an entity out of the line.
    #[inline]
    pub(super) fn leave_line_eevdf(&mut self, se: SeId, entity: &SchedEntity) {
        self.count_out(entity);
        self.timeline.remove(se);
    }
}

/// What the line keeps of an entity.
#[inline(always)]
pub(super) fn entry(se: SeId, entity: &SchedEntity) -> Entry {
    Entry {
        key: entity.deadline,
        vruntime: entity.vruntime,
        slice: entity.slice,
        se,
    }
}

impl SchedEntity {
    /// 6.12: the most lag it may keep, either sign: max(2 slices, a tick).
    #[inline]
    pub(super) fn lag_limit_6_12(&self, tick_nsec: Nanos) -> Nanos {
        (2 * self.slice).max(tick_nsec)
    }

    /// `V − v`, limited to the virtual time in which it runs for `limit`.
    #[inline]
    pub(super) fn lag(&mut self, avruntime: u64, limit: Nanos) -> i64 {
        let limit = self.load.calc_delta_fair(limit) as i64;
        let vlag = avruntime.wrapping_sub(self.vruntime) as i64;
        vlag.clamp(-limit, limit)
    }

    /// 6.12: while an entity runs its `vlag` has no meaning; equal to the deadline it says that the slice is protected.
    #[inline(always)]
    pub(super) fn protect_slice_6_12(&self) -> bool {
        self.vlag as u64 == self.deadline
    }
}

impl Sched {
    // ---- virtual time and lag ----------------------------------------------------------------------------------------

    /// The queue's sums with the running entity counted in: (Σ w·(v − v0), Σ w).
    #[inline]
    pub(crate) fn vruntime_sums(&self, cfs: &CfsRq) -> (i64, i64) {
        cfs.sums_with(queued_curr(&self.ses, cfs))
    }

    /// The queue's virtual time V; moves the origin of the sums there.
    pub(crate) fn avg_vruntime(&mut self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let curr = queued_curr(&self.ses, cfs);
        cfs.move_to_average(curr)
    }

    #[inline(always)]
    pub(super) fn update_entity_lag(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let curr = queued_curr(&self.ses, cfs);
        let avruntime = cfs.move_to_average(curr);
        let limit = (self.fair.lag_limit)(cfs, curr, &self.ses[se], self.tick_nsec);
        let entity = &mut self.ses[se];
        entity.vlag = entity.lag(avruntime, limit);
        if self.probes.is_some() {
            let is_whole = entity.vlag == avruntime.wrapping_sub(entity.vruntime) as i64;
            self.note_factors_of_lag(cfs_rq, se, !is_whole);
        }
    }

    /// The most lag an entity may have on a queue.
    pub(crate) fn greatest_lag(&mut self, cfs_rq: CfsRqId, se: SeId) -> i64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let curr = queued_curr(&self.ses, cfs);
        let limit = (self.fair.lag_limit)(cfs, curr, &self.ses[se], self.tick_nsec);
        self.ses[se].load.calc_delta_fair(limit) as i64
    }

    /// Is an entity owed CPU time?
    pub fn entity_eligible(&self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        cfs.eligible(self.vruntime_sums(cfs), self.ses[se].vruntime)
    }

    /// The queue's virtual time V, rounded down, its origin left where it is.
    pub fn vruntime_of_queue(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (runtime, weight) = self.vruntime_sums(cfs);
        cfs.zero_vruntime
            .wrapping_add(runtime.div_euclid(weight.max(1)) as u64)
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
        self.cfs_rqs[cfs_rq].line_up_eevdf(se, &self.ses[se]);
    }

    pub(super) fn timeline_remove(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.cfs_rqs[cfs_rq].leave_line_eevdf(se, &self.ses[se]);
    }

    /// The shortest slice anybody in the queue asks for; `u64::MAX` if it is empty.
    pub(super) fn cfs_rq_min_slice(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let curr = queued_curr(&self.ses, cfs);
        let waiting = cfs.timeline.min_slice().unwrap_or(u64::MAX);
        waiting.min(curr.map_or(u64::MAX, |curr| curr.slice))
    }

    // ---- slice protection --------------------------------------------------------------------------------------------

    pub(super) fn set_protect_slice_6_12(&mut self, _cfs_rq: CfsRqId, se: SeId) {
        self.ses[se].vlag = self.ses[se].deadline as i64;
    }

    pub(super) fn cancel_protect_slice_6_12(&mut self, se: SeId) {
        let entity = &mut self.ses[se];
        if entity.protect_slice_6_12() {
            entity.vlag = entity.deadline.wrapping_add(1) as i64;
        }
    }
}
