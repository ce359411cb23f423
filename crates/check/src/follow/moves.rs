//! The moves that a pass recorded, from its first record to its last, and how ours makes them.
//!
//! Model.  A pass writes a charge of the source queue's running task, a record for each move, and a charge of the
//!         destination's. They are gathered until a record of another kind ends the call that they belong to. What a stopper
//!         moves, or a change of affinity or of a cpuset, is off one queue with the record, and on the other one with what shows
//!         it there: `place_entity`, or a charge; else at once, but not before another stopper that holds that queue's lock has
//!         given it up, nor before a pick that would have been of it. Such a change tells a CPU that the task, which waits, may no
//!         longer use.
//! Deviations. Where RT tasks are pushed and pulled is followed and not asked.
//! Source. kernel/sched/fair.c `detach_tasks`, `attach_tasks`; kernel/sched/core.c `set_task_cpu`, `move_queued_task` @
//!         6.1, 6.12.

use super::Follower;
use super::cpu::Move;
use super::requeues::ENQUEUE_RESTORE;
use super::tasks::stopper_cpu;
use crate::judge::Measure;
use crate::record::{Record, What};
use fairwind_sched::balance::FollowedMove;
use fairwind_sched::domain::SdId;
use fairwind_sched::probe::{ProbePoint, ReadClock};
use fairwind_sched::task::{Class, OnRq};
use fairwind_sched::{CpuId, Sched, TaskId};

/// A task that a stopper had in flight, and that nothing has shown on its queue yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    moved: Move,
    /// Its virtual runtime while it was in flight.
    vruntime: u64,
    /// The stopper's next record.
    until: usize,
}

