//! How much to move between two groups, and in what unit.
//!
//! Model.  If both groups are overloaded, load moves until one of them meets the domain's average:
//!         `min((busiest - avg) · capacity, (avg - local) · capacity) / 1024`. A group with room
//!         takes utilisation across caches, or, within one, half the difference in tasks (groups
//!         that prefer to spread) or in idle CPUs. NUMA domains let a few tasks sit together.
//! Units.  Signed 64 bits as the kernel's `long`; differences of its `unsigned` wrap around as
//!         there.
//! Source. kernel/sched/fair.c: `calculate_imbalance`, `sibling_imbalance`, `adjust_numa_imbalance`
//!         @ 6.1, 6.12.

use super::env::{LbEnv, MigrationType};
use super::group_stats::{GroupType, SdLbStats};
use crate::domain::flags::{SD_ASYM_CPUCAPACITY, SD_NUMA, SD_SHARE_LLC};
use crate::sched::Sched;
use crate::topology::SCHED_CAPACITY_SCALE;

/// A pair of tasks that talk to each other is left together.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// What of an imbalance remains where `dst_running` tasks, and not more than `imb_numa_nr`, may
/// share a node.
pub(super) fn adjust_numa_imbalance(imbalance: i32, dst_running: i32, imb_numa_nr: i32) -> i64 {
    if dst_running <= imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN {
        return 0;
    }
    imbalance.into()
}

/// `2·x / total + 1`, rounded down, where `x = busy · cores_local - local · cores_busy` and `total`
/// is all cores: twice what would have to move for as many tasks on each core. Half of it is taken
/// later.
fn imbalance_by_cores(busy: u32, cores_busy: u32, local: u32, cores_local: u32) -> i64 {
    if cores_busy == cores_local {
        return busy.saturating_sub(local).into();
    }
    let total = i64::from(cores_local + cores_busy);
    let mut imbalance = i64::from(cores_local.wrapping_mul(busy));
    imbalance -= imbalance.min(cores_busy.wrapping_mul(local).into());
    imbalance = (2 * imbalance + total) / total;
    // An idle core takes one of two tasks even from a core that could run both.
    if imbalance <= 1 && local == 0 && busy > 1 {
        imbalance = 2;
    }
    imbalance
}

impl Sched {
    /// 6.1: the difference in tasks.
    pub(super) fn task_imbalance(&self, _env: &LbEnv, sds: &SdLbStats) -> i64 {
        let (busiest, local) = (&sds.busiest_stat, &sds.local_stat);
        busiest
            .sum_nr_running
            .saturating_sub(local.sum_nr_running)
            .into()
    }

    /// 6.12: the difference in tasks, in proportion to the groups' cores.
    pub(super) fn sibling_imbalance_by_cores(&self, env: &LbEnv, sds: &SdLbStats) -> i64 {
        let (busiest, local) = (&sds.busiest_stat, &sds.local_stat);
        if !env.is_idle() || busiest.sum_nr_running == 0 {
            return 0;
        }
        imbalance_by_cores(
            busiest.sum_nr_running,
            self.domains.sg[sds.busiest].cores,
            local.sum_nr_running,
            self.domains.sg[sds.local].cores,
        )
    }

    /// Sets `env.imbalance` and `env.migration_type` for the busiest group.
    pub(super) fn calculate_imbalance(&self, env: &mut LbEnv, sds: &mut SdLbStats) {
        match sds.busiest_stat.group_type {
            GroupType::MisfitTask => {
                let asym = self.domains.sd[env.sd].flags & SD_ASYM_CPUCAPACITY != 0;
                (env.migration_type, env.imbalance) = if asym {
                    (MigrationType::Misfit, 1)
                } else {
                    let load = sds.busiest_stat.group_misfit_task_load;
                    (MigrationType::Load, load as i64)
                };
            }
            GroupType::SmtBalance | GroupType::Imbalanced => {
                (env.migration_type, env.imbalance) = (MigrationType::Task, 1);
            }
            _ if sds.local_stat.group_type == GroupType::HasSpare => self.fill_spare(env, sds),
            _ => self.even_out_load(env, sds),
        }
    }

