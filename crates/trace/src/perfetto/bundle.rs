//! Scheduling events as ftrace events.
//!
//! Model. Each CPU gathers encoded events; a full bundle becomes one packet.

use super::name::Name;
use super::packet::Stream;
use super::schema::{
    cgroup_attach_task, cpu_idle, ftrace_event, ftrace_event_bundle, generic, local_timer,
    sched_migrate_task, sched_process_exec, sched_process_exit, sched_process_fork, sched_switch,
    sched_wakeup,
};
use super::wire::{bytes, message, signed, unsigned};
use crate::event::{CommonFields, Event, EventKind, LOCAL_TIMER_VECTOR};
use crate::names::Names;
use crate::roster::{Group, Roster, Task};

/// How many bytes of events make a bundle.
const FULL: usize = 8 << 10;

/// Each CPU's events since its last packet.
#[derive(Debug)]
pub(super) struct Bundles {
    stream: Stream,
    /// `[cpu]`: the CPU's number and its events, encoded as the fields of an `FtraceEventBundle`.
    fields: Vec<Vec<u8>>,
    names: Names<Name>,
}

impl Bundles {
    pub(super) fn new(stream: Stream, nr_cpus: u32) -> Self {
        Self {
            stream,
            fields: vec![Vec::new(); nr_cpus as usize],
            names: Names::new(nr_cpus, Name::new),
        }
    }

    /// A task is announced.
    pub(super) fn task(&mut self, id: u32, task: &Task) {
        self.names.put(id, Name::new(task));
    }

    /// Adds an event to its CPU's bundle, and the bundle to `out` if it is full.
    pub(super) fn push(&mut self, event: &Event, roster: &Roster, out: &mut Vec<u8>) {
        let fields = &mut self.fields[event.cpu as usize];
        if fields.is_empty() {
            unsigned(fields, ftrace_event_bundle::CPU, event.cpu);
        }
        let kind = Encoder {
            event,
            roster,
            names: &self.names,
        };
        kind.put(fields);
        if fields.len() >= FULL {
            self.stream.bundle(out, fields);
            fields.clear();
        }
    }

    /// Adds what is left to `out`.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        for fields in &mut self.fields {
            if !fields.is_empty() {
                self.stream.bundle(out, fields);
                fields.clear();
            }
        }
    }
}

/// An event and the names it needs.
struct Encoder<'a> {
    event: &'a Event,
    roster: &'a Roster,
    names: &'a Names<Name>,
}

