//! The periods of limits over time.
//!
//! Model.      Queues that go back to work tell the periods (`return_grids`). A new one begins when the timer next expires that the
//!             old one armed: as soon as it can have been if it is longer, as late if it is shorter, so that fewer queues stay
//!             away from where they could return. Then changes come earlier or later, while ours agrees more often with that.
//!             A limit ends with the period that it has in the end, one that is gone with any.
//! Units.      Periods in us; otherwise ns of the trace clock.
//! Source.     kernel/sched/fair.c `tg_set_cfs_bandwidth`, `start_cfs_bandwidth` @ 6.1, 6.12.
//! Deviations. Limits under which no queue runs out of runtime tell nothing.

use super::group_courses::{Courses, Search};
use super::phases::{self, CALL_NS};
use super::quotas::NO_LIMIT;
use super::return_grids::{Grid, LATE_NS, Span, spans};
use crate::facts::{Facts, GroupFacts};
use crate::judge::Disagreement;
use crate::record::Record;
use std::collections::BTreeMap;

const NS_PER_US: u64 = 1000;
/// The kernel takes no longer period, and no smaller quota, in us.
const LONGEST: u64 = 1_000_000;
const LEAST_QUOTA: u64 = 1000;
/// More returns than this are not looked at, nor more periods in which a new one may have begun.
const MAX_RETURNS: usize = 4000;
const MAX_PERIODS: usize = 1000;

/// The periods of groups that had another one than in the end.
pub(super) fn find(facts: &Facts, records: &[Record]) -> Courses {
    let mut courses = Courses::default();
    let limited = facts.groups.iter();
    let limited = limited.filter(|(_, group)| group.had_limit() && group.period_us <= LONGEST);
    let limited: Vec<(&String, &GroupFacts)> = limited.collect();
    if limited.is_empty() {
        return courses;
    }
    let own = own_returns(&limited, &phases::returns(records));
    for ((path, group), returns) in limited.into_iter().zip(own) {
        let last = group.period_us * NS_PER_US;
        let mut changes = changes(&spans(&returns, last), &returns, last);
        if group.quota_us.is_none() {
            changes.pop_if(|(_, period)| *period == last);
        }
        if changes.iter().any(|(_, period)| *period != last) {
            let at = |ts: u64| records.partition_point(|r| r.ts < ts);
            let course = changes
                .into_iter()
                .map(|(ts, period)| (at(ts), period / NS_PER_US));
            courses.0.insert(path.clone(), course.collect());
        }
    }
    courses
}

/// Has changes come earlier or later, while ours agrees more often with that.
pub(super) fn refine(
    periods: Courses,
    records: &[Record],
    follow: impl Fn(Courses) -> Vec<Disagreement> + Sync,
) -> Courses {
    if periods.number_of_changes() == 0 {
        return periods;
    }
    let shown = Courses::default();
    let mut search = Search::new(periods, &shown, records, follow);
    search.move_changes();
    search.found()
}

/// The quota that is as much of a period as one is of the last period; all in us.
pub(super) fn quota_in(period: u64, quota: u64, last: u64) -> u64 {
    if quota == NO_LIMIT || period == last {
        return quota;
    }
    let quota = u128::from(quota) * u128::from(period) / u128::from(last);
    u64::try_from(quota).map_or(NO_LIMIT, |quota| quota.max(LEAST_QUOTA))
}

/// The returns of each limited group that are no other one's, once for all its queues.
fn own_returns(
    limited: &[(&String, &GroupFacts)],
    returns: &BTreeMap<String, Vec<u64>>,
) -> Vec<Vec<u64>> {
    let all = limited.iter().map(|(path, _)| returns.get(*path));
    let all: Vec<&[u64]> = all.map(|all| all.map_or(&[][..], Vec::as_slice)).collect();
    let own = all.iter().enumerate().map(|(group, returns)| {
        let is_in_others = |ts: &u64| {
            let mut others = all.iter().enumerate().filter(|(other, _)| *other != group);
            others.any(|(_, returns)| returns.binary_search(ts).is_ok())
        };
        let own = returns.iter().copied().filter(|ts| !is_in_others(ts));
        let mut own: Vec<u64> = own.take(MAX_RETURNS).collect();
        own.dedup_by(|later, first| later.saturating_sub(*first) < CALL_NS);
        own
    });
    own.collect()
}

