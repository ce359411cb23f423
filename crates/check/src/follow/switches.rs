//! Switches: which task `schedule()` picked, and whether a CPU without tasks pulled one.

use super::Follower;
use super::classify::Pair;
use super::cpu::Move;
use crate::baselines::Baselines;
use crate::judge::Measure;
use crate::record::{Party, PrevState, Record};
use fairwind_sched::replay::FollowedWakeup;
use fairwind_sched::task::{Class, TaskState};
use fairwind_sched::{CpuId, TaskId};

impl Follower<'_> {
    pub(super) fn switch(&mut self, r: &Record, prev: &Party, prev_state: PrevState, next: &Party) {
        let cpu = CpuId(r.cpu);
        self.cpu(r.cpu).waking = None;
        if prev.pid == 0 {
            self.jiffies.busy(r.cpu, r.ts, true);
            self.sched.follow_jiffies(self.jiffies.now());
        }
        let prev_task = self.task(prev.pid, &prev.comm, r.cpu, r.ts);
        let next_task = self.task(next.pid, &next.comm, r.cpu, r.ts);
        let held = self.sched.rqs[cpu].clock;
        let clock = match self.cpu(r.cpu).pending_clock.take() {
            Some(clock) => {
                // The kernel did update its clock here, so it had no wakeup's clock to reuse.
                self.sched.rqs[cpu].clock_skip_requested = false;
                clock.max(held)
            }
            None if self.sched.is_idle(cpu) => self.clock_at(cpu, r.ts),
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
        self.unthrottle_above(r, next_task, clock);
        let sleeps = prev.pid != 0 && prev_state != PrevState::Runnable;
        let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
        let left = self.sched.rqs[cpu]
            .nr_running
            .saturating_sub(u32::from(sleeps));
        self.wake_stopper(cpu, next_task, clock);
        let by_stopper = self.sched.tasks[prev_task].class == Class::Stop;
        let newly_idle = left == 0 && !by_stopper;
        if by_stopper {
            self.pushed(r, clock, &moves);
        }
        let pulled = newly_idle && !moves.is_empty();
        if !(pulled && self.newly_idle(r, clock, prev_state, &moves, next_task)) {
            self.follow_pick(r, clock, next_task, &moves, newly_idle && prev.pid != 0);
        }
        self.compare_vruntimes(r.cpu, r.ts);
        let context = self.cpu(r.cpu);
        let set_next = std::mem::take(&mut context.set_next);
        let put_prev = std::mem::take(&mut context.put_prev);
        self.compare_probes(r, next_task, set_next, "set_next");
        self.compare_probes(r, prev_task, put_prev, "put_prev");
        self.unsure.remove(&prev_task);
        if next.pid != 0 {
            self.set_prio(next_task, next.prio);
        }
        self.sched.rqs[cpu].need_resched = false;
        if prev.pid == 0 {
            self.limits.restart_ticks(r);
        }
        if next.pid == 0 {
            if prev.pid != 0 && prev_state == PrevState::Runnable {
                self.throttle_above(r, prev_task);
            }
            self.sched.nohz_run_idle_balance(cpu);
            self.stop_tick(r);
        }
    }

    /// `schedule()` went on with the task that ran.
    pub(super) fn follow_same(&mut self, r: &Record, clock: u64) {
        let cpu = CpuId(r.cpu);
        let curr = self.sched.rqs[cpu].curr;
        self.sched.rqs[cpu].clock_skip_requested = false;
        let moves = std::mem::take(&mut self.cpu(r.cpu).moves);
        self.follow_pick(r, clock, curr, &moves, false);
        self.compare_vruntimes(r.cpu, r.ts);
        self.sched.rqs[cpu].need_resched = false;
    }

    fn set_prev_state(&mut self, cpu: CpuId, state: PrevState) {
        let state = match state {
            PrevState::Runnable => return,
            PrevState::Interruptible => TaskState::Interruptible,
            PrevState::Uninterruptible => TaskState::Uninterruptible,
            PrevState::Dead => TaskState::Dead,
        };
        self.sched.set_current_state(cpu, state);
    }

    /// Judges the pick and carries it out.
    fn follow_pick(&mut self, r: &Record, clock: u64, next: TaskId, moves: &[Move], idles: bool) {
        let cpu = CpuId(r.cpu);
        self.sched.newidle_balancing = false;
        if idles && !self.sched.rqs[cpu].ttwu_pending {
            self.sched.rqs[cpu].idle_stamp = if moves.is_empty() { clock } else { 0 };
        }
        if !moves.is_empty() {
            if idles {
                let idle = self.sched.rqs[cpu].idle;
                self.sched.follow_switch(cpu, clock, idle);
            }
            self.follow_moves(r.cpu, clock, moves);
        }
        self.mend_next(cpu, next, clock);
        let candidates = self.candidates(cpu);
        let baselines = Baselines {
            candidates: candidates.len() as u64,
            fifo: Some(self.longest_waiting(cpu) == Some(next)),
            least_vruntime: Some(self.least_vruntime(cpu, None) == Some(next)),
        };
        let before = self.describe_all(&candidates);
        let (switch, possible) = self.sched.follow_switch(cpu, clock, next);
        if self.is_ordinary(next) && self.sched.is_fair(next) && candidates.len() >= 2 {
            if self.unsure.contains(&next) {
                self.judge.not_asked(Measure::Pick);
            } else {
                let class = self.class_of_pair(
                    r.cpu,
                    Pair {
                        a: next,
                        b: switch.next,
                    },
                );
                let text = format!(
                    "kernel {}, ours {}, of {before}",
                    self.name(next),
                    self.name(switch.next)
                );
                let decision = Self::decision(r, Measure::Pick, "switch");
                self.judge
                    .judge(decision, switch.next == next, baselines, || (class, text));
            }
        }
        if !possible {
            self.judge.mended("next tasks that could not run");
        }
        if switch.next != next {
            self.unsure.insert(switch.next);
        }
        self.sched.newidle_balancing = true;
    }

    pub(super) fn describe_all(&self, tasks: &[TaskId]) -> String {
        tasks
            .iter()
            .map(|task| self.describe(*task))
            .collect::<Vec<_>>()
            .join(", ")
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

    /// Makes the task that ran by the recording the one that runs.
    pub(super) fn mend_curr(&mut self, cpu: CpuId, prev: TaskId, clock: u64) {
        self.judge.mended("running tasks that were others");
        if self.is_ordinary(prev) && !self.sched.tasks[prev].on_cpu {
            self.put_on(cpu, prev, clock);
        }
        self.wake_stopper(cpu, prev, clock);
        self.sched.newidle_balancing = false;
        self.sched.follow_switch(cpu, clock, prev);
        self.sched.newidle_balancing = true;
    }

    /// Puts the next task by the recording on this CPU's queue, if it is not there.
    fn mend_next(&mut self, cpu: CpuId, next: TaskId, clock: u64) {
        let t = &self.sched.tasks[next];
        let awake = t.is_queued() && !self.sched.is_blocked(next);
        if !self.is_ordinary(next) || awake && t.cpu == cpu {
            return;
        }
        self.judge.mended("next tasks that were not queued");
        if t.on_cpu {
            let other = t.cpu;
            let idle = self.sched.rqs[other].idle;
            let held = self.sched.rqs[other].clock;
            self.sched.follow_switch(other, held, idle);
        }
        self.put_on(cpu, next, clock);
    }

    fn put_on(&mut self, cpu: CpuId, task: TaskId, clock: u64) {
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
                self.sched.follow_migration(task, cpu, clock, clock);
            }
        } else {
            self.sched.tasks[task].state = TaskState::Interruptible;
            self.sched.follow_queued(task, cpu, clock);
        }
    }
}
