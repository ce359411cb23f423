//! The fair server's periods (from 6.12 on): when its runtime is filled up, when it waits, and for what.
//!
//! Source. kernel/sched/deadline.c `dl_server_start`, `dl_server_timer`, `update_curr_dl_se`, `enqueue_dl_entity`,
//!         `update_dl_entity`, `replenish_dl_entity`, `replenish_dl_new_period`, `start_dl_timer` @ 6.12, 6.18.

use super::FairServer;
use crate::effects::Effect;
use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, Nanos};

/// Shifts that keep products of two times within 64 bits; the kernel's DL_SCALE.
const DL_SCALE: u32 = 10;
/// Bandwidths are fractions of 2²⁰; the kernel's BW_SHIFT.
const BW_SHIFT: u32 = 20;
/// A timer that is early by less than this counts as in time.
const DL_SERVER_MIN_RES: Nanos = 1_000_000;
/// A timer set less than this into the past still fires.
const TIMER_GRANULARITY: i64 = 1000;

impl FairServer {
    /// Would the runtime that is left, run until the deadline, exceed the server's bandwidth?
    ///
    /// `runtime / (deadline − t) > dl_runtime / dl_period`, in units of 1024 ns on either side so that the products
    /// fit into 64 bits: (2⁴² ns ≫ 10)² = 2⁶⁴.
    fn overflows(&self, t: Nanos, dl_runtime: Nanos, dl_period: Nanos) -> bool {
        let left = (dl_period >> DL_SCALE).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        let right =
            (self.deadline.wrapping_sub(t) >> DL_SCALE).wrapping_mul(dl_runtime >> DL_SCALE);
        is_before(right, left)
    }
}

