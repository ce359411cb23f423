//! A CPU in execution.

use fairwind_sched::{CpuId, Nanos, TaskId, WakingTask};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a CPU is executing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Segment {
    /// Nothing planned: idle, or in the middle of handling an event.
    None,
    /// Kernel work of the running task, at a speed in 1/1024.
    Kernel { speed: u64 },
    /// Kernel work of an idle CPU, at a speed in 1/1024.
    Settle { left: Nanos, speed: u64 },
    /// The running task's own stall and work, at a speed in 1/1024.
    User { speed: u64 },
    /// The running vCPU's thread is in guest mode.
    Guest,
    /// The running vCPU's thread looks for an event.
    Poll,
    /// The running vCPU's thread waits for a run queue's lock.
    LockWait,
    /// The running task waits for a spinlock.
    Spin,
}

/// Work for a CPU's stopper.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopWork {
    /// Push the running task to an idle CPU.
    ActiveBalance,
    /// Move a task that must leave.
    Migrate { task: TaskId, dest: CpuId },
}

/// Idle times remembered for the next prediction.
const IDLE_WEIGHT: u64 = 8;

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) segment: Segment,
    pub(crate) segment_start: Nanos,
    /// What waits in its slot of the queue is that segment's end, and not that of one before.
    pub(crate) planned: bool,
    pub(crate) hrtick_generation: u32,
    pub(crate) rt_timer_generation: u32,
    /// The address space it has loaded; idle tasks and stoppers keep it.
    pub(crate) active_mm: u32,
    /// Kernel time to be paid by whoever runs next, or before idling goes on.
    pub(crate) debt: Nanos,
    /// An interrupt is on its way.
    pub(crate) ipi_pending: bool,
    /// It polled when that was sent, so that it will see it without an interrupt.
    pub(crate) ipi_polled: bool,
    /// That interrupt is to balance for idle CPUs.
    pub(crate) kick_ilb: bool,
    /// The balancing softirq is raised.
    pub(crate) softirq: bool,
    /// RT tasks are to be pushed away.
    pub(crate) push_rt: bool,
    pub(crate) tick_queued: bool,
    /// Idle since; none: busy.
    pub(crate) idle_since: Option<Nanos>,
    pub(crate) idle_state: usize,
    /// It has stopped its tick since it idles.
    pub(crate) tick_stopped: bool,
    idle_average: Nanos,
    /// When timers of tasks and groups expire that were armed on it.
    timers: BinaryHeap<Reverse<Nanos>>,
    /// The task that it is waking and has chosen a CPU for.
    pub(crate) placing: Option<WakingTask>,
    /// When it is done with that wakeup, and sends the interrupt if it takes one.
    pub(crate) wakeup_done: Nanos,
    /// Tasks that it wakes after that, with the flags.
    pub(crate) wakeups: VecDeque<(TaskId, u32)>,
    pub(crate) stop_work: VecDeque<StopWork>,
    /// Since when the present task (or idle) has been running.
    pub(crate) since: Nanos,
    /// Who that is.
    pub(crate) running: TaskId,
    /// Of the time since then, how much it spent in the kernel.
    pub(crate) system_ns: Nanos,
    pub(crate) idle_ns: Nanos,
    pub(crate) busy_ns: Nanos,
    /// Time in each idle state.
    pub(crate) idle_state_ns: Vec<Nanos>,
}

impl Cpu {
    pub(crate) fn new(running: TaskId, nr_idle_states: usize) -> Self {
        Cpu {
            segment: Segment::None,
            segment_start: 0,
            planned: false,
            hrtick_generation: 0,
            rt_timer_generation: 0,
            active_mm: 0,
            debt: 0,
            ipi_pending: false,
            ipi_polled: false,
            kick_ilb: false,
            softirq: false,
            push_rt: false,
            tick_queued: false,
            idle_since: None,
            idle_state: 0,
            tick_stopped: true,
            idle_average: Nanos::MAX / 2,
            timers: BinaryHeap::new(),
            placing: None,
            wakeup_done: 0,
            wakeups: VecDeque::new(),
            stop_work: VecDeque::new(),
            since: 0,
            running,
            system_ns: 0,
            idle_ns: 0,
            busy_ns: 0,
            idle_state_ns: vec![0; nr_idle_states],
        }
    }

    /// A timer is armed on the CPU.
    pub(crate) fn arm_timer(&mut self, now: Nanos, expires: Nanos) {
        self.next_timer(now);
        self.timers.push(Reverse(expires));
    }

    /// When the next timer expires; those that have are forgotten.
    fn next_timer(&mut self, now: Nanos) -> Option<Nanos> {
        while let Some(&Reverse(expires)) = self.timers.peek() {
            if expires > now {
                return Some(expires);
            }
            self.timers.pop();
        }
        None
    }

    /// How long the CPU expects to be idle: the average of its last idle times, and no longer than to its next timer.
    pub(crate) fn predicted_idle(&mut self, now: Nanos) -> Nanos {
        let next_timer = self.next_timer(now);
        next_timer.map_or(self.idle_average, |expires| {
            self.idle_average.min(expires - now)
        })
    }

    /// Learns from an idle time. One that is much longer than expected says that the pattern has changed.
    pub(crate) fn learn_idle(&mut self, idle: Nanos) {
        self.idle_average = if idle / IDLE_WEIGHT > self.idle_average
            || self.idle_average / IDLE_WEIGHT > idle * IDLE_WEIGHT
        {
            idle
        } else {
            self.idle_average - self.idle_average / IDLE_WEIGHT + idle / IDLE_WEIGHT
        };
    }
}
