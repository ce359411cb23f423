//! Following another scheduler: for a caller that knows what a kernel did and wants to know what this one would have done.
//!
//! Model. Each decision is split in two: *ask*, which says what would be decided and changes only what deciding
//!        changes, and *do*, which carries out what the other kernel decided. The caller supplies the times of the CPUs'
//!        clocks, which need not agree between CPUs to the nanosecond.
//! Source. The same functions as `ttwu`, `schedule` and `attributes` follow.

mod averages;
mod before_placement;
mod contributions;
pub(crate) mod course;
mod hangs;
mod left_load;
mod limits;
mod shares;
mod shifts;
mod solve;
mod sums;
pub(crate) mod unknowns;
mod weights;

pub use before_placement::BeforePlacement;
pub use hangs::HangsOn;
pub use left_load::LeftLoad;
pub use unknowns::ONE;

use crate::attributes::SchedAttr;
use crate::balance::FollowedMove;
use crate::entity::LoadWeight;
use crate::flags::{DEQUEUE_DELAYED, DEQUEUE_SLEEP, WF_MIGRATED, WF_TTWU};
use crate::sched::Sched;
use crate::schedule::Switch;
use crate::task::{Class, OnRq, Policy, TaskState};
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId, TaskId};
use alloc::vec::Vec;

/// How a wakeup reached its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowedWakeup {
    /// Where the waker ran.
    pub this_cpu: CpuId,
    /// Where the task was queued.
    pub cpu: CpuId,
    /// [`WF_SYNC`](crate::flags::WF_SYNC), [`WF_FROM_IRQ`](crate::flags::WF_FROM_IRQ).
    pub wake_flags: u32,
    /// It has left its CPU by [`follow_waking_migration`](Sched::follow_waking_migration).
    pub migrated: bool,
}

/// How a CPU that ran out of tasks was balanced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewIdle {
    /// Its clock after that.
    pub now: Nanos,
    /// What the other kernel moved there; `None`: ours is to find out.
    pub moves: Option<Vec<FollowedMove>>,
    /// How often ours may look for tasks: again where what was pulled was about to sleep.
    pub times: usize,
}

impl Sched {
    /// Asks where a sleeping task would be woken. One that is queued after all stays as it is.
    pub fn ask_wakeup_cpu(
        &mut self,
        this_cpu: CpuId,
        task: TaskId,
        now: Nanos,
        wake_flags: u32,
    ) -> CpuId {
        self.set_time(now);
        let prev = self.tasks[task].wake_cpu;
        let state = core::mem::replace(&mut self.tasks[task].state, TaskState::Waking);
        self.cpu_sums.mark_all();
        let cpu = self.select_task_rq(this_cpu, task, prev, wake_flags | WF_TTWU);
        if self.tasks[task].is_queued() {
            self.tasks[task].state = state;
        }
        cpu
    }

