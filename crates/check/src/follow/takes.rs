//! What queues took from the pool of their group.
//!
//! Model. Ours refills a pool as the interrupt begins that does, the kernel somewhere in it. So a queue that the kernel throttles
//!        before that interrupt is over took nothing of what it was refilled with.

use super::Follower;
use fairwind_sched::{CfsRqId, GroupId};

impl Follower<'_> {
    /// A queue took from its group's pool.
    pub(super) fn note_take(&mut self, cfs_rq: CfsRqId, taken: u64) {
        let all = self.limits.taken.entry(cfs_rq).or_default();
        *all = all.saturating_add(taken);
    }

    /// A pool is refilled: nothing was taken since.
    pub(super) fn forget_takes(&mut self, group: GroupId) {
        let queues = &self.sched.groups[group].cfs_rq;
        self.limits
            .taken
            .retain(|cfs_rq, _| !queues.contains(cfs_rq));
    }

    /// The kernel has the queue out of runtime, as the pool was refilled only after that: what it took since goes back.
    pub(super) fn give_back(&mut self, cfs_rq: CfsRqId) {
        let taken = self.limits.taken.remove(&cfs_rq).unwrap_or(0);
        let queue = &mut self.sched.cfs_rqs[cfs_rq];
        queue.runtime_remaining = queue.runtime_remaining.saturating_sub_unsigned(taken);
        let pool = &mut self.sched.groups[queue.tg].bandwidth.runtime;
        *pool = pool.saturating_add(taken);
    }
}
