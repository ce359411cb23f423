//! EEVDF, the fair class of 6.12: earliest eligible virtual deadline first.
//!
//! Model. Entity i with weight w_i has consumed virtual time v_i. The queue's virtual time is the weighted average
//!
//! ```text
//!        Σ w_i · v_i                 Σ w_i · (v_i − v0)
//!   V = ------------- = v0 + -------------------------      v0: zero_vruntime, kept near V
//!           Σ w_i                       Σ w_i
//! ```
//!
//! and an entity's lag is what it is owed: `vlag_i = V − v_i`, in virtual time. It is *eligible* when it is owed
//! something (`v_i ≤ V`); among the eligible, the one with the earliest deadline `d_i = v_i + slice_i / w_i` is picked.
//!
//! Invariants. Σ w_i · vlag_i = 0 up to rounding. Only eligible entities are picked (or the running one that
//!             protects its slice). Lag that is kept across sleep is at most max(2 slices, a tick), either sign.
//! Bits.       Keys stay below 2^44 for queues whose members differ by hours, weights below 2^27: products fit 64.
//! Source.     kernel/sched/fair.c @ 6.12.117, which carries the later `zero_vruntime` and PICK_BUDDY changes.
//! Not here.   The fair server (see `rt`); core scheduling.

use crate::entity::{SchedEntity, scale_load_down};
use crate::fair::{UTIL_EST_MARGIN, UTIL_EST_WEIGHT_SHIFT};
use crate::fair_class::FairClass;
use crate::features::Feature;
use crate::flags::{
    DEQUEUE_DELAYED, DEQUEUE_SAVE, DEQUEUE_SLEEP, DEQUEUE_SPECIAL, ENQUEUE_DELAYED, ENQUEUE_INITIAL,
    ENQUEUE_MIGRATED, ENQUEUE_RESTORE, ENQUEUE_WAKEUP, WF_FORK,
};
use crate::load::{DO_ATTACH, DO_DETACH, UPDATE_TG};
use crate::pelt::UTIL_AVG_UNCHANGED;
use crate::sched::Sched;
use crate::task::{OnRq, Policy, TaskState};
use crate::timeline::Entry;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

/// The functions of 6.12.
pub(crate) static CLASS: FairClass = FairClass {
    enqueue_entity: Sched::enqueue_entity_eevdf,
    dequeue_entity: Sched::dequeue_entity_eevdf,
    enqueue_task: Sched::enqueue_task_eevdf,
    dequeue_task: Sched::dequeue_task_eevdf,
    set_next_entity: Sched::set_next_entity_eevdf,
    put_prev_entity: Sched::put_prev_entity_eevdf,
    pick_next_task: Sched::pick_next_task_eevdf,
    wakeup_preempt: Sched::wakeup_preempt_eevdf,
    entity_tick: Sched::entity_tick_eevdf,
    reweight_entity: Sched::reweight_entity_eevdf,
    yield_task: Sched::yield_task_eevdf,
    task_fork: |_, _, _, _| {},
    migrate_task_rq: Sched::migrate_task_rq_eevdf,
    detach_task: |sched, task| sched.detach_entity_cfs_rq(sched.tasks[task].se),
    attach_task: |sched, task| sched.attach_entity_cfs_rq(sched.tasks[task].se),
    hrtick_slice: |sched, se| sched.ses[se].slice,
    update_tg_load_avg: Sched::update_tg_load_avg_limited,
    update_cfs_group: Sched::update_cfs_group_eevdf,
    distribute_cfs_runtime: Sched::distribute_cfs_runtime_async,
    timeline_add: Sched::timeline_add,
    timeline_remove: Sched::timeline_remove,
    util_init_weight: SchedEntity::weight,
    decayed_needs_no_contrib: true,
    throttled_clock_without_tasks: false,
    cluster_aware: true,
    idle_shortcut: true,
    keeps_wake_avg_idle: false,
    clock_skip_lasts: false,
    block_clears_on_rq_first: false,
    preempts_by_running: false,
    has_slices: true,
    period_phase: Sched::random_period_phase,
    domains: &crate::domain::DomainProfile::V6_12,
    domains_count_leaving_cpu: true,
    put_prev_before_pick: false,
    hrtick_by_nr_latency: false,
};

