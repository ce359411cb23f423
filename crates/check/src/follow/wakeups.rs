//! Wakeups: preemption is asked when the task is queued.
//!
//! Model.   `sched_waking` comes before the CPU is chosen, `sched_wakeup` after the task is queued: by
//!          the waker, or later by the target CPU (TTWU_QUEUE).
//! Not here. The choice of the CPU: see `placement`.

use super::Follower;
use super::ahead::Ahead;
use super::classify::Pair;
use super::clock_reads::Reading;
use crate::baselines::Baselines;
use crate::judge::{Class, Measure};
use crate::record::{Record, What};
use fairwind_sched::flags::WF_FROM_IRQ;
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::replay::FollowedWakeup;
use fairwind_sched::{CpuId, TaskId};

/// A wakeup that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingWakeup {
    /// The waker's CPU, and who ran there.
    by: u32,
    waker: TaskId,
    /// When it began.
    ts: u64,
    wake_flags: u32,
    resched_before: bool,
    /// The task was running, about to sleep.
    running: bool,
    /// And it was still queued, or counted as that, so that the waker waits for its CPU, and finds that it sleeps.
    finds_asleep: bool,
    /// The task has left the CPU where it slept.
    migrated: bool,
    /// The CPU that queues it, to which it is still to be left: it was running when it was woken.
    left_to: Option<CpuId>,
    /// The waker has recorded something else since.
    goes_on: bool,
    /// How it goes on, if the task was still queued where it slept, and is not once its CPU is chosen.
    leaves: Option<Ahead>,
}

