//! The `trace.dat` of trace-cmd and KernelShark: version 6 is written, 6 and 7 are read.
//!
//! Model.       A header that describes every event's layout, then for each CPU its ring-buffer
//!              pages, as the kernel of a little-endian 64-bit machine with pages of 4 096 bytes
//!              has them, drawn below. Events come by time, the file has them by CPU, so full pages
//!              go to a spool file and are put in order at the end. Memory holds one page a CPU and
//!              every task's name.
//!
//! ```text
//! "tracing" 6 | page and event headers | event formats | task names | options | CPUs' offsets
//! CPU 0: page page page … | CPU 1: page page … | …
//!
//! page:  time stamp of its first event, 8 | bytes used, 8 | event event …
//! event: type_len, 5 bits | nanoseconds since the event before, 27 bits | record
//! ```
//!
//! Invariants.  A record fits a page, and no event straddles two.
//! Units.       Nanoseconds; the trace clock is said to be `mono`.
//! Source.      trace-cmd.dat.v6(5); kernel/trace/ring_buffer.c @ v6.12 for the pages; the field
//!              layouts are those that a v6.12 x86-64 kernel lists under events/.
//! Deviations.  Events without a tracepoint are under the system `fairwind`. No kernel symbols, no
//!              trace_printk formats and none of ftrace's own events, for nothing here refers to
//!              them.

mod formats;
mod header;
mod page;
mod read;
mod read_clock;
mod read_options;
mod read_page;
mod read_tables;
mod read_v6;
mod read_v7;
mod record;
mod spool;
mod ties;
mod write;

pub(crate) use read::read;
pub(crate) use read_clock::TimeBase;
pub(crate) use read_page::{CpuPages, PageWalk};
pub(crate) use read_tables::{Initial, MAGIC, cmdlines, event_formats, ftrace_events, page_layout};
pub(crate) use write::Writer;
