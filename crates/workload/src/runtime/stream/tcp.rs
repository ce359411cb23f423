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

use super::Caller;

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

    pub(super) fn write(&mut self, bytes: u32, caller: &mut Caller) -> bool {
        let part = (bytes - caller.call.moved).min(WINDOW - self.queued);
        if part > 0 {
            self.queued += part;
            caller.call.moved += part;
            caller.wake_readers();
        }
        if caller.call.moved < bytes {
            self.full = true;
            caller.wait_for_room(false);
        }
        caller.call.moved == bytes
    }

    pub(super) fn read(&mut self, bytes: u32, caller: &mut Caller) -> Option<u32> {
        if self.is_empty() {
            caller.call.waited = true;
            caller.wait_for_bytes(false);
            return None;
        }
        let got = bytes.min(self.queued);
        self.queued -= got;
        if self.full && self.queued <= WINDOW / 2 {
            self.full = false;
            caller.wake_writers();
        }
        Some(got)
    }
}