/// When a limit gets which period, the first from the start, and the one that it has in the end. While returns come at any time
/// it keeps the one that it has.
fn changes(spans: &[Span], returns: &[u64], last: u64) -> Vec<(u64, u64)> {
    let grids = spans.iter();
    let grids = grids.filter_map(|span| Some((span.first, span.grid?)));
    let grids: Vec<(usize, Grid)> = grids.collect();
    let first = grids.first().map_or(last, |(_, grid)| grid.period);
    let mut changes = vec![(0, first)];
    for pair in grids.windows(2) {
        let ((_, old), (first, new)) = (pair[0], pair[1]);
        if old.period != new.period {
            let between = [returns[first - 1], returns[first]];
            changes.push((begins(old, new, between), new.period));
        }
    }
    let at_any_time = spans.last().filter(|span| span.grid.is_none());
    let ends = at_any_time.map_or(returns.len(), |span| span.first);
    if let (Some((_, grid)), Some(before)) = (grids.last(), ends.checked_sub(1))
        && grid.period != last
    {
        changes.push((returns[before].saturating_add(grid.period), last));
    }
    changes
}

/// When a period took the place of another one, between the last return that came with that and the first that came with it: in
/// the middle of the period after which its first one begins.
fn begins(old: Grid, new: Grid, [before, after]: [u64; 2]) -> u64 {
    let into = |ts: u64, grid: Grid| (ts % grid.period + grid.period - grid.phase) % grid.period;
    let next = before.saturating_add(old.period - into(before, old));
    let most = after.saturating_sub(next) / old.period;
    let mut expires = (0..=most).take(MAX_PERIODS).map(|n| {
        let n = if new.period > old.period { n } else { most - n };
        next.saturating_add(n.saturating_mul(old.period))
    });
    let fits = |expires: &u64| {
        let late = into(*expires, new);
        late.min(new.period - late) < LATE_NS
    };
    let expires = expires.find(fits).unwrap_or(next);
    expires.saturating_sub(old.period / 2).max(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn grid(period: u64, phase: u64) -> Grid {
        let [period, phase] = [period, phase].map(|ms| ms * MS);
        Grid { period, phase }
    }

    #[test]
    fn a_new_period_begins_when_the_timer_of_the_old_one_expires() {
        let begins = |old, new, between: [u64; 2]| begins(old, new, between.map(|ms| ms * MS)) / MS;
        let (short, long) = (grid(10, 3), grid(50, 13));
        assert_eq!(
            begins(short, long, [504, 763]),
            508,
            "at 513 ms the first one begins"
        );
        assert_eq!(begins(short, long, [514, 763]), 558);
        assert_eq!(begins(long, short, [514, 713]), 688, "713");
        assert_eq!(begins(long, grid(20, 9), [514, 713]), 538, "none fits: 563");
    }

    #[test]
    fn a_limit_keeps_its_period_while_returns_come_at_any_time() {
        let returns: Vec<u64> = (0..6).map(|n| (103 + 10 * n) * MS).collect();
        let (short, long) = (grid(10, 3), grid(50, 3));
        let changes = |grids: &[(usize, Option<Grid>)]| {
            let spans = grids.iter().map(|&(first, grid)| Span { first, grid });
            let spans: Vec<Span> = spans.collect();
            let changes = changes(&spans, &returns, 50 * MS).into_iter();
            changes
                .map(|(ts, period)| (ts / MS, period / MS))
                .collect::<Vec<_>>()
        };
        assert_eq!(changes(&[(0, None)]), [(0, 50)]);
        assert_eq!(changes(&[(0, None), (2, Some(long))]), [(0, 50)]);
        assert_eq!(
            changes(&[(0, Some(short)), (2, None)]),
            [(0, 10), (123, 50)]
        );
        assert_eq!(
            changes(&[(0, Some(short)), (2, None), (4, Some(long))]),
            [(0, 10), (138, 50)]
        );
    }

    #[test]
    fn a_return_of_two_groups_tells_neither_period() {
        let group = GroupFacts::default();
        let paths = ["/a", "/a/b"].map(str::to_owned);
        let limited: Vec<_> = paths.iter().map(|path| (path, &group)).collect();
        let returns = [
            vec![10 * MS, 20 * MS, 30 * MS],
            vec![20 * MS, 35 * MS, 35 * MS + 1],
        ];
        let returns = BTreeMap::from_iter(paths.iter().cloned().zip(returns));
        let own = [vec![10 * MS, 30 * MS], vec![35 * MS]];
        assert_eq!(own_returns(&limited, &returns), own);
    }

    #[test]
    fn a_quota_is_in_proportion_to_its_period() {
        assert_eq!(quota_in(10_000, 20_000, 50_000), 4000);
        assert_eq!(quota_in(10_000, 2000, 50_000), LEAST_QUOTA);
        assert_eq!(quota_in(10_000, NO_LIMIT, 50_000), NO_LIMIT);
        assert_eq!(quota_in(10_000, 500, 10_000), 500);
    }
}
