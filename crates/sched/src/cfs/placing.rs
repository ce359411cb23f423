//! Weights, and where an entity stands when it joins a queue or leaves it.

use super::slice::max_vruntime;
use crate::features::Feature;
use crate::flags::{DEQUEUE_MOVE, DEQUEUE_SAVE, DEQUEUE_SLEEP, ENQUEUE_MIGRATED, ENQUEUE_WAKEUP};
use crate::load::{self, DO_ATTACH, DO_DETACH, UPDATE_TG};
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::task::OnRq;
use crate::units::{CfsRqId, SeId};

impl Sched {
    // ---- weights -----------------------------------------------------------------------------------------------------

    pub(super) fn reweight_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        if self.ses[se].on_rq && self.cfs_rqs[cfs_rq].curr == se {
            self.update_curr_cfs(cfs_rq);
        }
        load::give_weight(&mut self.cfs_rqs[cfs_rq], &mut self.ses[se], weight);
    }

    pub(super) fn update_cfs_group_cfs(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        let cfs_rq = self.ses[se].cfs_rq;
        if self.probes.is_some() {
            self.note_hanging_weight(cfs_rq, se);
        }
        self.reweight_entity_cfs(cfs_rq, se, shares);
    }

    // ---- placing -----------------------------------------------------------------------------------------------------

    /// Slept for so long that its virtual runtime may compare the wrong way round.
    fn entity_is_long_sleeper(&self, se: SeId) -> bool {
        let entity = &self.ses[se];
        if entity.exec_start == 0 {
            return false;
        }
        let now = self.rqs[self.cpu_of(entity.cfs_rq)].clock_task;
        now > entity.exec_start && now - entity.exec_start > (1u64 << 63) / 1024
    }

    pub(super) fn place_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, initial: bool) {
        self.probe(ProbePoint::PlaceEntity, cfs_rq, se);
        let features = self.profile.features;
        let mut vruntime = self.cfs_rqs[cfs_rq].zero_vruntime;
        if initial {
            if features.has(Feature::START_DEBIT) {
                let slice = self.sched_slice(cfs_rq, se);
                vruntime = vruntime.wrapping_add(self.ses[se].load.calc_delta_fair(slice));
            }
        } else {
            let depth = self.ses[se].depth;
            let mut thresh = if self.se_is_idle(se) {
                self.profile.min_granularity_ns(depth)
            } else {
                self.profile.latency_ns(depth)
            };
            if features.has(Feature::GENTLE_FAIR_SLEEPERS) {
                thresh >>= 1;
            }
            vruntime = vruntime.wrapping_sub(thresh);
        }
        let long_sleeper = self.entity_is_long_sleeper(se);
        let entity = &mut self.ses[se];
        entity.vruntime = if long_sleeper {
            vruntime
        } else {
            max_vruntime(entity.vruntime, vruntime)
        };
        if let Some(probes) = &mut self.probes {
            probes.set_by_queue(se, !initial && self.ses[se].vruntime == vruntime);
        }
    }

    pub(super) fn enqueue_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
        let renorm = flags & ENQUEUE_WAKEUP == 0 || flags & ENQUEUE_MIGRATED != 0;
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        let base = self.cfs_rqs[cfs_rq].zero_vruntime;
        if renorm && curr {
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_add(base);
        }
        self.update_curr_cfs(cfs_rq);
        if renorm && !curr {
            let base = self.cfs_rqs[cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_add(base);
            if self.probes.is_some() {
                self.note_hanging_base(cfs_rq, se);
            }
        }
        self.update_load_avg(cfs_rq, se, UPDATE_TG | DO_ATTACH);
        self.se_update_runnable(se);
        self.update_cfs_group(se);
        self.account_entity_enqueue(cfs_rq, se);
        if flags & ENQUEUE_WAKEUP != 0 {
            let counted = self.ses[se].load.weight;
            self.place_entity_cfs(cfs_rq, se, false);
            // A probe may have told another weight than the queue has just counted.
            let load = &mut self.cfs_rqs[cfs_rq].load;
            if self.ses[se].load.weight != counted {
                load.sub(counted);
                load.add(self.ses[se].load.weight);
            }
        }
        if flags & ENQUEUE_MIGRATED != 0 {
            self.ses[se].exec_start = 0;
        }
        if !curr {
            let cpu = self.cpu_of(cfs_rq);
            self.update_stats_wait_start(cpu, se);
            self.line_up(cfs_rq, se);
        }
        self.ses[se].on_rq = true;
        if self.cfs_rqs[cfs_rq].nr_queued == 1 {
            self.check_enqueue_throttle(cfs_rq);
            if !self.throttled_hierarchy(cfs_rq) {
                self.list_add_leaf_cfs_rq(cfs_rq);
            }
        }
    }

    pub(super) fn dequeue_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) -> bool {
        let mut action = UPDATE_TG;
        let entity = &self.ses[se];
        if entity.is_task() && self.tasks[entity.task].on_rq == OnRq::Migrating {
            action |= DO_DETACH;
        }
        self.update_curr_cfs(cfs_rq);
        self.update_load_avg(cfs_rq, se, action);
        self.se_update_runnable(se);
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        if !curr {
            let cpu = self.cpu_of(cfs_rq);
            self.update_stats_wait_end(cpu, se);
        }
        self.clear_buddies_cfs(cfs_rq, se);
        if !curr {
            self.cfs_rqs[cfs_rq].timeline.remove(se);
        }
        self.ses[se].on_rq = false;
        self.account_entity_dequeue(cfs_rq, se);
        if flags & DEQUEUE_SLEEP == 0 {
            let base = self.cfs_rqs[cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
            if self.probes.is_some() {
                self.note_hanging_base(cfs_rq, se);
            }
        }
        self.return_cfs_rq_runtime(cfs_rq);
        self.update_cfs_group(se);
        if flags & (DEQUEUE_SAVE | DEQUEUE_MOVE) != DEQUEUE_SAVE {
            self.update_min_vruntime(cfs_rq);
        }
        if self.cfs_rqs[cfs_rq].nr_queued == 0 {
            self.update_idle_cfs_rq_clock_pelt(cfs_rq);
        }
        true
    }
}
