//! The clock of a queue, out of what its running task is charged.
//!
//! Model.   `update_curr` charges `clock - exec_start`, and `exec_start` is the clock of the last
//!          charge: so `exec_start + runtime` is the queue's clock, to the nanosecond.
//!          A probe may tell it, too (`clock`).
//! Source.  kernel/sched/fair.c `update_curr` @ 6.1, 6.12.
//! Deviations. When a CPU leaves idle, or goes on with a task that it pulled, no charge tells its clock. It was read before
//!          the record, and before every later charge by at least what was charged since: the earliest of these times
//!          stands for it, which can be some µs late. Charges after that are exact relative to it. What groups are charged
//!          is not recorded: where one runs, the record of a wakeup or move tells the clock of it, some µs early or late
//!          (but see `placing_clock` and `clock_reads`).

use super::Follower;
use super::tasks::stopper_cpu;
use crate::record::{Record, What};
use fairwind_sched::probe::{NOTHING_SHOWN, ProbeField, ProbePoint, Told};
use fairwind_sched::{CfsRqId, CpuId, SeId, TaskId};

/// If the clock is further than this from the time stamp and from the clock that the queue had, and not since the CPU's last
/// record before the call, the running task is not the one followed.
const PLAUSIBLE_NS: u64 = 2_000_000;
/// How many records ahead a clock is looked for.
const AHEAD: usize = 4096;

