//! Invariants, watched while a simulation runs: one rule a file.
//!
//! Model. A monitor looks at the whole state after each event and says the first thing that is wrong. Each has a test in
//!        which it fires.
//! Cost.  A look at every queue, entity and task an event: made for machines of tens of CPUs.

mod allowed_cpus;
mod bandwidth_pool;
mod cpu_time;
mod group_load;
mod idle_with_work;
mod lag_bound;
mod lag_sum;
mod leaf_list;
mod min_vruntime;
mod one_cpu;
mod pelt_bounds;
mod pending_wakeup;
mod queue_counts;
mod quota;
mod resched;
mod sleeper_credit;
mod starvation;
mod throttle_count;
mod timeline_order;
mod work_conservation;

#[cfg(test)]
pub(crate) mod testbed;

pub use allowed_cpus::AllowedCpus;
pub use bandwidth_pool::BandwidthPool;
pub use cpu_time::CpuTime;
pub use group_load::GroupLoad;
pub use idle_with_work::IdleWithWork;
pub use lag_bound::LagBound;
pub use lag_sum::LagSum;
pub use leaf_list::LeafList;
pub use min_vruntime::MinVruntime;
pub use one_cpu::OneCpu;
pub use pelt_bounds::PeltBounds;
pub use pending_wakeup::PendingWakeup;
pub use queue_counts::QueueCounts;
pub use quota::Quota;
pub use resched::Resched;
pub use sleeper_credit::SleeperCredit;
pub use starvation::Starvation;
pub use throttle_count::ThrottleCount;
pub use timeline_order::TimelineOrder;
pub use work_conservation::WorkConservation;

use crate::simulation::Simulation;
use fairwind_sched::Nanos;
use std::fmt;

/// A rule that must hold after every event.
pub trait Monitor {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Looks at the state.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&mut self, simulation: &Simulation) -> Result<(), Violation>;
}

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// When.
    pub time: Nanos,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ns: {}", self.rule, self.time, self.what)
    }
}

/// One of each monitor.
pub fn all() -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(QueueCounts::default()),
        Box::new(TimelineOrder),
        Box::new(LagSum),
        Box::new(LagBound::default()),
        Box::new(MinVruntime::default()),
        Box::new(SleeperCredit),
        Box::new(OneCpu),
        Box::new(AllowedCpus),
        Box::new(PendingWakeup::default()),
        Box::new(IdleWithWork::default()),
        Box::new(Resched::default()),
        Box::new(ThrottleCount),
        Box::new(BandwidthPool::default()),
        Box::new(Quota::default()),
        Box::new(Starvation::default()),
        Box::new(CpuTime::default()),
        Box::new(WorkConservation::default()),
        Box::new(LeafList::default()),
        Box::new(GroupLoad),
        Box::new(PeltBounds),
    ]
}

/// Says that a rule is broken.
fn broken(rule: &'static str, simulation: &Simulation, what: String) -> Result<(), Violation> {
    Err(Violation {
        rule,
        time: simulation.now,
        what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let monitors = all();
        let names: BTreeSet<_> = monitors.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), monitors.len());
    }

    #[test]
    fn a_violation_names_rule_time_and_what_was_seen() {
        let violation = Violation {
            rule: "quota",
            time: 5,
            what: "too much".to_string(),
        };
        assert_eq!(violation.to_string(), "quota at 5 ns: too much");
    }
}
