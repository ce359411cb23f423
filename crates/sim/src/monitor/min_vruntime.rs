//! CFS: a queue's `min_vruntime` never goes back.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::Release;

/// See the module.
#[derive(Default)]
pub struct MinVruntime {
    /// `[nr_cfs_rqs]`: the values at the last look.
    before: Vec<u64>,
}

impl Monitor for MinVruntime {
    fn name(&self) -> &'static str {
        "min_vruntime"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        if sched.profile.release != Release::V6_1 {
            return Ok(());
        }
        for cfs_rq in sched.cfs_rqs.ids() {
            let now = sched.cfs_rqs[cfs_rq].zero_vruntime;
            match self.before.get_mut(cfs_rq.idx()) {
                None => self.before.push(now),
                Some(before) if (now.wrapping_sub(*before) as i64) < 0 => {
                    let what = format!("{cfs_rq:?} went from {before} back to {now}");
                    return broken(self.name(), simulation, what);
                }
                Some(before) => *before = now,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed};
    use super::*;
    use fairwind_sched::CfsRqId;

    #[test]
    fn a_step_back_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        let tamper = |s: &mut Simulation| s.sched.cfs_rqs[CfsRqId(0)].zero_vruntime -= 1;
        fires(MinVruntime::default(), &mut simulation, tamper, "back to");
    }
}
