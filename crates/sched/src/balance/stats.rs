//! The counters of a domain in /proc/schedstat.
//!
//! Source.     include/linux/sched/topology.h `struct sched_domain`, kernel/sched/stats.c
//!             `show_schedstat` at 6.1, 6.12, 6.18; Documentation/scheduler/sched-stats.rst.
//! Deviations. The kernel's counters have 32 bits and wrap.

use super::env::CpuIdleType;
use crate::domain::SdId;
use crate::sched::Sched;
use alloc::vec::Vec;

/// What the passes of one idle type did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PassStats {
    /// Passes.
    pub lb_count: u64,
    /// Passes that found nothing to do.
    pub lb_balanced: u64,
    /// Passes that wanted to move a task and could not.
    pub lb_failed: u64,
    /// Sums of the imbalances found, by what was to be moved: load, utilisation, tasks, misfit tasks.
    pub lb_imbalance: [u64; 4],
    /// Tasks moved.
    pub lb_gained: u64,
    /// Of these, cache-hot ones.
    pub lb_hot_gained: u64,
    /// Passes that found a busy group but no busy queue in it.
    pub lb_nobusyq: u64,
    /// Passes that found no busy group.
    pub lb_nobusyg: u64,
}

/// The counters of a domain.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DomainStats {
    not_idle: PassStats,
    idle: PassStats,
    newly_idle: PassStats,
    /// Times the running task was to be pushed.
    pub alb_count: u64,
    /// Times it could not be.
    pub alb_failed: u64,
    /// Times it was.
    pub alb_pushed: u64,
    /// Wakeups of tasks that last ran on another CPU of the domain.
    pub ttwu_wake_remote: u64,
    /// Wakeups that wake_affine pulled to the waker's CPU.
    pub ttwu_move_affine: u64,
}

impl DomainStats {
    /// The passes of an idle type.
    pub fn of(&self, idle: CpuIdleType) -> &PassStats {
        match idle {
            CpuIdleType::NotIdle => &self.not_idle,
            CpuIdleType::Idle => &self.idle,
            CpuIdleType::NewlyIdle => &self.newly_idle,
        }
    }

    pub(super) fn of_mut(&mut self, idle: CpuIdleType) -> &mut PassStats {
        match idle {
            CpuIdleType::NotIdle => &mut self.not_idle,
            CpuIdleType::Idle => &mut self.idle,
            CpuIdleType::NewlyIdle => &mut self.newly_idle,
        }
    }
}

impl Sched {
    /// The numbers of a domain's line in /proc/schedstat, in the order of the release.
    pub fn schedstat_domain(&self, sd: SdId) -> Vec<u64> {
        let stats = self.domain_stats(sd);
        let mut out = Vec::new();
        for &idle in &self.balance_rules.idle_types {
            let pass = stats.of(idle);
            out.extend([pass.lb_count, pass.lb_balanced, pass.lb_failed]);
            if self.balance_rules.imbalance_by_type {
                out.extend(pass.lb_imbalance);
            } else {
                // Whatever their units.
                out.push(pass.lb_imbalance.into_iter().fold(0, u64::wrapping_add));
            }
            out.extend([pass.lb_gained, pass.lb_hot_gained]);
            out.extend([pass.lb_nobusyq, pass.lb_nobusyg]);
        }
        out.extend([stats.alb_count, stats.alb_failed, stats.alb_pushed]);
        // Six fields for exec and fork and the last one are printed, but no kernel counts them.
        out.extend([0; 6]);
        out.extend([stats.ttwu_wake_remote, stats.ttwu_move_affine, 0]);
        out
    }
}
