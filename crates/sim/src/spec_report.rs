//! What a run measured of several tasks taken together: the instances of a task of the workload, or the tasks of a group.
//!
//! Model. Times and counts are sums; percentiles are those of all wakeup latencies together, not averages of percentiles.
//! Units. As in [`Report`](crate::Report).

use crate::latency::Latencies;
use crate::report::LatencyReport;
use crate::simulation::Simulation;
use fairwind_sched::{Nanos, TaskId};
use serde::Serialize;

/// Several tasks taken together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MergedReport {
    /// The task of the workload file, or the path of the group.
    pub name: String,
    /// How many tasks.
    pub tasks: u64,
    /// Of these, so many have ended.
    pub ended: u64,
    /// When the last of them ended; none: not all have.
    pub ended_ns: Option<Nanos>,
    /// CPU time.
    pub cpu_ns: Nanos,
    /// CPU time in millionths of all CPU time of the machine.
    pub share_ppm: u64,
    /// Of the CPU time, lost to cold caches.
    pub stall_ns: Nanos,
    /// Switches away because a task slept (nvcsw).
    pub voluntary_switches: u64,
    /// Switches away while a task could run (nivcsw).
    pub involuntary_switches: u64,
    /// Changes of CPU.
    pub migrations: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// From a wakeup until the task ran; none: no wakeups.
    pub wakeup_latency: Option<LatencyReport>,
    /// Time tasks waited because their group was out of quota.
    pub throttled_ns: Nanos,
    /// Time tasks waited for a CPU (run_delay).
    pub run_delay_ns: Nanos,
    /// Runs through a phase.
    pub loops: u64,
}

/// Sums in the making.
struct Merge {
    report: MergedReport,
    latencies: Latencies,
}

impl Merge {
    fn new(name: String) -> Self {
        let report = MergedReport {
            name,
            tasks: 0,
            ended: 0,
            ended_ns: Some(0),
            cpu_ns: 0,
            share_ppm: 0,
            stall_ns: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            migrations: 0,
            wakeups: 0,
            wakeup_latency: None,
            throttled_ns: 0,
            run_delay_ns: 0,
            loops: 0,
        };
        Merge {
            report,
            latencies: Latencies::new(),
        }
    }

    fn add(&mut self, simulation: &Simulation, id: TaskId) {
        let run = &simulation.tasks[id.idx()];
        let task = &simulation.sched.tasks[id];
        let stats = &simulation.sched.task_stats[id];
        let report = &mut self.report;
        report.tasks += 1;
        report.ended += u64::from(run.ended_at.is_some());
        report.ended_ns = report.ended_ns.zip(run.ended_at).map(|(a, b)| a.max(b));
        report.cpu_ns += run.cpu_ns;
        report.stall_ns += run.stall_ns;
        report.voluntary_switches += stats.nvcsw;
        report.involuntary_switches += stats.nivcsw;
        report.migrations += simulation.sched.ses[task.se].nr_migrations;
        report.wakeups += run.wakeups;
        report.throttled_ns += run.throttled_ns;
        report.run_delay_ns += stats.run_delay;
        report.loops += simulation.runtime.loops(run.program as usize);
        self.latencies.merge(&run.latencies);
    }

    fn finish(mut self, whole: u128) -> MergedReport {
        let part = u128::from(self.report.cpu_ns) * 1_000_000;
        if self.report.tasks == 0 {
            self.report.ended_ns = None;
        }
        self.report.share_ppm = part.checked_div(whole).unwrap_or(0) as u64;
        self.report.wakeup_latency = LatencyReport::of(&self.latencies);
        self.report
    }
}

impl Simulation {
    /// One row for each task of the workload file of which an instance has started, in the order of the file; call
    /// [`finish`](Simulation::finish) first.
    pub fn spec_reports(&self) -> Vec<MergedReport> {
        let mut merges: Vec<Merge> = self
            .workload
            .tasks
            .iter()
            .map(|spec| Merge::new(spec.name.clone()))
            .collect();
        for &id in self.task_ids.iter().filter(|id| id.is_some()) {
            let program = self.tasks[id.idx()].program as usize;
            merges[self.runtime.spec(program).idx()].add(self, id);
        }
        merges.retain(|merge| merge.report.tasks > 0);
        self.finish_merges(merges)
    }

