//! 6.18: a queued entity whose weight changes is taken out and placed anew.
//!
//! Model.      Lag and what is left of the slice are real time: as virtual time they are scaled by `w/w'`. The entity
//!             is placed by its scaled lag as one that joins, on a queue whose average still counts it if it runs.
//! Source.     kernel/sched/fair.c `update_cfs_group`, `reweight_entity` @ 6.18.44.

use super::lag::div_s64;
use crate::load;
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

impl Sched {
    pub(super) fn update_cfs_group_6_18(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.cfs_rqs[gcfs_rq].load.weight == 0 || self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        if self.ses[se].load.weight != shares {
            let cfs_rq = self.ses[se].cfs_rq;
            self.reweight_entity_6_18(cfs_rq, se, shares);
        }
    }

    pub(super) fn reweight_entity_6_18(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let on_rq = self.ses[se].on_rq;
        if on_rq {
            self.update_curr_eevdf(cfs_rq);
            self.update_entity_lag(cfs_rq, se);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        let (runs, waits) = (on_rq && cfs.curr == se, on_rq && cfs.curr != se);
        let old_weight = entity.load.weight;
        let rescale = |time: i64| {
            let real = time.wrapping_mul(old_weight as i64);
            div_s64(real, weight as i64)
        };
        let mut vprot = None;
        if on_rq {
            entity.deadline = entity.deadline.wrapping_sub(entity.vruntime);
            entity.rel_deadline = true;
            // The lag lies where the protection lay: this holds only if it happens to be ahead of the virtual runtime.
            if runs && entity.protect_slice_6_18() {
                vprot = Some(rescale(
                    (entity.vlag as u64).wrapping_sub(entity.vruntime) as i64
                ));
            }
            cfs.nr_queued -= 1;
        }
        if waits {
            cfs.leave_line_eevdf(se, entity);
        }
        load::dequeue_load_avg(cfs, entity);
        entity.vlag = rescale(entity.vlag);
        if entity.rel_deadline {
            entity.deadline = rescale(entity.deadline as i64) as u64;
        }
        load::reweight_load_avg(cfs, entity, weight);
        if self.probes.is_some() {
            self.note_lag_scaled(se, old_weight, weight);
        }
        if !on_rq {
            return;
        }
        self.place_entity_eevdf(cfs_rq, se, 0);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        if let Some(vprot) = vprot {
            entity.vlag = entity.vruntime.wrapping_add(vprot as u64) as i64;
        }
        cfs.load.sub(old_weight);
        cfs.load.add(weight);
        cfs.nr_queued += 1;
        if waits {
            cfs.line_up_eevdf(se, entity);
        }
    }
}
