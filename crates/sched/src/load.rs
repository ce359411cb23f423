//! Load averages of fair entities and queues, and how changes travel up the group tree.
//!
//! Model.      An entity's average is attached to its queue's when it joins and detached when it leaves for another
//!             CPU or group; while it sleeps it stays and decays there. A group's entity mirrors its queue: changes
//!             below are propagated one level at each update (`propagate`, `prop_runnable_sum`).
//! Invariants. Sums never fall below what their averages need (`load_avg · PELT_MIN_DIVIDER` and so on).
//! Units.      See `pelt`.
//! Source.     kernel/sched/fair.c from `enqueue_load_avg` to `remove_entity_load_avg`,
//!             `update_cfs_rq_h_load`, `task_h_load` @ 6.1, 6.12.

use crate::cfs_rq::{CfsRq, Removed};
use crate::entity::{LoadWeight, SchedEntity, scale_load_down};
use crate::features::Feature;
use crate::group::TaskGroup;
use crate::pelt::{PELT_MIN_DIVIDER, SchedAvg, UTIL_AVG_UNCHANGED};
use crate::sched::Sched;
use crate::table::Table;
use crate::units::{CfsRqId, CpuId, GroupId, SeId, TaskId};

/// Also tell the group how much this CPU contributes.
pub(crate) const UPDATE_TG: u32 = 0x1;
/// Do not age the entity first.
pub(crate) const SKIP_AGE_LOAD: u32 = 0x2;
/// Attach the entity if it is not.
pub(crate) const DO_ATTACH: u32 = 0x4;
/// Detach the entity: it migrates.
pub(crate) const DO_DETACH: u32 = 0x8;

/// `*value += delta`, not below 0 when delta is negative; the kernel's `add_positive`.
///
/// A wrap-around of a 64-bit sum counts as negative only if the result grew, as there.
#[inline]
fn add_positive(value: &mut u64, delta: i64) {
    let res = value.wrapping_add(delta as u64);
    *value = if delta < 0 && res > *value { 0 } else { res };
}

#[inline]
fn add_positive_u32(value: &mut u32, delta: i64) {
    // The kernel's macro adds in the type of the target, 32 bits, and compares the sign of the addend.
    let res = value.wrapping_add(delta as u32);
    *value = if delta < 0 && res > *value { 0 } else { res };
}

/// `*value -= sub`, not below 0; the kernel's `sub_positive`.
#[inline]
fn sub_positive(value: &mut u64, sub: u64) {
    *value = value.saturating_sub(sub);
}

#[inline]
fn sub_positive_u32(value: &mut u32, sub: u32) {
    *value = value.saturating_sub(sub);
}

/// The least a sum may be for its average; computed in 32 bits as `max_t(u32, …)` does.
#[inline]
fn at_least_u32(sum: u64, avg: u64) -> u64 {
    u64::from((sum as u32).max(avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32))
}

/// What PELT counts as runnable for an entity: 1 for a task, the tasks below for a group.
#[inline]
fn se_runnable(entity: &SchedEntity) -> u64 {
    if entity.sched_delayed {
        0
    } else if entity.is_task() {
        u64::from(entity.on_rq)
    } else {
        entity.runnable_weight
    }
}

/// Brings the averages of an entity, which its queue runs or does not, to `now`.
#[inline]
fn update_load_avg_se(entity: &mut SchedEntity, now: u64, running: bool, util_est: bool) {
    if !entity.avg.is_due(now) {
        return;
    }
    let (on_rq, runnable) = (u64::from(entity.on_rq), se_runnable(entity));
    if entity.avg.update_sum(now, on_rq, runnable, running) {
        entity.avg.update_avg(entity.weight());
        if util_est {
            entity.avg.util_est &= !UTIL_AVG_UNCHANGED;
        }
    }
}

