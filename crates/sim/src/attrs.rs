//! Giving tasks the attributes their program asks for.

use crate::simulation::Simulation;
use fairwind_sched::task::MaskId;
use fairwind_sched::{CpuId, CpuMask, GroupId, Policy, SchedAttr, TaskId, TaskState};
use fairwind_workload::{Affinity, Attrs, Policy as ProgramPolicy};

/// The scheduler's word for a policy.
fn policy_of(policy: ProgramPolicy) -> Policy {
    match policy {
        ProgramPolicy::Other => Policy::Normal,
        ProgramPolicy::Batch => Policy::Batch,
        ProgramPolicy::Idle => Policy::Idle,
        ProgramPolicy::Rr => Policy::Rr,
        ProgramPolicy::Fifo => Policy::Fifo,
        ProgramPolicy::Deadline => Policy::Deadline,
    }
}

impl Simulation {
    /// Sets what `attrs` states on a task that was forked on, or runs on, `cpu`.
    pub(crate) fn apply_attrs(&mut self, cpu: CpuId, task: TaskId, attrs: &Attrs) {
        if let Some(group) = attrs.group {
            let group = self.group_ids[group.idx()];
            if self.sched.tasks[task].state == TaskState::New {
                self.sched.set_new_task_group(task, group);
            } else {
                self.move_to_group(task, group);
            }
            if let Some(tracer) = &mut self.tracer {
                tracer.attach(self.now, cpu, &self.sched, task, group);
            }
        }
        if attrs.policy.is_some() || attrs.priority.is_some() || attrs.deadline.is_some() {
            self.set_policy(task, attrs);
        }
        if attrs.cpus.is_some() || attrs.group.is_some() {
            self.set_affinity(task, attrs.cpus.as_ref());
        }
        if attrs.util_min.is_some() || attrs.util_max.is_some() {
            let [min, max] = self.sched.tasks[task].uclamp;
            let min = attrs.util_min.unwrap_or(min);
            let max = attrs.util_max.unwrap_or(max).max(min);
            self.sched
                .set_uclamp(task, min.min(1024), max.min(1024))
                .expect("clamps are in range");
        }
        if let Some(bytes) = attrs.working_set {
            self.tasks[task.idx()].working_set = bytes;
        }
    }

    /// Moves a task to another group. What it has used until now is the old group's.
    pub(crate) fn move_to_group(&mut self, task: TaskId, group: GroupId) {
        let cpu = self.sched.tasks[task].cpu;
        self.account(cpu);
        let waits = self.tasks[task.idx()].waiting_throttled_then.is_some();
        self.end_wait(task, cpu);
        self.sched.sched_move_task(task, group, self.now);
        if waits {
            self.begin_wait(task);
        }
        self.note_pressure(task);
    }

    fn set_policy(&mut self, task: TaskId, attrs: &Attrs) {
        let t = &self.sched.tasks[task];
        let policy = attrs.policy.map_or(t.policy, policy_of);
        let rt = matches!(policy, Policy::Fifo | Policy::Rr);
        let stated = attrs
            .priority
            .or(attrs.policy.map(|p| p.default_priority()));
        let nice = if policy.is_fair() {
            stated.unwrap_or_else(|| t.nice())
        } else {
            t.nice()
        };
        let runtime = match attrs.deadline {
            Some(params) if policy.is_fair() => u64::from(params.runtime_us) * 1000,
            _ => 0,
        };
        let attr = SchedAttr {
            policy,
            nice: nice.clamp(-20, 19),
            priority: if rt {
                stated.unwrap_or(t.rt_priority).clamp(1, 99)
            } else {
                0
            },
            runtime,
        };
        self.sched
            .sched_setscheduler(task, attr, self.now)
            .expect("attributes were checked when read");
    }

    /// The CPUs the task asks for, within those of its group.
    fn set_affinity(&mut self, task: TaskId, asked: Option<&Affinity>) {
        let nr_cpus = self.sched.nr_cpus();
        let mut mask = match asked {
            Some(Affinity::Cpus(cpus)) => CpuMask::of(
                nr_cpus,
                cpus.iter().map(|&c| CpuId(c)).filter(|c| c.idx() < nr_cpus),
            ),
            Some(Affinity::Inherited) => CpuMask::all(nr_cpus),
            None => self.sched.mask(self.sched.tasks[task].cpus).clone(),
        };
        let mut group = self.sched.tasks[task].group;
        while group.is_some() {
            let spec = self.group_ids.iter().position(|&g| g == group);
            if let Some(cpus) = spec.and_then(|s| self.workload.groups[s].cpus.as_ref()) {
                let within = CpuMask::of(
                    nr_cpus,
                    cpus.iter().map(|&c| CpuId(c)).filter(|c| c.idx() < nr_cpus),
                );
                let mut both = mask.clone();
                both.and_with(&within);
                // A task that asks for none of its group's CPUs gets the group's.
                mask = if both.is_empty() { within } else { both };
            }
            group = self.sched.groups[group].parent;
        }
        let id = self.sched.mask_id(&mask);
        if id != MaskId(0) || self.sched.tasks[task].cpus != id {
            // Refused only if none of them is up: then it keeps what it has.
            let _ = self.sched.set_cpus_allowed(task, &mask, self.now);
        }
    }
}
