//! The numbers of Perfetto's schema that are used: a module a message, a constant a field.
//!
//! Source. protos/perfetto/trace/: trace.proto, trace_packet.proto, system_info.proto,
//!         ps/process_tree.proto, track_event/*.proto and ftrace/*.proto. A test decodes with
//!         Perfetto's own classes.

pub(super) mod trace {
    pub(in crate::perfetto) const PACKET: u32 = 1;
}

pub(super) mod trace_packet {
    pub(in crate::perfetto) const FTRACE_EVENTS: u32 = 1;
    pub(in crate::perfetto) const PROCESS_TREE: u32 = 2;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 8;
    pub(in crate::perfetto) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(in crate::perfetto) const TRACK_EVENT: u32 = 11;
    pub(in crate::perfetto) const SEQUENCE_FLAGS: u32 = 13;
    pub(in crate::perfetto) const SYSTEM_INFO: u32 = 45;
    pub(in crate::perfetto) const TRACK_DESCRIPTOR: u32 = 60;
    pub(in crate::perfetto) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;
    pub(in crate::perfetto) const MACHINE_ID: u32 = 98;
    /// A flag: nothing is remembered from before.
    pub(in crate::perfetto) const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
}

pub(super) mod system_info {
    pub(in crate::perfetto) const UTSNAME: u32 = 1;
    pub(in crate::perfetto) const HZ: u32 = 3;
    pub(in crate::perfetto) const TRACING_SERVICE_VERSION: u32 = 4;
    pub(in crate::perfetto) const NUM_CPUS: u32 = 8;
    pub(in crate::perfetto) const MACHINE_NAME: u32 = 17;
}

pub(super) mod utsname {
    pub(in crate::perfetto) const SYSNAME: u32 = 1;
    pub(in crate::perfetto) const RELEASE: u32 = 3;
    pub(in crate::perfetto) const MACHINE: u32 = 4;
}

pub(super) mod process_tree {
    pub(in crate::perfetto) const PROCESSES: u32 = 1;
    pub(in crate::perfetto) const THREADS: u32 = 2;
}

pub(super) mod process {
    pub(in crate::perfetto) const PID: u32 = 1;
    pub(in crate::perfetto) const CMDLINE: u32 = 3;
}

pub(super) mod thread {
    pub(in crate::perfetto) const TID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 2;
    pub(in crate::perfetto) const TGID: u32 = 3;
}

pub(super) mod track_descriptor {
    pub(in crate::perfetto) const UUID: u32 = 1;
    pub(in crate::perfetto) const NAME: u32 = 2;
    pub(in crate::perfetto) const PARENT_UUID: u32 = 5;
    pub(in crate::perfetto) const COUNTER: u32 = 8;
    pub(in crate::perfetto) const CHILD_ORDERING: u32 = 11;
    pub(in crate::perfetto) const SIBLING_ORDER_RANK: u32 = 12;
    /// A `child_ordering`: by `sibling_order_rank`.
    pub(in crate::perfetto) const EXPLICIT: u32 = 3;
}

pub(super) mod counter_descriptor {
    pub(in crate::perfetto) const UNIT: u32 = 3;
    pub(in crate::perfetto) const UNIT_TIME_NS: u32 = 1;
    pub(in crate::perfetto) const UNIT_COUNT: u32 = 2;
}

pub(super) mod track_event {
    pub(in crate::perfetto) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(in crate::perfetto) const TYPE: u32 = 9;
    pub(in crate::perfetto) const TRACK_UUID: u32 = 11;
    pub(in crate::perfetto) const CATEGORIES: u32 = 22;
    pub(in crate::perfetto) const NAME: u32 = 23;
    pub(in crate::perfetto) const COUNTER_VALUE: u32 = 30;
    pub(in crate::perfetto) const TYPE_SLICE_BEGIN: u32 = 1;
    pub(in crate::perfetto) const TYPE_SLICE_END: u32 = 2;
    pub(in crate::perfetto) const TYPE_COUNTER: u32 = 4;
}

pub(super) mod debug_annotation {
    pub(in crate::perfetto) const INT_VALUE: u32 = 4;
    pub(in crate::perfetto) const NAME: u32 = 10;
}

pub(super) mod ftrace_event_bundle {
    pub(in crate::perfetto) const CPU: u32 = 1;
    pub(in crate::perfetto) const EVENT: u32 = 2;
}