impl Follower<'_> {
    /// A task was charged for its run time.
    pub(super) fn stat_runtime(
        &mut self,
        r: &Record,
        pid: i32,
        runtime: u64,
        vruntime: Option<u64>,
    ) {
        let task = self.task(pid, "", r.cpu, r.ts);
        let cpu = self.sched.tasks[task].cpu;
        let own = cpu.0 == r.cpu;
        let context = self.cpu(r.cpu);
        let waking = context.waking.is_some();
        let takes = context.in_flight.is_some_and(|moved| moved.dest == r.cpu);
        let pulling = own && !r.irq && (!context.moves.is_empty() || takes);
        let inside = !own || waking || pulling || r.softirq;
        if own && !inside {
            self.end_requeue(r);
            self.end_push(r.cpu, r.ts);
            self.drop_clock(r);
            self.limit_clocks(r);
        }
        let clock = self.charged_clock(task, r.cpu, r.ts, runtime);
        if let Some(probes) = &mut self.sched.probes {
            probes.set_reached(cpu, clock, r.ts);
        }
        if !(own && self.cpu(r.cpu).pending_clock.is_some()) {
            self.limit_clock(cpu, clock);
        }
        if let Some((_, return_clock)) = self.cpu(r.cpu).returning.as_mut().filter(|_| own) {
            *return_clock = clock;
        }
        if let Some(vruntime) = vruntime {
            let mut values = NOTHING_SHOWN;
            values[ProbeField::Vruntime as usize] = Some(vruntime);
            let told = Told {
                point: ProbePoint::StatRuntime,
                se: self.sched.tasks[task].se,
                id: runtime,
                at: r.ts,
                values,
            };
            self.told().push(told);
        }
        if !waking && self.unthrottled_by_charge(r, cpu, clock) {
            return;
        }
        if inside {
            if !own && !waking {
                self.begin_pass(r);
            }
            self.cpu(r.cpu).clocks.insert(cpu.0, clock);
            if self.charges_to_queue(r.cpu, cpu) {
                let before = self.sched.rqs[cpu].need_resched;
                self.sched.follow_charge(cpu, clock);
                let asks = self.sched.rqs[cpu].need_resched && !before;
                self.cpu(r.cpu).resched_by_charge = asks;
            } else if !waking && !pulling {
                // Balancing, or somebody who asks for run times.
                self.sched.follow_charge(cpu, clock);
                if !own && !r.irq && !self.moves_next() && !self.attach_there(r, cpu) {
                    self.changes_other(r.cpu, cpu);
                }
            }
        } else {
            self.cpu(r.cpu).charged_by_put = self.is_put_told();
            self.cpu(r.cpu).pending_clock = Some(clock);
        }
        if !inside {
            self.attach_charged(r, pid);
        }
        let charged = self.cpu(r.cpu).pending_clock == Some(clock);
        if charged && self.is_yield(r) {
            self.cpu(r.cpu).pending_clock = None;
            self.follow_yield(r, clock);
        } else if charged && self.is_batch_yield(r, pid) {
            self.follow_batch_yield(r);
        } else if charged && self.futile_pick(r, pid, clock) {
            self.cpu(r.cpu).pending_clock = None;
        } else if charged && self.forks_after_interrupts(r, pid) {
            self.cpu(r.cpu).pending_clock = None;
            self.fork_ahead(r, clock);
        } else if charged && self.is_call_of_its_own(pid) {
            self.cpu(r.cpu).pending_clock = None;
            self.charge(r, clock);
        }
    }

    /// Is the charge that of queueing the task that this CPU wakes? Where that, or a group above it, was still queued
    /// (DELAY_DEQUEUE), or another task of its group is, the charge comes after that, to see whether it preempts.
    fn charges_to_queue(&self, by: u32, cpu: CpuId) -> bool {
        let woken = self.cpus[by as usize].waking;
        let Some(task) = woken.and_then(|pid| self.known(pid)) else {
            return false;
        };
        let mut se = self.sched.tasks[task].se;
        while se.is_some() && !self.sched.ses[se].on_rq {
            let cfs_rq = self.queue_on(cpu, se);
            let running = self.sched.cfs_rqs[cfs_rq].curr;
            if running.is_some() {
                return self.sched.ses[running].is_task();
            }
            se = self.sched.cfs_rqs[cfs_rq].se;
        }
        false
    }

    /// Does a CPU go on with moving a task?
    fn moves_next(&self) -> bool {
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            match &self.records[at].what {
                What::Migrate { .. } => return true,
                inside if inside.is_inside() => {}
                _ => return false,
            }
        }
        false
    }

    /// What other queues this CPU had locked matters to a wakeup and to a switch, and to nothing after.
    pub(super) fn end_locks(&mut self, r: &Record) {
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at].what);
        let goes_on = matches!(
            next,
            Some(What::Switch { .. } | What::Wakeup { .. } | What::WakeupNew { .. })
        );
        if !goes_on {
            self.settle_clocks(r.cpu);
        }
    }

    /// Charges on queues that this CPU had locked, and that no call has used.
    pub(super) fn settle_clocks(&mut self, cpu: u32) {
        for (queue, clock) in std::mem::take(&mut self.cpu(cpu).clocks) {
            if self.sched.rqs[CpuId(queue)].clock < clock {
                self.sched.follow_charge(CpuId(queue), clock);
            }
        }
    }

    /// A call of ours may reach the clock of the next charge before its record: it has made that charge.
    pub(super) fn note_charged_ahead(&mut self) {
        for (rq, charges) in self.sched.rqs.iter().zip(&mut self.charges) {
            let Some((task, charge, clock)) = charges.next else {
                continue;
            };
            let se = self.sched.tasks[task].se;
            let made = rq.curr == task && self.sched.ses[se].exec_start == clock;
            if made && charge > self.at {
                charges.made_ahead = Some((task, charge));
            }
        }
    }

    fn charged_clock(&mut self, task: TaskId, by: u32, ts: u64, runtime: u64) -> u64 {
        let cpu = self.sched.tasks[task].cpu;
        let se = self.sched.tasks[task].se;
        let charge = &self.records[self.at];
        let same_call = |&next: &usize| self.records[next].context() == charge.context();
        let next = self.next_on_cpu[self.at].filter(same_call);
        let next = next.filter(|&next| !self.is_of_tick(task, next));
        if let Some(clock) = self.probed_clock(next) {
            self.sched.ses[se].exec_start = clock.saturating_sub(runtime);
            return clock.max(self.sched.rqs[cpu].clock);
        }
        if self.charges[cpu.idx()].made_ahead == Some((task, self.at)) {
            return self.sched.rqs[cpu].clock;
        }
        let clock = if self.sched.rqs[cpu].curr == task {
            let context = &self.cpus[cpu.idx()];
            let unused = context
                .pending_clock
                .max(context.clocks.get(&cpu.0).copied());
            let begun = unused.unwrap_or(0).max(self.sched.ses[se].exec_start);
            begun.saturating_add(runtime)
        } else {
            self.clock_at(cpu, ts)
        };
        let held = self.sched.rqs[cpu].clock;
        let near = ts.saturating_sub(clock).min(clock.abs_diff(held)) <= PLAUSIBLE_NS;
        if clock <= ts && (near || clock >= self.cpus[by as usize].last_ts) {
            return clock.max(held);
        }
        self.sched.ses[se].exec_start = ts.saturating_sub(runtime);
        if (ts..ts.saturating_add(PLAUSIBLE_NS)).contains(&clock) {
            self.date_groups_back(se, clock - ts);
        }
        self.clock_at(cpu, ts)
    }

    /// The clock of a queue was taken to be later than it was, since before the groups above an entity began to run.
    fn date_groups_back(&mut self, se: SeId, by: u64) {
        let mut group = self.sched.ses[se].parent;
        while group.is_some() {
            let entity = &mut self.sched.ses[group];
            entity.exec_start = entity.exec_start.saturating_sub(by);
            group = entity.parent;
        }
    }

    /// Is a charge in an interrupt that of a tick, and what is placed next another call's? The entity comes to a queue where
    /// a group runs, so that to place it charges no task.
    pub(super) fn is_of_tick(&self, task: TaskId, placed: usize) -> bool {
        if !self.records[self.at].hardirq() {
            return false;
        }
        let What::Probe { address, .. } = self.records[placed].what else {
            return false;
        };
        let Some(&se) = self.addresses.get(&address) else {
            return false;
        };
        self.sched.cfs_rqs[self.sched.ses[se].cfs_rq].curr != self.sched.tasks[task].se
    }

    /// The clock with which a CPU leaves idle: `ts`, or less if a later charge says so.
    pub(super) fn clock_out_of_idle(&self, cpu: CpuId, ts: u64) -> u64 {
        let told = self.leaving_clock(cpu);
        let latest = told.map_or(ts, |(_, told)| ts.min(told));
        latest.max(self.sched.rqs[cpu].clock)
    }

    /// The clock with which a task joins or leaves a queue that no charge tells. If it has to do with a running task that is
    /// because the clock had been read before; but a running group's charge is not recorded, and the clock
    /// was then read at about this time, and before the next charge.
    pub(super) fn uncharged_clock(&self, cpu: CpuId, task: TaskId, ts: u64) -> u64 {
        let mut se = self.sched.tasks[task].se;
        let mut cfs_rq = self.queue_on(cpu, se);
        loop {
            let running = self.sched.cfs_rqs[cfs_rq].curr;
            if running.is_some() {
                let charged = self.sched.ses[running].is_task();
                let held = self.sched.rqs[cpu].clock;
                return if charged {
                    held
                } else {
                    self.clock_at(cpu, ts)
                };
            }
            se = self.sched.cfs_rqs[cfs_rq].se;
            if se.is_none() {
                return self.sched.rqs[cpu].clock;
            }
            cfs_rq = self.sched.ses[se].cfs_rq;
        }
    }

    /// The queue of a CPU that an entity is, or would be, on.
    pub(super) fn queue_on(&self, cpu: CpuId, se: SeId) -> CfsRqId {
        let group = self.sched.cfs_rqs[self.sched.ses[se].cfs_rq].tg;
        self.sched.groups[group].cfs_rq[cpu.idx()]
    }

    /// The clock with which a task whose dequeue was delayed is woken where it stands. That charges nobody if a reschedule
    /// had been asked for already, and then the `schedule()` that follows charges by the same clock.
    pub(super) fn clock_of_requeue(&self, cpu: CpuId, ts: u64) -> u64 {
        let next = self.times.records_of(cpu.0, self.at + 1).first();
        let told = self.charges[cpu.idx()].next;
        let told = told.filter(|(_, charge, clock)| next == Some(charge) && *clock <= ts);
        told.map_or_else(|| self.clock_at(cpu, ts), |(_, _, clock)| clock)
    }

    /// The clock held by a CPU that leaves idle, if it can be that with which its next task began to run.
    pub(super) fn held_out_of_idle(&self, cpu: CpuId) -> Option<u64> {
        let held = self.sched.rqs[cpu].clock;
        let (earliest, _) = self.leaving_clock(cpu)?;
        (earliest <= held).then_some(held)
    }

    /// The earliest and latest that the clock can have been when an idle CPU's next task began to run. A charge's clock
    /// was read before the charge was recorded, and after what its CPU recorded before the call.
    fn leaving_clock(&self, cpu: CpuId) -> Option<(u64, u64)> {
        Some(self.starting_clock(cpu, self.times.leave(cpu.0, self.at)?))
    }

    /// The clock with which a CPU goes on where no charge tells it: from a task of another class, or with one that it pulled.
    pub(super) fn clock_of_next(&self, cpu: CpuId, ts: u64) -> u64 {
        let (_, latest) = self.starting_clock(cpu, self.at);
        ts.min(latest).max(self.sched.rqs[cpu].clock)
    }

    /// The clock of an update that no charge tells, at about a time. If a wakeup has asked the `schedule()` that is to
    /// come not to update it again, the CPU leaves idle with it; but not if another timer interrupt comes first.
    pub(super) fn clock_of_update(&self, cpu: CpuId, ts: u64) -> u64 {
        let skips = self.sched.is_idle(cpu) && self.sched.rqs[cpu].clock_skip_requested;
        let leave = self.times.leave(cpu.0, self.at).filter(|_| skips);
        let at_once = |leave: &usize| {
            let own = self.times.records_of(cpu.0, self.at + 1);
            let mut own = own.iter().take_while(|at| *at < leave);
            own.all(|&at| self.records[at].what != What::Timer)
        };
        let held = self.clock_at(cpu, ts);
        leave.filter(at_once).map_or(held, |leave| {
            let (_, latest) = self.starting_clock(cpu, leave);
            latest.max(self.sched.rqs[cpu].clock)
        })
    }

    /// When a CPU whose switch is followed began to queue what it had pulled, at the latest.
    pub(super) fn pulled_before(&self, r: &Record) -> u64 {
        let own = self.times.records_until(r.cpu, self.at);
        let own = own.iter().rev().map(|&at| &self.records[at]);
        let queued = own.take_while(|r| !matches!(r.what, What::Migrate { .. }));
        queued.last().map_or(r.ts, |first| first.ts)
    }

    /// The clock of the queue that a call is about, if its next probe tells it, from a record of the call on.
    pub(super) fn probed_clock(&self, mut from: Option<usize>) -> Option<u64> {
        while let Some(at) = from {
            let r = &self.records[at];
            match r.what {
                What::Probe {
                    point: ProbePoint::PlaceEntity | ProbePoint::SetNextEntity,
                    clock: Some(clock),
                    ..
                } => return (r.ts.wrapping_sub(clock) <= PLAUSIBLE_NS).then_some(clock),
                What::Probe { .. } => from = self.next_on_cpu[at],
                _ => return None,
            }
        }
        None
    }

    /// The same of the call that a record ends.
    pub(super) fn clock_probed_before(&self, cpu: u32, end: usize) -> Option<u64> {
        let ends = &self.records[end];
        let first = self.first_probe(cpu, end, |r| r.context() == ends.context());
        self.probed_clock(first)
    }

    /// The clock with which an entity is placed, if the probes of that tell it, the last of which is at `end`.
    pub(super) fn clock_of_place(&self, cpu: u32, end: usize, address: u64) -> Option<u64> {
        let of_it =
            |r: &Record| matches!(r.what, What::Probe { address: shown, .. } if shown == address);
        self.probed_clock(self.first_probe(cpu, end, of_it).or(Some(end)))
    }

    /// The first of a CPU's probes that come one upon the other until `end`, and are of one call.
    pub(super) fn first_probe(
        &self,
        cpu: u32,
        end: usize,
        same: impl Fn(&Record) -> bool,
    ) -> Option<usize> {
        let own = self.times.records_until(cpu, end).iter().rev();
        let probes = own.take_while(|&&at| {
            let r = &self.records[at];
            r.what.probed().is_some() && same(r)
        });
        probes.last().copied()
    }

    /// The earliest and latest that the clock can have been at a switch.
    pub(super) fn starting_clock(&self, cpu: CpuId, leave: usize) -> (u64, u64) {
        if let Some(clock) = self.clock_probed_before(cpu.0, leave) {
            return (clock, clock);
        }
        let (mut earliest, mut latest) = (0, self.records[leave].ts);
        let mut running = None;
        let mut charged = 0_u64;
        let mut before = 0;
        for r in self.records[leave..].iter().take(AHEAD) {
            match &r.what {
                What::Switch { next, .. } if r.cpu == cpu.0 => {
                    if next.pid == 0 || stopper_cpu(&next.comm).is_some() {
                        break;
                    }
                    running = Some(next.pid);
                    before = r.ts;
                }
                What::Runtime { pid, runtime, .. } if running == Some(*pid) => {
                    charged = charged.saturating_add(*runtime);
                    latest = latest.min(r.ts.saturating_sub(charged));
                    if r.cpu == cpu.0 {
                        earliest = earliest.max(before.saturating_sub(charged));
                    }
                }
                What::Probe { .. } | What::Runtime { .. } | What::Migrate { .. } => {}
                _ if r.cpu == cpu.0 => before = r.ts,
                _ => {}
            }
        }
        (earliest, latest)
    }
}
