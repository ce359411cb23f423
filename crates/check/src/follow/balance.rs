//! Balancing: which tasks a pass moves, from where to where.
//!
//! Model.   Ours is asked on a copy of the scheduler, and the copy is kept where it agrees. A copy is
//!          made only where a pass could move something: some queue has two tasks, or the kernel moved
//!          one. A move that one side alone makes is a disagreement.
//! Deviations. When domains were last balanced before the recording is not told, nor the random numbers
//!          of NI_RANDOM: where ours is asked for a newly idle CPU, every domain is tried.

use super::Follower;
use super::classify::NOT_ALLOWED;
use super::cpu::Move;
use crate::baselines::Baselines;
use crate::judge::{Class, Measure};
use crate::record::Record;
use fairwind_sched::domain::SdId;
use fairwind_sched::features::Feature;
use fairwind_sched::task::Class as TaskClass;
use fairwind_sched::{CpuId, Effect, Sched, TaskId};

const NOT_LAST_BALANCE: Class = Class::NotRecorded("when its domains were last balanced");
const NOT_DRAWN: Class = Class::NotRecorded("random numbers of NI_RANDOM");

impl Follower<'_> {
    /// A task went to another CPU: as part of a wakeup, or because a pass moved it.
    pub(super) fn migrate(&mut self, r: &Record, pid: i32, orig: u32, dest: u32) {
        if self.is_waking(r.cpu, pid) {
            self.place(r, pid);
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
        let context = self.cpu(r.cpu);
        if r.irq {
            context.irq_moves.push(moved)
        } else {
            context.moves.push(moved)
        }
    }

    /// The softirq after a tick is over: it may have balanced.
    pub(super) fn end_softirq(&mut self, r: &Record) {
        let kernel = std::mem::take(&mut self.cpu(r.cpu).irq_moves);
        let Some(clock) = self.cpu(r.cpu).balance_clock.take() else {
            if !kernel.is_empty() {
                self.follow_moves(r.cpu, r.ts, &kernel);
            }
            return;
        };
        let cpu = CpuId(r.cpu);
        if kernel.is_empty() && !self.could_move() {
            self.sched.sched_balance_softirq(cpu, clock);
            self.forget_active_balance();
            return;
        }
        let mut copy = self.copy();
        copy.sched_balance_softirq(cpu, clock);
        let ours = moves(&copy);
        self.judge_moves(r, "softirq", &kernel, &ours);
        if ours == kernel {
            self.sched = copy;
        } else {
            self.note_balanced(cpu, clock, &kernel);
            self.follow_moves(r.cpu, r.ts, &kernel);
        }
        self.forget_active_balance();
        self.take_effects(r.cpu);
    }

    /// Asks what `schedule()` of a CPU without tasks does; true if it does what the kernel did, and
    /// is done.
    pub(super) fn newly_idle(
        &mut self,
        r: &Record,
        clock: u64,
        kernel: &[Move],
        next: TaskId,
    ) -> bool {
        let cpu = CpuId(r.cpu);
        if kernel.is_empty() && !self.could_move() {
            return false;
        }
        let mut copy = self.copy();
        copy.profile.features.set(Feature::NI_RANDOM, false);
        let switch = copy.schedule(cpu, clock, false);
        let ours = moves(&copy);
        self.judge_moves(r, "newidle", kernel, &ours);
        if ours != kernel || switch.next != next {
            return false;
        }
        let drawn = self.sched.profile.features.has(Feature::NI_RANDOM);
        copy.profile.features.set(Feature::NI_RANDOM, drawn);
        self.sched = copy;
        true
    }

    pub(super) fn copy(&self) -> Sched {
        let mut copy = self.sched.clone();
        copy.effects.clear();
        copy
    }

    /// Could a pass move anything at all?
    fn could_move(&self) -> bool {
        self.sched.rqs.iter().any(|rq| rq.nr_running >= 2)
    }

    /// A stopper that ours asked for is none that the kernel started.
    fn forget_active_balance(&mut self) {
        for cpu in self.sched.rqs.ids() {
            self.sched.rqs[cpu].active_balance = Default::default();
        }
    }

    fn judge_moves(&mut self, r: &Record, kind: &'static str, kernel: &[Move], ours: &[Move]) {
        let only_ours = ours.iter().filter(|moved| !kernel.contains(moved));
        for moved in kernel.iter().chain(only_ours) {
            let agree = kernel.contains(moved) && ours.contains(moved);
            let baselines = self.move_baselines(moved, kernel);
            let class = self.move_class(r, kind, moved, kernel);
            let text = format!(
                "kernel [{}], ours [{}]; running {:?}",
                self.show(kernel),
                self.show(ours),
                self.sched
                    .rqs
                    .iter()
                    .map(|rq| rq.nr_running)
                    .collect::<Vec<_>>(),
            );
            let decision = Self::decision(r, Measure::Balance, kind);
            self.judge
                .judge(decision, agree, baselines, || (class, text));
        }
    }

    fn move_class(&self, r: &Record, kind: &'static str, moved: &Move, kernel: &[Move]) -> Class {
        let pid = self.pid(moved.task);
        if !kernel.contains(moved) && pid.is_some_and(|pid| self.never_on(pid, moved.dest)) {
            return NOT_ALLOWED;
        }
        if !kernel.contains(moved)
            && kind == "newidle"
            && self.sched.profile.features.has(Feature::NI_RANDOM)
        {
            return NOT_DRAWN;
        }
        let since = self.records[..self.at]
            .iter()
            .rposition(|other| other.cpu == r.cpu);
        if self.others_changed(r.cpu, since.unwrap_or(0), None) {
            return Class::Race;
        }
        if kind == "softirq" && !self.cpus[r.cpu as usize].balance_known {
            return NOT_LAST_BALANCE;
        }
        Class::Ours
    }

    fn move_baselines(&self, moved: &Move, kernel: &[Move]) -> Baselines {
        let waiting: Vec<TaskId> = self
            .sched
            .rqs
            .ids()
            .filter(|cpu| cpu.0 != moved.dest)
            .flat_map(|cpu| {
                let curr = self.sched.rqs[cpu].curr;
                self.candidates(cpu)
                    .into_iter()
                    .filter(move |task| *task != curr)
            })
            .filter(|task| self.sched.cpu_allowed(*task, CpuId(moved.dest)))
            .collect();
        let by_kernel = kernel.contains(moved);
        let oldest = waiting
            .iter()
            .min_by_key(|task| self.sched.tasks[**task].last_queued);
        let vruntime = |task: &TaskId| self.sched.ses[self.sched.tasks[*task].se].vruntime;
        let least = waiting.iter().min_by_key(|task| vruntime(task));
        Baselines {
            // Moving nothing is a choice too.
            candidates: waiting.len() as u64 + 1,
            fifo: Some(by_kernel && oldest == Some(&moved.task)),
            least_vruntime: Some(by_kernel && least == Some(&moved.task)),
        }
    }

    fn show(&self, moves: &[Move]) -> String {
        let show = |moved: &Move| {
            format!(
                "{} cpu{}→cpu{}",
                self.name(moved.task),
                moved.orig,
                moved.dest
            )
        };
        moves.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    /// After moves that ours did not make: the kernel's pass succeeded in the first domain that spans
    /// both CPUs.
    fn note_balanced(&mut self, cpu: CpuId, clock: u64, kernel: &[Move]) {
        let jiffies = self.sched.jiffies_base + clock / self.sched.tick_nsec();
        let sds: Vec<SdId> = self.sched.domains.for_each_domain(cpu).collect();
        for moved in kernel {
            for &sd in &sds {
                let spans = self
                    .sched
                    .domains
                    .sched_domain_span(sd)
                    .test(CpuId(moved.orig));
                let sd = &mut self.sched.domains.sd[sd];
                sd.last_balance = jiffies;
                if spans {
                    sd.balance_interval = sd.min_interval as u32;
                    sd.nr_balance_failed = 0;
                    break;
                }
            }
        }
        if !kernel.is_empty() {
            self.cpu(cpu.0).balance_known = true;
        }
    }

    /// The clock of a queue that this CPU locked to move a task. A queue whose running task was not
    /// charged had its clock updated already; one that runs no fair task is never charged.
    fn lock_clock(&mut self, cpu: u32, queue: CpuId, ts: u64) -> u64 {
        if let Some(told) = self.cpu(cpu).clocks.remove(&queue.0) {
            return told;
        }
        let rq = &self.sched.rqs[queue];
        if self.sched.is_fair(rq.curr) {
            rq.clock
        } else {
            self.clock_at(queue, ts)
        }
    }

    /// Moves what the kernel moved.
    pub(super) fn follow_moves(&mut self, cpu: u32, ts: u64, kernel: &[Move]) {
        for moved in kernel {
            let (orig, dest) = (CpuId(moved.orig), CpuId(moved.dest));
            if self.sched.tasks[moved.task].class == TaskClass::Stop {
                continue;
            }
            let src_now = self.lock_clock(cpu, orig, ts);
            let dest_now = self.lock_clock(cpu, dest, ts);
            if !self
                .sched
                .follow_migration(moved.task, dest, src_now, dest_now)
            {
                self.judge.mended("moved tasks that were not waiting");
            }
        }
    }
}

fn moves(sched: &Sched) -> Vec<Move> {
    let moved = |effect: &Effect| match effect {
        Effect::Migrate { task, orig, dest } => Some(Move {
            task: *task,
            orig: orig.0,
            dest: dest.0,
        }),
        _ => None,
    };
    sched.effects.iter().filter_map(moved).collect()
}
