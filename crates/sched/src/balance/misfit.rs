//! Tasks that are too big for their CPU, on machines with CPUs of different sizes.
//!
//! Source.     kernel/sched/fair.c: `update_misfit_status`, `check_misfit_status`,
//!             `set_task_max_allowed_capacity` @ 6.1, 6.12.
//! Deviations. The greatest capacity a task may have is looked up when asked; the kernel keeps it
//!             in the task.

use crate::sched::Sched;
use crate::task::Task;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// Notes on the run queue whether the task that runs there needs a bigger CPU.
    #[inline(always)]
    pub(crate) fn update_misfit_status(&mut self, cpu: CpuId, task: Option<TaskId>) {
        if self.domains.sched_asym_cpucap_active {
            self.note_misfit(cpu, task);
        }
    }

    #[inline(never)]
    fn note_misfit(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let misfit = task.filter(|&task| {
            let t = &self.tasks[task];
            t.nr_cpus_allowed != 1
                && !(self.balance_rules.has_max_allowed_capacity)(self, cpu, t)
                && !self.task_fits_cpu(task, cpu)
        });
        let load = misfit.map_or(0, |task| self.task_h_load(task).max(1));
        self.rqs[cpu].misfit_task_load = load;
    }

    /// Does the CPU run a task that another CPU suits better?
    pub(crate) fn check_misfit_status(&self, cpu: CpuId) -> bool {
        (self.balance_rules.check_misfit_status)(self, cpu)
    }

    /// 6.12: there is nothing bigger among the task's CPUs.
    pub(super) fn is_max_allowed_capacity(&self, cpu: CpuId, task: &Task) -> bool {
        let cpus = self.mask(task.cpus);
        let largest = self
            .domains
            .asym_cap_list
            .iter()
            .find(|entry| entry.cpus.intersects(cpus));
        largest.is_some_and(|entry| u64::from(entry.capacity) == self.rqs[cpu].cpu_capacity_orig)
    }

    /// 6.1: it runs a misfit task, and is not one of the biggest CPUs, or has lost capacity.
    pub(super) fn misfit_has_better_cpu(&self, cpu: CpuId) -> bool {
        if self.rqs[cpu].misfit_task_load == 0 {
            return false;
        }
        let orig = self.rqs[cpu].cpu_capacity_orig;
        let is_smaller = self
            .active
            .iter()
            .any(|other| self.rqs[other].cpu_capacity_orig > orig);
        let sd = self.domains.sd_asym_cpucapacity[cpu.idx()];
        is_smaller || self.check_cpu_capacity(cpu, sd)
    }
}
