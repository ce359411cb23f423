//! Task groups: making and removing them, and what their cgroup files set.
//!
//! Units. Shares are `cpu.shares` (1024 is the default); times are ns.
//! Source. kernel/sched/core.c `sched_create_group`, `tg_set_cfs_bandwidth`; fair.c `online_fair_sched_group`,
//!         `sched_group_set_shares`, `sched_group_set_idle` @ 6.1, 6.12; kernel/sched/sched.h `sched_weight_from_cgroup`.

use crate::entity::{NICE_0_LOAD, WEIGHT_IDLEPRIO, scale_load};
use crate::features::Feature;
use crate::group::{
    CfsBandwidth, DEFAULT_CFS_PERIOD, MAX_SHARES, MIN_SHARES, RUNTIME_INF, TaskGroup,
};
use crate::interleave::{MAX_BW_PERIOD, MIN_BW_PERIOD};
use crate::load::UPDATE_TG;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId};
use alloc::vec::Vec;

/// Why a group could not be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupError {
    /// The root group has none of these settings.
    Root,
    /// Quota and period must be at least 1 ms and the period at most 1 s; burst at most the quota.
    Range,
    /// Shares of a cpu.idle group cannot be set.
    Idle,
    /// It has tasks or children.
    Busy,
}

/// A group's limit as `cpu.max` and `cpu.max.burst` give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BandwidthLimit {
    /// CPU time per period; [`RUNTIME_INF`]: no limit.
    pub quota: u64,
    /// The period.
    pub period: Nanos,
    /// What may be saved up.
    pub burst: u64,
}

/// `cpu.shares` for a `cpu.weight` of 1..=10000 (100 is 1024), rounded to the nearest.
pub fn shares_of_weight(weight: u64) -> u64 {
    (weight * 1024 + 50) / 100
}

/// `cpu.weight` for `cpu.shares`, rounded to the nearest and kept in 1..=10000.
pub fn weight_of_shares(shares: u64) -> u64 {
    ((shares * 100 + 512) / 1024).clamp(1, 10_000)
}

impl Sched {
    /// Makes a group below `parent`, without limit and with default shares.
    pub fn create_group(&mut self, parent: GroupId, now: Nanos) -> GroupId {
        self.set_time(now);
        let phase = self.first_period_expiry();
        let group = self.groups.push(TaskGroup {
            parent,
            children: Vec::new(),
            cfs_rq: Vec::with_capacity(self.nr_cpus()),
            shares: NICE_0_LOAD,
            idle: false,
            load_avg: 0,
            flat_below: 0,
            bandwidth: CfsBandwidth {
                hierarchical_quota: self.groups[parent].bandwidth.hierarchical_quota,
                ..CfsBandwidth::unlimited(phase)
            },
            uclamp: [0, 1024],
            dead: false,
        });
        self.groups[parent].children.insert(0, group);
        let queue_parent = self.queue_parent(group);
        let idle = self.groups_are_flat() && self.is_idle_group(parent);
        for (cpu, (cfs_rq, se)) in self.rqs.ids().zip(self.take_group_rows()) {
            let cfs = &mut self.cfs_rqs[cfs_rq];
            cfs.tg = group;
            cfs.idle = idle;
            let parent_cfs = self.groups[queue_parent].cfs_rq[cpu.idx()];
            let parent_se = self.cfs_rqs[parent_cfs].se;
            let depth = { parent_se.get() }.map_or(0, |parent| self.ses[parent].depth + 1);
            let entity = &mut self.ses[se];
            entity.cfs_rq = parent_cfs;
            entity.parent = parent_se;
            entity.depth = depth;
            self.groups[group].cfs_rq.push(cfs_rq);
        }
        for cpu in self.rqs.ids() {
            self.update_rq_clock(cpu);
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            self.attach_entity_cfs_rq(self.cfs_rqs[cfs_rq].se);
            self.sync_throttle(cfs_rq);
        }
        group
    }

    /// A group made below a throttled one is throttled with it.
    fn sync_throttle(&mut self, cfs_rq: CfsRqId) {
        if self.bandwidth_users == 0 {
            return;
        }
        let cpu = self.cpu_of(cfs_rq);
        let parent = self.ses[self.cfs_rqs[cfs_rq].se].cfs_rq;
        let clock_pelt = self.rq_clock_pelt(cpu);
        self.cfs_rqs[cfs_rq].throttle_count = self.cfs_rqs[parent].throttle_count;
        self.cfs_rqs[cfs_rq].throttled_clock_pelt = clock_pelt;
    }

