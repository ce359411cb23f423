//! Groups and attributes: what records name of them.
//!
//! Deviations. A group has its final shares from the start: changes are not recorded.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::{CpuId, GroupId};

impl Follower<'_> {
    /// A group was made.
    pub(super) fn mkdir(&mut self, r: &Record, path: &str) {
        if self.groups.contains_key(path) {
            return;
        }
        let parent = match path.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() => parent,
            _ => "/",
        };
        let parent = self.groups.get(parent).copied().unwrap_or(GroupId::ROOT);
        let group = self.sched.create_group(parent, r.ts);
        self.groups.insert(path.to_owned(), group);
        let Some(&facts) = self.facts.groups.get(path) else {
            self.judge.mended("groups of which no file tells");
            return;
        };
        let mut refused = self.sched.set_shares(group, facts.shares, r.ts).is_err();
        if facts.idle {
            refused |= self.sched.set_idle(group, true, r.ts).is_err();
        }
        if refused {
            self.judge.mended("groups with settings that cannot be");
        }
    }

    /// A task went to a group: at the charge that moving it made, if it was running.
    pub(super) fn attach(&mut self, r: &Record, pid: i32, path: &str) {
        let charged = self.charge_of_attach(self.at, pid);
        if charged.is_none() {
            self.move_task(r, pid, path);
        }
        let set_next = std::mem::take(&mut self.cpu(r.cpu).set_next);
        if self.cpu(r.cpu).requeued_by_attach {
            self.cpu(r.cpu).requeued_by_attach = false;
            self.cpu(r.cpu).put_prev.clear();
            let task = self.task(pid, "", r.cpu, r.ts);
            self.compare_probes(r, task, set_next, "attach");
        }
    }

    /// After a charge: if it is that of a running task that goes to a group, it goes there now. The record
    /// that tells it comes later, and a tick may come between.
    pub(super) fn attach_charged(&mut self, r: &Record, pid: i32) {
        if r.irq || self.cpu(r.cpu).waking.is_some() {
            return;
        }
        let mut at = self.at;
        let path = loop {
            let Some(next) = self.next_on_cpu[at] else {
                return;
            };
            at = next;
            match &self.records[at].what {
                What::Attach { pid: moved, path } if *moved == pid => break path,
                What::Switch { .. } => return,
                _ => {}
            }
        };
        if self.charge_of_attach(at, pid) == Some(self.at) {
            let clock = self.cpu(r.cpu).pending_clock;
            self.drop_clock(r);
            self.cpu(r.cpu).pending_clock = clock;
            self.move_task(r, pid, path);
            self.cpu(r.cpu).requeued_by_attach = true;
        }
    }

    /// The charge that moving a running task made: the last one of its own before the record, outside of
    /// interrupts and wakeups.
    fn charge_of_attach(&self, at: usize, pid: i32) -> Option<usize> {
        let cpu = self.records[at].cpu;
        let mut waking = false;
        for (at, r) in self.records[..at].iter().enumerate().rev() {
            if r.cpu != cpu {
                continue;
            }
            match &r.what {
                What::Switch { .. } => break,
                What::Wakeup { .. } | What::WakeupNew { .. } => waking = true,
                What::Waking { .. } | What::Fork { .. } => waking = false,
                What::Runtime { pid: charged, .. } if *charged == pid && !r.irq && !waking => {
                    return Some(at);
                }
                _ => {}
            }
        }
        None
    }

    fn move_task(&mut self, r: &Record, pid: i32, path: &str) {
        let task = self.task(pid, "", r.cpu, r.ts);
        let Some(&group) = self.groups.get(path) else {
            self.judge.mended("groups made before the recording");
            return;
        };
        self.set_limits(r, path);
        let cpu = self.sched.tasks[task].cpu;
        let held = self.sched.rqs[cpu].clock;
        let clock = self.cpu(r.cpu).pending_clock.take().unwrap_or(held);
        self.sched.sched_move_task(task, group, clock);
        self.sched.rqs[CpuId(r.cpu)].need_resched = r.need_resched;
        self.compare_vruntimes(r.cpu, r.ts);
    }
}