impl Encoder<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        match self.event.kind {
            EventKind::SchedSwitch {
                prev,
                prev_prio,
                prev_state,
                next,
                next_prio,
            } => {
                use sched_switch as field;
                self.ftrace(out, ftrace_event::SCHED_SWITCH, |out| {
                    self.task(out, prev, field::PREV_COMM, field::PREV_PID);
                    signed(out, field::PREV_PRIO, prev_prio);
                    unsigned(out, field::PREV_STATE, prev_state.bits());
                    self.task(out, next, field::NEXT_COMM, field::NEXT_PID);
                    signed(out, field::NEXT_PRIO, next_prio);
                });
            }
            EventKind::SchedWaking {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup(out, ftrace_event::SCHED_WAKING, task, prio, target_cpu);
            }
            EventKind::SchedWakeup {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup(out, ftrace_event::SCHED_WAKEUP, task, prio, target_cpu);
            }
            EventKind::SchedWakeupNew {
                task,
                prio,
                target_cpu,
            } => {
                self.wakeup(out, ftrace_event::SCHED_WAKEUP_NEW, task, prio, target_cpu);
            }
            EventKind::SchedMigrateTask {
                task,
                prio,
                orig_cpu,
                dest_cpu,
            } => {
                use sched_migrate_task as field;
                self.ftrace(out, ftrace_event::SCHED_MIGRATE_TASK, |out| {
                    self.task(out, task, field::COMM, field::PID);
                    signed(out, field::PRIO, prio);
                    unsigned(out, field::ORIG_CPU, orig_cpu);
                    unsigned(out, field::DEST_CPU, dest_cpu);
                });
            }
            EventKind::SchedProcessFork { parent, child } => {
                use sched_process_fork as field;
                self.ftrace(out, ftrace_event::SCHED_PROCESS_FORK, |out| {
                    self.task(out, parent, field::PARENT_COMM, field::PARENT_PID);
                    self.task(out, child, field::CHILD_COMM, field::CHILD_PID);
                });
            }
            EventKind::SchedProcessExec { task } => {
                use sched_process_exec as field;
                self.ftrace(out, ftrace_event::SCHED_PROCESS_EXEC, |out| {
                    self.task(out, task, field::FILENAME, field::PID);
                    unsigned(out, field::OLD_PID, self.roster.pid(task));
                });
            }
            EventKind::SchedProcessExit { task, prio } => {
                use sched_process_exit as field;
                self.ftrace(out, ftrace_event::SCHED_PROCESS_EXIT, |out| {
                    self.task(out, task, field::COMM, field::PID);
                    let tgid = self.roster.task(task, self.event.cpu).tgid;
                    unsigned(out, field::TGID, tgid);
                    signed(out, field::PRIO, prio);
                });
            }
            EventKind::LocalTimerEntry => {
                for kind in [
                    ftrace_event::LOCAL_TIMER_ENTRY,
                    ftrace_event::LOCAL_TIMER_EXIT,
                ] {
                    self.ftrace(out, kind, |out| {
                        unsigned(out, local_timer::VECTOR, LOCAL_TIMER_VECTOR);
                    });
                }
            }
            EventKind::CgroupAttachTask { task, group } => {
                use cgroup_attach_task as field;
                let Group { path, level } = self.roster.group(group);
                self.ftrace(out, ftrace_event::CGROUP_ATTACH_TASK, |out| {
                    unsigned(out, field::DST_ROOT, 1_u32);
                    unsigned(out, field::DST_ID, Group::cgroup_id(group));
                    self.task(out, task, field::COMM, field::PID);
                    unsigned(out, field::DST_LEVEL, *level);
                    bytes(out, field::DST_PATH, path.as_bytes());
                });
            }
            EventKind::CpuIdle { state } => self.ftrace(out, ftrace_event::CPU_IDLE, |out| {
                unsigned(out, cpu_idle::STATE, state);
                unsigned(out, cpu_idle::CPU_ID, self.event.cpu);
            }),
            EventKind::SchedStatRuntime { task, runtime } => {
                let cpu = self.event.cpu;
                self.generic(
                    out,
                    b"sched_stat_runtime",
                    (task, cpu),
                    (b"runtime", runtime),
                );
            }
            EventKind::SchedSetNeedResched { task, target_cpu } => self.generic(
                out,
                b"sched_set_need_resched",
                (task, target_cpu),
                (b"target_cpu", target_cpu.into()),
            ),
            // These are drawn as tracks.
            EventKind::CfsThrottle { .. }
            | EventKind::CfsUnthrottle { .. }
            | EventKind::Counter { .. } => {}
        }
    }

    /// An `FtraceEvent` of that kind, whose own fields `fill` writes.
    #[inline(always)]
    fn ftrace(&self, out: &mut Vec<u8>, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        message(out, ftrace_event_bundle::EVENT, |out| {
            unsigned(out, ftrace_event::TIMESTAMP, self.event.ts);
            let task = self.names.get(self.event.task, self.event.cpu);
            task.running.put(out);
            unsigned(
                out,
                ftrace_event::COMMON_FLAGS,
                CommonFields::of(self.event).flags,
            );
            message(out, kind, fill);
        });
    }

    fn wakeup(&self, out: &mut Vec<u8>, kind: u32, task: u32, prio: i32, target_cpu: u32) {
        self.ftrace(out, kind, |out| {
            self.task(out, task, sched_wakeup::COMM, sched_wakeup::PID);
            signed(out, sched_wakeup::PRIO, prio);
            unsigned(out, sched_wakeup::TARGET_CPU, target_cpu);
        });
    }

    #[inline(always)]
    fn task(&self, out: &mut Vec<u8>, task: u32, comm: u32, pid: u32) {
        let name = self.names.get(task, self.event.cpu);
        name.comm_and_pid(out, comm, pid);
    }

    /// An event that tells a task, which may be the idle task of some CPU, and one number.
    #[inline(always)]
    fn generic(
        &self,
        out: &mut Vec<u8>,
        name: &[u8],
        (task, cpu): (u32, u32),
        (number, value): (&[u8], u64),
    ) {
        let task = self.names.get(task, cpu);
        self.ftrace(out, ftrace_event::GENERIC, |out| {
            bytes(out, generic::EVENT_NAME, name);
            task.generic.put(out);
            message(out, generic::FIELD, |out| {
                bytes(out, generic::FIELD_NAME, number);
                unsigned(out, generic::FIELD_UINT_VALUE, value);
            });
        });
    }
}
