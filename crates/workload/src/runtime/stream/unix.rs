//! One direction of a connected pair of Unix stream sockets: a queue of buffers (skbs).
//!
//! Model.       A send makes buffers of at most half the sender's allowance and charges it the memory that each takes;
//!              it waits while the allowance is used up, which the last buffer may exceed. Every buffer wakes all who wait
//!              for data. A receive takes bytes across buffers; each buffer that it empties gives its memory back, and
//!              wakes all senders if no more than a quarter of the allowance is in use then.
//! Units.       Bytes.
//! Source.      net/unix/af_unix.c `unix_stream_sendmsg`, `unix_stream_read_generic`, `unix_write_space`; net/core/sock.c
//!              `sock_alloc_send_pskb`, `sock_def_readable` @ 6.12. The memory of a buffer: counting the writes that a
//!              socket of a 6.18 kernel took, for sizes of 1 byte to 32 KiB.

use super::Caller;
use std::collections::VecDeque;

/// The sender's allowance (`net.core.wmem_default`).
const SNDBUF: u32 = 212_992;
/// Largest buffer: 3776 bytes in its head and 32 KiB in pages.
const LARGEST: u32 = 3776 + 32_768;
/// Bytes that fit into a buffer's head (`SKB_MAX_HEAD(0)`).
const HEAD: u32 = 3776;
/// Bookkeeping within a head (`struct skb_shared_info`) and beside it (`struct sk_buff`).
const SHARED_INFO: u32 = 320;
const SK_BUFF: u32 = 256;
const PAGE: u32 = 4096;

/// Memory that a buffer of so many bytes takes (`truesize`).
fn truesize(bytes: u32) -> u32 {
    if bytes <= HEAD {
        (bytes + SHARED_INFO).next_power_of_two().max(512) + SK_BUFF
    } else {
        bytes.next_multiple_of(PAGE) + 512 + SK_BUFF
    }
}

/// A buffer in the queue.
#[derive(Clone, Copy, Debug)]
struct Skb {
    size: u32,
    left: u32,
}

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct Unix {
    skbs: VecDeque<Skb>,
    /// Memory charged to the sender (`sk_wmem_alloc`).
    charged: u32,
}

impl Unix {
    pub(super) fn new() -> Unix {
        Unix {
            skbs: VecDeque::new(),
            charged: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.skbs.is_empty()
    }

    /// Memory of the buffers in the queue.
    pub(super) fn charged(&self) -> u32 {
        self.charged
    }

    pub(super) fn write(&mut self, bytes: u32, caller: &mut Caller) -> bool {
        while caller.call.moved < bytes {
            if self.charged >= SNDBUF {
                caller.wait_for_room(false);
                return false;
            }
            let size = (bytes - caller.call.moved)
                .min(SNDBUF / 2 - 64)
                .min(LARGEST);
            self.charged += truesize(size);
            self.skbs.push_back(Skb { size, left: size });
            caller.call.moved += size;
            caller.wake_readers();
        }
        true
    }

    pub(super) fn read(&mut self, bytes: u32, caller: &mut Caller) -> Option<u32> {
        if self.is_empty() {
            caller.call.waited = true;
            caller.wait_for_bytes(false);
            return None;
        }
        let mut got = 0;
        while got < bytes
            && let Some(first) = self.skbs.front_mut()
        {
            let part = first.left.min(bytes - got);
            first.left -= part;
            got += part;
            if first.left == 0 {
                self.charged -= truesize(first.size);
                self.skbs.pop_front();
                if self.charged * 4 <= SNDBUF {
                    caller.wake_writers();
                }
            }
        }
        Some(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_takes_as_many_writes_as_a_real_one() {
        // Bytes of a write, and writes that a socket of 6.18 took before it would block.
        let measured = [
            (1, 278),
            (100, 278),
            (300, 167),
            (1000, 93),
            (2000, 49),
            (4000, 44),
            (8192, 24),
            (32_768, 7),
        ];
        for (bytes, writes) in measured {
            assert_eq!(SNDBUF.div_ceil(truesize(bytes)), writes, "{bytes}");
        }
    }
}
