//! A task as events name it, encoded.

use super::schema::{ftrace_event, generic, sched_wakeup};
use super::wire::{bytes, keys, message, signed, unsigned};
use crate::piece::Piece;
use crate::roster::Task;

/// What events say of a task.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Of an event while it runs: the pid.
    pub(super) running: Piece<8>,
    /// Of an event about it: its comm, then its pid, under the numbers that most events have for them.
    comm_and_pid: Piece<24>,
    /// Where the pid's key is in that.
    pid_at: usize,
    /// Of a generic event: fields for its comm and its pid.
    pub(super) generic: Piece<48>,
}

impl Name {
    pub(super) fn new(task: &Task) -> Name {
        let comm = task.comm.as_bytes();
        let piece = |fill: &dyn Fn(&mut Vec<u8>)| {
            let mut fields = Vec::new();
            fill(&mut fields);
            fields
        };
        let running = piece(&|out| unsigned(out, ftrace_event::PID, task.pid));
        let comm_and_pid = piece(&|out| {
            bytes(out, sched_wakeup::COMM, comm);
            unsigned(out, sched_wakeup::PID, task.pid);
        });
        let generic = piece(&|out| {
            message(out, generic::FIELD, |out| {
                bytes(out, generic::FIELD_NAME, b"comm");
                bytes(out, generic::FIELD_STR_VALUE, comm);
            });
            message(out, generic::FIELD, |out| {
                bytes(out, generic::FIELD_NAME, b"pid");
                signed(out, generic::FIELD_INT_VALUE, task.pid);
            });
        });
        Name {
            running: Piece::new(&running),
            comm_and_pid: Piece::new(&comm_and_pid),
            pid_at: 2 + comm.len(),
            generic: Piece::new(&generic),
        }
    }

    /// Writes comm and pid under these numbers.
    #[inline(always)]
    pub(super) fn comm_and_pid(&self, out: &mut Vec<u8>, comm: u32, pid: u32) {
        let start = out.len();
        self.comm_and_pid.put(out);
        if (comm, pid) != (sched_wakeup::COMM, sched_wakeup::PID) {
            let [comm, pid] = keys(comm, pid);
            out[start] = comm;
            out[start + self.pid_at] = pid;
        }
    }
}
