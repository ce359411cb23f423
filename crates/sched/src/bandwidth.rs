//! CFS bandwidth: hands each group its quota, period by period.
//!
//! Model.      global pool (`runtime`, refilled with `quota` each period) → slices of
//!             `sched_cfs_bandwidth_slice_us` to each CPU (`runtime_remaining`) → a queue that cannot get any is
//!             throttled: its group's entity leaves the parent's queue. A queue that empties returns what it holds
//!             beyond 1 ms to the pool; a slack timer gives that to throttled queues before the period ends.
//! Invariants. Runtime is never created but by a refill. A throttled queue's entity is not on its parent's
//!             queue. A group uses at most quota + burst a period, plus what its CPUs overrun between two
//!             accountings (a tick each) and the slices they still held.
//! Units.      ns here; cgroup files speak µs.
//! Source.     kernel/sched/fair.c from `__refill_cfs_bandwidth_runtime` to `sched_cfs_period_timer` @ 6.1, 6.12.
//! Deviations. The period is not scaled up when the timer's handler cannot keep pace, for it takes no time here.
//! Not here.   Timers: they are asked for by effects and come back as calls.

use crate::effects::Effect;
use crate::flags::{DEQUEUE_DELAYED, DEQUEUE_SLEEP, DEQUEUE_SPECIAL, ENQUEUE_WAKEUP};
use crate::group::RUNTIME_INF;
use crate::load::UPDATE_TG;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId};
use alloc::vec::Vec;

/// What a CPU keeps when its queue empties.
const MIN_CFS_RQ_RUNTIME: i64 = 1_000_000;
/// No slack is given out this close to the next refill.
const MIN_BANDWIDTH_EXPIRATION: i64 = 2_000_000;
/// How long slack is gathered before it is given out.
const CFS_BANDWIDTH_SLACK_PERIOD: u64 = 5_000_000;

/// Gives a group's runtime to its throttled queues, on behalf of a CPU; true if some stay throttled.
pub(crate) type Distribute = fn(&mut Sched, GroupId, CpuId) -> bool;

/// Moves a timer past `now` in steps of `interval`; how many steps that took.
pub(crate) fn forward(expires: &mut Nanos, now: Nanos, interval: Nanos) -> u64 {
    if now < *expires {
        return 0;
    }
    let overrun = (now - *expires) / interval + 1;
    *expires += overrun * interval;
    overrun
}

/// What moves with a queue when it is throttled or unthrottled: the counts of its subtree.
#[derive(Clone, Copy)]
struct Subtree {
    queued: u32,
    runnable: u32,
    idle: u32,
    delayed: u32,
}

impl Sched {
    /// Has any group a quota, or had one?
    #[inline]
    pub fn has_had_limits(&self) -> bool {
        self.bandwidth_used
    }

    /// Out of runtime?
    #[inline(always)]
    pub(crate) fn cfs_rq_throttled(&self, cfs_rq: CfsRqId) -> bool {
        self.bandwidth_users != 0 && self.cfs_rqs[cfs_rq].throttled
    }

    /// Itself or an ancestor throttled?
    #[inline(always)]
    pub(crate) fn throttled_hierarchy(&self, cfs_rq: CfsRqId) -> bool {
        self.bandwidth_users != 0 && self.cfs_rqs[cfs_rq].throttle_count != 0
    }

    /// Is the group throttled on either CPU?
    pub(crate) fn throttled_lb_pair(&self, group: GroupId, src: CpuId, dest: CpuId) -> bool {
        let queues = &self.groups[group].cfs_rq;
        self.throttled_hierarchy(queues[src.idx()]) || self.throttled_hierarchy(queues[dest.idx()])
    }

    pub(crate) fn bandwidth_slice(&self) -> u64 {
        self.profile.tunables.sched_cfs_bandwidth_slice_us * 1000
    }

    /// Adds a quota to the pool, capped at quota + burst.
    pub(crate) fn refill_cfs_bandwidth_runtime(&mut self, group: GroupId) {
        let b = &mut self.groups[group].bandwidth;
        if b.quota == RUNTIME_INF {
            return;
        }
        b.runtime = b.runtime.wrapping_add(b.quota);
        let burst_used = b.runtime_snap.wrapping_sub(b.runtime) as i64;
        if burst_used > 0 {
            b.burst_time += burst_used as u64;
            b.nr_burst += 1;
        }
        b.runtime = b.runtime.min(b.quota + b.burst);
        b.runtime_snap = b.runtime;
    }