impl Follower<'_> {
    /// A task went to another CPU: as part of a wakeup, or because a pass moved it.
    pub(super) fn migrate(&mut self, r: &Record, pid: i32, orig: u32, dest: u32) {
        if self.is_waking(r.cpu, pid) {
            self.place_delayed(r, pid);
            // Who leaves its CPU is no longer queued there (DELAY_DEQUEUE).
            if let Some(task) = self.known(pid) {
                self.take_sleeper_off(task);
            }
            self.place(r, r.ts, pid);
            self.leave(pid, dest);
            return;
        }
        if orig as usize >= self.cpus.len() || dest as usize >= self.cpus.len() {
            return;
        }
        if self.cpu(r.cpu).waking.is_none() && r.softirq {
            self.drop_clock(r);
        }
        let task = self.task(pid, "", orig, r.ts);
        if self.sched.tasks[task].cpu.0 == dest {
            return;
        }
        if self.sched.tasks[task].class == Class::Rt {
            self.follow_rt_move(r, task, CpuId(dest));
            return;
        }
        let moved = Move { task, orig, dest };
        let curr = self.sched.rqs[CpuId(r.cpu)].curr;
        if !r.irq && self.sched.tasks[curr].class == Class::Stop {
            self.push(r, moved);
            return;
        }
        if !r.irq && !self.may_be_newly_idle(r.cpu, dest) {
            self.follow_affinity_move(r, moved);
            return;
        }
        self.begin_pass(r);
        let context = self.cpu(r.cpu);
        if r.irq {
            context.irq_moves.push(moved)
        } else {
            context.moves.push(moved)
        }
    }

    /// Can a move outside interrupts be one by a CPU that has run out of tasks? That one takes tasks for itself, once its
    /// running task has been charged; what throttling charges is not told apart from that.
    fn may_be_newly_idle(&self, cpu: u32, dest: u32) -> bool {
        let curr = self.sched.rqs[CpuId(cpu)].curr;
        let context = &self.cpus[cpu as usize];
        let charged =
            context.pending_clock.is_some() || !context.moves.is_empty() || self.limits.are_set();
        dest == cpu && (charged || !self.sched.is_fair(curr))
    }

    /// A waiting task was taken off a CPU that it may no longer use.
    fn follow_affinity_move(&mut self, r: &Record, moved: Move) {
        self.judge.not_asked(Measure::Balance);
        self.end_push(r.cpu, r.ts);
        self.take_off(r, moved);
        self.cpu(r.cpu).before_pass = None;
        self.forbid(moved.task, CpuId(moved.orig));
        self.take_effects(r.cpu);
    }

    /// A stopper takes a task off its CPU.
    fn push(&mut self, r: &Record, moved: Move) {
        self.end_push(r.cpu, r.ts);
        self.pushed(r, moved);
        if self.sched.tasks[moved.task].class != Class::Stop {
            self.take_off(r, moved);
        }
    }

    /// A task is off its queue, and on its way to another one.
    fn take_off(&mut self, r: &Record, moved: Move) {
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
        self.cpu(r.cpu).landed = None;
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
            let least = self.least_after_landing.get_or_insert(took);
            *least = took.min(*least);
        }
        let locked_ahead = self.locked_ahead(r.cpu, moved.dest);
        let is_away = self.would_charge(moved);
        let until = self.next_on_cpu[self.at];
        let unnoticed = until.and_then(|at| self.comes_unnoticed(r.cpu, moved, at, is_away));
        let later = locked_ahead.max(unnoticed);
        match later.filter(|_| !placed && !charged) {
            Some(later) => _ = self.lands_after.insert((later, r.cpu)),
            None => {
                let vruntime = self.sched.ses[self.sched.tasks[moved.task].se].vruntime;
                self.end_push(r.cpu, r.ts);
                let until = self.next_on_cpu[self.at].filter(|_| !placed && !charged);
                self.cpu(r.cpu).landed = until.map(|until| Landed {
                    moved,
                    vruntime,
                    until,
                });
            }
        }
    }

    /// Before a pick of a CPU: had a task been there that is taken to have landed, and that ours picks, the kernel would have
    /// picked it. It is still in flight.
    pub(super) fn doubt_landings(&mut self, cpu: CpuId, next: TaskId, clock: u64) {
        for by in 0..self.cpus.len() {
            let landed = self.cpus[by].landed.filter(|landed| {
                let task = &self.sched.tasks[landed.moved.task];
                landed.moved.dest == cpu.0 && task.cpu == cpu && task.is_queued() && !task.on_cpu
            });
            let Some(Landed {
                moved,
                vruntime,
                until,
            }) = landed
            else {
                continue;
            };
            if moved.task != next {
                let mut copy = self.copy();
                if copy.follow_switch(cpu, clock, next).0.next != moved.task {
                    continue;
                }
                self.sched.follow_recall(moved.task, vruntime);
                let later = self.comes_unnoticed(by as u32, moved, until, true);
                let later = later.unwrap_or(until - 1);
                self.lands_after.insert((later, by as u32));
                self.cpus[by].in_flight = Some(moved);
            }
            self.cpus[by].landed = None;
        }
    }

    /// After `place_entity`, does the call go on to place a group? One that takes a task off its queue and puts it back is
    /// another call.
    fn places_on(&self, mut at: usize) -> bool {
        while let Some(next) = self.next_on_cpu[at] {
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
            .zip(self.least_after_landing)
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
        self.sched.is_fair(curr) && queue(curr) == queue(moved.task)
    }

    /// After a record: what stoppers have in flight until then goes to its queue.
    pub(super) fn land(&mut self, r: &Record) {
        while let Some(&(after, cpu)) = self.lands_after.first()
            && after <= self.at
        {
            self.end_push(cpu, r.ts);
        }
    }

    /// What a CPU has in flight is put on its queue.
    pub(super) fn end_push(&mut self, cpu: u32, ts: u64) {
        self.lands_after.retain(|&(_, of)| of != cpu);
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

    /// A stopper moved the task for which somebody woke it: that may no longer use its CPU.
    pub(super) fn follow_affinity_push(&mut self, r: &Record, moved: Move) {
        if self.cpu(r.cpu).stopper_woken_for.take() == Some(moved.task) {
            self.take_for_bound(moved.task, CpuId(moved.dest));
        }
    }

    /// The task that was charged in the call that wakes a stopper. Whoever changes the CPUs that a running task may use takes
    /// it off its queue and puts it back before that; a pass, a program's start and a way to its memory do not. What a tick
    /// charges, or a `schedule()` that goes on with the task, is of another call.
    fn charged_before_waking(&self, r: &Record) -> Option<TaskId> {
        let before = self.times.records_until(r.cpu, self.at).iter().rev();
        let mut before = before.map(|&at| &self.records[at]);
        let last = before.find(|r| !matches!(r.what, What::Probe { .. }))?;
        match last.what {
            What::Runtime { pid, .. } if !last.irq && !last.need_resched => self.known(pid),
            _ => None,
        }
    }

    /// An RT task was pushed to another CPU, or pulled.
    fn follow_rt_move(&mut self, r: &Record, task: TaskId, dest: CpuId) {
        self.judge.not_asked(Measure::Balance);
        let (here, orig) = (CpuId(r.cpu), self.sched.tasks[task].cpu);
        let stops = self.sched.tasks[self.sched.rqs[here].curr].class == Class::Stop;
        if orig == here && !stops {
            // Who pushes it has chosen where to.
            self.sched.set_rt_choice(here, dest);
        }
        let src_now = self.clock_at(orig, r.ts);
        let dest_now = self.clock_at(dest, r.ts);
        if self.sched.follow_detach(task, dest, src_now) {
            self.sched.follow_attach(task, dest_now);
        }
        self.take_effects(r.cpu);
    }

    /// A record of a pass that may move something: what was before it is kept.
    pub(super) fn begin_pass(&mut self, r: &Record) {
        let cpu = r.cpu;
        if self.cpu(cpu).before_pass.is_none() {
            self.balance_below(r);
            let mut before = self.sched.clone();
            before.effects.clear();
            self.cpu(cpu).before_pass = Some(Box::new(before));
            self.cpu(cpu).pass_ts = r.ts;
        }
    }

    /// A softirq wakes a stopper: balancing will have it push its CPU's running task. What a task wakes it for shows in
    /// the move.
    pub(super) fn wakes_stopper(&mut self, r: &Record, task: TaskId) {
        if !r.irq && self.sched.tasks[task].class == Class::Stop {
            let stopper = self.sched.tasks[task].cpu;
            self.cpu(stopper.0).stopper_woken_for = self.charged_before_waking(r);
        }
        if r.softirq && self.sched.tasks[task].class == Class::Stop {
            self.begin_pass(r);
            let busiest = self.sched.tasks[task].cpu;
            let dest = self.pushed_to(busiest).unwrap_or(CpuId(r.cpu));
            self.cpu(r.cpu).pushes.push((busiest, dest));
        }
    }

    /// Where a stopper that has been woken moves a task.
    fn pushed_to(&self, busiest: CpuId) -> Option<CpuId> {
        let own = self.times.records_of(busiest.0, self.at + 1);
        let own = own.iter().map(|&at| &self.records[at]);
        let mut stops = false;
        for r in own {
            match &r.what {
                What::Switch { next, .. } if stops || next.pid == 0 => return None,
                What::Switch { next, .. } => stops = stopper_cpu(&next.comm).is_some(),
                What::Migrate { dest, .. } if stops => return Some(CpuId(*dest)),
                _ => {}
            }
        }
        None
    }

    /// Does the kernel move something, or have it pushed, in the softirq that this CPU is about to run?
    pub(super) fn moves_ahead(&self, cpu: u32) -> bool {
        let mut waking = None;
        for &at in self.times.records_of(cpu, self.at + 1) {
            let r = &self.records[at];
            match &r.what {
                What::Timer if r.interrupts_softirq => {}
                What::Timer | What::Switch { .. } => return false,
                What::Waking { comm, .. } if r.softirq && stopper_cpu(comm).is_some() => {
                    return true;
                }
                What::Waking { pid, .. } => waking = Some(*pid),
                What::Migrate { pid, .. } if r.softirq && waking != Some(*pid) => return true,
                _ => {}
            }
        }
        false
    }

    /// What a CPU's softirq moves next, or has pushed.
    pub(super) fn moved_next(&self, cpu: u32) -> Option<(CpuId, CpuId)> {
        let mut waking = None;
        for &at in self.times.records_of(cpu, self.at) {
            let r = &self.records[at];
            match &r.what {
                What::Timer if r.interrupts_softirq => {}
                What::Timer | What::Switch { .. } => return None,
                What::Waking { pid, comm, .. } => {
                    waking = Some(*pid);
                    if r.softirq
                        && let Some(busiest) = stopper_cpu(comm)
                        && busiest.idx() < self.cpus.len()
                    {
                        return Some((busiest, self.pushed_to(busiest)?));
                    }
                }
                What::Migrate { pid, orig, dest } if r.softirq && waking != Some(*pid) => {
                    return Some((CpuId(*orig), CpuId(*dest)));
                }
                _ => {}
            }
        }
        None
    }

    /// After moves that ours did not make: the kernel's pass succeeded in the first domain that spans both CPUs.
    pub(super) fn note_balanced(&mut self, kernel: &[Move]) {
        let jiffies = self.sched.jiffies;
        for moved in kernel {
            let dest = CpuId(moved.dest);
            let sds: Vec<SdId> = self.sched.domains.for_each_domain(dest).collect();
            for sd in sds {
                let span = self.sched.domains.sched_domain_span(sd);
                if !span.test(CpuId(moved.orig)) {
                    continue;
                }
                let sd = &mut self.sched.domains.sd[sd];
                sd.last_balance = jiffies;
                sd.balance_interval = sd.min_interval as u32;
                sd.nr_balance_failed = 0;
                break;
            }
        }
    }

    /// The clock of a queue that this CPU locked to move a task. A queue whose running task was not
    /// charged had its clock updated already; one that runs no fair task is never charged.
    fn lock_clock(&mut self, cpu: u32, queue: CpuId, task: TaskId, ts: u64) -> u64 {
        if let Some(&told) = self.cpu(cpu).clocks.get(&queue.0) {
            return told;
        }
        self.sched.guess_clock(Some(queue));
        let rq = &self.sched.rqs[queue];
        if self.sched.is_fair(rq.curr) {
            self.uncharged_clock(queue, task, ts)
        } else {
            self.clock_at(queue, ts)
        }
    }

    /// The same of a pass, which read it, as far as that is known.
    fn read_clock(
        &mut self,
        cpu: u32,
        queue: CpuId,
        task: TaskId,
        ts: u64,
        read: Option<&ReadClock>,
    ) -> u64 {
        match read {
            Some(read) if !read.guessed => read.now,
            _ => self.lock_clock(cpu, queue, task, read.map_or(ts, |read| read.now)),
        }
    }

    /// Moves what the kernel moved: what went from one CPU to another together.
    pub(super) fn follow_moves(&mut self, cpu: u32, ts: u64, kernel: &[Move]) {
        for pass in kernel.chunk_by(|a, b| (a.orig, a.dest) == (b.orig, b.dest)) {
            let followed = self.followed(cpu, ts, pass);
            for _ in 0..self.sched.follow_pass(&followed) {
                self.judge.mended("moved tasks that were not waiting");
            }
            self.sched.guess_clock(None);
        }
        self.settle_clocks(cpu);
    }

    /// Moves with the clocks of both queues.
    pub(super) fn followed(&mut self, cpu: u32, ts: u64, kernel: &[Move]) -> Vec<FollowedMove> {
        let mut followed = Vec::new();
        let read = self.read_by_pass(cpu, kernel);
        let read_of = |cpu: CpuId| read.iter().find(|read| read.cpu == cpu);
        for moved in kernel {
            let (orig, dest) = (CpuId(moved.orig), CpuId(moved.dest));
            if self.sched.tasks[moved.task].class != Class::Stop {
                followed.push(FollowedMove {
                    task: moved.task,
                    dest,
                    src_now: self.read_clock(cpu, orig, moved.task, ts, read_of(orig)),
                    dest_now: self.read_clock(cpu, dest, moved.task, ts, read_of(dest)),
                });
            }
        }
        followed
    }
}