/// Brings the averages of a queue to `now`; true if they changed.
#[inline]
fn update_load_avg_cfs_rq(cfs: &mut CfsRq, now: u64) -> bool {
    if !cfs.avg.is_due(now) {
        return false;
    }
    let load = scale_load_down(cfs.load.weight);
    let runnable = u64::from(cfs.h_nr_queued - cfs.h_nr_delayed);
    let decayed = cfs.avg.update_sum(now, load, runnable, cfs.curr.is_some());
    if decayed {
        cfs.avg.update_avg(1);
    }
    decayed
}

/// Takes off a queue's averages what left while asleep.
#[cold]
fn take_removed(cfs: &mut CfsRq) {
    let divider = u64::from(cfs.avg.divider());
    let removed = core::mem::take(&mut cfs.removed);
    let sa = &mut cfs.avg;
    sub_positive(&mut sa.load_avg, removed.load_avg);
    sub_positive(&mut sa.load_sum, removed.load_avg.wrapping_mul(divider));
    sa.load_sum = at_least_u32(sa.load_sum, sa.load_avg);
    sub_positive(&mut sa.util_avg, removed.util_avg);
    sub_positive_u32(
        &mut sa.util_sum,
        removed.util_avg.wrapping_mul(divider) as u32,
    );
    sa.util_sum = sa
        .util_sum
        .max(sa.util_avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32);
    sub_positive(&mut sa.runnable_avg, removed.runnable_avg);
    sub_positive(
        &mut sa.runnable_sum,
        removed.runnable_avg.wrapping_mul(divider),
    );
    sa.runnable_sum = at_least_u32(sa.runnable_sum, sa.runnable_avg);
    // The removed runnable part stands for the load that went, as a group's entity counts it.
    let gone = (removed.runnable_avg.wrapping_mul(divider) as i64).wrapping_neg() >> 10;
    add_tg_cfs_propagate(cfs, gone);
}

/// Notes a change that the queue's group is to pass up.
#[inline]
fn add_tg_cfs_propagate(cfs: &mut CfsRq, runnable_sum: i64) {
    cfs.propagate = true;
    cfs.prop_runnable_sum = cfs.prop_runnable_sum.wrapping_add(runnable_sum);
}

/// Brings a queue's averages to `now`, first taking off what left while asleep; true if they changed.
#[inline]
fn update_cfs_rq_load_avg(cfs: &mut CfsRq, now: u64) -> bool {
    let some_left = cfs.removed.nr != 0;
    if some_left {
        take_removed(cfs);
    }
    some_left | update_load_avg_cfs_rq(cfs, now)
}

/// Counts an entity's load in its queue's averages.
#[inline]
fn enqueue_load_avg(cfs: &mut CfsRq, entity: &SchedEntity) {
    let sum = entity.weight().wrapping_mul(entity.avg.load_sum);
    cfs.avg.load_avg = cfs.avg.load_avg.wrapping_add(entity.avg.load_avg);
    cfs.avg.load_sum = cfs.avg.load_sum.wrapping_add(sum);
}

/// Takes it out.
#[inline]
pub(crate) fn dequeue_load_avg(cfs: &mut CfsRq, entity: &SchedEntity) {
    let sum = entity.weight().wrapping_mul(entity.avg.load_sum);
    sub_positive(&mut cfs.avg.load_avg, entity.avg.load_avg);
    sub_positive(&mut cfs.avg.load_sum, sum);
    cfs.avg.load_sum = at_least_u32(cfs.avg.load_sum, cfs.avg.load_avg);
}

/// Gives an entity another weight, and counts its load in again, which is to be taken out before.
#[inline]
pub(crate) fn reweight_load_avg(cfs: &mut CfsRq, entity: &mut SchedEntity, weight: u64) {
    entity.load = LoadWeight::new(weight);
    entity.avg.load_avg =
        entity.weight().wrapping_mul(entity.avg.load_sum) / u64::from(entity.avg.divider());
    enqueue_load_avg(cfs, entity);
}

/// Gives an entity another weight, which its queue counts, too.
pub(crate) fn give_weight(cfs: &mut CfsRq, entity: &mut SchedEntity, weight: u64) {
    let before = entity.load.weight;
    dequeue_load_avg(cfs, entity);
    reweight_load_avg(cfs, entity, weight);
    if entity.on_rq {
        cfs.load.sub(before);
        cfs.load.add(weight);
    }
}

