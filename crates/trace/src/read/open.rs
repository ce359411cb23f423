//! Which reader a file is for, told by its first bytes.

use std::fs;
use std::path::Path;

use super::error::ReadError;
use super::trace_file::TraceFile;
use crate::error::Error;
use crate::{ftrace_text, perf_data, perf_script, trace_dat};

/// Reads a trace of any format, told by its content.
///
/// # Errors
/// [`Error::Read`] when nothing of it can be read.
pub fn open(path: &Path) -> Result<TraceFile, Error> {
    let read = if path.is_dir() {
        perf_data::read_folder(path)
    } else {
        fs::read(path).map_err(ReadError::Io).and_then(read)
    };
    read.map_err(|problem| Error::Read {
        path: Some(path.to_owned()),
        problem,
    })
}

/// Reads a trace of any format out of memory.
///
/// # Errors
/// [`Error::Read`] when nothing of it can be read.
pub fn open_bytes(bytes: &[u8]) -> Result<TraceFile, Error> {
    read(bytes.to_vec()).map_err(|problem| Error::Read {
        path: None,
        problem,
    })
}

fn read(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    if bytes.starts_with(trace_dat::MAGIC) {
        return trace_dat::read(bytes);
    }
    if perf_data::is_perf_data(&bytes) {
        return perf_data::read(bytes);
    }
    if ftrace_text::is_ftrace_text(&bytes) {
        return ftrace_text::read(bytes);
    }
    if perf_script::is_perf_script(&bytes) {
        return perf_script::read(bytes);
    }
    let start = bytes[..bytes.len().min(16)].to_vec();
    Err(ReadError::Unknown { start })
}
