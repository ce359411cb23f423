//! Balancing: which tasks a pass moves, from where to where.
//!
//! Model.   A pass happens in `schedule()` of a CPU that runs out of tasks, in the softirq after a tick or a kick by
//!          another CPU, or in a stopper that pushes the running task. Where the kernel moved tasks, ours is asked what
//!          the same pass would have moved. Passes that moved nothing: see `quiet_passes`. When the softirq runs: see
//!          `softirq`. What the kernel's pass moves on to another CPU of the same group may not use the one that the pass is
//!          for, which is noted for a next walk.
//! Deviations. Not asked: newly idle CPUs for which the kernel pulled nothing, since whether they looked depends on random
//!          numbers and measured costs. That a stopper is woken by balancing is seen from the softirq that wakes it.

use super::Follower;
use super::affinity::allowed_others;
use super::classify::{NOT_ALLOWED, NOT_AVERAGED};
use super::cpu::Move;
use super::imbalanced_groups::NOT_IMBALANCED;
use super::passes::{Answer, Asked, Pass, answer, are_of_one_pass, balances_for};
use crate::judge::Class;
use crate::record::{PrevState, Record, What};
use fairwind_sched::balance::{CpuIdleType, PassReport, Verdict};
use fairwind_sched::domain::SdId;
use fairwind_sched::{CpuId, CpuMask, Sched, TaskId};

const NOT_FAILED: Class = Class::NotRecorded("how often balancing had failed");
/// Beyond this many failures nothing depends on the number.
const MOST_FAILED: u32 = 8;
/// How often ours is asked again with tasks that it moved bound to where they have been.
const MOST_BOUND: usize = 4;