    /// Starts the period timer in its own phase, if it does not run.
    pub(crate) fn start_cfs_bandwidth(&mut self, group: GroupId) {
        if self.groups[group].bandwidth.period_active {
            return;
        }
        self.forward_period_timer(group);
        let b = &mut self.groups[group].bandwidth;
        b.period_active = true;
        self.effects.push(Effect::StartPeriodTimer {
            group,
            expires: b.period_expires,
        });
    }

    /// Takes runtime from the pool so that the queue holds `target`; true if it holds any.
    fn assign_cfs_rq_runtime(&mut self, cfs_rq: CfsRqId, target: u64) -> bool {
        let group = self.cfs_rqs[cfs_rq].tg;
        let min_amount = target.wrapping_sub(self.cfs_rqs[cfs_rq].runtime_remaining as u64);
        let amount = if self.groups[group].bandwidth.quota == RUNTIME_INF {
            min_amount
        } else {
            self.start_cfs_bandwidth(group);
            let b = &mut self.groups[group].bandwidth;
            let taken = b.runtime.min(min_amount);
            if taken != 0 {
                b.runtime -= taken;
                b.idle = false;
                self.effects.push(Effect::TakeRuntime { cfs_rq, taken });
            }
            taken
        };
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.runtime_remaining = cfs.runtime_remaining.wrapping_add(amount as i64);
        cfs.runtime_remaining > 0
    }

    /// Charges consumed time to the queue's runtime.
    #[inline(always)]
    pub(crate) fn account_cfs_rq_runtime(&mut self, cfs_rq: CfsRqId, delta_exec: u64) {
        if self.bandwidth_users != 0 && self.cfs_rqs[cfs_rq].runtime_enabled {
            self.charge_cfs_rq_runtime(cfs_rq, delta_exec);
        }
    }

    #[inline(never)]
    fn charge_cfs_rq_runtime(&mut self, cfs_rq: CfsRqId, delta_exec: u64) {
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.runtime_remaining -= delta_exec as i64;
        if cfs.runtime_remaining > 0 || cfs.throttled {
            return;
        }
        let slice = self.bandwidth_slice();
        if !self.assign_cfs_rq_runtime(cfs_rq, slice) && self.cfs_rqs[cfs_rq].curr.is_some() {
            self.resched_curr(self.cpu_of(cfs_rq));
        }
    }

    /// Throttles a queue that is out of runtime; true if it is throttled.
    #[inline(always)]
    pub(crate) fn check_cfs_rq_runtime(&mut self, cfs_rq: CfsRqId) -> bool {
        self.bandwidth_users != 0 && self.throttle_if_used_up(cfs_rq)
    }

    #[inline(never)]
    fn throttle_if_used_up(&mut self, cfs_rq: CfsRqId) -> bool {
        let cfs = &self.cfs_rqs[cfs_rq];
        if !cfs.runtime_enabled || cfs.runtime_remaining > 0 {
            return false;
        }
        cfs.throttled || self.throttle_cfs_rq(cfs_rq)
    }

    /// The first task of a queue arrives: it may already be out of runtime.
    #[inline(always)]
    pub(crate) fn check_enqueue_throttle(&mut self, cfs_rq: CfsRqId) {
        if self.bandwidth_users != 0 {
            self.throttle_at_enqueue(cfs_rq);
        }
    }

    #[inline(never)]
    fn throttle_at_enqueue(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        if !cfs.runtime_enabled || cfs.curr.is_some() || cfs.throttled {
            return;
        }
        self.account_cfs_rq_runtime(cfs_rq, 0);
        if self.cfs_rqs[cfs_rq].runtime_remaining <= 0 {
            self.throttle_cfs_rq(cfs_rq);
        }
    }

    /// A queue emptied: what it holds beyond 1 ms goes back to the pool.
    #[inline(always)]
    pub(crate) fn return_cfs_rq_runtime(&mut self, cfs_rq: CfsRqId) {
        if self.bandwidth_users != 0 {
            self.return_unused_runtime(cfs_rq);
        }
    }

