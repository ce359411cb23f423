//! A group's load is the sum of what its queues have contributed.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::GroupId;

/// See the module.
pub struct GroupLoad;

impl Monitor for GroupLoad {
    fn name(&self) -> &'static str {
        "group_load"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        for group in sched.groups.ids().filter(|&group| group != GroupId::ROOT) {
            let contrib =
                |&q: &fairwind_sched::CfsRqId| sched.cfs_rqs[q].tg_load_avg_contrib as i64;
            let sum: i64 = sched.groups[group].cfs_rq.iter().map(contrib).sum();
            let load_avg = sched.groups[group].load_avg;
            if load_avg != sum {
                let path = &simulation.group_paths[group.idx()];
                let what = format!("{path}: load_avg is {load_avg}, its queues contributed {sum}");
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, group, mixed};
    use super::*;
    use fairwind_sched::Release;

    #[test]
    fn a_contribution_nobody_made_is_seen() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            let a = group(&simulation, "/a");
            let tamper = |s: &mut Simulation| s.sched.groups[a].load_avg += 1;
            fires(GroupLoad, &mut simulation, tamper, "/a: load_avg is");
        }
    }
}
