//! Wakeups and forks: preemption is asked when the task is queued.
//!
//! Model.   `sched_waking` comes before the CPU is chosen, `sched_wakeup` after the task is queued: by
//!          the waker, or later by the target CPU (TTWU_QUEUE). A new task's CPU is chosen right after
//!          `sched_process_fork`.
//! Not here. The choice of the CPU: see `placement`.

use super::Follower;
use super::ahead::Ahead;
use super::classify::{NOT_ALLOWED, Pair};
use super::placement::describe_cpus;
use crate::baselines::Baselines;
use crate::judge::{Class, Measure};
use crate::record::{Record, What};
use fairwind_sched::flags::WF_FROM_IRQ;
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::replay::FollowedWakeup;
use fairwind_sched::task::TaskState;
use fairwind_sched::{CpuId, TaskId};

/// A wakeup that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingWakeup {
    /// The waker's CPU.
    by: u32,
    /// When it began.
    ts: u64,
    wake_flags: u32,
    resched_before: bool,
    /// The task was running, about to sleep.
    running: bool,
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
        let running = self.sched.rqs[self.sched.tasks[task].cpu].curr == task;
        let queued = self.sched.tasks[task].is_queued();
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
        let placed = ahead.filter(|ahead| ahead.migrate.is_some() || ahead.remote);
        let pending = PendingWakeup {
            by: r.cpu,
            ts: r.ts,
            wake_flags,
            resched_before: r.need_resched,
            running,
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
        if self.sched.follow_delayed_dequeue(task) {
            self.judge.mended("sleepers that were off their queue");
        }
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
            self.sched.follow_waking_migration(task, CpuId(dest));
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
        self.set_prio(task, prio);
        let cpu = CpuId(target);
        let told = if direct {
            self.cpu(r.cpu).clocks.remove(&target)
        } else {
            self.cpu(r.cpu).pending_clock.take()
        };
        let told = self.clock_probed_before(r.cpu, self.at).or(told);
        let probed = self.cpu(r.cpu).first_probe;
        let clock = told.unwrap_or_else(|| {
            if self.sched.is_idle(cpu) {
                self.clock_out_of_idle(cpu, probed.unwrap_or(r.ts))
            } else {
                let read = if direct { wakeup.ts } else { r.ts };
                let read = probed.unwrap_or(read);
                if self.sched.is_fair(self.sched.rqs[cpu].curr) {
                    self.uncharged_clock(cpu, task, read)
                } else {
                    self.clock_at(cpu, read)
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
        self.told_of(ProbePoint::PlaceEntity, task);
        let clock = match told {
            Some(told) => told,
            None => {
                let se = self.sched.tasks[task].se;
                self.placing_clock(cpu, se, clock, (wakeup.ts, r.ts), |sched, clock| {
                    sched.follow_wakeup(task, followed, clock);
                })
            }
        };
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
                self.judge_preemption(r, task, curr);
            }
            self.sched.rqs[cpu].need_resched = r.need_resched;
        }
    }

    /// Is only the switch that comes next known to be after the wakeup? It tells no longer whether it was asked for.
    fn ends_by_switch(&self, r: &Record) -> bool {
        let next = self.next_on_cpu[self.at].map(|at| &self.records[at]);
        next.is_some_and(|next| next.ts == r.ts && matches!(next.what, What::Switch { .. }))
    }

    fn judge_preemption(&mut self, r: &Record, task: TaskId, curr: TaskId) {
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
        let class = self.class_of_pair(r.cpu, Pair { a: task, b: curr });
        if class == Class::Ours {
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

    pub(super) fn fork(&mut self, r: &Record, parent: i32, child: i32, comm: &str) {
        let cpu = CpuId(r.cpu);
        let held = self.sched.rqs[cpu].clock;
        let clock = self.cpu(r.cpu).pending_clock.take().unwrap_or(held);
        let parent = self.task(parent, "", r.cpu, r.ts);
        if self.sched.rqs[cpu].curr != parent {
            self.judge.mended("parents that were not running");
            // The child gets its parent's CPUs and priority.
            self.mend_curr(cpu, parent, clock);
        }
        let task = self.sched.fork(cpu, clock);
        self.sched.follow_charge(cpu, clock);
        self.name_task(child, task, comm);
        self.wakees.forked(parent, task);
        if let Some(target) = self.forked_to(child) {
            self.place_fork(r, child, [parent, task], target);
        }
    }

    /// A new task whose fork no record tells: who forked it is not known.
    fn forked_before(&mut self, r: &Record, pid: i32) -> TaskId {
        let cpu = CpuId(r.cpu);
        let task = self.sched.spawn(cpu, self.clock_at(cpu, r.ts));
        self.take_effects(r.cpu);
        self.name_task(pid, task, "");
        task
    }

    /// Where the kernel starts a new task.
    fn forked_to(&self, child: i32) -> Option<CpuId> {
        let mut at = self.at;
        while let Some(next) = self.next_on_cpu[at] {
            at = next;
            if let What::WakeupNew { pid, target, .. } = self.records[at].what
                && pid == child
            {
                return (target < self.cpus.len() as u32).then_some(CpuId(target));
            }
        }
        None
    }

    /// Asks where a new task would start: the kernel chooses right after it has recorded the fork.
    fn place_fork(&mut self, r: &Record, pid: i32, [parent, task]: [TaskId; 2], kernel: CpuId) {
        if self.sched.tasks[task].nr_cpus_allowed == 1 {
            return;
        }
        let here = CpuId(r.cpu);
        let now = self.clock_at(here, r.ts);
        let before = self.sched.before_placement(here, task);
        let ours = self.sched.ask_fork_cpu(here, task, now);
        self.learn_bounds(parent, task, [kernel, ours], &before, |sched| {
            sched.ask_fork_cpu(here, task, now)
        });
        self.parents.insert(task, parent);
        self.inherit_bounds(parent, task);
        // A child may use the CPUs that its parent may, and mostly lives too short to be seen on them.
        let unseen = |pid| !self.whereabouts.runs_on(pid, ours);
        let class = if unseen(pid) && self.pid(parent).is_none_or(unseen) {
            NOT_ALLOWED
        } else {
            Class::Ours
        };
        let differs = (ours != kernel).then(|| {
            let text = format!(
                "{} forked on cpu{}: kernel cpu{}, ours cpu{}; {}",
                self.name(task),
                r.cpu,
                kernel.0,
                ours.0,
                describe_cpus(&self.sched),
            );
            (class, text)
        });
        let baselines = Baselines {
            candidates: u64::from(self.sched.tasks[task].nr_cpus_allowed),
            fifo: Some(kernel == here),
            least_vruntime: None,
        };
        let decision = Self::decision(r, Measure::Placement, "fork");
        self.judge.judge(decision, baselines, differs);
    }

    pub(super) fn wakeup_new(&mut self, r: &Record, pid: i32, prio: i32, target: u32) {
        if target as usize >= self.cpus.len() {
            return;
        }
        let task = match self.known(pid) {
            Some(task) => task,
            None => self.forked_before(r, pid),
        };
        self.set_prio(task, prio);
        if self.sched.tasks[task].state != TaskState::New {
            return;
        }
        let kernel = CpuId(target);
        let told = if target == r.cpu {
            self.cpu(r.cpu).pending_clock.take()
        } else {
            self.cpu(r.cpu).clocks.remove(&target)
        };
        let told = self.clock_probed_before(r.cpu, self.at).or(told);
        let read = self.cpu(r.cpu).first_probe.unwrap_or(r.ts);
        let clock = told.unwrap_or_else(|| {
            if self.sched.is_idle(kernel) {
                self.clock_out_of_idle(kernel, read)
            } else {
                self.uncharged_clock(kernel, task, read)
            }
        });
        self.told_of_enqueue(task);
        let clock = match told {
            Some(told) => told,
            None => {
                let se = self.sched.tasks[task].se;
                self.placing_clock(kernel, se, clock, (0, r.ts), |sched, clock| {
                    sched.follow_new_task(task, kernel, clock);
                })
            }
        };
        self.sched.follow_new_task(task, kernel, clock);
        self.sched.guess_clock(None);
        if target == r.cpu {
            self.sched.rqs[kernel].need_resched = r.need_resched;
        }
        self.forget_told();
    }
}
