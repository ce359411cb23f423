//! Writes events as lines.

use std::io;
use std::path::Path;

use super::digits::{number, three};
use super::name::Name;
use crate::error::Error;
use crate::event::{CommonFields, Event, EventKind, LOCAL_TIMER_VECTOR};
use crate::names::Names;
use crate::piece::Piece;
use crate::roster::{Group, Roster};
use crate::sink::{CounterInfo, GroupInfo, Header, TaskInfo, TraceSink};
use crate::staged::StagedFile;

/// What stands before the line with the number of entries.
const BEFORE_COUNT: &str = "# tracer: nop\n#\n";

/// The width kept for that line: its words, two numbers of 20 digits, and the CPU count.
const COUNT_WIDTH: usize = 96;

/// What stands after it.
const AFTER_COUNT: &str = "\
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

/// A text trace being written.
pub(crate) struct Writer {
    out: StagedFile,
    roster: Roster,
    names: Names<Name>,
    second: Second,
    nr_cpus: u32,
    nr_events: u64,
}

/// A second of the timestamps: `%5lu.`.
struct Second {
    number: u64,
    text: Piece<24>,
}

impl Second {
    fn new(number: u64) -> Second {
        Second {
            number,
            text: Piece::new(format!("{number:5}.").as_bytes()),
        }
    }
}

impl Writer {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Error> {
        let mut out = StagedFile::create(path)?;
        out.buffer.extend_from_slice(BEFORE_COUNT.as_bytes());
        out.buffer.resize(BEFORE_COUNT.len() + COUNT_WIDTH, b' ');
        out.buffer.push(b'\n');
        out.buffer.extend_from_slice(AFTER_COUNT.as_bytes());
        Ok(Self {
            out,
            roster: Roster::new(header),
            names: Names::new(header.nr_cpus, Name::idle),
            second: Second::new(0),
            nr_cpus: header.nr_cpus,
            nr_events: 0,
        })
    }
}

impl TraceSink for Writer {
    fn task(&mut self, id: u32, info: &TaskInfo) -> io::Result<()> {
        let task = self.roster.announce_task(id, info);
        self.names.put(id, Name::new(&task));
        Ok(())
    }

    fn group(&mut self, id: u32, info: &GroupInfo) -> io::Result<()> {
        self.roster.announce_group(id, info);
        Ok(())
    }

    fn counter(&mut self, id: u32, info: &CounterInfo) -> io::Result<()> {
        self.roster.announce_counter(id, info);
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.roster.check(event);
        let mut line = Line {
            out: &mut self.out.buffer,
            roster: &self.roster,
            names: &self.names,
            cpu: event.cpu,
        };
        line.columns(event, &mut self.second);
        line.event(&event.kind);
        self.out.buffer.push(b'\n');
        self.nr_events += 1;
        self.out.drain()
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let Self {
            nr_events, nr_cpus, ..
        } = *self;
        let count =
            format!("# entries-in-buffer/entries-written: {nr_events}/{nr_events}   #P:{nr_cpus}");
        assert!(count.len() <= COUNT_WIDTH);
        self.out
            .write_at(BEFORE_COUNT.len() as u64, count.as_bytes())?;
        self.out.commit()
    }
}

/// A line being written: the buffer and what is needed to turn numbers into names.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    roster: &'a Roster,
    names: &'a Names<Name>,
    cpu: u32,
}

