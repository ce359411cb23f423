//! The load of a task that is woken to another CPU, which its old queue has not yet to take off.
//!
//! Model.  `remove_entity_load_avg` notes what is left on the old queue, whose next update takes it off. Where that was just
//!         brought up to date, by the other kernel but not yet by ours, what is left comes after that.
//! Source. kernel/sched/fair.c `remove_entity_load_avg`, `update_cfs_rq_load_avg` @ 6.1, 6.12.

use crate::cfs_rq::Removed;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, TaskId};

/// What a task has left on a queue.
#[derive(Clone, Copy, Debug)]
pub struct LeftLoad {
    queue: CfsRqId,
    removed: Removed,
}

impl Sched {
    /// A task that is being woken leaves its CPU as by [`follow_waking_migration`](Sched::follow_waking_migration), but its queue
    /// takes nothing off until [`follow_left_load`](Sched::follow_left_load).
    pub fn follow_late_migration(&mut self, task: TaskId, cpu: CpuId) -> LeftLoad {
        let queue = self.ses[self.tasks[task].se].cfs_rq;
        let before = core::mem::take(&mut self.cfs_rqs[queue].removed);
        self.follow_waking_migration(task, cpu);
        let removed = core::mem::replace(&mut self.cfs_rqs[queue].removed, before);
        LeftLoad { queue, removed }
    }

    /// The queue's next update takes that off.
    pub fn follow_left_load(&mut self, left: LeftLoad) {
        self.cfs_rqs[left.queue].removed += left.removed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskState;
    use crate::{KernelProfile, Release, Topology};

    #[test]
    fn what_is_left_late_is_taken_off_at_the_update_after_it_was_told() {
        let mut sched = Sched::new(
            KernelProfile::new(Release::V6_1, 2),
            Topology::regular(1, 2, 1),
        );
        let [from, to] = [0, 1].map(CpuId);
        let task = sched.spawn(from, 0);
        sched.wake_up_new_task(from, task, 0);
        sched.schedule(from, 1_000_000, false);
        sched.set_current_state(from, TaskState::Interruptible);
        sched.schedule(from, 2_000_000, false);
        let load = |sched: &Sched| sched.cfs_rqs[sched.rqs[from].cfs].avg.load_avg;
        let had = load(&sched);
        let left = sched.follow_late_migration(task, to);
        sched.follow_blocked_averages(from, 3_000_000);
        assert!(load(&sched) > had / 2, "not told yet");
        sched.follow_left_load(left);
        assert!(load(&sched) > had / 2, "no update since");
        sched.follow_blocked_averages(from, 5_000_000);
        assert!(load(&sched) < had / 8);
    }
}
