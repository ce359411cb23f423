//! The events whose printed fields are known.
//!
//! Source. The `TP_printk` of include/trace/events/{sched,cgroup,power}.h and
//!         arch/x86/include/asm/trace/irq_vectors.h @ v6.12; those of the system `fairwind` are
//!         this crate's own.

use crate::format_desc::{EventFormat, Field, FieldKind, FieldRef};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A task's name, of at most 15 bytes, which may have blanks in it.
    Comm,
    /// A string.
    Text,
    /// A number of that many bytes, with or without a sign.
    Int { size: u32, signed: bool },
    /// A task's state as letters.
    State,
}

/// A printed field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Its name on the line.
    pub(super) printed: String,
    pub(super) kind: Kind,
    /// Not every kernel prints it.
    pub(super) optional: bool,
    pub(super) offset: u32,
}

/// An event whose printed fields are known.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) system: &'static str,
    pub(super) name: &'static str,
    pub(super) keys: Vec<Key>,
    fields: Vec<Field>,
    /// How long a record is without its strings.
    pub(super) size: u32,
}

/// `system name keys`; a key is `printed:type`, or `printed=field:type` where the kernel's name of
/// the field is another; a question mark says that not every kernel prints it.
const EVENTS: &[(&str, &str, &str)] = &[
    (
        "sched",
        "sched_switch",
        "prev_comm:comm prev_pid:s4 prev_prio:s4 prev_state:state \
         next_comm:comm next_pid:s4 next_prio:s4",
    ),
    ("sched", "sched_waking", WAKEUP),
    ("sched", "sched_wakeup", WAKEUP),
    ("sched", "sched_wakeup_new", WAKEUP),
    (
        "sched",
        "sched_migrate_task",
        "comm:comm pid:s4 prio:s4 orig_cpu:s4 dest_cpu:s4",
    ),
    (
        "sched",
        "sched_process_fork",
        "comm=parent_comm:comm pid=parent_pid:s4 child_comm:comm child_pid:s4",
    ),
    (
        "sched",
        "sched_process_exec",
        "filename:text pid:s4 old_pid:s4",
    ),
    ("sched", "sched_process_exit", TASK),
    ("sched", "sched_process_free", TASK),
    ("sched", "sched_process_wait", TASK),
    (
        "sched",
        "sched_stat_runtime",
        "comm:comm pid:s4 runtime:u8 vruntime:u8?",
    ),
    ("sched", "sched_stat_wait", DELAY),
    ("sched", "sched_stat_sleep", DELAY),
    ("sched", "sched_stat_iowait", DELAY),
    ("sched", "sched_stat_blocked", DELAY),
    (
        "sched",
        "sched_pi_setprio",
        "comm:comm pid:s4 oldprio:s4 newprio:s4",
    ),
    (
        "sched",
        "sched_set_need_resched",
        "comm:comm pid:s4 cpu:s4 tif:text",
    ),
    ("cgroup", "cgroup_attach_task", ATTACH),
    ("cgroup", "cgroup_transfer_tasks", ATTACH),
    ("cgroup", "cgroup_mkdir", CGROUP),
    ("cgroup", "cgroup_rmdir", CGROUP),
    ("irq_vectors", "local_timer_entry", "vector:s4"),
    ("irq_vectors", "local_timer_exit", "vector:s4"),
    ("irq_vectors", "reschedule_entry", "vector:s4"),
    ("irq_vectors", "reschedule_exit", "vector:s4"),
    ("power", "cpu_idle", "state:u4 cpu_id:u4"),
    ("power", "cpu_frequency", "state:u4 cpu_id:u4"),
    (
        "fairwind",
        "cfs_throttle",
        "path:text target_cpu:s4 runtime_remaining:s8",
    ),
    (
        "fairwind",
        "cfs_unthrottle",
        "path:text target_cpu:s4 throttled:u8",
    ),
    (
        "fairwind",
        "sched_set_need_resched",
        "comm:comm pid:s4 target_cpu:s4",
    ),
    ("fairwind", "counter", "name:text value:s8"),
];

