//! Where an entity stands when it joins a queue, and how it leaves: at once, or delayed until its lag is paid.

use super::lag::{div_s64, queued_curr};
use crate::features::Feature;
use crate::flags::{
    DEQUEUE_DELAYED, DEQUEUE_SLEEP, DEQUEUE_SPECIAL, ENQUEUE_INITIAL, ENQUEUE_MIGRATED,
};
use crate::load::{DO_ATTACH, DO_DETACH, UPDATE_TG};
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::task::OnRq;
use crate::units::{CfsRqId, Nanos, SeId};

impl Sched {
    // ---- placing -----------------------------------------------------------------------------------------------------

    /// Gives an entity that joins its virtual runtime and deadline.
    ///
    /// Its lag is restored so that it still has it *after* joining moved the average: with W the weight in the queue,
    /// joining at `V − l` moves V by `−w·l/(W + w)`, so `l' = l·(W + w)/W` is used.
    #[inline(always)]
    pub(super) fn place_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
        self.probe(ProbePoint::PlaceEntity, cfs_rq, se);
        let features = self.profile.features;
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let curr = queued_curr(&self.ses, cfs);
        let vruntime = cfs.move_to_average(curr);
        let counts_lag = features.has(Feature::PLACE_LAG) && cfs.nr_queued != 0;
        let mut load = cfs.avg_load;
        if counts_lag && let Some(curr) = curr {
            load += curr.weight();
        }
        let entity = &mut self.ses[se];
        if !entity.custom_slice {
            entity.slice = self.profile.base_slice_ns(entity.depth);
        }
        let mut vslice = entity.load.calc_delta_fair(entity.slice);
        let mut lag = 0;
        if counts_lag {
            lag = entity.vlag.wrapping_mul((load + entity.weight()) as i64);
            lag = div_s64(lag, load.max(1) as i64);
        }
        entity.vruntime = vruntime.wrapping_sub(lag as u64);
        if entity.rel_deadline {
            entity.deadline = entity.deadline.wrapping_add(entity.vruntime);
            entity.rel_deadline = false;
        } else {
            if features.has(Feature::PLACE_DEADLINE_INITIAL) && flags & ENQUEUE_INITIAL != 0 {
                vslice /= 2;
            }
            entity.deadline = entity.vruntime.wrapping_add(vslice);
        }
        if self.probes.is_some() {
            let vlag = if counts_lag { self.ses[se].vlag } else { 0 };
            self.note_placed(cfs_rq, se, vlag);
            let load = load.max(1);
            let lag = if counts_lag {
                load + self.ses[se].weight()
            } else {
                0
            };
            self.note_factors_placed(cfs_rq, se, (lag, load));
        }
    }

    #[inline(always)]
    pub(super) fn enqueue_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        if curr {
            self.place_entity_eevdf(cfs_rq, se, flags);
        }
        self.update_curr_eevdf(cfs_rq);
        self.update_load_avg(cfs_rq, se, UPDATE_TG | DO_ATTACH);
        self.se_update_runnable(se);
        self.update_cfs_group(se);
        if !curr {
            self.place_entity_eevdf(cfs_rq, se, flags);
        }
        self.account_entity_enqueue(cfs_rq, se);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        let clock = self.rqs[cfs.cpu].clock;
        if !curr {
            entity.wait_starts(clock);
            cfs.line_up_eevdf(se, entity);
        }
        if flags & ENQUEUE_MIGRATED != 0 {
            entity.exec_start = 0;
        }
        entity.on_rq = true;
        if cfs.nr_queued == 1 {
            self.first_is_queued(cfs_rq, clock);
        }
    }

    /// A queue got its first entity.
    fn first_is_queued(&mut self, cfs_rq: CfsRqId, clock: Nanos) {
        self.check_enqueue_throttle(cfs_rq);
        if !self.throttled_hierarchy(cfs_rq) {
            self.list_add_leaf_cfs_rq(cfs_rq);
            return;
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        if cfs.throttled && cfs.throttled_clock == 0 {
            cfs.throttled_clock = clock;
        }
        if cfs.throttled_clock_self == 0 {
            cfs.throttled_clock_self = clock;
        }
    }

    #[inline(always)]
    pub(super) fn dequeue_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) -> bool {
        let features = self.profile.features;
        let sleep = flags & DEQUEUE_SLEEP != 0;
        self.update_curr_eevdf(cfs_rq);
        self.clear_buddies_eevdf(cfs_rq, se);
        if flags & DEQUEUE_DELAYED == 0 {
            let delay = sleep && flags & DEQUEUE_SPECIAL == 0;
            if delay && features.has(Feature::DELAY_DEQUEUE) && !self.entity_eligible(cfs_rq, se) {
                self.update_load_avg(cfs_rq, se, 0);
                self.set_delayed(se);
                return false;
            }
        }
        let entity = &self.ses[se];
        let migrating = entity.is_task() && self.tasks[entity.task].on_rq == OnRq::Migrating;
        let detach = if migrating { DO_DETACH } else { 0 };
        self.update_load_avg(cfs_rq, se, UPDATE_TG | detach);
        self.se_update_runnable(se);
        self.update_entity_lag(cfs_rq, se);
        if self.probes.is_some() {
            self.note_hanging_place(cfs_rq, se);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        if cfs.curr != se {
            entity.wait_ends(self.rqs[cfs.cpu].clock, migrating);
            cfs.leave_line_eevdf(se, entity);
        }
        if features.has(Feature::PLACE_REL_DEADLINE) && !sleep {
            entity.deadline = entity.deadline.wrapping_sub(entity.vruntime);
            entity.rel_deadline = true;
        }
        entity.on_rq = false;
        self.account_entity_dequeue(cfs_rq, se);
        self.return_cfs_rq_runtime(cfs_rq);
        self.update_cfs_group(se);
        if flags & DEQUEUE_DELAYED != 0 {
            self.clear_delayed(se);
            if features.has(Feature::DELAY_ZERO) && self.ses[se].vlag > 0 {
                self.ses[se].vlag = 0;
                self.note_lag_cut(se);
            }
        }
        if self.cfs_rqs[cfs_rq].nr_queued == 0 {
            self.update_idle_cfs_rq_clock_pelt(cfs_rq);
        }
        true
    }

    // ---- delayed dequeue ---------------------------------------------------------------------------------------------

    /// The entity sleeps but stays in line until it is eligible, so that it cannot sleep off negative lag.
    fn set_delayed(&mut self, se: SeId) {
        self.ses[se].sched_delayed = true;
        if self.ses[se].is_task() {
            self.count_delayed(se, true);
        }
    }

    fn clear_delayed(&mut self, se: SeId) {
        self.ses[se].sched_delayed = false;
        if self.ses[se].is_task() {
            self.count_delayed(se, false);
        }
    }

    fn count_delayed(&mut self, mut se: SeId, delayed: bool) {
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            let cfs = &mut self.cfs_rqs[cfs_rq];
            if delayed {
                cfs.h_nr_runnable -= 1;
                cfs.h_nr_delayed += 1;
            } else {
                cfs.h_nr_runnable += 1;
                cfs.h_nr_delayed -= 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                break;
            }
            se = self.ses[se].parent;
        }
    }

    /// A delayed entity wakes up where it stands; what it is owed by now is forfeited (DELAY_ZERO).
    pub(super) fn requeue_delayed_entity(&mut self, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        if self.profile.features.has(Feature::DELAY_ZERO) {
            self.update_entity_lag(cfs_rq, se);
            if self.ses[se].vlag > 0 {
                let curr = self.cfs_rqs[cfs_rq].curr == se;
                self.cfs_rqs[cfs_rq].nr_queued -= 1;
                if !curr {
                    self.timeline_remove(cfs_rq, se);
                }
                self.ses[se].vlag = 0;
                self.note_lag_cut(se);
                self.place_entity_eevdf(cfs_rq, se, 0);
                if !curr {
                    self.timeline_add(cfs_rq, se);
                }
                self.cfs_rqs[cfs_rq].nr_queued += 1;
            }
        }
        self.update_load_avg(cfs_rq, se, 0);
        self.clear_delayed(se);
    }
}
