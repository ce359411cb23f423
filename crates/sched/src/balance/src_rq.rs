//! The busiest queue of a group.
//!
//! Source. kernel/sched/fair.c: `sched_balance_find_src_rq` (6.1: `find_busiest_queue`) @ 6.1,
//!         6.12.

use super::capacity::capacity_greater;
use super::env::{LbEnv, MigrationType};
use crate::domain::SgId;
use crate::domain::flags::SD_ASYM_CPUCAPACITY;
use crate::sched::Sched;
use crate::units::CpuId;

impl Sched {
    /// The CPU to take tasks from: the most loaded for its capacity, the most used, or the one with
    /// most tasks, whatever is to be moved. Of equals, the lowest.
    pub(super) fn sched_balance_find_src_rq(&self, env: &LbEnv, group: SgId) -> Option<CpuId> {
        let asym = self.domains.sd[env.sd].flags & SD_ASYM_CPUCAPACITY != 0;
        let dst_capacity = self.capacity_of(env.dst_cpu);
        let mut busiest = None;
        let mut busiest_capacity = 1;
        let mut most = 0;
        for cpu in self.domains.sched_group_cpus(group, &env.cpus) {
            let nr_queued = self.nr_to_balance(cpu);
            if nr_queued == 0 {
                continue;
            }
            let capacity = self.capacity_of(cpu);
            // A single task is not moved to a CPU that is not bigger.
            if asym && nr_queued == 1 && !capacity_greater(dst_capacity, capacity) {
                continue;
            }
            match env.migration_type {
                MigrationType::Load => {
                    let load = self.cpu_load(cpu);
                    // Nor if it is the whole load and more than is to be moved, unless its CPU has
                    // lost capacity.
                    if nr_queued == 1
                        && load > env.imbalance as u64
                        && !self.check_cpu_capacity(cpu, env.sd)
                    {
                        continue;
                    }
                    if load * busiest_capacity > most * capacity {
                        (most, busiest_capacity, busiest) = (load, capacity, Some(cpu));
                    }
                }
                MigrationType::Util => {
                    let boost = self.balance_rules.src_rq_util_boost;
                    let util = self.cpu_util(cpu, None, None, boost);
                    if nr_queued > 1 && most < util {
                        (most, busiest) = (util, Some(cpu));
                    }
                }
                MigrationType::Task => {
                    if most < u64::from(nr_queued) {
                        (most, busiest) = (nr_queued.into(), Some(cpu));
                    }
                }
                MigrationType::Misfit => {
                    let load = self.rqs[cpu].misfit_task_load;
                    if load > most {
                        (most, busiest) = (load, Some(cpu));
                    }
                }
            }
        }
        busiest
    }
}
