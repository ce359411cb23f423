//! The busiest group of a domain, and whether to pull from it at all.
//!
//! Source. kernel/sched/fair.c: `update_sd_pick_busiest`, `sched_balance_find_src_group` (6.1:
//!         `find_busiest_group`) @ 6.1, 6.12.

use super::capacity::capacity_greater;
use super::env::LbEnv;
use super::group_stats::{GroupType, SdLbStats, SgLbStats};
use crate::domain::flags::{SD_ASYM_CPUCAPACITY, SD_PREFER_SIBLING, SD_SHARE_CPUCAPACITY};
use crate::domain::{SdId, SgId};
use crate::sched::Sched;

/// Of two groups with room to spare: fewer idle CPUs, or as many and more tasks.
fn has_less_spare(sgs: &SgLbStats, busiest: &SgLbStats) -> bool {
    sgs.idle_cpus < busiest.idle_cpus
        || (sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running)
}

impl Sched {
    /// Is the group busier than the busiest so far, and one that the destination can take tasks
    /// from?
    pub(super) fn update_sd_pick_busiest(
        &self,
        env: &LbEnv,
        sds: &SdLbStats,
        sg: SgId,
        sgs: &SgLbStats,
    ) -> bool {
        if sgs.sum_h_nr_queued == 0 {
            return false;
        }
        let rules = self.balance_rules;
        let asym = self.domains.sd[env.sd].flags & SD_ASYM_CPUCAPACITY != 0;
        let sgc = &self.domains.sgc[self.domains.sg[sg].sgc];
        let capacity = self.capacity_of(env.dst_cpu);
        // A task too big for the group is no use to a CPU that is not bigger, or not idle.
        if asym
            && sgs.group_type == GroupType::MisfitTask
            && ((rules.misfit_wants_idle_core && !env.dst_core_idle)
                || !capacity_greater(capacity, sgc.max_capacity)
                || sds.local_stat.group_type != GroupType::HasSpare)
        {
            return false;
        }
        // Tasks that are well served by bigger CPUs stay there.
        let is_well_served = asym
            && sgs.group_type <= GroupType::FullyBusy
            && capacity_greater(sgc.min_capacity, capacity);
        if is_well_served && rules.capacity_before_type {
            return false;
        }
        let busiest_type = sds.busiest_stat.group_type;
        if sgs.group_type != busiest_type {
            return sgs.group_type > busiest_type;
        }
        (rules.busier_of_type)(self, sds, sg, sgs) && !is_well_served
    }

    /// 6.1's order within a type: by load, by misfit load, or by what is spare.
    pub(super) fn busier_of_type_6_1(&self, sds: &SdLbStats, _sg: SgId, sgs: &SgLbStats) -> bool {
        let busiest = &sds.busiest_stat;
        match sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => sgs.avg_load > busiest.avg_load,
            GroupType::Imbalanced => false,
            GroupType::MisfitTask => sgs.group_misfit_task_load >= busiest.group_misfit_task_load,
            GroupType::SmtBalance | GroupType::HasSpare => has_less_spare(sgs, busiest),
        }
    }

    /// 6.12's order within a type: as 6.1's, and cores with several busy threads before single
    /// CPUs.
    pub(super) fn busier_of_type_6_12(&self, sds: &SdLbStats, sg: SgId, sgs: &SgLbStats) -> bool {
        let busiest = &sds.busiest_stat;
        let is_smt = |sg: SgId| self.domains.sg[sg].flags & SD_SHARE_CPUCAPACITY != 0;
        match sgs.group_type {
            GroupType::Overloaded => sgs.avg_load > busiest.avg_load,
            GroupType::Imbalanced => false,
            GroupType::MisfitTask => sgs.group_misfit_task_load > busiest.group_misfit_task_load,
            GroupType::SmtBalance if sgs.idle_cpus != 0 || busiest.idle_cpus != 0 => {
                has_less_spare(sgs, busiest)
            }
            GroupType::SmtBalance | GroupType::FullyBusy => {
                sgs.avg_load > busiest.avg_load
                    || (sgs.avg_load == busiest.avg_load && !is_smt(sds.busiest))
            }
            GroupType::HasSpare => {
                if sds.busiest.is_some() && is_smt(sds.busiest) != is_smt(sg) {
                    return !(is_smt(sg) && sgs.sum_h_nr_queued <= 1);
                }
                has_less_spare(sgs, busiest)
            }
        }
    }

    /// 6.1: the level below says so, for all groups.
    pub(super) fn child_prefers_sibling(&self, sd: SdId, _sds: &SdLbStats) -> bool {
        let child = self.domains.sd[sd].child;
        child.is_some() && self.domains.sd[child].flags & SD_PREFER_SIBLING != 0
    }

    /// 6.12: the domain that the busiest group is made of says so.
    pub(super) fn busiest_prefers_sibling(&self, _sd: SdId, sds: &SdLbStats) -> bool {
        sds.busiest.is_some() && self.domains.sg[sds.busiest].flags & SD_PREFER_SIBLING != 0
    }

    /// The group to pull from, and in `env` how much of what; none if the domain is balanced well
    /// enough.
    pub(super) fn sched_balance_find_src_group(&mut self, env: &mut LbEnv) -> Option<SgId> {
        let mut sds = self.update_sd_lb_stats(env);
        if sds.busiest.is_none() || !self.is_worth_balancing(env, &mut sds) {
            env.imbalance = 0;
            return None;
        }
        self.calculate_imbalance(env, &mut sds);
        self.report_imbalance(env, sds.busiest);
        (env.imbalance != 0).then_some(sds.busiest)
    }

    fn is_worth_balancing(&self, env: &LbEnv, sds: &mut SdLbStats) -> bool {
        if matches!(
            sds.busiest_stat.group_type,
            GroupType::MisfitTask | GroupType::Imbalanced
        ) {
            return true;
        }
        if sds.local_stat.group_type > sds.busiest_stat.group_type {
            return false;
        }
        if sds.local_stat.group_type == GroupType::Overloaded {
            sds.avg_load = sds.load_per_capacity();
            let (local, busiest) = (sds.local_stat.avg_load, sds.busiest_stat.avg_load);
            let imbalance_pct = u64::from(self.domains.sd[env.sd].imbalance_pct);
            if local >= busiest || local >= sds.avg_load || 100 * busiest <= imbalance_pct * local {
                return false;
            }
        }
        let (local, busiest) = (&sds.local_stat, &sds.busiest_stat);
        if sds.prefer_sibling
            && local.group_type == GroupType::HasSpare
            && (self.balance_rules.sibling_imbalance)(self, env, sds) > 1
        {
            return true;
        }
        if busiest.group_type == GroupType::Overloaded {
            return true;
        }
        // A busy CPU takes nothing from a group that can serve its tasks.
        if !env.is_idle() {
            return false;
        }
        if busiest.group_type == GroupType::SmtBalance && self.differ_in_smt(sds.local, sds.busiest)
        {
            return true;
        }
        if busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1) {
            return false;
        }
        busiest.sum_h_nr_queued != 1
    }

    fn differ_in_smt(&self, one: SgId, other: SgId) -> bool {
        let flags = self.domains.sg[one].flags ^ self.domains.sg[other].flags;
        flags & SD_SHARE_CPUCAPACITY != 0
    }
}
