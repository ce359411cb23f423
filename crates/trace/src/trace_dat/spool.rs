//! Where full pages wait until it is known how many each CPU has.
//!
//! Model.       One temporary file for all CPUs, each page preceded by the number of its CPU, in
//!              the order in which they filled: one file, because a machine may have more CPUs than
//!              a process may have open files. Its name goes away with the sink.
//! Invariants.  Memory is one number a CPU.

use std::io::{self, Read};
use std::path::Path;

use super::page::PAGE_SIZE;
use crate::error::Error;
use crate::staged::StagedFile;

/// Pages of all CPUs.
#[derive(Debug)]
pub(super) struct Spool {
    file: StagedFile,
    /// `[cpu]`: how many pages it has.
    nr_pages: Vec<u64>,
}

impl Spool {
    /// Makes a spool beside `target`.
    pub(super) fn create(target: &Path, nr_cpus: u32) -> Result<Self, Error> {
        Ok(Self {
            file: StagedFile::create(target)?,
            nr_pages: vec![0; nr_cpus as usize],
        })
    }

    /// `[cpu]`: how many pages it has.
    pub(super) fn nr_pages(&self) -> &[u64] {
        &self.nr_pages
    }

    /// Takes a page.
    pub(super) fn push(&mut self, cpu: u32, page: &[u8; PAGE_SIZE]) -> io::Result<()> {
        self.nr_pages[cpu as usize] += 1;
        self.file.buffer.extend_from_slice(&cpu.to_le_bytes());
        self.file.buffer.extend_from_slice(page);
        self.file.drain()
    }

    /// Puts every page where it belongs in `out`, whose pages begin at `start`: those of CPU 0,
    /// then those of CPU 1, and so on.
    pub(super) fn sort_into(mut self, out: &mut StagedFile, start: u64) -> io::Result<()> {
        let mut next_at = Vec::with_capacity(self.nr_pages.len());
        let mut at = start;
        for &nr_pages in &self.nr_pages {
            next_at.push(at);
            at += nr_pages * PAGE_SIZE as u64;
        }
        let nr_pages: u64 = self.nr_pages.iter().sum();
        let file = self.file.rewind()?;
        let mut reader = io::BufReader::with_capacity(64 * (PAGE_SIZE + 4), file);
        let mut cpu = [0; 4];
        let mut page = [0; PAGE_SIZE];
        for _ in 0..nr_pages {
            reader.read_exact(&mut cpu)?;
            reader.read_exact(&mut page)?;
            let at = &mut next_at[u32::from_le_bytes(cpu) as usize];
            out.write_at(*at, &page)?;
            *at += PAGE_SIZE as u64;
        }
        Ok(())
    }
}
