//! Virtual runtime and slices: who ran how much, and who has run long enough.

use crate::entity::LoadWeight;
use crate::features::Feature;
use crate::load::UPDATE_TG;
use crate::probe::ProbePoint;
use crate::sched::Sched;
use crate::timeline::Entry;
use crate::units::{CfsRqId, SeId};

/// The later of two virtual times.
#[inline]
pub(super) fn max_vruntime(a: u64, b: u64) -> u64 {
    if (b.wrapping_sub(a) as i64) > 0 { b } else { a }
}

/// The earlier of two virtual times.
#[inline]
fn min_vruntime(a: u64, b: u64) -> u64 {
    if (b.wrapping_sub(a) as i64) < 0 { b } else { a }
}

impl Sched {
    /// Does `a` come before `b`?
    #[inline(always)]
    pub(super) fn vruntime_before(&self, a: SeId, b: SeId) -> bool {
        (self.ses[a].vruntime.wrapping_sub(self.ses[b].vruntime) as i64) < 0
    }

    /// Moves `min_vruntime` up to the leftmost of those queued.
    pub(super) fn update_min_vruntime(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let mut vruntime = cfs.zero_vruntime;
        let curr = cfs.curr.get().filter(|&curr| self.ses[curr].on_rq);
        if let Some(curr) = curr {
            vruntime = self.ses[curr].vruntime;
        }
        if let Some(first) = cfs.timeline.first() {
            vruntime = if curr.is_some() {
                min_vruntime(vruntime, first.vruntime)
            } else {
                first.vruntime
            };
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let before = cfs.zero_vruntime;
        cfs.zero_vruntime = max_vruntime(cfs.zero_vruntime, vruntime);
        if self.probes.is_some() && cfs.zero_vruntime != before {
            self.note_hanging_floor(cfs_rq);
        }
    }

    pub(super) fn line_up(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let vruntime = self.ses[se].vruntime;
        self.cfs_rqs[cfs_rq].timeline.insert(Entry {
            key: vruntime,
            vruntime,
            slice: 0,
            se,
        });
    }

    // ---- slices ------------------------------------------------------------------------------------------------------

    fn sched_period(&self, nr_running: u64, depth: u32) -> u64 {
        if nr_running > self.profile.sched_nr_latency(depth) {
            nr_running * self.profile.min_granularity_ns(depth)
        } else {
            self.profile.latency_ns(depth)
        }
    }

    /// The part of the period an entity may run.
    pub(crate) fn sched_slice(&mut self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let features = self.profile.features;
        let mut nr_running = self.cfs_rqs[cfs_rq].nr_queued;
        if features.has(Feature::ALT_PERIOD) {
            nr_running = self.cfs_rqs[self.rqs[self.cpu_of(cfs_rq)].cfs].h_nr_queued;
        }
        let depth = self.ses[se].depth;
        let nr_running = u64::from(nr_running) + u64::from(!self.ses[se].on_rq);
        let mut slice = self.sched_period(nr_running, depth);
        let mut at = se;
        while at.is_some() {
            let entity = &self.ses[at];
            let (weight, on_rq) = (entity.load.weight, entity.on_rq);
            let load = &mut self.cfs_rqs[entity.cfs_rq].load;
            slice = if on_rq {
                load.calc_delta(slice, weight)
            } else {
                LoadWeight::new(load.weight.wrapping_add(weight)).calc_delta(slice, weight)
            };
            at = self.ses[at].parent;
        }
        if features.has(Feature::BASE_SLICE) {
            let beside_others = {
                let cfs = &self.cfs_rqs[cfs_rq];
                cfs.nr_queued == 0 || cfs.nr_queued != cfs.idle_nr_queued
            };
            let min_gran = if self.se_is_idle(se) && beside_others {
                self.profile.idle_min_granularity_ns(depth)
            } else {
                self.profile.min_granularity_ns(depth)
            };
            slice = slice.max(min_gran);
        }
        slice
    }

    // ---- running -----------------------------------------------------------------------------------------------------

    pub(super) fn update_curr_cfs(&mut self, cfs_rq: CfsRqId) {
        let curr = self.cfs_rqs[cfs_rq].curr;
        if curr.is_none() {
            return;
        }
        let cpu = self.cpu_of(cfs_rq);
        let delta_exec = self.charge_curr(cpu, curr);
        if delta_exec == 0 {
            return;
        }
        let entity = &mut self.ses[curr];
        entity.vruntime = entity
            .vruntime
            .wrapping_add(entity.load.calc_delta_fair(delta_exec));
        self.probe(ProbePoint::StatRuntime, cfs_rq, curr);
        self.update_min_vruntime(cfs_rq);
        self.account_cfs_rq_runtime(cfs_rq, delta_exec);
    }

    pub(super) fn entity_tick_cfs(&mut self, cfs_rq: CfsRqId, curr: SeId, queued: bool) {
        self.update_curr_cfs(cfs_rq);
        self.update_load_avg(cfs_rq, curr, UPDATE_TG);
        self.update_cfs_group(curr);
        if queued {
            self.resched_curr(self.cpu_of(cfs_rq));
            return;
        }
        if self.cfs_rqs[cfs_rq].nr_queued > 1 {
            self.check_preempt_tick(cfs_rq, curr);
        }
    }

    /// Ends a slice that is used up, or that has run ahead of the leftmost by more than a slice.
    fn check_preempt_tick(&mut self, cfs_rq: CfsRqId, curr: SeId) {
        let cpu = self.cpu_of(cfs_rq);
        let ideal_runtime = self.sched_slice(cfs_rq, curr);
        let entity = &self.ses[curr];
        let delta_exec = entity.sum_exec_runtime - entity.prev_sum_exec_runtime;
        if delta_exec > ideal_runtime {
            self.resched_curr(cpu);
            self.clear_buddies_cfs(cfs_rq, curr);
            return;
        }
        if delta_exec < self.profile.min_granularity_ns(entity.depth) {
            return;
        }
        let Some(first) = self.cfs_rqs[cfs_rq].timeline.first() else {
            return;
        };
        let delta = entity.vruntime.wrapping_sub(first.vruntime) as i64;
        if delta >= 0 && delta as u64 > ideal_runtime {
            self.resched_curr(cpu);
        }
    }
}
