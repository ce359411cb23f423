//! When the balancing softirq runs, and which passes it does beside those that the kernel's moves show.
//!
//! Model.   A tick, or a kick by another CPU, raises the softirq. That of the timers runs before it, so whom that wakes ours has
//!          woken, too. Where the softirq moves something, that tells when; the domains of its CPU below that of the move it
//!          has balanced before, and those above it afterwards, where they are due. Where it moves nothing it is taken to run
//!          as long after it was raised as those that move something usually do, and before what its CPU records next. It brings
//!          averages up to date as it begins, which is halfway between when it was raised and when it moves something.
//!          A CPU that is kicked balances for all idle CPUs: what it records within a tick it has moved then, and it goes on with
//!          the others afterwards; what it moves later is of a later kick.
//! Units.   ns of the trace clock.
//! Source.  kernel/softirq.c `handle_softirqs`; kernel/sched/fair.c `sched_balance_softirq`, `sched_balance_domains` @ 6.1,
//!          6.12.
//! Deviations. When a softirq that moves nothing runs is not recorded.

use super::Follower;
use super::passes::{balances_for, softirq_idle};
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::balance::CpuIdleType;
use fairwind_sched::domain::SdId;

/// A softirq that was raised and moves nothing.
#[derive(Clone, Debug)]
pub(super) struct Raised {
    /// When it is taken to run.
    at: u64,
    cpu: CpuId,
    /// The clock of its queue when it was raised.
    clock: u64,
    /// The CPU that raised it.
    by: u32,
}

/// How long after the record before them passes that move something usually begin; where none does, softirqs that wake somebody.
pub(super) fn usual_delay(records: &[Record], next_on_cpu: &[Option<usize>]) -> u64 {
    let mut delays = [Vec::new(), Vec::new()];
    for (at, r) in records.iter().enumerate() {
        let Some(next) = next_on_cpu[at].filter(|_| r.hardirq()) else {
            continue;
        };
        if records[next].softirq {
            let moves = moves_first(records, next_on_cpu, next);
            delays[usize::from(!moves)].push(records[next].ts.saturating_sub(r.ts));
        }
    }
    let delays = delays.iter_mut().find(|delays| !delays.is_empty());
    delays.map_or(0, |delays| {
        delays.sort_unstable();
        delays[delays.len() / 2]
    })
}

/// Does a softirq begin with this record, and move something before it wakes anybody?
fn moves_first(records: &[Record], next_on_cpu: &[Option<usize>], first: usize) -> bool {
    let mut at = Some(first);
    while let Some(r) = at.map(|at| &records[at]).filter(|r| r.softirq) {
        match r.what {
            What::Migrate { .. } => return true,
            What::Runtime { .. } => at = at.and_then(|at| next_on_cpu[at]),
            _ => return false,
        }
    }
    false
}

/// Is it the name of the thread that runs softirqs?
pub(super) fn is_of_softirqs(comm: &str) -> bool {
    comm.starts_with("ksoftirqd/")
}

