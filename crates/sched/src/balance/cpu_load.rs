//! How busy a CPU is, with and without one task.
//!
//! Source.     kernel/sched/fair.c: `cpu_load`, `cpu_load_without`, `cpu_runnable`,
//!             `cpu_runnable_without`, `cpu_util`, `cpu_util_without`, `is_core_idle` @ 6.12 (6.1:
//!             `cpu_util_next` for `cpu_util`).
//! Deviations. A task counts in `util_est` if it is queued; the kernel also asks whether it is the
//!             caller itself, which is then queued anyhow.

use crate::features::Feature;
use crate::pelt::SchedAvg;
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

/// `a - b`, not below 0, in 32 bits as these sums are held.
fn lsub_positive_u32(a: u64, b: u64) -> u64 {
    u64::from((a as u32).saturating_sub(b as u32))
}

impl Sched {
    #[inline]
    fn cfs_avg(&self, cpu: CpuId) -> &SchedAvg {
        &self.cfs_rqs[self.rqs[cpu].cfs].avg
    }

    /// Average load of a CPU's fair tasks.
    #[inline]
    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.cfs_avg(cpu).load_avg
    }

    /// Average number of runnable fair tasks × 1024.
    #[inline]
    pub(crate) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.cfs_avg(cpu).runnable_avg
    }

    /// Is the task counted in the averages of the CPU?
    fn counts_on(&self, cpu: CpuId, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.cpu == cpu && self.ses[t.se].avg.last_update_time != 0
    }

    /// [`Self::cpu_load`] as if the task were not there.
    pub(crate) fn cpu_load_without(&mut self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.counts_on(cpu, task) {
            return self.cpu_load(cpu);
        }
        let load = self.cpu_load(cpu);
        lsub_positive_u32(load, self.task_h_load(task))
    }

    /// [`Self::cpu_runnable`] as if the task were not there.
    pub(crate) fn cpu_runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.counts_on(cpu, task) {
            return self.cpu_runnable(cpu);
        }
        let runnable = self.ses[self.tasks[task].se].avg.runnable_avg;
        lsub_positive_u32(self.cpu_runnable(cpu), runnable)
    }

    /// Utilisation of a CPU by fair tasks if `task`, when given, were on `dst` (nowhere, if
    /// `None`). With `boost`, waiting for the CPU counts as using it.
    pub(crate) fn cpu_util(
        &self,
        cpu: CpuId,
        task: Option<TaskId>,
        dst: Option<CpuId>,
        boost: bool,
    ) -> u64 {
        let avg = self.cfs_avg(cpu);
        let on_dst = dst == Some(cpu);
        let (mut util, mut runnable, mut util_est) =
            (avg.util_avg, avg.runnable_avg, u64::from(avg.util_est));
        if let Some(task) = task {
            let here = self.tasks[task].cpu == cpu;
            let of_task = &self.ses[self.tasks[task].se].avg;
            if !here && on_dst {
                util += of_task.util_avg;
                runnable += of_task.runnable_avg;
            } else if here && !on_dst {
                util = util.saturating_sub(of_task.util_avg);
                runnable = runnable.saturating_sub(of_task.runnable_avg);
            }
            if on_dst {
                util_est += self.task_util_est_only(task);
            } else if self.tasks[task].is_queued() {
                util_est = util_est.saturating_sub(self.task_util_est_only(task));
            }
        }
        if boost {
            util = util.max(runnable);
        }
        if self.profile.features.has(Feature::UTIL_EST) {
            util = util.max(util_est);
        }
        util.min(self.rqs[cpu].cpu_capacity_orig)
    }

    /// Utilisation of a CPU by fair tasks.
    #[inline]
    pub(crate) fn cpu_util_cfs(&self, cpu: CpuId) -> u64 {
        self.cpu_util(cpu, None, None, false)
    }

    /// [`Self::cpu_util_cfs`] as if the task were not there.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let task = self.counts_on(cpu, task).then_some(task);
        self.cpu_util(cpu, task, None, false)
    }

    /// Are all other threads of the CPU's core idle?
    pub(crate) fn is_core_idle(&self, cpu: CpuId) -> bool {
        let mut siblings = self.domains.cpu_smt_mask(cpu).iter();
        siblings.all(|sibling| sibling == cpu || self.idle_cpu(sibling))
    }
}
