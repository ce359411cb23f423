//! Following CPU limits: who gets runtime is decided in one step, and each queue goes back to work in another.
//!
//! Model.      A period or slack timer gives runtime to throttled queues. Those that have enough wait in their CPU's
//!             `cfsb_csd`, on all CPUs and in all releases, until [`Sched::follow_unthrottle`] is told when the other
//!             kernel put them back.

use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos};

impl Sched {
    /// The period timer of a group expired.
    pub fn follow_period_timer(&mut self, group: GroupId, now: Nanos) {
        self.set_time(now);
        self.run_period_timer(CpuId::NONE, group, Sched::distribute_cfs_runtime_async);
    }

    /// The slack timer of a group expired.
    pub fn follow_slack_timer(&mut self, group: GroupId, now: Nanos) {
        self.set_time(now);
        self.run_slack_timer(CpuId::NONE, group, Sched::distribute_cfs_runtime_async);
    }

    /// Gives a queue that is throttled here what the other kernel gave it, whatever the pool holds, for that had more: one
    /// that runs was never throttled there and has taken a slice, one that waited got from a timer just enough to run.
    pub fn follow_grant(&mut self, cfs_rq: CfsRqId) {
        let slice = self.bandwidth_slice() as i64;
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let target = if cfs.curr.is_some() { slice } else { 1 };
        let given = target.saturating_sub(cfs.runtime_remaining).max(0);
        cfs.runtime_remaining += given;
        let pool = &mut self.groups[cfs.tg].bandwidth.runtime;
        *pool = pool.saturating_sub(given as u64);
    }

    /// schedule() looks for a fair task and finds none, because throttling took the last ones off; true if so. What
    /// it does after that, it does at a later clock.
    pub fn follow_futile_pick(&mut self, cpu: CpuId, now: Nanos) -> bool {
        self.set_time(now);
        self.update_rq_clock(cpu);
        let curr = self.rqs[cpu].curr;
        (self.fair.pick_next_task)(self, cpu, curr, false).is_none()
    }

    /// Throttles a queue that the other kernel found out of runtime, and with it the pool; but not if the pool was
    /// `refilled` only after that, which gives the queue runtime again. True if it had some left here.
    pub fn follow_throttle(&mut self, cfs_rq: CfsRqId, now: Nanos, refilled: bool) -> bool {
        self.set_time(now);
        self.update_rq_clock(self.cpu_of(cfs_rq));
        if self.cfs_rqs[cfs_rq].throttled {
            return false;
        }
        let group = self.cfs_rqs[cfs_rq].tg;
        let later = self.groups[group].bandwidth.runtime;
        let had_some = self.follow_exhausted(cfs_rq, now);
        self.throttle_cfs_rq(cfs_rq);
        if refilled {
            self.groups[group].bandwidth.runtime = later;
            self.distribute_cfs_runtime_async(group, CpuId::NONE);
        }
        had_some
    }

    /// A queue, and with it the pool, is out of runtime once its running entity is charged up to `now`. True if they were not.
    pub fn follow_exhausted(&mut self, cfs_rq: CfsRqId, now: Nanos) -> bool {
        let charge = self.charge_until(cfs_rq, now) as i64;
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let pool = &mut self.groups[cfs.tg].bandwidth.runtime;
        if cfs.runtime_remaining.saturating_add_unsigned(*pool) <= charge {
            return false;
        }
        *pool = 0;
        cfs.runtime_remaining = cfs.runtime_remaining.min(charge);
        true
    }

    /// What a queue's running entity has run since it was last charged.
    fn charge_until(&self, cfs_rq: CfsRqId, now: Nanos) -> Nanos {
        let cfs = &self.cfs_rqs[cfs_rq];
        if cfs.curr.is_none() {
            return 0;
        }
        let rq = &self.rqs[cfs.cpu];
        let passed = now.saturating_sub(rq.clock);
        let now = rq.clock_task.saturating_add(passed);
        now.saturating_sub(self.ses[cfs.curr].exec_start)
    }

    /// A throttled queue goes back to work.
    pub fn follow_unthrottle(&mut self, cfs_rq: CfsRqId, now: Nanos) {
        let cpu = self.cpu_of(cfs_rq);
        self.set_time(now);
        self.rqs[cpu].cfsb_csd.retain(|&queue| queue != cfs_rq);
        self.cfs_rqs[cfs_rq].throttled_csd = false;
        if self.cfs_rqs[cfs_rq].throttled {
            self.unthrottle_cfs_rq(cfs_rq);
        }
    }
}
