//! Placement: which CPU a sleeping task goes to, and a new one (see `forks`).
//!
//! Model.      The kernel chooses between `sched_waking` and the waker's next record, which is
//!             `sched_migrate_task` if the task leaves its CPU: then ours is asked there, else when the choice is made as usual
//!             (see `choosing`). Other CPUs go on meanwhile, so ours is asked again after each of their
//!             records in between. The kernel's answer is known by reading ahead. A task that
//!             its target is to queue by itself counts as on its way there (`ttwu_pending`) from the
//!             choice on.
//! Deviations. WF_SYNC is not recorded. A program is taken to wake another with it if it did so most times
//!             that it made a difference, outside interrupts, so far and in an earlier walk; where the two answers differ
//!             and the kernel's is the other one, that is a fact not recorded.

use super::ahead::Ahead;
use super::classify::{EARLIER_STATE, NOT_ALLOWED, NOT_AVERAGED};
use super::rt_choice::NOT_SPREAD;
use super::{Follower, KindOfWakeup};
use crate::baselines::Baselines;
use crate::judge::{Class, Decision, Measure};
use crate::record::{Record, What};
use fairwind_sched::flags::{WF_FORK, WF_FROM_IRQ, WF_SYNC};
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::task::TaskState;
use fairwind_sched::{CpuId, Sched, TaskId};

const NOT_SYNC: Class = Class::NotRecorded("WF_SYNC");
const NOT_SCANNED: Class = Class::NotRecorded("how far idle CPUs are searched");
const NOT_CORES: Class = Class::NotRecorded("whether an idle core is known");
const NOT_WAKEES: Class = Class::NotRecorded("wakees from before the recording");

/// A question that can be asked again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) task: TaskId,
    /// The waker's or parent's CPU.
    pub(super) here: CpuId,
    wake_flags: u32,
    /// Whether the task slept interruptibly.
    interruptible: bool,
    /// What the first time the question was asked has overwritten.
    recent_used_cpu: CpuId,
}

impl Question {
    /// Ours, of a scheduler that is changed by it.
    pub(super) fn ask(self, sched: &mut Sched, ts: u64) -> CpuId {
        let now = ts.max(sched.rqs[self.here].clock);
        if self.is_of_new_task() {
            return sched.ask_fork_cpu(self.here, self.task, now);
        }
        sched.tasks[self.task].recent_used_cpu = self.recent_used_cpu;
        sched.ask_wakeup_cpu(self.here, self.task, now, self.wake_flags)
    }

    fn is_of_new_task(self) -> bool {
        self.wake_flags & WF_FORK != 0
    }

    /// Ours, and nothing is changed.
    fn peek(self, sched: &mut Sched, ts: u64) -> CpuId {
        let before = sched.before_placement(self.here, self.task);
        let ours = self.ask(sched, ts);
        sched.take_back(&before);
        ours
    }
}

/// Asks as if no task were on its way to some CPUs, and others ran their idle task.
pub(super) fn with_cpus_seen(
    sched: &mut Sched,
    free: &[CpuId],
    idle: &[CpuId],
    ask: impl FnOnce(&mut Sched) -> CpuId,
) -> CpuId {
    for &cpu in free {
        sched.follow_ttwu_pending(cpu, false);
    }
    let curr = idle.iter().map(|&cpu| {
        let rq = &mut sched.rqs[cpu];
        std::mem::replace(&mut rq.curr, rq.idle)
    });
    let curr: Vec<TaskId> = curr.collect();
    let asked = ask(sched);
    for (&cpu, curr) in idle.iter().zip(curr) {
        sched.rqs[cpu].curr = curr;
    }
    for &cpu in free {
        sched.follow_ttwu_pending(cpu, true);
    }
    asked
}

/// A task whose CPU is being chosen.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    question: Question,
    /// The record after which it is.
    begun: usize,
    /// What the records to come tell of the kernel's choice.
    ahead: Ahead,
    /// Our answer, once it has been asked, and to what.
    answer: Option<(Decision, Answer)>,
    /// What ours would have been at other times of the wakeup.
    others: Vec<CpuId>,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) ours: CpuId,
    /// Why they differ, if other times do not tell.
    pub(super) class: Class,
    pub(super) text: String,
    pub(super) baselines: Baselines,
}