/// Tells a queue's group what this CPU contributes, if that changed by more than 1/64; true if the group was told.
pub(crate) fn contribute_tg_load_avg(
    cfs: &mut CfsRq,
    groups: &mut Table<GroupId, TaskGroup>,
) -> bool {
    let delta = cfs.avg.load_avg.wrapping_sub(cfs.tg_load_avg_contrib) as i64;
    if delta.unsigned_abs() <= cfs.tg_load_avg_contrib / 64 {
        return false;
    }
    cfs.tg_load_avg_contrib = cfs.avg.load_avg;
    groups[cfs.tg].load_avg += delta;
    true
}

/// Passes a change of a group's queue on to the group's entity and the queue that it is on.
#[inline]
fn propagate_entity_load_avg(
    cfs_rqs: &mut Table<CfsRqId, CfsRq>,
    entity: &mut SchedEntity,
) -> bool {
    let below = &mut cfs_rqs[entity.my_q];
    if !core::mem::take(&mut below.propagate) {
        return false;
    }
    let runnable_sum = core::mem::take(&mut below.prop_runnable_sum);
    let (of_group, weight) = (below.avg, below.load.weight);
    let cfs = &mut cfs_rqs[entity.cfs_rq];
    add_tg_cfs_propagate(cfs, runnable_sum);
    update_tg_cfs_util(&mut cfs.avg, &mut entity.avg, of_group.util_avg);
    update_tg_cfs_runnable(&mut cfs.avg, &mut entity.avg, of_group.runnable_avg);
    if runnable_sum != 0 {
        let left = || {
            let weight = scale_load_down(weight);
            of_group.load_sum.checked_div(weight).unwrap_or(0)
        };
        update_tg_cfs_load(&mut cfs.avg, entity, runnable_sum, left);
    }
    true
}

#[inline]
fn update_tg_cfs_util(to: &mut SchedAvg, avg: &mut SchedAvg, util_avg: u64) {
    let delta_avg = util_avg.wrapping_sub(avg.util_avg) as i64;
    if delta_avg == 0 {
        return;
    }
    avg.util_avg = util_avg;
    let new_sum = util_avg.wrapping_mul(u64::from(to.divider())) as u32;
    let delta_sum = i64::from(new_sum) - i64::from(avg.util_sum);
    avg.util_sum = new_sum;
    add_positive(&mut to.util_avg, delta_avg);
    add_positive_u32(&mut to.util_sum, delta_sum);
    to.util_sum = to
        .util_sum
        .max(to.util_avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32);
}

#[inline]
fn update_tg_cfs_runnable(to: &mut SchedAvg, avg: &mut SchedAvg, runnable_avg: u64) {
    let delta_avg = runnable_avg.wrapping_sub(avg.runnable_avg) as i64;
    if delta_avg == 0 {
        return;
    }
    avg.runnable_avg = runnable_avg;
    let new_sum = runnable_avg.wrapping_mul(u64::from(to.divider()));
    let delta_sum = (new_sum as i64).wrapping_sub(avg.runnable_sum as i64);
    avg.runnable_sum = new_sum;
    add_positive(&mut to.runnable_avg, delta_avg);
    add_positive(&mut to.runnable_sum, delta_sum);
    to.runnable_sum = at_least_u32(to.runnable_sum, to.runnable_avg);
}