/// `a < b` where both may wrap around.
fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl Sched {
    pub(super) fn fair_server_params(&self) -> (Nanos, Nanos) {
        let tunables = &self.profile.tunables;
        (
            tunables.fair_server_runtime_ns,
            tunables.fair_server_period_ns,
        )
    }

    /// 6.18: every server has a period from boot on, which is long over when its first task comes.
    pub(crate) fn boot_fair_servers(&mut self) {
        let (dl_runtime, _) = self.fair_server_params();
        for cpu in self.rqs.ids() {
            let server = &mut self.rqs[cpu].rt.server;
            server.initialized = true;
            server.runtime = dl_runtime as i64;
        }
    }

    /// Starts a CPU's server.
    pub(super) fn dl_server_start(&mut self, cpu: CpuId) {
        if !self.rqs[cpu].rt.server.initialized {
            self.rqs[cpu].rt.server.initialized = true;
            self.replenish_new_period(cpu);
        }
        if self.fair_server_params().0 == 0 {
            return;
        }
        self.rqs[cpu].rt.server.active = true;
        self.update_fair_server(cpu);
        self.enqueue_fair_server(cpu);
        self.resched_below_server(cpu);
    }

    /// Whatever runs is to be picked anew, except a deadline task.
    fn resched_below_server(&mut self, cpu: CpuId) {
        let curr = &self.tasks[self.rqs[cpu].curr];
        if curr.class != Class::Rt || curr.prio >= 0 {
            self.resched_curr(cpu);
        }
    }

    /// A period begins now.
    fn replenish_new_period(&mut self, cpu: CpuId) {
        let (dl_runtime, dl_period) = self.fair_server_params();
        let clock = self.rqs[cpu].clock;
        let server = &mut self.rqs[cpu].rt.server;
        server.deadline = clock + dl_period;
        server.runtime = dl_runtime as i64;
        if !server.defer_running {
            server.throttled = true;
            server.defer_armed = true;
        }
    }

    /// After a pause: keeps the period if what is left of it fits, else begins a new one.
    fn update_fair_server(&mut self, cpu: CpuId) {
        let (dl_runtime, dl_period) = self.fair_server_params();
        let clock = self.rqs[cpu].clock;
        let server = &mut self.rqs[cpu].rt.server;
        let is_over = is_before(server.deadline, clock);
        if is_over || server.overflows(clock, dl_runtime, dl_period) {
            if server.defer_running && !is_over {
                // Starvation goes on: run at the server's bandwidth up to the deadline.
                let density = (dl_runtime << BW_SHIFT) / dl_period;
                let laxity = server.deadline - clock;
                server.runtime = (density.wrapping_mul(laxity) >> BW_SHIFT) as i64;
                return;
            }
            server.defer_running = false;
            self.replenish_new_period(cpu);
        } else if !server.defer_running {
            server.defer_armed = true;
            server.throttled = true;
        }
    }

    /// Queues the server, or arms its timer if it must wait.
    fn enqueue_fair_server(&mut self, cpu: CpuId) {
        if self.rqs[cpu].rt.server.throttled {
            if self.start_server_timer(cpu) {
                return;
            }
            self.cancel_deferral(cpu);
        }
        self.rqs[cpu].rt.server.queued = true;
        if self.rt_rules.server_counts_as_task {
            self.add_nr_running(cpu, 1);
        }
        self.rt_root().cpupri.set_higher(cpu);
    }

    fn cancel_deferral(&mut self, cpu: CpuId) {
        let server = &mut self.rqs[cpu].rt.server;
        server.timer = None;
        server.defer_armed = false;
        server.throttled = false;
    }

    pub(super) fn dequeue_fair_server(&mut self, cpu: CpuId) {
        if core::mem::take(&mut self.rqs[cpu].rt.server.queued) {
            if self.rt_rules.server_counts_as_task {
                self.sub_nr_running(cpu, 1);
            }
            let highest = self.rqs[cpu].rt.highest_curr;
            self.rt_root().cpupri.set(cpu, highest);
        }
    }

    /// Arms the timer, for zero laxity or for the next period, unless it is armed; false if that time has passed.
    fn start_server_timer(&mut self, cpu: CpuId) -> bool {
        let rq = &mut self.rqs[cpu];
        let server = &mut rq.rt.server;
        let act = if server.defer_armed {
            server.deadline.wrapping_sub(server.runtime as u64)
        } else {
            // The next period begins where this one ends: deadline and period are the same.
            server.deadline
        };
        if act.wrapping_sub(rq.clock) as i64 <= -TIMER_GRANULARITY {
            return false;
        }
        if server.timer.is_none() {
            // The run queue's clock may lag behind the timers'.
            let expires = act.wrapping_add(self.now.saturating_sub(rq.clock));
            server.timer = Some(expires);
            self.effects.push(Effect::StartRtTimer {
                cpu,
                expires: expires.max(self.now),
            });
        }
        true
    }

    /// Takes what a fair task ran off the server's runtime (`dl_server_update`).
    pub(super) fn dl_server_update(&mut self, cpu: CpuId, delta: Nanos) {
        if self.fair_server_params().0 == 0 || delta == 0 {
            return;
        }
        let server = &mut self.rqs[cpu].rt.server;
        server.runtime -= delta as i64;
        if server.runtime > 0 {
            return;
        }
        if server.throttled {
            // Fair tasks got their part without help: watch the next period.
            self.defer_new_period(cpu);
            return;
        }
        server.throttled = true;
        self.dequeue_fair_server(cpu);
        if !self.start_server_timer(cpu) {
            (self.rt_rules.replenish_late_server)(self, cpu);
        }
        // A deadline task ranks above the server in any case.
        if !self.is_server_next(cpu) {
            self.resched_curr(cpu);
        }
    }

    /// 6.12: the server goes on with another period's runtime.
    pub(super) fn replenish_and_enqueue_server(&mut self, cpu: CpuId) {
        self.replenish_fair_server(cpu);
        self.enqueue_fair_server(cpu);
    }

    /// 6.18: a period begins now, and the server waits for its end.
    pub(super) fn begin_period_late(&mut self, cpu: CpuId) {
        self.replenish_new_period(cpu);
        self.start_server_timer(cpu);
    }

    /// Begins a period of watching now.
    pub(super) fn defer_new_period(&mut self, cpu: CpuId) {
        let server = &mut self.rqs[cpu].rt.server;
        server.defer_running = false;
        server.timer = None;
        self.replenish_new_period(cpu);
        self.start_server_timer(cpu);
    }

    /// A period is over: fills up the runtime.
    fn replenish_fair_server(&mut self, cpu: CpuId) {
        let (dl_runtime, dl_period) = self.fair_server_params();
        let clock = self.rqs[cpu].clock;
        let server = &mut self.rqs[cpu].rt.server;
        if server.defer_armed && server.overflows(clock, dl_runtime, dl_period) {
            server.deadline = clock + dl_period;
            server.runtime = dl_runtime as i64;
        }
        while server.runtime <= 0 {
            server.deadline += dl_period;
            server.runtime += dl_runtime as i64;
        }
        if is_before(server.deadline, clock) {
            self.replenish_new_period(cpu);
        }
        let server = &mut self.rqs[cpu].rt.server;
        server.throttled = false;
        if core::mem::take(&mut server.defer_armed) {
            return;
        }
        let zero_laxity = server.deadline.wrapping_sub(server.runtime as u64);
        if !server.defer_running && is_before(clock, zero_laxity) {
            server.defer_armed = true;
            server.throttled = true;
            if !self.start_server_timer(cpu) {
                self.cancel_deferral(cpu);
            }
        }
    }

    /// The server's timer.
    pub(super) fn dl_server_timer(&mut self, cpu: CpuId) {
        let now = self.now;
        let server = &mut self.rqs[cpu].rt.server;
        // A timer that was cancelled or moved still arrives.
        let Some(expires) = server.timer.filter(|&expires| expires <= now) else {
            return;
        };
        server.timer = None;
        if !server.throttled || self.fair_server_params().0 == 0 {
            return;
        }
        self.update_rq_clock(cpu);
        let rq = &mut self.rqs[cpu];
        let server = &mut rq.rt.server;
        if server.defer_armed {
            let zero_laxity = server.deadline.wrapping_sub(server.runtime as u64);
            if is_before(rq.clock, zero_laxity.wrapping_sub(DL_SERVER_MIN_RES)) {
                // Fair tasks ran meanwhile: what is left can start later.
                let step = zero_laxity - rq.clock;
                let expires = expires + ((now - expires) / step + 1) * step;
                server.timer = Some(expires);
                self.effects.push(Effect::StartRtTimer { cpu, expires });
                return;
            }
            server.defer_running = true;
        }
        self.replenish_and_enqueue_server(cpu);
        self.resched_below_server(cpu);
    }
}
