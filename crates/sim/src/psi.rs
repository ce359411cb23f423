//! Pressure stall information for CPU time: how much of the time tasks of a group waited for a CPU.
//!
//! Model.      Each task is counted on its CPU in its group and in all groups above: as running (it runs or waits), as
//!             on CPU, or as sleeping for I/O. The counts follow from what the scheduler says of the task whenever it
//!             is woken, switched, migrated or given another group; see `psi/group.rs` for what follows from them.
//! Invariants. Off unless asked for: a run without it takes one branch a notice. Only the groups on the way from a
//!             task to the root are touched, and a switch between two tasks of a group ends there.
//! Units.      Totals in ns inside and µs in reports; averages in hundredths of a percent.
//! Source.     kernel/sched/psi.c `psi_task_change`, `psi_task_switch`; kernel/sched/stats.h `psi_enqueue`,
//!             `psi_dequeue` @ 6.1, 6.12. A task whose dequeue is delayed counts as asleep.
//! Deviations. Every uninterruptible sleep counts as one for I/O: workloads have no other.
//! Not here.   Pressure for memory, I/O and interrupts; triggers.

mod averages;
mod group;

use crate::simulation::Simulation;
use fairwind_sched::task::OnRq;
use fairwind_sched::{CpuId, GroupId, Nanos, Sched, TaskId, TaskState};
use group::{Counts, GroupPressure, Stalled};
use serde::Serialize;

/// The `cpu.pressure` of a group.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct PressureReport {
    /// Time in which a task waited for a CPU.
    pub some_total_usec: u64,
    /// Average of `some` over 10 s, in hundredths of a percent.
    pub some_avg10_centi: u64,
    /// Average of `some` over 60 s, in hundredths of a percent.
    pub some_avg60_centi: u64,
    /// Average of `some` over 300 s, in hundredths of a percent.
    pub some_avg300_centi: u64,
    /// Time in which a task waited for a CPU and none ran; 0 for the root, as the kernel has it.
    pub full_total_usec: u64,
    /// Average of `full` over 10 s, in hundredths of a percent.
    pub full_avg10_centi: u64,
    /// Average of `full` over 60 s, in hundredths of a percent.
    pub full_avg60_centi: u64,
    /// Average of `full` over 300 s, in hundredths of a percent.
    pub full_avg300_centi: u64,
}

impl PressureReport {
    fn of(some: &Stalled, full: &Stalled) -> Self {
        let [some_avg10_centi, some_avg60_centi, some_avg300_centi] = some.averages.centi();
        let [full_avg10_centi, full_avg60_centi, full_avg300_centi] = full.averages.centi();
        PressureReport {
            some_total_usec: some.total / 1000,
            some_avg10_centi,
            some_avg60_centi,
            some_avg300_centi,
            full_total_usec: full.total / 1000,
            full_avg10_centi,
            full_avg60_centi,
            full_avg300_centi,
        }
    }
}

/// Where a task is counted, and as what.
#[derive(Clone, Copy, Debug)]
struct Place {
    cpu: CpuId,
    group: GroupId,
    counts: Counts,
}

impl Place {
    const NOWHERE: Place = Place {
        cpu: CpuId(0),
        group: GroupId::ROOT,
        counts: Counts {
            running: 0,
            on_cpu: 0,
            iowait: 0,
        },
    };

    /// The same CPU and group?
    fn is_beside(self, other: Place) -> bool {
        (self.cpu, self.group) == (other.cpu, other.group)
    }

    fn of(sched: &Sched, task: TaskId) -> Place {
        let t = &sched.tasks[task];
        let on_cpu = sched.rqs[t.cpu].curr == task;
        let running = on_cpu || (t.on_rq != OnRq::No && !sched.ses[t.se].sched_delayed);
        let iowait = !running && t.state == TaskState::Uninterruptible;
        let counts = Counts {
            running: i32::from(running),
            on_cpu: i32::from(on_cpu),
            iowait: i32::from(iowait),
        };
        Place {
            cpu: t.cpu,
            group: t.group,
            counts,
        }
    }
}

/// The pressure in all groups.
#[derive(Debug)]
pub(crate) struct Pressure {
    groups: Vec<GroupPressure>,
    /// `[nr_tasks of sched]`, as far as they were seen.
    places: Vec<Place>,
    nr_cpus: usize,
    tick: Nanos,
    hz: u64,
}

