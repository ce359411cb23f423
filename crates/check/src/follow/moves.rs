//! The moves that a pass recorded, from its first record to its last, and how ours makes them.
//!
//! Model.  A pass writes a charge of the source queue's running task, a record for each move, and a charge of the
//!         destination's. They are gathered until a record of another kind ends the call that they belong to. What a stopper
//!         moves, or a change of affinity or of a cpuset, is in flight from there on (see `in_flight`). Such a change tells a CPU
//!         that the task, which waits, may no longer use.
//! Deviations. Where RT tasks are pushed and pulled is followed and not asked.
//! Source. kernel/sched/fair.c `detach_tasks`, `attach_tasks`; kernel/sched/core.c `set_task_cpu` @ 6.1, 6.12.

use super::Follower;
use super::cpu::Move;
use super::tasks::stopper_cpu;
use crate::judge::Measure;
use crate::record::{Record, What};
use fairwind_sched::balance::FollowedMove;
use fairwind_sched::domain::SdId;
use fairwind_sched::probe::ReadClock;
use fairwind_sched::task::Class;
use fairwind_sched::{CpuId, TaskId};

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
        let moved = Move { task, orig, dest };
        let curr = self.sched.rqs[CpuId(r.cpu)].curr;
        if !r.irq && self.sched.tasks[curr].class == Class::Stop {
            self.push(r, moved);
            return;
        }
        if self.sched.tasks[task].class == Class::Rt {
            self.follow_rt_move(r, task, CpuId(dest));
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
        if orig == here {
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
    pub(super) fn lock_clock(&mut self, cpu: u32, queue: CpuId, task: TaskId, ts: u64) -> u64 {
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
