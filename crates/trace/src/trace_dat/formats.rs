//! The layout of every event, in the words of the kernel's `format` files.
//!
//! Model.       A table of events; a field's offset follows from the fields before it and its
//!              alignment, as in C.
//! Source.      The files under events/ of a v6.12 x86-64 kernel; the numbers of the events there.

use std::fmt::Write;

use crate::event::EventKind;

/// The number under which records name their event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum EventId {
    LocalTimerEntry = 92,
    SchedStatRuntime = 297,
    SchedProcessExec = 303,
    SchedProcessFork = 304,
    SchedProcessExit = 307,
    SchedMigrateTask = 309,
    SchedSwitch = 310,
    SchedWakeupNew = 311,
    SchedWakeup = 312,
    SchedWaking = 313,
    CpuIdle = 491,
    CgroupAttachTask = 501,
    CfsThrottle = 2000,
    CfsUnthrottle = 2001,
    SchedSetNeedResched = 2002,
    Counter = 2003,
}

impl EventId {
    pub(super) const fn of(kind: &EventKind) -> Self {
        match kind {
            EventKind::SchedSwitch { .. } => Self::SchedSwitch,
            EventKind::SchedWaking { .. } => Self::SchedWaking,
            EventKind::SchedWakeup { .. } => Self::SchedWakeup,
            EventKind::SchedWakeupNew { .. } => Self::SchedWakeupNew,
            EventKind::SchedMigrateTask { .. } => Self::SchedMigrateTask,
            EventKind::SchedProcessFork { .. } => Self::SchedProcessFork,
            EventKind::SchedProcessExec { .. } => Self::SchedProcessExec,
            EventKind::SchedProcessExit { .. } => Self::SchedProcessExit,
            EventKind::SchedStatRuntime { .. } => Self::SchedStatRuntime,
            EventKind::LocalTimerEntry => Self::LocalTimerEntry,
            EventKind::CgroupAttachTask { .. } => Self::CgroupAttachTask,
            EventKind::CpuIdle { .. } => Self::CpuIdle,
            EventKind::CfsThrottle { .. } => Self::CfsThrottle,
            EventKind::CfsUnthrottle { .. } => Self::CfsUnthrottle,
            EventKind::SchedSetNeedResched { .. } => Self::SchedSetNeedResched,
            EventKind::Counter { .. } => Self::Counter,
        }
    }
}

/// What `/sys/kernel/tracing/events/header_page` says.
pub(super) const HEADER_PAGE: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

/// What `/sys/kernel/tracing/events/header_event` says.
pub(super) const HEADER_EVENT: &str = "\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// An event's layout.
struct Layout {
    name: &'static str,
    id: EventId,
    /// Declaration, as in C without its semicolon, and size; the common fields come before them.
    fields: &'static [(&'static str, usize)],
    print: &'static str,
}

/// A system and its events.
pub(super) struct System {
    pub(super) name: &'static str,
    events: &'static [Layout],
}

impl System {
    pub(super) const fn nr_events(&self) -> u32 {
        self.events.len() as u32
    }

    /// The `format` files.
    pub(super) fn formats(&self) -> impl Iterator<Item = String> + '_ {
        self.events.iter().map(Layout::format)
    }
}

const COMMON: [(&str, usize); 4] = [
    ("unsigned short common_type", 2),
    ("unsigned char common_flags", 1),
    ("unsigned char common_preempt_count", 1),
    ("int common_pid", 4),
];

const WAKEUP: [(&str, usize); 4] = [
    ("char comm[16]", 16),
    ("pid_t pid", 4),
    ("int prio", 4),
    ("int target_cpu", 4),
];

const PRINT_WAKEUP: &str =
    r#""comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu"#;