impl Pressure {
    fn new(sched: &Sched, now: Nanos) -> Self {
        let mut pressure = Pressure {
            groups: Vec::new(),
            places: Vec::new(),
            nr_cpus: sched.nr_cpus(),
            tick: sched.tick_nsec(),
            hz: u64::from(sched.profile.hz),
        };
        for group in sched.groups.ids() {
            pressure.add_group(sched.groups[group].parent, now);
        }
        for task in sched.tasks.ids() {
            pressure.sync(sched, task, now);
        }
        pressure
    }

    /// A group is made; groups come in the order of their ids.
    pub(crate) fn add_group(&mut self, parent: GroupId, now: Nanos) {
        let depth = if parent.is_some() {
            self.groups[parent.idx()].depth + 1
        } else {
            0
        };
        self.groups.push(GroupPressure::new(
            parent,
            depth,
            self.nr_cpus,
            self.tick,
            self.hz,
            now,
        ));
    }

    /// Moves a task to where the scheduler has it; gives where it was and where it is.
    fn relocate(&mut self, sched: &Sched, task: TaskId) -> (Place, Place) {
        if self.places.len() <= task.idx() {
            self.places.resize(task.idx() + 1, Place::NOWHERE);
        }
        // Idle tasks, the first of all, are nobody.
        if task.idx() < self.nr_cpus {
            return (Place::NOWHERE, Place::NOWHERE);
        }
        let is = Place::of(sched, task);
        (std::mem::replace(&mut self.places[task.idx()], is), is)
    }

    /// Something happened to a task.
    pub(crate) fn sync(&mut self, sched: &Sched, task: TaskId, now: Nanos) {
        let (was, is) = self.relocate(sched, task);
        self.change(was, is, now);
    }

    fn change(&mut self, was: Place, is: Place, now: Nanos) {
        if was.is_beside(is) {
            self.climb(
                is.group,
                GroupId::NONE,
                is.cpu,
                is.counts.minus(was.counts),
                now,
            );
            return;
        }
        self.climb(
            was.group,
            GroupId::NONE,
            was.cpu,
            Counts::default().minus(was.counts),
            now,
        );
        self.climb(is.group, GroupId::NONE, is.cpu, is.counts, now);
    }

    /// A CPU switched from one task to another.
    pub(crate) fn switch(&mut self, sched: &Sched, prev: TaskId, next: TaskId, now: Nanos) {
        let (prev_was, prev_is) = self.relocate(sched, prev);
        let (next_was, next_is) = self.relocate(sched, next);
        if !(prev_was.is_beside(prev_is)
            && next_was.is_beside(next_is)
            && prev_is.cpu == next_is.cpu)
        {
            self.change(prev_was, prev_is, now);
            self.change(next_was, next_is, now);
            return;
        }
        let (cpu, prev_change, next_change) = (
            next_is.cpu,
            prev_is.counts.minus(prev_was.counts),
            next_is.counts.minus(next_was.counts),
        );
        let common = self.common(prev_is.group, next_is.group);
        self.climb(prev_is.group, common, cpu, prev_change, now);
        self.climb(next_is.group, common, cpu, next_change, now);
        // From here on one leaves the CPU and one takes it: often nothing changes.
        self.climb(
            common,
            GroupId::NONE,
            cpu,
            prev_change.plus(next_change),
            now,
        );
    }

    /// The lowest group that is both or above both.
    fn common(&self, mut a: GroupId, mut b: GroupId) -> GroupId {
        while a != b {
            if self.groups[a.idx()].depth >= self.groups[b.idx()].depth {
                a = self.groups[a.idx()].parent;
            } else {
                b = self.groups[b.idx()].parent;
            }
        }
        a
    }

    /// Changes the counts of `from` and the groups above, up to and without `until`.
    fn climb(&mut self, from: GroupId, until: GroupId, cpu: CpuId, change: Counts, now: Nanos) {
        if change == Counts::default() {
            return;
        }
        let mut group = from;
        while group != until {
            let pressure = &mut self.groups[group.idx()];
            pressure.change(cpu, change, now);
            group = pressure.parent;
        }
    }

