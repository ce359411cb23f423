//! Tasks that make others and wait for their ends.
//!
//! Model.       A child is an instance of a task of the workload; instances are numbered in the order they are made. A
//!              process that ends wakes its parent if that is in wait(); a thread that ends wakes whoever joins it. To
//!              reap is to join one's threads in the order they were made, and then to wait for one's processes one by one.
//! Source.      kernel/exit.c `do_notify_parent` with `__wake_up_parent`, `do_wait`; kernel/fork.c `mm_release`;
//!              glibc 2.36 nptl/pthread_join_common.c @ 6.12.

use super::program::NONE;
use super::stream::Progress;
use super::{Effect, Effects, Life, Runtime, Step};
use crate::action::{Call, Launch};
use crate::spec::TaskSpecId;

/// A task's relatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) parent: u32,
    /// Threads to join: the first, the last, and the one made after this task by the same parent.
    first: u32,
    last: u32,
    next: u32,
    /// Processes made and not waited for, and those of them that have ended.
    processes: u32,
    ended: u32,
    /// It is in wait().
    waits: bool,
    /// Who joins this thread.
    joiner: u32,
}

impl Family {
    pub(super) fn of(parent: u32) -> Family {
        Family {
            parent,
            first: NONE,
            last: NONE,
            next: NONE,
            processes: 0,
            ended: 0,
            waits: false,
            joiner: NONE,
        }
    }
}

impl Runtime {
    /// Who made a task; [`NONE`]: it is there at the start.
    pub(super) fn parent(&self, task: usize) -> u32 {
        self.families.get(task).map_or(NONE, |family| family.parent)
    }

    /// The address space a task runs in: 0, that of rt-app's threads; others are one more than the number of the task
    /// whose it is.
    pub fn address_space(&self, task: usize) -> u32 {
        self.tasks[task].mm
    }

    pub(super) fn create(
        &mut self,
        task: u32,
        spec: TaskSpecId,
        out: &mut Effects,
    ) -> Option<Step> {
        let launch = self.program.tasks[spec.idx()].launch;
        let state = &mut self.tasks[task as usize];
        if !state.call.begun {
            state.call.begun = true;
            state.timed = true;
            let call = if launch == Launch::Process {
                Call::Fork
            } else {
                Call::Clone
            };
            return Some(Step::Call {
                call,
                bytes: 0,
                stream: None,
            });
        }
        state.call = Progress::default();
        state.pc += 1;
        let child = self.add_child(spec, task);
        let family = &mut self.families[task as usize];
        if launch == Launch::Process {
            family.processes += 1;
        } else {
            let before = std::mem::replace(&mut family.last, child);
            if before == NONE {
                family.first = child;
            } else {
                self.families[before as usize].next = child;
            }
        }
        out.list.push(Effect::Fork {
            task: child as usize,
            spec,
        });
        None
    }

    pub(super) fn reap(&mut self, task: u32) -> Option<Step> {
        let thread = self.families[task as usize].first;
        if thread != NONE {
            if self.tasks[thread as usize].life != Life::Exited {
                self.families[thread as usize].joiner = task;
                return Some(Step::Block);
            }
            let next = self.families[thread as usize].next;
            let family = &mut self.families[task as usize];
            family.first = next;
            if next == NONE {
                family.last = NONE;
            }
            return None;
        }
        let state = &mut self.tasks[task as usize];
        let family = &mut self.families[task as usize];
        if family.processes == 0 {
            state.pc += 1;
            return None;
        }
        if !state.call.begun {
            state.call.begun = true;
            state.timed = true;
            return Some(Step::Call {
                call: Call::Wait,
                bytes: 0,
                stream: None,
            });
        }
        if family.ended == 0 {
            family.waits = true;
            return Some(Step::Wait);
        }
        family.ended -= 1;
        family.processes -= 1;
        state.call = Progress::default();
        None
    }

    /// The end of a task, in two steps where it costs something.
    pub(super) fn exit(&mut self, task: usize, out: &mut Effects) -> Step {
        let launch = self.program.tasks[self.tasks[task].spec.idx()].launch;
        let state = &mut self.tasks[task];
        if launch != Launch::WithTheRun && state.life == Life::Alive {
            state.life = Life::Exiting;
            let call = if launch == Launch::Process {
                Call::ExitProcess
            } else {
                Call::ExitThread
            };
            return Step::Call {
                call,
                bytes: 0,
                stream: None,
            };
        }
        state.life = Life::Exited;
        self.nr_alive -= 1;
        let spec = state.spec;
        self.nr_awaited -= usize::from(!self.program.tasks[spec.idx()].background);
        let Some(&Family { parent, joiner, .. }) = self.families.get(task) else {
            return Step::Exit;
        };
        if joiner != NONE {
            out.list.push(Effect::WakeFromCall {
                task: joiner as usize,
                sync: false,
            });
        }
        if launch == Launch::Process && parent != NONE {
            let family = &mut self.families[parent as usize];
            family.ended += 1;
            if std::mem::take(&mut family.waits) {
                out.list.push(Effect::WakeFromCall {
                    task: parent as usize,
                    sync: true,
                });
            }
        }
        Step::Exit
    }
}
