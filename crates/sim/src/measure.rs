//! What is counted over a whole run.

use fairwind_sched::Nanos;

/// Counts over a run.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Totals {
    /// Events taken from the queue.
    pub(crate) events: u64,
    /// Wakeups, new tasks included.
    pub(crate) wakeups: u64,
    /// Context switches, to idle included.
    pub(crate) switches: u64,
    /// Ticks handled.
    pub(crate) ticks: u64,
    /// Interrupts sent between CPUs.
    pub(crate) ipis: u64,
    /// Tasks that changed their CPU.
    pub(crate) migrations: u64,
}

/// CPU time spent in a group.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct GroupUsage {
    /// All of it.
    pub(crate) cpu_ns: Nanos,
    /// Of this, in the kernel.
    pub(crate) system_ns: Nanos,
}