    /// What `cpu.pressure` of a group says at `now`.
    pub(crate) fn report(&self, group: GroupId, now: Nanos) -> PressureReport {
        let seen = self.groups[group.idx()].read(now);
        // A CPU on which a task waits runs another: for the whole system the kernel leaves `full` undefined.
        let full = if group == GroupId::ROOT {
            Stalled::default()
        } else {
            seen.full
        };
        PressureReport::of(&seen.some, &full)
    }
}

impl Simulation {
    /// Counts pressure from now on, for [`GroupReport`](crate::GroupReport) and the kernel's files; call before the run.
    pub fn watch_pressure(&mut self) {
        if self.pressure.is_none() {
            self.pressure = Some(Box::new(Pressure::new(&self.sched, self.now)));
        }
    }

    /// The pressure in a group; none if it is not watched.
    pub fn pressure(&self, group: GroupId) -> Option<PressureReport> {
        self.pressure
            .as_ref()
            .map(|pressure| pressure.report(group, self.now))
    }

    /// Something happened to a task: it may count elsewhere now.
    #[inline]
    pub(crate) fn note_pressure(&mut self, task: TaskId) {
        if let Some(pressure) = &mut self.pressure {
            pressure.sync(&self.sched, task, self.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use fairwind_machine::Machine;
    use fairwind_sched::{KernelProfile, Release};
    use fairwind_workload::parse;

    const MS: Nanos = 1_000_000;

    /// What was counted change by change is what a count of all tasks gives.
    fn check(simulation: &Simulation) {
        let counted = simulation.pressure.as_ref().unwrap();
        let fresh = Pressure::new(&simulation.sched, simulation.now);
        for (group, (a, b)) in counted.groups.iter().zip(&fresh.groups).enumerate() {
            assert_eq!(
                a.counts(),
                b.counts(),
                "group {group} at {}",
                simulation.now
            );
        }
        let on_cpu: i32 = counted.groups[0].counts().iter().map(|c| c.on_cpu).sum();
        let busy = simulation
            .sched
            .rqs
            .ids()
            .filter(|&cpu| !simulation.sched.is_idle(cpu))
            .count();
        assert_eq!(on_cpu, busy as i32, "all that runs is counted at the root");
    }

    #[test]
    fn counts_follow_tasks_through_moves_limits_and_hotplug() {
        let json = r#"{
            "cgroups": { "/a": { "cpu.max": "120000 50000" }, "/a/b": {}, "/c/d": { "cpu.weight": 300 } },
            "tasks": {
                "s": { "instance": 9, "taskgroup": "/a", "loop": -1, "run": 700, "sleep": 400 },
                "h": { "instance": 4, "taskgroup": "/a/b", "loop": -1, "run": 5000, "iorun": 2000 },
                "d": { "instance": 5, "loop": -1, "phases": {
                    "one": { "loop": 3, "taskgroup": "/c/d", "run": 300, "sleep": 100 },
                    "two": { "loop": 2, "taskgroup": "/a", "run": 900, "yield": "" } } },
                "r": { "policy": "SCHED_FIFO", "priority": 10, "loop": -1, "run": 200, "sleep": 3000 },
                "e": { "instance": 3, "loop": 40, "run": 1000, "sleep": 2000 } } }"#;
        for release in Release::ALL {
            let machine = Machine::load("1x4x2").unwrap();
            let profile = KernelProfile::new(release, machine.nr_cpus());
            let config = Config {
                machine,
                profile,
                duration: Some(900 * MS),
                seed: 3,
            };
            let mut simulation =
                Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
            simulation.watch_pressure();
            for step in 1..=300 {
                simulation.run_until(step * 3 * MS);
                check(&simulation);
                let tasks = simulation.live_tasks();
                let task = tasks[step as usize * 7 % tasks.len()];
                match step % 30 {
                    5 => simulation.cpu_down(CpuId(3)).unwrap(),
                    12 => {
                        let group = simulation.create_group(GroupId(1), &format!("/a/{step}"));
                        simulation.move_task(task, group);
                    }
                    17 => simulation.cpu_up(CpuId(3)).unwrap(),
                    20 => simulation.move_task(task, GroupId::ROOT),
                    25 => simulation.set_nice(task, step as i32 % 20),
                    _ => continue,
                }
                check(&simulation);
            }
            assert!(
                simulation.pressure(GroupId(1)).unwrap().some_total_usec > 100_000,
                "{release:?}"
            );
        }
    }
}
