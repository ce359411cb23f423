//! CFS: nobody is further left of `min_vruntime` than the credit of a sleeper.
//!
//! Model. A waking sleeper is placed at most `latency_ns` (SCHED_IDLE: `min_granularity_ns`; both halved by
//!        GENTLE_FAIR_SLEEPERS) left of `min_vruntime`. While it is the leftmost, `min_vruntime` stands still, so its
//!        distance can only shrink; entities that change queues keep theirs.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{Feature, Release, Sched};

/// See the module.
pub struct SleeperCredit;

/// The most anybody may be left of `min_vruntime`.
fn credit(sched: &Sched) -> u64 {
    let tunables = &sched.profile.tunables;
    let whole = tunables.latency_ns.max(tunables.min_granularity_ns);
    whole >> u32::from(sched.profile.features.has(Feature::GENTLE_FAIR_SLEEPERS))
}

impl Monitor for SleeperCredit {
    fn name(&self) -> &'static str {
        "sleeper_credit"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        if sched.profile.release != Release::V6_1 {
            return Ok(());
        }
        let credit = credit(sched) as i64;
        for se in sched.ses.ids() {
            let entity = &sched.ses[se];
            if !entity.on_rq {
                continue;
            }
            let min_vruntime = sched.cfs_rqs[entity.cfs_rq].zero_vruntime;
            let left = min_vruntime.wrapping_sub(entity.vruntime) as i64;
            if left > credit {
                let what = format!("{se:?} is {left} ns left of min_vruntime, more than {credit}");
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed, task};
    use super::*;

    #[test]
    fn too_much_credit_is_seen() {
        let mut simulation = mixed(Release::V6_1);
        let (_, se) = task(&simulation, "hog", 0);
        // One CPU: latency 6 ms, halved.
        let tamper = |s: &mut Simulation| {
            let cfs_rq = s.sched.ses[se].cfs_rq;
            s.sched.ses[se].vruntime = s.sched.cfs_rqs[cfs_rq]
                .zero_vruntime
                .wrapping_sub(3_000_001);
        };
        fires(SleeperCredit, &mut simulation, tamper, "3000001 ns left");
    }
}
