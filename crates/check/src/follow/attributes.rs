//! Groups and attributes: what records name of them.

use super::Follower;
use crate::facts::GroupFacts;
use crate::gaps;
use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{CpuId, GroupId, Release, TaskId};

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
        let group = self.make_group(parent, r.ts);
        self.limits.made.insert(group, r.ts);
        self.groups.insert(path.to_owned(), group);
        self.note_autogroup(path, group);
        let facts = self.facts.groups.get(path).copied().unwrap_or_else(|| {
            self.judge.mended("groups of which no file tells");
            self.judge.lacking = Some(gaps::WEIGHTS.fact);
            GroupFacts::default()
        });
        let shares = self.first_shares(path).unwrap_or(facts.shares);
        let mut refused = self.sched.set_shares(group, shares, r.ts).is_err();
        if facts.idle {
            refused |= self.sched.set_idle(group, true, r.ts).is_err();
        }
        if refused {
            self.judge.mended("groups with settings that cannot be");
        }
    }

    /// Makes a group of which all is known.
    pub(super) fn make_group(&mut self, parent: GroupId, ts: u64) -> GroupId {
        let group = self.sched.create_group(parent, ts);
        let queues = self.sched.groups[group].cfs_rq.clone();
        for cfs_rq in queues {
            self.sched.hold_probes();
            if let Some(probes) = &mut self.sched.probes {
                probes.set_queue_known(cfs_rq);
            }
        }
        group
    }

    /// A task went to a group: at the charge or the probes that moving it made, if it was running.
    pub(super) fn attach(&mut self, r: &Record, pid: i32, path: &str) {
        let moved = std::mem::take(&mut self.cpu(r.cpu).requeued_by_attach);
        if !moved {
            self.move_task(r, pid, path);
        }
    }

    /// The record to come that tells that a CPU's running task went to another group.
    pub(super) fn attach_ahead(&self, pid: i32) -> Option<(usize, &str)> {
        let cpu = self.records[self.at].cpu;
        let leaves = self.times.switch(cpu, self.at + 1).unwrap_or(usize::MAX);
        let attaches = self.times.attaches(pid, self.at + 1).iter().copied();
        let mut stays = attaches.take_while(|&attach| attach < leaves);
        let attach = stays.find(|&attach| self.records[attach].cpu == cpu)?;
        match &self.records[attach].what {
            What::Attach { path, .. } => Some((attach, path)),
            _ => None,
        }
    }

    /// After a charge: if it is that of a running task that goes to a group, it goes there now. The record
    /// that tells it comes later, and a tick may come between. Where probes show it, they come first.
    pub(super) fn attach_charged(&mut self, r: &Record, pid: i32) {
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at].what);
        if r.irq || self.cpu(r.cpu).waking.is_some() || matches!(next, Some(What::Probe { .. })) {
            return;
        }
        let Some((at, path)) = self.attach_ahead(pid) else {
            return;
        };
        if self.charge_of_attach(at, pid) == Some(self.at) {
            let path = path.to_owned();
            let clock = self.cpu(r.cpu).pending_clock;
            self.drop_clock(r);
            self.cpu(r.cpu).pending_clock = clock;
            self.move_task(r, pid, &path);
            self.cpu(r.cpu).requeued_by_attach = true;
        }
    }

    /// After a charge of another CPU's running task: if it is that of a task there which is sent to a group, as this CPU's next
    /// record tells, it goes there now. The other CPU may record something before that.
    pub(super) fn attach_there(&mut self, r: &Record, cpu: CpuId) -> bool {
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at].what);
        let Some(What::Attach { pid, path, .. }) = next else {
            return false;
        };
        let is_there = |task: TaskId| self.sched.tasks[task].cpu == cpu;
        if !self.known(*pid).is_some_and(is_there) {
            return false;
        }
        self.move_task(r, *pid, path);
        self.cpu(r.cpu).requeued_by_attach = true;
        true
    }

    /// Probes showed that the running task was taken off its queue and put back: if that was because it goes to a
    /// group, it goes there now.
    pub(super) fn attach_probed(&mut self, r: &Record, task: TaskId) -> bool {
        let Some(pid) = self.pid(task) else {
            return false;
        };
        let Some((attach, path)) = self.attach_ahead(pid) else {
            return false;
        };
        let path = path.to_owned();
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at].filter(|&next| next < attach) {
            at = next;
            let point = ProbePoint::PutPrevEntity;
            if matches!(self.records[at].what, What::Probe { point: p, .. } if p == point) {
                return false;
            }
        }
        self.move_task(r, pid, &path);
        self.cpu(r.cpu).requeued_by_attach = true;
        true
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
        self.first_told_of(ProbePoint::PutPrevEntity, task);
        self.first_told_of(ProbePoint::SetNextEntity, task);
        // CFS leaves the task as it is, and places the groups above it alone.
        if self.sched.profile.release != Release::V6_1 {
            self.first_told_of(ProbePoint::PlaceEntity, task);
        }
        self.sched.sched_move_task(task, group, clock);
        self.sched.rqs[CpuId(r.cpu)].need_resched = r.need_resched;
        self.forget_told();
    }
}