impl Line<'_> {
    /// Task, CPU, flags and time: `%16s-%-7d [%03d] ` flags ` %5lu.%06lu: `.
    #[inline]
    fn columns(&mut self, event: &Event, second: &mut Second) {
        self.names.get(event.task, event.cpu).column.put(self.out);
        self.cpu(event.cpu);
        let [irqs, resched, context, depth, migrate] = flag_letters(CommonFields::of(event));
        let flags = [b']', b' ', irqs, resched, context, depth, migrate, b' '];
        self.out.extend_from_slice(&flags);
        // Half a microsecond and more counts as a whole one, as in the kernel's ns2usecs.
        let us = event.ts / 1000 + u64::from(event.ts % 1000 >= 500);
        let (seconds, us) = (us / 1_000_000, us % 1_000_000);
        if second.number != seconds {
            *second = Second::new(seconds);
        }
        second.text.put(self.out);
        three(self.out, us / 1000);
        three(self.out, us % 1000);
        self.text(": ");
    }

    fn event(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::SchedSwitch {
                prev,
                prev_prio,
                prev_state,
                next,
                next_prio,
            } => {
                self.text("sched_switch: prev_comm=");
                self.comm_and_pid(prev, " prev_pid=");
                self.signed(" prev_prio=", prev_prio);
                self.text(" prev_state=");
                self.text(prev_state.letters());
                self.text(" ==> next_comm=");
                self.comm_and_pid(next, " next_pid=");
                self.signed(" next_prio=", next_prio);
            }
            EventKind::SchedWaking {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup("sched_waking: comm=", task, prio, target_cpu);
            }
            EventKind::SchedWakeup {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup("sched_wakeup: comm=", task, prio, target_cpu);
            }
            EventKind::SchedWakeupNew {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup("sched_wakeup_new: comm=", task, prio, target_cpu);
            }
            EventKind::SchedMigrateTask {
                task,
                prio,
                orig_cpu,
                dest_cpu,
            } => {
                self.text("sched_migrate_task: comm=");
                self.comm_and_pid(task, " pid=");
                self.signed(" prio=", prio);
                self.field(" orig_cpu=", orig_cpu);
                self.field(" dest_cpu=", dest_cpu);
            }
            EventKind::SchedProcessFork { parent, child } => {
                self.text("sched_process_fork: comm=");
                self.comm_and_pid(parent, " pid=");
                self.text(" child_comm=");
                self.comm_and_pid(child, " child_pid=");
            }
            EventKind::SchedProcessExec { task } => {
                self.text("sched_process_exec: filename=");
                self.comm_and_pid(task, " pid=");
                self.field(" old_pid=", self.roster.pid(task));
            }
            EventKind::SchedProcessExit { task, prio } => {
                self.text("sched_process_exit: comm=");
                self.comm_and_pid(task, " pid=");
                self.signed(" prio=", prio);
            }
            EventKind::SchedStatRuntime { task, runtime } => {
                self.text("sched_stat_runtime: comm=");
                self.comm_and_pid(task, " pid=");
                self.field(" runtime=", runtime);
                self.text(" [ns]");
            }
            EventKind::LocalTimerEntry => {
                self.field("local_timer_entry: vector=", LOCAL_TIMER_VECTOR);
            }
            EventKind::CgroupAttachTask { task, group } => {
                let roster = self.roster;
                let Group { path, level } = roster.group(group);
                self.field(
                    "cgroup_attach_task: dst_root=1 dst_id=",
                    Group::cgroup_id(group),
                );
                self.field(" dst_level=", *level);
                self.text(" dst_path=");
                self.text(path);
                self.field(" pid=", roster.pid(task));
                self.text(" comm=");
                self.names.get(task, self.cpu).comm.put(self.out);
            }
            EventKind::CpuIdle { state } => {
                self.field("cpu_idle: state=", state);
                self.field(" cpu_id=", self.cpu);
            }
            EventKind::CfsThrottle {
                group,
                target_cpu,
                runtime_remaining,
            } => {
                self.group("cfs_throttle: path=", group, target_cpu);
                self.signed(" runtime_remaining=", runtime_remaining);
                self.text(" [ns]");
            }
            EventKind::CfsUnthrottle {
                group,
                target_cpu,
                throttled_ns,
            } => {
                self.group("cfs_unthrottle: path=", group, target_cpu);
                self.field(" throttled=", throttled_ns);
                self.text(" [ns]");
            }
            EventKind::SchedSetNeedResched { task, target_cpu } => {
                self.text("sched_set_need_resched: comm=");
                self.name(task, target_cpu, " pid=");
                self.target_cpu(target_cpu);
            }
            EventKind::Counter { counter, value } => {
                let roster = self.roster;
                self.text("tracing_mark_write: C|0|");
                self.text(roster.counter(counter));
                self.signed("|", value);
            }
        }
    }

    fn wakeup(&mut self, start: &str, task: u32, prio: i32, target_cpu: u32) {
        self.text(start);
        self.comm_and_pid(task, " pid=");
        self.signed(" prio=", prio);
        self.target_cpu(target_cpu);
    }

    fn group(&mut self, start: &str, group: u32, target_cpu: u32) {
        let roster = self.roster;
        self.text(start);
        self.text(&roster.group(group).path);
        self.target_cpu(target_cpu);
    }

    fn target_cpu(&mut self, cpu: u32) {
        self.text(" target_cpu=");
        self.cpu(cpu);
    }

    /// `%03d`.
    #[inline(always)]
    fn cpu(&mut self, cpu: u32) {
        if cpu < 1000 {
            three(self.out, cpu.into());
        } else {
            number(self.out, cpu.into());
        }
    }

    #[inline(always)]
    fn comm_and_pid(&mut self, task: u32, pid: &str) {
        self.name(task, self.cpu, pid);
    }

    #[inline(always)]
    fn name(&mut self, task: u32, cpu: u32, pid: &str) {
        let name = self.names.get(task, cpu);
        name.comm.put(self.out);
        self.text(pid);
        name.pid.put(self.out);
    }

    #[inline(always)]
    fn field(&mut self, name: &str, value: impl Into<u64>) {
        self.text(name);
        number(self.out, value.into());
    }

    #[inline(always)]
    fn signed(&mut self, name: &str, value: impl Into<i64>) {
        let value = value.into();
        self.text(name);
        if value < 0 {
            self.out.push(b'-');
        }
        number(self.out, value.unsigned_abs());
    }

    #[inline(always)]
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

