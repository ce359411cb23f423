//! Weights of groups learned from what the kernel decided.
//!
//! Model.   While a group has another weight than in the kernel, ours keeps deciding otherwise. So the recording is followed
//!          with the weights that the groups may have had, those of the end for one, and with others: those that they are
//!          made with, all of them or one at a time, and for a group whose weight changed some that it may have had before.
//!          At each time the one is taken with which ours agrees more often, with as few changes as that allows; the best
//!          of all others first, and so on from there while that helps.
//! Deviations. Weights that a group had in between are found if they are near 256, 512, 1024, 2048 or 4096 shares; of groups
//!             eight are looked at alone.

use super::{Course, DEFAULT_SHARES, Weights};
use crate::facts::Facts;
use crate::judge::{Disagreement, Measure};
use crate::record::Record;
use fairwind_sched::entity::scale_load;
use std::num::NonZero;
use std::thread;

/// As many disagreements as a change must save.
const COST_OF_CHANGE: usize = 12;
/// Groups that are looked at alone.
const MOST_GROUPS: usize = 8;
/// Changes that are found one after the other.
const MOST_STEPS: usize = 8;
/// `cpu.shares` that a group may have had in between.
const IN_BETWEEN: [u64; 5] = [256, 512, DEFAULT_SHARES, 2048, 4096];

/// What follows from weights: at which records ours decides otherwise.
struct Run {
    weights: Weights,
    misses: Vec<usize>,
}

/// Other weights that some groups may have had for a while.
struct Candidate {
    weights: Weights,
    paths: Vec<String>,
}

/// Mends weights by the disagreements of following the recording with others.
pub(super) fn refine(
    weights: Weights,
    facts: &Facts,
    records: &[Record],
    follow: impl Fn(&Weights) -> Vec<Disagreement> + Sync,
) -> Weights {
    let run = |weights: Weights| {
        let disagreements = follow(&weights);
        let decisions = disagreements.iter();
        let mut misses: Vec<usize> = decisions
            .filter(|d| d.measure != Measure::State)
            .map(|d| records.partition_point(|r| r.ts < d.ts))
            .collect();
        misses.sort_unstable();
        Run { weights, misses }
    };
    let mut best = run(weights);
    for _ in 0..MOST_STEPS {
        let mut candidates = candidates(facts, &best.weights);
        candidates.retain(|candidate| best.misses_beside(candidate) > COST_OF_CHANGE);
        let with = |candidate: &Candidate| {
            let (spans, cost) = spans(&best.misses, &run(candidate.weights.clone()).misses);
            (!spans.is_empty()).then_some((cost, spans))
        };
        let tried = side_by_side(&candidates, with);
        let better = candidates.iter().zip(tried);
        let better = better.filter_map(|(candidate, tried)| Some((candidate, tried?)));
        let Some((candidate, (_, spans))) = better.min_by_key(|(_, (cost, _))| *cost) else {
            break;
        };
        let joined = run(best.weights.joined(candidate, &spans));
        if joined.cost() >= best.cost() {
            break;
        }
        best = joined;
    }
    best.weights
}

impl Run {
    /// How often ours decides otherwise while the candidate has other weights, which it may mend.
    fn misses_beside(&self, candidate: &Candidate) -> usize {
        let differs = |at: usize| {
            let of = |weights: &Weights, path| shares_at(&weights.0[path], at);
            let mut paths = candidate.paths.iter();
            paths.any(|path| of(&self.weights, path) != of(&candidate.weights, path))
        };
        self.misses.iter().filter(|at| differs(**at)).count()
    }

    fn cost(&self) -> usize {
        let changes = self.weights.0.values().map(|course| course.len() - 1);
        self.misses.len() + COST_OF_CHANGE * changes.max().unwrap_or(0)
    }
}

/// What each of them comes to, on all CPUs.
fn side_by_side<T: Sync, U: Send>(all: &[T], f: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let part = all.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let f = &f;
        let parts = all.chunks(part);
        let workers = parts.map(|part| scope.spawn(move || part.iter().map(f).collect::<Vec<U>>()));
        let workers: Vec<_> = workers.collect();
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|part| part.expect("it does not panic"))
            .collect()
    })
}

/// All groups as they were made; each alone the other way round; and of those that changed, others in between.
fn candidates(facts: &Facts, weights: &Weights) -> Vec<Candidate> {
    let paths: Vec<String> = weights.0.keys().cloned().collect();
    let mut candidates = vec![Candidate {
        weights: Weights::as_made(facts),
        paths: paths.clone(),
    }];
    for path in paths.iter().take(MOST_GROUPS) {
        let last = scale_load(facts.groups[path].shares);
        let mut with = |shares: &dyn Fn(u64) -> u64| {
            let mut weights = weights.clone();
            for (_, of_group) in weights.0.get_mut(path).into_iter().flatten() {
                *of_group = shares(*of_group);
            }
            let paths = vec![path.clone()];
            candidates.push(Candidate { weights, paths });
        };
        let made = scale_load(DEFAULT_SHARES);
        with(&|shares| if shares == last { made } else { last });
        if weights.0[path].len() > 1 {
            for in_between in IN_BETWEEN.map(scale_load) {
                with(&|shares| if shares == last { last } else { in_between });
            }
        }
    }
    candidates
}

