//! Sums over the groups of a domain, and what kind of busy each group is.
//!
//! Model.  A group is *overloaded* if it has more tasks than CPUs and they use or want more than it
//!         can give; it *has spare* capacity if it has fewer tasks than CPUs or they leave room;
//!         else it is *fully busy*. The types between say why its tasks are not well placed
//!         although there is room. `imbalance_pct` (117: 17 %) is the margin of both comparisons.
//! Source. kernel/sched/fair.c: `group_classify`, `update_sg_lb_stats`, `update_sd_lb_stats` @ 6.1,
//!         6.12.

use super::cpu_sums::GroupSums;
use super::env::{CpuIdleType, LbEnv};
use crate::domain::SgId;
use crate::domain::flags::{SD_ASYM_CPUCAPACITY, SD_SHARE_CPUCAPACITY};
use crate::sched::Sched;
use crate::topology::SCHED_CAPACITY_SCALE;

/// How busy a group is, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum GroupType {
    /// There is room for more tasks.
    #[default]
    HasSpare,
    /// All CPUs are in use, and no task lacks anything.
    FullyBusy,
    /// A task is too big for its CPU, or its CPU has lost capacity.
    MisfitTask,
    /// 6.12: several threads of a core are busy.
    SmtBalance,
    /// Affinity kept a pass below from balancing.
    Imbalanced,
    /// More tasks than it can serve.
    Overloaded,
}

/// Sums over a group's CPUs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SgLbStats {
    /// Load per 1024 of capacity; only kept for types that are compared by it.
    pub(super) avg_load: u64,
    pub(super) group_load: u64,
    pub(super) group_capacity: u64,
    pub(super) group_util: u64,
    pub(super) group_runnable: u64,
    /// Tasks of all classes.
    pub(super) sum_nr_running: u32,
    /// Fair tasks.
    pub(super) sum_h_nr_queued: u32,
    pub(super) idle_cpus: u32,
    pub(super) group_weight: u32,
    pub(super) group_type: GroupType,
    pub(super) group_smt_balance: bool,
    pub(super) group_misfit_task_load: u64,
}

/// Sums over a domain, its busiest group and the group that balances.
pub(super) struct SdLbStats {
    pub(super) busiest: SgId,
    pub(super) local: SgId,
    pub(super) total_load: u64,
    pub(super) total_capacity: u64,
    pub(super) avg_load: u64,
    pub(super) prefer_sibling: bool,
    pub(super) busiest_stat: SgLbStats,
    pub(super) local_stat: SgLbStats,
}

impl SgLbStats {
    /// What a group's CPUs add up to; its capacity, weight and type are still to come.
    pub(super) fn of(sums: &GroupSums) -> SgLbStats {
        SgLbStats {
            group_load: sums.load,
            group_util: sums.util,
            group_runnable: sums.runnable,
            sum_h_nr_queued: sums.nr_fair,
            sum_nr_running: sums.nr_running,
            idle_cpus: sums.idle_cpus,
            ..SgLbStats::default()
        }
    }

    /// Load per 1024 of capacity, rounded down.
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.group_load * u64::from(SCHED_CAPACITY_SCALE) / self.group_capacity
    }

    fn has_capacity(&self, imbalance_pct: u64) -> bool {
        if self.sum_nr_running < self.group_weight {
            return true;
        }
        if self.group_capacity * imbalance_pct < self.group_runnable * 100 {
            return false;
        }
        self.group_capacity * 100 > self.group_util * imbalance_pct
    }

    fn is_overloaded(&self, imbalance_pct: u64) -> bool {
        if self.sum_nr_running <= self.group_weight {
            return false;
        }
        self.group_capacity * 100 < self.group_util * imbalance_pct
            || self.group_capacity * imbalance_pct < self.group_runnable * 100
    }

    pub(super) fn classify(&self, imbalance_pct: u32, imbalanced: bool) -> GroupType {
        let imbalance_pct = imbalance_pct.into();
        if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if imbalanced {
            GroupType::Imbalanced
        } else if self.group_smt_balance {
            GroupType::SmtBalance
        } else if self.group_misfit_task_load != 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }
}

impl SdLbStats {
    fn new() -> SdLbStats {
        SdLbStats {
            busiest: SgId::NONE,
            local: SgId::NONE,
            total_load: 0,
            total_capacity: 0,
            avg_load: 0,
            prefer_sibling: false,
            busiest_stat: SgLbStats {
                idle_cpus: u32::MAX,
                ..SgLbStats::default()
            },
            local_stat: SgLbStats::default(),
        }
    }

    /// Load per 1024 of capacity of the whole domain, rounded down.
    pub(super) fn load_per_capacity(&self) -> u64 {
        self.total_load * u64::from(SCHED_CAPACITY_SCALE) / self.total_capacity
    }
}

