//! One direction of a TCP connection over loopback.
//!
//! Model.       What is sent arrives at once: the softirq that receives it runs on the sender's CPU, as part of the send,
//!              and wakes all who wait for data. A receiver that does not read fills its window; then senders wait, until
//!              half of it is free again.
//! Units.       Bytes.
//! Source.      net/ipv4/tcp.c `tcp_sendmsg_locked`, `tcp_recvmsg_locked`; drivers/net/loopback.c `loopback_xmit`;
//!              net/core/sock.c `sock_def_readable` @ 6.12; tcp(7): a receive buffer of 131072 bytes, half of it window.
//! Deviations.  TCP windows do not grow, and acknowledgements cost nothing: in request and response they travel with the
//!              data.

use super::{Progress, Waiters};
use crate::runtime::Effects;
use crate::runtime::queue::Link;

/// Bytes that may be under way and unread.
const WINDOW: u32 = 65_536;

/// The receive queue.
#[derive(Clone, Debug)]
pub(super) struct Tcp {
    queued: u32,
    /// Senders wait for room.
    full: bool,
}

impl Tcp {
    pub(super) fn new() -> Tcp {
        Tcp {
            queued: 0,
            full: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    pub(super) fn write(
        &mut self,
        task: u32,
        bytes: u32,
        call: &mut Progress,
        waiters: &mut Waiters,
        links: &mut [Link],
        out: &mut Effects,
    ) -> bool {
        let part = (bytes - call.moved).min(WINDOW - self.queued);
        if part > 0 {
            self.queued += part;
            call.moved += part;
            waiters.readers.wake(links, out);
        }
        if call.moved < bytes {
            self.full = true;
            waiters.writers.wait(task, false, links);
        }
        call.moved == bytes
    }

    pub(super) fn read(
        &mut self,
        task: u32,
        bytes: u32,
        call: &mut Progress,
        waiters: &mut Waiters,
        links: &mut [Link],
        out: &mut Effects,
    ) -> Option<u32> {
        if self.is_empty() {
            call.waited = true;
            waiters.readers.wait(task, false, links);
            return None;
        }
        let got = bytes.min(self.queued);
        self.queued -= got;
        if self.full && self.queued <= WINDOW / 2 {
            self.full = false;
            waiters.writers.wake(links, out);
        }
        Some(got)
    }
}
