//! Streams of bytes between tasks, and who waits at their ends.
//!
//! Model.       A stream buffers what was written and not yet read, by the rules of its kind; those decide who is woken
//!              and when. A call that cannot go on waits at its end of the stream and tries again when it is woken.
//! Invariants.  Bytes read plus bytes buffered are bytes written.
//! Units.       Bytes.
//! Not here.    What a call costs; the calls' places in programs (see `transfer`).

mod pipe;
mod tcp;
mod unix;

use super::Effects;
use super::queue::Link;
use super::wait_queue::WaitQueue;
use crate::action::{Call, StreamKind};
use pipe::Pipe;
use tcp::Tcp;
use unix::Unix;

/// A call in progress. A task has one at a time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Progress {
    /// The call was made and paid for.
    pub(crate) begun: bool,
    /// It waited before.
    pub(crate) waited: bool,
    /// Bytes moved by this action: by all its calls of a read, by the one of a write.
    pub(crate) moved: u32,
}

/// Who waits at the ends of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiters {
    pub(crate) readers: WaitQueue,
    pub(crate) writers: WaitQueue,
}

/// The bytes under way.
#[derive(Clone, Debug)]
enum Buffer {
    Pipe(Pipe),
    Unix(Unix),
    Tcp(Tcp),
}

/// A stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    buffer: Buffer,
    waiters: Waiters,
    /// Bytes written so far.
    pub(crate) written: u64,
    /// Bytes read so far.
    pub(crate) read: u64,
}

impl Stream {
    pub(crate) fn new(kind: StreamKind) -> Stream {
        Stream {
            buffer: match kind {
                StreamKind::Pipe => Buffer::Pipe(Pipe::new()),
                StreamKind::Unix => Buffer::Unix(Unix::new()),
                StreamKind::Tcp => Buffer::Tcp(Tcp::new()),
            },
            waiters: Waiters {
                readers: WaitQueue::EMPTY,
                writers: WaitQueue::EMPTY,
            },
            written: 0,
            read: 0,
        }
    }

    /// What a read of it is.
    pub(crate) fn read_call(&self) -> Call {
        match self.buffer {
            Buffer::Pipe(_) => Call::PipeRead,
            Buffer::Unix(_) => Call::UnixReceive,
            Buffer::Tcp(_) => Call::TcpReceive,
        }
    }

    /// What a write to it is.
    pub(crate) fn write_call(&self) -> Call {
        match self.buffer {
            Buffer::Pipe(_) => Call::PipeWrite,
            Buffer::Unix(_) => Call::UnixSend,
            Buffer::Tcp(_) => Call::TcpSend,
        }
    }

    /// Goes on with a write of `bytes` in all; false: the task waits.
    pub(crate) fn write(
        &mut self,
        task: u32,
        bytes: u32,
        call: &mut Progress,
        links: &mut [Link],
        out: &mut Effects,
    ) -> bool {
        let before = call.moved;
        let waiters = &mut self.waiters;
        let done = match &mut self.buffer {
            Buffer::Pipe(pipe) => pipe.write(task, bytes, call, waiters, links, out),
            Buffer::Unix(unix) => unix.write(task, bytes, call, waiters, links, out),
            Buffer::Tcp(tcp) => tcp.write(task, bytes, call, waiters, links, out),
        };
        self.written += u64::from(call.moved - before);
        done
    }

    /// Goes on with a read of at most `bytes`; none: the task waits.
    pub(crate) fn read(
        &mut self,
        task: u32,
        bytes: u32,
        call: &mut Progress,
        links: &mut [Link],
        out: &mut Effects,
    ) -> Option<u32> {
        let waiters = &mut self.waiters;
        let got = match &mut self.buffer {
            Buffer::Pipe(pipe) => pipe.read(task, bytes, call, waiters, links, out),
            Buffer::Unix(unix) => unix.read(task, bytes, call, waiters, links, out),
            Buffer::Tcp(tcp) => tcp.read(task, bytes, call, waiters, links, out),
        };
        self.read += u64::from(got.unwrap_or(0));
        got
    }

    /// Can it be read? If not, the task waits for that beside others.
    pub(crate) fn poll(&mut self, task: u32, links: &mut [Link]) -> bool {
        let empty = match &mut self.buffer {
            Buffer::Pipe(pipe) => pipe.poll(),
            Buffer::Unix(unix) => unix.is_empty(),
            Buffer::Tcp(tcp) => tcp.is_empty(),
        };
        if empty {
            self.waiters.readers.wait(task, false, links);
        }
        !empty
    }
}
