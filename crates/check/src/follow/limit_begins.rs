//! Since when groups have their limits, where that is not from the start.
//!
//! Model.      However many periods a group has run, it has used no more than its quota in each, its burst, and what its CPUs
//!             ran before they were found to have nothing left, once: that is paid back. While it uses more and more than that
//!             before it is first seen to go back to work, it has no limit. With that begin, and with earlier and later ones,
//!             the recording is followed, and the one is taken with which ours decides otherwise least often.
//! Units.      ns of the trace clock.
//! Source.     kernel/sched/fair.c `__refill_cfs_bandwidth_runtime` @ 6.1, 6.12.
//! Deviations. From then on it is taken to have the limit that it has in the end: others in between are not recorded.

use super::phases;
use super::tries::side_by_side;
use crate::facts::GroupFacts;
use crate::record::{Record, What};
use std::collections::BTreeMap;

const NS_PER_US: u64 = 1000;
/// So long does each CPU run before it is found to have nothing left, in emulation.
const LATE_NS: u64 = 50_000_000;
/// By how much a begin is moved, one after the other, and how often in one direction.
const MOVES_NS: [u64; 5] = [160_000_000, 80_000_000, 40_000_000, 20_000_000, 10_000_000];
const MOST_MOVES: usize = 4;

/// A group with a limit.
struct Limited {
    quota: u64,
    period: u64,
    /// What it can use beside its quota, once.
    once: u64,
    /// When it has a limit at the latest.
    set: u64,
    /// When it first ran, and for how long it has since.
    first: u64,
    used: u64,
    /// By how much that was more than with the limit.
    more: u64,
}

/// When the limits begin that are not there from the start, by the path of the group.
#[derive(Clone, Debug, Default)]
pub(super) struct Begins(BTreeMap<String, u64>);

impl Begins {
    /// Finds them in a recording.
    pub(super) fn find(
        groups: &BTreeMap<String, GroupFacts>,
        records: &[Record],
        nr_cpus: usize,
    ) -> Begins {
        let mut begins = Begins::default();
        if groups.values().all(|group| group.quota_us.is_none()) {
            return begins;
        }
        let returns = phases::returns(records);
        let limited = groups.iter().filter_map(|(path, group)| {
            let period = group.period_us * NS_PER_US;
            // Whoever went back to work had a limit a period before, this or another one.
            let first = returns.get(path).and_then(|returns| returns.first());
            let limited = Limited {
                quota: group.quota_us? * NS_PER_US,
                period,
                once: group.burst_us * NS_PER_US + nr_cpus as u64 * LATE_NS,
                set: first.map_or(u64::MAX, |first| first.saturating_sub(period)),
                first: 0,
                used: 0,
                more: 0,
            };
            Some((path, limited))
        });
        let mut limited: BTreeMap<&String, Limited> = limited.collect();
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
                    for (path, limited) in &mut limited {
                        if is_in(group, path) && limited.has_none(r.ts, *runtime) {
                            let end = r.ts.saturating_add(limited.period).min(limited.set);
                            begins.0.insert((*path).clone(), end);
                        }
                    }
                }
                _ => {}
            }
        }
        begins
    }

    /// The same, but where others are better: `misses` tells how often ours decides otherwise with some.
    pub(super) fn refine(self, misses: impl Fn(&Begins) -> usize + Sync) -> Begins {
        if self.0.is_empty() {
            return self;
        }
        let mut best = (misses(&self), self);
        for by in MOVES_NS {
            let paths: Vec<String> = best.1.0.keys().cloned().collect();
            for path in paths {
                for _ in 0..MOST_MOVES {
                    let others = [
                        best.1.moved(&path, by, false),
                        best.1.moved(&path, by, true),
                    ];
                    let of_others = side_by_side(&others, &misses);
                    let tried = of_others.into_iter().zip(others);
                    match tried.min_by_key(|(misses, _)| *misses) {
                        Some(better) if better.0 < best.0 => best = better,
                        _ => break,
                    }
                }
            }
        }
        best.1
    }

    /// The limit of one group begins earlier or later.
    fn moved(&self, path: &str, by: u64, later: bool) -> Begins {
        let mut begins = self.clone();
        for (_, begin) in begins.0.iter_mut().filter(|(of, _)| *of == path) {
            *begin = if later {
                begin.saturating_add(by)
            } else {
                begin.saturating_sub(by)
            };
        }
        begins
    }

    /// When a group's limit begins, if not at once.
    pub(super) fn of(&self, path: &str) -> Option<u64> {
        self.0.get(path).copied()
    }

    /// The groups whose limits begin between two times.
    pub(super) fn between(&self, after: u64, until: u64) -> Vec<String> {
        let begins = self.0.iter();
        let these = begins.filter(|&(_, &begins)| after < begins && begins <= until);
        these.map(|(path, _)| path.clone()).collect()
    }
}

impl Limited {
    /// A task of the group has run: does it still use more than it can have had?
    fn has_none(&mut self, ts: u64, runtime: u64) -> bool {
        if ts >= self.set {
            return false;
        }
        if self.used == 0 {
            self.first = ts.saturating_sub(runtime);
        }
        self.used = self.used.saturating_add(runtime);
        let periods = ts.saturating_sub(self.first) / self.period + 2;
        let limit = periods.saturating_mul(self.quota).saturating_add(self.once);
        let more = self.used.saturating_sub(limit);
        let goes_on = more > self.more.saturating_add(self.quota / 2);
        if goes_on {
            self.more = more;
        }
        goes_on
    }
}

/// Is a group the one of a path, or below it?
fn is_in(group: &str, path: &str) -> bool {
    group
        .strip_prefix(path)
        .is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_limit_begins_once_its_group_keeps_to_it() {
        let group = GroupFacts {
            quota_us: Some(30_000),
            ..GroupFacts::default()
        };
        let groups = BTreeMap::from([("/a".to_owned(), group)]);
        let attach = What::Attach {
            pid: 7,
            root: 1,
            path: "/a/b".to_owned(),
        };
        let mut records = vec![Record::of_task(0, 0, attach)];
        // All of its CPU for 250 ms, and then 30 ms of 100.
        let charge = |ms: u64| {
            let (runtime, vruntime) = (10 * MS, None);
            let pid = 7;
            let what = What::Runtime {
                pid,
                runtime,
                vruntime,
            };
            Record::of_task(ms * MS, 0, what)
        };
        records.extend((1..=25).map(|n| charge(10 * n)));
        records.extend([310, 320, 330, 410, 420, 430].map(charge));
        let begins = Begins::find(&groups, &records, 1);
        assert_eq!(begins.of("/a"), Some(350 * MS));
        assert_eq!(begins.between(0, 350 * MS), ["/a"]);
        assert_eq!(begins.of("/a/b"), None);
        assert!(Begins::find(&groups, &records[..5], 1).of("/a").is_none());
    }

    #[test]
    fn a_begin_is_moved_to_where_ours_decides_otherwise_least_often() {
        let begins = |a: u64, b: u64| {
            Begins(BTreeMap::from([
                ("/a".to_owned(), a * MS),
                ("/b".to_owned(), b * MS),
            ]))
        };
        let misses = |begins: &Begins| {
            let apart = |path, from: u64| begins.of(path).unwrap_or(0).abs_diff(from * MS);
            ((apart("/a", 300) + apart("/b", 900)) / MS) as usize
        };
        let refined = begins(1000, 1000).refine(misses);
        assert_eq!(refined.0, begins(300, 900).0);
        assert_eq!(Begins::default().refine(|_| 0).0, BTreeMap::new());
    }
}
