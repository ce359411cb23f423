//! Events out of what tools print of them, made into records.
//!
//! Model.       A line gives when, where, who and the event's name; what follows is its fields as
//!              `name=value`. Events that the scheduler's readers know are read into fields of the
//!              kernel's types, under the kernel's names where the printed ones differ. Any other
//!              event gets a field for each name that is printed, besides `print`, the whole text;
//!              a number is then read out of the text whenever it is asked for.
//! Invariants.  A record has the common fields first, as a ring buffer's. Lines of one time stay in
//!              their order.
//! Deviations.  Offsets are this reader's own: the text does not tell the kernel's. `prev_state` is
//!              made of its letters by the numbers of v6.12.
//! Not here.    The columns before the event's name: see `ftrace_text` and `perf_script`.

mod known;
mod payload;
mod scan;
mod trace;

pub(crate) use scan::{stamp, to_text};
pub(crate) use trace::{Columns, TextTrace};
