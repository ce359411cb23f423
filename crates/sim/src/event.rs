//! What can happen at a point in time.

use fairwind_sched::{CpuId, GroupId};
use fairwind_workload::SemId;

/// An event in the queue. Events that may become stale carry the generation they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The stretch of execution planned on a CPU is over.
    Segment { cpu: CpuId },
    /// The timer tick of a CPU.
    Tick { cpu: CpuId },
    /// An interrupt from another CPU arrives, or, while it polls, the CPU sees that it is wanted.
    Ipi { cpu: CpuId },
    /// The task that a CPU is waking gets to the queue it was chosen for.
    Placed { cpu: CpuId },
    /// A task's timer expires; `awake`: the CPU has left its idle state for it.
    Timer { task: u32, cpu: CpuId, awake: bool },
    /// A group's period timer.
    PeriodTimer { group: GroupId, generation: u32 },
    /// A group's slack timer.
    SlackTimer { group: GroupId },
    /// The hrtick of a CPU.
    Hrtick { cpu: CpuId, generation: u32 },
    /// RT throttling or the fair server of a CPU.
    RtTimer { cpu: CpuId, generation: u32 },
    /// Something is in a virtqueue, for a CPU of a guest.
    Virtqueue { cpu: CpuId, semaphore: SemId },
    /// A task of the workload starts.
    Start { task: u32 },
}

/// Slots of the event queue that a CPU has.
pub(crate) const SLOTS_PER_CPU: usize = 4;

impl Event {
    /// What comes when a slot's time has.
    #[inline(always)]
    pub(crate) fn of_slot(slot: usize) -> Event {
        let cpu = CpuId((slot / SLOTS_PER_CPU) as u32);
        match slot % SLOTS_PER_CPU {
            0 => Event::Segment { cpu },
            1 => Event::Tick { cpu },
            2 => Event::Ipi { cpu },
            _ => Event::Placed { cpu },
        }
    }
}

/// The slot of what a CPU executes: planning anew replaces the plan.
#[inline(always)]
pub(crate) fn segment_slot(cpu: CpuId) -> usize {
    cpu.idx() * SLOTS_PER_CPU
}

/// The slot of a CPU's tick.
#[inline(always)]
pub(crate) fn tick_slot(cpu: CpuId) -> usize {
    cpu.idx() * SLOTS_PER_CPU + 1
}

/// The slot of the interrupt that is on its way to a CPU, or of what it will see while it polls.
#[inline(always)]
pub(crate) fn ipi_slot(cpu: CpuId) -> usize {
    cpu.idx() * SLOTS_PER_CPU + 2
}

/// The slot of the wakeup that a CPU is making.
#[inline(always)]
pub(crate) fn placed_slot(cpu: CpuId) -> usize {
    cpu.idx() * SLOTS_PER_CPU + 3
}
