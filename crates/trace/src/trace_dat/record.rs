//! An event as the bytes of its record.
//!
//! Invariants.  The fields stand where `formats` says; a test has trace-cmd read them back.
//! Source.      The field layouts of a v6.12 x86-64 kernel.

use super::formats::EventId;
use crate::event::{CommonFields, Event, EventKind, LOCAL_TIMER_VECTOR};
use crate::roster::{Group, Roster};

/// Writes `event` into `record`, padded to whole words.
pub(super) fn encode(record: &mut Vec<u8>, event: &Event, roster: &Roster) {
    record.clear();
    let mut fields = Fields {
        record,
        roster,
        cpu: event.cpu,
    };
    let common = CommonFields::of(event);
    fields
        .record
        .extend_from_slice(&(EventId::of(&event.kind) as u16).to_le_bytes());
    fields
        .record
        .extend_from_slice(&[common.flags, common.preempt_count]);
    fields.u32(roster.pid(event.task));
    fields.event(&event.kind);
    let whole = record.len().next_multiple_of(4);
    record.resize(whole, 0);
}

/// A record being written.
struct Fields<'a> {
    record: &'a mut Vec<u8>,
    roster: &'a Roster,
    cpu: u32,
}

impl Fields<'_> {
    fn event(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::SchedSwitch {
                prev,
                prev_prio,
                prev_state,
                next,
                next_prio,
            } => {
                self.comm_and_pid(prev);
                self.i32(prev_prio);
                self.u64(prev_state.bits());
                self.comm_and_pid(next);
                self.i32(next_prio);
            }
            EventKind::SchedWaking {
                task,
                prio,
                target_cpu,
            }
            | EventKind::SchedWakeup {
                task,
                prio,
                target_cpu,
            }
            | EventKind::SchedWakeupNew {
                task,
                prio,
                target_cpu,
            } => {
                self.comm_and_pid(task);
                self.i32(prio);
                self.u32(target_cpu);
            }
            EventKind::SchedMigrateTask {
                task,
                prio,
                orig_cpu,
                dest_cpu,
            } => {
                self.comm_and_pid(task);
                self.i32(prio);
                self.u32(orig_cpu);
                self.u32(dest_cpu);
            }
            EventKind::SchedProcessFork { parent, child } => {
                self.comm_and_pid(parent);
                self.comm_and_pid(child);
            }
            EventKind::SchedProcessExec { task } => {
                let task = self.roster.task(task, self.cpu);
                self.strings(20, &[task.comm.as_bytes()]);
                self.u32(task.pid);
                self.u32(task.pid);
                self.string(task.comm.as_bytes());
            }
            EventKind::SchedProcessExit { task, prio } => {
                self.comm_and_pid(task);
                self.i32(prio);
            }
            EventKind::SchedStatRuntime { task, runtime } => {
                self.comm_and_pid(task);
                self.u32(0);
                self.u64(runtime);
            }
            EventKind::LocalTimerEntry => self.u32(LOCAL_TIMER_VECTOR),
            EventKind::CgroupAttachTask { task, group } => {
                let task = self.roster.task(task, self.cpu);
                let roster = self.roster;
                let Group { path, level } = roster.group(group);
                self.u32(1);
                self.u32(*level);
                self.u64(Group::cgroup_id(group));
                self.u32(task.pid);
                let strings = [path.as_bytes(), task.comm.as_bytes()];
                self.strings(36, &strings);
                self.string(strings[0]);
                self.string(strings[1]);
            }
            EventKind::CpuIdle { state } => {
                self.u32(state);
                self.u32(self.cpu);
            }
            EventKind::CfsThrottle {
                group,
                target_cpu,
                runtime_remaining,
            } => {
                self.cfs_rq(group, target_cpu, runtime_remaining.cast_unsigned());
            }
            EventKind::CfsUnthrottle {
                group,
                target_cpu,
                throttled_ns,
            } => {
                self.cfs_rq(group, target_cpu, throttled_ns);
            }
            EventKind::SchedSetNeedResched { task, target_cpu } => {
                let task = self.roster.task(task, target_cpu);
                self.record.extend_from_slice(task.comm.padded());
                self.u32(task.pid);
                self.u32(target_cpu);
            }
            EventKind::Counter { counter, value } => {
                let roster = self.roster;
                let name = roster.counter(counter).as_bytes();
                self.strings(24, &[name]);
                self.u32(0);
                self.u64(value.cast_unsigned());
                self.string(name);
            }
        }
    }

    fn cfs_rq(&mut self, group: u32, target_cpu: u32, ns: u64) {
        let roster = self.roster;
        let path = roster.group(group).path.as_bytes();
        self.strings(24, &[path]);
        self.u32(target_cpu);
        self.u64(ns);
        self.string(path);
    }

    fn comm_and_pid(&mut self, task: u32) {
        let task = self.roster.task(task, self.cpu);
        self.record.extend_from_slice(task.comm.padded());
        self.u32(task.pid);
    }

    fn i32(&mut self, value: i32) {
        self.u32(value.cast_unsigned());
    }

    fn u32(&mut self, value: u32) {
        self.record.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.record.extend_from_slice(&value.to_le_bytes());
    }

    /// The `__data_loc` words of strings that follow one another from `offset` on: where each is in
    /// the low half, its length with the final zero in the high half.
    fn strings(&mut self, mut offset: u32, strings: &[&[u8]]) {
        for string in strings {
            let len = string.len() as u32 + 1;
            self.u32(len << 16 | offset);
            offset += len;
        }
    }

    fn string(&mut self, string: &[u8]) {
        self.record.extend_from_slice(string);
        self.record.push(0);
    }
}
