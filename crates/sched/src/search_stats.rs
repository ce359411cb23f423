//! Counters of wakeup placement, as kernel developers want them.

use crate::units::CpuId;

/// What decides on the CPU of a task.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum PlacementRule {
    /// Nothing idle was found: the target it is.
    #[default]
    Target,
    /// The target is idle.
    IdleTarget,
    /// The CPU on which it slept is idle.
    IdlePrev,
    /// A kernel thread of one CPU wakes who waits for it there.
    PerCpuKthread,
    /// The CPU before that is idle.
    IdleRecent,
    /// A sibling thread is idle.
    IdleSibling,
    /// An idle CPU that suits the task, of CPUs that differ in size.
    Capacity,
    /// An idle core or CPU that a scan of the cache found.
    Scan,
    /// Nothing idle was found: a CPU where the task's group has none (SIS_EMPTY_CFS_RQ).
    EmptyCfsRq,
    /// The least busy CPU of a domain: fork and exec.
    SlowPath,
}

impl PlacementRule {
    /// The kernel's function, or what it looked at.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PlacementRule::Target => "wake_affine",
            PlacementRule::IdleTarget => "idle target",
            PlacementRule::IdlePrev => "idle prev",
            PlacementRule::PerCpuKthread => "per-CPU kthread",
            PlacementRule::IdleRecent => "idle recent_used_cpu",
            PlacementRule::IdleSibling => "select_idle_smt",
            PlacementRule::Capacity => "select_idle_capacity",
            PlacementRule::Scan => "select_idle_cpu",
            PlacementRule::EmptyCfsRq => "select_empty_cfs_rq",
            PlacementRule::SlowPath => "sched_balance_find_dst_cpu",
        }
    }
}

/// What the search for a CPU did since the start.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SearchStats {
    /// Wakeups placed by select_task_rq_fair.
    pub wakeups: u64,
    /// Of these, onto the CPU the task ran on before.
    pub prev_cpu: u64,
    /// Of these, onto the waker's CPU.
    pub this_cpu: u64,
    /// Wakeups whose first candidates (target, prev, recent) were idle.
    pub fast_hits: u64,
    /// select_idle_cpu scans begun.
    pub scans: u64,
    /// CPUs (or cores) looked at in scans.
    pub scanned: u64,
    /// Scans that found a CPU.
    pub scan_hits: u64,
    /// Of these, idle cores.
    pub scan_cores: u64,
    /// Idle CPUs that scans passed over since they were cache hot (SIS_CACHE).
    pub cache_hot: u64,
    /// Wakeups that SIS_EMPTY_CFS_RQ sent to a CPU where their group has no task.
    pub empty_cfs_rq: u64,
    /// fork and exec placements.
    pub slow_path: u64,
    /// What decided the last placement.
    pub rule: PlacementRule,
    /// The CPU near which the last wakeup searched: the waker's, or where the task slept.
    pub target: Option<CpuId>,
}
