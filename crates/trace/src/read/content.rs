//! Where the records of a trace are kept.

use super::cursor::ByteOrder;
use crate::trace_dat::{CpuPages, TimeBase};

/// The records of a trace, in one of two shapes.
#[derive(Debug)]
pub(crate) enum Content {
    /// Ring-buffer pages of each CPU, walked and merged when events are asked for.
    Pages {
        /// The file, then what was decompressed out of it.
        memory: Vec<Vec<u8>>,
        cpus: Vec<CpuPages>,
        time: TimeBase,
        order: ByteOrder,
    },
    /// Records already found and put in order.
    Records {
        memory: Vec<Vec<u8>>,
        index: Vec<IndexEntry>,
        order: ByteOrder,
    },
}

/// Where one record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) ts: u64,
    pub(crate) at: u64,
    pub(crate) len: u32,
    pub(crate) cpu: u32,
    pub(crate) event: u32,
    pub(crate) memory: u32,
}
