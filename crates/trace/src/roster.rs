//! The names that have been announced, for every format alike.
//!
//! Invariants.  A `comm` has at most 15 bytes, is UTF-8 and holds no control characters, so that it
//!              is one word of one line in every format. Paths have at most 1 024 bytes, so that a
//!              record always fits a ring-buffer page.

use crate::event::{Event, SWAPPER};
use crate::names::Names;
use crate::sink::{CounterInfo, CounterScope, GroupInfo, Header, ROOT_GROUP, TaskInfo};
use crate::table::Table;

/// The kernel's TASK_COMM_LEN, which counts the terminating zero.
pub(crate) const TASK_COMM_LEN: usize = 16;

/// The longest path or counter name that is written, in bytes.
const MAX_NAME: usize = 1024;

/// A task's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comm {
    bytes: [u8; TASK_COMM_LEN],
    len: u8,
}

impl Comm {
    pub(crate) fn new(name: &str) -> Self {
        let name = printable(name, TASK_COMM_LEN - 1);
        let mut comm = Self {
            bytes: [0; TASK_COMM_LEN],
            len: name.len() as u8,
        };
        comm.bytes[..name.len()].copy_from_slice(name.as_bytes());
        comm
    }

    /// The name of the idle task of `cpu`.
    pub(crate) fn swapper(cpu: u32) -> Self {
        Self::new(&format!("swapper/{cpu}"))
    }

    /// The name.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The name as the tracepoints record it, filled up with zeros.
    pub(crate) const fn padded(&self) -> &[u8; TASK_COMM_LEN] {
        &self.bytes
    }
}

/// Who a task number stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) pid: u32,
    pub(crate) tgid: u32,
    pub(crate) comm: Comm,
}

/// What a group number stands for.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) path: String,
    /// The number of path components: 0 for the root.
    pub(crate) level: u32,
}

impl Group {
    /// The cgroup id, which in the kernel is an inode number: the root's is 1.
    pub(crate) const fn cgroup_id(id: u32) -> u64 {
        id as u64 + 1
    }
}

/// The names announced so far.
#[derive(Debug)]
pub(crate) struct Roster {
    tasks: Names<Task>,
    groups: Table<Group>,
    /// The full name, such as `cpu3 nr_running`.
    counters: Table<String>,
    /// `[cpu]`: when its last event was.
    last_ts: Vec<u64>,
}

impl Roster {
    pub(crate) fn new(header: &Header) -> Self {
        let mut roster = Self {
            tasks: Names::new(header.nr_cpus, Task::clone),
            groups: Table::new("group"),
            counters: Table::new("counter"),
            last_ts: vec![0; header.nr_cpus as usize],
        };
        roster.announce_group(ROOT_GROUP, &GroupInfo { path: "/".into() });
        roster
    }

    pub(crate) fn announce_task(&mut self, id: u32, info: &TaskInfo) -> Task {
        assert!(
            id != SWAPPER,
            "task {id} is the idle task and is not announced"
        );
        let _ = self.group(info.group);
        let task = Task {
            pid: info.pid,
            tgid: info.tgid,
            comm: Comm::new(&info.comm),
        };
        self.tasks.put(id, task);
        task
    }

    pub(crate) fn announce_group(&mut self, id: u32, info: &GroupInfo) {
        let path = printable(&info.path, MAX_NAME);
        let level = path
            .split('/')
            .filter(|component| !component.is_empty())
            .count() as u32;
        self.groups.put(id, Group { path, level });
    }

    pub(crate) fn announce_counter(&mut self, id: u32, info: &CounterInfo) {
        let name = match info.scope {
            CounterScope::Machine => info.name.clone(),
            CounterScope::Cpu(cpu) => format!("cpu{cpu} {}", info.name),
            CounterScope::Group(group) => format!("{} {}", self.group(group).path, info.name),
        };
        self.counters.put(id, printable(&name, MAX_NAME));
    }

    /// Who task `id` is on `cpu`.
    pub(crate) fn task(&self, id: u32, cpu: u32) -> Task {
        *self.tasks.get(id, cpu)
    }

    pub(crate) fn pid(&self, id: u32) -> u32 {
        if id == SWAPPER {
            0
        } else {
            self.task(id, 0).pid
        }
    }

    pub(crate) fn group(&self, id: u32) -> &Group {
        self.groups.get(id)
    }

    pub(crate) fn counter(&self, id: u32) -> &str {
        self.counters.get(id)
    }

    /// Checks that the event is on a CPU of the machine, and not before the last one there.
    pub(crate) fn check(&mut self, event: &Event) {
        let Event { ts, cpu, .. } = *event;
        let nr_cpus = self.last_ts.len();
        let Some(last) = self.last_ts.get_mut(cpu as usize) else {
            panic!("event on CPU {cpu} of a machine of {nr_cpus} CPUs");
        };
        assert!(
            *last <= ts,
            "event at {ts} ns on CPU {cpu} comes after one at {last} ns there"
        );
        *last = ts;
    }
}

/// `name` with its control characters replaced, cut to at most `max` bytes between characters.
fn printable(name: &str, max: usize) -> String {
    let mut printable = String::new();
    for letter in name.chars() {
        let letter = if letter.is_control() { '?' } else { letter };
        if printable.len() + letter.len_utf8() > max {
            break;
        }
        printable.push(letter);
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comm_is_cut_between_characters() {
        // 14 ASCII bytes leave one byte of 15, and é needs two.
        assert_eq!(Comm::new("fourteen-bytesé!").as_bytes(), b"fourteen-bytes");
        assert_eq!(
            Comm::new("exactly-fifteen-and-more").as_bytes(),
            b"exactly-fifteen"
        );
        assert_eq!(Comm::new("a\nb").as_bytes(), b"a?b");
        assert_eq!(Comm::swapper(4095).padded(), b"swapper/4095\0\0\0\0");
    }

    #[test]
    fn a_group_knows_its_level() {
        let header = Header {
            nr_cpus: 1,
            kernel: "6.12".into(),
            machine: String::new(),
            hz: 250,
        };
        let mut roster = Roster::new(&header);
        roster.announce_group(
            7,
            &GroupInfo {
                path: "/web/worker".into(),
            },
        );
        assert_eq!(roster.group(7).level, 2);
        assert_eq!(
            (roster.group(ROOT_GROUP).level, Group::cgroup_id(ROOT_GROUP)),
            (0, 1)
        );
    }
}
