//! A task in execution: what is left of its present step, and what was measured of it.

use crate::latency::Latencies;
use crate::spinlock::NO_LOCK;
use crate::virt::NO_VCPU;
use fairwind_sched::{CpuId, Nanos};

/// What the task's present step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// A fixed amount of work (possibly none: then the next step is due).
    Work,
    /// Work until a point in time, seen at the end of a chunk.
    Until(Nanos),
}

/// A task in execution.
#[derive(Debug)]
pub(crate) struct TaskRun {
    /// Its number in the workload; `u32::MAX` for idle tasks and stoppers.
    pub(crate) program: u32,
    /// The vCPU whose thread it is; [`NO_VCPU`]: none.
    pub(crate) vcpu: u32,
    /// Its address space.
    pub(crate) mm: u32,
    pub(crate) activity: Activity,
    /// Spinlocks held or waited for, and other reasons not to be preempted.
    pub(crate) preempt_count: u32,
    /// The spinlock it waits for; [`NO_LOCK`]: none.
    pub(crate) spins_on: u32,
    /// It waits for that lock halted, or is about to.
    pub(crate) pv_waits: bool,
    /// How long it has waited for that lock.
    pub(crate) spun_ns: Nanos,
    /// How long it has waited for spinlocks in all.
    pub(crate) spin_ns: Nanos,
    /// It has set its state and is on its way to `schedule`, where it will sleep unless it is woken first.
    pub(crate) goes_to_sleep: bool,
    /// What its last call wakes is woken in a softirq.
    pub(crate) in_softirq: bool,
    /// Kernel time of a system call that it is about to make.
    pub(crate) call_left: Nanos,
    /// Kernel time still to spend; not preemptible unless the kernel is.
    pub(crate) kernel_left: Nanos,
    /// Time to lose to cold caches and memory.
    pub(crate) stall_left: Nanos,
    /// Work left in 1/1024 ns at the reference speed.
    pub(crate) work_left: u64,
    /// Bytes it keeps using.
    pub(crate) working_set: u64,
    /// Where it last ran.
    pub(crate) last_cpu: CpuId,
    /// What had gone through that CPU's caches when it left.
    pub(crate) footprint_then: crate::warmth::Mark,
    /// Woken and not yet running, since.
    pub(crate) woken_at: Option<Nanos>,
    /// Of a task that waits for a CPU: how long the queue that it waits on had been held back by limits when it came.
    pub(crate) waiting_throttled_then: Option<Nanos>,
    /// From each wakeup until it ran.
    pub(crate) latencies: Latencies,
    pub(crate) wakeups: u64,
    pub(crate) throttled_ns: Nanos,
    pub(crate) cpu_ns: Nanos,
    pub(crate) stall_ns: Nanos,
    /// When it ended.
    pub(crate) ended_at: Option<Nanos>,
}

impl TaskRun {
    /// Is something of its own work left?
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.work_left != 0 || self.stall_left != 0 || self.activity != Activity::Work
    }

    pub(crate) fn new(program: u32) -> Self {
        TaskRun {
            program,
            vcpu: NO_VCPU,
            mm: 0,
            preempt_count: 0,
            spins_on: NO_LOCK,
            pv_waits: false,
            spun_ns: 0,
            spin_ns: 0,
            goes_to_sleep: false,
            in_softirq: false,
            call_left: 0,
            activity: Activity::Work,
            kernel_left: 0,
            stall_left: 0,
            work_left: 0,
            working_set: 0,
            last_cpu: CpuId::NONE,
            footprint_then: crate::warmth::Mark::default(),
            woken_at: None,
            waiting_throttled_then: None,
            latencies: Latencies::new(),
            wakeups: 0,
            throttled_ns: 0,
            cpu_ns: 0,
            stall_ns: 0,
            ended_at: None,
        }
    }
}