impl Follower<'_> {
    /// The balancing softirq was raised. That of the timers runs before it.
    pub(super) fn softirq(&mut self, r: &Record, cpu: CpuId, clock: u64) {
        self.sched.follow_softirq(cpu);
        if self.moves_ahead(cpu.0) && (cpu.0 == r.cpu || self.goes_on_soon(r, cpu)) {
            if cpu.0 == r.cpu {
                let sds = self.sched.domains.for_each_domain(cpu).collect();
                self.cpu(cpu.0).to_balance = sds;
                self.cpu(cpu.0).softirq_raised = Some(clock);
            }
            self.cpu(cpu.0).kicked = cpu.0 != r.cpu;
            return;
        }
        if cpu.0 == r.cpu && self.timers_wake(cpu.0) {
            self.cpu(cpu.0).balances_later = true;
        } else {
            self.raised.push(Raised {
                at: r.ts + self.softirq_delay,
                cpu,
                clock,
                by: r.cpu,
            });
        }
    }

    /// Does a kicked CPU record something before the next tick can kick it?
    fn goes_on_soon(&self, r: &Record, cpu: CpuId) -> bool {
        let next = self.times.records_of(cpu.0, self.at + 1).first();
        let tick = self.facts.profile.tick_nsec();
        next.is_some_and(|&next| self.records[next].ts.saturating_sub(r.ts) <= tick)
    }

    /// Has softirqs that move nothing run that do so before the record at `at`.
    pub(super) fn run_softirqs(&mut self, at: usize) {
        let records = self.records;
        let (next, reached) = (&records[at], self.reached[at]);
        let other_context = !next.hardirq() || next.what == What::Timer;
        let has_run =
            |raised: &Raised| raised.at <= reached || next.cpu == raised.cpu.0 && other_context;
        while let Some(first) = self.raised.iter().position(has_run) {
            let raised = self.raised.remove(first);
            self.limit_clocks_at(next.cpu, at);
            let r = Record::of_task(raised.at.min(reached), raised.by, What::Timer);
            self.balance_quietly(&r, raised.cpu, raised.clock.midpoint(r.ts));
        }
    }

    /// The balancing softirq of a CPU begins at `ts`, and moves nothing.
    fn balance_quietly(&mut self, r: &Record, cpu: CpuId, ts: u64) {
        let clock = self.clock_of_update(cpu, ts);
        self.quiet_pass(r, cpu, |sched| sched.sched_balance_softirq(cpu, clock));
    }

    /// Does a softirq wake somebody before the CPU goes on with what it was interrupted in?
    fn timers_wake(&self, cpu: u32) -> bool {
        let own = self.times.records_of(cpu, self.at + 1);
        let mut own = own.iter().map(|&at| &self.records[at]);
        let interrupted = own.find(|r| r.softirq || !r.irq);
        interrupted
            .is_some_and(|r| matches!(r.what, What::Waking { .. }) && Self::is_before_balancing(r))
    }

    /// Is a softirq's record of one that runs before the balancing one? Their own thread is woken when all have run.
    fn is_before_balancing(r: &Record) -> bool {
        let ends = matches!(&r.what, What::Waking { comm, .. } if is_of_softirqs(comm));
        r.softirq && !ends
    }

    /// Softirqs before the balancing one are over.
    pub(super) fn end_timers_softirq(&mut self, r: &Record) {
        let goes_on = |next: usize| Self::is_before_balancing(&self.records[next]);
        if self.cpus[r.cpu as usize].balances_later
            && !self.next_on_cpu[self.at].is_some_and(goes_on)
        {
            self.cpu(r.cpu).balances_later = false;
            self.balance_quietly(r, CpuId(r.cpu), r.ts);
        }
    }

    /// A tick asks an idle CPU to balance for all of them.
    pub(super) fn kick(&mut self, r: &Record, ilb: CpuId) {
        self.jiffies.busy(ilb.0, r.ts, false);
        self.sched.follow_jiffies(self.jiffies.now());
        let clock = self.clock_at(ilb, r.ts);
        self.sched.nohz_kick(ilb, clock);
        self.take_effects(ilb.0);
        self.softirq(r, ilb, clock);
    }

    /// A CPU moves something in the softirq: the domains below that of its move it has balanced before, where they were due.
    pub(super) fn balance_below(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        if !r.softirq {
            return;
        }
        let moved = self.moved_next(r.cpu);
        let moved = moved.map(|(orig, dest)| (orig, balances_for(&self.sched, cpu, orig, dest)));
        let passes = self.passes_of(moved.into_iter());
        let of_own = passes.first().filter(|(dest, _)| *dest == cpu);
        let context = self.cpu(r.cpu);
        let raised = context.softirq_raised.take();
        let begins = of_own.is_some() && context.balanced.is_empty();
        if begins || raised.is_some() {
            let earliest = raised.unwrap_or(0).max(context.last_ts);
            let clock = self.clock_of_update(cpu, earliest.midpoint(r.ts));
            self.sched.follow_blocked_averages(cpu, clock);
        }
        let sds = std::mem::take(&mut self.cpu(r.cpu).to_balance);
        if let Some(at) = of_own.and_then(|(_, acted)| sds.iter().position(|sd| sd == acted)) {
            let idle = softirq_idle(&self.sched, cpu);
            self.balance_due(r, &sds[..at], idle);
            self.cpu(r.cpu).to_balance = sds[at + 1..].to_vec();
        }
    }

    /// The domains above those in which the softirq moved something, which the CPU may no longer be idle for.
    pub(super) fn balance_above(&mut self, r: &Record) {
        if !self.moves_ahead(r.cpu) {
            let sds = std::mem::take(&mut self.cpu(r.cpu).to_balance);
            let idle = self.sched.idle_after_moving(CpuId(r.cpu));
            self.balance_due(r, &sds, idle);
        }
    }

    /// A kicked CPU has moved something: it goes on with the other idle CPUs.
    pub(super) fn balance_others(&mut self, r: &Record) {
        if !self.moves_ahead(r.cpu) && std::mem::take(&mut self.cpu(r.cpu).kicked) {
            self.balance_quietly(r, CpuId(r.cpu), r.ts);
        }
    }

    fn balance_due(&mut self, r: &Record, sds: &[SdId], idle: CpuIdleType) {
        if sds.is_empty() {
            return;
        }
        let cpu = CpuId(r.cpu);
        self.quiet_pass(r, cpu, |sched| sched.ask_due_domains(cpu, sds, idle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ahead;

    #[test]
    fn moves_tell_how_late_the_softirq_is() {
        let of_cpu = |ts, irq, softirq, what| Record {
            irq,
            softirq,
            ..Record::of_task(ts, 1, what)
        };
        let charge = || What::Runtime {
            pid: 1,
            runtime: 1,
            vruntime: None,
        };
        let waking = || What::Waking {
            pid: 8,
            comm: String::new(),
            prio: 120,
            slept_on: 1,
        };
        let migrate = |pid| What::Migrate {
            pid,
            orig: 0,
            dest: 1,
        };
        let records = [
            of_cpu(100, true, false, What::Timer),
            of_cpu(110, true, false, charge()),
            of_cpu(150, true, true, charge()),
            of_cpu(160, true, true, migrate(7)),
            of_cpu(200, true, false, What::Timer),
            of_cpu(210, true, true, waking()),
            of_cpu(220, true, true, migrate(8)),
            of_cpu(300, true, false, What::Timer),
            of_cpu(370, true, true, migrate(9)),
            of_cpu(400, false, false, migrate(10)),
        ];
        let delay = usual_delay(&records, &ahead::next_on_cpu(&records));
        assert_eq!(delay, 70, "of 40 and 70 the later one");
    }
}
