//! Counters of wakeup placement, as kernel developers want them.

/// What the search for a CPU did since the start.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SearchStats {
    /// Wakeups placed by select_task_rq_fair.
    pub wakeups: u64,
    /// Of these, onto the CPU the task ran on before.
    pub prev_cpu: u64,
    /// Of these, onto the waker's CPU.
    pub this_cpu: u64,
    /// select_idle_cpu scans begun.
    pub scans: u64,
    /// Scans that found a CPU.
    pub scan_hits: u64,
    /// CPUs (or cores) looked at in scans.
    pub scanned: u64,
    /// Wakeups whose first candidates (target, prev, recent) were idle.
    pub fast_hits: u64,
    /// fork and exec placements.
    pub slow_path: u64,
}