impl Follower<'_> {
    /// Is what a CPU moves next part of the pass in whose softirq it has just moved something?
    pub(super) fn moves_on(&self, cpu: u32, next: usize) -> bool {
        let context = &self.cpus[cpu as usize];
        let (Some(last), Some(before)) = (context.irq_moves.last(), &context.before_pass) else {
            return false;
        };
        let own = self.times.records_of(cpu, next).iter();
        let mut own = own.map(|&at| &self.records[at].what);
        let moved = own.find_map(|what| match what {
            What::Migrate { orig, dest, .. } => Some((CpuId(*orig), CpuId(*dest))),
            _ => None,
        });
        let last = (CpuId(last.orig), CpuId(last.dest));
        moved.is_some_and(|moved| are_of_one_pass(before, CpuId(cpu), last, moved))
    }

    /// The softirq in which the kernel moved something is over.
    pub(super) fn end_softirq(&mut self, r: &Record) {
        let context = self.cpu(r.cpu);
        if context.irq_moves.is_empty() && context.pushes.is_empty() {
            return;
        }
        let moves = std::mem::take(&mut context.irq_moves);
        let pushes = std::mem::take(&mut context.pushes);
        let clock = context.pass_ts;
        let mut before = self.before_pass(r.cpu);
        let cpu = CpuId(r.cpu);
        let moved = moves.iter().map(|moved| {
            let (orig, dest) = (CpuId(moved.orig), CpuId(moved.dest));
            (orig, balances_for(&before, cpu, orig, dest))
        });
        let passes = self.passes_of(moved.chain(pushes.iter().copied()));
        let pass = Pass::Softirq { cpu, clock, passes };
        let looks = self.cpu(r.cpu).looks.take();
        let found = looks.as_ref().and_then(|looks| looks.found(&pass));
        if let Some((ts, _)) = found {
            look(&mut before, &pass, ts);
            self.sched.adopt_capacities(&before);
        }
        let asked = Asked {
            kind: "softirq",
            read: self.read_by_pass(r.cpu, &moves),
            found: found.map(|(_, found)| found),
            looks,
            pass,
            before,
            clocks: self.told_clocks(r.cpu),
            pushes: pushes.iter().map(|(busiest, _)| busiest.0).collect(),
            moves,
        };
        let before = self.last_balances();
        if let Some(sched) = self.decide(r, &asked) {
            self.cpu(r.cpu).clocks.clear();
            self.keep(r.cpu, sched);
        } else {
            if asked.found.is_none() {
                look(&mut self.sched, &asked.pass, clock);
            }
            for moved in &asked.moves {
                self.sched.follow_tried(moved.task, CpuId(moved.dest));
            }
            self.follow_moves(r.cpu, clock, &asked.moves);
            self.note_balanced(&asked.moves);
            for moved in &asked.moves {
                self.sched.follow_next_balance(CpuId(moved.dest));
            }
            self.forget_active_balance();
        }
        self.note_just_balanced(CpuId(r.cpu), &before);
        self.balance_above(r);
        self.balance_others(r);
    }

    fn before_pass(&mut self, cpu: u32) -> Sched {
        let before = self.cpu(cpu).before_pass.take();
        before.map_or_else(|| self.sched.clone(), |before| *before)
    }

    fn told_clocks(&self, cpu: u32) -> Vec<(u32, u64)> {
        let clocks = &self.cpus[cpu as usize].clocks;
        clocks.iter().map(|(&cpu, &now)| (cpu, now)).collect()
    }

    /// Ours is asked and judged. Where its answer is the kernel's, ours after it; moves of that tell when their
    /// domains were balanced.
    fn decide(&mut self, r: &Record, asked: &Asked) -> Option<Sched> {
        let same = |ours: &Answer| ours.moves == asked.moves && ours.pushes == asked.pushes;
        let mut ours = self.ask_pass(&asked.before, asked, None);
        let mut failed = None;
        if ours.is_nothing()
            && let Some((more, moving)) = self.fails_more(r, asked)
        {
            (failed, ours) = (Some(more), moving);
        }
        if !same(&ours) {
            let fits = |failed: &u32| same(&self.ask_pass(&asked.before, asked, Some(*failed)));
            failed = (0..=MOST_FAILED).find(fits);
        }
        let passed_on = if same(&ours) {
            Vec::new()
        } else {
            passed_on(asked)
        };
        let forbidding = self.forbidding(asked, &passed_on);
        let forbids = forbidding.is_some_and(|ours| same(&ours));
        for &(task, cpu) in &passed_on {
            if self.sched.cpu_allowed(task, cpu) {
                self.hint(task, cpu);
            }
        }
        let mut now = self.ask_pass(&self.sched, asked, failed);
        if !same(&ours)
            && let Some(fits) = self.fitting_imbalance(asked, &ours)
        {
            let fitting = self.ask_with(&self.sched, asked, None, Some(fits));
            if same(&fitting) {
                now = fitting;
            }
        }
        let mut bound = Vec::new();
        let mut imbalanced = None;
        if failed.is_none() && !same(&ours) && !same(&now) {
            bound = self.bound_by_pass(asked, &ours);
            if bound.is_empty() && !forbids {
                imbalanced = self.imbalanced_otherwise(asked, same);
            }
        }
        if let Some((group, imbalanced)) = imbalanced {
            self.sched.domains.sgc[group].imbalance = imbalanced;
            now = self.ask_pass(&self.sched, asked, None);
        }
        let class = match failed {
            Some(_) => NOT_FAILED,
            None if forbids
                || !bound.is_empty()
                || self.freed_by_pass(asked).is_some_and(|ours| same(&ours)) =>
            {
                NOT_ALLOWED
            }
            None if imbalanced.is_some() => NOT_IMBALANCED,
            // The state that other CPUs' records have led to meanwhile gives the kernel's answer, or one that the pass
            // can have looked at.
            None if same(&now) || self.looked_earlier(asked, same) => Class::Race,
            None if same(&self.ask_pass(&self.averaged(asked), asked, None)) => NOT_AVERAGED,
            None => Class::Ours,
        };
        if !same(&ours) {
            let first = self.cpu(r.cpu).pass_ts;
            self.wrong_passes.insert((r.cpu, first));
        }
        self.judge_moves(r, asked.kind, &asked.moves, &ours, class);
        if !bound.is_empty() {
            let only_ours = ours.moves.iter();
            for moved in only_ours.filter(|moved| !asked.moves.contains(moved)) {
                self.hint(moved.task, CpuId(moved.dest));
            }
        }
        self.suspect_bound(bound);
        for moved in &asked.moves {
            self.moves_to(moved.task, CpuId(moved.dest));
        }
        for &busiest in &asked.pushes {
            let asked_too = ours.pushes.contains(&busiest);
            self.cpu(busiest).pushed = Some((asked_too, class));
        }
        for &(_, sd) in asked.pass.passes() {
            self.moved.insert(sd, r.ts);
        }
        if !same(&now) {
            self.look_at_rest(asked, &ours);
            return None;
        }
        for report in now.sched.pass_reports() {
            if report.moved != 0 || report.active {
                self.pinned.insert(report.sd, self.jiffies.most(r.ts));
            }
        }
        Some(now.sched)
    }

    /// Ours before a pass, if all CPUs that it looked at had just brought their averages up to date.
    fn averaged(&self, asked: &Asked) -> Sched {
        let mut base = asked.before.clone();
        for &(_, sd) in asked.pass.passes() {
            for cpu in base.domains.sched_domain_span(sd).clone().iter() {
                let now = asked.pass.clock().max(base.rqs[cpu].clock);
                base.follow_blocked_averages(cpu, now);
            }
        }
        base
    }

    /// What ours does if some tasks may not use the CPU that the pass is for.
    fn forbidding(&self, asked: &Asked, passed_on: &[(TaskId, CpuId)]) -> Option<Answer> {
        if passed_on.is_empty() {
            return None;
        }
        let mut base = asked.before.clone();
        for &(task, cpu) in passed_on {
            let others = allowed_others(&base, task, cpu);
            base.follow_cpus_allowed(task, &others);
        }
        Some(self.ask_pass(&base, asked, None))
    }

    /// What ours does if the tasks that the kernel moved may go where it moved them, if ours takes some to be bound elsewhere.
    fn freed_by_pass(&self, asked: &Asked) -> Option<Answer> {
        let mut base = asked.before.clone();
        let is_bound = |moved: &&Move| {
            was_there(&base, moved.task) && !base.cpu_allowed(moved.task, CpuId(moved.dest))
        };
        let bound: Vec<&Move> = asked.moves.iter().filter(is_bound).collect();
        if bound.is_empty() {
            return None;
        }
        let all = CpuMask::all(base.nr_cpus());
        for moved in bound {
            base.follow_cpus_allowed(moved.task, &all);
        }
        Some(self.ask_pass(&base, asked, None))
    }

    /// The tasks on CPUs that ours takes others from than the kernel, and where they have been lately, if ours does what the
    /// kernel did once they are bound to that. A CPU of which no task may come is left out, and others are looked at.
    fn bound_by_pass(&self, asked: &Asked, ours: &Answer) -> Vec<(TaskId, CpuMask)> {
        let mut bound: Vec<(TaskId, CpuMask)> = Vec::new();
        let mut base = asked.before.clone();
        let mut tried = tried_by(ours);
        for _ in 0..MOST_BOUND {
            let queued = tried.iter().flat_map(|&(src, dest)| {
                let queued = self.candidates(src).into_iter();
                queued.map(move |task| (task, dest, self.been(task)))
            });
            let moved = |task: TaskId| asked.moves.iter().any(|moved| moved.task == task);
            let strays = queued.filter(|(task, dest, been)| {
                was_there(&base, *task) && !moved(*task) && !been.test(*dest) && been.weight() != 0
            });
            let strays: Vec<_> = strays.map(|(task, _, been)| (task, been)).collect();
            if strays.is_empty() {
                break;
            }
            for (task, cpus) in &strays {
                base.follow_cpus_allowed(*task, cpus);
            }
            bound.extend(strays);
            let answer = self.ask_pass(&base, asked, None);
            if answer.moves == asked.moves && answer.pushes == asked.pushes {
                return bound;
            }
            tried = tried_by(&answer);
        }
        Vec::new()
    }

    /// The fewest failures, of as many as there can have been, after which ours moves something, and what.
    fn fails_more(&self, r: &Record, asked: &Asked) -> Option<(u32, Answer)> {
        let most = asked
            .pass
            .passes()
            .iter()
            .map(|&pass| self.most_failures(r, pass));
        (1..=most.min()?).find_map(|failed| {
            let answer = self.ask_pass(&asked.before, asked, Some(failed));
            (!answer.is_nothing()).then_some((failed, answer))
        })
    }

    /// How often a domain can have been balanced since the kernel last moved something there, this time not counted.
    fn most_failures(&self, r: &Record, (dest, sd): (CpuId, SdId)) -> u32 {
        let Some(&told) = self.moved.get(&sd) else {
            return MOST_FAILED;
        };
        let was_idle = self.sched.is_idle(dest) || self.sched.rqs[dest].clock_idle >= told;
        let idle = if was_idle {
            CpuIdleType::Idle
        } else {
            CpuIdleType::NotIdle
        };
        let now = self.jiffies.most(r.ts);
        let jiffies = now.saturating_sub(self.jiffies.most(told)) + 1;
        let passes = jiffies / self.sched.shortest_balance_interval(sd, idle);
        passes.saturating_sub(1).min(MOST_FAILED.into()) as u32
    }

    /// Goes on from a copy that was asked, which began without effects.
    pub(super) fn keep(&mut self, cpu: u32, sched: Sched) {
        self.take_effects(cpu);
        self.sched = sched;
        self.sched.report_passes(false);
        self.take_effects(cpu);
        self.forget_active_balance();
    }

    /// A copy to ask, without what it has asked of its surroundings so far.
    pub(super) fn copy(&self) -> Sched {
        let mut copy = self.sched.clone();
        copy.effects.clear();
        copy
    }

    /// Could a pass move anything at all?
    pub(super) fn could_move(&self) -> bool {
        self.sched.rqs.iter().any(|rq| rq.nr_running >= 2)
    }

    /// A stopper that ours asked for runs if the kernel's does.
    pub(super) fn forget_active_balance(&mut self) {
        for cpu in self.sched.rqs.ids() {
            self.sched.rqs[cpu].active_balance = Default::default();
        }
    }

    /// `schedule()` of a CPU without tasks pulled some; true if ours does the same, and has.
    pub(super) fn newly_idle(
        &mut self,
        r: &Record,
        (clock, now): (u64, u64),
        prev_state: PrevState,
        kernel: &[Move],
        next: TaskId,
    ) -> bool {
        let moved = kernel
            .iter()
            .map(|moved| (CpuId(moved.orig), CpuId(moved.dest)));
        let pass = Pass::NewlyIdle {
            cpu: CpuId(r.cpu),
            clock,
            now,
            prev_state: prev_state.task_state(),
            passes: self.passes_of(moved),
            times: kernel.len(),
        };
        let looks = self.cpu(r.cpu).looks.take();
        let found = looks.as_ref().and_then(|looks| looks.found(&pass));
        let asked = Asked {
            kind: "newidle",
            read: self.read_by_pass(r.cpu, kernel),
            found: found.map(|(_, found)| found),
            looks,
            pass,
            before: self.before_pass(r.cpu),
            clocks: self.told_clocks(r.cpu),
            moves: kernel.to_vec(),
            pushes: Vec::new(),
        };
        let decided = self.decide(r, &asked);
        let Some(sched) = decided.filter(|sched| sched.rqs[CpuId(r.cpu)].curr == next) else {
            return false;
        };
        self.cpu(r.cpu).clocks.clear();
        self.keep(r.cpu, sched);
        true
    }

    /// A stopper pushed the task that ran: would ours have asked for that, and pushed the same?
    pub(super) fn pushed(&mut self, r: &Record, moved: Move) {
        let Some((asked_too, class)) = self.cpu(r.cpu).pushed.take() else {
            self.follow_affinity_push(r, moved);
            return;
        };
        let cpu = CpuId(r.cpu);
        let clock = self.clock_at(cpu, r.ts);
        let mut copy = self.copy();
        copy.report_passes(true);
        copy.rqs[cpu].active_balance.pending = true;
        copy.rqs[cpu].active_balance.push_cpu = moved.dest;
        copy.active_load_balance_cpu_stop(cpu, clock);
        let mut ours = answer(copy);
        let class = if asked_too { Class::Ours } else { class };
        if !asked_too {
            ours.moves.clear();
        }
        self.judge_moves(r, "active", &[moved], &ours, class);
    }
}