    #[inline(never)]
    fn return_unused_runtime(&mut self, cfs_rq: CfsRqId) {
        let cfs = &self.cfs_rqs[cfs_rq];
        if !cfs.runtime_enabled || cfs.nr_queued != 0 {
            return;
        }
        let slack = cfs.runtime_remaining - MIN_CFS_RQ_RUNTIME;
        if slack <= 0 {
            return;
        }
        let group = cfs.tg;
        let slice = self.bandwidth_slice();
        let b = &mut self.groups[group].bandwidth;
        if b.quota != RUNTIME_INF {
            b.runtime += slack as u64;
            if b.runtime > slice && !b.throttled_cfs_rq.is_empty() {
                self.start_cfs_slack_bandwidth(group);
            }
        }
        self.cfs_rqs[cfs_rq].runtime_remaining -= slack;
    }

    /// Is the next refill this near?
    fn runtime_refresh_within(&self, group: GroupId, min_expire: i64) -> bool {
        let b = &self.groups[group].bandwidth;
        b.period_callback || (b.period_expires.wrapping_sub(self.now) as i64) < min_expire
    }

    fn start_cfs_slack_bandwidth(&mut self, group: GroupId) {
        let min_left = CFS_BANDWIDTH_SLACK_PERIOD as i64 + MIN_BANDWIDTH_EXPIRATION;
        if self.runtime_refresh_within(group, min_left)
            || self.groups[group].bandwidth.slack_started
        {
            return;
        }
        self.groups[group].bandwidth.slack_started = true;
        let expires = self.now + CFS_BANDWIDTH_SLACK_PERIOD;
        self.effects
            .push(Effect::StartSlackTimer { group, expires });
    }

    // ---- throttling --------------------------------------------------------------------------------------------

    /// Visits a group and all below it, parents first.
    fn tg_tree_down(&mut self, group: GroupId, visit: fn(&mut Sched, CfsRqId), cpu: CpuId) {
        visit(self, self.groups[group].cfs_rq[cpu.idx()]);
        for idx in 0..self.groups[group].children.len() {
            self.tg_tree_down(self.groups[group].children[idx], visit, cpu);
        }
    }

    /// Visits a group and all below it, children first.
    fn tg_tree_up(&mut self, group: GroupId, visit: fn(&mut Sched, CfsRqId), cpu: CpuId) {
        for idx in 0..self.groups[group].children.len() {
            self.tg_tree_up(self.groups[group].children[idx], visit, cpu);
        }
        visit(self, self.groups[group].cfs_rq[cpu.idx()]);
    }

    fn tg_throttle_down(&mut self, cfs_rq: CfsRqId) {
        if self.cfs_rqs[cfs_rq].throttle_count == 0 {
            let cpu = self.cpu_of(cfs_rq);
            let (clock, clock_pelt) = (self.rqs[cpu].clock, self.rq_clock_pelt(cpu));
            self.cfs_rqs[cfs_rq].throttled_clock_pelt = clock_pelt;
            self.list_del_leaf_cfs_rq(cfs_rq);
            let cfs = &mut self.cfs_rqs[cfs_rq];
            if cfs.nr_queued != 0 {
                cfs.throttled_clock_self = clock;
            }
        }
        self.cfs_rqs[cfs_rq].throttle_count += 1;
    }

