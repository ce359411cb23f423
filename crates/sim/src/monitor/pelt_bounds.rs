//! Load averages stay within what they can be.
//!
//! Model. An average is a sum over its divider, so a task's utilisation and runnable average are at most 1024. A queue's sums are at least its averages times the smallest divider, so that no average is
//!        left when the sums are gone. Of the load only that last part holds: an entity's load sum is kept per unit of
//!        weight and loses up to a weight by rounding when the entity joins.
//! Deviations. A group's entity takes its queue's averages over, and a queue's averages add up those of entities that join
//!        it: both may exceed 1024 for a while. A task that comes from another class with a new weight keeps its load
//!        average and gets a load sum to match, so that neither is bounded.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::pelt::{PELT_MIN_DIVIDER, SchedAvg};
use fairwind_sched::{CfsRqId, Sched, SeId};

/// See the module.
pub struct PeltBounds;

fn task_fault(sched: &Sched, se: SeId) -> Option<String> {
    let entity = &sched.ses[se];
    let avg = &entity.avg;
    let within = avg.util_avg <= 1024 && avg.runnable_avg <= 1024;
    (!within).then(|| {
        format!(
            "{se:?}: util_avg {}, runnable_avg {}, load_sum {}",
            avg.util_avg, avg.runnable_avg, avg.load_sum
        )
    })
}

fn queue_fault(sched: &Sched, cfs_rq: CfsRqId) -> Option<String> {
    let avg: &SchedAvg = &sched.cfs_rqs[cfs_rq].avg;
    let least = |of: u64| of.wrapping_mul(u64::from(PELT_MIN_DIVIDER));
    let short = (avg.load_sum == 0 && avg.load_avg != 0)
        || avg.runnable_sum < u64::from(least(avg.runnable_avg) as u32)
        || avg.util_sum < least(avg.util_avg) as u32;
    short.then(|| format!("{cfs_rq:?}: sums too small for their averages: {avg:?}"))
}

impl Monitor for PeltBounds {
    fn name(&self) -> &'static str {
        "pelt_bounds"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        for se in sched.ses.ids().filter(|&se| sched.ses[se].is_task()) {
            if let Some(what) = task_fault(sched, se) {
                return broken(self.name(), simulation, what);
            }
        }
        for cfs_rq in sched.cfs_rqs.ids() {
            if let Some(what) = queue_fault(sched, cfs_rq) {
                return broken(self.name(), simulation, what);
            }
        }
        for cpu in sched.rqs.ids() {
            let rt = sched.rqs[cpu].avg_rt.util_avg;
            if rt > 1024 {
                return broken(
                    self.name(),
                    simulation,
                    format!("cpu {}: RT utilisation {rt}", cpu.0),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed, task};
    use super::*;
    use fairwind_sched::Release;

    #[test]
    fn more_than_all_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let (_, se) = task(&simulation, "hog", 0);
        fires(
            PeltBounds,
            &mut simulation,
            |s| s.sched.ses[se].avg.util_avg = 1025,
            "util_avg 1025",
        );
    }

    #[test]
    fn an_average_without_a_sum_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        let tamper = |s: &mut Simulation| s.sched.cfs_rqs[CfsRqId(0)].avg.util_sum = 0;
        fires(PeltBounds, &mut simulation, tamper, "sums too small");
    }
}