/// The group entity's load from its queue's: a queue is runnable for as long as any of its tasks is, which a
/// sum over tasks overestimates (capped at the divider) and a removal can only estimate from what is `left`.
#[inline]
fn update_tg_cfs_load(
    to: &mut SchedAvg,
    entity: &mut SchedEntity,
    mut runnable_sum: i64,
    left: impl Fn() -> u64,
) {
    let divider = to.divider();
    let weight = entity.weight();
    let avg = &mut entity.avg;
    if runnable_sum >= 0 {
        runnable_sum = runnable_sum
            .wrapping_add(avg.load_sum as i64)
            .min(i64::from(divider));
    } else {
        runnable_sum = avg.load_sum.min(left()) as i64;
    }
    let running_sum = i64::from(avg.util_sum >> 10);
    runnable_sum = runnable_sum.max(running_sum);
    let load_sum = weight.wrapping_mul(runnable_sum as u64);
    let load_avg = load_sum / u64::from(divider);
    let delta_avg = load_avg.wrapping_sub(avg.load_avg) as i64;
    if delta_avg == 0 {
        return;
    }
    let delta_sum =
        (load_sum as i64).wrapping_sub((weight as i64).wrapping_mul(avg.load_sum as i64));
    avg.load_sum = runnable_sum as u64;
    avg.load_avg = load_avg;
    add_positive(&mut to.load_avg, delta_avg);
    add_positive(&mut to.load_sum, delta_sum);
    to.load_sum = at_least_u32(to.load_sum, to.load_avg);
}

impl Sched {
    // ---- an entity on its queue --------------------------------------------------------------------------------

    /// Brings a group entity's runnable weight up to date.
    #[inline(always)]
    pub(crate) fn se_update_runnable(&mut self, se: SeId) {
        let entity = &mut self.ses[se];
        if entity.my_q.is_some() {
            let cfs = &self.cfs_rqs[entity.my_q];
            entity.runnable_weight = u64::from(cfs.h_nr_queued - cfs.h_nr_delayed);
        }
    }

    /// Decays an entity that is not queued up to `now`.
    pub(crate) fn update_load_avg_blocked_se(&mut self, now: u64, se: SeId) -> bool {
        let entity = &mut self.ses[se];
        let weight = entity.weight();
        let decayed = entity.avg.update_sum(now, 0, 0, false);
        if decayed {
            entity.avg.update_avg(weight);
        }
        decayed
    }

    /// Joins an entity's averages to its queue's.
    pub(crate) fn attach_entity_load_avg(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let divider = u64::from(cfs.avg.divider());
        let entity = &mut self.ses[se];
        let weight = entity.weight();
        entity.avg.last_update_time = cfs.avg.last_update_time;
        entity.avg.period_contrib = cfs.avg.period_contrib;
        entity.avg.util_sum = entity.avg.util_avg.wrapping_mul(divider) as u32;
        entity.avg.runnable_sum = entity.avg.runnable_avg.wrapping_mul(divider);
        entity.avg.load_sum = entity.avg.load_avg.wrapping_mul(divider);
        entity.avg.load_sum = if weight < entity.avg.load_sum {
            entity.avg.load_sum / weight
        } else {
            1
        };
        enqueue_load_avg(cfs, entity);
        let avg = &entity.avg;
        cfs.avg.util_avg = cfs.avg.util_avg.wrapping_add(avg.util_avg);
        cfs.avg.util_sum = cfs.avg.util_sum.wrapping_add(avg.util_sum);
        cfs.avg.runnable_avg = cfs.avg.runnable_avg.wrapping_add(avg.runnable_avg);
        cfs.avg.runnable_sum = cfs.avg.runnable_sum.wrapping_add(avg.runnable_sum);
        add_tg_cfs_propagate(cfs, avg.load_sum as i64);
    }

    /// Takes an entity's averages out of its queue's.
    pub(crate) fn detach_entity_load_avg(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &self.ses[se];
        dequeue_load_avg(cfs, entity);
        let (sa, avg) = (&mut cfs.avg, &entity.avg);
        sub_positive(&mut sa.util_avg, avg.util_avg);
        sub_positive_u32(&mut sa.util_sum, avg.util_sum);
        sa.util_sum = sa
            .util_sum
            .max(sa.util_avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32);
        sub_positive(&mut sa.runnable_avg, avg.runnable_avg);
        sub_positive(&mut sa.runnable_sum, avg.runnable_sum);
        sa.runnable_sum = at_least_u32(sa.runnable_sum, sa.runnable_avg);
        add_tg_cfs_propagate(cfs, (avg.load_sum as i64).wrapping_neg());
    }

