//! The limits of groups over time.
//!
//! Model.      However many periods a group has run, it has used no more than its quota in each, its burst, and what its CPUs
//!             ran before they were found to have nothing left, once: that is paid back. While it uses more and more than that
//!             before it is first seen to go back to work, it has no limit. A group that had periods and has no limit in the
//!             end had one before. For all of these, and those with a limit in the end, the search for courses is made
//!             (`group_courses`): with their last limit, without one, and with limits of which they used about as much for
//!             some time; then with others near those found.
//!             A group that was made in the recording and has had about as many periods as fit in since had a limit throughout.
//! Units.      Quotas in us of the last period, `NO_LIMIT` where there is none; otherwise ns of the trace clock.
//! Source.     kernel/sched/fair.c `__refill_cfs_bandwidth_runtime` @ 6.1, 6.12.
//! Deviations. Bursts are taken to be what they are in the end.

use super::group_courses::{Course, Courses, Search, near};
use super::phases;
use crate::facts::{Facts, GroupFacts};
use crate::judge::Disagreement;
use crate::record::{Record, What};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The quota of a group without a limit.
pub(super) const NO_LIMIT: u64 = u64::MAX;

const NS_PER_US: u64 = 1000;
/// So long does each CPU run before it is found to have nothing left, in emulation.
const LATE_NS: u64 = 50_000_000;
/// A limit shows in what a group uses in so many periods together, so often, and so many limits are looked at.
const WINDOW: usize = 6;
const LEAST_WINDOWS: usize = 3;
const MOST_LEVELS: usize = 8;
/// What is used in a window is one of so many to an octave.
const LEVELS_TO_OCTAVE: f64 = 8.0;
const MOST_ROUNDS: usize = 3;
/// By which parts of an octave a quota that was found may be off, at first and in the end.
const FAR: [f64; 2] = [-0.1, 0.1];
const NEAR: [f64; 4] = [-0.03, -0.01, 0.01, 0.03];
/// Somebody sets round numbers of us.
const ROUND: [u64; 3] = [1000, 5000, 10_000];

/// What a group and those below it are charged: when, and how much.
type Charges = Vec<(u64, u64)>;

/// The limits that groups had, as far as what they used tells.
pub(super) fn guess(facts: &Facts, records: &[Record], periods: &Courses) -> Courses {
    let mut courses = Courses::default();
    let charges = charges(&facts.groups, records);
    if charges.is_empty() {
        return courses;
    }
    let returns = phases::returns(records);
    let nr_cpus = facts.topology.nr_cpus();
    for (path, charges) in charges {
        let group = &facts.groups[path];
        let Some(last) = group.quota_us else {
            courses.0.insert(path.clone(), vec![(0, NO_LIMIT)]);
            continue;
        };
        let first_return = returns.get(path).and_then(|returns| returns.first());
        let begins = begins(group, &charges, first_return, nr_cpus);
        let is_known = periods.0.contains_key(path) || always_had_limit(path, group, records);
        let begins = begins.filter(|_| !is_known);
        let begins = begins.map(|ts| records.partition_point(|r| r.ts < ts));
        // The first one is when the group is made: nothing tells whether it had a limit by then.
        let course = match begins.filter(|begins| (1..records.len()).contains(begins)) {
            Some(begins) => vec![(0, NO_LIMIT), (begins, last)],
            None => vec![(0, last)],
        };
        courses.0.insert(path.clone(), course);
    }
    courses
}

/// Mends guesses by the disagreements of following the recording with others.
pub(super) fn refine(
    quotas: Courses,
    facts: &Facts,
    records: &[Record],
    periods: &Courses,
    follow: impl Fn(Courses) -> Vec<Disagreement> + Sync,
) -> Courses {
    if quotas == Courses::default() {
        return quotas;
    }
    let paths: Vec<String> = quotas.0.keys().cloned().collect();
    let charges = charges(&facts.groups, records);
    let levels = charges.iter().map(|(&path, charges)| {
        let last = facts.groups[path].period_us;
        let throughout = vec![(0, last)];
        let periods = periods.0.get(path).unwrap_or(&throughout);
        (path.as_str(), levels(charges, periods, last, records))
    });
    let levels: BTreeMap<&str, Vec<u64>> = levels.collect();
    let kept = |path: &str| {
        let group = &facts.groups[path];
        let last = group.quota_us.unwrap_or(NO_LIMIT);
        let mut kept = vec![last];
        if !always_had_limit(path, group, records) {
            kept.push(NO_LIMIT);
        }
        kept
    };
    let shown = Courses::default();
    let mut search = Search::new(quotas, &shown, records, follow);
    search.repeat(MOST_ROUNDS, |search| {
        search.in_turn(&paths, |path, _| {
            let levels = levels[path].iter().copied();
            levels.chain(kept(path)).collect()
        });
        search.in_turn(&paths, |path, course| near(course, &kept(path), &FAR, &[]));
    });
    search.in_turn(&paths, |path, course| {
        near(course, &kept(path), &NEAR, &ROUND)
    });
    search.move_changes();
    search.end(MOST_ROUNDS, kept, &NEAR, &ROUND);
    search.found()
}