    /// Removes an empty group.
    ///
    /// # Errors
    /// If it is the root or not empty.
    pub fn destroy_group(&mut self, group: GroupId, now: Nanos) -> Result<(), GroupError> {
        self.set_time(now);
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        let has_tasks = self
            .tasks
            .iter()
            .any(|t| t.group == group && t.state != crate::task::TaskState::Dead);
        if has_tasks
            || self.groups[group]
                .children
                .iter()
                .any(|&c| !self.groups[c].dead)
        {
            return Err(GroupError::Busy);
        }
        let no_limit = BandwidthLimit {
            quota: RUNTIME_INF,
            period: DEFAULT_CFS_PERIOD,
            burst: 0,
        };
        self.set_bandwidth(group, no_limit, now)?;
        for cpu in self.rqs.ids() {
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            let se = self.cfs_rqs[cfs_rq].se;
            if self.ses[se].sched_delayed {
                self.update_rq_clock(cpu);
                self.dequeue_delayed(cpu, se);
            }
            self.remove_entity_load_avg(se);
            self.list_del_leaf_cfs_rq(cfs_rq);
        }
        let parent = self.groups[group].parent;
        self.groups[parent].children.retain(|&child| child != group);
        self.groups[group].dead = true;
        Ok(())
    }

    /// Sets `cpu.shares`, kept within 2..=262144.
    ///
    /// # Errors
    /// For the root and for cpu.idle groups.
    pub fn set_shares(
        &mut self,
        group: GroupId,
        shares: u64,
        now: Nanos,
    ) -> Result<(), GroupError> {
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        if self.groups[group].idle {
            return Err(GroupError::Idle);
        }
        self.set_time(now);
        self.apply_shares(group, scale_load(shares.min(MAX_SHARES)));
        Ok(())
    }

    fn apply_shares(&mut self, group: GroupId, shares: u64) {
        let shares = shares.clamp(scale_load(MIN_SHARES), scale_load(MAX_SHARES));
        if self.groups[group].shares == shares {
            return;
        }
        self.groups[group].shares = shares;
        for cpu in self.rqs.ids() {
            self.update_rq_clock(cpu);
            let mut se = self.group_se(group, cpu);
            while se.is_some() {
                let cfs_rq = self.ses[se].cfs_rq;
                self.update_load_avg(cfs_rq, se, UPDATE_TG);
                self.update_cfs_group(se);
                se = self.ses[se].parent;
            }
        }
    }

    fn group_se(&self, group: GroupId, cpu: CpuId) -> SeId {
        self.cfs_rqs[self.groups[group].cfs_rq[cpu.idx()]].se
    }

    /// Sets `cpu.idle`: the group weighs 3 and never preempts others.
    ///
    /// # Errors
    /// For the root.
    pub fn set_idle(&mut self, group: GroupId, idle: bool, now: Nanos) -> Result<(), GroupError> {
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        self.set_time(now);
        if self.groups[group].idle == idle {
            return Ok(());
        }
        let changed = self.groups_made_idle(group);
        self.groups[group].idle = idle;
        for group in changed {
            self.mark_queues_idle(group, idle);
        }
        self.apply_shares(
            group,
            if idle {
                scale_load(WEIGHT_IDLEPRIO)
            } else {
                NICE_0_LOAD
            },
        );
        Ok(())
    }

    fn mark_queues_idle(&mut self, group: GroupId, idle: bool) {
        for cpu in self.rqs.ids() {
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            let mut se = self.cfs_rqs[cfs_rq].se;
            self.cfs_rqs[cfs_rq].idle = idle;
            if self.ses[se].on_rq {
                let parent = self.ses[se].cfs_rq;
                let nr = &mut self.cfs_rqs[parent].idle_nr_queued;
                *nr = if idle { *nr + 1 } else { *nr - 1 };
            }
            let cfs = &self.cfs_rqs[cfs_rq];
            let delta = cfs.h_nr_queued - cfs.idle_h_nr_queued;
            while se.is_some() && self.ses[se].on_rq {
                let cfs = &mut self.cfs_rqs[self.ses[se].cfs_rq];
                let nr = &mut cfs.idle_h_nr_queued;
                *nr = if idle { *nr + delta } else { *nr - delta };
                if cfs.idle {
                    // Already counted as idle from here up.
                    break;
                }
                se = self.ses[se].parent;
            }
        }
    }

