//! When the periods of CPU limits begin: in step, or spread over the period.
//!
//! Model.      A group's quota is refilled when its period timer expires. Timers of one period that expire together let
//!             their groups loose together, to compete for the threads of the same cores.
//!
//! ```text
//!   aligned   multiples of the period since boot                                (6.1)
//!   tenth     a timer that starts a period or more after it last expired moves on in tenths of a period first
//!   random    an offset below the default period, drawn when the group is made  (6.12)
//!   even      the k-th of n groups with a limit and one period: k/n of the period; re-spaced as groups come and go
//!   gap       a group that gets a limit: the middle of the widest gap between the others; no one moves
//! ```
//!
//! Periods themselves can vary, too: with `bw_period_jitter_pct` n a limit's period is drawn from within n %
//! of what was asked for when it is set, and quota and burst in proportion, so that the share is kept.
//!
//! Invariants. A timer that is re-spaced moves on, never back: a group waits longer once, and never gets more than its quota.
//! Source.     kernel/sched/fair.c `start_cfs_bandwidth`, `init_cfs_bandwidth` @ 6.1, 6.12; `tenth`: "Interleave cfs
//!             bandwidth timers for improved single thread performance at low utilization", RFC v2, posted to LKML in
//!             February 2023, where `even` is outlined and varied periods are asked about.

use crate::bandwidth::forward;
use crate::cgroup::BandwidthLimit;
use crate::effects::Effect;
use crate::features::Feature;
use crate::group::{DEFAULT_CFS_PERIOD, RUNTIME_INF};
use crate::sched::Sched;
use crate::units::{GroupId, Nanos};
use alloc::vec::Vec;

/// The shortest period and quota of a limit.
pub(crate) const MIN_BW_PERIOD: Nanos = 1_000_000;
/// The longest period.
pub(crate) const MAX_BW_PERIOD: Nanos = 1_000_000_000;

/// Where in time the periods of limits begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BwInterleave {
    /// At multiples of the period.
    Aligned,
    /// Moved on in tenths of the period when a timer starts late.
    Tenth,
    /// At a point drawn at random for each group.
    Random,
    /// At k/n of the period.
    Even,
    /// In the middle of the widest gap.
    Gap,
}

impl BwInterleave {
    /// All of them.
    pub const ALL: [BwInterleave; 5] = [
        BwInterleave::Aligned,
        BwInterleave::Tenth,
        BwInterleave::Random,
        BwInterleave::Even,
        BwInterleave::Gap,
    ];

    /// Its name as a setting.
    pub fn name(self) -> &'static str {
        match self {
            BwInterleave::Aligned => "aligned",
            BwInterleave::Tenth => "tenth",
            BwInterleave::Random => "random",
            BwInterleave::Even => "even",
            BwInterleave::Gap => "gap",
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<BwInterleave> {
        BwInterleave::ALL.into_iter().find(|i| i.name() == name)
    }
}

impl Sched {
    /// When the timer of a new group would have expired first.
    pub(crate) fn first_period_expiry(&mut self) -> Nanos {
        let drawn = self.profile.bw_interleave == BwInterleave::Random
            && self.profile.features.has(Feature::FAIR_GROUP_SCHED);
        if drawn {
            self.random_below(DEFAULT_CFS_PERIOD)
        } else {
            0
        }
    }

    fn random_below(&mut self, end: u64) -> u64 {
        ((self.next_random() >> 32) * end) >> 32
    }

    /// Moves the timer of a group that starts past the present.
    pub(crate) fn forward_period_timer(&mut self, group: GroupId) {
        let now = self.now;
        let b = &mut self.groups[group].bandwidth;
        let late = now.saturating_sub(b.period_expires);
        if self.profile.bw_interleave == BwInterleave::Tenth && late >= b.period {
            let tenth = b.period / 10;
            b.period_expires += late / tenth * tenth;
        }
        forward(&mut b.period_expires, now, b.period);
    }

