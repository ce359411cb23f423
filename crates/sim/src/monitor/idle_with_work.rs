//! A CPU does not idle beside its own queued tasks.
//!
//! Model. When a task is queued for an idle CPU, the CPU is asked to reschedule and an interrupt (or a polled flag) tells
//!        it, which it handles. That takes at most the largest interrupt latency of the machine.

use super::pending_wakeup::interrupt_latency;
use super::{Monitor, Violation, broken};
use crate::cpu::Segment;
use crate::simulation::Simulation;
use fairwind_sched::Nanos;

/// See the module.
#[derive(Default)]
pub struct IdleWithWork {
    /// `[nr_cpus]`: since when each CPU has idled with tasks queued.
    since: Vec<Option<Nanos>>,
}

impl Monitor for IdleWithWork {
    fn name(&self) -> &'static str {
        "idle_with_work"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        self.since.resize(sched.nr_cpus(), None);
        let latency = interrupt_latency(simulation);
        for cpu in sched.rqs.ids() {
            let rq = &sched.rqs[cpu];
            if rq.curr != rq.idle || rq.nr_running == 0 {
                self.since[cpu.idx()] = None;
                continue;
            }
            let since = *self.since[cpu.idx()].get_or_insert(simulation.now);
            let c = &simulation.cpus[cpu.idx()];
            let handles = matches!(c.segment, Segment::Settle { .. });
            let told = rq.need_resched && (c.ipi_pending || handles);
            if !told || simulation.now - since > latency {
                let what = format!(
                    "cpu {} idles with {} tasks queued since {since} ({} fair, {} RT); need_resched: {}, told: {told}",
                    cpu.0,
                    rq.nr_running,
                    sched.cfs_rqs[rq.cfs].h_nr_queued,
                    rq.rt.nr_running,
                    rq.need_resched
                );
                return broken(self.name(), simulation, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, running};
    use super::*;
    use fairwind_sched::{CpuId, Release};

    const SLEEPER: &str = r#"{ "tasks": { "a": { "loop": -1, "run": 10, "sleep": 100000 } } }"#;

    #[test]
    fn a_forgotten_task_is_seen() {
        let mut simulation = running(Release::V6_12, "1x1x1", SLEEPER, 20_000_000);
        let tamper = |s: &mut Simulation| s.sched.rqs[CpuId(0)].nr_running = 1;
        fires(
            IdleWithWork::default(),
            &mut simulation,
            tamper,
            "idles with 1 tasks",
        );
    }

    #[test]
    fn a_late_interrupt_is_seen() {
        let mut simulation = running(Release::V6_1, "1x1x1", SLEEPER, 20_000_000);
        let mut monitor = IdleWithWork::default();
        simulation.sched.rqs[CpuId(0)].nr_running = 1;
        simulation.sched.rqs[CpuId(0)].need_resched = true;
        simulation.cpus[0].ipi_pending = true;
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += 1_000_000;
        assert_eq!(monitor.check(&simulation), Ok(()));
        simulation.now += 1;
        assert!(monitor.check(&simulation).is_err());
    }
}