impl Follower<'_> {
    /// A sleeping task is woken: it gets a CPU.
    pub(super) fn begin_placement(
        &mut self,
        r: &Record,
        pid: i32,
        task: TaskId,
        wake_flags: u32,
        ahead: Ahead,
    ) {
        if ahead.target as usize >= self.cpus.len() {
            return;
        }
        if self.sched.tasks[task].nr_cpus_allowed == 1 && !self.is_pinned(task) {
            self.sched.tasks[task].state = TaskState::Waking;
            if ahead.remote {
                self.sched.follow_ttwu_pending(CpuId(ahead.target), true);
            }
            return;
        }
        let here = CpuId(r.cpu);
        let waker = self.sched.rqs[here].curr;
        let interruptible = self.sched.tasks[task].state == TaskState::Interruptible;
        let sync = wake_flags & WF_FROM_IRQ == 0 && self.wakes_sync(waker, task, interruptible);
        let question = Question {
            task,
            here,
            wake_flags: wake_flags | if sync { WF_SYNC } else { 0 },
            interruptible,
            recent_used_cpu: self.sched.tasks[task].recent_used_cpu,
        };
        self.begin_choice(r, pid, question, ahead, self.at);
        if ahead.migrate.is_none() && !matches!(r.what, What::Waking { .. }) {
            self.place(r, r.ts, pid);
        }
    }

    /// A task is new: it gets a CPU.
    pub(super) fn begin_placement_of_new(
        &mut self,
        r: &Record,
        pid: i32,
        task: TaskId,
        (target, begins): (CpuId, usize),
    ) {
        let question = Question {
            task,
            here: CpuId(r.cpu),
            wake_flags: WF_FORK,
            interruptible: false,
            recent_used_cpu: self.sched.tasks[task].cpu,
        };
        let ahead = Ahead {
            migrate: None,
            target: target.0,
            remote: false,
            anew: true,
        };
        self.begin_choice(r, pid, question, ahead, begins);
    }

    fn begin_choice(
        &mut self,
        r: &Record,
        pid: i32,
        question: Question,
        ahead: Ahead,
        begun: usize,
    ) {
        let others = vec![question.peek(&mut self.sched, r.ts)];
        let placement = Placement {
            question,
            begun,
            ahead,
            answer: None,
            others,
        };
        self.placements.insert(pid, placement);
    }

    /// Before a record: CPUs for tasks that stay or are new have been chosen by then.
    pub(super) fn place_by(&mut self, at: usize) {
        if self.placements.is_empty() {
            return;
        }
        let r = &self.records[at];
        let due = |(&pid, placement): (&i32, &Placement)| {
            let begun = &self.records[placement.begun];
            let takes = if placement.question.is_of_new_task() {
                self.choosing.of_fork
            } else {
                self.choosing.of_wakeup
            };
            let chosen = begun.ts.saturating_add(takes);
            let queued = matches!(r.what, What::Wakeup { pid: woken, .. } if woken == pid);
            let over = chosen <= r.ts || begun.cpu == r.cpu || queued;
            let begins = placement.begun < at;
            let asks = begins && placement.answer.is_none() && placement.ahead.migrate.is_none();
            (asks && over).then_some((chosen.min(r.ts), pid))
        };
        let mut due: Vec<(u64, i32)> = self.placements.iter().filter_map(due).collect();
        due.sort_unstable();
        for (ts, pid) in due {
            let begun = &self.records[self.placements[&pid].begun];
            self.place(begun, ts, pid);
        }
    }

    /// Asks ours at the time of the kernel's choice, which `r` tells.
    pub(super) fn place(&mut self, r: &Record, ts: u64, pid: i32) {
        let Some(mut placement) = self.placements.remove(&pid) else {
            return;
        };
        let kernel = CpuId(placement.ahead.target);
        let question = placement.question;
        let (kind, mut answer) = if question.is_of_new_task() {
            ("fork", self.ask_placement_of_new(ts, pid, question, kernel))
        } else {
            ("wakeup", self.ask_placement(ts, pid, question, kernel))
        };
        let raced = placement.ahead.remote && self.may_be_switched_from(pid, question.task, kernel);
        if answer.class == Class::Ours && raced {
            answer.class = Class::Race;
        }
        let decision = Self::decision(r, Measure::Placement, kind);
        placement.answer = Some((decision, answer));
        if placement.ahead.remote {
            self.cpu(kernel.0).left_by = Some(placement.begun);
            self.sched.follow_ttwu_pending(kernel, true);
        }
        let left = placement.ahead.migrate.is_some();
        self.placements.insert(pid, placement);
        if left {
            self.end_placement(pid);
        }
    }

    fn ask_placement(&mut self, ts: u64, pid: i32, question: Question, kernel: CpuId) -> Answer {
        let Question { task, here, .. } = question;
        let prev = self.sched.tasks[task].cpu;
        let before = self.sched.before_placement(here, task);
        let about_to_queue = self.about_to_queue(ts);
        self.learn_looks_free(ts, question, kernel, &before, &about_to_queue);
        let look_free = about_to_queue.into_iter();
        let look_free: Vec<CpuId> = look_free
            .filter(|(_, until)| *until <= self.learned.looks_free)
            .map(|(cpu, _)| cpu)
            .collect();
        for &cpu in &look_free {
            self.sched.follow_ttwu_pending(cpu, false);
        }
        let ours = question.ask(&mut self.sched, ts);
        let search = self.sched.search;
        let class = match self.learn_from_wakeup(ts, question, [kernel, ours], &before) {
            Some(class) => class,
            None if ours != kernel => self.why_not(ts, pid, question, kernel, &before, ours),
            None => Class::Ours,
        };
        let text = if ours == kernel {
            String::new()
        } else {
            let rule = if self.sched.is_fair(task) {
                let target = search.target.map_or(0, |cpu| cpu.0);
                format!(" by {}, target cpu{target}", search.rule.name())
            } else {
                String::new()
            };
            format!(
                "{} from cpu{} (before: cpu{}), woken by {} on cpu{}: kernel cpu{}, ours cpu{}{rule}; {}",
                self.name(task),
                prev.0,
                question.recent_used_cpu.0,
                self.name(self.sched.rqs[here].curr),
                here.0,
                kernel.0,
                ours.0,
                describe_cpus(&self.sched),
            )
        };
        for cpu in look_free {
            self.sched.follow_ttwu_pending(cpu, true);
        }
        let candidates = u64::from(self.sched.tasks[task].nr_cpus_allowed);
        if ![NOT_SYNC, NOT_WAKEES, NOT_SPREAD].contains(&class) && !self.unsure.contains(&task) {
            self.learn_bounds(task, task, [kernel, ours], &before, |sched| {
                question.ask(sched, ts)
            });
        }
        Answer {
            ours,
            class,
            text,
            baselines: Baselines {
                candidates,
                fifo: Some(kernel == prev),
                least_vruntime: None,
            },
        }
    }

    /// What is not recorded and explains the kernel's answer, if something does: ours goes on from that.
    fn learn_from_wakeup(
        &mut self,
        ts: u64,
        question: Question,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
    ) -> Option<Class> {
        let Question { task, here, .. } = question;
        let target = self.sched.search.target;
        let asks = |sched: &mut Sched| question.ask(sched, ts);
        if !self.sched.is_fair(task) {
            let spread = self.learn_rt_choice(here, [kernel, ours], before, asks);
            return spread.then_some(NOT_SPREAD);
        }
        if self.learn_wakees(task, here, [kernel, ours], before, asks) {
            return Some(NOT_WAKEES);
        }
        if self.learn_sync(ts, question, kernel, before, ours) {
            return Some(NOT_SYNC);
        }
        let target = target.filter(|_| ours != kernel && !self.is_pinned(task))?;
        if self.learn_idle_scan(target, kernel, before, asks) {
            return Some(NOT_SCANNED);
        }
        let cores = self.learn_idle_cores(target, kernel, before, (here, task), asks);
        cores.then_some(NOT_CORES)
    }

    /// Asks under other assumptions on what is not recorded.
    fn why_not(
        &mut self,
        ts: u64,
        pid: i32,
        question: Question,
        kernel: CpuId,
        before: &BeforePlacement,
        ours: CpuId,
    ) -> Class {
        if self.unsure.contains(&question.task) {
            return EARLIER_STATE;
        }
        let seen_free = self.seen_free(question.here, kernel);
        let seen_idle = self.seen_idle(question.here);
        let (free, idle) = (&seen_free[..], &seen_idle[..]);
        for (free, idle) in [(free, &[][..]), (&[], idle), (free, idle)] {
            if free.is_empty() && idle.is_empty() {
                continue;
            }
            let asked = self.sched.ask_otherwise(before, |sched| {
                with_cpus_seen(sched, free, idle, |sched| question.ask(sched, ts))
            });
            if asked == kernel {
                return Class::Race;
            }
        }
        if !self.whereabouts.runs_on(pid, ours) {
            let seen = self.whereabouts.seen_on(pid);
            let within = self.sched.ask_otherwise(before, |sched| {
                sched.ask_within(question.task, seen, |sched| question.ask(sched, ts))
            });
            if within == Some(kernel) {
                return NOT_ALLOWED;
            }
        }
        if self.chosen_if_averaged(ts, question, kernel, before) {
            return NOT_AVERAGED;
        }
        Class::Ours
    }

    /// Is the kernel's CPU ours, too, if that one, or all, had brought their averages up to date by now?
    pub(super) fn chosen_if_averaged(
        &self,
        ts: u64,
        question: Question,
        kernel: CpuId,
        before: &BeforePlacement,
    ) -> bool {
        let all: Vec<CpuId> = self.sched.rqs.ids().collect();
        [&[kernel][..], &all].into_iter().any(|cpus| {
            let mut copy = self.copy();
            copy.take_back(before);
            for &cpu in cpus {
                copy.follow_blocked_averages(cpu, self.clock_at(cpu, ts));
            }
            question.ask(&mut copy, ts) == kernel
        })
    }

    /// Is the kernel's choice the CPU where the task slept, and has that one recorded nothing since it began to switch from it? If
    /// it had not yet done so, the task was left to it, and no CPU chosen.
    fn may_be_switched_from(&self, pid: i32, task: TaskId, kernel: CpuId) -> bool {
        let last = self.times.records_until(kernel.0, self.at + 1).last();
        let last = last.map(|&last| &self.records[last].what);
        let switched = matches!(last, Some(What::Switch { prev, .. }) if prev.pid == pid);
        switched && self.sched.tasks[task].cpu == kernel
    }

    /// Other CPUs to which tasks were left, and which may not say so: whoever left one has recorded nothing since it chose the
    /// CPU; or the one that the kernel chose is about to queue them, and its next record is that.
    fn seen_free(&self, here: CpuId, kernel: CpuId) -> Vec<CpuId> {
        let leaving = |&at: &usize| {
            let goes_on = self.next_on_cpu[at].is_some_and(|next| next <= self.at);
            self.records[at].cpu != here.0 && !goes_on
        };
        let mut cpus: Vec<CpuId> = self.sched.rqs.ids().collect();
        cpus.retain(|&cpu| {
            let being_left = self.cpus[cpu.idx()].left_by.as_ref().is_some_and(leaving);
            self.sched.rqs[cpu].ttwu_pending
                && (being_left || cpu == kernel && self.queues_next(cpu).is_some())
        });
        cpus
    }

    /// Other CPUs that have taken their last task off and are about to record a switch to the idle task, which others see
    /// somewhat before.
    fn seen_idle(&self, here: CpuId) -> Vec<CpuId> {
        let mut cpus: Vec<CpuId> = self.sched.rqs.ids().collect();
        cpus.retain(|&cpu| {
            let rq = &self.sched.rqs[cpu];
            let next = self.times.records_of(cpu.0, self.at + 1).iter();
            let mut next = next.map(|&at| &self.records[at].what);
            let idles = |what: &What| matches!(what, What::Switch { next, .. } if next.pid == 0);
            let probes = |what: &&What| !matches!(what, What::Probe { .. });
            let leaves = cpu != here && rq.curr != rq.idle && rq.nr_running == 0;
            leaves && next.find(probes).is_some_and(idles)
        });
        cpus
    }

    /// Another CPU has recorded something while CPUs are being chosen.
    pub(super) fn ask_again(&mut self, r: &Record) {
        if !r.what.changes_queues() {
            return;
        }
        let mut placements = std::mem::take(&mut self.placements);
        for placement in placements.values_mut() {
            let kernel = CpuId(placement.ahead.target);
            let agrees = placement
                .answer
                .as_ref()
                .is_some_and(|(_, answer)| answer.ours == kernel);
            if placement.question.here.0 != r.cpu && !agrees {
                let sched = &mut self.sched;
                let own = placement.answer.is_some() && placement.ahead.remote;
                let pending = own.then(|| sched.follow_ttwu_pending(kernel, false));
                placement.others.push(placement.question.peek(sched, r.ts));
                if let Some(pending) = pending {
                    sched.follow_ttwu_pending(kernel, pending);
                }
            }
        }
        self.placements = placements;
    }

    /// A CPU's next record: what it was choosing is chosen.
    pub(super) fn end_placements(&mut self, r: &Record) {
        if self.placements.is_empty() {
            return;
        }
        let over = |p: &Placement| p.question.here.0 == r.cpu && p.answer.is_some();
        let pids: Vec<i32> = self
            .placements
            .iter()
            .filter_map(|(&pid, placement)| over(placement).then_some(pid))
            .collect();
        for pid in pids {
            self.end_placement(pid);
        }
    }

    /// Judges a choice, which nothing can change any more.
    pub(super) fn end_placement(&mut self, pid: i32) {
        let Some(Placement {
            ahead,
            answer: Some((decision, answer)),
            others,
            ..
        }) = self.placements.remove(&pid)
        else {
            return;
        };
        let kernel = CpuId(ahead.target);
        let Answer {
            ours,
            mut class,
            text,
            baselines,
        } = answer;
        if class == Class::Ours && others.contains(&kernel) {
            class = Class::Race;
        }
        let differs = (ours != kernel).then_some((class, text));
        self.judge.judge(decision, baselines, differs);
    }

    /// What tells how a task is woken: by which program, which program's, and from which sleep. Locks wake whom they keep
    /// uninterruptible, and never with WF_SYNC.
    fn kind_of_wakeup(&self, waker: TaskId, wakee: TaskId, interruptible: bool) -> KindOfWakeup {
        // Names without a number at the end: threads of a pool, named by number, do the same.
        let program = |task| {
            let name = self.name_only(task);
            name.trim_end_matches(|c: char| c.is_ascii_digit())
                .to_owned()
        };
        (program(waker), program(wakee), interruptible)
    }

    fn wakes_sync(&self, waker: TaskId, wakee: TaskId, interruptible: bool) -> bool {
        self.syncs
            .get(&self.kind_of_wakeup(waker, wakee, interruptible))
            .is_some_and(|[without, with]| with > without)
    }

    /// Where WF_SYNC makes the difference, the kernel's choice tells whether it was set. True if ours took
    /// the other value; it goes on from the kernel's then.
    fn learn_sync(
        &mut self,
        ts: u64,
        question: Question,
        kernel: CpuId,
        before: &BeforePlacement,
        ours: CpuId,
    ) -> bool {
        let waker = self.sched.rqs[question.here].curr;
        if question.wake_flags & WF_FROM_IRQ != 0 || self.sched.tasks[waker].exiting {
            return false;
        }
        let other = Question {
            wake_flags: question.wake_flags ^ WF_SYNC,
            ..question
        };
        let after = self.sched.before_placement(question.here, question.task);
        self.sched.take_back(before);
        let otherwise = other.ask(&mut self.sched, ts);
        if otherwise != kernel || ours == otherwise {
            self.sched.take_back(&after);
        }
        if ours == otherwise || (ours != kernel && otherwise != kernel) {
            return false;
        }
        let told = if ours == kernel { question } else { other };
        let kind = self.kind_of_wakeup(waker, question.task, question.interruptible);
        let seen = self.syncs.entry(kind).or_default();
        seen[usize::from(told.wake_flags & WF_SYNC != 0)] += 1;
        ours != kernel
    }

    /// A sleeping task is found on another CPU than was known.
    pub(super) fn sleeps_on(&mut self, task: TaskId, cpu: u32) {
        if cpu as usize >= self.cpus.len() || self.sched.tasks[task].cpu.0 == cpu {
            return;
        }
        if !self.unsure.contains(&task) {
            self.judge.mended("sleeping tasks that were elsewhere");
        }
        self.sched.follow_sleeper(task, CpuId(cpu));
    }
}

/// What a search looks at, CPU by CPU.
pub(super) fn describe_cpus(sched: &Sched) -> String {
    let describe = |cpu: CpuId| {
        let rq = &sched.rqs[cpu];
        let avg = &sched.cfs_rqs[rq.cfs].avg;
        let state = if sched.idle_cpu(cpu) {
            "idle".to_owned()
        } else if rq.ttwu_pending && rq.nr_running == 0 {
            "woken".to_owned()
        } else {
            format!("runs {}", rq.nr_running)
        };
        format!(
            "cpu{} {state} load {} util {}",
            cpu.0, avg.load_avg, avg.util_avg
        )
    };
    sched.rqs.ids().map(describe).collect::<Vec<_>>().join(", ")
}
