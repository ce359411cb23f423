//! Load averages that another kernel's probes showed.
//!
//! Model.      An average is its sum by a divider when a period last ended, and sums go on in between. Of an average that ours
//!             does not have the sum is moved by as much as that is in a sum, unless the sum is shown, too.
//! Units.      As the kernel's fields.
//! Source.     kernel/sched/pelt.c `___update_load_avg` @ 6.1, 6.12.

use crate::pelt::SchedAvg;
use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, SeId};

/// Each average and its sum: of load, of what is runnable, of utilisation.
type Fields = [(ProbeField, ProbeField); 3];

const OF_ENTITY: Fields = [
    (ProbeField::SeLoadAvg, ProbeField::SeLoadSum),
    (ProbeField::SeRunnableAvg, ProbeField::SeRunnableSum),
    (ProbeField::SeUtilAvg, ProbeField::SeUtilSum),
];

const OF_QUEUE: Fields = [
    (ProbeField::CfsLoadAvg, ProbeField::CfsLoadSum),
    (ProbeField::CfsRunnableAvg, ProbeField::CfsRunnableSum),
    (ProbeField::CfsUtilAvg, ProbeField::CfsUtilSum),
];

/// Takes over what was told of averages. The sum of an entity's load is without its weight.
fn take_over(avg: &mut SchedAvg, fields: Fields, weight: u64, told: &ProbeValues) {
    let divider = u64::from(avg.divider());
    let mut util_sum = avg.util_sum.into();
    let ours = [
        (&mut avg.load_avg, &mut avg.load_sum, divider / weight),
        (&mut avg.runnable_avg, &mut avg.runnable_sum, divider),
        (&mut avg.util_avg, &mut util_sum, divider),
    ];
    for ((average, sum, divider), (of_average, of_sum)) in ours.into_iter().zip(fields) {
        if let Some(told) = told[of_average as usize] {
            *sum = moved(*average, told, *sum, divider);
            *average = told;
        }
        if let Some(told) = told[of_sum as usize] {
            *sum = told;
        }
    }
    avg.util_sum = u32::try_from(util_sum).unwrap_or(u32::MAX);
}

/// A sum whose average is told to be another one. Averages are rounded down, so that where they differ by one the sums
/// differ by half of that as likely as not.
fn moved(average: u64, told: u64, sum: u64, divider: u64) -> u64 {
    let by = told.wrapping_sub(average).cast_signed();
    let halves = 2 * by.saturating_sub(by.signum()) + by.signum();
    sum.saturating_add_signed(halves.saturating_mul(divider.cast_signed()) / 2)
}

impl Sched {
    /// The load and the utilisation of a CPU's fair tasks, those that were there before among them, are told to be others.
    pub fn follow_use(&mut self, cpu: CpuId, [load, util]: [u64; 2]) {
        let avg = &mut self.cfs_rqs[self.rqs[cpu].cfs].avg;
        let divider = u64::from(avg.divider());
        (avg.load_avg, avg.util_avg) = (load, util);
        avg.load_sum = load.saturating_mul(divider);
        avg.util_sum = util.saturating_mul(divider) as u32;
        self.cpu_sums.mark(cpu);
    }

    /// Takes over what was told of the averages of an entity, its queue and the queue's group.
    pub(crate) fn follow_averages(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let entity = &mut self.ses[se];
        let weight = entity.weight().max(1);
        take_over(&mut entity.avg, OF_ENTITY, weight, told);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        take_over(&mut cfs.avg, OF_QUEUE, 1, told);
        if let Some(load) = told[ProbeField::TgLoadAvg as usize] {
            self.groups[cfs.tg].load_avg = load.cast_signed();
        }
        if let Some(contribution) = told[ProbeField::TgLoadAvgContrib as usize] {
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
            assert_eq!(moved(3, told, 420, 100), sum);
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