/// What a group weighs when a record is followed.
fn shares_at(course: &Course, at: usize) -> u64 {
    let begun = course.iter().take_while(|(from, _)| *from <= at);
    begun.last().map_or(course[0].1, |(_, shares)| *shares)
}

/// One course, but for the spans of records in which it is the other.
fn joined([one, other]: [&Course; 2], spans: &[(usize, usize)]) -> Course {
    let ends = spans.iter().flat_map(|&(from, to)| [from, to]);
    let changes = one.iter().chain(other).map(|(from, _)| *from);
    let mut times: Vec<usize> = ends.chain(changes).chain([0]).collect();
    times.sort_unstable();
    let mut course = Course::new();
    for time in times {
        let is_other = spans.iter().any(|&(from, to)| (from..to).contains(&time));
        let shares = shares_at(if is_other { other } else { one }, time);
        if course.last().is_none_or(|(_, before)| *before != shares) {
            course.push((time, shares));
        }
    }
    course
}

/// The spans of records in which the other run is enough better, so that the fewest disagreements and changes are left, and
/// what these cost. In the end it is the one.
fn spans(one: &[usize], other: &[usize]) -> (Vec<(usize, usize)>, usize) {
    let mut misses: Vec<(usize, bool)> = one.iter().map(|&at| (at, false)).collect();
    misses.extend(other.iter().map(|&at| (at, true)));
    misses.sort_unstable();
    // The least cost of a course that is with the one, and with the other, at each miss; and where it changed to that.
    let mut costs = [0, 0];
    let mut changed: Vec<[bool; 2]> = Vec::new();
    for &(_, of_other) in &misses {
        let before = costs;
        let change = [0, 1].map(|to: usize| before[1 - to] + COST_OF_CHANGE < before[to]);
        for to in [0, 1] {
            costs[to] = before[to].min(before[1 - to] + COST_OF_CHANGE);
            costs[to] += usize::from((to == 1) == of_other);
        }
        changed.push(change);
    }
    let mut spans = Vec::new();
    let mut is_other = costs[1] + COST_OF_CHANGE < costs[0];
    let mut end = misses.last().map_or(0, |(at, _)| at + 1);
    for (&(at, _), change) in misses.iter().zip(&changed).rev() {
        if !change[usize::from(is_other)] {
            continue;
        }
        if is_other {
            spans.push((at, end));
        } else {
            end = at;
        }
        is_other = !is_other;
    }
    if is_other {
        spans.push((0, end));
    }
    spans.reverse();
    (spans, costs[0].min(costs[1] + COST_OF_CHANGE))
}

impl Weights {
    /// The same, but for some groups in these spans of records.
    fn joined(&self, candidate: &Candidate, spans: &[(usize, usize)]) -> Weights {
        let mut weights = self.clone();
        for path in &candidate.paths {
            let courses = [self, &candidate.weights].map(|weights| &weights.0[path]);
            weights.0.insert(path.clone(), joined(courses, spans));
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_run_is_taken_where_it_saves_more_than_a_change_costs() {
        let many = |from: usize, n: usize| (from..from + n).collect::<Vec<usize>>();
        let spans_of = |one: &[usize], other: &[usize]| spans(one, other).0;
        // Few disagreements that the other lacks are no reason to change, many are, until it has many.
        assert_eq!(spans_of(&many(0, COST_OF_CHANGE), &[]), []);
        assert_eq!(spans_of(&many(100, 50), &many(500, 50)), [(0, 500)]);
        let in_between = [many(100, 50), many(900, 50)].concat();
        assert_eq!(
            spans_of(&many(400, 50), &in_between),
            [(400, 900)],
            "from the one's first disagreement on, to the other's next"
        );
        // Its end is the recording's: after that there is nothing to be better at.
        assert_eq!(spans_of(&many(100, 50), &[]), [(0, 150)]);
    }

    #[test]
    fn courses_are_joined_where_one_changes_to_the_other() {
        let one = vec![(0, 10), (600, 30)];
        let other = vec![(0, 20)];
        let joined = |spans: &[(usize, usize)]| joined([&one, &other], spans);
        assert_eq!(joined(&[]), one);
        assert_eq!(joined(&[(0, 500)]), [(0, 20), (500, 10), (600, 30)]);
        assert_eq!(joined(&[(300, 700)]), [(0, 10), (300, 20), (700, 30)]);
    }
}
