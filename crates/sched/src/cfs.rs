//! CFS, the fair class of 6.1: the entity with the least virtual runtime runs.
//!
//! Model. Virtual runtime advances by `delta · NICE_0 / weight`. Everybody should run once in a period
//!        (`latency_ns`, or `nr · min_granularity_ns` with many tasks); an entity's slice of it is its weight's part at
//!        each level of the group tree. `min_vruntime` follows the left end of the queue and never goes back;
//!        entities that leave for another queue carry their distance to it.
//!
//! ```text
//!   slice = period · Π  w_se / Σ w           place(new)     = min_vruntime + vslice       (START_DEBIT)
//!                 levels                     place(sleeper) = max(own, min_vruntime − latency/2)
//! ```
//!
//! Invariants. min_vruntime is monotonic. A waking sleeper is at most `latency_ns` (half with GENTLE_FAIR_SLEEPERS)
//!             left of it.
//! Source.     kernel/sched/fair.c @ 6.1.192.

use crate::entity::{LoadWeight, SchedEntity};
use crate::fair::{UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::fair_class::FairClass;
use crate::features::Feature;
use crate::flags::{
    DEQUEUE_MOVE, DEQUEUE_SAVE, DEQUEUE_SLEEP, ENQUEUE_MIGRATED, ENQUEUE_WAKEUP, WF_FORK,
};
use crate::load::{DO_ATTACH, DO_DETACH, UPDATE_TG};
use crate::pelt::UTIL_AVG_UNCHANGED;
use crate::sched::Sched;
use crate::task::{Class, OnRq, Policy, TaskState};
use crate::timeline::Entry;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

/// The functions of 6.1.
pub(crate) static CLASS: FairClass = FairClass {
    enqueue_entity: Sched::enqueue_entity_cfs,
    dequeue_entity: Sched::dequeue_entity_cfs,
    enqueue_task: Sched::enqueue_task_cfs,
    dequeue_task: Sched::dequeue_task_cfs,
    set_next_entity: Sched::set_next_entity_cfs,
    put_prev_entity: Sched::put_prev_entity_cfs,
    pick_next_task: Sched::pick_next_task_cfs,
    wakeup_preempt: Sched::wakeup_preempt_cfs,
    entity_tick: Sched::entity_tick_cfs,
    reweight_entity: Sched::reweight_entity_cfs,
    yield_task: Sched::yield_task_cfs,
    task_fork: Sched::task_fork_cfs,
    migrate_task_rq: Sched::migrate_task_rq_cfs,
    detach_task: Sched::detach_task_cfs,
    attach_task: Sched::attach_task_cfs,
    hrtick_slice: |sched, se| sched.sched_slice(sched.ses[se].cfs_rq, se),
    update_tg_load_avg: |sched, cfs_rq| {
        sched.contribute_tg_load_avg(cfs_rq);
    },
    update_cfs_group: Sched::update_cfs_group_cfs,
    distribute_cfs_runtime: Sched::distribute_cfs_runtime_sync,
    timeline_add: Sched::line_up,
    timeline_remove: |sched, cfs_rq, se| {
        sched.cfs_rqs[cfs_rq].timeline.remove(se);
    },
    util_init_weight: |entity: &SchedEntity| entity.load.weight,
    decayed_needs_no_contrib: false,
    throttled_clock_without_tasks: true,
    cluster_aware: false,
    idle_shortcut: false,
    keeps_wake_avg_idle: true,
    clock_skip_lasts: true,
    block_clears_on_rq_first: true,
    preempts_by_running: true,
    has_slices: false,
    period_phase: |_| 0,
    domains: &crate::domain::DomainProfile::V6_1,
    domains_count_leaving_cpu: false,
    put_prev_before_pick: true,
    hrtick_by_nr_latency: true,
};

/// The later of two virtual times.
#[inline]
fn max_vruntime(a: u64, b: u64) -> u64 {
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
    fn vruntime_before(&self, a: SeId, b: SeId) -> bool {
        (self.ses[a].vruntime.wrapping_sub(self.ses[b].vruntime) as i64) < 0
    }

    /// Moves `min_vruntime` up to the leftmost of those queued.
    fn update_min_vruntime(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let mut vruntime = cfs.zero_vruntime;
        let curr = cfs.curr.get().filter(|&curr| self.ses[curr].on_rq);
        if let Some(curr) = curr {
            vruntime = self.ses[curr].vruntime;
        }
        if let Some(first) = cfs.timeline.first() {
            vruntime =
                if curr.is_some() { min_vruntime(vruntime, first.vruntime) } else { first.vruntime };
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.zero_vruntime = max_vruntime(cfs.zero_vruntime, vruntime);
    }

    fn line_up(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let vruntime = self.ses[se].vruntime;
        self.cfs_rqs[cfs_rq].timeline.insert(Entry { key: vruntime, vruntime, slice: 0, se });
    }

    // ---- slices ------------------------------------------------------------------------------------------------

    fn sched_period(&self, nr_running: u64) -> u64 {
        let tunables = &self.profile.tunables;
        if nr_running > self.profile.sched_nr_latency() {
            nr_running * tunables.min_granularity_ns
        } else {
            tunables.latency_ns
        }
    }

    /// The part of the period an entity may run.
    pub(crate) fn sched_slice(&mut self, cfs_rq: CfsRqId, se: SeId) -> u64 {
        let features = self.profile.features;
        let mut nr_running = self.cfs_rqs[cfs_rq].nr_queued;
        if features.has(Feature::ALT_PERIOD) {
            nr_running = self.cfs_rqs[self.rqs[self.cpu_of(cfs_rq)].cfs].h_nr_queued;
        }
        let mut slice = self.sched_period(u64::from(nr_running) + u64::from(!self.ses[se].on_rq));
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
            let tunables = &self.profile.tunables;
            let min_gran = if self.se_is_idle(se) && beside_others {
                tunables.idle_min_granularity_ns
            } else {
                tunables.min_granularity_ns
            };
            slice = slice.max(min_gran);
        }
        slice
    }

    // ---- running -----------------------------------------------------------------------------------------------

    fn update_curr_cfs(&mut self, cfs_rq: CfsRqId) {
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
        entity.vruntime = entity.vruntime.wrapping_add(entity.load.calc_delta_fair(delta_exec));
        self.update_min_vruntime(cfs_rq);
        self.account_cfs_rq_runtime(cfs_rq, delta_exec);
    }

    fn entity_tick_cfs(&mut self, cfs_rq: CfsRqId, curr: SeId, queued: bool) {
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
        if delta_exec < self.profile.tunables.min_granularity_ns {
            return;
        }
        let Some(first) = self.cfs_rqs[cfs_rq].timeline.first() else { return };
        let delta = entity.vruntime.wrapping_sub(first.vruntime) as i64;
        if delta >= 0 && delta as u64 > ideal_runtime {
            self.resched_curr(cpu);
        }
    }

    // ---- buddies -----------------------------------------------------------------------------------------------

    fn clear_buddies_cfs(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.cfs_rqs[cfs_rq].last == se {
            let mut at = se;
            while at.is_some() && self.cfs_rqs[self.ses[at].cfs_rq].last == at {
                let cfs_rq = self.ses[at].cfs_rq;
                self.cfs_rqs[cfs_rq].last = SeId::NONE;
                at = self.ses[at].parent;
            }
        }
        if self.cfs_rqs[cfs_rq].next == se {
            self.clear_buddies_next(se);
        }
        if self.cfs_rqs[cfs_rq].skip == se {
            let mut at = se;
            while at.is_some() && self.cfs_rqs[self.ses[at].cfs_rq].skip == at {
                let cfs_rq = self.ses[at].cfs_rq;
                self.cfs_rqs[cfs_rq].skip = SeId::NONE;
                at = self.ses[at].parent;
            }
        }
    }

    fn set_last_buddy(&mut self, mut se: SeId) {
        while se.is_some() {
            if !self.ses[se].on_rq || self.se_is_idle(se) {
                return;
            }
            let cfs_rq = self.ses[se].cfs_rq;
            self.cfs_rqs[cfs_rq].last = se;
            se = self.ses[se].parent;
        }
    }

    fn set_skip_buddy(&mut self, mut se: SeId) {
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            self.cfs_rqs[cfs_rq].skip = se;
            se = self.ses[se].parent;
        }
    }

    // ---- picking -----------------------------------------------------------------------------------------------

    /// Is `se` ahead of `curr` by enough to preempt it? −1: not ahead; 0: within the granularity; 1: yes.
    fn wakeup_preempt_entity(&mut self, curr: SeId, se: SeId) -> i32 {
        let vdiff = self.ses[curr].vruntime.wrapping_sub(self.ses[se].vruntime) as i64;
        if vdiff <= 0 {
            return -1;
        }
        let gran = self.profile.tunables.wakeup_granularity_ns;
        let gran = self.ses[se].load.calc_delta_fair(gran) as i64;
        i32::from(vdiff > gran)
    }

    /// The leftmost entity, unless a buddy is close enough.
    fn pick_next_entity_cfs(&mut self, cfs_rq: CfsRqId, curr: Option<SeId>) -> SeId {
        let first = self.cfs_rqs[cfs_rq].timeline.first().map(|e| e.se);
        let left = match (first, curr) {
            (Some(first), Some(curr)) if self.vruntime_before(curr, first) => curr,
            (Some(first), _) => first,
            (None, Some(curr)) => curr,
            (None, None) => panic!("picked from an empty queue"),
        };
        let mut se = left;
        let cfs = &self.cfs_rqs[cfs_rq];
        let (skip, next, last) = (cfs.skip, cfs.next, cfs.last);
        if skip == se {
            let second = if Some(se) == curr {
                first
            } else {
                let behind = self.cfs_rqs[cfs_rq].timeline.after(se).map(|e| e.se);
                match (behind, curr) {
                    (Some(behind), Some(curr)) if self.vruntime_before(curr, behind) => Some(curr),
                    (None, curr) => curr,
                    (behind, _) => behind,
                }
            };
            if let Some(second) = second
                && self.wakeup_preempt_entity(second, left) < 1
            {
                se = second;
            }
        }
        if next.is_some() && self.wakeup_preempt_entity(next, left) < 1 {
            se = next;
        } else if last.is_some() && self.wakeup_preempt_entity(last, left) < 1 {
            se = last;
        }
        se
    }

    fn pick_next_task_cfs(&mut self, cpu: CpuId, prev: TaskId, newidle: bool) -> Option<TaskId> {
        let root = self.rqs[cpu].cfs;
        loop {
            if self.cfs_rqs[root].nr_queued != 0 {
                if prev.is_none() || self.tasks[prev].class != Class::Fair {
                    return Some(self.pick_simple_cfs(cpu, prev));
                }
                match self.pick_from_curr_cfs(root) {
                    Ok(task) => {
                        if prev != task {
                            self.switch_fair(prev, task);
                        }
                        self.picked_cfs(cpu, task);
                        return Some(task);
                    }
                    // A level was throttled on the way down: start over with everybody in line.
                    Err(()) if self.cfs_rqs[root].nr_queued != 0 => {
                        return Some(self.pick_simple_cfs(cpu, prev));
                    }
                    Err(()) => {}
                }
            }
            if !newidle || !self.newidle_balancing || self.sched_balance_newidle(cpu) <= 0 {
                return None;
            }
        }
    }

    fn pick_from_curr_cfs(&mut self, root: CfsRqId) -> Result<TaskId, ()> {
        let mut cfs_rq = root;
        loop {
            let mut curr = self.cfs_rqs[cfs_rq].curr.get();
            if let Some(se) = curr {
                if self.ses[se].on_rq {
                    self.update_curr_cfs(cfs_rq);
                } else {
                    curr = None;
                }
                if self.check_cfs_rq_runtime(cfs_rq) {
                    return Err(());
                }
            }
            let se = self.pick_next_entity_cfs(cfs_rq, curr);
            cfs_rq = self.ses[se].my_q;
            if cfs_rq.is_none() {
                return Ok(self.ses[se].task);
            }
        }
    }

    fn pick_simple_cfs(&mut self, cpu: CpuId, prev: TaskId) -> TaskId {
        if prev.is_some() {
            self.put_prev_task(cpu, prev);
        }
        let mut cfs_rq = self.rqs[cpu].cfs;
        loop {
            let se = self.pick_next_entity_cfs(cfs_rq, None);
            self.set_next_entity_cfs(cfs_rq, se);
            cfs_rq = self.ses[se].my_q;
            if cfs_rq.is_none() {
                let task = self.ses[se].task;
                self.picked_cfs(cpu, task);
                return task;
            }
        }
    }

    fn picked_cfs(&mut self, cpu: CpuId, task: TaskId) {
        self.cfs_tasks_move_front(cpu, task);
        self.fair_task_starts(cpu, task);
    }

    fn set_next_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.clear_buddies_cfs(cfs_rq, se);
        let cpu = self.cpu_of(cfs_rq);
        if self.ses[se].on_rq {
            self.update_stats_wait_end(cpu, se);
            self.cfs_rqs[cfs_rq].timeline.remove(se);
            self.update_load_avg(cfs_rq, se, UPDATE_TG);
        }
        self.ses[se].exec_start = self.rqs[cpu].clock_task;
        self.cfs_rqs[cfs_rq].curr = se;
        self.ses[se].prev_sum_exec_runtime = self.ses[se].sum_exec_runtime;
    }

    fn put_prev_entity_cfs(&mut self, cfs_rq: CfsRqId, prev: SeId) {
        if self.ses[prev].on_rq {
            self.update_curr_cfs(cfs_rq);
        }
        self.check_cfs_rq_runtime(cfs_rq);
        if self.ses[prev].on_rq {
            let cpu = self.cpu_of(cfs_rq);
            self.update_stats_wait_start(cpu, prev);
            self.line_up(cfs_rq, prev);
            self.update_load_avg(cfs_rq, prev, 0);
        }
        self.cfs_rqs[cfs_rq].curr = SeId::NONE;
    }

    // ---- weights -----------------------------------------------------------------------------------------------

    fn reweight_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let on_rq = self.ses[se].on_rq;
        if on_rq {
            if self.cfs_rqs[cfs_rq].curr == se {
                self.update_curr_cfs(cfs_rq);
            }
            let old = self.ses[se].load.weight;
            self.cfs_rqs[cfs_rq].load.sub(old);
        }
        self.dequeue_load_avg(cfs_rq, se);
        self.reweight_load_avg(cfs_rq, se, weight);
        if on_rq {
            self.cfs_rqs[cfs_rq].load.add(weight);
        }
    }

    fn update_cfs_group_cfs(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        let cfs_rq = self.ses[se].cfs_rq;
        self.reweight_entity_cfs(cfs_rq, se, shares);
    }

    // ---- placing -----------------------------------------------------------------------------------------------

    /// Slept for so long that its virtual runtime may compare the wrong way round.
    fn entity_is_long_sleeper(&self, se: SeId) -> bool {
        let entity = &self.ses[se];
        if entity.exec_start == 0 {
            return false;
        }
        let now = self.rqs[self.cpu_of(entity.cfs_rq)].clock_task;
        now > entity.exec_start && now - entity.exec_start > (1u64 << 63) / 1024
    }

    fn place_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, initial: bool) {
        let features = self.profile.features;
        let mut vruntime = self.cfs_rqs[cfs_rq].zero_vruntime;
        if initial {
            if features.has(Feature::START_DEBIT) {
                let slice = self.sched_slice(cfs_rq, se);
                vruntime = vruntime.wrapping_add(self.ses[se].load.calc_delta_fair(slice));
            }
        } else {
            let tunables = &self.profile.tunables;
            let mut thresh =
                if self.se_is_idle(se) { tunables.min_granularity_ns } else { tunables.latency_ns };
            if features.has(Feature::GENTLE_FAIR_SLEEPERS) {
                thresh >>= 1;
            }
            vruntime = vruntime.wrapping_sub(thresh);
        }
        let long_sleeper = self.entity_is_long_sleeper(se);
        let entity = &mut self.ses[se];
        entity.vruntime =
            if long_sleeper { vruntime } else { max_vruntime(entity.vruntime, vruntime) };
    }

    fn enqueue_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
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
        }
        self.update_load_avg(cfs_rq, se, UPDATE_TG | DO_ATTACH);
        self.se_update_runnable(se);
        self.update_cfs_group(se);
        self.account_entity_enqueue(cfs_rq, se);
        if flags & ENQUEUE_WAKEUP != 0 {
            self.place_entity_cfs(cfs_rq, se, false);
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

    fn dequeue_entity_cfs(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) -> bool {
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

    // ---- tasks -------------------------------------------------------------------------------------------------

    fn enqueue_task_cfs(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) {
        self.util_est_enqueue(cpu, task);
        let mut idle = u32::from(self.tasks[task].has_idle_policy());
        let mut queued = false;
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            queued = queued || self.ses[se].on_rq;
            if queued {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
            } else {
                self.enqueue_entity_cfs(cfs_rq, se, flags);
                flags = ENQUEUE_WAKEUP;
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_queued += 1;
            cfs.h_nr_runnable += 1;
            cfs.idle_h_nr_queued += idle;
            if cfs.idle {
                idle = 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                self.assert_list_leaf_cfs_rq(cpu);
                self.hrtick_update(cpu);
                return;
            }
            se = self.ses[se].parent;
        }
        self.add_nr_running(cpu, 1);
        self.assert_list_leaf_cfs_rq(cpu);
        self.hrtick_update(cpu);
    }

    fn dequeue_task_cfs(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) -> bool {
        let task_sleep = flags & DEQUEUE_SLEEP != 0;
        let mut idle = u32::from(self.tasks[task].has_idle_policy());
        let was_sched_idle = self.sched_idle_cpu(cpu);
        self.util_est_dequeue(cpu, task);
        let mut off = true;
        let mut throttled = false;
        let mut se = self.tasks[task].se;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            if off {
                self.dequeue_entity_cfs(cfs_rq, se, flags);
            } else {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_queued -= 1;
            cfs.h_nr_runnable -= 1;
            cfs.idle_h_nr_queued -= idle;
            if cfs.idle {
                idle = 1;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                throttled = true;
                break;
            }
            let parent = self.ses[se].parent;
            if off && self.cfs_rqs[cfs_rq].load.weight != 0 {
                if task_sleep && parent.is_some() && !self.throttled_hierarchy(cfs_rq) {
                    self.set_next_buddy(parent);
                }
                off = false;
            }
            flags |= DEQUEUE_SLEEP;
            se = parent;
        }
        if !throttled {
            self.sub_nr_running(cpu, 1);
            if !was_sched_idle && self.sched_idle_cpu(cpu) {
                self.rqs[cpu].next_balance = self.jiffies;
            }
        }
        self.util_est_update_cfs(cpu, task, task_sleep);
        self.hrtick_update(cpu);
        true
    }

    fn wakeup_preempt_cfs(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (curr_se, task_se) = (self.tasks[curr].se, self.tasks[task].se);
        if curr_se == task_se || self.throttled_hierarchy(self.ses[task_se].cfs_rq) {
            return;
        }
        let features = self.profile.features;
        let nr_queued = self.cfs_rqs[self.ses[curr_se].cfs_rq].nr_queued;
        let scale = u64::from(nr_queued) >= self.profile.sched_nr_latency();
        let mut next_buddy_marked = false;
        if features.has(Feature::NEXT_BUDDY) && scale && wake_flags & WF_FORK == 0 {
            self.set_next_buddy(task_se);
            next_buddy_marked = true;
        }
        if self.rqs[cpu].need_resched {
            return;
        }
        let mut se = curr_se;
        let idle_curr = self.tasks[curr].has_idle_policy() && !self.tasks[task].has_idle_policy();
        if !idle_curr {
            if self.tasks[task].policy != Policy::Normal || !features.has(Feature::WAKEUP_PREEMPTION) {
                return;
            }
            let (matched, pse) = self.find_matching_se(curr_se, task_se);
            se = matched;
            let (cse_is_idle, pse_is_idle) = (self.se_is_idle(se), self.se_is_idle(pse));
            if !cse_is_idle || pse_is_idle {
                if cse_is_idle != pse_is_idle {
                    return;
                }
                let cfs_rq = self.ses[se].cfs_rq;
                self.update_curr_cfs(cfs_rq);
                if self.wakeup_preempt_entity(se, pse) != 1 {
                    return;
                }
                if !next_buddy_marked {
                    self.set_next_buddy(pse);
                }
            }
        }
        self.resched_curr(cpu);
        if !self.ses[se].on_rq || curr == self.rqs[cpu].idle {
            return;
        }
        if features.has(Feature::LAST_BUDDY) && scale && self.ses[se].is_task() {
            self.set_last_buddy(se);
        }
    }

    fn yield_task_cfs(&mut self, cpu: CpuId) {
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        let curr = self.rqs[cpu].curr;
        let se = self.tasks[curr].se;
        let cfs_rq = self.ses[se].cfs_rq;
        self.clear_buddies_cfs(cfs_rq, se);
        if self.tasks[curr].policy != Policy::Batch {
            self.update_rq_clock(cpu);
            self.update_curr_cfs(cfs_rq);
            self.rqs[cpu].clock_skip_requested = true;
        }
        self.set_skip_buddy(se);
    }

    /// A new task starts where its parent is, moved by a slice; its runtime is kept relative until it is enqueued.
    fn task_fork_cfs(&mut self, this_cpu: CpuId, parent: TaskId, task: TaskId) {
        let se = self.tasks[task].se;
        self.update_rq_clock(this_cpu);
        let cfs_rq = self.task_cfs_rq(parent);
        let curr = self.cfs_rqs[cfs_rq].curr;
        if curr.is_some() {
            self.update_curr_cfs(cfs_rq);
            self.ses[se].vruntime = self.ses[curr].vruntime;
        }
        self.place_entity_cfs(cfs_rq, se, true);
        if self.profile.tunables.sched_child_runs_first != 0
            && curr.is_some()
            && self.vruntime_before(curr, se)
        {
            let (parents, childs) = (self.ses[curr].vruntime, self.ses[se].vruntime);
            self.ses[curr].vruntime = childs;
            self.ses[se].vruntime = parents;
            self.resched_curr(this_cpu);
        }
        let base = self.cfs_rqs[cfs_rq].zero_vruntime;
        self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
    }

    fn migrate_task_rq_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.tasks[task].state == TaskState::Waking {
            let base = self.cfs_rqs[self.ses[se].cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
        }
        if self.tasks[task].on_rq != OnRq::Migrating {
            self.remove_entity_load_avg(se);
            self.migrate_se_pelt_lag(se);
        }
        self.ses[se].avg.last_update_time = 0;
    }

    /// Is the task's virtual runtime relative (or about to be made so)?
    fn vruntime_normalized(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.on_rq != OnRq::No
            || self.ses[t.se].sum_exec_runtime == 0
            || (t.state == TaskState::Waking && t.sched_remote_wakeup)
    }

    fn detach_task_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if !self.vruntime_normalized(task) {
            let cfs_rq = self.ses[se].cfs_rq;
            self.place_entity_cfs(cfs_rq, se, false);
            let base = self.cfs_rqs[cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_sub(base);
        }
        self.detach_entity_cfs_rq(se);
    }

    fn attach_task_cfs(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        self.attach_entity_cfs_rq(se);
        if !self.vruntime_normalized(task) {
            let base = self.cfs_rqs[self.ses[se].cfs_rq].zero_vruntime;
            self.ses[se].vruntime = self.ses[se].vruntime.wrapping_add(base);
        }
    }

    /// The estimate keeps an average over activations (`ewma`) beside the last one (`enqueued`).
    fn util_est_update_cfs(&mut self, cpu: CpuId, task: TaskId, task_sleep: bool) {
        let features = self.profile.features;
        if !features.has(Feature::UTIL_EST) || !task_sleep {
            return;
        }
        let se = self.tasks[task].se;
        let avg = &self.ses[se].avg;
        let (mut enqueued, mut ewma) = (avg.util_est, avg.util_est_ewma);
        if enqueued & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let last_enqueued = i64::from(enqueued);
        enqueued = avg.util_avg as u32;
        if !(features.has(Feature::UTIL_EST_FASTUP) && ewma < enqueued) {
            let within = |value: i64| {
                let margin = UTIL_EST_MARGIN as i32;
                (value as i32).wrapping_add(margin - 1) as u32 <= (2 * margin - 2) as u32
            };
            let ewma_diff = i64::from(enqueued) - i64::from(ewma);
            if within(ewma_diff) {
                if within(last_enqueued - i64::from(enqueued)) {
                    return;
                }
            } else {
                if u64::from(enqueued) > self.rqs[cpu].cpu_capacity_orig {
                    return;
                }
                let shifted = (i64::from(ewma) << UTIL_EST_WEIGHT_SHIFT) + ewma_diff;
                ewma = (shifted >> UTIL_EST_WEIGHT_SHIFT) as u32;
            }
        } else {
            ewma = enqueued;
        }
        let avg = &mut self.ses[se].avg;
        avg.util_est = enqueued | UTIL_AVG_UNCHANGED;
        avg.util_est_ewma = ewma;
    }
}
