//! Pulling: a CPU whose priority drops takes over the strongest tasks that wait on other CPUs.
//!
//! Source. kernel/sched/rt.c `balance_rt`, `pull_rt_task` @ 6.1, 6.12.

use crate::features::Feature;
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// Before a pick: if the running task leaves, weaker work would follow, and others have tasks to spare, takes one.
    /// True if a task of this class or above can run, so that the classes below need not balance.
    pub(crate) fn balance_rt(&mut self, cpu: CpuId, prev: TaskId) -> bool {
        let t = &self.tasks[prev];
        let rq = &self.rqs[cpu];
        if !t.rt.on_rq && rq.online && rq.rt.highest_curr > t.prio {
            self.pull_rt_task(cpu);
        }
        let rq = &self.rqs[cpu];
        self.tasks[rq.stop].is_queued() || rq.rt.server.queued || self.rt_runnable(cpu)
    }

    /// Takes every waiting task of other CPUs that is stronger than all that is here, one a CPU.
    pub(super) fn pull_rt_task(&mut self, this_cpu: CpuId) {
        if !self.rt_balancing {
            return;
        }
        let root = self.rt_root();
        if root.rto_count == 0 || root.rto_count == 1 && root.rto_mask.test(this_cpu) {
            return;
        }
        if self.profile.features.has(Feature::RT_PUSH_IPI) {
            self.tell_cpu_to_push(this_cpu);
            return;
        }
        let mut resched = false;
        let mut from = 0;
        while let Some(src) = self.rt_root().rto_mask.next_from(from) {
            from = src.idx() + 1;
            if src == this_cpu {
                continue;
            }
            if self.rqs[src].rt.highest_next >= self.rqs[this_cpu].rt.highest_curr {
                continue;
            }
            let Some((prio, task)) = self.pick_highest_pushable_task(src, this_cpu) else {
                continue;
            };
            // One that is stronger than what runs there is about to run there.
            if prio < self.rqs[this_cpu].rt.highest_curr
                && prio >= self.tasks[self.rqs[src].curr].prio
            {
                self.move_rt_task(task, src, this_cpu);
                resched = true;
            }
        }
        if resched {
            self.resched_curr(this_cpu);
        }
    }

    fn pick_highest_pushable_task(&self, src: CpuId, this_cpu: CpuId) -> Option<(i32, TaskId)> {
        let mut waiting = self.rqs[src].rt.pushable.iter();
        waiting.find(|&(_, task)| !self.tasks[task].on_cpu && self.cpu_allowed(task, this_cpu))
    }
}
