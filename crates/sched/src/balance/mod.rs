//! Load balancing: moving queued tasks to CPUs with less to do, and finding such CPUs for new
//! tasks.
//!
//! Model.      A pass (`sched_balance_rq`) belongs to one domain of one CPU and pulls towards that
//!             CPU: it sums up the domain's groups, picks the busiest, picks that group's busiest
//!             queue and detaches tasks from it. Passes are started by the tick
//!             (`sched_balance_domains`, in the softirq), by a CPU that runs out of tasks
//!             (`sched_balance_newidle`), and on behalf of idle CPUs (`nohz`). A pass that finds
//!             only the running task asks the other CPU's stopper to push it
//!             (`active_load_balance_cpu_stop`). Fork and exec walk the domains down to the least
//!             busy CPU (`sched_balance_find_dst_cpu`).
//! Invariants. A pass changes nothing but queues, averages, and the books of its domain. Between
//!             passes no task is in flight: what is detached is attached before the call returns.
//! Units.      Loads and utilisations as PELT has them; capacities in 1/1024 of the largest CPU;
//!             intervals of domains in ms, points in time in jiffies, costs in ns.
//! Source.     kernel/sched/fair.c from `task_hot` to `sched_balance_trigger`, and
//!             `sched_balance_find_dst_*`, at 6.12; 6.1 under the older names. Where they differ:
//!             `rules`.
//! Deviations. Time stands still within a call, so what a pass costs is an input ([`BalanceCost`]);
//!             the kernel measures it. Nothing runs concurrently: a pass is never cut short by a
//!             wakeup that comes in meanwhile, `SD_SERIALIZE` always finds its lock free, and the
//!             state that the kernel reads without a lock is always consistent.
//! Not here.   NUMA page balancing (`migrate_degrades_locality`, `fbq_type`, preferred nodes), ITMT
//!             and with it all of asymmetric packing (no domain ever has `SD_ASYM_PACKING`),
//!             energy-aware scheduling (`overutilized`, performance domains), core scheduling
//!             (cookies always match), housekeeping CPUs (all of them keep house), hardware
//!             pressure, `active` masks of cpusets.

mod active;
mod capacity;
mod cpu_load;
mod cpu_sums;
mod detach;
mod domains;
mod dst_cpu;
mod dst_group;
mod env;
mod group_stats;
mod idle_scan;
mod imbalance;
mod misfit;
mod newidle;
mod pass;
mod replay;
mod report;
mod rules;
mod src_group;
mod src_rq;
mod state;
mod stats;

#[cfg(test)]
mod tests;

pub use env::{CpuIdleType, MigrationType};
pub use group_stats::GroupType;
pub use replay::{FollowedMove, Found, LastBalance};
pub use report::{GroupReport, PassReport, Verdict};
pub use state::BalanceCost;
pub use stats::{DomainStats, PassStats};

pub(crate) use cpu_sums::CpuSumsTable;
pub(crate) use rules::{BalanceRules, rules};
pub(crate) use state::Balance;

use crate::cpumask::CpuMask;
use crate::units::CpuId;

/// The CPUs in both sets, from the lowest up; the kernel's `for_each_cpu_and`.
fn cpus_in_both<'a>(a: &'a CpuMask, b: &'a CpuMask) -> impl Iterator<Item = CpuId> + 'a {
    CpuMask::in_both(a, b, 0..a.words().len())
}

/// The lowest CPU in both sets that is not below `from`.
fn next_in_both(a: &CpuMask, b: &CpuMask, from: usize) -> Option<CpuId> {
    let first = from / 64;
    let words = a.words().iter().zip(b.words()).enumerate().skip(first);
    for (idx, (a, b)) in words {
        let keep = if idx == first {
            !0u64 << (from % 64)
        } else {
            !0
        };
        let word = a & b & keep;
        if word != 0 {
            return Some(CpuId((idx * 64) as u32 + word.trailing_zeros()));
        }
    }
    None
}