    /// Takes a sleeper off its queue whose dequeue was delayed: the other kernel did so earlier. False if there is
    /// none.
    pub fn follow_delayed_dequeue(&mut self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        if !t.is_queued() || !self.ses[t.se].sched_delayed {
            return false;
        }
        let cpu = t.cpu;
        self.cpu_sums.mark(cpu);
        self.dequeue_task(cpu, task, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
        true
    }

    /// A wakeup is on its way to a CPU, or no longer. Whether it was before.
    pub fn follow_ttwu_pending(&mut self, cpu: CpuId, pending: bool) -> bool {
        self.cpu_sums.mark(cpu);
        core::mem::replace(&mut self.rqs[cpu].ttwu_pending, pending)
    }

    /// A task that is being woken leaves its CPU, as soon as the other has been chosen.
    pub fn follow_waking_migration(&mut self, task: TaskId, cpu: CpuId) {
        self.tasks[task].state = TaskState::Waking;
        if self.tasks[task].cpu != cpu {
            self.set_task_cpu(task, cpu);
        }
    }

    /// A sleeping task was last on another CPU than was known. Its virtual runtime there is not known either; it is
    /// taken to have slept for so long that its sleep decides.
    pub fn follow_sleeper(&mut self, task: TaskId, cpu: CpuId) {
        self.assign_task_cpu(task, cpu);
        self.tasks[task].recent_used_cpu = cpu;
        let se = self.tasks[task].se;
        let base = self.cfs_rqs[self.ses[se].cfs_rq].zero_vruntime;
        self.ses[se].vruntime = base.wrapping_sub(self.profile.tunables.latency_ns);
    }

    /// Asks where a new task would start.
    pub fn ask_fork_cpu(&mut self, this_cpu: CpuId, task: TaskId, now: Nanos) -> CpuId {
        self.set_time(now);
        let cpu = self.tasks[task].cpu;
        self.tasks[task].recent_used_cpu = cpu;
        self.cpu_sums.mark_all();
        self.select_task_rq(this_cpu, task, cpu, crate::flags::WF_FORK)
    }

    /// Starts a new task where the other kernel did.
    pub fn follow_new_task(&mut self, task: TaskId, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.tasks[task].state = TaskState::Running;
        self.start_new_task(task, cpu);
    }

    /// Wakes a task where the other kernel did. Whether it preempts shows in the target's `need_resched`.
    pub fn follow_wakeup(&mut self, task: TaskId, wakeup: FollowedWakeup, now: Nanos) {
        self.set_time(now);
        let mut wake_flags = wakeup.wake_flags | WF_TTWU;
        if self.tasks[task].on_rq == OnRq::Queued {
            if self.is_blocked(task) {
                self.try_to_wake_up(wakeup.this_cpu, task, now, wakeup.wake_flags);
            }
            return;
        }
        self.tasks[task].state = TaskState::Waking;
        if wakeup.migrated {
            wake_flags |= WF_MIGRATED;
        }
        if self.tasks[task].cpu != wakeup.cpu {
            wake_flags |= WF_MIGRATED;
            self.set_task_cpu(task, wakeup.cpu);
        }
        self.update_rq_clock(wakeup.cpu);
        self.ttwu_do_activate(wakeup.cpu, task, wake_flags);
    }

    /// Takes a queued task off to be moved, as the other kernel's balancing did, by the clock of its queue. False if it
    /// is not one that could be moved.
    pub fn follow_detach(&mut self, task: TaskId, dest: CpuId, now: Nanos) -> bool {
        let t = &self.tasks[task];
        let src = t.cpu;
        if !t.is_queued() || t.on_cpu || src == dest {
            return false;
        }
        self.set_time(now);
        self.update_rq_clock(src);
        self.deactivate_task(src, task, 0);
        self.set_task_cpu(task, dest);
        true
    }

    /// Queues a task that was detached, by the clock of its new queue.
    pub fn follow_attach(&mut self, task: TaskId, now: Nanos) {
        let dest = self.tasks[task].cpu;
        self.set_time(now);
        self.update_rq_clock(dest);
        self.activate_task(dest, task, 0);
        self.wakeup_preempt(dest, task, 0);
    }

    /// A task that was attached is not on its queue yet: as it was before that, with this virtual runtime.
    pub fn follow_recall(&mut self, task: TaskId, vruntime: u64) {
        self.deactivate_task(self.tasks[task].cpu, task, 0);
        let se = self.tasks[task].se;
        self.ses[se].vruntime = vruntime;
    }

    /// Instead of balancing a CPU that runs out of tasks: what the other kernel did. `None`: ours is asked, at the time
    /// that the other kernel balanced, and pulls nothing once it was asked often enough.
    pub(crate) fn follow_newidle(&mut self, cpu: CpuId) -> Option<i32> {
        let probes = self.probes.as_mut()?;
        let newidle = probes.newidle.as_mut()?;
        let (now, moves) = (newidle.now, newidle.moves.take());
        let Some(times) = newidle.times.checked_sub(1) else {
            self.newidle_balancing = false;
            return None;
        };
        newidle.times = times;
        probes.limit_clock(cpu, now);
        self.set_time(now);
        let moves = moves?;
        self.update_blocked_averages(cpu);
        for moved in &moves {
            self.follow_tried(moved.task, cpu);
        }
        let missed = self.follow_pass(&moves);
        Some(i32::from(missed < moves.len()))
    }

    /// Begins a call of schedule(): the running task leaves its queue for the state that was
    /// [set](Self::set_current_state), and with it, if nobody can run, those that sleep and are queued still
    /// (DELAY_DEQUEUE). The next call goes on with that.
    pub fn follow_block(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.rqs[cpu].clock_skip_requested = false;
        self.update_rq_clock(cpu);
        self.block_curr(cpu);
        self.follow_pick_in_vain(cpu);
        self.rqs[cpu].curr_has_left = true;
    }

    /// A CPU whose queued tasks all sleep (DELAY_DEQUEUE) looks for one to run: they leave its queue.
    pub fn follow_pick_in_vain(&mut self, cpu: CpuId) {
        let rq = &self.rqs[cpu];
        let fair = &self.cfs_rqs[rq.cfs];
        let asleep = fair.h_nr_queued != 0 && fair.h_nr_runnable == 0;
        if asleep && rq.nr_running == fair.h_nr_queued {
            (self.fair.pick_next_task)(self, cpu, rq.curr, false);
        }
    }

    /// Calls schedule() and then makes `next` the running task, whatever was picked. The pick is in the result's `next`.
    /// False if `next` is not queued here and so cannot run.
    pub fn follow_switch(&mut self, cpu: CpuId, now: Nanos, next: TaskId) -> (Switch, bool) {
        let switch = self.schedule(cpu, now, false);
        if switch.next == next {
            return (switch, true);
        }
        let idle = self.rqs[cpu].idle;
        let t = &self.tasks[next];
        let asleep = t.state == TaskState::New || self.is_blocked(next);
        if next != idle && (!t.is_queued() || t.cpu != cpu || asleep) {
            return (switch, false);
        }
        self.put_prev_task(cpu, switch.next);
        self.set_next_task(cpu, next, true);
        self.finish_switch(cpu, switch.next, next, TaskState::Running, false);
        (switch, true)
    }

    /// `schedule()` pulled tasks to a CPU whose running task could go on, but gives way: where such requests outlast it, the
    /// next call reuses its clock.
    pub fn follow_pull_from_queued(&mut self, cpu: CpuId) {
        self.rqs[cpu].clock_skip_requested |= !self.fair.clock_skip_lasts;
    }

    /// Gives a fair entity the virtual runtime and deadline that the other kernel shows for it. False, and nothing done,
    /// if no kernel can be in such a state: the queue's sums would overflow.
    pub fn follow_entity(&mut self, se: SeId, vruntime: u64, deadline: u64) -> bool {
        let cfs_rq: CfsRqId = self.ses[se].cfs_rq;
        if !(self.fair.can_hold)(self, cfs_rq, se, vruntime) {
            return false;
        }
        let waiting = self.ses[se].on_rq && self.cfs_rqs[cfs_rq].curr != se;
        if waiting {
            (self.fair.timeline_remove)(self, cfs_rq, se);
        }
        let entity = &mut self.ses[se];
        if !waiting && entity.on_rq && (self.fair.protect_slice)(entity) {
            let later = deadline.wrapping_sub(entity.deadline) as i64;
            entity.vlag = entity.vlag.wrapping_add(later);
        }
        entity.vruntime = vruntime;
        entity.deadline = deadline;
        if waiting {
            (self.fair.timeline_add)(self, cfs_rq, se);
        }
        true
    }

    /// Has a queue's virtual time been told?
    pub fn is_time_told(&self, cfs_rq: CfsRqId) -> bool {
        let probes = self.probes.as_ref();
        probes.is_some_and(|probes| probes.is_queue_known(cfs_rq))
    }

    /// Puts a task that has been running or waiting since before the recording on a CPU's queue.
    pub fn follow_queued(&mut self, task: TaskId, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        if self.tasks[task].on_rq == OnRq::Queued {
            return;
        }
        self.assign_task_cpu(task, cpu);
        self.update_rq_clock(cpu);
        // It joins where the queue is: what it had elsewhere is not known.
        self.ses[self.tasks[task].se].vruntime = 0;
        self.tasks[task].state = TaskState::Running;
        self.activate_task(cpu, task, crate::flags::ENQUEUE_INITIAL);
    }

    /// Takes a fair task off its queue and puts it back, as every change of its attributes does; `attr` is what
    /// it changed to, if that shows.
    pub fn follow_requeue(&mut self, task: TaskId, attr: Option<SchedAttr>, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(self.tasks[task].cpu);
        self.requeue(task, attr);
    }

    /// The attributes of a fair task whose entity has this weight and slice; `None`: no task has such a weight.
    pub fn attr_of(&self, task: TaskId, weight: u64, slice: Nanos) -> Option<SchedAttr> {
        let t = &self.tasks[task];
        let is_nice = |nice: &i32| LoadWeight::of_nice(*nice).weight == weight;
        let nice = (-20..=19).find(is_nice);
        let policy = match t.policy {
            _ if weight == LoadWeight::idle_policy().weight => Policy::Idle,
            Policy::Batch => Policy::Batch,
            _ => Policy::Normal,
        };
        if nice.is_none() && policy != Policy::Idle {
            return None;
        }
        let default_slice = self.profile.base_slice_ns(self.ses[t.se].depth);
        Some(SchedAttr {
            policy,
            nice: nice.unwrap_or(t.nice()),
            priority: 0,
            runtime: if slice == default_slice { 0 } else { slice },
        })
    }

    /// Sets what searches for an idle CPU go by as if every CPU had just gone idle and every cache had just been
    /// balanced.
    pub fn follow_idle_start(&mut self) {
        for cpu in self.rqs.ids() {
            self.update_idle_core(cpu);
            self.refresh_idle_cpu_scan(cpu);
        }
    }

    /// Charges a CPU's running task, as the kernel does when its run time is asked for.
    pub fn follow_charge(&mut self, cpu: CpuId, now: Nanos) {
        self.set_time(now);
        self.update_rq_clock(cpu);
        let curr = self.rqs[cpu].curr;
        if self.is_fair(curr) {
            let cfs_rq = self.ses[self.tasks[curr].se].cfs_rq;
            (self.fair.update_curr)(self, cfs_rq);
        } else {
            self.update_curr_rt(cpu);
        }
    }

    /// A task gets or leaves an autogroup: without them, it goes from its group to the same.
    pub fn follow_regroup(&mut self, task: TaskId, group: GroupId, now: Nanos) {
        self.change_group(task, group, now);
    }

    /// Puts a queue on its CPU's list of those with load, whose averages were set from outside.
    pub fn list_leaf(&mut self, cfs_rq: CfsRqId) {
        self.list_add_leaf_cfs_rq(cfs_rq);
    }

    /// Is the task of the fair class?
    pub fn is_fair(&self, task: TaskId) -> bool {
        self.tasks[task].class == Class::Fair
    }
}
