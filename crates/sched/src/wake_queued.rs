//! WA_QUEUED_WEIGHT: a wakeup compares what is queued on the two CPUs, in groups or not.
//!
//! Model.      What weighs on a CPU is the sum of the weights of the fair tasks queued there, in whatever groups. A waking task comes
//!             to its waker's CPU, from which a waker that is about to sleep is taken off first,
//!             if no more is queued there than where it slept, and both together are no more than one task of the waker's CPU;
//!             or if with it there no more is queued than where it slept, and half the domain's imbalance_pct.
//! Source.     kernel/sched.c `try_to_wake_up`, `weighted_cpuload`, `cpu_avg_load_per_task` @ 2.6.22.
//! Deviations. WA_QUEUED_WEIGHT compares what is queued at the moment, and leaves out RT tasks; 2.6.22 takes the less (where the task slept) and
//!             the more (at the waker's) of that and of a decaying average, and counts RT tasks, heavier than any other. A throttled group's tasks count.

use crate::domain::SdId;
use crate::entity::scale_load_down;
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, TaskId};

/// Weight of a task of nice 0, and what a CPU without tasks is taken to have for one.
const SCHED_LOAD_SCALE: u64 = 1024;

impl Sched {
    /// Σ of the weights of the fair tasks queued on a CPU: Σ of its queues' loads, less those of the groups in them.
    fn queued_weight(&self, cpu: CpuId) -> u64 {
        let queues = self.groups.iter().map(|group| group.cfs_rq[cpu.idx()]);
        let weight = queues.fold(0u64, |sum, queue| {
            let queue = &self.cfs_rqs[queue];
            let own = match queue.se.get() {
                Some(se) if self.ses[se].on_rq => self.ses[se].load.weight,
                _ => 0,
            };
            sum.wrapping_add(queue.load.weight).wrapping_sub(own)
        });
        scale_load_down(weight)
    }

    /// The waker's CPU, if a waking task is drawn to it.
    pub(crate) fn wake_affine_queued(
        &self,
        sd: SdId,
        task: TaskId,
        this_cpu: CpuId,
        prev_cpu: CpuId,
        sync: bool,
    ) -> Option<CpuId> {
        let queued = self.queued_weight(this_cpu);
        let tasks = u64::from(self.cfs_rqs[self.rqs[this_cpu].cfs].h_nr_queued);
        let per_task = queued.checked_div(tasks).unwrap_or(SCHED_LOAD_SCALE);
        let waker = &self.tasks[self.rqs[this_cpu].curr];
        let leaves = if sync && waker.class == Class::Fair {
            self.ses[waker.se].weight()
        } else {
            0
        };
        let here = queued.saturating_sub(leaves);
        let there = self.queued_weight(prev_cpu);
        let imbalance = 100 + (u64::from(self.domains.sd[sd].imbalance_pct) - 100) / 2;
        let weight = self.ses[self.tasks[task].se].weight();
        let little = here <= there && here + there <= per_task;
        (little || 100 * (here + weight) <= imbalance * there).then_some(this_cpu)
    }
}
