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
    /// What there is to read was fetched.
    pub(crate) fetched: bool,
    /// It waited before.
    pub(crate) waited: bool,
    /// Bytes moved by this action: by all its calls of a read, by the one of a write.
    pub(crate) moved: u32,
    /// The stream, once the call was made.
    pub(crate) stream: u32,
}

/// Who waits at the ends of a stream.
#[derive(Clone, Copy, Debug)]
struct Waiters {
    readers: WaitQueue,
    writers: WaitQueue,
}

/// The task that makes a call, and what its call may change beside the bytes.
struct Caller<'a> {
    task: u32,
    call: &'a mut Progress,
    waiters: &'a mut Waiters,
    links: &'a mut [Link],
    out: &'a mut Effects,
}

impl Caller<'_> {
    /// Waits for bytes.
    fn wait_for_bytes(&mut self, exclusive: bool) {
        self.waiters.readers.wait(self.task, exclusive, self.links);
    }

    /// Waits for room.
    fn wait_for_room(&mut self, exclusive: bool) {
        self.waiters.writers.wait(self.task, exclusive, self.links);
    }

    fn wake_readers(&mut self) {
        self.waiters.readers.wake(self.links, self.out);
    }

    fn wake_writers(&mut self) {
        self.waiters.writers.wake(self.links, self.out);
    }
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

    /// Memory of the socket buffers in it.
    pub(crate) fn memory(&self) -> u32 {
        match &self.buffer {
            Buffer::Unix(unix) => unix.charged(),
            Buffer::Pipe(_) | Buffer::Tcp(_) => 0,
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
        let mut caller = Caller {
            task,
            call,
            waiters: &mut self.waiters,
            links,
            out,
        };
        let done = match &mut self.buffer {
            Buffer::Pipe(pipe) => pipe.write(bytes, &mut caller),
            Buffer::Unix(unix) => unix.write(bytes, &mut caller),
            Buffer::Tcp(tcp) => tcp.write(bytes, &mut caller),
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
        let mut caller = Caller {
            task,
            call,
            waiters: &mut self.waiters,
            links,
            out,
        };
        let got = match &mut self.buffer {
            Buffer::Pipe(pipe) => pipe.read(bytes, &mut caller),
            Buffer::Unix(unix) => unix.read(bytes, &mut caller),
            Buffer::Tcp(tcp) => tcp.read(bytes, &mut caller),
        };
        self.read += u64::from(got.unwrap_or(0));
        got
    }

    /// Is there nothing to read?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match &self.buffer {
            Buffer::Pipe(pipe) => pipe.is_empty(),
            Buffer::Unix(unix) => unix.is_empty(),
            Buffer::Tcp(tcp) => tcp.is_empty(),
        }
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
