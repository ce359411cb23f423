//! What CPUs have left for fair tasks, and whether a task fits there.
//!
//! Model.  `cpu_capacity = (orig - rt) · (orig - irq) / orig`, at least 1: what real-time tasks and
//!         interrupts leave. A task fits if it needs less than 80 % of it.
//! Source. kernel/sched/fair.c: `scale_rt_capacity`, `update_cpu_capacity`,
//!         `update_group_capacity`, `check_cpu_capacity`, `util_fits_cpu`, `task_fits_cpu` @ 6.1,
//!         6.12.

use super::cpu_sums::CpuSumsTable;
use crate::domain::{CpuCapacity, SdId};
use crate::rq::Rq;
use crate::sched::Sched;
use crate::table::Table;
use crate::topology::SCHED_CAPACITY_SCALE;
use crate::units::{CpuId, TaskId};

const FULL: u64 = SCHED_CAPACITY_SCALE as u64;

/// Greater by more than 5 %.
pub(super) fn capacity_greater(one: u64, other: u64) -> bool {
    one * 1024 > other * 1078
}

/// Below 80 % of it.
fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

fn scale_rt_capacity(rq: &Rq) -> u64 {
    let max = rq.cpu_capacity_orig;
    let irq = rq.avg_irq.util_avg;
    let used = rq.avg_rt.util_avg;
    if irq >= max || used >= max {
        return 1;
    }
    (max - used) * (max - irq) / max
}

/// The run queues, as the domains see them, and what balancing knows of them.
struct RqCapacity<'a> {
    rqs: &'a mut Table<CpuId, Rq>,
    sums: &'a mut CpuSumsTable,
}

impl CpuCapacity for RqCapacity<'_> {
    fn update_cpu_capacity(&mut self, cpu: CpuId) -> u64 {
        let rq = &mut self.rqs[cpu];
        let capacity = scale_rt_capacity(rq).max(1);
        if rq.cpu_capacity != capacity {
            rq.cpu_capacity = capacity;
            self.sums.mark(cpu);
        }
        rq.cpu_capacity
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu].cpu_capacity
    }
}

impl Sched {
    /// What the CPU had left for fair tasks when this was last computed.
    #[inline]
    pub(crate) fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu].cpu_capacity
    }

    /// Computes anew what the group of a domain's own CPU has left.
    pub(crate) fn update_group_capacity(&mut self, sd: SdId, cpu: CpuId) {
        let clock = self.balance_clock();
        let mut rqs = RqCapacity {
            rqs: &mut self.rqs,
            sums: &mut self.cpu_sums,
        };
        self.domains
            .update_group_capacity(sd, cpu, &clock, &mut rqs);
    }

    /// Is the CPU's capacity notably reduced by real-time tasks or interrupts?
    pub(crate) fn check_cpu_capacity(&self, cpu: CpuId, sd: SdId) -> bool {
        let rq = &self.rqs[cpu];
        rq.cpu_capacity * u64::from(self.domains.sd[sd].imbalance_pct) < rq.cpu_capacity_orig * 100
    }

    /// Does a utilisation fit the CPU? 1: yes; 0: no; -1: yes, but for the lower clamp.
    pub(crate) fn util_fits_cpu(
        &self,
        util: u64,
        uclamp_min: u64,
        uclamp_max: u64,
        cpu: CpuId,
    ) -> i32 {
        let fits = fits_capacity(util, self.capacity_of(cpu));
        if !self.profile.uclamp {
            return i32::from(fits);
        }
        let capacity_orig = self.rqs[cpu].cpu_capacity_orig;
        let unclamped = capacity_orig == FULL && uclamp_max == FULL;
        let fits = fits || (!unclamped && uclamp_max <= capacity_orig);
        let uclamp_min = uclamp_min.min(uclamp_max);
        if fits && util < uclamp_min && uclamp_min > capacity_orig {
            return -1;
        }
        i32::from(fits)
    }

    /// Does the task fit the CPU, clamps included?
    pub(crate) fn task_fits_cpu(&self, task: TaskId, cpu: CpuId) -> bool {
        let (min, max) = self.uclamp_eff(task);
        self.util_fits_cpu(self.task_util_est(task), min, max, cpu) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{KernelProfile, Release};
    use crate::topology::Topology;

    #[test]
    fn what_rt_and_irq_leave_multiplies() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let rq = &mut sched.rqs[CpuId(0)];
        rq.avg_rt.util_avg = 256;
        rq.avg_irq.util_avg = 512;
        // Three quarters of one half.
        assert_eq!(scale_rt_capacity(rq), 384);
        rq.avg_irq.util_avg = 1024;
        assert_eq!(scale_rt_capacity(rq), 1, "never nothing");
    }

    #[test]
    fn a_task_fits_below_four_fifths() {
        assert!(fits_capacity(819, 1024));
        assert!(!fits_capacity(820, 1024));
        assert!(!capacity_greater(1078, 1024));
        assert!(capacity_greater(1079, 1024));
    }

    #[test]
    fn clamps_make_a_task_fit_or_almost_fit() {
        let mut profile = KernelProfile::new(Release::V6_12, 1);
        profile.uclamp = true;
        let mut topology = Topology::regular(1, 1, 1);
        topology.cpus[0].capacity = 512;
        let mut sched = Sched::new(profile, topology);
        let cpu = CpuId(0);
        sched.rqs[cpu].cpu_capacity = 512;
        assert_eq!(sched.util_fits_cpu(500, 0, 1024, cpu), 0);
        assert_eq!(
            sched.util_fits_cpu(500, 0, 512, cpu),
            1,
            "capped to what the CPU has"
        );
        assert_eq!(
            sched.util_fits_cpu(100, 600, 1024, cpu),
            -1,
            "asks for more than the CPU has"
        );
    }
}