/// The five letters for interrupts off, reschedule, interrupt context, preemption depth and
/// disabled migration.
fn flag_letters(fields: CommonFields) -> [u8; 5] {
    let has = |flag| fields.flags & flag != 0;
    let irqs = if has(CommonFields::IRQS_OFF) {
        b'd'
    } else {
        b'.'
    };
    let resched = if has(CommonFields::NEED_RESCHED) {
        b'N'
    } else {
        b'.'
    };
    let context = match (has(CommonFields::HARDIRQ), has(CommonFields::SOFTIRQ)) {
        (true, _) => b'h',
        (false, true) => b's',
        (false, false) => b'.',
    };
    let depth = match fields.preempt_count {
        0 => b'.',
        depth => b'0' + depth,
    };
    [irqs, resched, context, depth, b'.']
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SWAPPER;
    use crate::roster::{Comm, Task};

    fn columns(ts: u64, task: u32) -> String {
        let header = Header {
            nr_cpus: 4,
            kernel: "6.12".into(),
            machine: String::new(),
            hz: 250,
        };
        let mut names = Names::new(4, Name::idle);
        let bash = Task {
            pid: 6046,
            tgid: 6046,
            comm: Comm::new("bash"),
        };
        names.put(0, Name::new(&bash));
        let mut out = Vec::new();
        let kind = EventKind::SchedWakeupNew {
            task: 0,
            prio: 120,
            target_cpu: 0,
        };
        Line {
            out: &mut out,
            roster: &Roster::new(&header),
            names: &names,
            cpu: 1,
        }
        .columns(&Event::new(ts, 1, task, kind), &mut Second::new(0));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_columns_are_the_kernels() {
        // Two lines of a 6.18 kernel, cut before the event's name.
        assert_eq!(
            columns(1_023_207_116_000, 0),
            "            bash-6046    [001] d..2.  1023.207116: "
        );
        assert_eq!(
            columns(1_023_207_141_000, SWAPPER),
            "          <idle>-0       [001] d..2.  1023.207141: "
        );
    }

    #[test]
    fn times_round_to_the_nearest_microsecond() {
        // 499 ns round down, 500 ns up, and the carry reaches the seconds.
        assert!(columns(1_499, 0).ends_with("     0.000001: "));
        assert!(columns(1_500, 0).ends_with("     0.000002: "));
        assert!(columns(1_999_999_500, 0).ends_with("     2.000000: "));
    }
}
