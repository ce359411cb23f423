//! 6.18: whether a task that wakes gets the CPU from the one that runs.
//!
//! Model.      The waking task preempts if it would be picked now. Against a shorter slice the running entity has no
//!             protection (PREEMPT_SHORT); against any other it keeps it, until it has run as long as the shortest
//!             slice. Neither a new task nor one that woke before it was off its queue preempts for anything but a
//!             shorter slice. With NEXT_BUDDY it becomes the next to run, if no earlier deadline holds that place, and
//!             a waker that is about to sleep is not disturbed before it ran for a while.
//! Source.     kernel/sched/fair.c `check_preempt_wakeup_fair`, `set_preempt_buddy`, `preempt_sync` @ 6.18.44.

use super::lag::deadline_before;
use crate::features::Feature;
use crate::flags::{WF_FORK, WF_RQ_SELECTED, WF_SYNC};
use crate::sched::Sched;
use crate::task::Policy;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};

/// `enum preempt_wakeup_action`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PreemptWakeupAction {
    None,
    /// The protection of the running slice does not count.
    Short,
    /// The pick decides.
    Pick,
    Resched,
}

impl Sched {
    pub(super) fn wakeup_preempt_6_18(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let curr = self.rqs[cpu].curr;
        let (se, pse) = (self.tasks[curr].se, self.tasks[task].se);
        let features = self.profile.features;
        if se == pse
            || self.throttled_hierarchy(self.ses[pse].cfs_rq)
            || self.rqs[cpu].need_resched
            || !features.has(Feature::WAKEUP_PREEMPTION)
        {
            return;
        }
        let (se, pse) = self.find_matching_se(se, pse);
        let (cse_is_idle, pse_is_idle) = (self.se_is_idle(se), self.se_is_idle(pse));
        if cse_is_idle && !pse_is_idle {
            self.cancel_protect_slice_6_18(se);
            self.resched_curr_lazy(cpu);
            return;
        }
        if cse_is_idle != pse_is_idle || self.tasks[task].policy != Policy::Normal {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.update_curr_eevdf(cfs_rq);
        match self.preempt_wakeup_action(cpu, cfs_rq, pse, se, wake_flags) {
            PreemptWakeupAction::None => {}
            PreemptWakeupAction::Resched => self.resched_curr_lazy(cpu),
            action => {
                let short = action == PreemptWakeupAction::Short;
                if self.would_pick(cpu, cfs_rq, pse, !short) {
                    if short {
                        self.cancel_protect_slice_6_18(se);
                    }
                    self.resched_curr_lazy(cpu);
                } else if features.has(Feature::RUN_TO_PARITY) {
                    self.update_protect_slice(cfs_rq, se);
                }
            }
        }
    }

    pub(super) fn preempt_wakeup_action(
        &mut self,
        cpu: CpuId,
        cfs_rq: CfsRqId,
        pse: SeId,
        se: SeId,
        wake_flags: u32,
    ) -> PreemptWakeupAction {
        let features = self.profile.features;
        if features.has(Feature::PREEMPT_SHORT) && self.ses[pse].slice < self.ses[se].slice {
            return PreemptWakeupAction::Short;
        }
        if wake_flags & WF_FORK != 0 || self.ses[pse].sched_delayed {
            return PreemptWakeupAction::None;
        }
        if features.has(Feature::NEXT_BUDDY)
            && self.set_preempt_buddy(cfs_rq, pse)
            && wake_flags & WF_SYNC != 0
        {
            return self.preempt_sync(cpu, pse, se, wake_flags);
        }
        PreemptWakeupAction::Pick
    }

    /// False: a buddy with an earlier deadline keeps its place.
    fn set_preempt_buddy(&mut self, cfs_rq: CfsRqId, pse: SeId) -> bool {
        let next = self.cfs_rqs[cfs_rq].next;
        if next.is_some() && deadline_before(self.ses[next].deadline, self.ses[pse].deadline) {
            return false;
        }
        self.set_next_buddy(pse);
        true
    }

    /// A waker that is about to sleep may wake more: it runs on unless it ran for long, a quarter of that if the two
    /// could have been on different CPUs.
    fn preempt_sync(
        &self,
        cpu: CpuId,
        pse: SeId,
        se: SeId,
        wake_flags: u32,
    ) -> PreemptWakeupAction {
        let mut threshold = u64::from(self.profile.tunables.migration_cost_ns as u32);
        if wake_flags & WF_RQ_SELECTED != 0 {
            threshold >>= 2;
        }
        let ran = self.rqs[cpu]
            .clock_task
            .wrapping_sub(self.ses[se].exec_start) as i64;
        if deadline_before(self.ses[pse].deadline, self.ses[se].deadline)
            && ran.max(0) as u64 >= threshold
        {
            PreemptWakeupAction::Resched
        } else {
            PreemptWakeupAction::None
        }
    }

    /// Would the entity be picked? Sleepers that are in line only until they are eligible leave on the way.
    fn would_pick(&mut self, cpu: CpuId, cfs_rq: CfsRqId, pse: SeId, protect: bool) -> bool {
        loop {
            let next = self.pick_next_entity_eevdf(cpu, cfs_rq, protect);
            if next.is_some() || self.cfs_rqs[cfs_rq].nr_queued == 0 {
                return next == Some(pse);
            }
        }
    }
}
