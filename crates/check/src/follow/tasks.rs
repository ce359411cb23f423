//! Which of our tasks is which of the recording's.
//!
//! Model.      A task is made when it is first named: by a fork, or as one that was there before, with
//!             what the debug file told of it.
//! Deviations. Of kernel threads bound to a CPU the name tells it.

use super::Follower;
use crate::facts::{Facts, TaskFacts};
use crate::record::Record;
use fairwind_sched::pelt::SchedAvg;
use fairwind_sched::task::{Class, TaskState};
use fairwind_sched::{CpuId, CpuMask, TaskId};
use std::collections::BTreeMap;

/// Kernel threads of which each CPU has its own, named `NAME/CPU`.
const PER_CPU_KTHREADS: [&str; 6] = [
    "kworker",
    "migration",
    "ksoftirqd",
    "cpuhp",
    "rcuc",
    "idle_inject",
];

/// Which of our tasks is which of the recording's.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) tasks: BTreeMap<i32, TaskId>,
    names: BTreeMap<TaskId, (i32, String)>,
    before: BTreeMap<i32, TaskFacts>,
}

impl Names {
    pub(super) fn new(facts: &Facts) -> Names {
        let before = facts
            .tasks
            .iter()
            .map(|task| (task.pid, task.clone()))
            .collect();
        Names {
            tasks: BTreeMap::new(),
            names: BTreeMap::new(),
            before,
        }
    }

    /// The kernel's number of a task that the recording names.
    pub(super) fn pid(&self, task: TaskId) -> Option<i32> {
        self.names.get(&task).map(|(pid, _)| *pid)
    }

    /// Is it told which tasks there were before the recording, and not of this one?
    pub(super) fn is_younger(&self, pid: i32) -> bool {
        !self.before.is_empty() && !self.before.contains_key(&pid)
    }

    /// The name that the recording gives a task.
    pub(super) fn comm(&self, task: TaskId) -> Option<&str> {
        self.names.get(&task).map(|(_, comm)| comm.as_str())
    }

    fn add(&mut self, pid: i32, task: TaskId, comm: &str) {
        self.tasks.insert(pid, task);
        self.names.insert(task, (pid, comm.to_owned()));
    }
}

/// The CPU that a kernel thread is bound to by its name; unbound workers are `kworker/uN:M`.
pub(super) fn bound_cpu(comm: &str) -> Option<CpuId> {
    let (kind, rest) = comm.split_once('/')?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    PER_CPU_KTHREADS
        .contains(&kind)
        .then(|| digits.parse().ok().map(CpuId))?
}

/// The CPU whose stopper has this name.
pub(super) fn stopper_cpu(comm: &str) -> Option<CpuId> {
    bound_cpu(comm).filter(|_| comm.starts_with("migration/"))
}