impl Sched {
    /// Sums up a group; `overloaded` is set if one of its CPUs has more than it can run.
    fn update_sg_lb_stats(
        &self,
        env: &LbEnv,
        group: SgId,
        is_local: bool,
        overloaded: &mut bool,
    ) -> SgLbStats {
        let sd = &self.domains.sd[env.sd];
        let sums = self.group_sums(group, &env.cpus);
        *overloaded |= sums.crowded_cpus > 0;
        let mut sgs = SgLbStats::of(&sums);
        if is_local {
            // Whatever is wrong with its own CPUs is not what it could pull.
        } else if sd.flags & SD_ASYM_CPUCAPACITY != 0 {
            sgs.group_misfit_task_load = self.largest_misfit(env, group);
            *overloaded |= sgs.group_misfit_task_load > 0;
        } else if env.is_idle() && sums.reduced_cpus > 0 {
            sgs.group_misfit_task_load = self.load_of_reduced_cpus(env, group);
        }
        let sg = &self.domains.sg[group];
        let sgc = &self.domains.sgc[sg.sgc];
        sgs.group_capacity = sgc.capacity;
        sgs.group_weight = sg.group_weight;
        sgs.group_smt_balance = self.balance_rules.smt_balance
            && !is_local
            && env.is_idle()
            && sg.flags & SD_SHARE_CPUCAPACITY != 0
            && sgs.sum_h_nr_queued > 1;
        sgs.group_type = sgs.classify(sd.imbalance_pct, sgc.imbalance);
        if sgs.group_type == GroupType::Overloaded {
            sgs.avg_load = sgs.load_per_capacity();
        }
        sgs
    }

    /// The largest load of a task that is too big for its CPU.
    fn largest_misfit(&self, env: &LbEnv, group: SgId) -> u64 {
        let cpus = self.domains.sched_group_cpus(group, &env.cpus);
        let busy = cpus.filter(|&cpu| !self.cpu_sums(cpu).idle);
        busy.map(|cpu| self.rqs[cpu].misfit_task_load)
            .max()
            .unwrap_or(0)
    }

    /// The largest load of a CPU that has one fair task and has lost capacity.
    fn load_of_reduced_cpus(&self, env: &LbEnv, group: SgId) -> u64 {
        let cpus = self.domains.sched_group_cpus(group, &env.cpus);
        let reduced = cpus.filter(|&cpu| {
            let row = self.cpu_sums(cpu);
            !row.idle && row.nr_fair == 1 && self.check_cpu_capacity(cpu, env.sd)
        });
        reduced
            .map(|cpu| self.cpu_sums(cpu).load)
            .max()
            .unwrap_or(0)
    }

    /// Sums up a domain and finds its busiest group; brings the own group's capacity up to date
    /// first.
    pub(super) fn update_sd_lb_stats(&mut self, env: &mut LbEnv) -> SdLbStats {
        self.refresh_cpu_sums();
        let mut sds = SdLbStats::new();
        let mut sum_util = 0;
        let mut overloaded = false;
        env.dst_core_idle = !self.domains.sched_smt_present || self.is_core_idle(env.dst_cpu);
        let first = self.domains.sd[env.sd].groups;
        let mut sg = first;
        loop {
            let is_local = self.domains.sched_group_span(sg).test(env.dst_cpu);
            if is_local {
                sds.local = sg;
                let next_update = self.domains.sgc[self.domains.sg[sg].sgc].next_update;
                if env.idle != CpuIdleType::NewlyIdle || self.jiffies >= next_update {
                    self.update_group_capacity(env.sd, env.dst_cpu);
                    self.refresh_cpu_sums();
                }
            }
            let sgs = self.update_sg_lb_stats(env, sg, is_local, &mut overloaded);
            self.report_group(sg, is_local, &sgs);
            if is_local {
                sds.local_stat = sgs;
            } else if self.update_sd_pick_busiest(env, &sds, sg, &sgs) {
                sds.busiest = sg;
                sds.busiest_stat = sgs;
            }
            sds.total_load += sgs.group_load;
            sds.total_capacity += sgs.group_capacity;
            sum_util += sgs.group_util;
            sg = self.domains.sg[sg].next;
            if sg == first {
                break;
            }
        }
        sds.prefer_sibling = (self.balance_rules.prefer_sibling)(self, env.sd, &sds);
        if self.domains.sd[env.sd].parent.is_none() {
            self.rd_overloaded = overloaded;
        }
        self.update_idle_cpu_scan(env, sum_util);
        sds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(nr: u32, util: u64, runnable: u64) -> SgLbStats {
        SgLbStats {
            sum_nr_running: nr,
            group_util: util,
            group_runnable: runnable,
            group_weight: 4,
            group_capacity: 4096,
            ..SgLbStats::default()
        }
    }

    #[test]
    fn a_group_is_classified_by_tasks_first_then_by_margins_of_17_percent() {
        // 4096 · 100 / 117 = 3500.9: above a utilisation of 3500 five tasks are too many for four
        // CPUs.
        assert_eq!(
            group(5, 3501, 0).classify(117, false),
            GroupType::Overloaded
        );
        assert_eq!(group(5, 3500, 0).classify(117, false), GroupType::HasSpare);
        // 4096 · 117 / 100 = 4792.3: or above that many waiting.
        assert_eq!(
            group(5, 0, 4793).classify(117, false),
            GroupType::Overloaded
        );
        assert_eq!(group(5, 0, 4792).classify(117, false), GroupType::HasSpare);
        // With as many tasks as CPUs it is only full, with fewer it has room whatever they use.
        assert_eq!(group(4, 3501, 0).classify(117, false), GroupType::FullyBusy);
        assert_eq!(
            group(3, 4096, 5000).classify(117, false),
            GroupType::HasSpare
        );
    }

    #[test]
    fn reasons_rank_between_full_and_overloaded() {
        let mut sgs = group(2, 0, 0);
        sgs.group_misfit_task_load = 1;
        assert_eq!(sgs.classify(117, false), GroupType::MisfitTask);
        sgs.group_smt_balance = true;
        assert_eq!(sgs.classify(117, false), GroupType::SmtBalance);
        assert_eq!(sgs.classify(117, true), GroupType::Imbalanced);
        sgs = group(5, 4096, 0);
        assert_eq!(sgs.classify(117, true), GroupType::Overloaded);
    }
}
