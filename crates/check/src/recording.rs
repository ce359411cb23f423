//! A recording: its events and the facts beside them.

use crate::error::Error;
use crate::facts::{Facts, Given, release_of};
use crate::record::{self, Record};
use fairwind_trace::TraceFile;
use std::path::Path;
use std::{fs, io};

/// A recording, read whole.
#[derive(Debug)]
pub struct Recording {
    pub(crate) facts: Facts,
    pub(crate) records: Vec<Record>,
}

impl Recording {
    /// Reads a folder with a trace and the facts, or a trace alone; what is `given` counts more than
    /// what the recording tells. In a folder the trace is `trace.dat` or `trace.txt`, the latter also
    /// compressed as `trace.txt.xz`.
    ///
    /// # Errors
    /// If the trace cannot be read, or kernel or machine is told nowhere.
    pub fn open(path: &Path, given: Given) -> Result<Recording, Error> {
        let names = ["trace.dat", "trace.txt", "trace.txt.xz"];
        let inside = names
            .iter()
            .map(|name| path.join(name))
            .find(|path| path.exists());
        if let Some(trace) = inside {
            let facts = Facts::read(path, given)?;
            return Ok(Recording {
                facts,
                records: record::read(&open_trace(&trace)?)?,
            });
        }
        let trace = open_trace(path)?;
        let uname = trace.info().uname.as_deref();
        let release = given.release.or_else(|| release_of(uname?));
        let facts = Facts::of(Given { release, ..given })?;
        Ok(Recording {
            facts,
            records: record::read(&trace)?,
        })
    }

    /// What it tells beside its events.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

fn open_trace(path: &Path) -> Result<TraceFile, Error> {
    if path.extension().is_none_or(|extension| extension != "xz") {
        return Ok(fairwind_trace::open(path)?);
    }
    let failed = |problem| Error::Io {
        path: path.to_owned(),
        problem,
    };
    let compressed = fs::read(path).map_err(failed)?;
    let mut trace = Vec::new();
    lzma_rs::xz_decompress(&mut compressed.as_slice(), &mut trace)
        .map_err(|problem| failed(io::Error::new(io::ErrorKind::InvalidData, problem)))?;
    Ok(fairwind_trace::open_bytes(&trace)?)
}