    /// The limit to set where one was asked for: the same, or with a varied period.
    pub(crate) fn vary_period(&mut self, asked: BandwidthLimit) -> BandwidthLimit {
        let percent = u64::from(self.profile.bw_period_jitter_pct);
        if percent == 0 || asked.quota == RUNTIME_INF {
            return asked;
        }
        let part = |ns: u64, of: u64, whole: u64| {
            (u128::from(ns) * u128::from(of) / u128::from(whole)) as u64
        };
        // A quota below the shortest one would not be a limit any more.
        let for_quota = part(asked.period, MIN_BW_PERIOD, asked.quota) + 1;
        let low = (asked.period - asked.period * percent / 100)
            .max(MIN_BW_PERIOD)
            .max(for_quota);
        let high = (asked.period + asked.period * percent / 100).min(MAX_BW_PERIOD);
        if low >= high {
            return asked;
        }
        let period = low + self.random_below(high - low + 1);
        BandwidthLimit {
            quota: part(asked.quota, period, asked.period),
            period,
            burst: part(asked.burst, period, asked.period),
        }
    }

    /// Groups with a limit and this period, in the order in which they were made.
    fn limited_groups(&self, period: Nanos) -> Vec<GroupId> {
        let ids = self.groups.ids();
        ids.filter(|&group| {
            let b = &self.groups[group].bandwidth;
            b.quota != RUNTIME_INF && b.period == period
        })
        .collect()
    }

    /// `group` got or changed a limit: where do its periods begin?
    pub(crate) fn interleave_new_limit(&mut self, group: GroupId) {
        let period = self.groups[group].bandwidth.period;
        match self.profile.bw_interleave {
            BwInterleave::Even => self.space_out(period),
            BwInterleave::Gap => {
                let others = self
                    .limited_groups(period)
                    .into_iter()
                    .filter(|&g| g != group);
                let taken = others.map(|g| self.groups[g].bandwidth.period_expires % period);
                let phase = widest_gap(taken.collect(), period);
                self.move_period(group, phase);
            }
            BwInterleave::Aligned | BwInterleave::Tenth | BwInterleave::Random => {}
        }
    }

    /// A group no longer has a limit with this period.
    pub(crate) fn interleave_gone_limit(&mut self, period: Nanos) {
        if self.profile.bw_interleave == BwInterleave::Even {
            self.space_out(period);
        }
    }

    fn space_out(&mut self, period: Nanos) {
        let groups = self.limited_groups(period);
        let count = groups.len() as u64;
        for (k, group) in groups.into_iter().enumerate() {
            self.move_period(group, period * k as u64 / count);
        }
    }

    /// Lets the periods of a group begin at a phase, from the next such point on.
    fn move_period(&mut self, group: GroupId, phase: Nanos) {
        let b = &mut self.groups[group].bandwidth;
        let wait = (phase + b.period - b.period_expires % b.period) % b.period;
        b.period_expires += wait;
        if wait != 0 && b.period_active {
            let expires = b.period_expires;
            self.effects
                .push(Effect::StartPeriodTimer { group, expires });
        }
    }
}

/// The middle of the widest gap between points on a circle, the first of the widest; 0 on an empty one.
fn widest_gap(mut taken: Vec<Nanos>, period: Nanos) -> Nanos {
    taken.sort_unstable();
    let (Some(&first), Some(&last)) = (taken.first(), taken.last()) else {
        return 0;
    };
    let inner = taken.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let mut widest = (0, 0);
    for gap in inner.chain([(first + period - last, last)]) {
        if gap.0 > widest.0 {
            widest = gap;
        }
    }
    (widest.1 + widest.0 / 2) % period
}

#[cfg(test)]
mod tests {
    use super::widest_gap;
    use alloc::vec;

    #[test]
    fn the_first_of_the_widest_gaps_is_halved() {
        assert_eq!(widest_gap(vec![], 100), 0);
        assert_eq!(widest_gap(vec![0], 100), 50);
        assert_eq!(widest_gap(vec![50, 0], 100), 25);
        assert_eq!(widest_gap(vec![0, 50, 25], 100), 75);
        assert_eq!(widest_gap(vec![25, 75], 100), 50);
        // From 80 round to 20.
        assert_eq!(widest_gap(vec![20, 50, 80], 100), 0);
    }
}
