//! What a pick tells of groups' virtual runtimes, which no probe shows.
//!
//! Model.   The kernel picks the entity with the least virtual runtime. Where ours had another one, and the virtual runtime
//!          of either is a guess because it is a group's, the guess goes as far as the pick tells: to the other's.
//!          Buddies are picked out of order and tell nothing.
//! Source.  kernel/sched/fair.c `pick_next_entity` @ 6.1.

use super::Follower;
use fairwind_sched::{SeId, TaskId};

impl Follower<'_> {
    /// The kernel picked one task, and ours another one of the same CPU.
    pub(super) fn follow_order(&mut self, kernel: TaskId, ours: TaskId) {
        if !self.sched.is_fair(kernel) || !self.sched.is_fair(ours) {
            return;
        }
        let Some((kernel, ours)) = self.siblings_above(kernel, ours) else {
            return;
        };
        let queue = &self.sched.cfs_rqs[self.sched.ses[kernel].cfs_rq];
        let buddies = [queue.next, queue.last, queue.skip];
        if buddies.contains(&kernel) || buddies.contains(&ours) {
            return;
        }
        let vruntime = |se: SeId| self.sched.ses[se].vruntime;
        let (least, most) = (vruntime(kernel), vruntime(ours));
        if least.wrapping_sub(most).cast_signed() <= 0 {
            return;
        }
        let guessed = |se: SeId| !self.sched.ses[se].is_task() && !self.is_known(se);
        let (se, at) = if guessed(kernel) {
            (kernel, most)
        } else if guessed(ours) {
            (ours, least)
        } else {
            return;
        };
        let deadline = self.sched.ses[se].deadline;
        self.sched.follow_entity(se, at, deadline);
    }

    /// The entities of two tasks, or of groups above them, that are on one queue.
    fn siblings_above(&self, a: TaskId, b: TaskId) -> Option<(SeId, SeId)> {
        let mut above = self.sched.tasks[a].se;
        while above.is_some() {
            let queue = self.sched.ses[above].cfs_rq;
            let mut other = self.sched.tasks[b].se;
            while other.is_some() {
                if self.sched.ses[other].cfs_rq == queue {
                    return (above != other).then_some((above, other));
                }
                other = self.sched.ses[other].parent;
            }
            above = self.sched.ses[above].parent;
        }
        None
    }
}