/// What groups use that have or had a limit.
fn charges<'a>(
    groups: &'a BTreeMap<String, GroupFacts>,
    records: &[Record],
) -> BTreeMap<&'a String, Charges> {
    let limited = groups.iter().filter(|(_, group)| group.had_limit());
    let mut charges: BTreeMap<&String, Charges> =
        limited.map(|(path, _)| (path, Charges::new())).collect();
    if charges.is_empty() {
        return charges;
    }
    let mut tasks: BTreeMap<i32, &str> = BTreeMap::new();
    for r in records {
        match &r.what {
            What::Attach { pid, path, .. } => {
                tasks.insert(*pid, path);
            }
            What::Fork { parent, child, .. } => {
                let of_parent = tasks.get(parent).copied();
                of_parent.map(|path| tasks.insert(*child, path));
            }
            What::Runtime { pid, runtime, .. } => {
                let Some(group) = tasks.get(pid) else {
                    continue;
                };
                let above = charges.iter_mut().filter(|(path, _)| is_in(group, path));
                above.for_each(|(_, charges)| charges.push((r.ts, *runtime)));
            }
            _ => {}
        }
    }
    charges
}

/// Is a group the one of a path, or below it?
fn is_in(group: &str, path: &str) -> bool {
    group
        .strip_prefix(path)
        .is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// When a group's last limit begins, if it has used more for some time.
fn begins(
    group: &GroupFacts,
    charges: &Charges,
    first_return: Option<&u64>,
    nr_cpus: usize,
) -> Option<u64> {
    let quota = group.quota_us? * NS_PER_US;
    let period = group.period_us * NS_PER_US;
    let once = group.burst_us * NS_PER_US + nr_cpus as u64 * LATE_NS;
    // Whoever went back to work had a limit a period before, this or another one.
    let set = first_return.map_or(u64::MAX, |first| first.saturating_sub(period));
    let (ts, runtime) = charges.first()?;
    let first = ts.saturating_sub(*runtime);
    let (mut used, mut most, mut begins) = (0u64, 0, None);
    for (ts, runtime) in charges.iter().take_while(|(ts, _)| *ts < set) {
        used = used.saturating_add(*runtime);
        let periods = (ts - first) / period + 2;
        let limit = periods.saturating_mul(quota).saturating_add(once);
        let more = used.saturating_sub(limit);
        if more > quota / 2 + most {
            most = more;
            begins = Some(ts.saturating_add(period).min(set));
        }
    }
    begins
}

/// Is there no time left in which a group that was made in the recording can have been without a limit? It has a period only
/// while it has one.
fn always_had_limit(path: &str, group: &GroupFacts, records: &[Record]) -> bool {
    let makes = |r: &&Record| matches!(&r.what, What::Mkdir { path: made, .. } if made == path);
    let (Some(made), Some(last)) = (records.iter().find(makes), records.last()) else {
        return false;
    };
    let periods = last.ts.saturating_sub(made.ts) / (group.period_us * NS_PER_US);
    periods < group.nr_periods.saturating_add(WINDOW as u64)
}

/// What a group uses in its `last` period for some time, or in another one in proportion, in us: most often first.
fn levels(charges: &Charges, periods: &Course, last: u64, records: &[Record]) -> Vec<u64> {
    let begins = |at: usize| records.get(at).map_or(u64::MAX, |r| r.ts);
    let ends = periods.iter().skip(1).map(|(at, _)| begins(*at));
    let mut levels: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    let mut rest = charges.as_slice();
    for ((_, period), end) in periods.iter().zip(ends.chain([u64::MAX])) {
        let (span, later) = rest.split_at(rest.partition_point(|(ts, _)| *ts < end));
        rest = later;
        for mean in means(span, period * NS_PER_US) {
            let mean = mean * last / period;
            let level = (mean.max(1) as f64).log2() * LEVELS_TO_OCTAVE;
            levels.entry(level.round() as i64).or_default().push(mean);
        }
    }
    let mut levels: Vec<Vec<u64>> = levels.into_values().collect();
    levels.retain(|level| level.len() >= LEAST_WINDOWS);
    levels.sort_by_key(|level| Reverse(level.len()));
    levels.truncate(MOST_LEVELS);
    let mean = |level: Vec<u64>| level.iter().sum::<u64>() / level.len() as u64;
    levels.into_iter().map(mean).collect()
}

/// What is used in a period, in us, as the mean of each window of periods.
fn means(charges: &[(u64, u64)], period: u64) -> Vec<u64> {
    let first = charges.first().map_or(0, |(ts, _)| *ts);
    let mut used: Vec<u64> = Vec::new();
    for (ts, runtime) in charges {
        let at = ((ts - first) / period) as usize;
        used.resize(used.len().max(at + 1), 0);
        used[at] += runtime;
    }
    let windows = used.windows(WINDOW);
    windows
        .map(|window| window.iter().sum::<u64>() / WINDOW as u64 / NS_PER_US)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Charges of 10 ms that end at these ms.
    fn charges_at(ms: impl Iterator<Item = u64>) -> Charges {
        ms.map(|ms| (ms * MS, 10 * MS)).collect()
    }

    fn limited(quota_us: u64) -> GroupFacts {
        GroupFacts {
            quota_us: Some(quota_us),
            ..GroupFacts::default()
        }
    }

    #[test]
    fn a_limit_begins_once_its_group_keeps_to_it() {
        // All of a CPU for 250 ms, and then 30 ms of 100.
        let all = (1..=25).map(|n| 10 * n);
        let charges = charges_at(all.chain([310, 320, 330, 410, 420, 430]));
        let begins = |charges, first| begins(&limited(30_000), charges, first, 1);
        assert_eq!(begins(&charges, None), Some(350 * MS));
        assert_eq!(begins(&charges, Some(&(320 * MS))), Some(220 * MS));
        assert_eq!(begins(&charges[..5].to_vec(), None), None);
    }

    #[test]
    fn what_is_used_for_some_time_may_be_a_limit() {
        // 20 ms of each 100, and then 50.
        let some = (0..20).flat_map(|n| [10, 20].map(|ms| 100 * n + ms));
        let more = (20..35).flat_map(|n| [10, 20, 30, 40, 50].map(|ms| 100 * n + ms));
        let charges = charges_at(some.chain(more));
        let throughout = vec![(0, 100_000)];
        assert_eq!(
            levels(&charges, &throughout, 100_000, &[])[..2],
            [20_000, 50_000]
        );
        assert!(levels(&charges[..4].to_vec(), &throughout, 100_000, &[]).is_empty());
    }

    #[test]
    fn a_group_with_all_the_periods_that_fit_in_always_had_a_limit() {
        let mkdir = |path: &str| {
            let path = path.to_owned();
            What::Mkdir {
                root: 1,
                id: 0,
                path,
            }
        };
        let records = [
            Record::of_task(100 * MS, 0, mkdir("/a")),
            Record::of_task(4100 * MS, 0, What::Exit { pid: 7 }),
        ];
        let always = |path: &str, nr_periods| {
            let group = GroupFacts {
                nr_periods,
                ..limited(30_000)
            };
            always_had_limit(path, &group, &records)
        };
        assert_eq!([always("/a", 34), always("/a", 35)], [false, true]);
        assert!(always("/a", u64::MAX));
        assert!(!always("/b", 40), "it may have had them before");
    }

    #[test]
    fn a_group_uses_what_those_below_it_do() {
        let attach = What::Attach {
            pid: 7,
            root: 1,
            path: "/a/b".to_owned(),
        };
        let (pid, runtime, vruntime) = (7, 5, None);
        let charge = What::Runtime {
            pid,
            runtime,
            vruntime,
        };
        let records = [attach, charge].map(|what| Record::of_task(100, 0, what));
        let paths = ["/a", "/a/b", "/ab"].map(|path| (path.to_owned(), limited(1000)));
        let groups = BTreeMap::from(paths);
        let charges = charges(&groups, &records);
        let of = |path: &str| charges[&path.to_owned()].clone();
        assert_eq!(
            [of("/a"), of("/a/b"), of("/ab")],
            [vec![(100, 5)], vec![(100, 5)], vec![]]
        );
    }
}
