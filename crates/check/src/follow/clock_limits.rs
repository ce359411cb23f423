//! How far each queue's clock can go before its running task is next charged.
//!
//! Model.   Ours may look at a queue from another CPU at a time that only the trace's records tell, and its clock then goes
//!          with that time. It cannot have passed what the next charge there tells, nor the clock with which an idle CPU's
//!          next task begins to run; and it did not move if the running task makes way, or leaves, without another charge.
//! Source.  kernel/sched/core.c `update_rq_clock`; fair.c `update_curr`, `put_prev_entity` @ 6.1, 6.12.

use super::Follower;
use super::cpu::ChargesOf;
use crate::record::Record;
use fairwind_sched::task::Class;
use fairwind_sched::{CpuId, Sched};

impl Follower<'_> {
    pub(super) fn limit_clock(&mut self, cpu: CpuId, limit: u64) {
        if let Some(probes) = &mut self.sched.probes {
            probes.limit_clock(cpu, limit);
        }
    }

    /// Tells each queue how far its clock can go before its running task is next charged, as a record is followed.
    pub(super) fn limit_clocks(&mut self, r: &Record) {
        self.limit_clocks_at(r.cpu, self.at);
    }

    /// The same before the record at `at` is followed, which is of CPU `by`.
    pub(super) fn limit_clocks_at(&mut self, by: u32, at: usize) {
        self.sched.hold_probes();
        self.look_ahead_for_charges(at);
        self.limit_idle_clocks(at);
        // What is recorded comes before any charge to come, and of several clocks of a queue the first.
        let mut recorded = self.recorded_clocks(by);
        recorded.sort_unstable();
        recorded.dedup_by_key(|(queue, _)| *queue);
        for (queue, clock) in recorded {
            self.charges[queue.idx()].next = None;
            self.limit_clock(queue, clock);
        }
    }

    /// Finds each running task's next charge that ours has not made. All CPUs are looked at at each record, so this
    /// looks at little of each.
    fn look_ahead_for_charges(&mut self, at: usize) {
        let Sched {
            rqs,
            tasks,
            ses,
            probes,
            ..
        } = &mut self.sched;
        let limits = probes.as_mut().map(|probes| probes.limits(rqs.len()));
        let limits = limits.into_iter().flatten();
        for ((rq, charges), limit) in rqs.iter().zip(&mut self.charges).zip(limits) {
            charges.next = None;
            *limit = u64::MAX;
            let curr = rq.curr;
            if !matches!(tasks[curr].class, Class::Fair | Class::Rt) || at == 0 {
                continue;
            }
            let since = charges.made_of(curr).unwrap_or(0).max(at - 1);
            let known = match charges.known {
                Some(known) if known.hold(curr, since) => known,
                _ => {
                    let Some(pid) = self.names.pid(curr) else {
                        continue;
                    };
                    let task = curr;
                    let first = self.times.charges(pid, since).first().copied();
                    let switch = self.times.clock_stands_until(rq.cpu.0, pid, since);
                    let uncharged =
                        switch.filter(|switch| first.is_none_or(|(at, _)| *switch < at));
                    let known = ChargesOf {
                        task,
                        since,
                        first,
                        uncharged,
                    };
                    charges.known = Some(known);
                    known
                }
            };
            let charged = ses[tasks[curr].se].exec_start;
            if known.uncharged.is_some() {
                *limit = charged;
            } else if let Some((charge, runtime)) = known.first {
                *limit = charged.saturating_add(runtime);
                charges.next = Some((curr, charge, *limit));
            }
        }
    }

    /// Tells each queue of an idle CPU how far its clock can go before its next task begins to run.
    fn limit_idle_clocks(&mut self, at: usize) {
        for cpu in self.sched.rqs.ids() {
            if !self.sched.is_idle(cpu) {
                continue;
            }
            let known = self.charges[cpu.idx()].leaves_idle;
            let latest = match known.filter(|&(leave, _)| leave >= at) {
                Some((_, latest)) => latest,
                None => {
                    let Some(leave) = self.times.leave(cpu.0, at) else {
                        continue;
                    };
                    let (_, latest) = self.starting_clock(cpu, leave);
                    self.charges[cpu.idx()].leaves_idle = Some((leave, latest));
                    latest
                }
            };
            self.limit_clock(cpu, latest);
        }
    }

    /// The clocks of charges that are recorded, and that no call has used yet. A queue that this CPU has locked stands
    /// still for others.
    fn recorded_clocks(&self, by: u32) -> Vec<(CpuId, u64)> {
        let context = &self.cpus[by as usize];
        let returns = context.returning.map(|(_, clock)| clock);
        let own = context.pending_clock.or(returns);
        let own = own.map(|clock| (CpuId(by), clock));
        let locked = context
            .clocks
            .iter()
            .map(|(&cpu, &clock)| (CpuId(cpu), clock));
        let mut recorded: Vec<(CpuId, u64)> = own.into_iter().chain(locked).collect();
        let mine = recorded.len();
        for (cpu, context) in self.sched.rqs.ids().zip(&self.cpus) {
            if cpu.0 == by || context.pending_clock.is_none() && context.clocks.is_empty() {
                continue;
            }
            let own = context.pending_clock.map(|clock| (cpu, clock));
            let others = context
                .clocks
                .iter()
                .map(|(&cpu, &clock)| (CpuId(cpu), clock));
            for (queue, clock) in own.into_iter().chain(others) {
                let locked = recorded[..mine].iter().any(|(mine, _)| *mine == queue);
                if !locked && clock >= self.sched.rqs[queue].clock {
                    recorded.push((queue, clock));
                }
            }
        }
        recorded
    }
}