    /// Limits a group for the first time, in two steps as files are written: a burst comes after the quota, which it must not
    /// exceed. Either step fills the pool.
    ///
    /// # Errors
    /// As [`set_bandwidth`](Sched::set_bandwidth).
    pub fn set_first_bandwidth(
        &mut self,
        group: GroupId,
        limit: BandwidthLimit,
        now: Nanos,
    ) -> Result<(), GroupError> {
        self.set_bandwidth(group, BandwidthLimit { burst: 0, ..limit }, now)?;
        if limit.burst == 0 {
            return Ok(());
        }
        self.set_bandwidth(group, limit, now)
    }

    /// Sets quota, period and burst in one step. Where groups do not compete (FAIR_GROUP_SCHED) they have no limits: nothing is set.
    ///
    /// # Errors
    /// For the root, and for values out of range.
    pub fn set_bandwidth(
        &mut self,
        group: GroupId,
        limit: BandwidthLimit,
        now: Nanos,
    ) -> Result<(), GroupError> {
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        let limited = limit.quota != RUNTIME_INF;
        // The largest runtime the kernel's fixed point can hold: 2^44 µs.
        let max_runtime = ((1u64 << 44) - 1) * 1000;
        if limit.quota < MIN_BW_PERIOD
            || !(MIN_BW_PERIOD..=MAX_BW_PERIOD).contains(&limit.period)
            || (limited
                && (limit.quota > max_runtime
                    || limit.burst > limit.quota
                    || limit.burst + limit.quota > max_runtime))
        {
            return Err(GroupError::Range);
        }
        if !self.profile.features.has(Feature::FAIR_GROUP_SCHED) {
            return Ok(());
        }
        self.set_time(now);
        let limit = self.vary_period(limit);
        let was_limited = self.groups[group].bandwidth.quota != RUNTIME_INF;
        let old_period = self.groups[group].bandwidth.period;
        if limited && !was_limited {
            self.bandwidth_users += 1;
            self.bandwidth_used = true;
        }
        let b = &mut self.groups[group].bandwidth;
        b.period = limit.period;
        b.quota = limit.quota;
        b.burst = limit.burst;
        self.refill_cfs_bandwidth_runtime(group);
        if was_limited && !(limited && old_period == limit.period) {
            self.interleave_gone_limit(old_period);
        }
        if limited {
            if !(was_limited && old_period == limit.period) {
                self.interleave_new_limit(group);
            }
            self.start_cfs_bandwidth(group);
        }
        for cpu in self.active.clone().iter() {
            let cfs_rq = self.groups[group].cfs_rq[cpu.idx()];
            self.cfs_rqs[cfs_rq].runtime_enabled = limited;
            self.cfs_rqs[cfs_rq].runtime_remaining = 0;
            if self.cfs_rqs[cfs_rq].throttled {
                self.unthrottle_cfs_rq(cfs_rq);
            }
        }
        if was_limited && !limited {
            self.bandwidth_users -= 1;
        }
        self.update_hierarchical_quota(GroupId::ROOT, -1);
        Ok(())
    }

    /// The tightest quota on the way from the root, as a fixed-point ratio of CPU time; −1: none.
    fn update_hierarchical_quota(&mut self, group: GroupId, above: i64) {
        let b = &self.groups[group].bandwidth;
        let own = if b.quota == RUNTIME_INF {
            -1
        } else {
            ((b.quota / 1000) << 20) as i64 / (b.period / 1000) as i64
        };
        let quota = match (own, above) {
            (-1, above) => above,
            (own, -1) => own,
            (own, above) => own.min(above),
        };
        self.groups[group].bandwidth.hierarchical_quota = quota;
        for idx in 0..self.groups[group].children.len() {
            self.update_hierarchical_quota(self.groups[group].children[idx], quota);
        }
    }

    /// Total time the group's queues waited for the group's own limit or an ancestor's (cpu.stat.local).
    pub fn throttled_time_self(&self, group: GroupId) -> Nanos {
        self.groups[group]
            .cfs_rq
            .iter()
            .map(|&q| self.cfs_rqs[q].throttled_clock_self_time)
            .sum()
    }

    /// Does the release have a feature, and is it on?
    pub fn has_feature(&self, feature: Feature) -> bool {
        self.profile.features.has(feature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_shares_convert_both_ways() {
        assert_eq!((shares_of_weight(100), weight_of_shares(1024)), (1024, 100));
        assert_eq!((shares_of_weight(1), weight_of_shares(2)), (10, 1));
        assert_eq!(weight_of_shares(shares_of_weight(10_000)), 10_000);
    }
}
