//! One step of one task.
//!
//! Model.       Operations are carried out until one takes time, blocks or ends the task. An
//!              operation that blocks leaves the task at the operation that follows the wakeup:
//!              itself, where the task must try again.

use super::program::{NONE, Op, touched};
use super::queue::{Link, Queue};
use super::{AttrsId, Effect, Effects, FORKS_LIMIT, Life, LoopRow, Origin, Runtime, Step};
use crate::action::Launch;
use crate::spec::{Loops, MemoryUse, MutexId, TaskSpecId};

impl Runtime {
    /// Tells what a task does next, at `now_ns`. The task is on a CPU and done with its last step.
    /// What it does to others is appended to `out`.
    ///
    /// # Panics
    /// If the task has ended.
    pub fn step(&mut self, task: usize, now_ns: u64, out: &mut Effects) -> Step {
        debug_assert!(
            !self.links[task].queued,
            "task {task} is not woken at {now_ns}"
        );
        match self.tasks[task].life {
            Life::Alive => {}
            Life::Exiting => return self.exit(task, out),
            Life::Exited => panic!("task {task} has ended at {now_ns}"),
        }
        loop {
            if let Some(step) = self.operate(task, now_ns, out) {
                return step;
            }
        }
    }

    #[inline]
    fn operate(&mut self, task: usize, now_ns: u64, out: &mut Effects) -> Option<Step> {
        let id = task as u32;
        let state = &mut self.tasks[task];
        match self.program.ops[state.pc as usize] {
            Op::Start => {
                if now_ns < state.first_ns {
                    return Some(Step::SleepUntil(state.first_ns));
                }
                state.begun_ns = now_ns;
                if self.program.tasks[state.spec.idx()].loops == Loops::Times(0) {
                    return Some(self.exit(task, out));
                }
                state.pc += 1;
            }
            Op::PhaseBegin { phase } => return self.begin_phase(task, phase, now_ns),
            Op::PhaseEnd { phase } => return self.end_phase(task, phase, now_ns, out),
            Op::Run { ns } => {
                state.pc += 1;
                if let Some(log) = self.logs.get_mut(task) {
                    log.row.c_duration_ns += ns;
                }
                state.mark_ns = now_ns;
                if ns > 0 {
                    state.timed = true;
                    return Some(Step::Run { work_ns: ns });
                }
            }
            Op::RunTime { ns } => {
                state.pc += 1;
                if let Some(log) = self.logs.get_mut(task) {
                    log.row.c_duration_ns += ns;
                }
                state.mark_ns = now_ns;
                if ns > 0 {
                    state.timed = true;
                    return Some(Step::RunTime {
                        until_ns: now_ns + ns,
                    });
                }
            }
            Op::RunDone => {
                state.pc += 1;
                if let Some(log) = self.logs.get_mut(task) {
                    log.row.run_ns += now_ns - state.mark_ns;
                }
            }
            Op::Sleep { ns } => {
                state.pc += 1;
                state.timed |= ns > 0;
                return Some(Step::SleepUntil(now_ns + ns));
            }
            Op::Timer {
                timer,
                unique,
                period_ns,
            } => {
                return self.timer(task, timer, unique, period_ns, now_ns);
            }
            Op::TimerWoke => {
                state.pc += 1;
                if let Some(log) = self.logs.get_mut(task) {
                    log.row.wu_lat_ns += now_ns.saturating_sub(state.mark_ns);
                }
            }
            Op::Memory(memory) => {
                state.pc += 1;
                let MemoryUse {
                    kind,
                    count,
                    buffer,
                } = memory;
                if count > 0 {
                    state.timed = true;
                    let working_set = touched(&memory, &self.buffers[buffer.idx()]);
                    return Some(Step::Memory {
                        kind,
                        count,
                        buffer,
                        working_set,
                    });
                }
            }
            Op::IoRun { bytes } => {
                state.pc += 1;
                if self.device_waits && bytes > 0 {
                    state.timed = true;
                    let transfer = u64::from(bytes) * 1_000_000 / self.options.io_bytes_per_ms;
                    return Some(Step::Io {
                        ns: (self.options.io_latency_ns + transfer).max(1),
                    });
                }
            }
            Op::Lock(mutex) => return self.lock(id, mutex, out),
            Op::Unlock(mutex) => {
                state.pc += 1;
                self.unlock(id, mutex, out);
            }
            Op::CondWait { cond, mutex } => {
                state.pc += 1;
                state.contended = true;
                self.unlock(id, mutex, out);
                self.conds[cond.idx()].push(id, &mut self.links);
                return Some(Step::Block);
            }
            Op::Signal(cond) => {
                state.pc += 1;
                wake_first(&mut self.conds[cond.idx()], &mut self.links, out);
            }
            Op::Broadcast(cond) => {
                state.pc += 1;
                while wake_first(&mut self.conds[cond.idx()], &mut self.links, out) {}
            }
            Op::BarrierArrive(barrier) => {
                let barrier = &mut self.barriers[barrier.idx()];
                if barrier.missing == 0 {
                    // Those that leave count themselves back in.
                    state.pc += 2;
                    while wake_first(&mut barrier.waiters, &mut self.links, out) {}
                } else {
                    state.pc += 1;
                    barrier.missing -= 1;
                    barrier.waiters.push(id, &mut self.links);
                    return Some(Step::Block);
                }
            }
            Op::BarrierLeave(barrier) => {
                state.pc += 1;
                self.barriers[barrier.idx()].missing += 1;
            }
            Op::SemPost(sem) => {
                state.pc += 1;
                if self.semaphores[sem.idx()].crosses {
                    out.list.push(Effect::Notify { semaphore: sem });
                } else {
                    self.post(sem, out);
                }
            }
            Op::SemWait(sem) => {
                let sem = &mut self.semaphores[sem.idx()];
                if sem.value == 0 {
                    sem.waiters.push(id, &mut self.links);
                    return Some(Step::Block);
                }
                sem.value -= 1;
                state.pc += 1;
            }
            Op::SpinLock(lock) => {
                state.pc += 1;
                return Some(Step::SpinLock(lock));
            }
            Op::SpinUnlock(lock) => {
                state.pc += 1;
                return Some(Step::SpinUnlock(lock));
            }
            Op::Yield => {
                state.pc += 1;
                return Some(Step::Yield);
            }
            Op::Fork(spec) => {
                state.pc += 1;
                self.fork(spec, out);
            }
            Op::Program(action) => return self.act(task, action, now_ns, out),
        }
        None
    }

