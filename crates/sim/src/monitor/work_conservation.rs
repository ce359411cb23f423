//! No CPU idles for long beside an overloaded neighbour.
//!
//! Model. The kernel is only approximately work conserving: what an idle CPU may pull is limited by affinity, cache
//!        hotness, limits, and the imbalance each domain allows; between cores and nodes a task may rightly wait. The rule
//!        therefore covers the plain case only: two CPUs of one core, or of one last-level cache without SMT,
//!        both online, of equal capacity; one idle, the other with two or more runnable fair tasks of the root group, of
//!        policy SCHED_OTHER, that may use both; no groups.
//! Bound. The overloaded CPU kicks an idle one at its tick; a pass runs at most every `max_interval` = 2 · CPUs of the domain
//!        ms and may fail to move a cache-hot task `cache_nice_tries` + 3 times; utilisation that says "spare" needs
//!        some half-lives of 32 ms. 1 s is far beyond all of these.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, GroupId, Nanos, Policy, Sched, TaskState};

const BOUND: Nanos = 1_000_000_000;

/// See the module.
#[derive(Default)]
pub struct WorkConservation {
    /// `[nr_cpus]`: since when the CPU has idled beside an overloaded neighbour.
    since: Vec<Option<Nanos>>,
}

/// Would balancing within the smallest shared part look at these two as equals?
fn neighbours(simulation: &Simulation, a: CpuId, b: CpuId) -> bool {
    let (x, y) = (
        &simulation.machine.topology.cpus[a.idx()],
        &simulation.machine.topology.cpus[b.idx()],
    );
    let alone = |core: u32| simulation.core_cpus[core as usize].len() == 1;
    let close =
        x.core == y.core || (x.llc == y.llc && x.node == y.node && alone(x.core) && alone(y.core));
    close && x.capacity == y.capacity && a != b
}

/// Tasks queued on a CPU that the idle one could run.
fn could_come(sched: &Sched, from: CpuId, to: CpuId) -> usize {
    let mut count = 0;
    let mut at = sched.rqs[from].cfs_tasks_first;
    while at.is_some() {
        let t = &sched.tasks[at];
        let plain =
            t.policy == Policy::Normal && t.group == GroupId::ROOT && t.state == TaskState::Running;
        count += usize::from(plain && sched.cpu_allowed(at, to));
        at = t.cfs_tasks_next;
    }
    count
}

impl Monitor for WorkConservation {
    fn name(&self) -> &'static str {
        "work_conservation"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.since.resize(sched.nr_cpus(), None);
        if sched.groups.len() > 1 {
            return Ok(());
        }
        for idle in sched.rqs.ids() {
            let from = sched.rqs.ids().find(|&from| {
                sched.is_idle(idle)
                    && sched.active.test(idle)
                    && sched.active.test(from)
                    && sched.rqs[from].nr_running >= 2
                    && neighbours(simulation, idle, from)
                    && could_come(sched, from, idle) >= 2
            });
            let Some(from) = from else {
                self.since[idle.idx()] = None;
                continue;
            };
            let since = *self.since[idle.idx()].get_or_insert(simulation.now);
            if simulation.now - since > BOUND {
                let what = format!(
                    "cpu {} has been idle beside cpu {}, which has {} tasks, since {since}",
                    idle.0, from.0, sched.rqs[from].nr_running
                );
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::running;
    use super::*;
    use fairwind_sched::Release;

    /// Everybody on CPU 0 for good, then nothing says so any longer.
    const PINNED: &str =
        r#"{ "tasks": { "hog": { "instance": 3, "cpus": [0], "loop": -1, "run": 1000 } } }"#;

    #[test]
    fn an_idle_neighbour_is_seen() {
        for release in Release::ALL {
            let mut simulation = running(release, "1x2x1", PINNED, 20_000_000);
            let mut monitor = WorkConservation::default();
            assert_eq!(monitor.check(&simulation), Ok(()));
            for task in simulation.live_tasks() {
                simulation.sched.tasks[task].cpus = fairwind_sched::task::MaskId(0);
            }
            assert_eq!(monitor.check(&simulation), Ok(()));
            simulation.now += BOUND + 1;
            assert!(
                monitor
                    .check(&simulation)
                    .unwrap_err()
                    .what
                    .contains("cpu 1 has been idle beside cpu 0")
            );
        }
    }
}
