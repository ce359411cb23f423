//! EEVDF: the lags of a queue's entities sum to zero.
//!
//! Model. With `V = Σ w·v / Σ w`, Σ w·(V − v) = 0. The kernel rounds V down, so that
//!
//! ```text
//!   −Σ w < Σ w·(V − v) ≤ 0        V = v0 + ⌊Σ w·(v − v0) / Σ w⌋
//! ```
//!
//! The sums it is computed from, `avg_vruntime` and `avg_load`, are those over the timeline, the running entity
//! left out.
//! Exact. The check computes in 128 bits; the kernel in 64, which must not overflow.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CfsRqId, Release, Sched};

/// See the module.
pub struct LagSum;

fn fault(sched: &Sched, cfs_rq: CfsRqId) -> Option<String> {
    let cfs = &sched.cfs_rqs[cfs_rq];
    let key = |vruntime: u64| i128::from(vruntime.wrapping_sub(cfs.zero_vruntime) as i64);
    let (mut runtime, mut load) = (0i128, 0i128);
    for entry in cfs.timeline.iter() {
        let weight = i128::from(sched.ses[entry.se].weight());
        runtime += key(entry.vruntime) * weight;
        load += weight;
    }
    if (runtime, load) != (i128::from(cfs.avg_vruntime), i128::from(cfs.avg_load)) {
        return Some(format!(
            "avg_vruntime {} and avg_load {} should be {runtime} and {load}",
            cfs.avg_vruntime, cfs.avg_load
        ));
    }
    let curr = cfs.curr.get().filter(|&curr| sched.ses[curr].on_rq);
    if let Some(curr) = curr {
        let weight = i128::from(sched.ses[curr].weight());
        runtime += key(sched.ses[curr].vruntime) * weight;
        load += weight;
    }
    if load == 0 {
        return None;
    }
    // The kernel's arithmetic: 64-bit sums divided by a 32-bit weight.
    let Ok(sum) = i64::try_from(runtime) else {
        return Some(format!("Σ w·(v − v0) = {runtime} exceeds 64 bits"));
    };
    let Ok(weight) = i32::try_from(load) else {
        return Some(format!("Σ w = {load} exceeds 32 bits"));
    };
    let rounded = if sum < 0 {
        sum - (i64::from(weight) - 1)
    } else {
        sum
    };
    let average = i128::from(rounded / i64::from(weight));
    let lag = average * load - runtime;
    (lag > 0 || lag <= -load).then(|| format!("Σ w·lag is {lag} with Σ w = {load}"))
}

impl Monitor for LagSum {
    fn name(&self) -> &'static str {
        "lag_sum"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        if simulation.sched.profile.release == Release::V6_1 {
            return Ok(());
        }
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
    use super::super::testbed::{fires, mixed, task};
    use super::*;

    #[test]
    fn a_sum_that_is_off_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let tamper = |s: &mut Simulation| s.sched.cfs_rqs[CfsRqId(0)].avg_vruntime += 1;
        fires(LagSum, &mut simulation, tamper, "avg_vruntime");
    }

    #[test]
    fn a_weight_changed_in_line_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let tamper = |s: &mut Simulation| {
            let first = s.sched.cfs_rqs[CfsRqId(0)].timeline.first().unwrap().se;
            s.sched.ses[first].load.add(1 << 10);
        };
        fires(LagSum, &mut simulation, tamper, "avg_load");
    }

    #[test]
    fn an_overflow_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let curr = simulation.sched.rqs[fairwind_sched::CpuId(0)].curr;
        let se = simulation.sched.tasks[curr].se;
        let root = simulation.sched.ses[se].parent.get().unwrap_or(se);
        let root = simulation.sched.ses[root].parent.get().unwrap_or(root);
        let tamper = |s: &mut Simulation| {
            s.sched.ses[root].vruntime = s.sched.ses[root].vruntime.wrapping_add(1 << 62)
        };
        fires(LagSum, &mut simulation, tamper, "exceeds 64 bits");
    }

    #[test]
    fn the_other_release_has_no_lag() {
        let mut simulation = mixed(Release::V6_1);
        let (_, se) = task(&simulation, "hog", 0);
        simulation.sched.ses[se].load.add(1 << 10);
        assert_eq!(LagSum.check(&simulation), Ok(()));
    }
}
