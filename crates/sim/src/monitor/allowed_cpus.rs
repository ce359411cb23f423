//! No task runs, or waits, where it may not, unless it is about to be moved.
//!
//! Model. A running task whose CPUs were taken away stays until its CPU's stopper moves it: the request must be pending.
//!        One that only waits is moved at once.
//! Deviations. A task whose CPUs all went offline runs anywhere: the scheduler gives it all CPUs then.

use super::{Monitor, Violation, broken};
use crate::cpu::StopWork;
use crate::simulation::Simulation;
use fairwind_sched::task::Class;
use fairwind_sched::{Sched, TaskId};

/// See the module.
pub struct AllowedCpus;

fn may_be_there(sched: &Sched, task: TaskId) -> bool {
    let cpu = sched.tasks[task].cpu;
    sched.cpu_allowed(task, cpu) && sched.active.test(cpu)
}

/// Is the stopper asked to move the task away?
fn about_to_move(simulation: &Simulation, task: TaskId) -> bool {
    let cpu = simulation.sched.tasks[task].cpu;
    let moves =
        |work: &StopWork| matches!(work, StopWork::Migrate { task: moved, .. } if *moved == task);
    simulation.cpus[cpu.idx()].stop_work.iter().any(moves)
}

impl Monitor for AllowedCpus {
    fn name(&self) -> &'static str {
        "allowed_cpus"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        for task in sched.tasks.ids() {
            let t = &sched.tasks[task];
            let there = t.on_cpu || t.is_queued();
            if !there || !matches!(t.class, Class::Fair | Class::Rt) || may_be_there(sched, task) {
                continue;
            }
            // A delayed sleeper is only counted there; it is moved when it wakes.
            if about_to_move(simulation, task) || sched.ses[t.se].sched_delayed {
                continue;
            }
            let does = if t.on_cpu { "runs" } else { "waits" };
            let what = format!(
                "{task:?} {does} on cpu {}, which it may not, and nobody moves it",
                t.cpu.0
            );
            return broken(self.name(), simulation, what);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, running};
    use super::*;
    use fairwind_sched::{CpuId, CpuMask, Release};

    const HOGS: &str = r#"{ "tasks": { "hog": { "instance": 4, "loop": -1, "run": 1000 } } }"#;

    #[test]
    fn a_task_left_where_it_may_not_be_is_seen() {
        for release in Release::ALL {
            let mut simulation = running(release, "1x2x1", HOGS, 20_000_000);
            let tamper = |s: &mut Simulation| {
                let curr = s.sched.rqs[CpuId(0)].curr;
                let id = s.sched.mask_id(&CpuMask::of(2, [CpuId(1)]));
                s.sched.tasks[curr].cpus = id;
            };
            fires(AllowedCpus, &mut simulation, tamper, "runs on cpu 0");
        }
    }

    #[test]
    fn a_pending_move_is_fine() {
        let mut simulation = running(Release::V6_12, "1x2x1", HOGS, 20_000_000);
        let curr = simulation.sched.rqs[CpuId(0)].curr;
        let id = simulation.sched.mask_id(&CpuMask::of(2, [CpuId(1)]));
        simulation.sched.tasks[curr].cpus = id;
        let work = StopWork::Migrate {
            task: curr,
            dest: CpuId(1),
        };
        simulation.cpus[0].stop_work.push_back(work);
        assert_eq!(AllowedCpus.check(&simulation), Ok(()));
    }
}
