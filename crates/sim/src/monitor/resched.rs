//! A CPU that is asked to reschedule does.
//!
//! Model. `need_resched` is acted on when the running task next enters user space or, with full preemption, at once; that
//!        takes an interrupt to get there and the kernel work under way. Both are bounded: 10 ms are taken as never.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::Nanos;

const NEVER: Nanos = 10_000_000;

/// See the module.
#[derive(Default)]
pub struct Resched {
    /// `[nr_cpus]`: schedule() calls at the last look, and since when `need_resched` has been set.
    seen: Vec<(u64, Option<Nanos>)>,
}

impl Monitor for Resched {
    fn name(&self) -> &'static str {
        "resched"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.seen.resize(sched.nr_cpus(), (0, None));
        for cpu in sched.rqs.ids() {
            let rq = &sched.rqs[cpu];
            let (calls, since) = &mut self.seen[cpu.idx()];
            if !rq.need_resched || *calls != rq.stats.sched_count {
                *calls = rq.stats.sched_count;
                *since = None;
            }
            if rq.need_resched {
                let since = *since.get_or_insert(simulation.now);
                if simulation.now - since > NEVER {
                    let what = format!("cpu {} has been asked to reschedule since {since}", cpu.0);
                    return broken(self.name(), simulation, what);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::mixed;
    use super::*;
    use fairwind_sched::{CpuId, Release};

    #[test]
    fn a_cpu_that_goes_on_regardless_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let mut monitor = Resched::default();
        simulation.sched.rqs[CpuId(0)].need_resched = true;
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += NEVER;
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += 1;
        assert_eq!(monitor.check(&simulation).unwrap_err().rule, "resched");
    }
}
