//! Ticks, and other charges of the running task that no call of the scheduler claims.
//!
//! Model. A tick charges the running task in a hardware interrupt, and no wakeup or switch follows that would have charged it
//!        too. It is followed at once, since other CPUs decide by what it changed; whether it asked for a reschedule shows in the
//!        flags of the CPU's next record, and is judged there, unless that is a wakeup, which may have asked itself. A charge in
//!        the task's own context comes from `schedule()` that goes on with the same task, or from a system call that asks for run
//!        times. A tick asks for the balancing softirq of its CPU, and others to balance for those that are idle: both are
//!        followed here, and then in `balance`. An interrupt that finds a real-time task is that of the fair server's timer, too,
//!        if that is due.
//! Deviations. Where the kernel's clocks are not told, each timer interrupt of a CPU that is idle counts
//!        as a tick while the tick is not stopped. If it wakes somebody on an idle CPU, the tick comes after that: which of
//!        the two timers had expired first is not recorded.

use super::Follower;
use super::classify::Shown;
use crate::baselines::Baselines;
use crate::judge::{Decision, Measure};
use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::task::Class;
use fairwind_sched::{CpuId, Effect, TaskId};

/// A charge whose outcome the next record shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charged {
    decision: Decision,
    /// The task that ran.
    curr: TaskId,
    /// Who has the least virtual runtime.
    least: Option<TaskId>,
    /// Whether there is something to judge.
    asked: bool,
    /// A yield is to come to `schedule()` after it, which forgets whether a reschedule was asked for.
    yields: bool,
}

