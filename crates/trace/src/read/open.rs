//! Which reader a file is for, told by its first bytes.

use std::fs;
use std::path::Path;

use super::decompress::{Decompressor, XZ_MAGIC};
use super::error::ReadError;
use super::stats::{Oddity, Place};
use super::trace_file::TraceFile;
use crate::error::Error;
use crate::{ftrace_text, perf_data, perf_script, trace_dat};

/// Reads a trace of any format, told by its content, as it is or compressed by xz.
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
    if !bytes.starts_with(XZ_MAGIC) {
        return read_unpacked(bytes);
    }
    let len = bytes.len();
    let (unpacked, whole) = Decompressor::for_file_of(len).unpack_xz(bytes);
    if unpacked.is_empty() && !whole {
        return Err(ReadError::CutOff {
            format: "an xz file",
            len: len as u64,
            missing: "anything that can be unpacked",
        });
    }
    let mut trace = read_unpacked(unpacked)?;
    if !whole {
        trace.stats.one(Oddity::BadCompression, Place::File);
    }
    Ok(trace)
}

fn read_unpacked(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
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
