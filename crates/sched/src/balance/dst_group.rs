//! The least busy group of a domain, for a task that is about to run.
//!
//! Source. kernel/sched/fair.c: `update_sg_wakeup_stats`, `update_pick_idlest`, `idle_cpu_without`,
//!         `sched_balance_find_dst_group` (6.1: `find_idlest_group`) @ 6.1, 6.12.

use super::cpus_in_both;
use super::group_stats::{GroupType, SgLbStats};
use super::imbalance::adjust_numa_imbalance;
use crate::domain::flags::{SD_ASYM_CPUCAPACITY, SD_NUMA};
use crate::domain::{SdId, SgId};
use crate::entity::{NICE_0_LOAD, scale_load_down};
use crate::sched::Sched;
use crate::task::MaskId;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// 1 if the task is queued on the CPU and counted there.
    fn task_running_on_cpu(&self, cpu: CpuId, task: TaskId) -> u32 {
        let t = &self.tasks[task];
        let attached = self.ses[t.se].avg.last_update_time != 0;
        u32::from(t.cpu == cpu && attached && t.is_queued())
    }

    /// Idle but for the task.
    fn idle_cpu_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let rq = &self.rqs[cpu];
        (rq.curr == rq.idle || rq.curr == task) && !rq.ttwu_pending
    }

    /// Sums up a group as if the task were not there.
    fn update_sg_wakeup_stats(&mut self, sd: SdId, group: SgId, task: TaskId) -> SgLbStats {
        let allowed = self.mask(self.tasks[task].cpus);
        let own = self.tasks[task].cpu;
        let span = self.domains.sched_group_span(group);
        let has_own = span.test(own) && allowed.test(own);
        let mut sums = self.group_sums(group, allowed);
        if has_own {
            sums.sub(self.cpu_sums(own));
        }
        let mut sgs = SgLbStats::of(&sums);
        let asym = self.domains.sd[sd].flags & SD_ASYM_CPUCAPACITY != 0;
        let fits_nowhere = asym && {
            let mut cpus = self.domains.sched_group_cpus(group, allowed);
            !cpus.any(|cpu| self.task_fits_cpu(task, cpu))
        };
        if has_own {
            sgs.group_load += self.cpu_load_without(own, task);
            sgs.group_util += self.cpu_util_without(own, task);
            sgs.group_runnable += self.cpu_runnable_without(own, task);
            let local = self.task_running_on_cpu(own, task);
            let rq = &self.rqs[own];
            let nr_fair = self.nr_to_balance(rq.cpu).wrapping_sub(local);
            sgs.sum_h_nr_queued = sgs.sum_h_nr_queued.wrapping_add(nr_fair);
            let nr_running = rq.nr_running.wrapping_sub(local);
            sgs.sum_nr_running = sgs.sum_nr_running.wrapping_add(nr_running);
            if nr_running == 0 && self.idle_cpu_without(own, task) {
                sgs.idle_cpus += 1;
            }
        }
        sgs.group_misfit_task_load = u64::from(fits_nowhere);
        let sg = &self.domains.sg[group];
        let sgc = &self.domains.sgc[sg.sgc];
        sgs.group_capacity = sgc.capacity;
        sgs.group_weight = sg.group_weight;
        sgs.group_type = sgs.classify(self.domains.sd[sd].imbalance_pct, sgc.imbalance);
        if matches!(sgs.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            sgs.avg_load = sgs.load_per_capacity();
        }
        sgs
    }

    fn max_capacity(&self, group: SgId) -> u64 {
        self.domains.sgc[self.domains.sg[group].sgc].max_capacity
    }

    /// Is the group less busy than the least busy so far?
    fn update_pick_idlest(
        &self,
        idlest: SgId,
        idlest_sgs: &SgLbStats,
        group: SgId,
        sgs: &SgLbStats,
    ) -> bool {
        if sgs.group_type != idlest_sgs.group_type {
            return sgs.group_type < idlest_sgs.group_type;
        }
        match sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => idlest_sgs.avg_load > sgs.avg_load,
            GroupType::Imbalanced | GroupType::SmtBalance => false,
            GroupType::MisfitTask => self.max_capacity(idlest) < self.max_capacity(group),
            GroupType::HasSpare => {
                idlest_sgs.idle_cpus < sgs.idle_cpus
                    || (idlest_sgs.idle_cpus == sgs.idle_cpus
                        && idlest_sgs.group_util > sgs.group_util)
            }
        }
    }

    /// The least busy group of a domain; none if that of `this_cpu` is as good, or the task may run
    /// nowhere here.
    pub(super) fn sched_balance_find_dst_group(
        &mut self,
        sd: SdId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> Option<SgId> {
        self.refresh_cpu_sums();
        let allowed = self.tasks[task].cpus;
        let mut idlest = SgId::NONE;
        let mut idlest_sgs = SgLbStats {
            avg_load: u32::MAX.into(),
            group_type: GroupType::Overloaded,
            ..SgLbStats::default()
        };
        let mut local = None;
        let first = self.domains.sd[sd].groups;
        let mut group = first;
        loop {
            let span = self.domains.sched_group_span(group);
            let is_local = span.test(this_cpu);
            if allowed == MaskId::ALL || span.intersects(self.mask(allowed)) {
                let sgs = self.update_sg_wakeup_stats(sd, group, task);
                if is_local {
                    local = Some((group, sgs));
                } else if self.update_pick_idlest(idlest, &idlest_sgs, group, &sgs) {
                    (idlest, idlest_sgs) = (group, sgs);
                }
            }
            group = self.domains.sg[group].next;
            if group == first {
                break;
            }
        }
        let idlest = idlest.get()?;
        let Some((local, local_sgs)) = local else {
            return Some(idlest);
        };
        let goes = if local_sgs.group_type != idlest_sgs.group_type {
            local_sgs.group_type > idlest_sgs.group_type
        } else {
            self.is_worth_leaving(sd, task, local, &local_sgs, idlest, &idlest_sgs)
        };
        goes.then_some(idlest)
    }

    /// Of two groups of the same type, is the other one enough better?
    fn is_worth_leaving(
        &self,
        sd: SdId,
        task: TaskId,
        local: SgId,
        local_sgs: &SgLbStats,
        idlest: SgId,
        idlest_sgs: &SgLbStats,
    ) -> bool {
        let sd = &self.domains.sd[sd];
        let is_numa = sd.flags & SD_NUMA != 0;
        match local_sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let pct = u64::from(sd.imbalance_pct);
                let imbalance = scale_load_down(NICE_0_LOAD) * (pct - 100) / 100;
                let (here, there) = (local_sgs.avg_load, idlest_sgs.avg_load);
                // The memory of a task that leaves its node may stay behind.
                if is_numa && there + imbalance >= here {
                    return false;
                }
                there < here + imbalance && 100 * here > pct * there
            }
            GroupType::Imbalanced | GroupType::SmtBalance => false,
            GroupType::MisfitTask => self.max_capacity(local) < self.max_capacity(idlest),
            GroupType::HasSpare => {
                if is_numa {
                    // Only as many tasks may share the node as there are CPUs for them.
                    let span = self.domains.sched_group_span(local);
                    let cpus = cpus_in_both(span, self.mask(self.tasks[task].cpus)).count();
                    let imb_numa_nr = (cpus as i32).min(sd.imb_numa_nr as i32);
                    let imbalance = local_sgs.idle_cpus.abs_diff(idlest_sgs.idle_cpus) as i32;
                    let dst_running = local_sgs.sum_nr_running.wrapping_add(1) as i32;
                    if adjust_numa_imbalance(imbalance, dst_running, imb_numa_nr) == 0 {
                        return false;
                    }
                }
                local_sgs.idle_cpus < idlest_sgs.idle_cpus
            }
        }
    }
}
