//! The `perf.data` of `perf record`, as a file, as a folder, or as it goes through a pipe.
//!
//! Model.       Records follow one another: samples, and news of tasks and losses. Of a sample the
//!              time, the CPU and the raw record of its tracepoint are used; the tracing data say
//!              what is in the raw record, in the words of the kernel's `format` files. Samples of
//!              different CPUs come in any order, so an index is made and sorted.
//!
//! ```text
//! file: "PERFILE2" 104 | where: attributes, data, features | … records … | features
//! pipe: "PERFILE2" 16  | records, among them attributes, features and tracing data
//! ```
//!
//! Units.       Nanoseconds of the clock that perf was told to use, by default the kernel's
//!              `local_clock`.
//! Source.      tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c,
//!              include/uapi/linux/perf_event.h @ v6.12.
//! Deviations.  A file without tracing data cannot be read: the numbers of tracepoints differ from
//!              kernel to kernel. `perf record` writes them last, so a file cut short has none;
//!              what goes through a pipe has them first.
//! Not here.    Samples that are not of tracepoints; mappings, call chains, hardware traces.

mod attr;
mod features;
mod read;
mod records;
mod topology;

pub(crate) use read::{is_perf_data, read, read_folder};