impl Follower<'_> {
    /// The timer's interrupt begins. A task's tick shows as a charge; that of an idle CPU is taken to run now.
    pub(super) fn timer(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let may_tick = self.jiffies.timer(r.cpu, self.tick_reads(r));
        self.sched.follow_jiffies(self.jiffies.now());
        if r.interrupts_softirq {
            self.redate_balance(r);
        }
        self.cpu(r.cpu).in_timer = may_tick.then_some(false);
        let idle = self.sched.is_idle(cpu);
        let curr = self.sched.rqs[cpu].curr;
        if self.sched.tasks[curr].class == Class::Rt {
            self.serve_fair_tasks(r);
        }
        if may_tick && idle {
            if self.wakes_in_timer(r.cpu) {
                self.cpu(r.cpu).tick_waits = true;
                return;
            }
            let clock = self.clock_of_update(cpu, r.ts);
            self.tick(r, clock);
            if self.jiffies.stops.at.contains(&self.at) {
                self.tick_stopped(r.cpu);
            }
        }
    }

    /// The timer's interrupt finds a real-time task: the timer of the fair server may have expired, so that it is next.
    fn serve_fair_tasks(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let Some(expires) = self.sched.rqs[cpu].rt.server.timer else {
            return;
        };
        let clock = self.clock_of_update(cpu, r.ts);
        if expires <= clock {
            self.sched.rt_timer(cpu, clock);
            self.take_effects(r.cpu);
        }
    }

    /// Does the timer interrupt of a CPU wake somebody there? Whom others left to it, another interrupt queues.
    fn wakes_in_timer(&self, cpu: u32) -> bool {
        let mut inside = self.rest_of_interrupt(self.at);
        let Some(woken) = inside.find_map(|r| match r.what {
            What::Waking { pid, .. } => Some(pid),
            _ => None,
        }) else {
            return false;
        };
        inside.find(|r| !r.what.is_inside()).is_some_and(
            |r| matches!(r.what, What::Wakeup { pid, target, .. } if pid == woken && target == cpu),
        )
    }

    /// The tick of an idle CPU comes after a task that the same interrupt wakes there, whose timer had expired before.
    pub(super) fn tick_after_wakeup(&mut self, r: &Record) {
        if matches!(r.what, What::Wakeup { .. }) && std::mem::take(&mut self.cpu(r.cpu).tick_waits)
        {
            let clock = self.clock_of_update(CpuId(r.cpu), r.ts);
            self.tick(r, clock);
        }
    }

    /// The tick runs; the balancing that it asks for follows, after the last tick of this interrupt.
    fn tick(&mut self, r: &Record, clock: u64) {
        let cpu = CpuId(r.cpu);
        self.take_effects(r.cpu);
        self.sched.sched_tick(cpu, clock);
        let asks = |effect: &mut Effect| {
            matches!(effect, Effect::RaiseSoftirq { .. } | Effect::KickIlb { .. })
        };
        let mut asked: Vec<Effect> = self.sched.effects.extract_if(.., asks).collect();
        // The timers that the tick armed are this CPU's, and not those of whom it asks to balance.
        self.take_effects(r.cpu);
        let raised_again =
            !r.interrupts_softirq && std::mem::take(&mut self.cpu(r.cpu).raised_again);
        if std::mem::take(&mut self.cpu(r.cpu).softirq_waits) || raised_again {
            asked.insert(0, Effect::RaiseSoftirq { cpu });
        }
        for effect in asked {
            match effect {
                Effect::RaiseSoftirq { cpu } if self.ticks_again(cpu.0) => {
                    self.cpu(cpu.0).softirq_waits = true;
                }
                // It runs once the tick is over, and so has been recorded.
                Effect::RaiseSoftirq { cpu } => self.softirq(r, cpu, clock.max(r.ts)),
                Effect::KickIlb { cpu } => self.kick(r, cpu),
                _ => {}
            }
        }
        self.take_effects(r.cpu);
    }

    /// When the tick of a timer interrupt reads the time: just before it charges the running task. One after which another
    /// tick runs at once had read it before that one was due, so the interrupt's beginning stands for it.
    fn tick_reads(&self, r: &Record) -> u64 {
        match self.tick_charges(r.cpu, self.at) {
            Some(at) if self.tick_charges(r.cpu, at).is_none() => self.records[at].ts,
            _ => r.ts,
        }
    }

    /// Was the CPU held up for so long that another tick runs in the same interrupt?
    fn ticks_again(&self, cpu: u32) -> bool {
        self.records[self.at].cpu == cpu
            && self.cpus[cpu as usize].in_timer.is_some()
            && self.tick_charges(cpu, self.at).is_some()
    }

    /// The charge of the next tick after a record of a timer interrupt, if there is one more in it.
    fn tick_charges(&self, cpu: u32, at: usize) -> Option<usize> {
        let goes_on = |at: &usize| {
            let r = &self.records[*at];
            r.hardirq() && r.what != What::Timer
        };
        let enqueues = |at: usize| {
            let what = &self.records[at].what;
            let places = what.probed() == Some(ProbePoint::PlaceEntity);
            places || matches!(what, What::Wakeup { .. })
        };
        // What puts throttled queues back to work in the interrupt charges, too.
        let mut may_tick = true;
        let mut next = self.next_on_cpu[at].filter(goes_on);
        while let Some(at) = next {
            next = self.next_on_cpu[at].filter(goes_on);
            let r = &self.records[at];
            if may_tick && self.is_charged_by(cpu, r) && !next.is_some_and(enqueues) {
                return Some(at);
            }
            may_tick = matches!(r.what, What::Waking { .. } | What::Wakeup { .. });
        }
        None
    }

    /// A CPU is idle when the recording begins: has it stopped its tick?
    pub(super) fn start_idle(&mut self, cpu: CpuId) {
        if self.jiffies.stops.start.contains(&cpu.0) {
            self.tick_stopped(cpu.0);
        }
    }

    fn tick_stopped(&mut self, cpu: u32) {
        self.jiffies.stop(cpu);
        self.sched.nohz_balance_enter_idle(CpuId(cpu));
    }

    /// Was the charge just recorded a call of its own? The CPU's next records tell; of its last charge none
    /// does. If another CPU charges the task before these, it had the queue's lock meanwhile.
    pub(super) fn is_call_of_its_own(&self, pid: i32) -> bool {
        let r = &self.records[self.at];
        let unlocked = self.is_unlocked_next(pid);
        let mut put_prev = None;
        let mut pulls = false;
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let other = &self.records[at];
            if other.context() != r.context() {
                return true;
            }
            let switches = matches!(other.what, What::Switch { .. });
            if r.need_resched && !other.need_resched && !switches {
                // That was answered in between.
                return true;
            }
            match &other.what {
                What::Runtime { pid: charged, .. } if *charged == pid && !pulls => return true,
                What::Migrate { .. } => pulls = true,
                What::Runtime { .. } => {}
                What::Probe { point, address, .. } => match point {
                    // It leaves the fair class.
                    ProbePoint::PutPrevEntity if self.goes_on_elsewhere(r.cpu, at) => return false,
                    ProbePoint::PutPrevEntity => put_prev = put_prev.or(Some(*address)),
                    ProbePoint::SetNextEntity if put_prev == Some(*address) => return unlocked,
                    // What a limit's timer puts back charges as it is placed.
                    ProbePoint::PlaceEntity if r.hardirq() => {
                        return self.known(pid).is_none_or(|task| self.is_of_tick(task, at));
                    }
                    // It comes back to the fair class.
                    ProbePoint::PlaceEntity if self.task_at(*address) == self.known(pid) => {
                        return false;
                    }
                    _ => {}
                },
                What::Wakeup { pid, .. } => return self.queued_without_charge(r.cpu, *pid),
                What::Switch { prev_state, .. } => {
                    // Who leaves the queue empty gives its lock up, to balance.
                    return unlocked && *prev_state == PrevState::Runnable;
                }
                What::Fork { .. } => return self.facts.picks_by_deadline(),
                What::WakeupNew { .. } | What::Attach { .. } => return false,
                What::Waking { .. }
                | What::Mkdir { .. }
                | What::SetShares { .. }
                | What::Exit { .. }
                | What::Timer => return true,
            }
        }
        false
    }

    /// Does another CPU charge the task before this one records more? Then it had the queue's lock meanwhile.
    fn is_unlocked_next(&self, pid: i32) -> bool {
        let again = self.times.charges(pid, self.at).first();
        let next = self.next_on_cpu[self.at];
        again.zip(next).is_some_and(|(&(again, _), next)| {
            again < next && self.records[again].cpu != self.records[self.at].cpu
        })
    }

    /// `schedule()` that picks the task that ran leaves no `sched_switch`: a reschedule was asked for,
    /// the task is charged, and then none is asked for any more, unless another CPU asks for one.
    fn is_same_again(&self, r: &Record) -> bool {
        let answered = |next: usize| !self.records[next].need_resched;
        let unlocked = matches!(r.what, What::Runtime { pid, .. } if self.is_unlocked_next(pid));
        let over = unlocked || self.next_on_cpu[self.at].is_some_and(answered);
        !r.irq && r.need_resched && over
    }

    /// Follows a charge that is a call of its own.
    pub(super) fn charge(&mut self, r: &Record, clock: u64) {
        let cpu = CpuId(r.cpu);
        if self.is_same_again(r) {
            self.go_on_charged(r, clock);
            return;
        }
        let rq = &self.sched.rqs[cpu];
        let curr = rq.curr;
        let asked =
            !rq.need_resched && !r.need_resched && rq.nr_running > 1 && self.sched.is_fair(curr);
        let hardirq = r.hardirq() && self.cpu(r.cpu).in_timers.is_some();
        let group = if r.irq {
            None
        } else {
            self.regrouped(Some(self.at), self.next_on_cpu[self.at], curr)
        };
        let kind = if hardirq { "tick" } else { "charge" };
        let charged = Charged {
            decision: Self::decision(r, Measure::Preemption, kind),
            curr,
            least: self.least_vruntime(cpu, None),
            asked,
            yields: self.cpu(r.cpu).yields,
        };
        if hardirq {
            let ran_before = self.cpu(r.cpu).in_timer.replace(true);
            if ran_before == Some(true) {
                self.jiffies.timer(r.cpu, r.ts);
                self.sched.follow_jiffies(self.jiffies.now());
            }
            self.tick(r, clock);
            self.tick_is_over(r);
        } else if group.is_none() && self.yields_alone(r) {
            self.go_on_charged(r, clock);
        } else {
            self.sched.follow_charge(cpu, clock);
        }
        if let Some(group) = group {
            self.sched.follow_regroup(curr, group, clock);
        } else if !r.irq
            && !self.limits.placements
            && self.is_ordinary(curr)
            && let Some((_, attr)) = self.attr_ahead(curr)
        {
            // Attributes that no probe of `place_entity` shows.
            self.set_attr(curr, attr);
        }
        if !r.irq {
            self.changes_other(r.cpu, cpu);
        }
        self.take_effects(r.cpu);
        self.cpu(r.cpu).charged = Some(charged);
    }

    /// The record after a charge shows whether a reschedule was asked for.
    pub(super) fn end_charge(&mut self, r: &Record) {
        let Some(charged) = self.cpu(r.cpu).charged.take() else {
            return;
        };
        // A wakeup may have asked for it.
        if r.need_resched && matches!(r.what, What::Wakeup { .. }) {
            return;
        }
        let cpu = CpuId(r.cpu);
        let ours = self.sched.rqs[cpu].need_resched;
        // A switch has forgotten whether one was asked for; from a task that could have gone on it was.
        let left = match &r.what {
            What::Switch { prev_state, .. } => Some(*prev_state),
            _ => None,
        };
        let preempts = left == Some(PrevState::Runnable) && !charged.yields;
        let kernel = r.need_resched || preempts || self.asked_as_written(r);
        let told = kernel || left.is_none() && (r.irq || !charged.yields);
        let curr = charged.curr;
        if charged.asked && told {
            let baselines = Baselines {
                candidates: 2,
                fifo: Some(!kernel),
                least_vruntime: Some(kernel == (charged.least != Some(curr))),
            };
            let differs = (kernel != ours).then(|| {
                let queue = self.candidates(cpu);
                let queue: Vec<Shown> = queue.iter().map(|&task| self.shown(task)).collect();
                let text = format!(
                    "{}: kernel {kernel}, ours {ours}, of {}",
                    self.describe(self.shown(curr)),
                    self.describe_all(&queue)
                );
                (self.class_of_slice(r.cpu, curr), text)
            });
            self.judge.judge(charged.decision, baselines, differs);
        }
        if charged.asked && told && ours && !kernel {
            self.throttle_next(r);
            if !self.limits.are_set() {
                self.outlasts_idle(curr);
            }
        }
        if told && ours && !kernel && self.candidates(cpu) == [curr] {
            self.drop_delayed(cpu);
        }
        self.sched.rqs[cpu].need_resched = kernel;
    }

    /// The flags of a record are taken before it is written, and an interrupt in between may ask for a reschedule: so one has if
    /// this record itself asks for none, and the next one shows it although no other CPU has to do with this one's queue.
    fn asked_as_written(&self, r: &Record) -> bool {
        let Some(next) = self.next_on_cpu[self.at] else {
            return false;
        };
        let after = &self.records[next];
        !r.irq
            && matches!(r.what, What::Fork { .. } | What::Exit { .. })
            && (after.irq, after.need_resched) == (false, true)
            && matches!(after.what, What::Runtime { .. })
            && !self.others_changed(r.cpu, self.at..next)
    }

    /// The running task used its slice up and nobody else wants the CPU: none waits there whose dequeue was
    /// delayed, either.
    fn drop_delayed(&mut self, cpu: CpuId) {
        let mut next = self.sched.rqs[cpu].cfs_tasks_first;
        while next.is_some() {
            let task = next;
            next = self.sched.tasks[task].cfs_tasks_next;
            self.take_sleeper_off(task);
        }
    }
}