impl Follower<'_> {
    pub(super) fn waking(&mut self, r: &Record, pid: i32, comm: &str, prio: i32, slept_on: u32) {
        self.settle_clocks(r.cpu);
        self.forget_told();
        let task = self.task(pid, comm, slept_on, r.ts);
        self.wakes_stopper(r, task);
        let slept_on_cpu = self.sched.tasks[task].cpu;
        let queued = self.sched.tasks[task].is_queued();
        let running = self.sched.rqs[slept_on_cpu].curr == task
            || !queued && self.still_runs(r, pid, slept_on_cpu);
        if !running {
            self.set_prio(task, prio);
        }
        if !running && !queued {
            self.changed_asleep(task);
            self.sleeps_on(task, slept_on);
            if self.is_ordinary(task) {
                self.bind_by_name(task);
            }
        }
        self.cpu(r.cpu).waking = self.wakes_here(pid).then_some(pid);
        let wake_flags = if r.irq { WF_FROM_IRQ } else { 0 };
        let ahead = self.ahead.get(&self.at).copied();
        let target = ahead.and_then(|ahead| (ahead.remote && running).then_some(ahead.target));
        let placed = ahead.filter(|ahead| ahead.migrate.is_some() || ahead.remote || ahead.anew);
        let pending = PendingWakeup {
            by: r.cpu,
            waker: self.sched.rqs[CpuId(r.cpu)].curr,
            ts: r.ts,
            wake_flags,
            resched_before: r.need_resched,
            running,
            finds_asleep: running && self.finds_asleep(r, pid, slept_on_cpu),
            migrated: false,
            left_to: target
                .filter(|&cpu| (cpu as usize) < self.cpus.len())
                .map(CpuId),
            goes_on: false,
            leaves: placed.filter(|_| self.sched.is_blocked(task) && !running && queued),
        };
        self.wakeups.insert(pid, pending);
        if let Some(ahead) = ahead.filter(|_| !running && !queued && self.is_ordinary(task)) {
            self.begin_placement(r, pid, task, wake_flags, ahead);
        }
    }

    /// Does a sleeper's CPU switch from it only later, though it has pulled another task first, which came at once with that
    /// switch, and does the waker not wait for it?
    fn still_runs(&self, r: &Record, pid: i32, cpu: CpuId) -> bool {
        let Some(at) = self.times.last_switch(cpu.0, self.at) else {
            return false;
        };
        let last = &self.records[at];
        let leaves = matches!(&last.what, What::Switch { prev, .. } if prev.pid == pid);
        let goes_on = |next: usize| self.records[next].ts < last.ts;
        leaves
            && last.ts > r.ts
            && self.next_on_cpu[self.at].is_some_and(goes_on)
            && !self.wakes_here(pid)
    }

    /// Is the task, which runs, charged once more before it is switched away from? Then it leaves its queue only now.
    fn leaves_queue_next(&self, pid: i32, cpu: CpuId) -> bool {
        let own = self.times.records_of(cpu.0, self.at + 1).iter();
        let mut own = own.map(|&at| &self.records[at]);
        let next =
            own.find(|r| !r.irq && matches!(r.what, What::Runtime { .. } | What::Switch { .. }));
        next.is_some_and(
            |next| matches!(next.what, What::Runtime { pid: charged, .. } if charged == pid),
        )
    }

    /// Does a task that runs leave its queue only now, or was it charged so shortly ago that it still counts as queued?
    fn finds_asleep(&self, r: &Record, pid: i32, cpu: CpuId) -> bool {
        let own = self.times.records_until(cpu.0, self.at).iter().rev();
        let mut own = own.map(|&at| &self.records[at]);
        let last = own.find(|r| match r.what {
            What::Runtime { pid: of, .. } => of == pid,
            ref what => matches!(what, What::Switch { .. }),
        });
        let just_charged = last.is_some_and(|last| {
            let charge = matches!(last.what, What::Runtime { .. });
            charge && r.ts.saturating_sub(last.ts) <= self.usually_queued
        });
        just_charged || self.leaves_queue_next(pid, cpu)
    }

    /// Tasks that were woken as they went to sleep: once they sleep, and the waker has recorded something else, it has left
    /// them to other CPUs to queue.
    pub(super) fn leave_to_others(&mut self, r: &Record) {
        let delayed = |(pid, wakeup): (&i32, &PendingWakeup)| {
            let ahead = wakeup.leaves.filter(|_| wakeup.by == r.cpu)?;
            ahead.migrate.is_none().then_some(*pid)
        };
        let delayed: Vec<i32> = self.wakeups.iter().filter_map(delayed).collect();
        for pid in delayed {
            self.place_delayed(r, pid);
        }
        for (pid, wakeup) in &mut self.wakeups {
            wakeup.goes_on |= wakeup.by == r.cpu;
            let task = self.names.tasks.get(pid);
            let Some((&task, cpu)) = task.zip(wakeup.left_to).filter(|_| wakeup.goes_on) else {
                continue;
            };
            if self.sched.rqs[self.sched.tasks[task].cpu].curr != task {
                wakeup.left_to = None;
                self.sched.follow_ttwu_pending(cpu, true);
            }
        }
    }

    /// The CPU of a sleeper that was still queued is being chosen: it has left its queue.
    pub(super) fn place_delayed(&mut self, r: &Record, pid: i32) {
        let Some(wakeup) = self.wakeups.get_mut(&pid) else {
            return;
        };
        let (leaves, wake_flags) = (wakeup.leaves.take(), wakeup.wake_flags);
        let Some((ahead, task)) = leaves.zip(self.known(pid)) else {
            return;
        };
        self.take_sleeper_off(task);
        if self.is_ordinary(task) && !self.sched.tasks[task].is_queued() {
            self.begin_placement(r, pid, task, wake_flags, ahead);
        }
    }

    /// A task that is being woken leaves the CPU where it slept.
    pub(super) fn leave(&mut self, pid: i32, dest: u32) {
        let Some(task) = self.known(pid) else {
            return;
        };
        let sleeps = self.is_ordinary(task) && !self.sched.tasks[task].is_queued();
        let Some(wakeup) = self.wakeups.get_mut(&pid) else {
            return;
        };
        if sleeps && !wakeup.running && (dest as usize) < self.cpus.len() {
            wakeup.migrated = true;
            self.note_read_of_time(task);
            let (from, dest) = (self.sched.tasks[task].cpu, CpuId(dest));
            if self.has_set_next(from) {
                let left = self.sched.follow_late_migration(task, dest);
                self.cpu(from.0).left_late.push(left);
            } else {
                self.sched.follow_waking_migration(task, dest);
            }
        }
    }

    /// Is this CPU the one that wakes the task?
    pub(super) fn is_waking(&self, cpu: u32, pid: i32) -> bool {
        self.wakeups
            .get(&pid)
            .is_some_and(|wakeup| wakeup.by == cpu)
    }

    /// Does the wakeup that begins here go on until this CPU has queued the task?
    fn wakes_here(&self, pid: i32) -> bool {
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            let what = &self.records[at].what;
            if !what.is_inside() {
                return matches!(what, What::Wakeup { pid: woken, .. } if *woken == pid);
            }
        }
        false
    }

    pub(super) fn wakeup(&mut self, r: &Record, pid: i32, prio: i32, target: u32) {
        let direct = self.cpu(r.cpu).waking == Some(pid);
        if direct {
            self.cpu(r.cpu).waking = None;
        }
        self.place_delayed(r, pid);
        self.end_placement(pid);
        let Some(wakeup) = self.wakeups.remove(&pid) else {
            return;
        };
        if target as usize >= self.cpus.len() {
            return;
        }
        if !direct {
            self.sched.follow_ttwu_pending(CpuId(target), false);
        }
        let task = self.task(pid, "", target, r.ts);
        let curr_there = self.sched.rqs[self.sched.tasks[task].cpu].curr;
        if wakeup.running && !(self.sched.is_blocked(task) && curr_there != task) {
            return;
        }
        let cpu = CpuId(target);
        // Whom another CPU left to this one before it had switched, an interrupt wakes; the idle loop, whom it left later.
        let left_later = !r.irq;
        let moves = cpu != self.sched.tasks[task].cpu;
        let selects = direct || wakeup.finds_asleep || moves || left_later;
        if wakeup.running && selects {
            self.count_early_wakeup(wakeup.waker, task);
        }
        self.set_prio(task, prio);
        let told = if direct {
            self.cpu(r.cpu).clocks.remove(&target)
        } else {
            self.cpu(r.cpu).pending_clock.take()
        };
        let told = self.clock_probed_before(r.cpu, self.at).or(told);
        let reading = Reading {
            begun: direct.then_some(wakeup.ts),
            end: r.ts,
            own: target == r.cpu,
        };
        let told = if self.sched.is_idle(cpu) {
            told
        } else {
            self.read_by_wakeup(r.cpu, cpu, reading, told)
        };
        let probed = self.cpu(r.cpu).first_probe;
        let clock = told.unwrap_or_else(|| {
            if self.sched.is_idle(cpu) {
                self.clock_out_of_idle(cpu, probed.unwrap_or(r.ts))
            } else {
                let read = probed.unwrap_or_else(|| self.clock_reads.usual(reading));
                let delayed = self.sched.ses[self.sched.tasks[task].se].sched_delayed;
                if !self.sched.is_fair(self.sched.rqs[cpu].curr) {
                    self.clock_at(cpu, read)
                } else if delayed {
                    self.clock_of_requeue(cpu, read)
                } else {
                    self.uncharged_clock(cpu, task, read)
                }
            }
        });
        self.changed_by_place(task);
        let by_charge = std::mem::take(&mut self.cpu(r.cpu).resched_by_charge);
        let before = self.sched.rqs[cpu].need_resched && !by_charge;
        let curr = self.sched.rqs[cpu].curr;
        let followed = FollowedWakeup {
            this_cpu: CpuId(wakeup.by),
            cpu,
            wake_flags: wakeup.wake_flags,
            migrated: wakeup.migrated,
        };
        self.told_of(ProbePoint::PlaceEntity, task, cpu);
        let clock = match told {
            Some(told) => told,
            None => {
                let se = self.sched.tasks[task].se;
                self.placing_clock(cpu, se, clock, (wakeup.ts, r.ts), |sched, clock| {
                    sched.follow_wakeup(task, followed, clock);
                })
            }
        };
        let asked = target == r.cpu && r.need_resched && !before;
        let asked_anyway = asked && self.asks_as_batch(task, followed, clock);
        self.sched.follow_wakeup(task, followed, clock);
        self.sched.guess_clock(None);
        self.forget_told();
        if target == r.cpu {
            let flagged = if direct {
                wakeup.resched_before
            } else {
                self.cpu(r.cpu).last_resched
            };
            let told = r.need_resched || !self.ends_by_switch(r);
            if told && !flagged && !before && !self.sched.is_idle(cpu) {
                self.judge_preemption(r, task, curr, asked_anyway);
            }
            self.sched.rqs[cpu].need_resched = r.need_resched;
        }
        self.stay_idle_unseen(cpu);
    }

    /// Is only the switch that comes next known to be after the wakeup? It tells no longer whether it was asked for.
    fn ends_by_switch(&self, r: &Record) -> bool {
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at]);
        next.is_some_and(|next| next.ts == r.ts && matches!(next.what, What::Switch { .. }))
    }

    /// Has the wakeup asked for a switch? `asked_anyway` is whether one is asked for whatever the policy of the woken task.
    fn judge_preemption(&mut self, r: &Record, task: TaskId, curr: TaskId, asked_anyway: bool) {
        if !self.sched.is_fair(curr) || !self.sched.is_fair(task) {
            return;
        }
        let ours = self.sched.rqs[CpuId(r.cpu)].need_resched;
        let kernel = r.need_resched;
        let vruntime = |task: TaskId| self.sched.ses[self.sched.tasks[task].se].vruntime;
        let less = (vruntime(task).wrapping_sub(vruntime(curr)) as i64) < 0;
        let baselines = Baselines {
            candidates: 2,
            fifo: Some(!kernel),
            least_vruntime: Some(kernel == less),
        };
        let mut class = self.class_of_pair(r.cpu, Pair { a: task, b: curr });
        if class == Class::Ours {
            class = self.class_of_policy([task, curr], [kernel, ours]);
        }
        if !asked_anyway && self.tells_policy(task, class) {
            self.learn_batch(task, [kernel, ours]);
        }
        let differs = (kernel != ours).then(|| {
            let text = format!(
                "{} wakes beside {}: kernel {kernel}, ours {ours}",
                self.describe(self.shown(task)),
                self.describe(self.shown(curr))
            );
            (class, text)
        });
        let decision = Self::decision(r, Measure::Preemption, "wakeup");
        self.judge.judge(decision, baselines, differs);
    }
}
