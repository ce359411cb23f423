//! The list of a CPU's fair tasks, least recently run last, from whose end balancing takes.
//!
//! Model.      A task comes to the front when it is queued and whenever it is picked, each time with a new turn. Picks are
//!             frequent and balancing is rare: so a pick changes the task's turn only, and whoever goes through the list
//!             from its end first puts those where they belong that it meets and that were picked since.
//! Invariants. The list is in the order of the turns at which tasks were placed in it, and no task's turn is before that: the
//!             last task that was not picked since it was placed is the least recently run.
//! Cost.       To move the picked task in the list, whose neighbours lie anywhere, took 2 % of the instructions of switches
//!             between hogs.
//! Source.     kernel/sched/fair.c: the uses of `rq->cfs_tasks` @ 6.1, 6.12.

use crate::sched::Sched;
use crate::units::{CpuId, TaskId};

impl Sched {
    /// The fair tasks on a CPU's queue, the running one included, in no particular order.
    pub fn cfs_tasks(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> {
        let first = self.rqs[cpu].cfs_tasks_first.get();
        core::iter::successors(first, move |&task| self.tasks[task].cfs_tasks_next.get())
    }

    /// A task is queued.
    pub(crate) fn cfs_tasks_push_front(&mut self, cpu: CpuId, task: TaskId) {
        self.cfs_tasks_picked(cpu, task);
        let first = self.rqs[cpu].cfs_tasks_first;
        self.cfs_tasks_insert(cpu, task, TaskId::NONE, first);
    }

    fn cfs_tasks_insert(&mut self, cpu: CpuId, task: TaskId, prev: TaskId, next: TaskId) {
        if prev.is_some() {
            self.tasks[prev].cfs_tasks_next = task;
        } else {
            self.rqs[cpu].cfs_tasks_first = task;
        }
        if next.is_some() {
            self.tasks[next].cfs_tasks_prev = task;
        } else {
            self.rqs[cpu].cfs_tasks_last = task;
        }
        let t = &mut self.tasks[task];
        t.cfs_tasks_prev = prev;
        t.cfs_tasks_next = next;
        t.cfs_tasks_placed = t.cfs_tasks_turn;
    }

    pub(crate) fn cfs_tasks_remove(&mut self, cpu: CpuId, task: TaskId) {
        let t = &self.tasks[task];
        let (prev, next) = (t.cfs_tasks_prev, t.cfs_tasks_next);
        if prev.is_some() {
            self.tasks[prev].cfs_tasks_next = next;
        } else {
            self.rqs[cpu].cfs_tasks_first = next;
        }
        if next.is_some() {
            self.tasks[next].cfs_tasks_prev = prev;
        } else {
            self.rqs[cpu].cfs_tasks_last = prev;
        }
    }

    /// A task on the list was picked.
    #[inline(always)]
    pub(crate) fn cfs_tasks_picked(&mut self, cpu: CpuId, task: TaskId) {
        let rq = &mut self.rqs[cpu];
        rq.cfs_tasks_turns += 1;
        self.tasks[task].cfs_tasks_turn = rq.cfs_tasks_turns;
    }

    /// A task on the list goes to its front at once.
    pub(crate) fn cfs_tasks_move_front(&mut self, cpu: CpuId, task: TaskId) {
        self.cfs_tasks_remove(cpu, task);
        self.cfs_tasks_push_front(cpu, task);
    }

    /// Who ran last before `task`, which this told before; the least recently run of all if `task` is none.
    pub(crate) fn cfs_tasks_before(&mut self, cpu: CpuId, task: TaskId) -> TaskId {
        loop {
            let at = if task.is_some() {
                self.tasks[task].cfs_tasks_prev
            } else {
                self.rqs[cpu].cfs_tasks_last
            };
            if at.is_none() || self.tasks[at].cfs_tasks_turn == self.tasks[at].cfs_tasks_placed {
                return at;
            }
            self.cfs_tasks_settle(cpu, at);
        }
    }

    /// Moves a task to where its turn belongs.
    fn cfs_tasks_settle(&mut self, cpu: CpuId, task: TaskId) {
        self.cfs_tasks_remove(cpu, task);
        let turn = self.tasks[task].cfs_tasks_turn;
        let mut prev = TaskId::NONE;
        let mut next = self.rqs[cpu].cfs_tasks_first;
        while next.is_some() && self.tasks[next].cfs_tasks_placed > turn {
            prev = next;
            next = self.tasks[next].cfs_tasks_next;
        }
        self.cfs_tasks_insert(cpu, task, prev, next);
    }
}
