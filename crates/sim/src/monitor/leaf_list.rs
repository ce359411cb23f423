//! The list of queues with load is complete, connected, and has children before their parents.
//!
//! Model. Each CPU lists its queues that carry load. A queue with something queued, itself and its ancestors
//!        unthrottled, is on the list; a listed queue stands before its parent; nothing is left half inserted.
//! Deviations. The parent of a queue that is listed for its past load only need not be listed: the kernel looks for a child
//!        just before a queue, and a branch that was connected later stands further off.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CfsRqId, CpuId, Sched};

/// See the module.
#[derive(Default)]
pub struct LeafList {
    /// `[nr_cfs_rqs]`: place on its CPU's list; 0: not on it.
    place: Vec<u32>,
}

impl LeafList {
    fn walk(&mut self, sched: &Sched, cpu: CpuId) -> Option<String> {
        if sched.rqs[cpu].tmp_alone_branch.is_some() {
            return Some(format!("cpu {}: a branch is left alone", cpu.0));
        }
        let (mut at, mut before) = (sched.rqs[cpu].leaf_first, CfsRqId::NONE);
        let mut place = 1;
        while at.is_some() {
            let cfs = &sched.cfs_rqs[at];
            if cfs.cpu != cpu
                || !cfs.on_list
                || cfs.leaf_prev != before
                || self.place[at.idx()] != 0
            {
                return Some(format!("cpu {}: the list is broken at {at:?}", cpu.0));
            }
            self.place[at.idx()] = place;
            place += 1;
            (before, at) = (at, cfs.leaf_next);
        }
        (sched.rqs[cpu].leaf_last != before)
            .then(|| format!("cpu {}: the list does not end at its last queue", cpu.0))
    }

    fn fault(&self, sched: &Sched, cfs_rq: CfsRqId) -> Option<String> {
        let cfs = &sched.cfs_rqs[cfs_rq];
        let place = self.place[cfs_rq.idx()];
        if cfs.on_list != (place != 0) {
            return Some(format!("{cfs_rq:?}: on_list is {}", cfs.on_list));
        }
        if place == 0 {
            let must = cfs.nr_queued != 0 && cfs.throttle_count == 0;
            return must.then(|| {
                format!(
                    "{cfs_rq:?} has {} queued and is not on the list",
                    cfs.nr_queued
                )
            });
        }
        let parent = sched.queue_parent(cfs.tg);
        let parent = parent
            .get()
            .map(|parent| sched.groups[parent].cfs_rq[cfs.cpu.idx()])?;
        let parents = self.place[parent.idx()];
        (parents != 0 && parents < place)
            .then(|| format!("{cfs_rq:?} does not stand before its parent {parent:?}"))
    }
}

impl Monitor for LeafList {
    fn name(&self) -> &'static str {
        "leaf_list"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.place.clear();
        self.place.resize(sched.cfs_rqs.len(), 0);
        for cpu in sched.rqs.ids() {
            if let Some(what) = self.walk(sched, cpu) {
                return broken(self.name(), simulation, what);
            }
        }
        for cfs_rq in sched.cfs_rqs.ids() {
            if let Some(what) = self.fault(sched, cfs_rq) {
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, group, mixed};
    use super::*;
    use fairwind_sched::Release;

    #[test]
    fn a_queue_that_fell_off_is_seen() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            let tamper = |s: &mut Simulation| {
                // The last one, the root's, goes.
                let last = s.sched.rqs[CpuId(0)].leaf_last;
                let before = s.sched.cfs_rqs[last].leaf_prev;
                s.sched.cfs_rqs[before].leaf_next = CfsRqId::NONE;
                s.sched.rqs[CpuId(0)].leaf_last = before;
                s.sched.cfs_rqs[last].on_list = false;
            };
            fires(
                LeafList::default(),
                &mut simulation,
                tamper,
                "not on the list",
            );
        }
    }

    #[test]
    fn a_parent_before_its_child_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let a = simulation.sched.groups[group(&simulation, "/a")].cfs_rq[0];
        let b = simulation.sched.groups[group(&simulation, "/a/b")].cfs_rq[0];
        let tamper = |s: &mut Simulation| {
            // b, a, root becomes a, b, root.
            let root = CfsRqId(0);
            let sched = &mut s.sched;
            sched.rqs[CpuId(0)].leaf_first = a;
            (sched.cfs_rqs[a].leaf_prev, sched.cfs_rqs[a].leaf_next) = (CfsRqId::NONE, b);
            (sched.cfs_rqs[b].leaf_prev, sched.cfs_rqs[b].leaf_next) = (a, root);
            sched.cfs_rqs[root].leaf_prev = b;
        };
        fires(
            LeafList::default(),
            &mut simulation,
            tamper,
            "does not stand before its parent",
        );
    }
}
