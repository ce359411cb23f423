//! Spinlocks of the kernel that tasks take: who holds each, who waits, and what handing over costs.
//!
//! Model.       Waiters spin on their CPUs and are served in the order in which they came. Who holds or waits is not
//!              preempted by its own kernel; in a guest its vCPU can be, and then the lock stands still with it. Taking a
//!              free lock moves its line here; handing over moves it from the holder to the next. Of a ticket lock every
//!              waiter whose CPU executes fetches the line at each unlock, and the next is on average in the middle of them.
//!              Paravirtual waiters halt after [`SPIN_THRESHOLD_CYCLES`], and who unlocks kicks them.
//! Source.      arch/x86/include/asm/spinlock.h @ 3.6 (ticket), kernel/locking/qspinlock.c, qspinlock_paravirt.h @ 6.1.192;
//!              the ticket lock's cost: Boyd-Wickizer, Kaashoek, Morris, Zeldovich: Non-scalable locks are dangerous, 2012.
//! Deviations.  A queued lock of a guest without paravirt is fair, where Linux falls back to test-and-set; with it, waiters
//!              do not steal.

use crate::cpu::Segment;
use crate::simulation::Simulation;
use crate::virt::Request;
use fairwind_sched::{CpuId, Nanos, TaskId};
use fairwind_workload::{SpinlockId, SpinlockKind};
use std::collections::VecDeque;

/// `SPIN_THRESHOLD` rounds of a loop with one PAUSE, at about 10 cycles each (Agner Fog, instruction tables, before Skylake).
const SPIN_THRESHOLD_CYCLES: u64 = (1 << 15) * 10;

/// No lock: the task does not wait for one.
pub(crate) const NO_LOCK: u32 = u32::MAX;

/// A spinlock.
#[derive(Clone, Debug)]
pub(crate) struct Spinlock {
    holder: TaskId,
    waiters: VecDeque<TaskId>,
    /// Where its line is.
    last: CpuId,
}

impl Default for Spinlock {
    fn default() -> Self {
        Spinlock {
            holder: TaskId::NONE,
            waiters: VecDeque::new(),
            last: CpuId::NONE,
        }
    }
}

impl Simulation {
    /// The running task takes a lock, or begins to wait for it.
    pub(crate) fn spin_lock(&mut self, cpu: CpuId, curr: TaskId, lock: SpinlockId) {
        let last = self.spinlocks[lock.idx()].last;
        let transfer = self.line_transfer(last, cpu);
        let run = &mut self.tasks[curr.idx()];
        run.preempt_count += 1;
        let lock_state = &mut self.spinlocks[lock.idx()];
        if lock_state.holder.is_some() {
            lock_state.waiters.push_back(curr);
            (run.spins_on, run.spun_ns) = (lock.0, 0);
            return;
        }
        (lock_state.holder, lock_state.last) = (curr, cpu);
        run.kernel_left += transfer;
    }

    /// The running task gives a lock up; the next takes it when its CPU executes.
    pub(crate) fn spin_unlock(&mut self, cpu: CpuId, curr: TaskId, lock: SpinlockId) {
        let atomic = self.machine.costs.kernel.atomic_ns;
        let run = &mut self.tasks[curr.idx()];
        run.preempt_count -= 1;
        run.kernel_left += atomic;
        let next = self.spinlocks[lock.idx()].waiters.pop_front();
        let Some(next) = next else {
            self.spinlocks[lock.idx()].holder = TaskId::NONE;
            return;
        };
        let at = self.sched.tasks[next].cpu;
        let mut handover = self.line_transfer(cpu, at);
        if self.spinlock_kind() == SpinlockKind::Ticket {
            let waiters = self.spinlocks[lock.idx()].waiters.iter();
            let watching = |&&task: &&TaskId| self.executes(self.sched.tasks[task].cpu);
            handover += handover * waiters.filter(watching).count() as u64 / 2;
        }
        let state = &mut self.spinlocks[lock.idx()];
        (state.holder, state.last) = (next, at);
        self.tasks[next.idx()].spins_on = NO_LOCK;
        if self.executes(at) {
            self.charge(at);
            self.tasks[next.idx()].kernel_left += handover;
            self.resume(at);
        } else {
            let run = &mut self.tasks[next.idx()];
            run.kernel_left += handover;
            if std::mem::take(&mut run.pv_waits) {
                self.request(Request::PvKick { from: cpu, to: at });
            }
        }
    }

    /// What it takes to fetch a line that another CPU has.
    fn line_transfer(&self, from: CpuId, to: CpuId) -> Nanos {
        let costs = &self.machine.costs;
        if from.is_some() && from != to {
            costs.lock_handover_ns.get(self.distance(from, to))
        } else {
            costs.kernel.atomic_ns
        }
    }

    fn spinlock_kind(&self) -> SpinlockKind {
        { self.platform.as_ref() }.map_or(SpinlockKind::Queued, |p| p.spinlocks.kind)
    }

    /// After so much waiting a paravirtual waiter halts.
    fn spin_threshold_ns(&self) -> Option<Nanos> {
        let paravirt = self.platform.as_ref().is_some_and(|p| p.spinlocks.paravirt);
        let khz = self.machine.costs.frequency.base_khz.max(1);
        paravirt.then(|| SPIN_THRESHOLD_CYCLES * 1_000_000 / khz)
    }

    /// The running task waits for a lock: until the hardware or its own patience ends that.
    pub(crate) fn spin(&mut self, cpu: CpuId, curr: TaskId) {
        let window = { self.platform.as_ref() }.and_then(|p| p.cpus[cpu.idx()].spin_window_ns);
        let run = &mut self.tasks[curr.idx()];
        run.pv_waits = false;
        let spun = run.spun_ns;
        let patience = { self.spin_threshold_ns() }.map(|ns| ns.saturating_sub(spun));
        match window.into_iter().chain(patience).min() {
            Some(length) => self.plan(cpu, Segment::Spin, length.max(1)),
            None => self.plan_open(cpu, Segment::Spin),
        }
    }

    /// The running task has waited for so long.
    pub(crate) fn spun(&mut self, cpu: CpuId, curr: TaskId, elapsed: Nanos) {
        let threshold = self.spin_threshold_ns();
        let run = &mut self.tasks[curr.idx()];
        run.spun_ns += elapsed;
        run.spin_ns += elapsed;
        let spun = run.spun_ns;
        if threshold.is_some_and(|ns| spun >= ns) {
            run.spun_ns = 0;
            self.request(Request::PvWait(cpu));
            return;
        }
        let window = { self.platform.as_ref() }.and_then(|p| p.cpus[cpu.idx()].spin_window_ns);
        if window.is_some_and(|window| elapsed >= window) {
            self.request(Request::Spin(cpu));
        }
    }

    /// Does a CPU's running task wait for a lock?
    pub(crate) fn is_spinning(&self, cpu: CpuId) -> bool {
        self.tasks[self.sched.rqs[cpu].curr.idx()].spins_on != NO_LOCK
    }
}
