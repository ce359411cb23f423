//! Writes events and names as packets.

use std::io;
use std::path::Path;

use super::bundle::Bundles;
use super::packet::Stream;
use super::shared_file::SharedFile;
use super::tracks::Tracks;
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::roster::Roster;
use crate::sink::{CounterInfo, GroupInfo, Header, ROOT_GROUP, TaskInfo, TraceSink};
use crate::staged::StagedFile;

/// One machine's part of a Perfetto trace being written.
pub(crate) struct Writer {
    out: SharedFile,
    stream: Stream,
    roster: Roster,
    bundles: Bundles,
    tracks: Tracks,
    /// When the last event was: the time of what is announced now.
    now: u64,
}

impl Writer {
    /// Starts a trace with its only machine, or its host.
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let out = SharedFile::new(StagedFile::create(path)?);
        Self::begin(out, Stream::HOST, header).map_err(|source| Error::Create {
            path: path.to_owned(),
            source,
        })
    }

    fn begin(out: SharedFile, stream: Stream, header: &Header) -> io::Result<Self> {
        let writer = Self {
            out,
            stream,
            roster: Roster::new(header),
            bundles: Bundles::new(stream, header.nr_cpus),
            tracks: Tracks::new(stream),
            now: 0,
        };
        writer.out.write(|out| stream.first(out, header))?;
        writer.describe_group(ROOT_GROUP)?;
        Ok(writer)
    }

    fn describe_group(&self, id: u32) -> io::Result<()> {
        let path = &self.roster.group(id).path;
        self.out.write(|out| self.tracks.group(id, path, out))
    }
}

impl TraceSink for Writer {
    fn task(&mut self, id: u32, info: &TaskInfo) -> io::Result<()> {
        let task = self.roster.announce_task(id, info);
        self.bundles.task(id, &task);
        let group_path = &self.roster.group(info.group).path;
        let (stream, now) = (self.stream, self.now);
        self.out
            .write(|out| stream.task(out, now, &task, group_path))
    }

    fn group(&mut self, id: u32, info: &GroupInfo) -> io::Result<()> {
        self.roster.announce_group(id, info);
        self.describe_group(id)
    }

    fn counter(&mut self, id: u32, info: &CounterInfo) -> io::Result<()> {
        self.roster.announce_counter(id, info);
        let tracks = &mut self.tracks;
        self.out.write(|out| tracks.counter(id, info, out))
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.roster.check(event);
        self.now = event.ts;
        let (roster, bundles, tracks) = (&self.roster, &mut self.bundles, &mut self.tracks);
        self.out.write(|out| match event.kind {
            EventKind::CfsThrottle { .. }
            | EventKind::CfsUnthrottle { .. }
            | EventKind::Counter { .. } => tracks.push(event, roster, out),
            _ => bundles.push(event, roster, out),
        })
    }

    fn guest_sink(
        &self,
        machine_id: u32,
        header: &Header,
    ) -> io::Result<Option<Box<dyn TraceSink>>> {
        let stream = Stream::of_guest(machine_id);
        let writer = Self::begin(self.out.join(), stream, header)?;
        Ok(Some(Box::new(writer)))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let bundles = &mut self.bundles;
        self.out.write(|out| bundles.finish(out))?;
        self.out.finish()
    }
}
