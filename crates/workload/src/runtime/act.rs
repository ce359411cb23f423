//! One action of a program.

use super::stream::Progress;
use super::{Effects, Runtime, Step};
use crate::action::{Action, Call, Since};

impl Runtime {
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
            Action::Read { stream, bytes } => return self.read(id, stream, bytes, out),
            Action::Write { stream, bytes } => return self.write(id, stream, bytes, out),
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
            Action::Count(counter) => self.measures.count(counter),
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
