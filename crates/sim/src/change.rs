//! Changes from outside while a workload runs, as an administrator or a container runtime would make them.

use crate::simulation::Simulation;
use fairwind_sched::{
    BandwidthLimit, CpuId, CpuMask, GroupError, GroupId, HotplugError, NoCpu, TaskId,
};

impl Simulation {
    /// Makes a change that affects what runs on CPUs: execution is charged before and goes on afterwards.
    fn change<T>(&mut self, change: impl FnOnce(&mut Simulation) -> T) -> T {
        for cpu in self.sched.rqs.ids() {
            self.charge(cpu);
        }
        let result = change(self);
        let here = self.sched.active.first().unwrap_or(CpuId(0));
        self.carry_out_effects(here);
        for cpu in self.sched.rqs.ids() {
            self.resume(cpu);
        }
        // vCPUs were brought out of guest mode, which their guests must know before time passes.
        self.settle();
        self.watch();
        result
    }

    /// The scheduler's ids of the tasks that exist.
    pub fn live_tasks(&self) -> Vec<TaskId> {
        let alive = |id: &TaskId| id.is_some() && self.tasks[id.idx()].ended_at.is_none();
        self.task_ids.iter().copied().filter(alive).collect()
    }

    /// Makes a group.
    pub fn create_group(&mut self, parent: GroupId, path: &str) -> GroupId {
        self.change(|s| s.make_group(parent, path))
    }

    /// Sets `cpu.shares`.
    ///
    /// # Errors
    /// As [`Sched::set_shares`](fairwind_sched::Sched::set_shares).
    pub fn set_shares(&mut self, group: GroupId, shares: u64) -> Result<(), GroupError> {
        let now = self.now;
        self.change(|s| s.sched.set_shares(group, shares, now))
    }

    /// Sets `cpu.idle`.
    ///
    /// # Errors
    /// As [`Sched::set_idle`](fairwind_sched::Sched::set_idle).
    pub fn set_group_idle(&mut self, group: GroupId, idle: bool) -> Result<(), GroupError> {
        let now = self.now;
        self.change(|s| s.sched.set_idle(group, idle, now))
    }

    /// Sets `cpu.max` and `cpu.max.burst`.
    ///
    /// # Errors
    /// As [`Sched::set_bandwidth`](fairwind_sched::Sched::set_bandwidth).
    pub fn set_bandwidth(
        &mut self,
        group: GroupId,
        limit: BandwidthLimit,
    ) -> Result<(), GroupError> {
        let now = self.now;
        self.change(|s| s.sched.set_bandwidth(group, limit, now))
    }

    /// Renices a task.
    pub fn set_nice(&mut self, task: TaskId, nice: i32) {
        let now = self.now;
        self.change(|s| s.sched.set_user_nice(task, nice, now));
    }

    /// Sets the CPUs a task may use.
    ///
    /// # Errors
    /// If none of them is up.
    pub fn set_cpus_allowed(&mut self, task: TaskId, cpus: &CpuMask) -> Result<(), NoCpu> {
        let now = self.now;
        self.change(|s| s.sched.set_cpus_allowed(task, cpus, now))
    }

    /// Moves a task to another group.
    pub fn move_task(&mut self, task: TaskId, group: GroupId) {
        self.change(|s| s.move_to_group(task, group));
    }

    /// Takes a CPU offline.
    ///
    /// # Errors
    /// If it is the last one, or offline.
    pub fn cpu_down(&mut self, cpu: CpuId) -> Result<(), HotplugError> {
        let now = self.now;
        self.change(|s| s.sched.cpu_down(cpu, now))
    }

    /// Brings a CPU back.
    ///
    /// # Errors
    /// If it is online.
    pub fn cpu_up(&mut self, cpu: CpuId) -> Result<(), HotplugError> {
        let now = self.now;
        self.change(|s| s.sched.cpu_up(cpu, now))
    }
}
