//! The fair server (from 6.12 on): fair tasks get `fair_server_runtime_ns` of each `fair_server_period_ns` of a CPU, even when
//! RT tasks would take all of it.
//!
//! Model.      A deadline entity stands for the CPU's fair tasks. While it *defers* it only watches: whatever fair
//!             tasks run, by their own right or the server's, is taken off its runtime, and once that is used
//!             up a new period begins. If some is left when just enough of the period remains to run it (zero
//!             laxity), fair tasks were starved: the entity is queued, above RT, until its runtime is used up
//!             or no fair task is left. A fair task that is still running then makes it defer again; if it
//!             slept, the next period begins at the deadline without deferring (`defer_running`).
//!
//! ```text
//!            start                zero laxity    deadline = start + period
//!              |<- deferred: timer ->|<- runtime ->|
//!   RT         #######################              ###…
//!   fair                              ##############
//! ```
//!
//! Invariants. At most one of: the timer is armed; the entity is queued. An entity that is `active` is one of them.
//!             Queued, it lifts the CPU above all RT levels, and in 6.12 counts as a task in the CPU's `nr_running`.
//! Units.      `deadline` and the timer are on the CPU's clock, `runtime` is time on its task clock.
//! Source.     kernel/sched/deadline.c `dl_server_*`, `update_curr_dl_se`, `enqueue_dl_entity`,
//!             `update_dl_entity`, `replenish_dl_entity`, `start_dl_timer` @ 6.12, 6.18, for one server a CPU.
//! Exact.      A recording of 6.12.117 with an RT and a fair hog on one CPU shows the fair one's turns begin 1003.4 ms apart
//!             and last 53.4 ms: 50 ms to the next tick, then 950 ms to zero laxity.
//! Deviations. SCHED_DEADLINE tasks, having no deadlines here, always go before the server. Its bandwidth
//!             is not admitted against anything. New parameters hold from the next replenishment on; the kernel
//!             restarts the server.

use crate::sched::Sched;
use crate::task::Class;
use crate::units::{CpuId, Nanos};

/// The state of a CPU's fair server; the parts of `sched_dl_entity` that a server uses.
#[derive(Clone, Copy, Default, Debug)]
pub struct FairServer {
    /// It was started once and has a period.
    pub initialized: bool,
    /// Fair tasks were queued since it last stopped.
    pub active: bool,
    /// Ranks above RT now.
    pub queued: bool,
    /// Must not be queued until its timer fires.
    pub throttled: bool,
    /// The timer stands for zero laxity, not for the next period.
    pub defer_armed: bool,
    /// Fair tasks are being starved: periods begin without deferring.
    pub defer_running: bool,
    /// Left of this period.
    pub runtime: i64,
    /// End of this period.
    pub deadline: Nanos,
    /// When the timer fires.
    pub timer: Option<Nanos>,
}

impl Sched {
    // ---- called by the fair class ------------------------------------------------------------------------------

    /// A fair task was queued: the CPU's first one starts the server. Call when the root queue's `h_nr_queued` counts
    /// the task and the CPU's `nr_running` does not yet.
    #[inline]
    pub(crate) fn fair_server_enqueued(&mut self, cpu: CpuId) {
        let rq = &self.rqs[cpu];
        if self.cfs_rqs[rq.cfs].h_nr_queued == 1 {
            if rq.nr_running == 0 {
                self.fair_server_update_idle_time(cpu);
            }
            self.fair_server_start(cpu);
        }
    }

    /// The end of a throttling brought back `queued` fair tasks: if the CPU had none, the server starts. Call when
    /// the root queue's `h_nr_queued` counts them and the CPU's `nr_running` does not yet.
    pub(crate) fn fair_server_unthrottled(&mut self, cpu: CpuId, queued: u32) {
        if queued != 0 && self.cfs_rqs[self.rqs[cpu].cfs].h_nr_queued == queued {
            self.fair_server_start(cpu);
        }
    }

    #[inline]
    fn fair_server_start(&mut self, cpu: CpuId) {
        if !self.rqs[cpu].rt.server.active {
            (self.rt_rules.start_fair_server)(self, cpu);
        }
    }

    /// A fair task ran for `delta`.
    #[inline]
    pub(crate) fn fair_server_update(&mut self, cpu: CpuId, delta: Nanos) {
        if self.rqs[cpu].rt.server.active {
            self.dl_server_update(cpu, delta);
        }
    }

    /// The CPU was idle until now: time that fair tasks could have had. Call when the idle task is put away.
    pub(crate) fn fair_server_update_idle_time(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        let server = &mut rq.rt.server;
        if !server.initialized || server.runtime < 0 {
            return;
        }
        let clock_task = rq.clock_task;
        let entity = &mut self.ses[self.tasks[rq.curr].se];
        let delta = clock_task.wrapping_sub(entity.exec_start) as i64;
        if delta < 0 {
            return;
        }
        server.runtime -= delta;
        if server.runtime < 0 {
            server.defer_running = false;
            server.runtime = 0;
        }
        entity.exec_start = clock_task;
    }

    // ---- called by schedule() ----------------------------------------------------------------------------------

    /// Are fair tasks to be picked before RT ones? If then none can run, call [`fair_server_stop`](Self::fair_server_stop)
    /// and go on with RT. Call before the running task is put away.
    #[inline]
    pub(crate) fn fair_server_is_next(&mut self, cpu: CpuId) -> bool {
        if self.rqs[cpu].rt.server.active {
            self.defer_after_overrun(cpu);
        }
        self.is_server_next(cpu)
    }

    /// In the kernel some time passes between the tick that finds the runtime used up and the switch that follows. The
    /// switch charges it to the fair task, and that makes the server defer again. Here a switch may take no time.
    fn defer_after_overrun(&mut self, cpu: CpuId) {
        let curr = &self.tasks[self.rqs[cpu].curr];
        let server = &self.rqs[cpu].rt.server;
        let waits = server.throttled && !server.defer_armed && server.runtime <= 0;
        if waits && curr.class == Class::Fair && curr.is_queued() {
            self.defer_new_period(cpu);
        }
    }

    #[inline]
    pub(super) fn is_server_next(&self, cpu: CpuId) -> bool {
        let rt = &self.rqs[cpu].rt;
        rt.server.queued && !(rt.queued && rt.highest_curr < 0)
    }

    /// Stops a CPU's server: nothing is left for it to run, or the CPU goes offline. It keeps its runtime.
    pub(crate) fn fair_server_stop(&mut self, cpu: CpuId) {
        if self.fair_server_params().0 == 0 {
            return;
        }
        self.dequeue_fair_server(cpu);
        let server = &mut self.rqs[cpu].rt.server;
        server.timer = None;
        server.defer_armed = false;
        server.throttled = false;
        server.active = false;
    }
}