    fn tg_unthrottle_up(&mut self, cfs_rq: CfsRqId) {
        self.cfs_rqs[cfs_rq].throttle_count -= 1;
        if self.cfs_rqs[cfs_rq].throttle_count != 0 {
            return;
        }
        let cpu = self.cpu_of(cfs_rq);
        let (clock, clock_pelt) = (self.rqs[cpu].clock, self.rq_clock_pelt(cpu));
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let stood = clock_pelt.wrapping_sub(cfs.throttled_clock_pelt);
        cfs.throttled_clock_pelt_time = cfs.throttled_clock_pelt_time.wrapping_add(stood);
        if !self.cfs_rq_is_decayed(cfs_rq) {
            self.list_add_leaf_cfs_rq(cfs_rq);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        if cfs.throttled_clock_self != 0 {
            cfs.throttled_clock_self_time += clock - core::mem::take(&mut cfs.throttled_clock_self);
        }
    }

    fn subtree(&self, cfs_rq: CfsRqId) -> Subtree {
        let cfs = &self.cfs_rqs[cfs_rq];
        Subtree {
            queued: cfs.h_nr_queued,
            runnable: cfs.h_nr_runnable,
            idle: cfs.idle_h_nr_queued,
            delayed: cfs.h_nr_delayed,
        }
    }

    pub(crate) fn throttle_cfs_rq(&mut self, cfs_rq: CfsRqId) -> bool {
        if self.assign_cfs_rq_runtime(cfs_rq, 1) {
            // Somebody returned runtime in the meantime.
            return false;
        }
        let tg = self.cfs_rqs[cfs_rq].tg;
        let cpu = self.cpu_of(cfs_rq);
        self.groups[tg].bandwidth.throttled_cfs_rq.push_back(cfs_rq);
        self.tg_tree_down(tg, Sched::tg_throttle_down, cpu);
        let moved = self.subtree(cfs_rq);
        self.dequeue_throttled(cfs_rq, moved, cpu);
        let clock = self.rqs[cpu].clock;
        let always = self.fair.throttled_clock_without_tasks;
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.throttled = true;
        if always || cfs.nr_queued != 0 {
            cfs.throttled_clock = clock;
        }
        self.effects.push(Effect::Throttle { cfs_rq });
        true
    }

    /// Takes a throttled queue's entity, and parents that become empty, off their queues.
    fn dequeue_throttled(&mut self, cfs_rq: CfsRqId, mut moved: Subtree, cpu: CpuId) {
        let mut take_off = true;
        let mut se = self.cfs_rqs[cfs_rq].se;
        while se.is_some() {
            let qcfs_rq = self.ses[se].cfs_rq;
            if !self.ses[se].on_rq {
                return;
            }
            if take_off {
                let delayed = if self.ses[se].sched_delayed {
                    DEQUEUE_DELAYED
                } else {
                    0
                };
                (self.fair.dequeue_entity)(
                    self,
                    qcfs_rq,
                    se,
                    DEQUEUE_SLEEP | DEQUEUE_SPECIAL | delayed,
                );
            } else {
                self.update_load_avg(qcfs_rq, se, 0);
                self.se_update_runnable(se);
            }
            if self.cfs_rqs[self.ses[se].my_q].idle {
                moved.idle = self.cfs_rqs[cfs_rq].h_nr_queued;
            }
            let q = &mut self.cfs_rqs[qcfs_rq];
            q.h_nr_queued -= moved.queued;
            q.h_nr_runnable -= moved.runnable;
            q.idle_h_nr_queued -= moved.idle;
            q.h_nr_delayed -= moved.delayed;
            if q.load.weight != 0 {
                take_off = false;
            }
            se = self.ses[se].parent;
        }
        self.sub_nr_running(cpu, moved.queued);
    }

    /// Puts a throttled queue back to work.
    pub(crate) fn unthrottle_cfs_rq(&mut self, cfs_rq: CfsRqId) {
        let cpu = self.cpu_of(cfs_rq);
        let tg = self.cfs_rqs[cfs_rq].tg;
        self.cfs_rqs[cfs_rq].throttled = false;
        self.update_rq_clock(cpu);
        let clock = self.rqs[cpu].clock;
        let since = core::mem::take(&mut self.cfs_rqs[cfs_rq].throttled_clock);
        let waited = if since != 0 { clock - since } else { 0 };
        let b = &mut self.groups[tg].bandwidth;
        b.throttled_time += waited;
        b.throttled_cfs_rq.retain(|&q| q != cfs_rq);
        self.effects.push(Effect::Unthrottle { cfs_rq, waited });
        self.tg_tree_up(tg, Sched::tg_unthrottle_up, cpu);
        if self.cfs_rqs[cfs_rq].load.weight == 0 {
            if !self.cfs_rqs[cfs_rq].on_list {
                return;
            }
            // Connect a queue that is on the list for its past load only.
            let mut se = self.cfs_rqs[cfs_rq].se;
            while se.is_some() && !self.list_add_leaf_cfs_rq(self.ses[se].cfs_rq) {
                se = self.ses[se].parent;
            }
        } else {
            let moved = self.subtree(cfs_rq);
            self.enqueue_unthrottled(cfs_rq, moved, cpu);
        }
        self.assert_list_leaf_cfs_rq(cpu);
        let cfs = self.rqs[cpu].cfs;
        if self.is_idle(cpu) && self.cfs_rqs[cfs].nr_queued != 0 {
            self.resched_curr(cpu);
        }
    }

    fn enqueue_unthrottled(&mut self, cfs_rq: CfsRqId, mut moved: Subtree, cpu: CpuId) {
        let mut se: SeId = self.cfs_rqs[cfs_rq].se;
        let mut put_on = true;
        while se.is_some() {
            let qcfs_rq = self.ses[se].cfs_rq;
            if put_on {
                if self.ses[se].sched_delayed {
                    (self.fair.dequeue_entity)(self, qcfs_rq, se, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
                } else if self.ses[se].on_rq {
                    put_on = false;
                }
            }
            if put_on {
                (self.fair.enqueue_entity)(self, qcfs_rq, se, ENQUEUE_WAKEUP);
            } else {
                self.update_load_avg(qcfs_rq, se, UPDATE_TG);
                self.se_update_runnable(se);
            }
            if self.cfs_rqs[self.ses[se].my_q].idle {
                moved.idle = self.cfs_rqs[cfs_rq].h_nr_queued;
            }
            let q = &mut self.cfs_rqs[qcfs_rq];
            q.h_nr_queued += moved.queued;
            q.h_nr_runnable += moved.runnable;
            q.idle_h_nr_queued += moved.idle;
            q.h_nr_delayed += moved.delayed;
            if self.cfs_rq_throttled(qcfs_rq) {
                return;
            }
            se = self.ses[se].parent;
        }
        self.fair_server_unthrottled(cpu, moved.queued);
        self.add_nr_running(cpu, moved.queued);
    }

    // ---- giving out runtime ------------------------------------------------------------------------------------

    /// Gives a throttled queue what it owes plus 1 ns, as far as the pool reaches; true if it may run.
    fn grant_runtime(&mut self, group: GroupId, cfs_rq: CfsRqId) -> bool {
        let b = &mut self.groups[group].bandwidth;
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let runtime = (cfs.runtime_remaining.wrapping_neg().wrapping_add(1) as u64).min(b.runtime);
        b.runtime -= runtime;
        cfs.runtime_remaining += runtime as i64;
        cfs.runtime_remaining > 0
    }

    /// 6.1: unthrottles on the spot, in order of throttling; true if some stay throttled.
    pub(crate) fn distribute_cfs_runtime_sync(&mut self, group: GroupId, _this_cpu: CpuId) -> bool {
        let waiting: Vec<CfsRqId> = self.groups[group]
            .bandwidth
            .throttled_cfs_rq
            .iter()
            .copied()
            .collect();
        for cfs_rq in waiting {
            if self.cfs_rqs[cfs_rq].throttled && self.grant_runtime(group, cfs_rq) {
                self.unthrottle_cfs_rq(cfs_rq);
            }
            if self.groups[group].bandwidth.runtime == 0 {
                break;
            }
        }
        !self.groups[group].bandwidth.throttled_cfs_rq.is_empty()
    }

    /// 6.12: other CPUs unthrottle their own queues on an interrupt, this CPU's come last; true if some stay throttled.
    pub(crate) fn distribute_cfs_runtime_async(&mut self, group: GroupId, this_cpu: CpuId) -> bool {
        let waiting: Vec<CfsRqId> = self.groups[group]
            .bandwidth
            .throttled_cfs_rq
            .iter()
            .copied()
            .collect();
        let mut throttled = false;
        let mut remaining = true;
        let mut local = CfsRqId::NONE;
        for cfs_rq in waiting {
            if !remaining {
                throttled = true;
                break;
            }
            if !self.cfs_rqs[cfs_rq].throttled || self.cfs_rqs[cfs_rq].throttled_csd {
                continue;
            }
            let granted = self.grant_runtime(group, cfs_rq);
            remaining = self.groups[group].bandwidth.runtime != 0;
            if !granted {
                throttled = true;
                continue;
            }
            self.cfs_rqs[cfs_rq].throttled_csd = true;
            let cpu = self.cpu_of(cfs_rq);
            if cpu == this_cpu {
                local = cfs_rq;
                continue;
            }
            self.rqs[cpu].cfsb_csd.push(cfs_rq);
            if self.rqs[cpu].cfsb_csd.len() == 1 {
                self.effects.push(Effect::UnthrottleIpi { cpu });
            }
        }
        if local.is_some() {
            self.cfs_rqs[local].throttled_csd = false;
            if self.cfs_rqs[local].throttled {
                self.unthrottle_cfs_rq(local);
            }
        }
        throttled
    }

    /// Unthrottles what others asked this CPU to (the handler of `UnthrottleIpi`).
    pub fn unthrottle_pending(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(cpu);
        for cfs_rq in core::mem::take(&mut self.rqs[cpu].cfsb_csd) {
            self.cfs_rqs[cfs_rq].throttled_csd = false;
            if self.cfs_rqs[cfs_rq].throttled {
                self.unthrottle_cfs_rq(cfs_rq);
            }
        }
    }

    /// The period timer of a group expired on `this_cpu`.
    pub fn period_timer(&mut self, this_cpu: CpuId, group: GroupId, now: Nanos) {
        self.set_time(now);
        self.run_period_timer(this_cpu, group, self.fair.distribute_cfs_runtime);
    }

    pub(crate) fn run_period_timer(
        &mut self,
        this_cpu: CpuId,
        group: GroupId,
        distribute: Distribute,
    ) {
        let now = self.now;
        let b = &mut self.groups[group].bandwidth;
        if !b.period_active {
            return;
        }
        let overrun = forward(&mut b.period_expires, now, b.period);
        if overrun == 0 {
            let expires = b.period_expires;
            self.effects
                .push(Effect::StartPeriodTimer { group, expires });
            return;
        }
        b.period_callback = true;
        let idle = self.do_sched_cfs_period_timer(this_cpu, group, overrun, distribute);
        let b = &mut self.groups[group].bandwidth;
        b.period_callback = false;
        if idle {
            b.period_active = false;
        } else {
            let expires = b.period_expires;
            self.effects
                .push(Effect::StartPeriodTimer { group, expires });
        }
    }

    /// True if the timer may stop.
    fn do_sched_cfs_period_timer(
        &mut self,
        this_cpu: CpuId,
        group: GroupId,
        overrun: u64,
        distribute: Distribute,
    ) -> bool {
        let b = &mut self.groups[group].bandwidth;
        if b.quota == RUNTIME_INF {
            return true;
        }
        let mut throttled = !b.throttled_cfs_rq.is_empty();
        b.nr_periods += overrun;
        self.refill_cfs_bandwidth_runtime(group);
        let b = &mut self.groups[group].bandwidth;
        if b.idle && !throttled {
            return true;
        }
        if !throttled {
            // Nobody asked for runtime since: one more such period stops the timer.
            b.idle = true;
            return false;
        }
        b.nr_throttled += overrun;
        while throttled && self.groups[group].bandwidth.runtime > 0 {
            throttled = distribute(self, group, this_cpu);
        }
        self.groups[group].bandwidth.idle = false;
        false
    }

    /// The slack timer of a group expired on `this_cpu`.
    pub fn slack_timer(&mut self, this_cpu: CpuId, group: GroupId, now: Nanos) {
        self.set_time(now);
        self.run_slack_timer(this_cpu, group, self.fair.distribute_cfs_runtime);
    }

    pub(crate) fn run_slack_timer(
        &mut self,
        this_cpu: CpuId,
        group: GroupId,
        distribute: Distribute,
    ) {
        self.groups[group].bandwidth.slack_started = false;
        if self.runtime_refresh_within(group, MIN_BANDWIDTH_EXPIRATION) {
            return;
        }
        let slice = self.bandwidth_slice();
        let b = &self.groups[group].bandwidth;
        if b.quota != RUNTIME_INF && b.runtime > slice {
            distribute(self, group, this_cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::forward;

    #[test]
    fn a_timer_keeps_its_phase_however_late_it_is() {
        let mut expires = 30;
        assert_eq!(forward(&mut expires, 29, 100), 0);
        assert_eq!((forward(&mut expires, 30, 100), expires), (1, 130));
        assert_eq!((forward(&mut expires, 455, 100), expires), (4, 530));
    }
}
