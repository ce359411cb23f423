//! Where an RT task should run: on the CPU with the weakest work.
//!
//! Model.  Of the allowed CPUs at the lowest level of all (`cpupri`): the task's own; else the caller's, if it is
//!         among them and near; else one near the task's, taking turns; else the caller's; else any.
//! Source. kernel/sched/rt.c `select_task_rq_rt`, `find_lowest_rq`, `rt_task_fits_capacity` @ 6.1, 6.12.

use super::root::RtRoot;
use crate::cpumask::CpuMask;
use crate::domain::flags::SD_WAKE_AFFINE;
use crate::flags::{WF_FORK, WF_TTWU};
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// The CPU for a waking or new RT task.
    pub(crate) fn select_task_rq_rt(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        prev_cpu: CpuId,
        wake_flags: u32,
    ) -> CpuId {
        if wake_flags & (WF_TTWU | WF_FORK) == 0 {
            return prev_cpu;
        }
        let prio = self.tasks[task].prio;
        let curr = &self.tasks[self.rqs[prev_cpu].curr];
        // The running task would have to be moved later, or could not be: better to look for another CPU now.
        let is_rt = curr.class == Class::Stop || (self.rt_rules.is_rt_prio)(curr.prio);
        let stays = is_rt && (curr.nr_cpus_allowed < 2 || curr.prio <= prio);
        if !stays && self.rt_task_fits_capacity(task, prev_cpu) {
            return prev_cpu;
        }
        match self.find_lowest_rq(this_cpu, task) {
            Some(target) if !stays && !self.rt_task_fits_capacity(task, target) => prev_cpu,
            Some(target) if prio < self.rqs[target].rt.highest_curr => target,
            _ => prev_cpu,
        }
    }

    /// Is the CPU fast enough for what the task's clamps ask?
    fn rt_task_fits_capacity(&self, task: TaskId, cpu: CpuId) -> bool {
        if !self.asks_for_capacity() {
            return true;
        }
        let (min, max) = self.uclamp_eff(task);
        self.rqs[cpu].cpu_capacity_orig >= min.min(max)
    }

    fn asks_for_capacity(&self) -> bool {
        self.profile.uclamp && self.domains.sched_asym_cpucap_active
    }

    /// Is some allowed CPU below the task's priority?
    pub(super) fn cpupri_any_below(&mut self, task: TaskId) -> bool {
        self.with_rt_root(|sched, root| {
            let t = &sched.tasks[task];
            root.cpupri.any_below(t.prio, sched.mask(t.cpus))
        })
    }

    /// The best CPU for a task among those that run weaker work.
    pub(super) fn find_lowest_rq(&mut self, this_cpu: CpuId, task: TaskId) -> Option<CpuId> {
        if self.tasks[task].nr_cpus_allowed == 1 {
            return None;
        }
        self.with_rt_root(|sched, root| {
            let mut lowest = core::mem::take(&mut root.lowest_mask);
            let best = sched.search_lowest(root, &mut lowest, this_cpu, task);
            root.lowest_mask = lowest;
            best
        })
    }

    fn search_lowest(
        &self,
        root: &mut RtRoot,
        lowest: &mut CpuMask,
        this_cpu: CpuId,
        task: TaskId,
    ) -> Option<CpuId> {
        let t = &self.tasks[task];
        let fits = |cpu| self.rt_task_fits_capacity(task, cpu);
        let fits: Option<&dyn Fn(CpuId) -> bool> = if self.asks_for_capacity() {
            Some(&fits)
        } else {
            None
        };
        if !root
            .cpupri
            .find(t.prio, self.mask(t.cpus), &self.active, lowest, fits)
        {
            return None;
        }
        // Its caches are warm there.
        if lowest.test(t.cpu) {
            return Some(t.cpu);
        }
        let this_is_lowest = lowest.test(this_cpu);
        for sd in self.domains.for_each_domain(t.cpu) {
            if self.domains.sd[sd].flags & SD_WAKE_AFFINE == 0 {
                continue;
            }
            let span = self.domains.sched_domain_span(sd);
            if this_is_lowest && span.test(this_cpu) {
                return Some(this_cpu);
            }
            let best = root.distribute(this_cpu, lowest, Some(span));
            if best.is_some() {
                return best;
            }
        }
        if this_is_lowest {
            return Some(this_cpu);
        }
        root.distribute(this_cpu, lowest, None)
    }
}
