//! What the kernel's own files would say about a run, so that tools that read them can read a simulation.
//!
//! Model.      `/proc/schedstat` and `/proc/pressure/cpu` of the machine, `schedstat` and `sched` of each task, and the
//!             cpu controller's files of each group as cgroup v2 has them. All of it is what the simulation has at the
//!             moment, with the names, the order and the number formats of the release.
//! Invariants. Reading changes nothing: a run that was looked at goes on as one that was not.
//! Deviations. A task that has ended keeps its files, as they were when it ended; a kernel would have removed them.
//! Not here.   Files about what is not simulated; each module names the lines it leaves out.

mod cgroup;
mod schedstat;
mod task_sched;

use crate::simulation::Simulation;
use crate::tracing::pid_of;
use fairwind_sched::{GroupId, TaskId};

/// A file of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFile {
    /// Where it is below the root directory: `proc/schedstat`.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl Simulation {
    /// All files, those of a directory together; pressure only if it is
    /// [watched](Simulation::watch_pressure). Call [`finish`](Simulation::finish) first.
    pub fn kernel_files(&self) -> Vec<KernelFile> {
        let mut files = Vec::new();
        let mut add = |directory: &str, name: &str, text: Option<String>| {
            if let Some(text) = text {
                files.push(KernelFile {
                    path: format!("{directory}/{name}"),
                    text,
                });
            }
        };
        add("proc", "schedstat", Some(self.schedstat()));
        add("proc/pressure", "cpu", self.cpu_pressure(GroupId::ROOT));
        for &task in self.task_ids.iter().filter(|id| id.is_some()) {
            let directory = format!("proc/{}", self.pid(task));
            add(&directory, "schedstat", Some(self.task_schedstat(task)));
            add(&directory, "sched", Some(self.task_sched(task)));
        }
        let usage = self.group_usage_below();
        for group in self
            .sched
            .groups
            .ids()
            .filter(|&group| !self.sched.groups[group].dead)
        {
            let path = self.group_paths[group.idx()].trim_matches('/');
            let directory = format!("sys/fs/cgroup/{path}");
            let directory = directory.trim_end_matches('/');
            add(
                directory,
                "cpu.stat",
                Some(self.cpu_stat_of(group, usage[group.idx()])),
            );
            add(directory, "cpu.stat.local", self.cpu_stat_local(group));
            add(directory, "cpu.pressure", self.cpu_pressure(group));
            add(directory, "cpu.weight", self.cpu_weight(group));
            add(directory, "cpu.max", self.cpu_max(group));
        }
        files
    }

    /// The thread id of a task of the workload, the same as in traces.
    pub fn pid(&self, task: TaskId) -> u32 {
        pid_of(task, self.sched.nr_cpus() as u32)
    }
}