/// Did ours know the task then? Records of other CPUs may have forked it since.
fn was_there(before: &Sched, task: TaskId) -> bool {
    task < before.tasks.next_id()
}

/// The tasks that a softirq's pass moved on to another CPU of the same group, and the one that it is for, which they may not use.
fn passed_on(asked: &Asked) -> Vec<(TaskId, CpuId)> {
    let Pass::Softirq { cpu, .. } = asked.pass else {
        return Vec::new();
    };
    let before = &asked.before;
    let passed_on = asked.moves.iter().filter_map(|moved| {
        let towards = balances_for(before, cpu, CpuId(moved.orig), CpuId(moved.dest));
        let known = was_there(before, moved.task);
        (known && towards.0 != moved.dest).then_some((moved.task, towards))
    });
    passed_on.collect()
}

/// From which CPUs ours moved tasks, or found some that may not go, and to which.
fn tried_by(ours: &Answer) -> Vec<(CpuId, CpuId)> {
    let reports = ours.sched.pass_reports().iter();
    let bound = |report: &&PassReport| {
        let mut candidates = report.candidates.iter();
        report.moved != 0 || candidates.any(|(_, verdict)| *verdict == Verdict::NotAllowed)
    };
    reports
        .filter(bound)
        .filter_map(|report| Some((report.src_cpu?, report.dst_cpu)))
        .collect()
}

