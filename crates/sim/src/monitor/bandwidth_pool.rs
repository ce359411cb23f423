//! Runtime comes into being only by refills.
//!
//! Model. A limited group's runtime is its pool plus what its CPUs hold. Moving it between pool and CPUs keeps the sum;
//!        running lowers it; a refill adds at most a quota. Setting a limit empties what the CPUs hold and refills the pool;
//!        CPUs that go offline or come back drop out of the sum or join it: then the sum is taken anew.
//!
//! ```text
//!   pool + Σ max(0, held) ≤ quota + burst + nr_cpus · slice
//! ```
//!
//! for a refill caps the pool at quota + burst, and a CPU holds at most a slice then.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{GroupId, Sched};

/// A group's runtime at one time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Books {
    quota: u64,
    burst: u64,
    period: u64,
    nr_limited_cpus: usize,
    nr_periods: u64,
    /// Pool and what CPUs hold, debts included.
    sum: i128,
    /// Without debts.
    available: i128,
    /// Every CPU holds exactly nothing.
    nothing_held: bool,
}

impl Books {
    fn of(sched: &Sched, group: GroupId) -> Books {
        let b = &sched.groups[group].bandwidth;
        let held: Vec<i64> = sched.groups[group]
            .cfs_rq
            .iter()
            .map(|&q| &sched.cfs_rqs[q])
            .filter(|cfs| cfs.runtime_enabled)
            .map(|cfs| cfs.runtime_remaining)
            .collect();
        Books {
            quota: b.quota,
            burst: b.burst,
            period: b.period,
            nr_limited_cpus: held.len(),
            nr_periods: b.nr_periods,
            sum: i128::from(b.runtime) + held.iter().copied().map(i128::from).sum::<i128>(),
            available: i128::from(b.runtime)
                + held.iter().map(|&h| i128::from(h.max(0))).sum::<i128>(),
            nothing_held: held.iter().all(|&h| h == 0),
        }
    }

    fn same_limit(&self, other: &Books) -> bool {
        (self.quota, self.burst, self.period, self.nr_limited_cpus)
            == (
                other.quota,
                other.burst,
                other.period,
                other.nr_limited_cpus,
            )
    }
}

/// See the module.
#[derive(Default)]
pub struct BandwidthPool {
    /// `[nr_groups]`
    before: Vec<Books>,
}

impl Monitor for BandwidthPool {
    fn name(&self) -> &'static str {
        "bandwidth_pool"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        let slice = i128::from(sched.profile.tunables.sched_cfs_bandwidth_slice_us) * 1000;
        for group in sched.groups.ids() {
            if self.before.len() == group.idx() {
                self.before.push(Books::default());
            }
            if sched.groups[group].bandwidth.quota == RUNTIME_INF {
                self.before[group.idx()] = Books::default();
                continue;
            }
            let now = Books::of(sched, group);
            let before = std::mem::replace(&mut self.before[group.idx()], now);
            let path = &simulation.group_paths[group.idx()];
            let most =
                i128::from(now.quota) + i128::from(now.burst) + sched.nr_cpus() as i128 * slice;
            if now.available > most {
                let what = format!(
                    "{path}: {} ns of runtime at hand, at most {most} can be",
                    now.available
                );
                return broken(self.name(), simulation, what);
            }
            let refilled = i128::from(now.nr_periods - before.nr_periods.min(now.nr_periods))
                * i128::from(now.quota);
            if now.same_limit(&before) && !now.nothing_held && now.sum > before.sum + refilled {
                let what = format!(
                    "{path}: {} ns of runtime became {}, refills {refilled}",
                    before.sum, now.sum
                );
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
    fn runtime_from_nowhere_is_seen() {
        for release in Release::ALL {
            let mut simulation = mixed(release);
            let b = group(&simulation, "/a/b");
            let queue = simulation.sched.groups[b].cfs_rq[0];
            let tamper = |s: &mut Simulation| s.sched.cfs_rqs[queue].runtime_remaining += 1;
            fires(BandwidthPool::default(), &mut simulation, tamper, "/a/b:");
        }
    }

    #[test]
    fn a_pool_that_overflows_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let b = group(&simulation, "/a/b");
        // 20 ms of quota and a slice of 5 ms for the only CPU.
        let tamper = |s: &mut Simulation| s.sched.groups[b].bandwidth.runtime = 26_000_000;
        fires(
            BandwidthPool::default(),
            &mut simulation,
            tamper,
            "at most 25000000 can be",
        );
    }
}