/// All systems.
pub(super) const SYSTEMS: [System; 5] = [
    System {
        name: "sched",
        events: &SCHED,
    },
    System {
        name: "cgroup",
        events: &CGROUP,
    },
    System {
        name: "irq_vectors",
        events: &IRQ_VECTORS,
    },
    System {
        name: "power",
        events: &POWER,
    },
    System {
        name: "fairwind",
        events: &FAIRWIND,
    },
];

const SCHED: [Layout; 9] = [
    Layout {
        name: "sched_switch",
        id: EventId::SchedSwitch,
        fields: &[
            ("char prev_comm[16]", 16),
            ("pid_t prev_pid", 4),
            ("int prev_prio", 4),
            ("long prev_state", 8),
            ("char next_comm[16]", 16),
            ("pid_t next_pid", 4),
            ("int next_prio", 4),
        ],
        print: concat!(
            r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "#,
            r#"next_pid=%d next_prio=%d""#,
            r#", REC->prev_comm, REC->prev_pid, REC->prev_prio, "#,
            r#"(REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", "#,
            r#"{ 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, "#,
            r#"{ 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, "#,
            r#"{ 0x00000040, "P" }, { 0x00000080, "I" }) : "R", "#,
            r#"REC->prev_state & 0x100 ? "+" : "", REC->next_comm, REC->next_pid, "#,
            r#"REC->next_prio"#,
        ),
    },
    Layout {
        name: "sched_waking",
        id: EventId::SchedWaking,
        fields: &WAKEUP,
        print: PRINT_WAKEUP,
    },
    Layout {
        name: "sched_wakeup",
        id: EventId::SchedWakeup,
        fields: &WAKEUP,
        print: PRINT_WAKEUP,
    },
    Layout {
        name: "sched_wakeup_new",
        id: EventId::SchedWakeupNew,
        fields: &WAKEUP,
        print: PRINT_WAKEUP,
    },
    Layout {
        name: "sched_migrate_task",
        id: EventId::SchedMigrateTask,
        fields: &[
            ("char comm[16]", 16),
            ("pid_t pid", 4),
            ("int prio", 4),
            ("int orig_cpu", 4),
            ("int dest_cpu", 4),
        ],
        print: concat!(
            r#""comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d""#,
            r#", REC->comm, REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu"#,
        ),
    },
    Layout {
        name: "sched_process_fork",
        id: EventId::SchedProcessFork,
        fields: &[
            ("char parent_comm[16]", 16),
            ("pid_t parent_pid", 4),
            ("char child_comm[16]", 16),
            ("pid_t child_pid", 4),
        ],
        print: concat!(
            r#""comm=%s pid=%d child_comm=%s child_pid=%d""#,
            r#", REC->parent_comm, REC->parent_pid, REC->child_comm, REC->child_pid"#,
        ),
    },
    Layout {
        name: "sched_process_exec",
        id: EventId::SchedProcessExec,
        fields: &[
            ("__data_loc char[] filename", 4),
            ("pid_t pid", 4),
            ("pid_t old_pid", 4),
        ],
        print: concat!(
            r#""filename=%s pid=%d old_pid=%d""#,
            r#", __get_str(filename), REC->pid, REC->old_pid"#,
        ),
    },
    Layout {
        name: "sched_process_exit",
        id: EventId::SchedProcessExit,
        fields: &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4)],
        print: r#""comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio"#,
    },
    Layout {
        name: "sched_stat_runtime",
        id: EventId::SchedStatRuntime,
        fields: &[("char comm[16]", 16), ("pid_t pid", 4), ("u64 runtime", 8)],
        print: concat!(
            r#""comm=%s pid=%d runtime=%Lu [ns]""#,
            r#", REC->comm, REC->pid, (unsigned long long)REC->runtime"#,
        ),
    },
];

