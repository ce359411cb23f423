//! SIS_EMPTY_CFS_RQ: where no CPU is idle, a waking task goes to one on which its group has no task.
//!
//! Model.      A group that has nothing queued on a CPU joins the line there as a sleeper, ahead of those that ran
//!             meanwhile, and so the task runs at once. Where it has something queued, its entity is in the line
//!             already and the task waits inside. So when the search of `select_idle_sibling` has found nothing
//!             idle, the allowed CPUs of the target's last-level cache are gone through from the lowest number: the first
//!             on which the task's own group has nothing queued is taken; without one it stays with the target.
//!             Tasks of the root group stay with the target: the root's queue has no entity.
//! Source.     "sched: steer waking task to empty cfs_rq for better latencies", posted to LKML on 24 April 2012 for 3.4.
//! Deviations. SIS_EMPTY_CFS_RQ on 6.12: EEVDF gives sleepers no credit, so the group's entity, and those of groups
//!             above that join with it, come with the greatest lag that an entity may keep, max(2 slices, a tick).
//!             An entity whose dequeue is delayed leaves its line first. Without PLACE_LAG there is no lag to give.

use crate::features::Feature;
use crate::flags::{DEQUEUE_DELAYED, DEQUEUE_SLEEP};
use crate::sched::Sched;
use crate::search_stats::PlacementRule;
use crate::units::{CfsRqId, CpuId, GroupId, SeId, TaskId};

impl Sched {
    /// The CPU for a waking task after the search for an idle one failed.
    #[inline(always)]
    pub(crate) fn select_empty_cfs_rq(&mut self, task: TaskId, target: CpuId) -> CpuId {
        if self.profile.features.has(Feature::SIS_EMPTY_CFS_RQ) {
            self.find_empty_cfs_rq(task, target)
        } else {
            target
        }
    }

    #[inline(never)]
    fn find_empty_cfs_rq(&mut self, task: TaskId, target: CpuId) -> CpuId {
        let group = self.sched_group(task);
        let sd = self.domains.sd_llc[target.idx()];
        if group == GroupId::ROOT || sd.is_none() {
            return target;
        }
        let queues = &self.groups[group].cfs_rq;
        let empty = self.domains.sched_domain_span(sd).iter().find(|&cpu| {
            self.cpu_allowed(task, cpu) && self.cfs_rqs[queues[cpu.idx()]].nr_queued == 0
        });
        if empty.is_some() {
            self.tasks[task].to_empty_cfs_rq = true;
            self.search.empty_cfs_rq += 1;
            self.search.rule = PlacementRule::EmptyCfsRq;
        }
        empty.unwrap_or(target)
    }

    /// EEVDF: a group's entity that stands in line only because its dequeue is delayed leaves, to join anew.
    pub(crate) fn end_delay_for_credit(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if !self.ses[se].is_task() && self.ses[se].sched_delayed {
            (self.fair.dequeue_entity)(self, cfs_rq, se, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
        }
    }

    /// EEVDF: a group's entity that is about to join gets a sleeper's credit.
    pub(crate) fn credit_empty_cfs_rq(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if !self.ses[se].is_task() {
            self.ses[se].vlag = self.greatest_lag(cfs_rq, se);
        }
    }
}