pub(super) mod ftrace_event {
    pub(in crate::perfetto) const TIMESTAMP: u32 = 1;
    pub(in crate::perfetto) const PID: u32 = 2;
    pub(in crate::perfetto) const COMMON_FLAGS: u32 = 5;
    pub(in crate::perfetto) const SCHED_SWITCH: u32 = 4;
    pub(in crate::perfetto) const CPU_IDLE: u32 = 13;
    pub(in crate::perfetto) const SCHED_WAKEUP: u32 = 17;
    pub(in crate::perfetto) const SCHED_WAKING: u32 = 20;
    pub(in crate::perfetto) const CGROUP_ATTACH_TASK: u32 = 67;
    pub(in crate::perfetto) const SCHED_WAKEUP_NEW: u32 = 114;
    pub(in crate::perfetto) const SCHED_PROCESS_EXEC: u32 = 237;
    pub(in crate::perfetto) const SCHED_PROCESS_EXIT: u32 = 238;
    pub(in crate::perfetto) const SCHED_PROCESS_FORK: u32 = 239;
    pub(in crate::perfetto) const GENERIC: u32 = 327;
    pub(in crate::perfetto) const SCHED_MIGRATE_TASK: u32 = 491;
    pub(in crate::perfetto) const LOCAL_TIMER_ENTRY: u32 = 559;
    pub(in crate::perfetto) const LOCAL_TIMER_EXIT: u32 = 560;
}

pub(super) mod sched_switch {
    pub(in crate::perfetto) const PREV_COMM: u32 = 1;
    pub(in crate::perfetto) const PREV_PID: u32 = 2;
    pub(in crate::perfetto) const PREV_PRIO: u32 = 3;
    pub(in crate::perfetto) const PREV_STATE: u32 = 4;
    pub(in crate::perfetto) const NEXT_COMM: u32 = 5;
    pub(in crate::perfetto) const NEXT_PID: u32 = 6;
    pub(in crate::perfetto) const NEXT_PRIO: u32 = 7;
}

/// `sched_waking`, `sched_wakeup` and `sched_wakeup_new`, which have the same fields.
pub(super) mod sched_wakeup {
    pub(in crate::perfetto) const COMM: u32 = 1;
    pub(in crate::perfetto) const PID: u32 = 2;
    pub(in crate::perfetto) const PRIO: u32 = 3;
    pub(in crate::perfetto) const TARGET_CPU: u32 = 5;
}

pub(super) mod sched_migrate_task {
    pub(in crate::perfetto) const COMM: u32 = 1;
    pub(in crate::perfetto) const PID: u32 = 2;
    pub(in crate::perfetto) const PRIO: u32 = 3;
    pub(in crate::perfetto) const ORIG_CPU: u32 = 4;
    pub(in crate::perfetto) const DEST_CPU: u32 = 5;
}

pub(super) mod sched_process_fork {
    pub(in crate::perfetto) const PARENT_COMM: u32 = 1;
    pub(in crate::perfetto) const PARENT_PID: u32 = 2;
    pub(in crate::perfetto) const CHILD_COMM: u32 = 3;
    pub(in crate::perfetto) const CHILD_PID: u32 = 4;
}

pub(super) mod sched_process_exec {
    pub(in crate::perfetto) const FILENAME: u32 = 1;
    pub(in crate::perfetto) const PID: u32 = 2;
    pub(in crate::perfetto) const OLD_PID: u32 = 3;
}

pub(super) mod sched_process_exit {
    pub(in crate::perfetto) const COMM: u32 = 1;
    pub(in crate::perfetto) const PID: u32 = 2;
    pub(in crate::perfetto) const TGID: u32 = 3;
    pub(in crate::perfetto) const PRIO: u32 = 4;
}

pub(super) mod cgroup_attach_task {
    pub(in crate::perfetto) const DST_ROOT: u32 = 1;
    pub(in crate::perfetto) const DST_ID: u32 = 2;
    pub(in crate::perfetto) const PID: u32 = 3;
    pub(in crate::perfetto) const COMM: u32 = 4;
    pub(in crate::perfetto) const DST_LEVEL: u32 = 6;
    pub(in crate::perfetto) const DST_PATH: u32 = 7;
}

pub(super) mod cpu_idle {
    pub(in crate::perfetto) const STATE: u32 = 1;
    pub(in crate::perfetto) const CPU_ID: u32 = 2;
}

/// `local_timer_entry` and `local_timer_exit`.
pub(super) mod local_timer {
    pub(in crate::perfetto) const VECTOR: u32 = 1;
}

/// An event without a message of its own.
pub(super) mod generic {
    pub(in crate::perfetto) const EVENT_NAME: u32 = 1;
    pub(in crate::perfetto) const FIELD: u32 = 2;
    pub(in crate::perfetto) const FIELD_NAME: u32 = 1;
    pub(in crate::perfetto) const FIELD_STR_VALUE: u32 = 3;
    pub(in crate::perfetto) const FIELD_INT_VALUE: u32 = 4;
    pub(in crate::perfetto) const FIELD_UINT_VALUE: u32 = 5;
}
