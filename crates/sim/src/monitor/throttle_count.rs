//! What is throttled is known as such at every level.
//!
//! Model. A queue is on its group's list of waiters exactly while it is throttled; its entity is then off the parent's
//!        queue; `throttle_count` is the number of throttled queues among itself and its ancestors on the same CPU.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CfsRqId, Sched};

/// See the module.
pub struct ThrottleCount;

fn fault(sched: &Sched, cfs_rq: CfsRqId) -> Option<String> {
    let cfs = &sched.cfs_rqs[cfs_rq];
    let listed = sched.groups[cfs.tg]
        .bandwidth
        .throttled_cfs_rq
        .iter()
        .filter(|&&q| q == cfs_rq)
        .count();
    if listed != usize::from(cfs.throttled) {
        return Some(format!(
            "throttled: {}, but {listed} times among its group's waiters",
            cfs.throttled
        ));
    }
    if cfs.throttled && cfs.se.is_some() && sched.ses[cfs.se].on_rq {
        return Some("throttled, but its entity is queued".to_string());
    }
    let mut count = 0;
    let mut group = cfs.tg;
    while group.is_some() {
        let above = sched.groups[group].cfs_rq[cfs.cpu.idx()];
        count += u32::from(sched.cfs_rqs[above].throttled);
        group = sched.queue_parent(group);
    }
    (count != cfs.throttle_count).then(|| {
        format!(
            "throttle_count is {}, but {count} queues up to the root are throttled",
            cfs.throttle_count
        )
    })
}

impl Monitor for ThrottleCount {
    fn name(&self) -> &'static str {
        "throttle_count"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        for cfs_rq in simulation.sched.cfs_rqs.ids() {
            if let Some(what) = fault(&simulation.sched, cfs_rq) {
                return broken(self.name(), simulation, format!("{cfs_rq:?}: {what}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, group, mixed, running};
    use super::*;
    use fairwind_sched::Release;

    #[test]
    fn a_wrong_count_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let queue = simulation.sched.groups[group(&simulation, "/a")].cfs_rq[0];
        let tamper = |s: &mut Simulation| s.sched.cfs_rqs[queue].throttle_count += 1;
        fires(
            ThrottleCount,
            &mut simulation,
            tamper,
            "throttle_count is 1, but 0",
        );
    }

    #[test]
    fn a_throttled_group_that_stays_queued_is_seen() {
        // 5 ms of 50: throttled at 20 ms.
        let json = r#"{ "cgroups": { "/a": { "cpu.max": "5000 50000" } },
            "tasks": { "hog": { "taskgroup": "/a", "loop": -1, "run": 1000 } } }"#;
        for release in Release::ALL {
            let mut simulation = running(release, "1x1x1", json, 20_000_000);
            let queue = simulation.sched.groups[group(&simulation, "/a")].cfs_rq[0];
            assert!(simulation.sched.cfs_rqs[queue].throttled);
            let se = simulation.sched.cfs_rqs[queue].se;
            let tamper = |s: &mut Simulation| s.sched.ses[se].on_rq = true;
            fires(
                ThrottleCount,
                &mut simulation,
                tamper,
                "its entity is queued",
            );
            simulation.sched.cfs_rqs[queue].throttled = false;
            assert!(
                ThrottleCount
                    .check(&simulation)
                    .unwrap_err()
                    .what
                    .contains("1 times among")
            );
        }
    }
}
