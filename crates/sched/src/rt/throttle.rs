//! RT throttling (6.1): all RT tasks of a CPU together get `sched_rt_runtime_us` of each `sched_rt_period_us`.
//!
//! Model.      Running RT tasks add to `time`; beyond the CPU's runtime the queue is throttled: it no longer counts in
//!             `nr_running` and is not picked from. One timer for the machine takes a runtime off
//!             every CPU's `time` each period and lets those below their runtime go on. It stops after a period
//!             without RT tasks and starts, with a period that begins at once, when one is queued.
//!
//! ```text
//!   period   |<-------------- 1 s -------------->|
//!   RT       |##############################     |####…      95 %, to the next tick
//!   fair     |                              #####|
//! ```
//!
//! Invariants. `runtime = sched_rt_runtime_us + borrowed`; with RT_RUNTIME_SHARE the borrowed of all CPUs sum to 0.
//! Units.      Time is the CPU's task clock: interrupts do not count.
//! Source.     kernel/sched/rt.c `sched_rt_runtime_exceeded`, `do_balance_runtime`, `do_sched_rt_period_timer`,
//!             `do_start_rt_bandwidth`, `__enable_runtime`, `__disable_runtime` @ 6.1.
//! Exact.      A recording of 6.1.192 with an RT and a fair hog on one CPU shows RT turns of 950.3 to 951.4 ms (the tick
//!             after 950 ms, less what the last one overran) that begin 1000 ms apart.
//! Deviations. The timer is that of the CPU that started it last; in the kernel too, but there its callback may be
//!             late. A new setting holds at once, where the kernel also cancels what is borrowed.

use crate::effects::Effect;
use crate::features::Feature;
use crate::sched::Sched;
use crate::units::{CpuId, Nanos};

impl Sched {
    /// The machine's setting; none: no limit.
    fn global_rt_runtime(&self) -> Option<Nanos> {
        u64::try_from(self.profile.tunables.sched_rt_runtime_us)
            .ok()
            .map(|us| us * 1000)
    }

    fn global_rt_period(&self) -> Nanos {
        self.profile.tunables.sched_rt_period_us * 1000
    }

    /// A CPU's runtime; none: no limit.
    fn rt_runtime(&self, cpu: CpuId) -> Option<Nanos> {
        let rt = &self.rqs[cpu].rt;
        if rt.unlimited {
            return None;
        }
        Some(self.global_rt_runtime()?.saturating_add_signed(rt.borrowed))
    }

    /// Charges the CPU's RT tasks; out of runtime they must give way.
    pub(super) fn account_rt_runtime(&mut self, cpu: CpuId, delta: Nanos) {
        if self.rt_runtime(cpu).is_none() {
            return;
        }
        self.rqs[cpu].rt.time += delta;
        if self.rt_runtime_exceeded(cpu) {
            self.resched_curr(cpu);
            self.do_start_rt_bandwidth(cpu);
        }
    }

    fn rt_runtime_exceeded(&mut self, cpu: CpuId) -> bool {
        if self.rqs[cpu].rt.throttled {
            return true;
        }
        if self
            .rt_runtime(cpu)
            .is_some_and(|runtime| runtime >= self.global_rt_period())
        {
            return false;
        }
        self.balance_rt_runtime(cpu);
        let exceeded = self
            .rt_runtime(cpu)
            .is_some_and(|runtime| self.rqs[cpu].rt.time > runtime);
        if !exceeded {
            return false;
        }
        if self.global_rt_runtime() == Some(0) {
            // Nothing would ever be refilled, so the tasks would wait for ever: let them run.
            self.rqs[cpu].rt.time = 0;
            return false;
        }
        self.rqs[cpu].rt.throttled = true;
        let count = self.rqs[cpu].rt.nr_running;
        self.dequeue_top_rt_rq(cpu, count);
        true
    }

    /// With RT_RUNTIME_SHARE: borrows from each other CPU a fair part of what it has left, up to a whole period.
    fn balance_rt_runtime(&mut self, cpu: CpuId) {
        if !self.profile.features.has(Feature::RT_RUNTIME_SHARE) {
            return;
        }
        let Some(mut mine) = self.rt_runtime(cpu) else {
            return;
        };
        if self.rqs[cpu].rt.time <= mine {
            return;
        }
        let period = self.global_rt_period();
        let online = self.rqs.iter().filter(|rq| rq.online).count() as u64;
        for other in self.rqs.ids() {
            if other == cpu || !self.rqs[other].online {
                continue;
            }
            let Some(theirs) = self.rt_runtime(other) else {
                continue;
            };
            let spare = theirs.saturating_sub(self.rqs[other].rt.time) / online;
            let take = spare.min(period.saturating_sub(mine));
            self.rqs[other].rt.borrowed -= take as i64;
            self.rqs[cpu].rt.borrowed += take as i64;
            mine += take;
            if mine == period {
                break;
            }
        }
    }

    /// An RT task was queued: its time is to be counted in periods.
    pub(super) fn start_rt_bandwidth(&mut self, cpu: CpuId) {
        if self.global_rt_runtime().is_some() {
            self.do_start_rt_bandwidth(cpu);
        }
    }