const WAKEUP: &str = "comm:comm pid:s4 prio:s4 target_cpu:s4";
const TASK: &str = "comm:comm pid:s4 prio:s4";
const DELAY: &str = "comm:comm pid:s4 delay:u8";
const ATTACH: &str = "dst_root:s4 dst_id:u8 dst_level:s4 dst_path:text pid:s4 comm:text";
const CGROUP: &str = "root:s4 id:u8 level:s4 path:text";

/// The fields that every record begins with.
pub(super) const COMMON_SIZE: u32 = 8;

/// Those fields, where a ring buffer's records have them.
pub(super) fn common_fields() -> Vec<Field> {
    let field = |name: &str, offset, size, signed| Field {
        name: name.to_owned(),
        at: FieldRef::new(offset, size, FieldKind::Int { signed }),
    };
    vec![
        field("common_type", 0, 2, false),
        field("common_flags", 2, 1, false),
        field("common_preempt_count", 3, 1, false),
        field("common_pid", 4, 4, true),
    ]
}

impl Known {
    /// The events of that name; of that system only, if one is given.
    pub(super) fn of(system: &str, name: &str) -> impl Iterator<Item = Self> {
        let fits = move |event: &&(&str, &str, &str)| {
            event.1 == name && (system.is_empty() || event.0 == system)
        };
        let event = |&(system, name, keys): &(&'static str, &'static str, &str)| {
            Self::new(system, name, keys)
        };
        EVENTS.iter().filter(fits).map(event)
    }

    fn new(system: &'static str, name: &'static str, spec: &str) -> Self {
        let mut fields = common_fields();
        let mut keys = Vec::new();
        let mut offset = COMMON_SIZE;
        for word in spec.split_whitespace() {
            let (names, kind) = word.split_once(':').unwrap_or((word, "text"));
            let (printed, field) = names.split_once('=').unwrap_or((names, names));
            let optional = kind.ends_with('?');
            let (kind, size, field_kind) = match kind.trim_end_matches('?') {
                "comm" => (Kind::Comm, 16, FieldKind::Chars),
                "state" => (Kind::State, 8, FieldKind::Int { signed: true }),
                "s4" => int(4, true),
                "u4" => int(4, false),
                "s8" => int(8, true),
                "u8" => int(8, false),
                _ => (Kind::Text, 4, FieldKind::DataLoc),
            };
            keys.push(Key {
                printed: printed.to_owned(),
                kind,
                optional,
                offset,
            });
            fields.push(Field {
                name: field.to_owned(),
                at: FieldRef::new(offset, size, field_kind),
            });
            offset += size;
        }
        Self {
            system,
            name,
            keys,
            fields,
            size: offset,
        }
    }

    /// Its layout, under a number of this trace's own.
    pub(super) fn format(&self, kernel_id: u32) -> EventFormat {
        EventFormat::new(self.system, self.name, kernel_id, self.fields.clone())
    }
}

const fn int(size: u32, signed: bool) -> (Kind, u32, FieldKind) {
    (Kind::Int { size, signed }, size, FieldKind::Int { signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_names_become_the_kernels() {
        let fork = Known::of("", "sched_process_fork").next().unwrap();
        assert_eq!(fork.keys[0].printed, "comm");
        let format = fork.format(3);
        let parent_pid = format.field("parent_pid").unwrap();
        assert_eq!((parent_pid.offset(), parent_pid.size()), (8 + 16, 4));
        assert_eq!(format.field("pid"), None);
        // comm 16, pid 4, comm 16, pid 4.
        assert_eq!(fork.size, 8 + 40);
    }

    #[test]
    fn one_name_can_stand_for_two_events() {
        let systems =
            |system| Known::of(system, "sched_set_need_resched").map(|event| event.system);
        assert_eq!(systems("").collect::<Vec<_>>(), ["sched", "fairwind"]);
        assert_eq!(systems("fairwind").collect::<Vec<_>>(), ["fairwind"]);
    }
}
