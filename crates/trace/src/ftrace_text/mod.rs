//! The text that `/sys/kernel/tracing/trace` shows, with the `nop` tracer.
//!
//! Model.       One line an event, in the order of the calls:
//!
//! ```text
//!           <idle>-0       [003] d..2.  1023.207141: sched_switch: prev_comm=swapper/3 …
//! └─ task, right-aligned ─┘ CPU  flags  seconds      event         its fields
//! ```
//!
//! Units.       Seconds with six decimals, rounded to the nearest microsecond as the kernel rounds
//!              them. So the format loses the nanoseconds: of two events less than a microsecond
//!              apart only the order of the lines says which was first. Durations inside events
//!              keep their nanoseconds.
//! Source.      kernel/trace/trace.c, trace_output.c, trace_events.c @ v6.12, and what that code
//!              prints.
//! Deviations.  The comment line with the number of entries ends in blanks: the number is known
//!              last. A counter is written as the `tracing_mark_write: C|0|name|value` that
//!              systrace readers, Perfetto among them, draw as a track.

mod digits;
mod name;
mod read;
mod write;

pub(crate) use read::{is_ftrace_text, read};
pub(crate) use write::Writer;