    /// One row for each group, with the tasks that were in it or below it at the end, in the order of
    /// [`Report::groups`](crate::Report::groups); call [`finish`](Simulation::finish) first.
    pub fn group_task_reports(&self) -> Vec<MergedReport> {
        let mut merges: Vec<Merge> = self
            .group_paths
            .iter()
            .map(|path| Merge::new(path.clone()))
            .collect();
        for &id in self.task_ids.iter().filter(|id| id.is_some()) {
            let mut group = self.sched.tasks[id].group;
            while group.is_some() {
                merges[group.idx()].add(self, id);
                group = self.sched.groups[group].parent;
            }
        }
        let mut alive = self
            .sched
            .groups
            .ids()
            .map(|group| !self.sched.groups[group].dead);
        merges.retain(|_| alive.next() == Some(true));
        self.finish_merges(merges)
    }

    fn finish_merges(&self, merges: Vec<Merge>) -> Vec<MergedReport> {
        let whole = u128::from(self.now()) * self.sched.nr_cpus() as u128;
        merges
            .into_iter()
            .map(|merge| merge.finish(whole))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Simulation};
    use fairwind_machine::{Costs, Machine};
    use fairwind_sched::{KernelProfile, Release};
    use fairwind_workload::parse;

    #[test]
    fn sums_are_those_of_the_tasks_and_groups_count_those_below() {
        let json = r#"{
            "cgroups": { "/a": { "cpu.weight": 200 }, "/a/b": { "cpu.weight": 50 } },
            "tasks": {
                "sleeper": { "instance": 3, "taskgroup": "/a", "run": 200, "sleep": 1000 },
                "hog": { "instance": 2, "taskgroup": "/a/b", "run": 5000 },
                "out": { "run": 5000 } } }"#;
        let machine = Machine::load("1x2x1").unwrap().with_costs(Costs::none());
        let profile = KernelProfile::new(Release::V6_12, 2);
        let config = Config {
            machine,
            profile,
            duration: Some(500_000_000),
            seed: 1,
        };
        let mut simulation = Simulation::new(config, parse(json, "test.json").unwrap()).unwrap();
        simulation.run();
        simulation.finish().unwrap();
        let report = simulation.report(false);

        let specs = simulation.spec_reports();
        let names: Vec<_> = specs
            .iter()
            .map(|spec| (spec.name.as_str(), spec.tasks))
            .collect();
        assert_eq!(names, [("sleeper", 3), ("hog", 2), ("out", 1)]);
        for spec in &specs {
            let tasks = || report.tasks.iter().filter(|task| task.spec == spec.name);
            assert_eq!(spec.cpu_ns, tasks().map(|t| t.cpu_ns).sum::<u64>());
            assert_eq!(spec.wakeups, tasks().map(|t| t.wakeups).sum::<u64>());
            let latencies = || tasks().filter_map(|t| t.wakeup_latency);
            assert_eq!(
                spec.wakeup_latency.map_or(0, |l| l.count),
                latencies().map(|l| l.count).sum::<u64>()
            );
            assert_eq!(
                spec.wakeup_latency.map(|l| l.max_ns),
                latencies().map(|l| l.max_ns).max()
            );
        }

        let groups = simulation.group_task_reports();
        assert_eq!(groups.len(), report.groups.len());
        for (merged, group) in groups.iter().zip(&report.groups) {
            assert_eq!(
                (&merged.name, merged.cpu_ns, merged.share_ppm),
                (&group.path, group.cpu_ns, group.share_ppm)
            );
        }
        assert_eq!(
            groups.iter().map(|g| g.tasks).collect::<Vec<_>>(),
            [6, 5, 2]
        );
    }
}
