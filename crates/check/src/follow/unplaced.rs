//! Queues that were not throttled, as they went on without being put back.
//!
//! Model.  The entity of a throttled queue is placed when the queue goes back to work, which a probe of `place_entity` shows.
//!         So a queue that ours is about to throttle had runtime left if its entity is set to run next without that.
//! Source. kernel/sched/fair.c `check_cfs_rq_runtime`, `unthrottle_cfs_rq` @ 6.12.

use super::Follower;
use crate::record::What;
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{SeId, TaskId};

impl Follower<'_> {
    /// Before a pick: queues above the task that ran which ours would throttle, and the kernel did not, keep runtime.
    pub(super) fn leave_unthrottled(&mut self, prev: TaskId, next: TaskId) {
        if !self.limits.are_set() || !self.limits.placements {
            return;
        }
        for cfs_rq in self.queues_above(prev) {
            let queue = &self.sched.cfs_rqs[cfs_rq];
            let pool = self.sched.groups[queue.tg].bandwidth.runtime;
            let used_up = queue.runtime_enabled && queue.runtime_remaining <= 0 && pool == 0;
            if !used_up || queue.throttled {
                continue;
            }
            if self.queues_above(next).contains(&cfs_rq) || self.runs_unplaced(queue.se) {
                self.judge.mended("queues with runtime that were throttled");
                self.sched.follow_grant(cfs_rq);
            }
        }
    }

    /// Is an entity set to run before it is placed?
    fn runs_unplaced(&self, se: SeId) -> bool {
        self.is_placed_first(se) == Some(false)
    }

    /// Is an entity placed before it is set to run, as far as probes tell?
    pub(super) fn is_placed_first(&self, se: SeId) -> Option<bool> {
        let mut later = self.records[self.at + 1..].iter();
        later.find_map(|r| match &r.what {
            What::Probe { point, address, .. } if self.addresses.get(address) == Some(&se) => {
                match point {
                    ProbePoint::PlaceEntity => Some(true),
                    ProbePoint::SetNextEntity => Some(false),
                    _ => None,
                }
            }
            _ => None,
        })
    }
}
