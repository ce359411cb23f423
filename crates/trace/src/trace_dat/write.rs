//! Writes events into pages, and the file at the end.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::page::Page;
use super::spool::Spool;
use super::ties::Ties;
use super::{header, record};
use crate::error::Error;
use crate::event::Event;
use crate::roster::{Comm, Roster};
use crate::sink::{CounterInfo, GroupInfo, GuestInfo, Header, TaskInfo, TraceSink};
use crate::staged::StagedFile;

/// A trace.dat being written.
pub(crate) struct Writer {
    out: StagedFile,
    spool: Spool,
    header: Header,
    roster: Roster,
    /// The name under which each pid was last announced.
    comms: BTreeMap<u32, Comm>,
    /// `[cpu]`: the page being filled, once the CPU has had an event.
    pages: Vec<Option<Page>>,
    record: Vec<u8>,
    ties: Ties,
}

impl Writer {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        Ok(Self {
            out: StagedFile::create(path)?,
            spool: Spool::create(path, header.nr_cpus)?,
            header: header.clone(),
            roster: Roster::new(header),
            comms: BTreeMap::new(),
            pages: (0..header.nr_cpus).map(|_| None).collect(),
            record: Vec::new(),
            ties: Ties::default(),
        })
    }
}

impl TraceSink for Writer {
    fn task(&mut self, id: u32, info: &TaskInfo) -> io::Result<()> {
        let task = self.roster.announce_task(id, info);
        self.comms.insert(task.pid, task.comm);
        Ok(())
    }

    fn group(&mut self, id: u32, info: &GroupInfo) -> io::Result<()> {
        self.roster.announce_group(id, info);
        Ok(())
    }

    fn counter(&mut self, id: u32, info: &CounterInfo) -> io::Result<()> {
        self.roster.announce_counter(id, info);
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.roster.check(event);
        record::encode(&mut self.record, event, &self.roster);
        let page = self.pages[event.cpu as usize].get_or_insert_with(Page::new);
        if !page.push(event.ts, &self.record) {
            self.spool.push(event.cpu, page.seal())?;
            page.clear();
            assert!(
                page.push(event.ts, &self.record),
                "a record fits an empty page"
            );
        }
        Ok(())
    }

    fn session(&mut self, trace_id: u64, host: Option<u64>) {
        self.ties.trace_id = Some(trace_id);
        self.ties.host = host;
    }

    fn guest(&mut self, info: &GuestInfo) {
        self.ties.guests.push(info.clone());
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self {
            mut out,
            mut spool,
            header,
            comms,
            pages,
            ties,
            ..
        } = *self;
        for (cpu, page) in (0..).zip(pages) {
            if let Some(mut page) = page {
                spool.push(cpu, page.seal())?;
            }
        }
        let head = header::encode(&header, &comms, &ties, spool.nr_pages());
        out.buffer.extend_from_slice(&head);
        out.flush()?;
        spool.sort_into(&mut out, head.len() as u64)?;
        out.commit()
    }
}
