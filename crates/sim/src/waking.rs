//! Wakeups that programs make: a CPU is chosen, and a moment later the task is queued there.
//!
//! Model.       A waker makes its wakeups one after the other. Of each, the CPU is chosen first. An idle CPU, or one of another
//!              cache, queues the task itself: the waker puts it on that CPU's list, which others see as soon as the list's
//!              line came over, and sends an interrupt when its search and its wakeup are done. Elsewhere the task is on the
//!              queue `wakeup_ns` and the transfer of the queue's lock later. A task that is woken elsewhere than it slept is taken off
//!              the sums of its old queue before, whose lines come over first. Until then the CPU looks to others as it did, and if it was idle,
//!              several wakers may choose it: so tasks come to wait for one another while CPUs are idle.
//!              On the waker's own CPU, where nobody else queues in between, the task is queued at once.
//! Source.      kernel/sched/fair.c `migrate_task_rq_fair`; kernel/sched/core.c `ttwu_queue`, `__ttwu_queue_wakelist` (sets `ttwu_pending`, at which `idle_cpu` looks)
//!              @ 6.1, 6.12.
//! Not here.    Wakeups by timers: an interrupt makes one in a single step (see `interrupt`).

use crate::event::placed_slot;
use crate::simulation::Simulation;
use fairwind_sched::{CpuId, Nanos, TaskId};

/// Lines of a queue that a task's waker fetches to take it off: the queue's averages, and the sums of what left it
/// (`remove_entity_load_avg`).
const DETACH_LINES: u64 = 2;

impl Simulation {
    /// The program that runs on `cpu` wakes a task, after those that it is waking already.
    pub(crate) fn wake_from_program(&mut self, cpu: CpuId, task: TaskId, wake_flags: u32) {
        let c = &mut self.cpus[cpu.idx()];
        c.wakeups.push_back((task, wake_flags));
        if c.placing.is_none() {
            self.next_wakeup(cpu);
        }
    }

    /// Makes the wakeups that `cpu` has to make, up to the first that takes its time.
    fn next_wakeup(&mut self, cpu: CpuId) {
        while let Some(&(task, wake_flags)) = self.cpus[cpu.idx()].wakeups.front() {
            let done = self.cpus[cpu.idx()].wakeup_done;
            if self.now < done {
                self.queue.set(placed_slot(cpu), done);
                return;
            }
            self.cpus[cpu.idx()].wakeups.pop_front();
            let (slept_on, scanned) = (self.sched.tasks[task].cpu, self.sched.search.scanned);
            let waking = self
                .sched
                .choose_cpu_to_wake_on(cpu, task, self.now, wake_flags);
            let scanned = self.sched.search.scanned - scanned;
            let target = waking.map_or(slept_on, |waking| waking.cpu);
            let listed = waking.is_some() && self.sched.goes_on_wake_list(cpu, task, target);
            let detach = self.detach_ns(cpu, slept_on, target);
            let (seen, queueing) = if listed {
                let transfer = self.distance(cpu, target);
                let transfer = self.machine.costs.lock_handover_ns.get(transfer);
                (
                    detach + transfer,
                    self.wakeup_ns(task) + self.stall_work(cpu, detach + transfer),
                )
            } else {
                let queueing = self.queueing_ns(cpu, task, target) + self.stall_work(cpu, detach);
                (self.kernel_ns(cpu, queueing), queueing)
            };
            let search = scanned * self.machine.costs.search_ns.llc;
            self.cpus[cpu.idx()].debt += queueing + self.stall_work(cpu, search);
            if self.tasks[self.cpus[cpu.idx()].running.idx()].in_softirq {
                let time = self.kernel_ns(cpu, queueing) + search;
                self.sched.account_irq_time(cpu, time);
            }
            match waking {
                None => {}
                Some(waking) if target == cpu => {
                    self.sched.wake_on_chosen_cpu(cpu, waking, self.now);
                }
                Some(waking) => {
                    let placed = self.now + seen;
                    let done = self.now + search + self.kernel_ns(cpu, queueing);
                    self.cpus[cpu.idx()].placing = Some(waking);
                    self.cpus[cpu.idx()].wakeup_done = done;
                    self.queue.set(placed_slot(cpu), placed);
                    return;
                }
            }
        }
    }

    /// The task that `cpu` is waking gets to the queue it was chosen for.
    pub(crate) fn placed(&mut self, cpu: CpuId) {
        self.charge(cpu);
        if let Some(waking) = self.cpus[cpu.idx()].placing.take() {
            self.sched.wake_on_chosen_cpu(cpu, waking, self.now);
        }
        self.next_wakeup(cpu);
        self.carry_out_effects(cpu);
        self.resume(cpu);
    }

    /// How long `by` waits for the lines of the queue that a task slept on, if it wakes the task elsewhere.
    pub(crate) fn detach_ns(&self, by: CpuId, slept_on: CpuId, target: CpuId) -> Nanos {
        if slept_on == target {
            return 0;
        }
        let distance = self.distance(slept_on, by);
        DETACH_LINES * self.machine.costs.lock_handover_ns.get(distance)
    }

    /// What `by` takes to queue a task on `target`: the wakeup beside the search.
    pub(crate) fn queueing_ns(&mut self, by: CpuId, task: TaskId, target: CpuId) -> Nanos {
        let hold = self.machine.costs.kernel.atomic_ns;
        let transfer = self.distance(self.locks.last(target), by);
        let transfer = self.machine.costs.lock_handover_ns.get(transfer);
        let lock = self.locks.acquire(transfer, target, by, self.now, hold);
        let yields = self.rq_lock_wait(target);
        self.wakeup_ns(task) + self.stall_work(by, lock + yields)
    }

    /// The part of that which does not depend on the target.
    fn wakeup_ns(&self, task: TaskId) -> Nanos {
        self.machine.costs.kernel.wakeup_ns + self.levels_ns(task)
    }

    /// What the group levels above a task cost each time it is queued, taken off a queue or picked.
    pub(crate) fn levels_ns(&self, task: TaskId) -> Nanos {
        let depth = self.sched.ses[self.sched.tasks[task].se].depth;
        u64::from(depth) * self.machine.costs.kernel.group_level_ns
    }
}
