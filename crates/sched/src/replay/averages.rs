//! Load averages that another kernel's probes showed.
//!
//! Model.      An average is its sum by a divider when a period last ended, and sums go on in between. Of an average that ours
//!             does not have the sum is moved by as much as that is in a sum, unless the sum is shown, too.
//! Units.      As the kernel's fields.
//! Source.     kernel/sched/pelt.c `___update_load_avg` @ 6.1, 6.12.

use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

/// Moves an average to what was told, and its sum along. Both are rounded down, so that where they differ by one the sums
/// differ by half of that as likely as not.
fn take_over(average: &mut u64, told: u64, sum: u64, divider: u64) -> u64 {
    let by = told.wrapping_sub(*average).cast_signed();
    *average = told;
    let halves = 2 * by.saturating_sub(by.signum()) + by.signum();
    sum.saturating_add_signed(halves.saturating_mul(divider.cast_signed()) / 2)
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
        if let Some(told) = get(ProbeField::SeRunnableAvg) {
            avg.runnable_sum = take_over(&mut avg.runnable_avg, told, avg.runnable_sum, divider);
        }
        if let Some(told) = get(ProbeField::SeUtilAvg) {
            let sum = take_over(&mut avg.util_avg, told, avg.util_sum.into(), divider);
            avg.util_sum = u32::try_from(sum).unwrap_or(u32::MAX);
        }
        if let Some(sum) = get(ProbeField::SeRunnableSum) {
            avg.runnable_sum = sum;
        }
        if let Some(sum) = get(ProbeField::SeUtilSum) {
            avg.util_sum = sum as u32;
        }
        let avg = &mut self.cfs_rqs[cfs_rq].avg;
        let divider = u64::from(avg.divider());
        if let Some(told) = get(ProbeField::CfsLoadAvg) {
            avg.load_sum = take_over(&mut avg.load_avg, told, avg.load_sum, divider);
        }
        if let Some(sum) = get(ProbeField::CfsLoadSum) {
            avg.load_sum = sum;
        }
        if let Some(told) = get(ProbeField::CfsRunnableAvg) {
            avg.runnable_sum = take_over(&mut avg.runnable_avg, told, avg.runnable_sum, divider);
        }
        if let Some(told) = get(ProbeField::CfsUtilAvg) {
            let sum = take_over(&mut avg.util_avg, told, avg.util_sum.into(), divider);
            avg.util_sum = u32::try_from(sum).unwrap_or(u32::MAX);
        }
        if let Some(sum) = get(ProbeField::CfsRunnableSum) {
            avg.runnable_sum = sum;
        }
        if let Some(sum) = get(ProbeField::CfsUtilSum) {
            avg.util_sum = sum as u32;
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        if let Some(load) = get(ProbeField::TgLoadAvg) {
            self.groups[cfs.tg].load_avg = load.cast_signed();
        }
        if let Some(contribution) = get(ProbeField::TgLoadAvgContrib) {
            cfs.tg_load_avg_contrib = contribution;
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
    fn what_was_added_since_the_average_was_taken_stays() {
        // The average is that of 350, and 70 were added since.
        for (told, sum) in [(3, 420), (4, 470), (1, 270), (0, 170)] {
            let mut average = 3;
            assert_eq!(take_over(&mut average, told, 420, 100), sum);
            assert_eq!(average, told);
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
