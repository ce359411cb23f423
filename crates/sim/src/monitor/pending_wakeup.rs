//! A wakeup that was begun is completed.
//!
//! Model. A task in state `Waking` is on its way from its waker, or waits in the wakeup queue of exactly one CPU; that CPU is
//!        flagged and an interrupt is on its way there, which arrives within the largest latency of the machine.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::{Nanos, TaskState};

/// See the module.
#[derive(Default)]
pub struct PendingWakeup {
    /// `[nr_cpus]`: since when each CPU's wakeup queue has not been empty.
    since: Vec<Option<Nanos>>,
}

/// The longest an interrupt takes to be handled: idle exit, delivery, and a millisecond for what cannot be interrupted.
pub(super) fn interrupt_latency(simulation: &Simulation) -> Nanos {
    let costs = &simulation.machine.costs;
    let exit = costs
        .idle
        .states()
        .iter()
        .map(|s| s.exit_latency_ns)
        .max()
        .unwrap_or(0);
    let remote = costs.ipi_ns.remote.iter().copied().max().unwrap_or(0);
    exit + remote.max(costs.ipi_ns.node).max(costs.ipi_ns.llc) + 1_000_000
}

impl Monitor for PendingWakeup {
    fn name(&self) -> &'static str {
        "pending_wakeup"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.since.resize(sched.nr_cpus(), None);
        let latency = interrupt_latency(simulation);
        let mut queued = 0;
        for cpu in sched.rqs.ids() {
            let rq = &sched.rqs[cpu];
            queued += usize::from(simulation.cpus[cpu.idx()].placing.is_some());
            if rq.ttwu_queue.is_empty() {
                self.since[cpu.idx()] = None;
                continue;
            }
            let waking =
                |&&task: &&fairwind_sched::TaskId| sched.tasks[task].state == TaskState::Waking;
            queued += rq.ttwu_queue.iter().filter(waking).count();
            let since = *self.since[cpu.idx()].get_or_insert(simulation.now);
            if !rq.ttwu_pending
                || !simulation.cpus[cpu.idx()].ipi_pending
                || simulation.now - since > latency
            {
                let what = format!(
                    "cpu {}: {} wakeups wait since {since}, flagged: {}, interrupt on its way: {}",
                    cpu.0,
                    rq.ttwu_queue.len(),
                    rq.ttwu_pending,
                    simulation.cpus[cpu.idx()].ipi_pending
                );
                return broken(self.name(), simulation, what);
            }
        }
        let waking = sched
            .tasks
            .iter()
            .filter(|t| t.state == TaskState::Waking)
            .count();
        if waking != queued {
            return broken(
                self.name(),
                simulation,
                format!("{waking} tasks are waking, {queued} in wakeup queues"),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed, task};
    use super::*;
    use fairwind_sched::{CpuId, Release};

    #[test]
    fn a_lost_wakeup_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let (sleeper, _) = task(&simulation, "sleeper", 0);
        let tamper = |s: &mut Simulation| s.sched.tasks[sleeper].state = TaskState::Waking;
        fires(
            PendingWakeup::default(),
            &mut simulation,
            tamper,
            "1 tasks are waking, 0 in",
        );
    }

    #[test]
    fn a_queue_nobody_looks_at_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let (sleeper, _) = task(&simulation, "sleeper", 0);
        let tamper = |s: &mut Simulation| {
            s.sched.tasks[sleeper].state = TaskState::Waking;
            s.sched.rqs[CpuId(0)].ttwu_queue.push(sleeper);
        };
        fires(
            PendingWakeup::default(),
            &mut simulation,
            tamper,
            "interrupt on its way: false",
        );
    }
}