    /// Brings an entity and its queue up to date; see the flags.
    pub(crate) fn update_load_avg(&mut self, cfs_rq: CfsRqId, se: SeId, flags: u32) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let entity = &mut self.ses[se];
        let now = cfs.clock_pelt(&self.rqs[cfs.cpu]);
        let attached = entity.avg.last_update_time != 0;
        if attached && flags & SKIP_AGE_LOAD == 0 {
            let util_est = self.profile.features.has(Feature::UTIL_EST);
            update_load_avg_se(entity, now, cfs.curr == se, util_est);
        }
        let mut decayed = update_cfs_rq_load_avg(cfs, now);
        if entity.my_q.is_some() {
            decayed |= propagate_entity_load_avg(&mut self.cfs_rqs, entity);
        }
        let attach = !attached && flags & DO_ATTACH != 0;
        if attach || flags & DO_DETACH != 0 {
            self.attach_or_detach(cfs_rq, se, attach);
        } else if decayed && flags & UPDATE_TG != 0 {
            self.update_tg_load_avg(cfs_rq);
        }
    }

    #[inline(never)]
    fn attach_or_detach(&mut self, cfs_rq: CfsRqId, se: SeId, attach: bool) {
        if attach {
            self.attach_entity_load_avg(cfs_rq, se);
        } else {
            self.detach_entity_load_avg(cfs_rq, se);
        }
        self.update_tg_load_avg(cfs_rq);
    }

    /// Decays a sleeping entity as far as its queue has been decayed.
    pub(crate) fn sync_entity_load_avg(&mut self, se: SeId) {
        let last = self.cfs_rqs[self.ses[se].cfs_rq].avg.last_update_time;
        self.update_load_avg_blocked_se(last, se);
    }

    /// A sleeping entity leaves: its queue takes it off at its next update.
    pub(crate) fn remove_entity_load_avg(&mut self, se: SeId) {
        self.sync_entity_load_avg(se);
        let avg = self.ses[se].avg;
        self.cfs_rqs[self.ses[se].cfs_rq].removed += Removed {
            nr: 1,
            load_avg: avg.load_avg,
            util_avg: avg.util_avg,
            runnable_avg: avg.runnable_avg,
        };
    }

    /// A sleeper leaves an idle CPU: decay it by the idle time its queue has not seen yet.
    pub(crate) fn migrate_se_pelt_lag(&mut self, se: SeId) {
        if self.ses[se].avg.is_decayed() {
            return;
        }
        let cfs = &self.cfs_rqs[self.ses[se].cfs_rq];
        let cpu = cfs.cpu;
        if !self.is_idle(cpu) || cfs.throttled_pelt_idle == u64::MAX {
            return;
        }
        let last = cfs.avg.last_update_time;
        let rq = &self.rqs[cpu];
        let mut now = rq.clock_pelt_idle.wrapping_sub(cfs.throttled_pelt_idle);
        if now < last {
            now = last;
        } else {
            now = now.wrapping_add(self.now.wrapping_sub(rq.clock_idle));
        }
        self.update_load_avg_blocked_se(now, se);
    }

    /// The entity's queue changes: age it by the old one and give it the new one's time.
    pub(crate) fn set_task_rq_fair(&mut self, se: SeId, next: CfsRqId) {
        let prev = self.ses[se].cfs_rq;
        if !self.profile.features.has(Feature::ATTACH_AGE_LOAD)
            || self.ses[se].avg.last_update_time == 0
            || prev.is_none()
        {
            return;
        }
        let p_last = self.cfs_rqs[prev].avg.last_update_time;
        let n_last = self.cfs_rqs[next].avg.last_update_time;
        self.update_load_avg_blocked_se(p_last, se);
        self.ses[se].avg.last_update_time = n_last;
    }

    // ---- groups ------------------------------------------------------------------------------------------------

    /// Tells the group what this CPU contributes, if it changed by more than 1/64.
    #[inline(always)]
    pub(crate) fn update_tg_load_avg(&mut self, cfs_rq: CfsRqId) {
        let tg = self.cfs_rqs[cfs_rq].tg;
        if tg == GroupId::ROOT {
            return;
        }
        if self.probes.is_some() {
            return self.update_and_note_contribution(cfs_rq);
        }
        (self.fair.update_tg_load_avg)(self, cfs_rq);
    }

    /// The weight of a group's entity on one CPU: the group's shares times this CPU's part of the group's load.
    ///
    /// ```text
    ///              shares · load_here
    ///   weight = ------------------------       load_here = max(weight queued now, average load)
    ///            Σ contributions, this CPU's
    ///            replaced by load_here
    /// ```
    #[inline(always)]
    pub(crate) fn calc_group_shares(&self, cfs_rq: CfsRqId) -> u64 {
        if self.groups_are_flat() && self.has_flat_relatives(cfs_rq) {
            return self.flat_group_weight(cfs_rq);
        }
        let cfs = &self.cfs_rqs[cfs_rq];
        let tg = &self.groups[cfs.tg];
        let tg_shares = tg.shares as i64;
        let load = scale_load_down(cfs.load.weight).max(cfs.avg.load_avg) as i64;
        let tg_weight = tg.load_avg - cfs.tg_load_avg_contrib as i64 + load;
        let mut shares = tg_shares.wrapping_mul(load);
        if tg_weight != 0 {
            shares /= tg_weight;
        }
        shares.clamp(
            crate::group::MIN_SHARES as i64,
            tg_shares.max(crate::group::MIN_SHARES as i64),
        ) as u64
    }

    /// Gives a group's entity the weight it should have.
    #[inline(always)]
    pub(crate) fn update_cfs_group(&mut self, se: SeId) {
        let gcfs_rq = self.ses[se].my_q;
        if gcfs_rq.is_some() {
            if self.groups_are_flat() {
                self.update_flat_shares(gcfs_rq);
            }
            (self.fair.update_cfs_group)(self, se, gcfs_rq);
        }
    }

    /// True when nothing of the queue's past is left and nothing hangs below it.
    pub(crate) fn cfs_rq_is_decayed(&self, cfs_rq: CfsRqId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        cfs.load.weight == 0
            && cfs.avg.is_decayed()
            && !self.child_cfs_rq_on_list(cfs_rq)
            && (!self.fair.decayed_needs_no_contrib || cfs.tg_load_avg_contrib == 0)
    }

    /// A group's entity with nothing left need not be visited.
    fn skip_blocked_update(&self, se: SeId) -> bool {
        let entity = &self.ses[se];
        entity.avg.load_avg == 0 && entity.avg.util_avg == 0 && !self.cfs_rqs[entity.my_q].propagate
    }

    /// Decays the load of everything that sleeps on a CPU.
    pub(crate) fn update_blocked_averages(&mut self, cpu: CpuId) {
        self.rqs[cpu].last_blocked_load_update_tick = self.jiffies;
        self.update_rq_clock(cpu);
        let now = self.rq_clock_pelt(cpu);
        let rt_runs = self.tasks[self.rqs[cpu].curr].class == crate::task::Class::Rt;
        self.rqs[cpu].avg_rt.update(now, rt_runs);
        let mut done = self.rqs[cpu].avg_rt.util_avg == 0 && self.rqs[cpu].avg_irq.util_avg == 0;
        let mut cfs_rq = self.rqs[cpu].leaf_first;
        while cfs_rq.is_some() {
            // The visited queue may leave the list.
            let next = self.cfs_rqs[cfs_rq].leaf_next;
            let cfs = &mut self.cfs_rqs[cfs_rq];
            let now = cfs.clock_pelt(&self.rqs[cpu]);
            if update_cfs_rq_load_avg(cfs, now) {
                self.update_tg_load_avg(cfs_rq);
                if self.cfs_rqs[cfs_rq].nr_queued == 0 {
                    self.update_idle_cfs_rq_clock_pelt(cfs_rq);
                }
            }
            let se = self.cfs_rqs[cfs_rq].se;
            if se.is_some() && !self.skip_blocked_update(se) {
                self.update_load_avg(self.ses[se].cfs_rq, se, UPDATE_TG);
            }
            if self.cfs_rq_is_decayed(cfs_rq) {
                self.list_del_leaf_cfs_rq(cfs_rq);
            }
            let avg = &self.cfs_rqs[cfs_rq].avg;
            if avg.load_avg != 0 || avg.util_avg != 0 {
                done = false;
            }
            cfs_rq = next;
        }
        if done {
            self.rqs[cpu].has_blocked_load = false;
        }
    }

    // ---- load as seen from the root ------------------------------------------------------------------------

    fn update_cfs_rq_h_load(&mut self, cfs_rq: CfsRqId) {
        let now = self.jiffies;
        if self.cfs_rqs[cfs_rq].last_h_load_update == now {
            return;
        }
        self.cfs_rqs[cfs_rq].h_load_next = SeId::NONE;
        let mut at = cfs_rq;
        let mut se = self.cfs_rqs[at].se;
        while se.is_some() {
            at = self.ses[se].cfs_rq;
            self.cfs_rqs[at].h_load_next = se;
            if self.cfs_rqs[at].last_h_load_update == now {
                break;
            }
            se = self.ses[se].parent;
        }
        if se.is_none() {
            let cfs = &mut self.cfs_rqs[at];
            cfs.h_load = cfs.avg.load_avg;
            cfs.last_h_load_update = now;
        }
        loop {
            let se = self.cfs_rqs[at].h_load_next;
            if se.is_none() {
                return;
            }
            let cfs = &self.cfs_rqs[at];
            let load = cfs.h_load.wrapping_mul(self.ses[se].avg.load_avg) / (cfs.avg.load_avg + 1);
            at = self.ses[se].my_q;
            self.cfs_rqs[at].h_load = load;
            self.cfs_rqs[at].last_h_load_update = now;
        }
    }

    /// A task's load scaled by its groups' weights down from the root.
    pub(crate) fn task_h_load(&mut self, task: TaskId) -> u64 {
        let se = self.tasks[task].se;
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_cfs_rq_h_load(cfs_rq);
        let cfs = &self.cfs_rqs[cfs_rq];
        self.ses[se].avg.load_avg.wrapping_mul(cfs.h_load) / (cfs.avg.load_avg + 1)
    }

    // ---- joining and leaving a queue's averages without being enqueued -----------------------------------------

    /// Passes a change of averages up the tree.
    pub(crate) fn propagate_entity_cfs_rq(&mut self, se: SeId) {
        let mut cfs_rq = self.ses[se].cfs_rq;
        if self.cfs_rq_throttled(cfs_rq) {
            return;
        }
        if !self.throttled_hierarchy(cfs_rq) {
            self.list_add_leaf_cfs_rq(cfs_rq);
        }
        let mut se = self.ses[se].parent;
        while se.is_some() {
            cfs_rq = self.ses[se].cfs_rq;
            self.update_load_avg(cfs_rq, se, UPDATE_TG);
            if self.cfs_rq_throttled(cfs_rq) {
                break;
            }
            if !self.throttled_hierarchy(cfs_rq) {
                self.list_add_leaf_cfs_rq(cfs_rq);
            }
            se = self.ses[se].parent;
        }
    }

    pub(crate) fn detach_entity_cfs_rq(&mut self, se: SeId) {
        // Not attached: woken for another CPU and not there yet.
        if self.ses[se].avg.last_update_time == 0 {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_load_avg(cfs_rq, se, 0);
        self.detach_entity_load_avg(cfs_rq, se);
        self.update_tg_load_avg(cfs_rq);
        self.propagate_entity_cfs_rq(se);
    }

    pub(crate) fn attach_entity_cfs_rq(&mut self, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        let flags = if self.profile.features.has(Feature::ATTACH_AGE_LOAD) {
            0
        } else {
            SKIP_AGE_LOAD
        };
        self.update_load_avg(cfs_rq, se, flags);
        self.attach_entity_load_avg(cfs_rq, se);
        self.update_tg_load_avg(cfs_rq);
        self.propagate_entity_cfs_rq(se);
    }
}
