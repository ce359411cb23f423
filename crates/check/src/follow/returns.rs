//! When throttled queues go back to work.
//!
//! Model.  A queue that was given runtime is put back when the recording shows it: by a probe of `place_entity`, by a charge to
//!         the running task, or because an idle CPU is asked to schedule or runs one of its tasks; where nothing will tell when,
//!         at once, but for a tick of its CPU that has begun. Probes show the queue's entity and then those of the groups above
//!         that had been taken off their queues, too; a charge may come between. An entity that none has shown before, placed in
//!         an interrupt that queues no task, is that of the CPU's only throttled queue of which none has been shown. Where the
//!         interrupt that gives runtime itself puts queues back (6.1), those that it gave runtime to before that one are back, too,
//!         and all of them by its last record.
//!         What another CPU is asked to put back, it puts back by one clock.
//! Source. kernel/sched/fair.c `unthrottle_cfs_rq`, `distribute_cfs_runtime`, `__cfsb_csd_unthrottle` @ 6.1, 6.12.

use super::Follower;
use super::requeues::ENQUEUE_WAKEUP;
use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{CfsRqId, CpuId, GroupId, SeId, TaskId};

impl Follower<'_> {
    /// Before a record of a CPU: queues whose return no probe will show are back by now. Where the timer's interrupt puts
    /// them back that is so once it is over, on all CPUs, and before that where nothing will tell.
    pub(super) fn unthrottle_unseen(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        for cfs_rq in self.sched.rqs[cpu].cfsb_csd.clone() {
            let empty = self.sched.cfs_rqs[cfs_rq].load.weight == 0;
            if empty && self.limits.placements {
                self.unthrottle(r, cfs_rq, self.clock_at(cpu, r.ts));
            }
        }
        for group in self.limits.returning.clone() {
            let under_way = self.is_being_refilled(group);
            if !under_way {
                self.limits.returning.remove(&group);
            }
            for cfs_rq in self.sched.groups[group].bandwidth.throttled_cfs_rq.clone() {
                if !self.sched.cfs_rqs[cfs_rq].throttled_csd {
                    continue;
                }
                let cpu = self.sched.cfs_rqs[cfs_rq].cpu;
                if under_way && (self.will_be_told(cfs_rq) || self.ticks_first(cpu, group)) {
                    if self.facts.returns_in_order() {
                        break;
                    }
                    continue;
                }
                let back = if under_way {
                    r.ts
                } else {
                    self.refilled_by(group, r)
                };
                self.put_back(r, cfs_rq, self.clock_at(cpu, back));
            }
        }
    }

    /// When the interrupt that gave a group's queues runtime recorded last: this record may come long after it.
    fn refilled_by(&self, group: GroupId, r: &Record) -> u64 {
        self.limits.refills.get(&group).map_or(r.ts, |&at| {
            let last = self.rest_of_interrupt(at).last();
            last.unwrap_or(&self.records[at]).ts
        })
    }

    /// Before a record of an idle CPU that was asked to schedule, though nobody is queued there: a queue has been put back, with
    /// the task that the CPU then runs.
    pub(super) fn unthrottle_asked(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let wakes = matches!(r.what, What::Wakeup { .. } | What::WakeupNew { .. });
        let idles = self.sched.is_idle(cpu) && self.sched.rqs[cpu].nr_running == 0;
        if !self.limits.are_set() || self.limits.placements || !r.need_resched || wakes || !idles {
            return;
        }
        let own = self.times.records_of(r.cpu, self.at).iter();
        let mut own = own.map(|&at| &self.records[at]);
        let answered = own.find(|r| !r.need_resched || matches!(r.what, What::Switch { .. }));
        if let Some(next) = answered.and_then(|r| self.waiting_next(cpu, &r.what)) {
            self.unthrottle_above(r, next, self.clock_at(cpu, r.ts));
        }
    }

    /// Will a later record tell that a queue is put back? That is so if the running task is charged then. Of an idle CPU that
    /// switches to one of the queue's tasks no record tells when it was.
    fn will_be_told(&self, cfs_rq: CfsRqId) -> bool {
        let cpu = self.sched.cfs_rqs[cfs_rq].cpu;
        if !self.sched.is_idle(cpu) {
            return self.return_charges(cfs_rq);
        }
        let leave = self.times.leave(cpu.0, self.at);
        let next = leave.and_then(|at| self.waiting_next(cpu, &self.records[at].what));
        next.is_none_or(|next| !self.queues_above(next).contains(&cfs_rq))
    }

    /// Does another CPU tick before the interrupt that puts a group's queues back has recorded anything? The tick holds the lock of
    /// its queues by then: the interrupt has to refill the pool first.
    fn ticks_first(&self, cpu: CpuId, group: GroupId) -> bool {
        let by = self.records[self.limits.refills[&group]].cpu;
        let first_of = |cpu: u32| {
            let at = self.times.records_of(cpu, self.at).first();
            at.map(|&at| &self.records[at])
        };
        let (Some(next), Some(goes_on)) = (first_of(cpu.0), first_of(by)) else {
            return false;
        };
        let ticks = next.what == What::Timer || self.is_charged_by(cpu.0, next);
        cpu.0 != by && ticks && next.ts < goes_on.ts
    }

    /// The task that a switch of a CPU goes to, if it waits there by now.
    fn waiting_next(&self, cpu: CpuId, switch: &What) -> Option<TaskId> {
        let What::Switch { next, .. } = switch else {
            return None;
        };
        let waits = |task: &TaskId| {
            let task = &self.sched.tasks[*task];
            task.is_queued() && task.cpu == cpu
        };
        self.known(next.pid).filter(waits)
    }

    /// A charge in an interrupt may be that of a queue going back to work; if so, its clock is taken.
    pub(super) fn unthrottled_by_charge(&mut self, r: &Record, cpu: CpuId, clock: u64) -> bool {
        if self.limits.placements || !r.irq {
            return false;
        }
        let mut pending = self.sched.rqs[cpu].cfsb_csd.clone();
        // The first charge of a CPU's own timer interrupt is that of its tick, unless it refilled the pool.
        if r.cpu == cpu.0 && self.cpu(r.cpu).in_timer == Some(false) {
            pending.retain(|&cfs_rq| {
                let group = self.sched.cfs_rqs[cfs_rq].tg;
                let refill = self.limits.refills.get(&group);
                refill.is_some_and(|&at| self.records[at].cpu == r.cpu)
            });
        }
        if !pending.iter().any(|&cfs_rq| self.return_charges(cfs_rq)) {
            return false;
        }
        for cfs_rq in pending {
            self.unthrottle(r, cfs_rq, clock);
        }
        true
    }

    /// `place_entity` in an interrupt, with the entity of a throttled queue: it goes back to work, and with it the groups above
    /// that were off their queues, which the records after it show.
    pub(super) fn unthrottled_by_place(&mut self, r: &Record, address: u64, flags: Option<u64>) {
        let returning = self.cpu(r.cpu).returning.take();
        let Some(returning) = returning.or_else(|| self.placed_queue(r, address, flags)) else {
            return;
        };
        if self.places_more_of(returning.0, address) {
            self.cpu(r.cpu).returning = Some(returning);
            return;
        }
        let (cfs_rq, clock) = returning;
        if let Some(probes) = &mut self.sched.probes {
            probes.set_reached(CpuId(r.cpu), clock, r.ts);
        }
        self.cpu(r.cpu).put_back = Some((self.at, clock));
        self.unthrottle(r, cfs_rq, clock);
        if self.cpu(r.cpu).in_timers.is_some() {
            self.run_timers(r.cpu, r.ts, self.interrupt_charges(r.cpu, self.at));
        }
    }

    /// The throttled queue whose entity is placed as it goes back to work, and its clock then.
    fn placed_queue(
        &mut self,
        r: &Record,
        address: u64,
        flags: Option<u64>,
    ) -> Option<(CfsRqId, u64)> {
        if flags != Some(ENQUEUE_WAKEUP) {
            return None;
        }
        let known = self.addresses.get(&address).copied();
        let se = known.or_else(|| self.throttled_unseen(r))?;
        let cfs_rq = self.sched.ses[se].my_q;
        if cfs_rq.is_none() || !self.sched.cfs_rqs[cfs_rq].throttled {
            return None;
        }
        let cpu = CpuId(r.cpu);
        if !self.return_charges(cfs_rq) {
            self.drop_clock(r);
        }
        let charged = self.cpu(r.cpu).pending_clock.take();
        let told = self.clock_of_place(r.cpu, self.at, address).or(charged);
        let clock = told.or_else(|| self.clock_of_last(r, cfs_rq));
        Some((cfs_rq, clock.unwrap_or_else(|| self.clock_at(cpu, r.ts))))
    }

    /// The clock by which this CPU has put back another queue just before this record: what another CPU has refilled it puts
    /// all back by that.
    fn clock_of_last(&self, r: &Record, cfs_rq: CfsRqId) -> Option<u64> {
        let refilled = self.limits.refills.get(&self.sched.cfs_rqs[cfs_rq].tg)?;
        if self.records[*refilled].cpu == r.cpu {
            return None;
        }
        let (at, clock) = self.cpus[r.cpu as usize].put_back?;
        (self.first_placed(r)? <= at).then_some(clock)
    }

    /// The first of the placements that come one upon the other until this record.
    fn first_placed(&self, r: &Record) -> Option<usize> {
        self.first_probe(r.cpu, self.at, |before| {
            before.what.probed() == Some(ProbePoint::PlaceEntity) && before.context() == r.context()
        })
    }

    /// Is what is placed a group above a task, which was placed just before?
    fn places_task(&self, r: &Record) -> bool {
        let first = self.first_placed(r).map(|first| &self.records[first].what);
        matches!(first, Some(What::Probe { address, .. }) if self.task_at(*address).is_some())
    }

    /// Which entity an interrupt of a CPU places that no probe has shown before, and queues no task: that of a throttled queue
    /// there, if there is only one of which none has been shown.
    fn throttled_unseen(&self, r: &Record) -> Option<SeId> {
        if !r.irq || self.cpus[r.cpu as usize].waking.is_some() || self.places_task(r) {
            return None;
        }
        let mut there = self.groups.values().filter_map(|&group| {
            let cfs_rq = *self.sched.groups[group].cfs_rq.get(r.cpu as usize)?;
            let queue = &self.sched.cfs_rqs[cfs_rq];
            let seen = self.addresses.values().any(|&se| se == queue.se);
            (queue.throttled && !seen).then_some(queue.se)
        });
        there.next().filter(|_| there.next().is_none())
    }

    /// Is an entity that is placed known to be one with nothing above it that goes back to its queue, too?
    fn is_top_placed(&self, address: u64) -> bool {
        let Some(&se) = self.addresses.get(&address) else {
            return false;
        };
        let above = self.sched.ses[se].parent;
        above.is_none() || self.sched.ses[above].on_rq
    }

    /// Do the CPU's next records show more of where a queue's entity, or one above it, is placed? Placing one charges the task
    /// that runs beside it.
    fn places_more_of(&self, cfs_rq: CfsRqId, placing: u64) -> bool {
        let mut next = self.next_on_cpu[self.at];
        while let Some(at) = next {
            match &self.records[at].what {
                What::Runtime { .. } if self.return_charges(cfs_rq) => next = self.next_on_cpu[at],
                What::Probe { point, address, .. } => {
                    let mut placed = self.upwards(self.sched.cfs_rqs[cfs_rq].se);
                    let stops =
                        |se: &SeId| self.sched.cfs_rqs[self.sched.ses[*se].cfs_rq].throttled;
                    if let Some(last) = placed.iter().position(stops) {
                        placed.truncate(last + 1);
                    }
                    let known = self.addresses.get(address);
                    let above = || {
                        !self.is_top_placed(placing) && known.is_none_or(|se| placed.contains(se))
                    };
                    return *point == ProbePoint::PlaceEntity && (*address == placing || above());
                }
                _ => return false,
            }
        }
        false
    }

    /// The kernel runs a task: no queue above it is throttled.
    pub(super) fn unthrottle_above(&mut self, r: &Record, task: TaskId, clock: u64) {
        for cfs_rq in self.queues_above(task) {
            if self.sched.cfs_rqs[cfs_rq].throttled {
                self.unthrottle(r, cfs_rq, clock);
            }
        }
    }

    /// A throttled queue is back, and so are those that the same interrupt put back before it. Once a CPU runs a task for
    /// that, the interrupt is done with all, but for those where a charge will tell.
    fn unthrottle(&mut self, r: &Record, cfs_rq: CfsRqId, clock: u64) {
        let group = self.sched.cfs_rqs[cfs_rq].tg;
        let granted = self.sched.cfs_rqs[cfs_rq].throttled_csd;
        if granted && self.facts.returns_in_order() && self.limits.returning.contains(&group) {
            let runs = matches!(r.what, What::Switch { .. });
            let mut is_before = true;
            for queue in self.sched.groups[group].bandwidth.throttled_cfs_rq.clone() {
                is_before &= queue != cfs_rq;
                let is_back = is_before || runs && queue != cfs_rq && !self.return_charges(queue);
                if is_back && self.sched.cfs_rqs[queue].throttled_csd {
                    let cpu = self.sched.cfs_rqs[queue].cpu;
                    self.put_back(r, queue, self.clock_at(cpu, r.ts));
                }
            }
        }
        self.put_back(r, cfs_rq, clock);
    }

    fn put_back(&mut self, r: &Record, cfs_rq: CfsRqId, clock: u64) {
        if self.sched.cfs_rqs[cfs_rq].runtime_remaining <= 0 {
            self.run_late_period_timer(r, self.sched.cfs_rqs[cfs_rq].tg);
        }
        if self.sched.cfs_rqs[cfs_rq].runtime_remaining <= 0 {
            self.judge.mended("queues with runtime that were throttled");
            self.sched.follow_grant(cfs_rq);
        }
        let queue = &self.sched.cfs_rqs[cfs_rq];
        let (cpu, se) = (queue.cpu, queue.se);
        let clock = self.placing_clock(cpu, se, clock, (0, r.ts), |sched, clock| {
            sched.follow_unthrottle(cfs_rq, clock);
        });
        self.sched.follow_unthrottle(cfs_rq, clock);
        self.sched.guess_clock(None);
        self.take_effects(r.cpu);
    }

    /// Does putting a throttled queue back charge the running task? That is so if the task is queued
    /// where an entity is put back.
    fn return_charges(&self, cfs_rq: CfsRqId) -> bool {
        let mut se = self.sched.cfs_rqs[cfs_rq].se;
        while se.is_some() && !self.sched.ses[se].on_rq {
            let queue = &self.sched.cfs_rqs[self.sched.ses[se].cfs_rq];
            if queue.curr.is_some() && self.sched.ses[queue.curr].is_task() {
                return true;
            }
            if queue.throttled {
                return false;
            }
            se = self.sched.ses[se].parent;
        }
        false
    }
}
