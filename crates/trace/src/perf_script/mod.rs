//! The text of `perf script`.
//!
//! Model.       One line an event:
//!
//! ```text
//!  rt thread  101/102 [003]  1023.207141:  1  sched:sched_switch: prev_comm=rt thread …
//! └── task, process and thread, CPU, time ─┘ period  system:event   its fields
//! ```
//!
//! Units.       Seconds with six decimals, or nine after `--ns`.
//! Source.      tools/perf/builtin-script.c @ v6.12, and what perf 6.1 prints.
//! Deviations.  Interrupt flags and preemption depth are not printed and come out as 0.

mod read;

pub(crate) use read::{is_perf_script, read};