const CGROUP: [Layout; 1] = [Layout {
    name: "cgroup_attach_task",
    id: EventId::CgroupAttachTask,
    fields: &[
        ("int dst_root", 4),
        ("int dst_level", 4),
        ("u64 dst_id", 8),
        ("int pid", 4),
        ("__data_loc char[] dst_path", 4),
        ("__data_loc char[] comm", 4),
    ],
    print: concat!(
        r#""dst_root=%d dst_id=%llu dst_level=%d dst_path=%s pid=%d comm=%s""#,
        r#", REC->dst_root, REC->dst_id, REC->dst_level, __get_str(dst_path), "#,
        r#"REC->pid, __get_str(comm)"#,
    ),
}];

const IRQ_VECTORS: [Layout; 1] = [Layout {
    name: "local_timer_entry",
    id: EventId::LocalTimerEntry,
    fields: &[("int vector", 4)],
    print: r#""vector=%d", REC->vector"#,
}];

const POWER: [Layout; 1] = [Layout {
    name: "cpu_idle",
    id: EventId::CpuIdle,
    fields: &[("u32 state", 4), ("u32 cpu_id", 4)],
    print: concat!(
        r#""state=%lu cpu_id=%lu""#,
        r#", (unsigned long)REC->state, (unsigned long)REC->cpu_id"#,
    ),
}];

const FAIRWIND: [Layout; 4] = [
    Layout {
        name: "cfs_throttle",
        id: EventId::CfsThrottle,
        fields: &[
            ("__data_loc char[] path", 4),
            ("int target_cpu", 4),
            ("s64 runtime_remaining", 8),
        ],
        print: concat!(
            r#""path=%s target_cpu=%03d runtime_remaining=%Ld [ns]""#,
            r#", __get_str(path), REC->target_cpu, REC->runtime_remaining"#,
        ),
    },
    Layout {
        name: "cfs_unthrottle",
        id: EventId::CfsUnthrottle,
        fields: &[
            ("__data_loc char[] path", 4),
            ("int target_cpu", 4),
            ("u64 throttled", 8),
        ],
        print: concat!(
            r#""path=%s target_cpu=%03d throttled=%Lu [ns]""#,
            r#", __get_str(path), REC->target_cpu, REC->throttled"#,
        ),
    },
    Layout {
        name: "sched_set_need_resched",
        id: EventId::SchedSetNeedResched,
        fields: &[
            ("char comm[16]", 16),
            ("pid_t pid", 4),
            ("int target_cpu", 4),
        ],
        print: r#""comm=%s pid=%d target_cpu=%03d", REC->comm, REC->pid, REC->target_cpu"#,
    },
    Layout {
        name: "counter",
        id: EventId::Counter,
        fields: &[("__data_loc char[] name", 4), ("s64 value", 8)],
        print: r#""name=%s value=%Ld", __get_str(name), REC->value"#,
    },
];

impl Layout {
    fn format(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.name, self.id as u16);
        let mut offset = 0;
        let mut field = |&(declaration, size): &(&str, usize)| {
            // Only a number of 8 bytes is aligned to more than the 4 bytes that everything here
            // fills.
            if size == 8 {
                offset = usize::next_multiple_of(offset, 8);
            }
            let kind = declaration.split(' ').next().unwrap_or_default();
            let signed = u8::from(matches!(kind, "int" | "pid_t" | "long" | "s64"));
            let line = format!(
                "\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
            );
            offset += size;
            line
        };
        text.extend(COMMON.iter().map(&mut field));
        text.push('\n');
        text.extend(self.fields.iter().map(&mut field));
        let _ = write!(text, "\nprint fmt: {}\n", self.print);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_the_kernels() {
        // Of a v6.12 kernel: the 8-byte field is aligned, after 4 bytes of nothing.
        let expected = "\
name: sched_stat_runtime
ID: 297
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:u64 runtime;\toffset:32;\tsize:8;\tsigned:0;

print fmt: \"comm=%s pid=%d runtime=%Lu [ns]\", REC->comm, REC->pid, \
(unsigned long long)REC->runtime
";
        assert_eq!(SYSTEMS[0].formats().last().unwrap(), expected);
    }
}
