//! Switches: which task `schedule()` picked, and whether a CPU without tasks pulled one.
//!
//! Deviations. Runtimes of SCHED_DEADLINE are not recorded: a task that gives way to a lower class is taken to have none left.

use super::classify::{Pair, Shown};
use super::cpu::Move;
use super::tasks::stopper_cpu;
use super::{Follower, start};
use crate::baselines::Baselines;
use crate::judge::Measure;
use crate::record::{Party, PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::replay::{FollowedWakeup, NewIdle};
use fairwind_sched::task::{Class, TaskState};
use fairwind_sched::{CpuId, TaskId};

impl Follower<'_> {
    pub(super) fn switch(&mut self, r: &Record, prev: &Party, prev_state: PrevState, next: &Party) {
        let cpu = CpuId(r.cpu);
        let prev_state = if Self::is_dl_throttled(prev, prev_state, next) {
            PrevState::Interruptible
        } else {
            prev_state
        };
        self.cpu(r.cpu).waking = None;
        self.cpu(r.cpu).left.clear();
        if prev.pid == 0 {
            self.jiffies.busy(r.cpu, r.ts, true);
            self.sched.follow_jiffies(self.jiffies.now());
        }
        let prev_task = self.task(prev.pid, &prev.comm, r.cpu, r.ts);
        let next_task = self.task(next.pid, &next.comm, r.cpu, r.ts);
        if next.pid != 0 {
            self.note_been(next_task, cpu);
        }
        let held = self.sched.rqs[cpu].clock;
        let charged = self.cpu(r.cpu).pending_clock.take();
        let clock = match charged {
            Some(clock) => {
                if prev_state == PrevState::Runnable && next.pid == 0 {
                    self.futile_pick_before_charge(r.cpu);
                }
                // The kernel did update its clock here, so it had no wakeup's clock to reuse.
                self.sched.rqs[cpu].clock_skip_requested = false;
                clock.max(held)
            }
            None if self.sched.is_idle(cpu) => {
                let skipped = self.sched.rqs[cpu].clock_skip_requested;
                match self.held_out_of_idle(cpu) {
                    Some(held) if skipped => held,
                    _ => {
                        self.sched.rqs[cpu].clock_skip_requested = false;
                        self.clock_out_of_idle(cpu, r.ts)
                    }
                }
            }
            None if !self.sched.is_fair(prev_task) => self.clock_of_next(cpu, r.ts),
            None => held,
        };
        if self.sched.rqs[cpu].curr != prev_task {
            self.mend_curr(cpu, prev_task, clock);
        }
        if prev.pid != 0 {
            self.set_prio(prev_task, prev.prio);
            if self.sched.rqs[cpu].curr == prev_task {
                self.set_prev_state(cpu, prev_state);
            }
        }
        self.doubt_rt_landings(cpu, next);
        self.follow_rt_throttle(cpu, prev_task, prev_state, next);
        self.unthrottle_above(r, next_task, clock);
        if charged.is_some() && prev_state == PrevState::Runnable {
            self.exhaust_above(r, prev_task, next_task, clock);
        }
        if prev_state == PrevState::Runnable && next.pid != 0 {
            self.exhaust_before_idling(r, prev_task, next_task, clock);
        }
        self.leave_unthrottled(prev_task, next_task);
        self.told_of(ProbePoint::PutPrevEntity, prev_task, cpu);
        self.told_of_next(cpu, next_task);
        if charged.is_some() && prev_state == PrevState::Runnable && self.was_charged_first(r.cpu) {
            self.sched.follow_charge(cpu, clock);
        }
        let sleeps = prev.pid != 0
            && prev_state != PrevState::Runnable
            && !self.sched.rqs[cpu].curr_has_left;
        let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
        // Sleepers whose dequeue was delayed are taken off before the CPU looks for others' tasks.
        let rq = &self.sched.rqs[cpu];
        let fair = &self.sched.cfs_rqs[rq.cfs];
        let delayed = fair.h_nr_queued - fair.h_nr_runnable;
        let left = rq.nr_running.saturating_sub(delayed + u32::from(sleeps));
        self.wake_stopper(cpu, next_task, clock);
        let by_stopper = self.sched.tasks[prev_task].class == Class::Stop;
        let newly_idle = left == 0 && !by_stopper;
        let pulled = newly_idle && !moves.is_empty();
        // What it was charged after it ran out of tasks was charged while tasks were pulled, though others may have come since.
        let told = self.cpu(r.cpu).clocks.remove(&r.cpu);
        if let Some(told) = told.filter(|_| !pulled && !moves.is_empty()) {
            self.cpu(r.cpu).clocks.insert(r.cpu, told);
            self.limit_clock(cpu, told);
        }
        let now = match told {
            Some(told) => told,
            None if pulled => self.clock_of_next(cpu, self.pulled_before(r)).max(clock),
            None => clock,
        };
        if !(pulled && self.newly_idle(r, (clock, now), prev_state, &moves, next_task)) {
            let pulls = pulled && prev.pid != 0;
            if pulls {
                self.cpu(r.cpu).clocks.insert(r.cpu, now);
                let moves = Some(self.followed(r.cpu, clock, &moves));
                if let Some(probes) = &mut self.sched.probes {
                    probes.newidle = Some(NewIdle {
                        now,
                        moves,
                        times: 1,
                    });
                }
            }
            let goes_idle = next.pid == 0 && prev.pid != 0 && newly_idle && moves.is_empty();
            let mut overloaded = None;
            if goes_idle && prev_state != PrevState::Runnable {
                if self.may_have_looked() {
                    self.look_in_vain(cpu, clock, prev_state.task_state());
                } else {
                    overloaded = Some(self.sched.set_overloaded(false));
                }
            }
            let ahead = if pulls { &[] } else { &moves[..] };
            self.follow_pick(r, clock, next_task, ahead, newly_idle && prev.pid != 0);
            if prev.pid != 0 && prev_state == PrevState::Runnable && !moves.is_empty() {
                self.sched.follow_pull_from_queued(cpu);
            }
            if let Some(overloaded) = overloaded {
                self.sched.set_overloaded(overloaded);
            }
            self.sched.guess_clock(None);
        }
        self.settle_clocks(r.cpu);
        self.forget_told();
        self.unsure.remove(&prev_task);
        if next.pid != 0 {
            self.set_prio(next_task, next.prio);
        }
        self.sched.rqs[cpu].need_resched = false;
        if prev.pid == 0 {
            self.limits.restart_ticks(r);
        }
        self.run_in_thread(r, &next.comm);
        if next.pid == 0 {
            if prev.pid != 0 && prev_state == PrevState::Runnable {
                self.throttle_above(r, prev_task, next_task);
            }
            self.sched.nohz_run_idle_balance(cpu);
        }
    }

    /// Was the task that is switched from charged before it was put back? So it is by a pick that gets down to its queue,
    /// and not if a group above it is out of runtime.
    fn was_charged_first(&mut self, cpu: u32) -> bool {
        let charged_first = !self.cpu(cpu).charged_by_put;
        self.limits.are_set() && charged_first && self.is_put_told()
    }

    /// A task of SCHED_DEADLINE that could run gives way to a lower class: its runtime is used up, and it is off the
    /// queue until the next period.
    fn is_dl_throttled(prev: &Party, prev_state: PrevState, next: &Party) -> bool {
        let stops = stopper_cpu(&next.comm).is_some();
        prev.prio < 0 && next.prio >= 0 && prev_state == PrevState::Runnable && !stops
    }

    pub(super) fn set_prev_state(&mut self, cpu: CpuId, state: PrevState) {
        if state != PrevState::Runnable {
            self.sched.set_current_state(cpu, state.task_state());
        }
    }

    /// What a CPU that runs out of tasks is about to pull.
    fn pulled(&self) -> Vec<TaskId> {
        let newidle = self
            .sched
            .probes
            .as_ref()
            .and_then(|probes| probes.newidle.as_ref());
        let moves = newidle.and_then(|newidle| newidle.moves.as_ref());
        moves.map_or(Vec::new(), |moves| moves.iter().map(|m| m.task).collect())
    }

    /// Judges the pick and carries it out.
    pub(super) fn follow_pick(
        &mut self,
        r: &Record,
        clock: u64,
        next: TaskId,
        moves: &[Move],
        idles: bool,
    ) {
        let cpu = CpuId(r.cpu);
        let pulled = self.pulled();
        let pulls = !pulled.is_empty();
        self.sched.newidle_balancing = pulls;
        if idles && !self.sched.rqs[cpu].ttwu_pending {
            let moved = pulls || !moves.is_empty();
            self.sched.rqs[cpu].idle_stamp = if moved { 0 } else { clock };
        }
        if !moves.is_empty() {
            if idles {
                let idle = self.sched.rqs[cpu].idle;
                self.sched.follow_switch(cpu, clock, idle);
            }
            self.follow_moves(r.cpu, clock, moves);
        }
        let candidates = if pulls {
            pulled
        } else {
            self.mend_next(cpu, next, clock);
            self.doubt_landings(cpu, next, clock);
            self.candidates(cpu)
        };
        let baselines = Baselines {
            candidates: candidates.len() as u64,
            fifo: Some(self.longest_waiting(cpu) == Some(next)),
            least_vruntime: Some(self.least_vruntime(cpu, None) == Some(next)),
        };
        let before: Vec<Shown> = candidates.iter().map(|&task| self.shown(task)).collect();
        let prev = self.sched.rqs[cpu].curr;
        self.note_yielded(prev);
        self.note_pick(next, clock);
        let (switch, possible) = self.sched.follow_switch(cpu, clock, next);
        if self.is_ordinary(next) && self.sched.is_fair(next) && candidates.len() >= 2 {
            if self.unsure.contains(&next) {
                self.judge.not_asked(Measure::Pick);
            } else {
                let differs = (switch.next != next).then(|| {
                    let (a, b) = (next, switch.next);
                    let text = format!(
                        "kernel {}, ours {}, of {}",
                        self.name(a),
                        self.name(b),
                        self.describe_all(&before)
                    );
                    (self.class_of_pair(r.cpu, Pair { a, b }), text)
                });
                let decision = Self::decision(r, Measure::Pick, "switch");
                self.judge.judge(decision, baselines, differs);
            }
        }
        if !possible {
            self.judge.mended("next tasks that could not run");
        }
        if self.sched.is_fair(next) && self.sched.is_fair(switch.next) {
            self.learn_idle(next, switch.next);
        }
        if switch.next == next {
            if next != prev {
                self.order_agrees(next);
            }
        } else {
            self.throttle_passed(r, switch.next, next);
            self.follow_order(next, switch.next);
            self.unsure.insert(switch.next);
        }
        if self.sched.is_fair(next) && next != prev {
            self.estimate(next);
        }
        self.sched.newidle_balancing = true;
        if let Some(probes) = &mut self.sched.probes {
            probes.newidle = None;
        }
    }

    /// The stopper is woken without a record.
    fn wake_stopper(&mut self, cpu: CpuId, task: TaskId, clock: u64) {
        let t = &self.sched.tasks[task];
        if t.class != Class::Stop || t.is_queued() || self.sched.rqs[cpu].stop != task {
            return;
        }
        self.sched.tasks[task].state = TaskState::Interruptible;
        let wakeup = FollowedWakeup {
            this_cpu: cpu,
            cpu,
            wake_flags: 0,
            migrated: false,
        };
        self.sched.follow_wakeup(task, wakeup, clock);
    }

    /// Whoever a CPU first switches from ran on it when the recording began.
    pub(super) fn start_running(&mut self) {
        let taken_off = self.taken_off();
        for cpu in self.sched.rqs.ids() {
            let first = self.records.iter().find_map(|r| match &r.what {
                What::Switch { prev, .. } if r.cpu == cpu.0 => Some((r, prev)),
                _ => None,
            });
            let Some((r, prev)) = first.filter(|(_, prev)| prev.pid != 0) else {
                self.start_idle(cpu);
                continue;
            };
            let charges = self.times.charges(prev.pid, 0).iter();
            let mut charged = 0_u64;
            let mut latest = r.ts;
            for (at, runtime) in charges {
                let charge = &self.records[*at];
                if charge.ts > r.ts {
                    break;
                }
                charged = charged.saturating_add(*runtime);
                latest = latest.min(charge.ts.saturating_sub(charged));
            }
            start::set_clock(&mut self.sched, cpu, latest);
            for &(pid, _) in taken_off.iter().filter(|(_, from)| *from == cpu) {
                self.start_waiting(pid, cpu, latest);
            }
            let task = self.task(prev.pid, &prev.comm, r.cpu, latest);
            self.set_prio(task, prev.prio);
            self.begin_as_new(prev.pid, task);
            self.mend_curr(cpu, task, latest);
        }
    }

    /// Makes the task that ran by the recording the one that runs.
    pub(super) fn mend_curr(&mut self, cpu: CpuId, prev: TaskId, clock: u64) {
        self.judge.mended("running tasks that were others");
        let t = &self.sched.tasks[prev];
        if self.is_ordinary(prev) && !(t.on_cpu && t.cpu == cpu) {
            self.put_on(cpu, prev, clock);
        }
        self.wake_stopper(cpu, prev, clock);
        self.sched.newidle_balancing = false;
        let left = self.sched.rqs[cpu].curr;
        if self.is_ordinary(left) && left != prev && self.sleeps_untold(left) {
            self.set_prev_state(cpu, PrevState::Interruptible);
        }
        self.sched.follow_switch(cpu, clock, prev);
        self.sched.newidle_balancing = true;
    }

    /// A task left its CPU without a record. If the next one is of its waking, or there is none, it sleeps.
    fn sleeps_untold(&self, task: TaskId) -> bool {
        let next = self.pid(task).and_then(|pid| self.times.prio(pid, self.at));
        next.is_none_or(|(at, _)| matches!(self.records[at].what, What::Waking { .. }))
    }

    /// Puts the next task by the recording on this CPU's queue, if it is not there.
    pub(super) fn mend_next(&mut self, cpu: CpuId, next: TaskId, clock: u64) {
        let t = &self.sched.tasks[next];
        let awake = t.is_queued() && !self.sched.is_blocked(next);
        if !self.is_ordinary(next) || awake && t.cpu == cpu {
            return;
        }
        self.judge.mended("next tasks that were not queued");
        self.put_on(cpu, next, clock);
    }

    /// Puts a task on a CPU's queue. A CPU that runs it goes idle.
    pub(super) fn put_on(&mut self, cpu: CpuId, task: TaskId, clock: u64) {
        let t = &self.sched.tasks[task];
        if t.on_cpu {
            let other = t.cpu;
            let idle = self.sched.rqs[other].idle;
            let held = self.sched.rqs[other].clock;
            self.sched.follow_switch(other, held, idle);
        }
        if self.sched.is_blocked(task) {
            // It sleeps in line (DELAY_DEQUEUE), and its wakeup is not recorded.
            let wakeup = FollowedWakeup {
                this_cpu: cpu,
                cpu: self.sched.tasks[task].cpu,
                wake_flags: 0,
                migrated: false,
            };
            self.sched.follow_wakeup(task, wakeup, clock);
        }
        let t = &self.sched.tasks[task];
        if t.is_queued() {
            if t.cpu != cpu {
                self.sched.follow_detach(task, cpu, clock);
                self.sched.follow_attach(task, clock);
            }
        } else {
            self.sched.tasks[task].state = TaskState::Interruptible;
            self.sched.follow_queued(task, cpu, clock);
        }
    }
}