impl Follower<'_> {
    /// The task of a thread id, which is now on `cpu` if nothing tells otherwise.
    pub(super) fn task(&mut self, pid: i32, comm: &str, cpu: u32, ts: u64) -> TaskId {
        if pid == 0 {
            return self.sched.rqs[CpuId(cpu)].idle;
        }
        if let Some(&task) = self.names.tasks.get(&pid) {
            self.rename(task, comm);
            return task;
        }
        let before = self.names.before.get(&pid).cloned();
        let comm = match &before {
            Some(before) if comm.is_empty() => before.comm.as_str(),
            _ => comm,
        };
        let bound = bound_cpu(comm).filter(|cpu| cpu.idx() < self.sched.nr_cpus());
        let task = match bound {
            Some(cpu) if stopper_cpu(comm).is_some() => self.sched.rqs[cpu].stop,
            _ => self.task_from_before(pid, cpu, bound, before.as_ref(), ts),
        };
        self.take_effects(cpu);
        let comm = comm.to_owned();
        self.name_task(pid, task, &comm);
        task
    }

    fn task_from_before(
        &mut self,
        pid: i32,
        cpu: u32,
        bound: Option<CpuId>,
        before: Option<&TaskFacts>,
        ts: u64,
    ) -> TaskId {
        let nr_cpus = self.sched.nr_cpus();
        let home = before
            .map_or(cpu, |before| before.cpu)
            .min(nr_cpus as u32 - 1);
        let task = self.sched.follow_sleeper_from_before(CpuId(home), ts);
        if let Some(cpu) = bound {
            self.bind(task, cpu);
        }
        self.begin_counting(pid, task);
        let se = self.sched.tasks[task].se;
        if let Some(before) = before {
            self.set_prio(task, before.prio);
            self.sched.ses[se].vruntime = before.vruntime;
            self.sched.ses[se].deadline = before.deadline;
        }
        self.sched.tasks[task].state = TaskState::Interruptible;
        // Averages are not told; most tasks from before have slept for long, and are part of their queue's.
        let queue = self.sched.cfs_rqs[self.sched.ses[se].cfs_rq].avg;
        self.sched.ses[se].avg = SchedAvg {
            last_update_time: queue.last_update_time,
            period_contrib: queue.period_contrib,
            ..SchedAvg::default()
        };
        self.unsure.insert(task);
        self.doubt_lag(task);
        task
    }

    /// The task of a thread id that has been named before.
    pub(super) fn known(&self, pid: i32) -> Option<TaskId> {
        self.names.tasks.get(&pid).copied()
    }

    /// Binds a kernel thread to its CPU.
    fn bind(&mut self, task: TaskId, cpu: CpuId) {
        self.sched.tasks[task].is_per_cpu_kthread = true;
        let only = CpuMask::of(self.sched.nr_cpus(), [cpu]);
        let held = self.sched.rqs[self.sched.tasks[task].cpu].clock;
        if self.sched.set_cpus_allowed(task, &only, held).is_err() {
            self.judge
                .mended("threads bound to CPUs that are not there");
        }
    }

    /// A task has another name than before: a kernel thread gets the one that tells its CPU when it
    /// is bound, after it was forked.
    fn rename(&mut self, task: TaskId, comm: &str) {
        let Some((_, name)) = self.names.names.get_mut(&task) else {
            return;
        };
        if comm.is_empty() || name == comm {
            return;
        }
        comm.clone_into(name);
        self.runs_another(task);
    }

    /// A kernel thread that its creator has named and bound is woken.
    pub(super) fn bind_by_name(&mut self, task: TaskId) {
        let bound = bound_cpu(self.name_only(task)).filter(|cpu| cpu.idx() < self.sched.nr_cpus());
        if let Some(cpu) = bound
            && self.sched.tasks[task].nr_cpus_allowed > 1
        {
            self.bind(task, cpu);
        }
    }

    /// A task begins to exit.
    pub(super) fn exit(&mut self, r: &Record, pid: i32) {
        let task = self.task(pid, "", r.cpu, r.ts);
        if self.is_ordinary(task) {
            self.sched.tasks[task].exiting = true;
            self.sessions.exiting.insert(task);
        }
    }

    /// Notes a fork's child.
    pub(super) fn name_task(&mut self, pid: i32, task: TaskId, comm: &str) {
        self.names.add(pid, task, comm);
        self.bind_as_known(pid);
    }

    /// A task's name and thread id, for explanations.
    pub(super) fn name(&self, task: TaskId) -> String {
        match self.names.names.get(&task) {
            Some((pid, comm)) => format!("{comm}:{pid}"),
            None => "idle".to_owned(),
        }
    }

    /// A task's name; empty for the idle task.
    pub(super) fn name_only(&self, task: TaskId) -> &str {
        self.names.names.get(&task).map_or("", |(_, comm)| comm)
    }

    /// A task's thread id.
    pub(super) fn pid(&self, task: TaskId) -> Option<i32> {
        self.names.pid(task)
    }

    /// The ordinary tasks on a CPU's queues.
    pub(super) fn queued_on(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> {
        let rt = self.sched.rqs[cpu].rt.active.iter().map(|(_, task)| task);
        self.sched.cfs_tasks(cpu).chain(rt)
    }

    /// Does it run programs, rather than being a CPU's idle task or stopper?
    pub(super) fn is_ordinary(&self, task: TaskId) -> bool {
        matches!(self.sched.tasks[task].class, Class::Fair | Class::Rt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_cpu_of_bound_threads_only() {
        assert_eq!(bound_cpu("kworker/3:1H"), Some(CpuId(3)));
        assert_eq!(bound_cpu("ksoftirqd/11"), Some(CpuId(11)));
        assert_eq!(bound_cpu("kworker/u4:0"), None);
        assert_eq!(bound_cpu("irq/9-acpi"), None);
        assert_eq!(bound_cpu("bash"), None);
    }
}