/// Division by the kernel's `div_s64`: the divisor is taken as 32 bits.
#[inline(always)]
fn div_s64(dividend: i64, divisor: i64) -> i64 {
    dividend / i64::from(divisor as i32)
}

impl Sched {
    // ---- virtual time and lag ----------------------------------------------------------------------------------

    #[inline(always)]
    fn entity_key(&self, cfs_rq: CfsRqId, se: SeId) -> i64 {
        self.ses[se].vruntime.wrapping_sub(self.cfs_rqs[cfs_rq].zero_vruntime) as i64
    }

    /// `curr` if it counts in the queue.
    #[inline(always)]
    fn queued_curr(&self, cfs_rq: CfsRqId) -> Option<SeId> {
        let curr = self.cfs_rqs[cfs_rq].curr;
        (curr.is_some() && self.ses[curr].on_rq).then_some(curr)
    }

    /// The queue's sums with the running entity counted in: (Σ w·(v − v0), Σ w).
    #[inline]
    fn vruntime_sums(&self, cfs_rq: CfsRqId) -> (i64, i64) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (mut runtime, mut weight) = (cfs.avg_vruntime, cfs.avg_load as i64);
        if let Some(curr) = self.queued_curr(cfs_rq) {
            let w = self.ses[curr].weight() as i64;
            runtime = runtime.wrapping_add(self.entity_key(cfs_rq, curr).wrapping_mul(w));
            weight += w;
        }
        (runtime, weight)
    }

    /// The queue's virtual time V; moves the origin of the sums there.
    pub(crate) fn avg_vruntime(&mut self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let delta = if cfs.avg_load != 0 {
            let (mut runtime, weight) = self.vruntime_sums(cfs_rq);
            // Round down, also below zero, so that the average is to the left and everybody at it is eligible.
            if runtime < 0 {
                runtime -= weight - 1;
            }
            div_s64(runtime, weight)
        } else if let Some(curr) = self.queued_curr(cfs_rq) {
            self.entity_key(cfs_rq, curr)
        } else {
            0
        };
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_sub((cfs.avg_load as i64).wrapping_mul(delta));
        cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(delta as u64);
        cfs.zero_vruntime
    }

    fn avg_vruntime_add(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let weight = self.ses[se].weight();
        let key = self.entity_key(cfs_rq, se);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_add(key.wrapping_mul(weight as i64));
        cfs.avg_load += weight;
    }

    fn avg_vruntime_sub(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let weight = self.ses[se].weight();
        let key = self.entity_key(cfs_rq, se);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_sub(key.wrapping_mul(weight as i64));
        cfs.avg_load -= weight;
    }

    /// `V − v`, limited to max(2 slices, a tick) of the entity's virtual time.
    fn entity_lag(&mut self, avruntime: u64, se: SeId) -> i64 {
        let tick = self.tick_nsec();
        let entity = &mut self.ses[se];
        let vlag = avruntime.wrapping_sub(entity.vruntime) as i64;
        let limit = entity.load.calc_delta_fair((2 * entity.slice).max(tick)) as i64;
        vlag.clamp(-limit, limit)
    }

    fn update_entity_lag(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let avruntime = self.avg_vruntime(cfs_rq);
        self.ses[se].vlag = self.entity_lag(avruntime, se);
    }

    /// Is an entity owed CPU time? `v ≤ V`, without the division: Σ w·(v_i − v0) ≥ (v − v0) · Σ w.
    pub fn entity_eligible(&self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let (avg, load) = self.vruntime_sums(cfs_rq);
        avg >= self.entity_key(cfs_rq, se).wrapping_mul(load)
    }

    /// Does `a`'s deadline come first?
    #[inline(always)]
    fn deadline_before(&self, a: SeId, b: SeId) -> bool {
        (self.ses[a].deadline.wrapping_sub(self.ses[b].deadline) as i64) < 0
    }

    // ---- the timeline ------------------------------------------------------------------------------------------

    fn timeline_add(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.avg_vruntime_add(cfs_rq, se);
        let entity = &self.ses[se];
        let entry =
            Entry { key: entity.deadline, vruntime: entity.vruntime, slice: entity.slice, se };
        self.cfs_rqs[cfs_rq].timeline.insert(entry);
    }

    fn timeline_remove(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.cfs_rqs[cfs_rq].timeline.remove(se);
        self.avg_vruntime_sub(cfs_rq, se);
    }

    /// The shortest slice anybody in the queue asks for; `u64::MAX` if it is empty.
    fn cfs_rq_min_slice(&self, cfs_rq: CfsRqId) -> u64 {
        let curr = self.queued_curr(cfs_rq).map_or(u64::MAX, |curr| self.ses[curr].slice);
        self.cfs_rqs[cfs_rq].timeline.min_slice().map_or(curr, |min| min.min(curr))
    }

    // ---- slice protection --------------------------------------------------------------------------------------

    /// While an entity runs its `vlag` has no meaning; equal to the deadline it says that the slice is protected.
    #[inline]
    fn protect_slice(&self, se: SeId) -> bool {
        self.ses[se].vlag as u64 == self.ses[se].deadline
    }

    fn cancel_protect_slice(&mut self, se: SeId) {
        if self.protect_slice(se) {
            self.ses[se].vlag = self.ses[se].deadline.wrapping_add(1) as i64;
        }
    }

    // ---- picking -----------------------------------------------------------------------------------------------

    /// The eligible entity with the earliest deadline; ties go to the one queued first, and to `curr` last.
    pub(crate) fn pick_eevdf(&self, cfs_rq: CfsRqId) -> Option<SeId> {
        let cfs = &self.cfs_rqs[cfs_rq];
        let first = cfs.timeline.first().map(|e| e.se);
        let curr = self.queued_curr(cfs_rq);
        if cfs.nr_queued == 1 {
            return curr.or(first);
        }
        let (avg, load) = self.vruntime_sums(cfs_rq);
        let eligible = |vruntime: u64| {
            avg >= (vruntime.wrapping_sub(cfs.zero_vruntime) as i64).wrapping_mul(load)
        };
        let curr = curr.filter(|&curr| eligible(self.ses[curr].vruntime));
        if let Some(curr) = curr
            && self.profile.features.has(Feature::RUN_TO_PARITY)
            && self.protect_slice(curr)
        {
            return Some(curr);
        }
        let best = cfs.timeline.iter().find(|e| eligible(e.vruntime)).map(|e| e.se);
        match (best, curr) {
            (Some(best), Some(curr)) if self.deadline_before(curr, best) => Some(curr),
            (None, curr) => curr,
            (best, _) => best,
        }
    }

    /// None: the pick was asleep, and is now off the queue; pick again from the root.
    fn pick_next_entity_eevdf(&mut self, cpu: CpuId, cfs_rq: CfsRqId) -> Option<SeId> {
        let next = self.cfs_rqs[cfs_rq].next;
        if next.is_some()
            && self.profile.features.has(Feature::PICK_BUDDY)
            && self.entity_eligible(cfs_rq, next)
        {
            return Some(next);
        }
        let se = self.pick_eevdf(cfs_rq).expect("a queue that is not empty has an eligible entity");
        if self.ses[se].sched_delayed {
            self.dequeue_entities(cpu, se, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
            return None;
        }
        Some(se)
    }

    fn pick_task_eevdf(&mut self, cpu: CpuId) -> Option<TaskId> {
        'again: loop {
            let mut cfs_rq = self.rqs[cpu].cfs;
            if self.cfs_rqs[cfs_rq].nr_queued == 0 {
                return None;
            }
            loop {
                if self.queued_curr(cfs_rq).is_some() {
                    self.update_curr_eevdf(cfs_rq);
                }
                if self.check_cfs_rq_runtime(cfs_rq) {
                    continue 'again;
                }
                let Some(se) = self.pick_next_entity_eevdf(cpu, cfs_rq) else { continue 'again };
                cfs_rq = self.ses[se].my_q;
                if cfs_rq.is_none() {
                    return Some(self.ses[se].task);
                }
            }
        }
    }

    fn pick_next_task_eevdf(&mut self, cpu: CpuId, prev: TaskId, newidle: bool) -> Option<TaskId> {
        let task = loop {
            match self.pick_task_eevdf(cpu) {
                Some(task) => break task,
                None if newidle && self.newidle_balancing && self.sched_balance_newidle(cpu) > 0 => {}
                None => return None,
            }
        };
        if prev == task {
            return Some(task);
        }
        if self.tasks[prev].class == crate::task::Class::Fair {
            self.switch_fair(prev, task);
            if self.tasks[task].is_queued() {
                self.cfs_tasks_move_front(cpu, task);
            }
            self.fair_task_starts(cpu, task);
        } else {
            self.put_prev_task(cpu, prev);
            self.set_next_task_fair(task, true);
        }
        Some(task)
    }

    fn set_next_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId) {
        self.clear_buddies_eevdf(cfs_rq, se);
        let cpu = self.cpu_of(cfs_rq);
        if self.ses[se].on_rq {
            self.update_stats_wait_end(cpu, se);
            self.timeline_remove(cfs_rq, se);
            self.update_load_avg(cfs_rq, se, UPDATE_TG);
            self.ses[se].vlag = self.ses[se].deadline as i64;
        }
        self.ses[se].exec_start = self.rqs[cpu].clock_task;
        debug_assert!(self.cfs_rqs[cfs_rq].curr.is_none());
        self.cfs_rqs[cfs_rq].curr = se;
        self.ses[se].prev_sum_exec_runtime = self.ses[se].sum_exec_runtime;
    }

    fn put_prev_entity_eevdf(&mut self, cfs_rq: CfsRqId, prev: SeId) {
        if self.ses[prev].on_rq {
            self.update_curr_eevdf(cfs_rq);
        }
        self.check_cfs_rq_runtime(cfs_rq);
        if self.ses[prev].on_rq {
            let cpu = self.cpu_of(cfs_rq);
            self.update_stats_wait_start(cpu, prev);
            self.timeline_add(cfs_rq, prev);
            self.update_load_avg(cfs_rq, prev, 0);
        }
        self.cfs_rqs[cfs_rq].curr = SeId::NONE;
    }

    // ---- running -----------------------------------------------------------------------------------------------

    /// A slice is used up when the virtual runtime reaches the deadline; then the next deadline is set.
    fn update_deadline(&mut self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let base_slice = self.profile.tunables.base_slice_ns;
        let entity = &mut self.ses[se];
        if (entity.vruntime.wrapping_sub(entity.deadline) as i64) < 0 {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = base_slice;
        }
        entity.deadline = entity.vruntime.wrapping_add(entity.load.calc_delta_fair(entity.slice));
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
    fn do_preempt_short(&self, cfs_rq: CfsRqId, pse: SeId, se: SeId) -> bool {
        self.profile.features.has(Feature::PREEMPT_SHORT)
            && self.ses[pse].slice < self.ses[se].slice
            && self.entity_eligible(cfs_rq, pse)
            && (self.deadline_before(pse, se) || !self.entity_eligible(cfs_rq, se))
    }

    fn update_curr_eevdf(&mut self, cfs_rq: CfsRqId) {
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
        let resched = self.update_deadline(cfs_rq, curr);
        if self.ses[curr].is_task() {
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

    fn entity_tick_eevdf(&mut self, cfs_rq: CfsRqId, curr: SeId, queued: bool) {
        self.update_curr_eevdf(cfs_rq);
        self.update_load_avg(cfs_rq, curr, UPDATE_TG);
        self.update_cfs_group(curr);
        if queued {
            self.resched_curr(self.cpu_of(cfs_rq));
        }
    }

    fn clear_buddies_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.cfs_rqs[cfs_rq].next == se {
            self.clear_buddies_next(se);
        }
    }

    // ---- weights -----------------------------------------------------------------------------------------------

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

    fn reweight_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        let on_rq = self.ses[se].on_rq;
        let mut avruntime = 0;
        if on_rq {
            self.update_curr_eevdf(cfs_rq);
            avruntime = self.avg_vruntime(cfs_rq);
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

    fn update_cfs_group_eevdf(&mut self, se: SeId, gcfs_rq: CfsRqId) {
        if self.cfs_rqs[gcfs_rq].load.weight == 0 || self.throttled_hierarchy(gcfs_rq) {
            return;
        }
        let shares = self.calc_group_shares(gcfs_rq);
        if self.ses[se].load.weight != shares {
            let cfs_rq = self.ses[se].cfs_rq;
            self.reweight_entity_eevdf(cfs_rq, se, shares);
        }
    }

    /// Tells the group at most once a millisecond.
    fn update_tg_load_avg_limited(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        if !self.rqs[cfs.cpu].online || self.now.wrapping_sub(cfs.last_update_tg_load_avg) < 1_000_000 {
            return;
        }
        if self.contribute_tg_load_avg(cfs_rq) {
            self.cfs_rqs[cfs_rq].last_update_tg_load_avg = self.now;
        }
    }

    // ---- placing -----------------------------------------------------------------------------------------------

    /// Gives an entity that joins its virtual runtime and deadline.
    ///
    /// Its lag is restored so that it still has it *after* joining moved the average: with W the weight in the queue,
    /// joining at `V − l` moves V by `−w·l/(W + w)`, so `l' = l·(W + w)/W` is used.
    fn place_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
        let vruntime = self.avg_vruntime(cfs_rq);
        let base_slice = self.profile.tunables.base_slice_ns;
        let features = self.profile.features;
        let entity = &mut self.ses[se];
        if !entity.custom_slice {
            entity.slice = base_slice;
        }
        let mut vslice = entity.load.calc_delta_fair(entity.slice);
        let mut lag = 0;
        if features.has(Feature::PLACE_LAG) && self.cfs_rqs[cfs_rq].nr_queued != 0 {
            let mut load = self.cfs_rqs[cfs_rq].avg_load;
            if let Some(curr) = self.queued_curr(cfs_rq) {
                load += self.ses[curr].weight();
            }
            let entity = &self.ses[se];
            lag = entity.vlag.wrapping_mul((load + entity.weight()) as i64);
            lag = div_s64(lag, load.max(1) as i64);
        }
        let entity = &mut self.ses[se];
        entity.vruntime = vruntime.wrapping_sub(lag as u64);
        if features.has(Feature::PLACE_REL_DEADLINE) && entity.rel_deadline {
            entity.deadline = entity.deadline.wrapping_add(entity.vruntime);
            entity.rel_deadline = false;
            return;
        }
        if features.has(Feature::PLACE_DEADLINE_INITIAL) && flags & ENQUEUE_INITIAL != 0 {
            vslice /= 2;
        }
        entity.deadline = entity.vruntime.wrapping_add(vslice);
    }

    fn enqueue_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
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
        if flags & ENQUEUE_MIGRATED != 0 {
            self.ses[se].exec_start = 0;
        }
        let cpu = self.cpu_of(cfs_rq);
        if !curr {
            self.update_stats_wait_start(cpu, se);
            self.timeline_add(cfs_rq, se);
        }
        self.ses[se].on_rq = true;
        if self.cfs_rqs[cfs_rq].nr_queued == 1 {
            self.check_enqueue_throttle(cfs_rq);
            if !self.throttled_hierarchy(cfs_rq) {
                self.list_add_leaf_cfs_rq(cfs_rq);
            } else {
                let clock = self.rqs[cpu].clock;
                let cfs = &mut self.cfs_rqs[cfs_rq];
                if cfs.throttled && cfs.throttled_clock == 0 {
                    cfs.throttled_clock = clock;
                }
                if cfs.throttled_clock_self == 0 {
                    cfs.throttled_clock_self = clock;
                }
            }
        }
    }

    fn dequeue_entity_eevdf(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) -> bool {
        let features = self.profile.features;
        let sleep = flags & DEQUEUE_SLEEP != 0;
        self.update_curr_eevdf(cfs_rq);
        self.clear_buddies_eevdf(cfs_rq, se);
        if flags & DEQUEUE_DELAYED == 0 {
            let delay = sleep && flags & DEQUEUE_SPECIAL == 0;
            if delay
                && features.has(Feature::DELAY_DEQUEUE)
                && !self.entity_eligible(cfs_rq, se)
            {
                self.update_load_avg(cfs_rq, se, 0);
                self.set_delayed(se);
                return false;
            }
        }
        let mut action = UPDATE_TG;
        let entity = &self.ses[se];
        if entity.is_task() && self.tasks[entity.task].on_rq == OnRq::Migrating {
            action |= DO_DETACH;
        }
        self.update_load_avg(cfs_rq, se, action);
        self.se_update_runnable(se);
        let cpu = self.cpu_of(cfs_rq);
        let curr = self.cfs_rqs[cfs_rq].curr == se;
        if !curr {
            self.update_stats_wait_end(cpu, se);
        }
        self.update_entity_lag(cfs_rq, se);
        if features.has(Feature::PLACE_REL_DEADLINE) && !sleep {
            let entity = &mut self.ses[se];
            entity.deadline = entity.deadline.wrapping_sub(entity.vruntime);
            entity.rel_deadline = true;
        }
        if !curr {
            self.timeline_remove(cfs_rq, se);
        }
        self.ses[se].on_rq = false;
        self.account_entity_dequeue(cfs_rq, se);
        self.return_cfs_rq_runtime(cfs_rq);
        self.update_cfs_group(se);
        if flags & DEQUEUE_DELAYED != 0 {
            self.clear_delayed(se);
            if features.has(Feature::DELAY_ZERO) && self.ses[se].vlag > 0 {
                self.ses[se].vlag = 0;
            }
        }
        if self.cfs_rqs[cfs_rq].nr_queued == 0 {
            self.update_idle_cfs_rq_clock_pelt(cfs_rq);
        }
        true
    }

    // ---- delayed dequeue ---------------------------------------------------------------------------------------

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
    fn requeue_delayed_entity(&mut self, se: SeId) {
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

    // ---- tasks -------------------------------------------------------------------------------------------------

    /// Passes the queue's shortest slice up as its group's slice.
    fn inherit_slice(&mut self, cfs_rq: CfsRqId, se: SeId, slice: u64) {
        self.ses[se].slice = slice;
        if self.cfs_rqs[cfs_rq].curr != se {
            self.cfs_rqs[cfs_rq].timeline.set_slice(se, slice);
        }
    }

    fn enqueue_task_eevdf(&mut self, cpu: CpuId, task: TaskId, mut flags: u32) {
        let mut se = self.tasks[task].se;
        let delayed = self.ses[se].sched_delayed;
        let migrating = self.tasks[task].on_rq == OnRq::Migrating;
        if !(delayed && (migrating || flags & ENQUEUE_RESTORE != 0)) {
            self.util_est_enqueue(cpu, task);
        }
        if flags & ENQUEUE_DELAYED != 0 {
            self.requeue_delayed_entity(se);
            return;
        }
        let h_nr_delayed = u32::from(flags & ENQUEUE_WAKEUP == 0 && delayed);
        let mut idle = u32::from(self.tasks[task].has_idle_policy());
        let mut slice = 0;
        let mut queued = false;
        while se.is_some() {
            let cfs_rq = self.ses[se].cfs_rq;
            if !queued && self.ses[se].on_rq {
                if self.ses[se].sched_delayed {
                    self.requeue_delayed_entity(se);
                }
                queued = true;
            }
            if queued {
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
                self.update_cfs_group(se);
                self.inherit_slice(cfs_rq, se, slice);
            } else {
                if slice != 0 {
                    self.ses[se].slice = slice;
                    self.ses[se].custom_slice = true;
                }
                self.enqueue_entity_eevdf(cfs_rq, se, flags);
                flags = ENQUEUE_WAKEUP;
            }
            slice = self.cfs_rq_min_slice(cfs_rq);
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_runnable += 1 - h_nr_delayed;
            cfs.h_nr_queued += 1;
            cfs.idle_h_nr_queued += idle;
            cfs.h_nr_delayed += h_nr_delayed;
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
        self.fair_server_enqueued(cpu);
        self.add_nr_running(cpu, 1);
        self.assert_list_leaf_cfs_rq(cpu);
        self.hrtick_update(cpu);
    }

    /// Takes a task, or a group that was delayed, off its queue and off all ancestors that empty.
    /// False: the task's dequeue is delayed.
    pub(crate) fn dequeue_entities(&mut self, cpu: CpuId, se: SeId, mut flags: u32) -> bool {
        let was_sched_idle = self.sched_idle_cpu(cpu);
        let task_sleep = flags & DEQUEUE_SLEEP != 0;
        let task_delayed = flags & DEQUEUE_DELAYED != 0;
        let task = self.ses[se].task.get();
        let (mut h_nr_queued, mut h_nr_delayed, mut idle) = (0, 0, 0);
        if let Some(task) = task {
            h_nr_queued = 1;
            idle = u32::from(self.tasks[task].has_idle_policy());
            if !task_sleep && !task_delayed {
                h_nr_delayed = u32::from(self.ses[se].sched_delayed);
            }
        }
        let h_nr_runnable = if h_nr_delayed == 0 { h_nr_queued } else { 0 };
        let mut slice = 0;
        let mut throttled = false;
        let mut off = true;
        let mut at = se;
        while at.is_some() {
            let cfs_rq = self.ses[at].cfs_rq;
            if off {
                if !self.dequeue_entity_eevdf(cfs_rq, at, flags) {
                    if task.is_some() && at == se {
                        return false;
                    }
                    // A group's own dequeue is delayed: it keeps its place, its counts change.
                    slice = self.cfs_rq_min_slice(cfs_rq);
                    off = false;
                }
            }
            if !off {
                self.update_load_avg(cfs_rq, at, UPDATE_TG);
                self.se_update_runnable(at);
                self.update_cfs_group(at);
                self.inherit_slice(cfs_rq, at, slice);
                slice = self.cfs_rq_min_slice(cfs_rq);
            }
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.h_nr_runnable -= h_nr_runnable;
            cfs.h_nr_queued -= h_nr_queued;
            cfs.idle_h_nr_queued -= idle;
            cfs.h_nr_delayed -= h_nr_delayed;
            if cfs.idle {
                idle = h_nr_queued;
            }
            if self.cfs_rq_throttled(cfs_rq) {
                throttled = true;
                break;
            }
            let parent = self.ses[at].parent;
            if off && self.cfs_rqs[cfs_rq].load.weight != 0 {
                slice = self.cfs_rq_min_slice(cfs_rq);
                // The siblings of a sleeper are likely to be woken by it next, or to be what it waits for.
                if task_sleep && parent.is_some() && !self.throttled_hierarchy(cfs_rq) {
                    self.set_next_buddy(parent);
                }
                off = false;
            }
            flags |= DEQUEUE_SLEEP;
            flags &= !(DEQUEUE_DELAYED | DEQUEUE_SPECIAL);
            at = parent;
        }
        if !throttled {
            self.sub_nr_running(cpu, h_nr_queued);
            if !was_sched_idle && self.sched_idle_cpu(cpu) {
                self.rqs[cpu].next_balance = self.jiffies;
            }
        }
        if task_delayed && let Some(task) = task {
            self.hrtick_update(cpu);
            self.block_task_done(task);
        }
        true
    }

    fn dequeue_task_eevdf(&mut self, cpu: CpuId, task: TaskId, flags: u32) -> bool {
        let se = self.tasks[task].se;
        let migrating = self.tasks[task].on_rq == OnRq::Migrating;
        if !(self.ses[se].sched_delayed && (migrating || flags & DEQUEUE_SAVE != 0)) {
            self.util_est_dequeue(cpu, task);
        }
        self.util_est_update_eevdf(cpu, task, flags & DEQUEUE_SLEEP != 0);
        if !self.dequeue_entities(cpu, se, flags) {
            return false;
        }
        self.hrtick_update(cpu);
        true
    }

    fn wakeup_preempt_eevdf(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (se, pse) = (self.tasks[curr].se, self.tasks[task].se);
        if se == pse || self.throttled_hierarchy(self.ses[pse].cfs_rq) {
            return;
        }
        let features = self.profile.features;
        if features.has(Feature::NEXT_BUDDY)
            && wake_flags & WF_FORK == 0
            && !self.ses[pse].sched_delayed
        {
            self.set_next_buddy(pse);
        }
        if self.rqs[cpu].need_resched || !features.has(Feature::WAKEUP_PREEMPTION) {
            return;
        }
        let (se, pse) = self.find_matching_se(se, pse);
        let (cse_is_idle, pse_is_idle) = (self.se_is_idle(se), self.se_is_idle(pse));
        if cse_is_idle && !pse_is_idle {
            self.cancel_protect_slice(se);
            self.resched_curr(cpu);
            return;
        }
        if cse_is_idle != pse_is_idle || self.tasks[task].policy != Policy::Normal {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_curr_eevdf(cfs_rq);
        if self.do_preempt_short(cfs_rq, pse, se) {
            self.cancel_protect_slice(se);
        }
        if self.pick_eevdf(cfs_rq) == Some(pse) {
            self.resched_curr(cpu);
        }
    }

    /// Forfeits the rest of the slice: the virtual runtime jumps to the deadline.
    fn yield_task_eevdf(&mut self, cpu: CpuId) {
        if self.rqs[cpu].nr_running == 1 {
            return;
        }
        let se = self.tasks[self.rqs[cpu].curr].se;
        let cfs_rq = self.ses[se].cfs_rq;
        self.clear_buddies_eevdf(cfs_rq, se);
        self.update_rq_clock(cpu);
        self.update_curr_eevdf(cfs_rq);
        self.rqs[cpu].clock_skip_requested = true;
        if self.entity_eligible(cfs_rq, se) {
            self.ses[se].vruntime = self.ses[se].deadline;
            self.update_deadline(cfs_rq, se);
        }
    }

    fn migrate_task_rq_eevdf(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.tasks[task].on_rq != OnRq::Migrating {
            self.remove_entity_load_avg(se);
            self.migrate_se_pelt_lag(se);
        }
        self.ses[se].avg.last_update_time = 0;
    }

    /// When a task sleeps, its utilisation becomes its estimate: at once if larger, by a quarter of the way if smaller.
    fn util_est_update_eevdf(&mut self, cpu: CpuId, task: TaskId, task_sleep: bool) {
        if !self.profile.features.has(Feature::UTIL_EST) || !task_sleep {
            return;
        }
        let se = self.tasks[task].se;
        let avg = &self.ses[se].avg;
        let mut ewma = avg.util_est;
        if ewma & UTIL_AVG_UNCHANGED != 0 {
            return;
        }
        let dequeued = avg.util_avg as u32;
        if ewma <= dequeued {
            ewma = dequeued;
        } else {
            let diff = ewma - dequeued;
            if u64::from(diff) >= UTIL_EST_MARGIN {
                if u64::from(dequeued) > self.rqs[cpu].cpu_capacity_orig {
                    return;
                }
                // It wanted to run more than it did: its utilisation says little.
                if u64::from(dequeued) + UTIL_EST_MARGIN >= avg.runnable_avg {
                    ewma = ((ewma << UTIL_EST_WEIGHT_SHIFT) - diff) >> UTIL_EST_WEIGHT_SHIFT;
                }
            }
        }
        self.ses[se].avg.util_est = ewma | UTIL_AVG_UNCHANGED;
    }

    /// Ends the delay of a task that dies or leaves the class.
    pub(crate) fn finish_delayed(&mut self, task: TaskId) {
        let se = self.tasks[task].se;
        if self.ses[se].sched_delayed {
            let cpu = self.tasks[task].cpu;
            self.update_rq_clock(cpu);
            self.dequeue_entities(cpu, se, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
        }
    }

    /// The weight sum a queue's virtual time is averaged over, for checks from outside.
    pub fn queue_weight(&self, cfs_rq: CfsRqId) -> u64 {
        self.queued_curr(cfs_rq).map_or(0, |curr| self.ses[curr].weight())
            + self.cfs_rqs[cfs_rq].timeline.iter().map(|e| scale_load_down(self.ses[e.se].load.weight)).sum::<u64>()
    }

    /// Is the task asleep in every sense (no delayed dequeue, no wakeup on its way)?
    pub fn is_blocked(&self, task: TaskId) -> bool {
        matches!(self.tasks[task].state, TaskState::Interruptible | TaskState::Uninterruptible)
    }
}
