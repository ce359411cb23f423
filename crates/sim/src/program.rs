//! What a task does next on its CPU: one step of its program.

use crate::event::Event;
use crate::simulation::Simulation;
use crate::task_run::Activity;
use fairwind_sched::flags::WF_SYNC;
use fairwind_sched::{CpuId, TaskId, TaskState};
use fairwind_workload::{Effect, MemoryKind, Step};
use std::collections::btree_map::Entry;

impl Simulation {
    /// Takes the running task's next step.
    pub(crate) fn program_step(&mut self, cpu: CpuId, curr: TaskId) {
        let program = self.tasks[curr.idx()].program as usize;
        let step = self
            .runtime
            .step(program, self.now, &mut self.program_effects);
        if !self.program_effects.list.is_empty() {
            self.carry_out_program_effects(cpu, curr);
        }
        self.carry_out_effects(cpu);
        match step {
            Step::Run { work_ns } => self.tasks[curr.idx()].work_left = work_ns << 10,
            Step::RunTime { until_ns } => {
                self.tasks[curr.idx()].activity = Activity::Until(until_ns)
            }
            Step::Memory {
                kind,
                count,
                working_set,
                ..
            } => self.use_memory(curr, kind, count, working_set),
            Step::Call {
                call,
                bytes,
                stream,
            } => {
                let ns = self.call_ns(cpu, call, bytes, stream);
                self.tasks[curr.idx()].call_left = ns;
            }
            Step::Fetch {
                call,
                bytes,
                stream,
            } => self.tasks[curr.idx()].call_left = self.fetch_ns(cpu, call, bytes, stream),
            Step::Wait => self.go_to_sleep(cpu, TaskState::Interruptible),
            Step::Exec => {
                self.sched.sched_exec(cpu, self.now);
                self.carry_out_effects(cpu);
            }
            Step::SleepUntil(until) => {
                if until > self.now {
                    self.block(cpu, TaskState::Interruptible, Some(until));
                }
            }
            Step::Block => self.block(cpu, TaskState::Interruptible, None),
            Step::Io { ns } => self.block(cpu, TaskState::Uninterruptible, Some(self.now + ns)),
            Step::SpinLock(lock) => self.spin_lock(cpu, curr, lock),
            Step::SpinUnlock(lock) => self.spin_unlock(cpu, curr, lock),
            Step::Yield => {
                self.cpus[cpu.idx()].debt += self.machine.costs.kernel.syscall_ns;
                self.sched.sched_yield(cpu, self.now);
                self.switch(cpu);
            }
            Step::SetAttrs(id) => {
                let attrs = self.runtime.attrs(id).clone();
                self.apply_attrs(cpu, curr, &attrs);
                self.carry_out_effects(cpu);
            }
            Step::Exit => {
                self.tasks[curr.idx()].ended_at = Some(self.now);
                if let Some(tracer) = &mut self.tracer {
                    tracer.exit(self.now, cpu, &self.sched, curr);
                }
                self.block(cpu, TaskState::Dead, None);
            }
        }
    }

    /// The running task sleeps (or dies), until a time or until it is woken.
    fn block(&mut self, cpu: CpuId, state: TaskState, until: Option<u64>) {
        let kernel = &self.machine.costs.kernel;
        let c = &mut self.cpus[cpu.idx()];
        c.debt += kernel.syscall_ns;
        if let Some(until) = until {
            c.debt += kernel.timer_ns;
            c.arm_timer(self.now, until);
            let task = self.tasks[c.running.idx()].program;
            self.queue.push(
                until,
                Event::Timer {
                    task,
                    cpu,
                    awake: false,
                },
            );
        }
        self.go_to_sleep(cpu, state);
    }

    fn carry_out_program_effects(&mut self, cpu: CpuId, curr: TaskId) {
        let mut next = 0;
        while let Some(&effect) = self.program_effects.list.get(next) {
            self.program_effect(cpu, curr, effect);
            next += 1;
        }
        self.program_effects.clear();
    }

    fn program_effect(&mut self, cpu: CpuId, curr: TaskId, effect: Effect) {
        match effect {
            Effect::Wake { task, sync } => {
                let id = self.task_ids[task];
                self.cpus[cpu.idx()].debt += self.machine.costs.kernel.syscall_ns;
                self.wake_from_program(cpu, id, if sync { WF_SYNC } else { 0 });
            }
            Effect::WakeFromCall { task, sync } => {
                let id = self.task_ids[task];
                self.wake_from_program(cpu, id, if sync { WF_SYNC } else { 0 });
            }
            Effect::Notify { semaphore } => self.notify(cpu, semaphore),
            Effect::Fork { task, .. } => self.fork_task(cpu, curr, task),
            Effect::Boost { owner, donor } => {
                let (owner, donor) = (self.task_ids[owner], self.task_ids[donor]);
                self.donors.entry(owner).or_default().push(donor);
                self.set_boost(owner);
            }
            Effect::Unboost { owner, donor } => {
                let (owner, donor) = (self.task_ids[owner], self.task_ids[donor]);
                if let Entry::Occupied(mut donors) = self.donors.entry(owner) {
                    donors.get_mut().retain(|&d| d != donor);
                    if donors.get().is_empty() {
                        donors.remove();
                    }
                }
                self.set_boost(owner);
            }
        }
    }

    /// Lends a task the strongest priority among those who wait for it.
    fn set_boost(&mut self, owner: TaskId) {
        let donors = self.donors.get(&owner).into_iter().flatten();
        let donor = donors
            .copied()
            .min_by_key(|&donor| self.sched.tasks[donor].prio);
        self.sched.rt_mutex_setprio(owner, donor, self.now);
    }

    /// Time to use memory: each line costs what the level it fits in costs, many at a time unless each waits for the
    /// one before.
    fn use_memory(&mut self, curr: TaskId, kind: MemoryKind, count: u32, touched: u64) {
        let caches = &self.machine.caches;
        let costs = &self.machine.costs.refill;
        let line_ps = if touched <= caches.l1d_bytes {
            0
        } else if touched <= caches.l2_bytes {
            costs.l2_line_ps
        } else if touched <= caches.llc_bytes {
            costs.llc_line_ps
        } else {
            costs.memory_local_line_ps
        };
        let (lines, overlap) = match kind {
            MemoryKind::Chase => (u64::from(count), 1),
            MemoryKind::Set | MemoryKind::Write | MemoryKind::Read => (
                u64::from(count).div_ceil(caches.line_bytes.max(1)),
                u64::from(costs.typical_overlap.max(1)),
            ),
        };
        let run = &mut self.tasks[curr.idx()];
        // At least a nanosecond of work a line, whatever the machine.
        run.work_left = lines.max(1) << 10;
        run.stall_left += lines * line_ps / overlap / 1000;
        run.working_set = run.working_set.max(touched);
    }
}
