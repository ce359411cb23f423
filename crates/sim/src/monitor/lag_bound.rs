//! EEVDF: the lag an entity takes along when it leaves its queue is limited.
//!
//! Model. At most max(2 slices, a tick) of CPU time in 6.12, a tick more than the longest slice of its queue in 6.18, either
//!        sign: here the longest so far, since who asked for it may have left or changed it in the meantime. A task's stored `vlag` is that in its virtual time. A
//!        group's entity may be reweighted after it left, which keeps `vlag · weight`; since the limit was computed with the
//!        weight rounded down to 1/1024, and a rounded weight is at least 2, that product is off by up to a half.
//!        6.18 keeps the end of a slice's protection where the lag lies. A CPU that pulls tasks while it goes to sleep may
//!        shorten the protection of the sleeper that it still runs, which does nothing while virtual time is above 0.
//! Not here. What is stored later: attributes changed while off the queue scale or replace the limit.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::entity::NICE_0_LOAD;
use fairwind_sched::{Nanos, Release, Sched, SeId};

/// See the module.
#[derive(Default)]
pub struct LagBound {
    /// `[nr_ses]`: who was on a queue at the last look.
    was_on_rq: Vec<bool>,
    /// The longest slice that anybody has asked for.
    longest: Nanos,
}

fn fault(sched: &Sched, se: SeId, longest: Nanos) -> Option<String> {
    let entity = &sched.ses[se];
    let limit = match sched.profile.release {
        Release::V6_18 => longest + sched.tick_nsec(),
        _ => (2 * entity.slice).max(sched.tick_nsec()),
    };
    if sched.profile.release == Release::V6_18 && (entity.vruntime as i64) < 0 {
        return None;
    }
    if entity.is_task() {
        let limit = entity.load.clone().calc_delta_fair(limit);
        return (entity.vlag.unsigned_abs() > limit)
            .then(|| format!("vlag {} beyond ±{limit}", entity.vlag));
    }
    let lag = i128::from(entity.vlag) * i128::from(entity.load.weight) / i128::from(NICE_0_LOAD);
    let limit = i128::from(limit) * 3 / 2;
    (lag.abs() > limit).then(|| format!("lag of {lag} ns beyond ±{limit}"))
}

impl Monitor for LagBound {
    fn name(&self) -> &'static str {
        "lag_bound"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        if sched.profile.release == Release::V6_1 {
            return Ok(());
        }
        self.was_on_rq.resize(sched.ses.len(), false);
        let longest = sched.ses.iter().map(|se| se.slice).max();
        self.longest = self.longest.max(longest.unwrap_or(0));
        for se in sched.ses.ids() {
            let on_rq = sched.ses[se].on_rq;
            let left = std::mem::replace(&mut self.was_on_rq[se.idx()], on_rq) && !on_rq;
            if left && let Some(what) = fault(sched, se, self.longest) {
                return broken(
                    self.name(),
                    simulation,
                    format!("{se:?} left with a {what}"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, group, mixed, task};
    use super::*;

    #[test]
    fn a_task_that_leaves_with_too_much_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let (_, se) = task(&simulation, "hog", 0);
        let tamper = |s: &mut Simulation| {
            let entity = &mut s.sched.ses[se];
            entity.on_rq = false;
            // Nice 0, one CPU: a slice of 0.7 ms, so the tick of 4 ms is the limit.
            entity.vlag = -4_000_001;
        };
        fires(
            LagBound::default(),
            &mut simulation,
            tamper,
            "vlag -4000001 beyond ±4000000",
        );
    }

    #[test]
    fn a_groups_lag_counts_in_real_time() {
        let mut simulation = mixed(Release::V6_12);
        let a = group(&simulation, "/a");
        let se = simulation.sched.cfs_rqs[simulation.sched.groups[a].cfs_rq[0]].se;
        simulation.sched.ses[se].on_rq = true;
        let tamper = |s: &mut Simulation| {
            let entity = &mut s.sched.ses[se];
            entity.on_rq = false;
            entity.load.weight = NICE_0_LOAD / 4;
            entity.vlag = 4 * 6_000_001;
        };
        fires(
            LagBound::default(),
            &mut simulation,
            tamper,
            "lag of 6000001 ns",
        );
    }
}
