//! One action of a program.

use super::step::wake_first;
use super::stream::Progress;
use super::{Effects, Runtime, Step};
use crate::action::{Action, Call, Since};
use crate::spec::MutexId;

impl Runtime {
    #[inline]
    pub(super) fn act(
        &mut self,
        task: usize,
        action: Action,
        now_ns: u64,
        out: &mut Effects,
    ) -> Option<Step> {
        let id = task as u32;
        let state = &mut self.tasks[task];
        match action {
            Action::Read { stream, bytes } => {
                return state.read(id, stream, bytes, &mut self.streams, &mut self.links, out);
            }
            Action::Write { stream, bytes } => {
                return state.write(id, stream, bytes, &mut self.streams, &mut self.links, out);
            }
            Action::Poll(stream) => return self.poll(id, stream),
            Action::Create(spec) => return self.create(id, spec, out),
            Action::Reap => return self.reap(id),
            Action::Compute { ns } => {
                state.pc += 1;
                state.timed = true;
                return Some(Step::Run {
                    work_ns: self.draws.vary(ns),
                });
            }
            Action::Exec => {
                state.timed = true;
                if !state.call.begun {
                    state.call.begun = true;
                    return Some(Step::Exec);
                }
                state.call = Progress::default();
                state.pc += 1;
                return Some(Step::Call {
                    call: Call::Exec,
                    bytes: 0,
                    stream: None,
                });
            }
            Action::Stamp(clock) => self.measures.stamp(clock, now_ns),
            Action::Count { counter, by } => self.measures.count(counter, by),
            Action::Post(sem) => {
                let sem = &mut self.semaphores[sem.of(state.instance) as usize];
                sem.value += 1;
                state.timed |= wake_first(&mut sem.waiters, &mut self.links, out);
            }
            Action::Take(sem) => {
                let sem = &mut self.semaphores[sem.of(state.instance) as usize];
                if sem.value == 0 {
                    state.timed = true;
                    sem.waiters.push(id, &mut self.links);
                    return Some(Step::Block);
                }
                sem.value -= 1;
            }
            Action::Choose {
                first,
                count,
                turns,
            } => {
                let next = self.measures.counter(turns) % u64::from(count);
                self.measures.count(turns, 1);
                state.chosen = MutexId(first + next as u32);
            }
            Action::LockChosen => {
                let mutex = state.chosen;
                return self.lock(id, mutex, out);
            }
            Action::UnlockChosen => {
                let mutex = state.chosen;
                self.unlock(id, mutex, out);
            }
            Action::StartLap => state.lap_ns = now_ns,
            Action::Record { into, since } => {
                let ns = match since {
                    Since::Wakeup => state.wakeup_ns,
                    Since::Lap => now_ns - state.lap_ns,
                };
                self.measures.record(into, ns);
            }
        }
        self.tasks[task].pc += 1;
        None
    }
}
