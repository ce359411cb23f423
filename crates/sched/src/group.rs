//! A task group (cpu cgroup) and its CPU limit.
//!
//! Source. kernel/sched/sched.h `struct task_group`, `struct cfs_bandwidth` @ 6.1, 6.12.

use crate::units::{CfsRqId, GroupId, Nanos};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// No quota.
pub const RUNTIME_INF: u64 = u64::MAX;
/// Default period.
pub const DEFAULT_CFS_PERIOD: Nanos = 100_000_000;
/// Smallest weight a group's entity gets on a CPU (unscaled 2).
pub const MIN_SHARES: u64 = 2;
/// Largest shares (unscaled).
pub const MAX_SHARES: u64 = 1 << 18;

/// The limit of a group: quota per period, and who waits for it.
#[derive(Clone, Debug)]
pub struct CfsBandwidth {
    /// Length of a period.
    pub period: Nanos,
    /// CPU time per period; [`RUNTIME_INF`]: no limit.
    pub quota: u64,
    /// What is left in the pool.
    pub runtime: u64,
    /// What may be saved up beyond the quota.
    pub burst: u64,
    /// `runtime` after the last refill.
    pub runtime_snap: u64,
    /// Tightest quota of it and its ancestors as a fixed-point ratio (-1 or RUNTIME_INF: none).
    pub hierarchical_quota: i64,
    /// Nothing was used in the last period.
    pub idle: bool,
    /// The period timer runs.
    pub period_active: bool,
    /// The slack timer runs.
    pub slack_started: bool,
    /// When the period timer expires next (also while it is stopped: its phase).
    pub period_expires: Nanos,
    /// The period timer's handler is running.
    pub period_callback: bool,
    /// Queues out of runtime, longest waiting first.
    pub throttled_cfs_rq: VecDeque<CfsRqId>,
    /// cpu.stat: periods with something to run.
    pub nr_periods: u64,
    /// cpu.stat: periods in which somebody waited.
    pub nr_throttled: u64,
    /// cpu.stat: periods that used burst.
    pub nr_burst: u64,
    /// cpu.stat: total time queues waited.
    pub throttled_time: Nanos,
    /// cpu.stat: total runtime taken from burst.
    pub burst_time: Nanos,
}

impl CfsBandwidth {
    /// No limit.
    pub fn unlimited(phase: Nanos) -> Self {
        CfsBandwidth {
            period: DEFAULT_CFS_PERIOD,
            quota: RUNTIME_INF,
            runtime: 0,
            burst: 0,
            runtime_snap: 0,
            hierarchical_quota: -1,
            idle: false,
            period_active: false,
            slack_started: false,
            period_expires: phase,
            period_callback: false,
            throttled_cfs_rq: VecDeque::new(),
            nr_periods: 0,
            nr_throttled: 0,
            nr_burst: 0,
            throttled_time: 0,
            burst_time: 0,
        }
    }
}

/// A task group.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// Its parent; none for the root.
    pub parent: GroupId,
    /// Children, newest first, as the kernel's list has them.
    pub children: Vec<GroupId>,
    /// Its queue on each CPU, `[nr_cpus]`.
    pub cfs_rq: Vec<CfsRqId>,
    /// cpu.shares, scaled.
    pub shares: u64,
    /// cpu.idle.
    pub idle: bool,
    /// Σ load_avg its queues have reported.
    pub load_avg: i64,
    /// FLAT_GROUPS: Σ of the shares of the groups right below it, over all CPUs, unscaled.
    pub flat_below: u64,
    /// Its limit.
    pub bandwidth: CfsBandwidth,
    /// Utilisation clamps, [min, max].
    pub uclamp: [u16; 2],
    /// Removed.
    pub dead: bool,
}
