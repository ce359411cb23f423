//! Traces of the scheduler, in the formats the field reads.
//!
//! Model.       A producer announces tasks, groups and counters, then hands over [`Event`]s one at
//!              a time; a [`TraceSink`] writes them in one format. [`create`] chooses the format by
//!              the file's extension. The other way, [`open`] reads a trace of any format, told by
//!              its content, as [`RawEvent`]s by time, whose fields are found by name.
//! Invariants.  A target appears only when [`TraceSink::finish`] has succeeded: until then
//!              everything is in a hidden file beside it, which goes away with the sink. Memory
//!              does not grow with the number of events. The same calls give the same bytes.
//! Units.       Time stamps and durations are nanoseconds.
//! Not here.    Simulation, and any judgement on the events: a sink writes what it is given, and a
//!              reader gives what was recorded.

pub mod error;
pub mod event;
mod event_text;
pub mod format;
pub mod format_desc;
mod ftrace_text;
mod names;
mod perf_data;
mod perf_script;
mod perfetto;
mod piece;
pub mod read;
mod roster;
pub mod sink;
mod staged;
mod table;
mod trace_dat;

pub use error::Error;
pub use event::{Context, Event, EventKind, PWR_EVENT_EXIT, SWAPPER, TaskState};
pub use format::{Format, create};
pub use format_desc::{EventFormat, Field, FieldKind, FieldRef};
pub use read::{
    EventId, Events, Formats, RawEvent, ReadError, ReadStats, TraceFile, TraceInfo, TraceKind,
    open, open_bytes,
};
pub use sink::{
    CounterInfo, CounterScope, CounterUnit, GroupInfo, GuestInfo, Header, ROOT_GROUP, TaskInfo,
    TraceSink,
};
