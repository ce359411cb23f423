//! Load averages that another kernel's probes showed.
//!
//! Model.      An average is its sum by a divider, rounded down. Of an average that ours does not have the sum is taken that
//!             is next to ours, unless the sum is shown, too.
//! Units.      As the kernel's fields.
//! Source.     kernel/sched/pelt.c `___update_load_avg` @ 6.1, 6.12.

use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

/// The sum next to `ours` of which this is the average.
fn sum_of(average: u64, ours: u64, divider: u64) -> u64 {
    let least = average.saturating_mul(divider);
    ours.clamp(least, least.saturating_add(divider - 1))
}

impl Sched {
    /// Takes over what was told of the averages of an entity and its queue.
    pub(crate) fn follow_averages(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let get = |field: ProbeField| told[field as usize];
        let avg = &mut self.ses[se].avg;
        let divider = u64::from(avg.divider());
        if let Some(load) = get(ProbeField::SeLoadAvg) {
            avg.load_avg = load;
        }
        if let Some(sum) = get(ProbeField::SeLoadSum) {
            avg.load_sum = sum;
        }
        if let Some(runnable) = get(ProbeField::SeRunnableAvg) {
            avg.runnable_avg = runnable;
            avg.runnable_sum = sum_of(runnable, avg.runnable_sum, divider);
        }
        if let Some(util) = get(ProbeField::SeUtilAvg) {
            avg.util_avg = util;
            avg.util_sum = sum_of(util, avg.util_sum.into(), divider) as u32;
        }
        let avg = &mut self.cfs_rqs[cfs_rq].avg;
        let divider = u64::from(avg.divider());
        if let Some(load) = get(ProbeField::CfsLoadAvg) {
            avg.load_avg = load;
            avg.load_sum = sum_of(load, avg.load_sum, divider);
        }
        if let Some(sum) = get(ProbeField::CfsLoadSum) {
            avg.load_sum = sum;
        }
        if let Some(runnable) = get(ProbeField::CfsRunnableAvg) {
            avg.runnable_avg = runnable;
            avg.runnable_sum = sum_of(runnable, avg.runnable_sum, divider);
        }
        if let Some(util) = get(ProbeField::CfsUtilAvg) {
            avg.util_avg = util;
            avg.util_sum = sum_of(util, avg.util_sum.into(), divider) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::NOTHING_SHOWN;
    use crate::profile::{KernelProfile, Release};
    use crate::topology::Topology;
    use crate::units::CpuId;

    #[test]
    fn the_sum_is_the_one_next_to_ours() {
        for (ours, sum) in [(5, 300), (300, 300), (350, 350), (399, 399), (400, 399)] {
            assert_eq!(sum_of(3, ours, 100), sum);
        }
    }

    #[test]
    fn what_is_told_goes_on_and_what_is_not_stays() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let cpu = CpuId(0);
        let task = sched.spawn(cpu, 0);
        sched.wake_up_new_task(cpu, task, 0);
        let (se, root) = (sched.tasks[task].se, sched.rqs[cpu].cfs);
        let before = sched.ses[se].avg;
        let mut told = NOTHING_SHOWN;
        told[ProbeField::SeLoadAvg as usize] = Some(700);
        told[ProbeField::SeLoadSum as usize] = Some(33_000);
        told[ProbeField::CfsUtilAvg as usize] = Some(400);
        sched.follow_averages(root, se, &told);
        let avg = sched.ses[se].avg;
        assert_eq!((avg.load_avg, avg.load_sum), (700, 33_000));
        assert_eq!(avg.util_avg, before.util_avg);
        let queue = sched.cfs_rqs[root].avg;
        assert_eq!(queue.util_avg, 400);
        assert_eq!(queue.util_sum / queue.divider(), 400);
    }
}
