//! Perfetto's protobuf trace, for ui.perfetto.dev and trace_processor.
//!
//! Model.       Two kinds of packets. Scheduling events are ftrace events, gathered in one bundle a
//!              CPU, so that the scheduling view and the SQL tables `sched` and `thread_state`
//!              work. A guest is a machine of its own in its host's trace: its packets carry a
//!              machine id, by which readers keep its CPUs, threads and tracks apart. All are on
//!              one clock. What has no ftrace event is drawn as tracks:
//!
//! ```text
//! /web                   one track a task group
//! ├─ throttled cpu3      a slice while the group's queue on CPU 3 is throttled
//! └─ runtime_remaining   a counter of the group
//! nr_running             a counter that CPUs have
//! └─ cpu3                the one of CPU 3
//! ```
//!
//! Invariants.  Memory holds one bundle of at most a few kilobytes a CPU, and one number a queue
//!              that was throttled. Readers sort by time, so bundles need not follow one another in
//!              time.
//! Units.       Nanoseconds of the boot clock, which is the default of both kinds of packets.
//! Source.      protos/perfetto/trace/ of the Perfetto project: the messages' field numbers.
//! Deviations.  `sched_stat_runtime` and `sched_set_need_resched` have no message of their own and
//!              are generic ftrace events. Readers draw a slice from `local_timer_entry` to
//!              `local_timer_exit`, so each entry is followed by an exit at the same time.

mod bundle;
mod name;
mod packet;
mod schema;
mod shared_file;
mod tracks;
mod wire;
mod write;

pub(crate) use write::Writer;
