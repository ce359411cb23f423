//! A limited group gets no more CPU time than its limit allows.
//!
//! Model. Between two refills the fair tasks of a group and of those below it run for at most
//!
//! ```text
//!   quota + burst + nr_cpus · (slice + tick + kernel)
//!   |               |          |       |      the kernel work and the interrupt latency between throttling and switch
//!   |               |          |       what a CPU runs between two looks at its runtime
//!   |               |          what a CPU still held at the refill
//!   the pool after a refill
//! ```
//!
//! A window of one period that begins elsewhere can touch two refills, so what is promised is about windows between
//! refills. What a CPU overran is paid back in the next period, so the bound holds in each of them. The count begins
//! anew when the limit is set, and when a CPU goes offline (its tasks leave without a limit) or comes back.
//! Deviations. CPU time is the machine's, not what the scheduler charged.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::task::Class;
use fairwind_sched::{GroupId, Nanos, TaskId};

/// Kernel work and interrupt latency between throttling and the switch away.
const KERNEL: Nanos = 1_000_000;

#[derive(Clone, Copy, Default)]
struct Window {
    limit: (u64, u64, u64),
    nr_cpus: usize,
    nr_periods: u64,
    used: Nanos,
}

/// See the module.
#[derive(Default)]
pub struct Quota {
    last: Nanos,
    /// `[nr_cpus]`: group of the fair task that ran since the last look.
    ran: Vec<GroupId>,
    /// `[nr_groups]`
    windows: Vec<Window>,
}

impl Quota {
    /// Charges each CPU's time since the last look to the groups of who ran.
    fn charge(&mut self, simulation: &Simulation) {
        let elapsed = simulation.now - self.last;
        self.last = simulation.now;
        for cpu in 0..self.ran.len() {
            let mut group = self.ran[cpu];
            while group.is_some() {
                self.windows[group.idx()].used += elapsed;
                group = simulation.sched.groups[group].parent;
            }
        }
    }

    fn note_running(&mut self, simulation: &Simulation) {
        let sched = &simulation.sched;
        let group_of = |task: TaskId| match sched.tasks[task].class {
            Class::Fair => sched.tasks[task].group,
            _ => GroupId::NONE,
        };
        self.ran.clear();
        self.ran
            .extend(sched.rqs.iter().map(|rq| group_of(rq.curr)));
    }
}

impl Monitor for Quota {
    fn name(&self) -> &'static str {
        "quota"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.charge(simulation);
        self.windows.resize(sched.groups.len(), Window::default());
        self.note_running(simulation);
        let slice = sched.profile.tunables.sched_cfs_bandwidth_slice_us * 1000;
        let slack = sched.nr_cpus() as u64 * (slice + sched.tick_nsec() + KERNEL);
        for group in sched.groups.ids() {
            let b = &sched.groups[group].bandwidth;
            let window = &mut self.windows[group.idx()];
            if b.quota == RUNTIME_INF {
                *window = Window::default();
                continue;
            }
            let used = window.used;
            let most = b.quota + b.burst + slack;
            let limit = (b.quota, b.burst, b.period);
            let nr_cpus = sched.active.weight();
            let same = window.limit == limit && window.nr_cpus == nr_cpus;
            if !same || window.nr_periods != b.nr_periods {
                *window = Window {
                    limit,
                    nr_cpus,
                    nr_periods: b.nr_periods,
                    used: 0,
                };
            }
            if same && used > most {
                let path = &simulation.group_paths[group.idx()];
                let what = format!(
                    "{path} used {used} ns of CPU between two refills, at most {most} are allowed"
                );
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{group, running};
    use super::*;
    use fairwind_sched::Release;

    const LIMITED: &str = r#"{ "cgroups": { "/a": { "cpu.max": "5000 50000" } },
        "tasks": { "hog": { "taskgroup": "/a", "loop": -1, "run": 1000 } } }"#;

    #[test]
    fn a_group_that_runs_on_without_limit_is_seen() {
        for release in Release::ALL {
            let mut simulation = running(release, "1x1x1", LIMITED, 0);
            simulation.add_monitor(Box::new(Quota::default()));
            let queue = simulation.sched.groups[group(&simulation, "/a")].cfs_rq[0];
            // Nobody counts what it runs, so it is never throttled.
            simulation.sched.cfs_rqs[queue].runtime_enabled = false;
            simulation.run_until(100_000_000);
            let violation = simulation.violation().expect("it ran on").clone();
            // 5 ms of quota, a slice of 5 ms, a tick of 4 ms, 1 ms for the kernel.
            assert_eq!(violation.rule, "quota");
            assert!(violation.what.contains("at most 15000000"), "{violation}");
        }
    }

    #[test]
    fn a_limited_group_is_fine() {
        for release in Release::ALL {
            let mut simulation = running(release, "1x1x1", LIMITED, 0);
            simulation.add_monitor(Box::new(Quota::default()));
            simulation.run_until(1_000_000_000);
            assert_eq!(simulation.violation(), None);
        }
    }
}
