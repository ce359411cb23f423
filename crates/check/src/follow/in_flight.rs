//! Tasks that a stopper, or a change of the CPUs that they may use, has taken off a queue and is still to put on another one.
//!
//! Model.  A task is off its queue with the record of its move, and on the other one with what shows it there: `place_entity`, or
//!         a charge. Without that it comes at once, but not before another stopper that holds that queue's lock has given it
//!         up, nor before a pick that would have been of it: of a real-time task, any of a fair one. Nor while somebody runs
//!         there whom it would have charged: between taking it off and putting it on, the stopper's vCPU may not run for long.
//! Source. kernel/sched/core.c `move_queued_task`, `migration_cpu_stop`; kernel/sched/fair.c `enqueue_entity` @ 6.1, 6.12.

use super::Follower;
use super::cpu::Move;
use super::requeues::ENQUEUE_RESTORE;
use super::tasks::stopper_cpu;
use crate::record::{Party, Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::task::{Class, MAX_RT_PRIO, OnRq};
use fairwind_sched::{CpuId, Sched, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of when tasks come.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// After which record what a CPU has in flight is on its queue, if the CPU itself does not show it before.
    lands_after: BTreeSet<(usize, u32)>,
    /// What is taken to have landed since a CPU's last record.
    landed: BTreeMap<u32, Landed>,
    /// How long after a task was on its queue its stopper's switch came at least.
    least_after_landing: Option<u64>,
}

/// A task that a stopper had in flight, and that nothing has shown on its queue yet.
#[derive(Clone, Copy, Debug)]
struct Landed {
    moved: Move,
    /// Its virtual runtime while it was in flight.
    vruntime: u64,
    /// The stopper's next record.
    until: usize,
}

impl Follower<'_> {
    /// A task is off its queue, and on its way to another one.
    pub(super) fn take_off(&mut self, r: &Record, moved: Move) {
        let (orig, dest) = (CpuId(moved.orig), CpuId(moved.dest));
        let now = self.lock_clock(r.cpu, orig, moved.task, r.ts);
        if self.sched.follow_detach(moved.task, dest, now) {
            self.cpu(r.cpu).in_flight = Some(moved);
        } else {
            self.judge.mended("moved tasks that were not waiting");
        }
        self.sched.guess_clock(None);
    }

    /// After a record of a CPU whose stopper has a task in flight: is it on its queue now?
    pub(super) fn put_in_flight(&mut self, r: &Record, over: bool) {
        self.in_flight.landed.remove(&r.cpu);
        let Some(moved) = self.cpus[r.cpu as usize].in_flight else {
            return;
        };
        let placed = r.what.probed() == Some(ProbePoint::PlaceEntity) && !self.places_on(self.at);
        let charged = match r.what {
            What::Runtime { pid, .. } => self.known(pid).is_some_and(|task| {
                self.sched.tasks[task].cpu.0 == moved.dest && !self.limits.placements
            }),
            _ => false,
        };
        if !(over || placed || charged) {
            return;
        }
        if charged && let Some(took) = self.until_switch(self.at, r.ts) {
            let least = self.in_flight.least_after_landing.get_or_insert(took);
            *least = took.min(*least);
        }
        let locked_ahead = self.locked_ahead(r.cpu, moved.dest);
        let is_away = self.would_charge(moved);
        let until = self.next_on_cpu[self.at];
        let unnoticed = until.and_then(|at| self.comes_unnoticed(r.cpu, moved, at, is_away));
        let later = locked_ahead.max(unnoticed);
        match later.filter(|_| !placed && !charged) {
            Some(later) => _ = self.in_flight.lands_after.insert((later, r.cpu)),
            None => {
                let vruntime = self.sched.ses[self.sched.tasks[moved.task].se].vruntime;
                self.end_push(r.cpu, r.ts);
                if let Some(until) = until.filter(|_| !placed && !charged) {
                    let landed = Landed {
                        moved,
                        vruntime,
                        until,
                    };
                    self.in_flight.landed.insert(r.cpu, landed);
                }
            }
        }
    }

    /// Before a pick of a CPU: had a task been there that is taken to have landed, and that ours picks, the kernel would have
    /// picked it. It is still in flight.
    pub(super) fn doubt_landings(&mut self, cpu: CpuId, next: TaskId, clock: u64) {
        for (by, landed) in self.landed_on(cpu) {
            let task = landed.moved.task;
            if task == next {
                self.in_flight.landed.remove(&by);
            } else if self.copy().follow_switch(cpu, clock, next).0.next == task {
                self.recall(by, landed);
            }
        }
    }

    /// Before a CPU goes on with another task: so it is with real-time tasks, if that is a fair one, or none.
    pub(super) fn doubt_rt_landings(&mut self, cpu: CpuId, next: &Party) {
        if next.prio < MAX_RT_PRIO || stopper_cpu(&next.comm).is_some() {
            return;
        }
        for (by, landed) in self.landed_on(cpu) {
            if self.sched.tasks[landed.moved.task].class == Class::Rt {
                self.recall(by, landed);
            }
        }
    }

    /// What is taken to have landed on a CPU and waits there, and by whose stopper.
    fn landed_on(&self, cpu: CpuId) -> Vec<(u32, Landed)> {
        let landed = self.in_flight.landed.iter();
        let here = landed.filter(|(_, landed)| {
            let task = &self.sched.tasks[landed.moved.task];
            landed.moved.dest == cpu.0 && task.cpu == cpu && task.is_queued() && !task.on_cpu
        });
        here.map(|(by, landed)| (*by, *landed)).collect()
    }

    fn recall(&mut self, by: u32, landed: Landed) {
        let moved = landed.moved;
        self.in_flight.landed.remove(&by);
        self.sched.follow_recall(moved.task, landed.vruntime);
        let later = self.comes_unnoticed(by, moved, landed.until, true);
        let later = later.unwrap_or(landed.until - 1);
        self.in_flight.lands_after.insert((later, by));
        self.cpu(by).in_flight = Some(moved);
    }

    /// After `place_entity`, does the call go on to place a group? One that takes a task off its queue and puts it back is
    /// another call.
    fn places_on(&self, mut at: usize) -> bool {
        let context = self.records[at].context();
        while let Some(next) = self.next_on_cpu[at]
            && self.records[next].context() == context
        {
            at = next;
            match self.records[at].what {
                What::Probe {
                    point: ProbePoint::PlaceEntity,
                    flags: Some(flags),
                    ..
                } => return flags & ENQUEUE_RESTORE == 0,
                What::Probe {
                    point: ProbePoint::PlaceEntity,
                    ..
                } => {}
                _ => return false,
            }
        }
        false
    }

    /// How long after `since` the switch comes that is the next record of a record's CPU.
    fn until_switch(&self, at: usize, since: u64) -> Option<u64> {
        let next = &self.records[self.next_on_cpu[at]?];
        matches!(next.what, What::Switch { .. }).then(|| next.ts.saturating_sub(since))
    }

    /// The record of a CPU whose stopper takes a task off its queue while another stopper is about to put one there: it was
    /// the first to lock the queue, for it held the lock as it wrote that, unless the other one has switched too soon after.
    fn locked_ahead(&self, cpu: u32, dest: u32) -> Option<usize> {
        let until = self.next_on_cpu[self.at]?;
        let next = *self.times.records_of(dest, self.at + 1).first()?;
        let takes_off =
            matches!(self.records[next].what, What::Migrate { orig, .. } if orig == dest);
        let stops = self.sched.tasks[self.sched.rqs[CpuId(dest)].curr].class == Class::Stop;
        let left = self.until_switch(self.at, self.records[next].ts);
        let too_soon = left
            .zip(self.in_flight.least_after_landing)
            .is_some_and(|(left, least)| left < least);
        (cpu != dest && next < until && takes_off && stops && !too_soon).then_some(next)
    }

    /// The last record before a task that a stopper has in flight is on its queue, if it is away now, or its new CPU goes idle
    /// before the stopper's next record, `until`: had it been there, that would have picked it. Who comes to a queue charges the
    /// fair task that runs; so unless the stopper does that next, the task comes while nobody fair runs there, the last time
    /// before it does itself.
    fn comes_unnoticed(
        &self,
        cpu: u32,
        moved: Move,
        until: usize,
        mut is_away: bool,
    ) -> Option<usize> {
        let pid = self.pid(moved.task)?;
        let (mut none_runs, mut comes) = (false, None);
        let of_dest = self.times.records_of(moved.dest, self.at).iter();
        for &at in of_dest.take_while(|&&at| at < until) {
            let What::Switch { next, .. } = &self.records[at].what else {
                continue;
            };
            if none_runs {
                comes = Some(at - 1);
            }
            is_away |= next.pid == 0;
            none_runs = is_away && (next.pid == 0 || stopper_cpu(&next.comm).is_some());
            if next.pid == pid {
                break;
            }
        }
        if !is_away || cpu == moved.dest {
            return None;
        }
        match self.records[until].what {
            What::Runtime { .. } => Some(until),
            _ if none_runs => Some(until - 1),
            _ => comes,
        }
    }

    /// Does a task that goes to its queue now have the one charged that runs there?
    fn would_charge(&self, moved: Move) -> bool {
        let Sched {
            rqs, tasks, ses, ..
        } = &self.sched;
        let curr = rqs[CpuId(moved.dest)].curr;
        let queue = |task: TaskId| ses[tasks[task].se].cfs_rq;
        self.sched.is_fair(curr)
            && self.sched.is_fair(moved.task)
            && queue(curr) == queue(moved.task)
    }

    /// After a record: what stoppers have in flight until then goes to its queue.
    pub(super) fn land(&mut self, r: &Record) {
        while let Some(&(after, cpu)) = self.in_flight.lands_after.first()
            && after <= self.at
        {
            self.end_push(cpu, r.ts);
        }
    }

    /// What a CPU has in flight is put on its queue.
    pub(super) fn end_push(&mut self, cpu: u32, ts: u64) {
        self.in_flight.lands_after.retain(|&(_, of)| of != cpu);
        let in_flight = self.cpu(cpu).in_flight.take();
        // Where records are lost, another one may have shown it elsewhere meanwhile.
        let moves = |moved: &Move| self.sched.tasks[moved.task].on_rq == OnRq::Migrating;
        let Some(moved) = in_flight.filter(moves) else {
            return;
        };
        let now = self.lock_clock(cpu, CpuId(moved.dest), moved.task, ts);
        self.told_of_enqueue(moved.task, CpuId(moved.dest));
        self.sched.follow_attach(moved.task, now);
        self.sched.guess_clock(None);
        self.settle_clocks(cpu);
        self.follow_same_unseen(CpuId(moved.dest));
    }
}
