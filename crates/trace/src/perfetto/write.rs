//! Writes events and names as packets.

use std::io;
use std::path::Path;

use super::bundle::Bundles;
use super::packet;
use super::tracks::Tracks;
use crate::error::Error;
use crate::event::{Event, EventKind};
use crate::roster::Roster;
use crate::sink::{CounterInfo, GroupInfo, Header, ROOT_GROUP, TaskInfo, TraceSink};
use crate::staged::StagedFile;

/// A Perfetto trace being written.
pub(crate) struct Writer {
    out: StagedFile,
    roster: Roster,
    bundles: Bundles,
    tracks: Tracks,
    /// When the last event was: the time of what is announced now.
    now: u64,
}

impl Writer {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let mut writer = Self {
            out: StagedFile::create(path)?,
            roster: Roster::new(header),
            bundles: Bundles::new(header.nr_cpus),
            tracks: Tracks::default(),
            now: 0,
        };
        packet::first(&mut writer.out.buffer, header);
        writer.describe_group(ROOT_GROUP);
        Ok(writer)
    }

    fn describe_group(&mut self, id: u32) {
        Tracks::group(id, &self.roster.group(id).path, &mut self.out.buffer);
    }
}

impl TraceSink for Writer {
    fn task(&mut self, id: u32, info: &TaskInfo) -> io::Result<()> {
        let task = self.roster.announce_task(id, info);
        let group_path = &self.roster.group(info.group).path;
        packet::task(&mut self.out.buffer, self.now, &task, group_path);
        self.out.drain()
    }

    fn group(&mut self, id: u32, info: &GroupInfo) -> io::Result<()> {
        self.roster.announce_group(id, info);
        self.describe_group(id);
        self.out.drain()
    }

    fn counter(&mut self, id: u32, info: &CounterInfo) -> io::Result<()> {
        self.roster.announce_counter(id, info);
        self.tracks.counter(id, info, &mut self.out.buffer);
        self.out.drain()
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.roster.check(event);
        self.now = event.ts;
        match event.kind {
            EventKind::CfsThrottle { .. }
            | EventKind::CfsUnthrottle { .. }
            | EventKind::Counter { .. } => {
                self.tracks.push(event, &self.roster, &mut self.out.buffer);
            }
            _ => self.bundles.push(event, &self.roster, &mut self.out.buffer),
        }
        self.out.drain()
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.bundles.finish(&mut self.out.buffer);
        self.out.commit()
    }
}