    fn begin_phase(&mut self, task: usize, phase: u32, now_ns: u64) -> Option<Step> {
        let program = self.program.phases[phase as usize];
        let state = &mut self.tasks[task];
        if program.attrs != NONE && program.attrs != state.applied {
            state.applied = program.attrs;
            self.note_priority(task, program.attrs);
            return Some(Step::SetAttrs(AttrsId(program.attrs)));
        }
        state.pc += 1;
        state.timed = false;
        if state.phase_loop == 0 {
            state.phase_ns = now_ns;
        }
        if let Some(log) = self.logs.get_mut(task) {
            let first = self.program.tasks[state.spec.idx()].first_phase;
            log.row = LoopRow {
                task,
                phase: phase - first,
                start_ns: now_ns,
                ..LoopRow::default()
            };
        }
        None
    }

    fn end_phase(
        &mut self,
        task: usize,
        phase: u32,
        now_ns: u64,
        out: &mut Effects,
    ) -> Option<Step> {
        let program = self.program.phases[phase as usize];
        let state = &mut self.tasks[task];
        state.loops += 1;
        if let Some(log) = self.logs.get_mut(task) {
            out.rows.push(log.end(now_ns));
        }
        state.phase_loop = state.phase_loop.wrapping_add(1);
        if again(program.loops, state.phase_loop, now_ns - state.phase_ns) {
            state.pc = program.begin;
        } else {
            state.phase_loop = 0;
            if program.last {
                let own = &self.program.tasks[state.spec.idx()];
                state.task_loop = state.task_loop.wrapping_add(1);
                if !again(own.loops, state.task_loop, now_ns - state.begun_ns) {
                    return Some(self.exit(task, out));
                }
                state.pc = self.program.phases[own.first_phase as usize].begin;
            } else {
                state.pc = self.program.phases[phase as usize + 1].begin;
                if self.program.tasks[state.spec.idx()].launch != Launch::WithTheRun {
                    // A program goes on to its next phase; only what it comes back to could stop the clock.
                    return None;
                }
            }
        }
        (!state.timed).then_some(Step::Run {
            work_ns: self.options.loop_overhead_ns,
        })
    }

