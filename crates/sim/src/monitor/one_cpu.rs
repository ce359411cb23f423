//! A task is in one place: on one CPU, and queued where its CPU and group say.
//!
//! Model. `on_cpu` is set for the running task of each CPU and nobody else; scheduler and machine agree on who runs. A
//!        queued fair task is on the queue of its group on its CPU and on that CPU's list of tasks; a queued RT task is in
//!        its CPU's RT queue; each entity hangs below the entity of its queue's group.

use super::{Monitor, Violation, broken};
use crate::simulation::Simulation;
use fairwind_sched::task::{Class, OnRq};
use fairwind_sched::{CpuId, Sched, TaskId};

/// See the module.
pub struct OneCpu;

fn fault(sched: &Sched, task: TaskId) -> Option<String> {
    let t = &sched.tasks[task];
    let runs = sched.rqs[t.cpu].curr == task;
    if t.on_cpu != runs {
        return Some(format!(
            "on_cpu is {}, but cpu {} runs {:?}",
            t.on_cpu, t.cpu.0, sched.rqs[t.cpu].curr
        ));
    }
    if !matches!(t.class, Class::Fair | Class::Rt) {
        return None;
    }
    if t.on_rq == OnRq::Migrating {
        return Some("between two queues after an event".to_string());
    }
    let entity = &sched.ses[t.se];
    let cfs_rq = sched.groups[sched.sched_group(task)].cfs_rq[t.cpu.idx()];
    if entity.cfs_rq != cfs_rq {
        return Some(format!(
            "its queue is {:?}, its group's on cpu {} is {cfs_rq:?}",
            entity.cfs_rq, t.cpu.0
        ));
    }
    let parent = sched.cfs_rqs[cfs_rq].se;
    let depth = parent.get().map_or(0, |parent| sched.ses[parent].depth + 1);
    if (entity.parent, entity.depth) != (parent, depth) {
        return Some(format!(
            "its parent is {:?} at depth {}, not {parent:?} at {depth}",
            entity.parent, entity.depth
        ));
    }
    let (fair, rt) = (entity.on_rq, t.rt.on_rq);
    let expected = match (t.is_queued(), t.class) {
        (false, _) => (false, false),
        (true, Class::Fair) => (true, false),
        (true, _) => (false, true),
    };
    if (fair, rt) != expected {
        return Some(format!(
            "{:?} and {:?}, but fair entity queued: {fair}, RT: {rt}",
            t.class, t.on_rq
        ));
    }
    let in_line = rt && sched.rqs[t.cpu].rt.active.contains(t.prio, task);
    (rt && !in_line).then(|| format!("not in the RT queue of cpu {}", t.cpu.0))
}

/// A CPU's list of fair tasks holds its queued fair tasks.
fn list_fault(sched: &Sched, cpu: CpuId) -> Option<String> {
    let mut at = sched.rqs[cpu].cfs_tasks_first;
    while at.is_some() {
        let t = &sched.tasks[at];
        if t.cpu != cpu || !sched.ses[t.se].on_rq {
            return Some(format!(
                "{at:?} is on the list of cpu {} without being queued there",
                cpu.0
            ));
        }
        if t.cfs_tasks_next.is_none() && sched.rqs[cpu].cfs_tasks_last != at {
            return Some(format!("the list of cpu {} ends at {at:?}", cpu.0));
        }
        at = t.cfs_tasks_next;
    }
    None
}

impl Monitor for OneCpu {
    fn name(&self) -> &'static str {
        "one_cpu"
    }

    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation> {
        let sched = &simulation.sched;
        for cpu in sched.rqs.ids() {
            let curr = sched.rqs[cpu].curr;
            let running = simulation.cpus[cpu.idx()].running;
            if sched.tasks[curr].cpu != cpu || running != curr {
                let what = format!(
                    "cpu {} runs {curr:?} of cpu {}, the machine executes {running:?}",
                    cpu.0, sched.tasks[curr].cpu.0
                );
                return broken(self.name(), simulation, what);
            }
            if let Some(what) = list_fault(sched, cpu) {
                return broken(self.name(), simulation, what);
            }
        }
        for task in sched.tasks.ids() {
            if let Some(what) = fault(sched, task) {
                return broken(self.name(), simulation, format!("{task:?}: {what}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testbed::{fires, mixed, running, task};
    use super::*;
    use fairwind_sched::Release;

    const HOGS: &str = r#"{ "tasks": { "hog": { "instance": 4, "loop": -1, "run": 1000 } } }"#;

    #[test]
    fn a_task_on_two_cpus_is_seen() {
        let mut simulation = running(Release::V6_12, "1x2x1", HOGS, 20_000_000);
        let tamper = |s: &mut Simulation| {
            let curr = s.sched.rqs[CpuId(0)].curr;
            s.sched.rqs[CpuId(1)].curr = curr;
        };
        fires(OneCpu, &mut simulation, tamper, "cpu 1 runs");
    }

    #[test]
    fn a_task_queued_on_another_cpus_queue_is_seen() {
        let mut simulation = running(Release::V6_1, "1x2x1", HOGS, 20_000_000);
        let waits = simulation
            .live_tasks()
            .into_iter()
            .find(|&t| !simulation.sched.tasks[t].on_cpu)
            .unwrap();
        let tamper =
            |s: &mut Simulation| s.sched.tasks[waits].cpu = CpuId(1 - s.sched.tasks[waits].cpu.0);
        fires(OneCpu, &mut simulation, tamper, "");
    }

    #[test]
    fn a_task_in_the_wrong_group_is_seen() {
        let mut simulation = mixed(Release::V6_12);
        let (limited, _) = task(&simulation, "limited", 0);
        let tamper =
            |s: &mut Simulation| s.sched.tasks[limited].group = fairwind_sched::GroupId::ROOT;
        fires(OneCpu, &mut simulation, tamper, "its queue is");
    }
}
