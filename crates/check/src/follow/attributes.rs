//! Groups and attributes: what records name of them.
//!
//! Deviations. A group has its final shares and limits from the start: changes are not recorded.

use super::Follower;
use crate::record::Record;
use fairwind_sched::{BandwidthLimit, CpuId, GroupId};

const NS_PER_US: u64 = 1000;

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
        if let Some(quota_us) = facts.quota_us {
            let limit = BandwidthLimit {
                quota: quota_us * NS_PER_US,
                period: facts.period_us * NS_PER_US,
                burst: facts.burst_us * NS_PER_US,
            };
            refused |= self.sched.set_bandwidth(group, limit, r.ts).is_err();
        }
        if refused {
            self.judge.mended("groups with limits that cannot be");
        }
    }

    /// A task went to a group.
    pub(super) fn attach(&mut self, r: &Record, pid: i32, path: &str) {
        let task = self.task(pid, "", r.cpu, r.ts);
        let Some(&group) = self.groups.get(path) else {
            self.judge.mended("groups made before the recording");
            return;
        };
        let cpu = self.sched.tasks[task].cpu;
        let held = self.sched.rqs[cpu].clock;
        let clock = self.cpu(r.cpu).pending_clock.take().unwrap_or(held);
        self.sched.sched_move_task(task, group, clock);
        self.sched.rqs[CpuId(r.cpu)].need_resched = r.need_resched;
        self.compare_vruntimes(r.cpu, r.ts);
    }
}