    fn do_start_rt_bandwidth(&mut self, cpu: CpuId) {
        let now = self.now;
        let bandwidth = &mut self.rt_root().bandwidth;
        if bandwidth.period_active {
            return;
        }
        bandwidth.period_active = true;
        // The last period may not be over; if it is, a new one begins as soon as a timer can fire.
        if bandwidth.expires <= now {
            bandwidth.expires = now + 1;
        }
        let expires = bandwidth.expires;
        self.effects.push(Effect::StartRtTimer { cpu, expires });
    }

    /// The period timer.
    pub(super) fn sched_rt_period_timer(&mut self, cpu: CpuId) {
        let now = self.now;
        let period = self.global_rt_period();
        let bandwidth = &mut self.rt_root().bandwidth;
        if !bandwidth.period_active || now < bandwidth.expires {
            return;
        }
        let overrun = (now - bandwidth.expires) / period + 1;
        bandwidth.expires += overrun * period;
        let expires = bandwidth.expires;
        if self.begin_rt_periods(overrun) {
            self.rt_root().bandwidth.period_active = false;
        } else {
            self.effects.push(Effect::StartRtTimer { cpu, expires });
        }
    }

    /// Refills all CPUs for `overrun` periods; true if no RT task is left that needs them.
    fn begin_rt_periods(&mut self, overrun: u64) -> bool {
        let share = self.profile.features.has(Feature::RT_RUNTIME_SHARE);
        let mut idle = true;
        let mut throttled = false;
        for cpu in self.rqs.ids() {
            if !self.rqs[cpu].online {
                continue;
            }
            if !share {
                self.rqs[cpu].rt.borrowed = 0;
            }
            let rt = &self.rqs[cpu].rt;
            if rt.time == 0 && rt.nr_running == 0 {
                continue;
            }
            self.update_rq_clock(cpu);
            let enqueue = self.refill_rt_rq(cpu, overrun);
            let rt = &self.rqs[cpu].rt;
            idle &= rt.time == 0 && rt.nr_running == 0;
            throttled |= rt.throttled;
            if enqueue {
                self.sched_rt_rq_enqueue(cpu);
            }
        }
        idle || !throttled && self.global_rt_runtime().is_none()
    }

    /// Refills one CPU; true if its tasks may run again.
    fn refill_rt_rq(&mut self, cpu: CpuId, overrun: u64) -> bool {
        if self.rqs[cpu].rt.time == 0 {
            let rt = &self.rqs[cpu].rt;
            return rt.nr_running != 0 && !rt.throttled;
        }
        if self.rqs[cpu].rt.throttled {
            self.balance_rt_runtime(cpu);
        }
        let runtime = self.rt_runtime(cpu).unwrap_or(u64::MAX);
        let rq = &mut self.rqs[cpu];
        rq.rt.time = rq.rt.time.saturating_sub(overrun.saturating_mul(runtime));
        if !rq.rt.throttled || rq.rt.time >= runtime {
            return false;
        }
        rq.rt.throttled = false;
        if rq.rt.nr_running != 0 && rq.curr == rq.idle {
            // The switch from idle must count the time that passed.
            rq.clock_skip_requested = false;
        }
        true
    }

    fn sched_rt_rq_enqueue(&mut self, cpu: CpuId) {
        if self.rqs[cpu].rt.nr_running != 0 {
            self.enqueue_top_rt_rq(cpu);
            self.resched_curr(cpu);
        }
    }

    /// A CPU goes online: a full share, nothing used.
    pub(super) fn enable_rt_runtime(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        (rt.borrowed, rt.time, rt.throttled, rt.unlimited) = (0, 0, false, false);
    }

    /// A CPU goes offline: evens out what it borrowed or lent and lets its tasks run until they have left.
    pub(super) fn disable_rt_runtime(&mut self, cpu: CpuId) {
        let mut owed = self.rqs[cpu].rt.borrowed;
        if self.rt_runtime(cpu).is_some() {
            for other in self.rqs.ids() {
                if owed == 0 {
                    break;
                }
                if other == cpu || !self.rqs[other].online {
                    continue;
                }
                let Some(theirs) = self.rt_runtime(other) else {
                    continue;
                };
                // What it lent is taken back as far as the other has it; what it borrowed goes to the first.
                let back = owed.max(-(theirs as i64));
                self.rqs[other].rt.borrowed += back;
                owed -= back;
            }
        }
        let rt = &mut self.rqs[cpu].rt;
        (rt.borrowed, rt.throttled, rt.unlimited) = (0, false, true);
        self.sched_rt_rq_enqueue(cpu);
    }

    /// Another kernel throttles a CPU's RT tasks, or lets them go on.
    pub fn follow_rt_throttled(&mut self, cpu: CpuId, throttled: bool) {
        self.rqs[cpu].rt.throttled = throttled;
        if throttled {
            let count = self.rqs[cpu].rt.nr_running;
            self.dequeue_top_rt_rq(cpu, count);
        } else {
            self.enqueue_top_rt_rq(cpu);
        }
    }
}
