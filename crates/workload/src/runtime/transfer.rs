//! Reading, writing and polling streams, step by step.
//!
//! Model.       A call is first paid for, with all bytes it asks for, and then takes effect: it moves bytes and wakes, or
//!              waits and tries again. A read fetches what there is to read as part of the call, or, if it waited, after that.

use super::queue::Link;
use super::stream::{Progress, Stream};
use super::{Effects, Runtime, Step, Task};
use crate::action::{Call, ObjectRef};

impl Task {
    /// The first step of a call on a stream, which pays for it; none: that is done.
    #[inline]
    fn begin_call(
        &mut self,
        stream: ObjectRef,
        bytes: u32,
        call_of: impl FnOnce(u32) -> Call,
    ) -> Option<Step> {
        if self.call.begun {
            return None;
        }
        let stream = stream.of(self.instance);
        self.call.begun = true;
        self.call.stream = stream;
        self.timed = true;
        Some(Step::Call {
            call: call_of(stream),
            bytes,
            stream: Some(stream),
        })
    }

    #[inline]
    fn end_call(&mut self) {
        self.call = Progress::default();
        self.pc += 1;
    }

    #[inline]
    pub(super) fn read(
        &mut self,
        id: u32,
        stream: ObjectRef,
        bytes: u32,
        streams: &mut [Stream],
        links: &mut [Link],
        out: &mut Effects,
    ) -> Option<Step> {
        let bytes = bytes - self.call.moved;
        let begun = self.begin_call(stream, bytes, |stream| streams[stream as usize].read_call());
        let call = &mut self.call;
        if begun.is_some() {
            call.fetched = !streams[call.stream as usize].is_empty();
            return begun;
        }
        let stream = &mut streams[call.stream as usize];
        if !call.fetched && !stream.is_empty() {
            call.fetched = true;
            return Some(Step::Fetch {
                call: stream.read_call(),
                bytes,
                stream: call.stream,
            });
        }
        let Some(got) = stream.read(id, bytes, call, links, out) else {
            return Some(Step::Wait);
        };
        if got < bytes {
            *call = Progress {
                moved: call.moved + got,
                ..Progress::default()
            };
        } else {
            self.end_call();
        }
        None
    }

    #[inline]
    pub(super) fn write(
        &mut self,
        id: u32,
        stream: ObjectRef,
        bytes: u32,
        streams: &mut [Stream],
        links: &mut [Link],
        out: &mut Effects,
    ) -> Option<Step> {
        let begun = self.begin_call(stream, bytes, |stream| {
            streams[stream as usize].write_call()
        });
        if begun.is_some() {
            return begun;
        }
        let stream = &mut streams[self.call.stream as usize];
        if !stream.write(id, bytes, &mut self.call, links, out) {
            return Some(Step::Wait);
        }
        self.end_call();
        None
    }
}

impl Runtime {
    pub(super) fn poll(&mut self, task: u32, stream: ObjectRef) -> Option<Step> {
        let state = &mut self.tasks[task as usize];
        let begun = state.begin_call(stream, 0, |_| Call::Poll);
        if begun.is_some() {
            return begun;
        }
        let stream = &mut self.streams[state.call.stream as usize];
        if !stream.poll(task, &mut self.links) {
            return Some(Step::Wait);
        }
        state.end_call();
        None
    }

    /// Bytes written to and read from a stream so far.
    pub fn stream_bytes(&self, stream: u32) -> (u64, u64) {
        let stream = &self.streams[stream as usize];
        (stream.written, stream.read)
    }

    /// Is there nothing to read in a stream?
    #[inline]
    pub fn stream_is_empty(&self, stream: u32) -> bool {
        self.streams[stream as usize].is_empty()
    }

    /// Memory of the socket buffers in a stream.
    pub fn stream_memory(&self, stream: u32) -> u32 {
        self.streams[stream as usize].memory()
    }
}
