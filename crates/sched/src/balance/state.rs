//! What balancing keeps beside the run queues and the domains.

use super::replay::Found;
use super::report::PassReport;
use super::stats::DomainStats;
use crate::cpumask::CpuMask;
use crate::domain::{BalanceClock, SdId};
use crate::sched::Sched;
use crate::units::{Nanos, TaskId};
use alloc::vec::Vec;

/// What balancing costs, as the kernel would measure it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BalanceCost {
    /// Time to look at one CPU of a domain. A pass over a domain costs this times the domain's
    /// CPUs.
    pub per_cpu_ns: Nanos,
}

/// Balancing's own state.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    pub(super) cost: BalanceCost,
    pub(super) time_spent: Nanos,
    /// Indexed by domain; grows when a domain is first balanced.
    pub(super) stats: Vec<DomainStats>,
    /// The number of CPUs that bounds intervals: one that comes up sets the bound before it counts
    /// itself.
    nr_interval_cpus: usize,
    /// How many CPUs are up.
    nr_active: usize,
    /// Kept between passes so that none allocates: `load_balance_mask`, `env.tasks`.
    pub(super) cpus: CpuMask,
    pub(super) tasks: Vec<TaskId>,
    /// What passes did, where someone asked for it.
    pub(super) reports: Option<Vec<PassReport>>,
    /// What the next pass does not look for, having been told.
    pub(super) found: Option<Found>,
    /// Passes bring averages up to date and do nothing else.
    pub(super) only_look: bool,
}

impl Balance {
    /// A machine that has just booted.
    pub(crate) fn new(nr_cpus: usize) -> Balance {
        Balance {
            cost: BalanceCost::default(),
            time_spent: 0,
            stats: Vec::new(),
            nr_interval_cpus: nr_cpus.saturating_sub(1).max(1),
            nr_active: nr_cpus,
            cpus: CpuMask::none(nr_cpus),
            tasks: Vec::new(),
            reports: None,
            found: None,
            only_look: false,
        }
    }
}

impl Sched {
    #[inline]
    pub(super) fn lb(&self) -> &Balance {
        &self.nohz.balance
    }

    #[inline]
    pub(super) fn lb_mut(&mut self) -> &mut Balance {
        &mut self.nohz.balance
    }

    /// Sets what balancing costs; nothing at first.
    pub fn set_balance_cost(&mut self, cost: BalanceCost) {
        self.lb_mut().cost = cost;
    }

    /// Time spent in balancing passes so far, by [`BalanceCost`].
    pub fn balance_time_spent(&self) -> Nanos {
        self.lb().time_spent
    }

    /// New domains have taken the place of the old ones, after a CPU came or left: statistics start
    /// anew.
    ///
    /// Source: `update_max_interval`.
    pub(crate) fn domains_rebuilt(&mut self) {
        self.forget_sched_softirqs();
        let nr_active = self.active.weight();
        let lb = self.lb_mut();
        lb.stats.clear();
        lb.nr_interval_cpus = nr_active.min(lb.nr_active).max(1);
        lb.nr_active = nr_active;
    }

    /// The time in jiffies, and the longest balancing interval.
    pub(crate) fn balance_clock(&self) -> BalanceClock {
        let hz = self.profile.hz;
        BalanceClock {
            jiffies: self.jiffies,
            hz,
            max_load_balance_interval: u64::from(hz) * self.lb().nr_interval_cpus as u64 / 10,
        }
    }

    /// The counters of a domain; all 0 for one that was never balanced.
    pub fn domain_stats(&self, sd: SdId) -> DomainStats {
        self.lb().stats.get(sd.idx()).copied().unwrap_or_default()
    }

    pub(crate) fn domain_stats_mut(&mut self, sd: SdId) -> &mut DomainStats {
        let stats = &mut self.lb_mut().stats;
        if stats.len() <= sd.idx() {
            stats.resize(sd.idx() + 1, DomainStats::default());
        }
        &mut stats[sd.idx()]
    }
}