    /// A timer's period ends a period after its last end, or after the task's start. A relative
    /// timer that is missed goes on from now.
    fn timer(
        &mut self,
        task: usize,
        timer: u32,
        unique: bool,
        period_ns: u64,
        now_ns: u64,
    ) -> Option<Step> {
        let state = &mut self.tasks[task];
        let base = if unique { state.timers } else { 0 };
        let timer = &mut self.timers[(base + timer) as usize];
        let next_ns = timer.next_ns.unwrap_or(state.first_ns) + period_ns;
        timer.next_ns = Some(next_ns);
        if let Some(log) = self.logs.get_mut(task) {
            log.row
                .timer(period_ns, next_ns, now_ns, self.cumulative_slack);
        }
        if now_ns < next_ns {
            state.pc += 1;
            state.mark_ns = next_ns;
            state.timed = true;
            return Some(Step::SleepUntil(next_ns));
        }
        state.pc += 2;
        if timer.relative {
            timer.next_ns = Some(now_ns);
        }
        None
    }

    /// Takes a mutex, or waits for it.
    pub(super) fn lock(&mut self, task: u32, mutex: MutexId, out: &mut Effects) -> Option<Step> {
        let state = &mut self.tasks[task as usize];
        let taken = match &mut self.pi {
            Some(pi) => {
                // Whoever waits is woken as the owner.
                state.pc += 1;
                pi.lock(task, mutex, &mut self.links, out)
            }
            None => {
                let contended = state.contended;
                let taken = self.mutexes.lock(task, mutex, contended, &mut self.links);
                state.contended = !taken;
                state.pc += u32::from(taken);
                taken
            }
        };
        (!taken).then_some(Step::Block)
    }

    pub(super) fn unlock(&mut self, task: u32, mutex: MutexId, out: &mut Effects) {
        match &mut self.pi {
            Some(pi) => pi.unlock(task, mutex, &mut self.links, out),
            None => self.mutexes.unlock(mutex, &mut self.links, out),
        }
    }

    fn fork(&mut self, spec: TaskSpecId, out: &mut Effects) {
        let forks = self.forks[spec.idx()];
        if forks == FORKS_LIMIT {
            self.forks_refused += 1;
            return;
        }
        self.forks[spec.idx()] = forks + 1;
        let task = self.add_task(spec, Origin::Fork(forks));
        out.list.push(Effect::Fork { task, spec });
    }
}

/// After so many times, and so much time: once more?
#[inline]
fn again(loops: Loops, done: u32, ns_since: u64) -> bool {
    match loops {
        Loops::Forever => true,
        Loops::Times(times) => times != done,
        Loops::For { ns } => ns_since < ns,
    }
}

/// Wakes the first waiter; false: there was none.
#[inline]
pub(super) fn wake_first(queue: &mut Queue, links: &mut [Link], out: &mut Effects) -> bool {
    match queue.pop(links) {
        Some(task) => {
            out.list.push(Effect::Wake {
                task: task as usize,
                sync: false,
            });
            true
        }
        None => false,
    }
}
