//! FLAT_GROUPS: a group tree of any depth for the user, two levels for the scheduler.
//!
//! Model.      Every group's entity stands in the root's queue, and a task in its own group's: picking, placing and
//!             accounting have two levels, however deep the tree. The depth is in the weights. What a group's entity weighs
//!             in the root is the part that the group's own tasks would have had in the hierarchy:
//!
//! ```text
//!   queued(g) = own(g) + Σ share(c)     c: groups right below g that have something queued on this CPU
//!                                       own: weight of the group's own tasks that are queued here
//!   share(g)  = shares · load here / load everywhere        as calc_group_shares, groups below counted by their shares
//!
//!                           own(g)         share(p)
//!   weight(g) = share(g) · --------- · Π  -----------        p: the groups above g, without the root
//!                          queued(g)   p  queued(p)
//! ```
//! A group that gets or loses its last task on a CPU changes the parts of its relatives. Its own weight is right
//! at once; theirs follow when they are next queued, or at the CPU's next tick.
//!
//! Invariants. `share` is 0 where neither the group nor one below it has a task queued. `below` is the sum of the shares of
//!             the groups right below, on one CPU in the queue, on all CPUs in the group.
//! Units.      `share` and weights are scaled, `below` is not.
//! Source.     The wish, and the way by weights: "Add group fairness to CFS", v1, posted to LKML in June 2007.
//! Deviations. FLAT_GROUPS is not in any kernel. Limits hold for a group's own tasks, not for groups below it. A task that
//!             wakes competes with all groups of the machine at once, and not level by level. What a group is
//!             owed is kept per group and not per subtree: a group that sleeps leaves no claim to its relatives.

use crate::entity::{scale_load, scale_load_down};
use crate::features::Feature;
use crate::group::MIN_SHARES;
use crate::load::UPDATE_TG;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId};
use alloc::vec::Vec;

impl Sched {
    #[inline]
    pub(crate) fn groups_are_flat(&self) -> bool {
        self.profile.features.has(Feature::FLAT_GROUPS)
    }

    /// The group in whose queues a group's entities stand: its parent, or the root where groups are flat; none of the root's.
    #[inline]
    pub fn queue_parent(&self, group: GroupId) -> GroupId {
        let parent = self.groups[group].parent;
        if parent.is_some() && self.groups_are_flat() {
            GroupId::ROOT
        } else {
            parent
        }
    }

    /// Weight of a group's own tasks that compete on a CPU.
    fn flat_own(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        if cfs.nr_queued == 0 || cfs.throttle_count != 0 {
            0
        } else {
            scale_load_down(cfs.load.weight)
        }
    }

    /// Σ of all that would compete in a group's queue on a CPU.
    fn flat_queued(&self, cfs_rq: CfsRqId) -> u64 {
        self.flat_own(cfs_rq) + self.cfs_rqs[cfs_rq].flat_below
    }

    /// What a group with all below it would weigh in its parent's queue on a CPU.
    fn flat_share(&self, cfs_rq: CfsRqId) -> u64 {
        if self.flat_queued(cfs_rq) == 0 {
            return 0;
        }
        let cfs = &self.cfs_rqs[cfs_rq];
        let tg = &self.groups[cfs.tg];
        let own = self.flat_own(cfs_rq).max(cfs.avg.load_avg) as i64;
        let load = own + cfs.flat_below as i64;
        let tg_load = tg.load_avg - cfs.tg_load_avg_contrib as i64 + own + tg.flat_below as i64;
        let shares = tg.shares as i64 * load / tg_load.max(1);
        shares.clamp(MIN_SHARES as i64, tg.shares as i64) as u64
    }

