//! The RT queue: who is in line, the priority the CPU stands for, and the count of its tasks in `nr_running`.
//!
//! Model.  Queueing takes the whole RT queue out of the CPU's `nr_running`, changes it, and counts it in again
//!         unless it is throttled.
//! Source. kernel/sched/rt.c `enqueue_rt_entity`, `dequeue_rt_entity`, `enqueue_top_rt_rq`, `dequeue_top_rt_rq`,
//!         `inc_rt_tasks`, `dec_rt_tasks`, `*_pushable_task` @ 6.1, 6.12.

use crate::flags::{DEQUEUE_MOVE, DEQUEUE_SAVE, ENQUEUE_HEAD};
use crate::rt_rq::NO_RT_PRIO;
use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

/// A task that is only changed keeps its place in line.
fn move_entity(flags: u32) -> bool {
    flags & (DEQUEUE_SAVE | DEQUEUE_MOVE) != DEQUEUE_SAVE
}

impl Sched {
    pub(super) fn enqueue_rt_entity(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        let nr_running = self.rqs[cpu].rt.nr_running;
        self.dequeue_top_rt_rq(cpu, nr_running);
        let prio = self.tasks[task].prio;
        let rt = &mut self.rqs[cpu].rt;
        if move_entity(flags) {
            if flags & ENQUEUE_HEAD != 0 {
                rt.active.push_front(prio, task);
            } else {
                rt.active.push_back(prio, task);
            }
        }
        self.tasks[task].rt.on_rq = true;
        self.inc_rt_tasks(cpu, task);
        self.enqueue_top_rt_rq(cpu);
    }

    pub(super) fn dequeue_rt_entity(&mut self, cpu: CpuId, task: TaskId, flags: u32) {
        let nr_running = self.rqs[cpu].rt.nr_running;
        if self.tasks[task].rt.on_rq {
            if move_entity(flags) {
                let prio = self.tasks[task].prio;
                let found = self.rqs[cpu].rt.active.remove(prio, task);
                assert!(
                    found,
                    "task {task:?} is not in line on {cpu:?} at priority {prio}"
                );
            }
            self.tasks[task].rt.on_rq = false;
            self.dec_rt_tasks(cpu, task);
        }
        self.dequeue_top_rt_rq(cpu, nr_running);
        self.enqueue_top_rt_rq(cpu);
    }

    /// Moves a queued task to the front or the back of its priority.
    pub(super) fn requeue_task_rt(&mut self, cpu: CpuId, task: TaskId, head: bool) {
        if !self.tasks[task].rt.on_rq {
            return;
        }
        let prio = self.tasks[task].prio;
        let active = &mut self.rqs[cpu].rt.active;
        active.remove(prio, task);
        if head {
            active.push_front(prio, task);
        } else {
            active.push_back(prio, task);
        }
    }

    /// Takes `count` RT tasks out of the CPU's `nr_running`, if they are in it.
    pub(super) fn dequeue_top_rt_rq(&mut self, cpu: CpuId, count: u32) {
        if core::mem::take(&mut self.rqs[cpu].rt.queued) {
            self.sub_nr_running(cpu, count);
        }
    }

    /// Counts all RT tasks in the CPU's `nr_running`, unless they are throttled.
    pub(super) fn enqueue_top_rt_rq(&mut self, cpu: CpuId) {
        let rt = &mut self.rqs[cpu].rt;
        if rt.queued || rt.throttled || rt.nr_running == 0 {
            return;
        }
        rt.queued = true;
        let count = rt.nr_running;
        self.add_nr_running(cpu, count);
    }

    fn inc_rt_tasks(&mut self, cpu: CpuId, task: TaskId) {
        let prio = self.tasks[task].prio;
        let migratory = self.tasks[task].nr_cpus_allowed > 1;
        let rq = &mut self.rqs[cpu];
        rq.rt.nr_running += 1;
        rq.rt.nr_migratory += u32::from(migratory);
        if prio < rq.rt.highest_curr {
            rq.rt.highest_curr = prio;
            if rq.online {
                self.rt_root().cpupri.set(cpu, prio);
            }
        }
        self.update_rt_overload(cpu);
        (self.rt_rules.start_bandwidth)(self, cpu);
    }

    fn dec_rt_tasks(&mut self, cpu: CpuId, task: TaskId) {
        let prio = self.tasks[task].prio;
        let migratory = self.tasks[task].nr_cpus_allowed > 1;
        let rq = &mut self.rqs[cpu];
        rq.rt.nr_running -= 1;
        rq.rt.nr_migratory -= u32::from(migratory);
        let before = rq.rt.highest_curr;
        if rq.rt.nr_running == 0 {
            rq.rt.highest_curr = NO_RT_PRIO;
        } else if prio == before {
            rq.rt.highest_curr = rq.rt.active.first().map_or(NO_RT_PRIO, |(prio, _)| prio);
        }
        let highest = rq.rt.highest_curr;
        if rq.online && highest != before {
            self.rt_root().cpupri.set(cpu, highest);
        }
        self.update_rt_overload(cpu);
    }

    pub(super) fn enqueue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        let prio = self.tasks[task].prio;
        let rt = &mut self.rqs[cpu].rt;
        rt.pushable.remove(prio, task);
        rt.pushable.push_back(prio, task);
        rt.highest_next = rt.highest_next.min(prio);
        self.update_rt_overload(cpu);
    }

    pub(super) fn dequeue_pushable_task(&mut self, cpu: CpuId, task: TaskId) {
        let prio = self.tasks[task].prio;
        let rt = &mut self.rqs[cpu].rt;
        if rt.pushable.remove(prio, task) {
            rt.highest_next = rt.pushable.first().map_or(NO_RT_PRIO, |(prio, _)| prio);
            self.update_rt_overload(cpu);
        }
    }

    pub(crate) fn update_rt_overload(&mut self, cpu: CpuId) {
        let overloaded = (self.rt_rules.is_overloaded)(&self.rqs[cpu].rt);
        if overloaded != self.rqs[cpu].rt.overloaded {
            self.rqs[cpu].rt.overloaded = overloaded;
            self.publish_rt_overload(cpu, overloaded);
        }
    }

    /// Tells the other CPUs whether they may pull from this one; nobody asks an offline CPU.
    pub(super) fn publish_rt_overload(&mut self, cpu: CpuId, overloaded: bool) {
        if !self.rqs[cpu].online {
            return;
        }
        let root = self.rt_root();
        if overloaded {
            root.rto_mask.set(cpu);
            root.rto_count += 1;
        } else {
            root.rto_mask.clear(cpu);
            root.rto_count -= 1;
        }
    }
}