/// What a pass of the kernel looked at it brought up to date, whatever it then moved.
fn look(sched: &mut Sched, pass: &Pass, now: u64) {
    if let Pass::Softirq { passes, .. } = pass {
        for &(dest, sd) in passes {
            sched.follow_look(dest, sd, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::{KernelProfile, Release, Topology};

    #[test]
    fn tasks_that_a_pass_moves_on_may_not_use_the_cpu_that_it_is_for() {
        let profile = KernelProfile::new(Release::V6_1, 4);
        let mut before = Sched::new(profile, Topology::regular(1, 2, 2));
        let busy = before.spawn(CpuId(3), 0);
        before.wake_up_new_task(CpuId(3), busy, 0);
        let tasks = [0; 2].map(|_| before.spawn(CpuId(0), 0));
        let to = |task, dest| Move {
            task,
            orig: 0,
            dest,
        };
        let mut asked = Asked {
            kind: "softirq",
            before,
            pass: Pass::Softirq {
                cpu: CpuId(2),
                clock: 0,
                passes: Vec::new(),
            },
            found: None,
            looks: None,
            clocks: Vec::new(),
            read: Vec::new(),
            moves: vec![to(tasks[0], 2), to(tasks[1], 3)],
            pushes: Vec::new(),
        };
        assert_eq!(passed_on(&asked), [(tasks[1], CpuId(2))]);
        asked.moves.pop();
        assert_eq!(passed_on(&asked), []);
    }
}
