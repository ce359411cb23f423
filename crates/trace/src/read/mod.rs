//! Reading traces, whatever their format.
//!
//! Model.       [`open`] looks at the first bytes and lets the format's own reader make a
//!              [`TraceFile`] of the rest. From then on all traces are alike: events with a time, a
//!              CPU and a record, whose fields are found through the trace's [`Formats`].
//! Invariants.  No file makes a reader panic, run on, or ask for memory out of proportion to the
//!              file. What is odd about a file is counted; an error says that nothing can be read.
//! Units.       Time stamps are nanoseconds of the trace's clock.
//! Not here.    What the events mean.

pub(crate) mod content;
pub(crate) mod cursor;
pub(crate) mod decompress;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod formats;
mod open;
pub(crate) mod raw_event;
pub(crate) mod stats;
pub(crate) mod time_shift;
pub(crate) mod trace_file;

pub use cursor::ByteOrder;
pub use error::ReadError;
pub use events::Events;
pub use formats::{EventId, Formats};
pub use open::{open, open_bytes};
pub use raw_event::RawEvent;
pub use stats::{Oddity, Place, ReadStats, Severity};
pub use time_shift::{TimeSample, TimeShift};
pub use trace_file::{CpuSite, CpuStat, Guest, TraceFile, TraceInfo, TraceKind};
