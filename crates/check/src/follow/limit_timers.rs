//! Interrupts that tell when, and on which CPU, a limit's timer expired.
//!
//! Model.      A timer interrupt that neither ticks nor wakes anybody, shortly before a limit's timer expires, is that timer's: its
//!             periods began a little earlier than believed. Another interrupt that begins just before lasts until then, and serves
//!             it, too, if the CPU's next one comes much later. One that charges the running tasks of other CPUs puts throttled
//!             queues back there, where the timer's interrupt does so itself (6.1): it has the timer that refilled them.
//! Units.      ns of the trace clock.
//! Source.     kernel/sched/fair.c `sched_cfs_period_timer`, `distribute_cfs_runtime` @ 6.1, 6.12; kernel/time/hrtimer.c
//!             `hrtimer_interrupt`.

use super::Follower;
use super::limits::Kind;
use crate::record::{Record, What};
use fairwind_sched::{CfsRqId, CpuId, GroupId};

/// No timer is believed to expire later than it does by more than this.
const EARLY_NS: u64 = 100_000;
/// An interrupt that comes so many times as long after a timer expires as another one comes before is not that timer's.
const MUCH_LATER: u64 = 8;

impl Follower<'_> {
    /// A timer interrupt begins: what it tells of the timers that are armed.
    pub(super) fn tell_timers(&mut self, r: &Record) {
        if self.limits.armed.is_empty() || self.interrupt_wakes() {
            return;
        }
        self.expire_early(r);
        if self.facts.returns_in_order() {
            self.claim_timers(r);
        }
    }

    fn expire_early(&mut self, r: &Record) {
        let ticks = self.limits.ticks.expires(r.cpu, r.ts) <= r.ts;
        if ticks || self.due(r.cpu, r.ts).is_some() {
            return;
        }
        let Some((_, timer)) = self.due(r.cpu, r.ts.saturating_add(EARLY_NS)) else {
            return;
        };
        if let Some(armed) = self.limits.armed.get_mut(&timer) {
            armed.expires = r.ts;
        }
        if let (group, Kind::Period) = timer {
            self.sched.groups[group].bandwidth.period_expires = r.ts;
        }
    }

    /// Until when the timer interrupt that begins lasts at least: it serves a limit's timer, too, that expires soon after it began
    /// and long before the CPU's next one, which would have come for it, unless the CPU is known to have gone on by then. Where the
    /// interrupt puts queues back itself, that tells.
    pub(super) fn lasts_until(&self, r: &Record) -> u64 {
        if self.facts.returns_in_order() {
            return r.ts;
        }
        let next = self.phases.next_interrupt(r.cpu, r.ts).unwrap_or(u64::MAX);
        let Some((expires, _)) = self.due(r.cpu, next) else {
            return r.ts;
        };
        let (early, late) = (expires.saturating_sub(r.ts), next - expires);
        let mut own = self.times.records_of(r.cpu, self.at + 1).iter();
        let goes_on = own.find(|&&at| !self.records[at].hardirq());
        let served = goes_on.is_none_or(|&at| self.records[at].ts > expires);
        if served && early.saturating_mul(MUCH_LATER) < late {
            expires.max(r.ts)
        } else {
            r.ts
        }
    }

    /// Takes the one timer that has expired and may have refilled a queue to be this CPU's, wherever it was believed.
    fn claim_timers(&mut self, r: &Record) {
        for there in self.charged_elsewhere(r.cpu) {
            let is_there = |&cfs_rq: &CfsRqId| self.sched.cfs_rqs[cfs_rq].cpu == there;
            let refills = |group: GroupId| {
                let throttled = &self.sched.groups[group].bandwidth.throttled_cfs_rq;
                throttled.iter().any(is_there)
            };
            let armed = self.limits.armed.iter();
            let expired = armed.filter(|(_, armed)| armed.expires <= r.ts);
            let mut may = expired
                .map(|(&timer, _)| timer)
                .filter(|timer| refills(timer.0));
            let (Some((group, kind)), None) = (may.next(), may.next()) else {
                continue;
            };
            if let Some(armed) = self.limits.armed.get_mut(&(group, kind)) {
                armed.cpu = r.cpu;
            }
            if kind == Kind::Period {
                self.limits.shown.insert(group, r.cpu);
            }
        }
    }

    /// The other CPUs whose running tasks the interrupt that begins on a CPU charges.
    fn charged_elsewhere(&self, cpu: u32) -> Vec<CpuId> {
        let charged = self.rest_of_interrupt(self.at).filter_map(|r| {
            let What::Runtime { pid, .. } = r.what else {
                return None;
            };
            let task = self.known(pid)?;
            let there = self.sched.tasks[task].cpu;
            (there.0 != cpu && self.sched.rqs[there].curr == task).then_some(there)
        });
        charged.collect()
    }

    fn interrupt_wakes(&self) -> bool {
        let mut rest = self.rest_of_interrupt(self.at);
        rest.any(|r| matches!(r.what, What::Waking { .. }))
    }

    /// The records of an interrupt after one of it.
    pub(super) fn rest_of_interrupt(&self, at: usize) -> impl Iterator<Item = &Record> {
        let after = std::iter::successors(self.next_on_cpu[at], |&at| self.next_on_cpu[at]);
        let after = after.map(|at| &self.records[at]);
        after.take_while(|r| r.hardirq() && r.what != What::Timer)
    }
}