    fn fill_spare(&self, env: &mut LbEnv, sds: &SdLbStats) {
        let sd = &self.domains.sd[env.sd];
        let (busiest, local) = (&sds.busiest_stat, &sds.local_stat);
        if busiest.group_type > GroupType::FullyBusy && sd.flags & SD_SHARE_LLC == 0 {
            env.migration_type = MigrationType::Util;
            env.imbalance = local.group_capacity.saturating_sub(local.group_util) as i64;
            // The tasks here may use all there is and still leave a CPU idle.
            if env.is_idle() && env.imbalance == 0 {
                (env.migration_type, env.imbalance) = (MigrationType::Task, 1);
            }
            return;
        }
        env.migration_type = MigrationType::Task;
        env.imbalance = if busiest.group_weight == 1 || sds.prefer_sibling {
            (self.balance_rules.sibling_imbalance)(self, env, sds)
        } else {
            // Fewer idle CPUs here than there wrap around, to a very large number of tasks.
            local.idle_cpus.wrapping_sub(busiest.idle_cpus).into()
        };
        if sd.flags & SD_NUMA != 0 {
            env.imbalance = adjust_numa_imbalance(
                env.imbalance as i32,
                local.sum_nr_running.wrapping_add(1) as i32,
                sd.imb_numa_nr as i32,
            );
        }
        // Half of the difference makes both equal.
        env.imbalance >>= 1;
    }

    fn even_out_load(&self, env: &mut LbEnv, sds: &mut SdLbStats) {
        if sds.local_stat.group_type < GroupType::Overloaded {
            sds.local_stat.avg_load = sds.local_stat.load_per_capacity();
            if sds.local_stat.avg_load >= sds.busiest_stat.avg_load {
                env.imbalance = 0;
                return;
            }
            sds.avg_load = sds.load_per_capacity();
            if sds.local_stat.avg_load >= sds.avg_load {
                env.imbalance = 0;
                return;
            }
        }
        let (busiest, local) = (&sds.busiest_stat, &sds.local_stat);
        let surplus = busiest.avg_load.wrapping_sub(sds.avg_load);
        let shortage = sds.avg_load.wrapping_sub(local.avg_load);
        let imbalance = surplus
            .wrapping_mul(busiest.group_capacity)
            .min(shortage.wrapping_mul(local.group_capacity))
            / u64::from(SCHED_CAPACITY_SCALE);
        (env.migration_type, env.imbalance) = (MigrationType::Load, imbalance as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_may_stay_on_one_node_while_few_run() {
        assert_eq!(adjust_numa_imbalance(2, 1, 1), 0);
        assert_eq!(adjust_numa_imbalance(3, 1, 1), 3, "three are no pair");
        assert_eq!(adjust_numa_imbalance(2, 2, 1), 2, "too many run for that");
    }

    #[test]
    fn tasks_are_spread_by_cores() {
        assert_eq!(imbalance_by_cores(5, 4, 2, 4), 3);
        assert_eq!(imbalance_by_cores(2, 4, 5, 4), 0);
        // 8 tasks on 4 cores, none on 2: 2 · 8 = 16; (32 + 6) / 6 = 6. Half of it moves.
        assert_eq!(imbalance_by_cores(8, 4, 0, 2), 6);
        // 2 tasks on 1 core, none on 3: 3 · 2 = 6; (12 + 4) / 4 = 4.
        assert_eq!(imbalance_by_cores(2, 1, 0, 3), 4);
        // 2 tasks on 5 cores, none on 1: 1 · 2 = 2; (4 + 6) / 6 = 1, lifted to 2 for the idle core.
        assert_eq!(imbalance_by_cores(2, 5, 0, 1), 2);
    }
}