    /// Brings the shares of a group and of those above it up to date on a CPU.
    pub(crate) fn update_flat_shares(&mut self, mut cfs_rq: CfsRqId) {
        let cpu = self.cpu_of(cfs_rq);
        loop {
            let share = self.flat_share(cfs_rq);
            let old = core::mem::replace(&mut self.cfs_rqs[cfs_rq].flat_share, share);
            if share != old && self.has_flat_relatives(cfs_rq) {
                self.rqs[cpu].flat_stale = true;
            }
            let parent = self.groups[self.cfs_rqs[cfs_rq].tg].parent;
            if parent == GroupId::ROOT {
                return;
            }
            cfs_rq = self.groups[parent].cfs_rq[cpu.idx()];
            let (now, before) = (scale_load_down(share), scale_load_down(old));
            let queue_below = &mut self.cfs_rqs[cfs_rq].flat_below;
            *queue_below = *queue_below + now - before;
            let group_below = &mut self.groups[parent].flat_below;
            *group_below = *group_below + now - before;
        }
    }

    /// Does a group's share on a CPU bear on the weights of others? A group right below the root that has none below
    /// itself weighs what it weighs in the hierarchy.
    pub(crate) fn has_flat_relatives(&self, cfs_rq: CfsRqId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        cfs.flat_below != 0 || self.groups[cfs.tg].parent != GroupId::ROOT
    }

    /// What a group's entity weighs in the root's queue. One without tasks keeps what it weighed.
    pub(crate) fn flat_group_weight(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let own = self.flat_own(cfs_rq);
        if own == 0 {
            return self.ses[cfs.se].load.weight;
        }
        let mut weight = cfs.flat_share * own / self.flat_queued(cfs_rq);
        let mut parent = self.groups[cfs.tg].parent;
        while parent != GroupId::ROOT {
            let above = self.groups[parent].cfs_rq[cfs.cpu.idx()];
            let queued = scale_load(self.flat_queued(above).max(1));
            weight = weight * self.cfs_rqs[above].flat_share / queued;
            parent = self.groups[parent].parent;
        }
        weight.max(MIN_SHARES)
    }

    /// The tick: gives every group its weight if the parts of some have changed.
    #[inline(always)]
    pub(crate) fn refresh_flat_weights(&mut self, cpu: CpuId) {
        if self.rqs[cpu].flat_stale {
            self.weigh_flat_groups(cpu);
        }
    }

    #[inline(never)]
    fn weigh_flat_groups(&mut self, cpu: CpuId) {
        self.rqs[cpu].flat_stale = false;
        let root = self.rqs[cpu].cfs;
        let mut cfs_rq = self.rqs[cpu].leaf_first;
        while cfs_rq.is_some() {
            let se = self.cfs_rqs[cfs_rq].se;
            if se.is_some() && self.ses[se].on_rq && self.cfs_rqs[cfs_rq].nr_queued != 0 {
                self.update_load_avg(root, se, UPDATE_TG);
                self.update_cfs_group(se);
            }
            cfs_rq = self.cfs_rqs[cfs_rq].leaf_next;
        }
    }

    /// Groups for whose entities it counts that a group becomes `cpu.idle` or no longer is: itself, and those that
    /// stand in the root's queue for being below it.
    pub(crate) fn groups_made_idle(&self, group: GroupId) -> Vec<GroupId> {
        let mut found = Vec::new();
        if !self.groups_are_flat() {
            found.push(group);
        } else if !self.is_idle_group(self.groups[group].parent) {
            found.push(group);
            let mut at = 0;
            while at < found.len() {
                let children = &self.groups[found[at]].children;
                let follow = children.iter().filter(|&&c| !self.groups[c].idle);
                let follow: Vec<GroupId> = follow.copied().collect();
                found.extend(follow);
                at += 1;
            }
        }
        found
    }

    /// Is a group or one above it `cpu.idle`?
    pub(crate) fn is_idle_group(&self, mut group: GroupId) -> bool {
        while group.is_some() {
            if self.groups[group].idle {
                return true;
            }
            group = self.groups[group].parent;
        }
        false
    }
}
