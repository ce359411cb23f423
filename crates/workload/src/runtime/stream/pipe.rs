//! A pipe: a ring of 16 pages.
//!
//! Model.       A write goes on filling the last page if all of its odd part fits there, and then takes whole pages. A
//!              page is given back when all that was written to it has been read. Readers are woken by a write that found
//!              the pipe empty, or by every write once somebody has polled it; writers by a read that found it full. A
//!              task that waited itself wakes the next of its kind if there is something left for it.
//! Units.       Bytes.
//! Source.      fs/pipe.c `pipe_write`, `pipe_read`, `pipe_poll` @ 6.12; 6.1 does the same.

use super::Caller;

/// Pages of a pipe (`PIPE_DEF_BUFFERS`).
const SLOTS: usize = 16;
/// Bytes of a page.
const PAGE: u32 = 4096;

/// A page in use.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    written: u32,
    read: u32,
}

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    slots: [Slot; SLOTS],
    /// Pages taken and given back so far.
    head: u32,
    tail: u32,
    /// Somebody has polled it.
    poll_usage: bool,
}

impl Pipe {
    pub(super) fn new() -> Pipe {
        Pipe {
            slots: [Slot::default(); SLOTS],
            head: 0,
            tail: 0,
            poll_usage: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    fn is_full(&self) -> bool {
        self.head.wrapping_sub(self.tail) as usize == SLOTS
    }

    fn slot(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[number as usize % SLOTS]
    }

    /// Adds to the last page if all of it fits there; how much was added.
    fn merge(&mut self, bytes: u32) -> u32 {
        if self.is_empty() {
            return 0;
        }
        let last = self.slot(self.head.wrapping_sub(1));
        if last.written + bytes > PAGE {
            return 0;
        }
        last.written += bytes;
        bytes
    }

    /// Takes new pages while there are some; how much went into them.
    fn fill(&mut self, bytes: u32) -> u32 {
        let mut filled = 0;
        while filled < bytes && !self.is_full() {
            let part = (bytes - filled).min(PAGE);
            *self.slot(self.head) = Slot {
                written: part,
                read: 0,
            };
            self.head = self.head.wrapping_add(1);
            filled += part;
        }
        filled
    }

    /// Reads at most so many bytes; how many there were.
    fn drain(&mut self, bytes: u32) -> u32 {
        let mut drained = 0;
        while drained < bytes && !self.is_empty() {
            let first = self.slot(self.tail);
            let part = (first.written - first.read).min(bytes - drained);
            first.read += part;
            drained += part;
            if first.read == first.written {
                self.tail = self.tail.wrapping_add(1);
            }
        }
        drained
    }

    pub(super) fn write(&mut self, bytes: u32, caller: &mut Caller) -> bool {
        if caller.call.waited && self.is_full() {
            caller.wait_for_room(true);
            return false;
        }
        let was_empty = self.is_empty();
        if !caller.call.waited {
            caller.call.moved += self.merge(bytes % PAGE);
        }
        caller.call.moved += self.fill(bytes - caller.call.moved);
        if caller.call.moved < bytes {
            if was_empty {
                caller.wake_readers();
            }
            caller.call.waited = true;
            caller.wait_for_room(true);
            return false;
        }
        if was_empty || self.poll_usage {
            caller.wake_readers();
        }
        if caller.call.waited && !self.is_full() {
            caller.wake_writers();
        }
        true
    }

    pub(super) fn read(&mut self, bytes: u32, caller: &mut Caller) -> Option<u32> {
        if self.is_empty() {
            caller.call.waited = true;
            caller.wait_for_bytes(true);
            return None;
        }
        let was_full = self.is_full();
        let got = self.drain(bytes);
        if was_full {
            caller.wake_writers();
        }
        if caller.call.waited && !self.is_empty() {
            caller.wake_readers();
        }
        Some(got)
    }

    /// Marks it as polled; is it empty?
    pub(super) fn poll(&mut self) -> bool {
        self.poll_usage = true;
        self.is_empty()
    }
}
