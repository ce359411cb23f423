//! Weights of groups learned from what the kernel decided.
//!
//! Model.   While a group has another weight than in the kernel, ours keeps deciding otherwise. So the recording is followed
//!          with other weights: with those that all groups are made with, and with one of many for each group in turn. A
//!          group gets the best course through these (`best_course`), then the next does, and so on while that helps. At first
//!          the weights are octaves apart, then near those found.
//! Deviations. Weights that differ from the one that was found by less than decisions tell are not found, and of groups
//!             eight are looked at.

use super::best_course::{COST_OF_CHANGE, Run, best_of};
use super::{Course, DEFAULT_SHARES, Weights};
use crate::facts::Facts;
use crate::follow::tries::{decisions, side_by_side};
use crate::judge::Disagreement;
use crate::record::Record;
use fairwind_sched::entity::{scale_load, scale_load_down};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;

/// Groups that are looked at.
const MOST_GROUPS: usize = 8;
/// So often weights are looked at that are octaves apart, and then nearer ones,
const MOST_ROUNDS: usize = 3;
/// and each group so often in either.
const MOST_TURNS: usize = 4;
/// `cpu.shares` that a group may have had.
const OCTAVES: [u64; 7] = [128, 256, 512, DEFAULT_SHARES, 2048, 4096, 8192];
/// By which parts of an octave a weight that was found may be off, at first and in the end.
const FAR: [f64; 4] = [-0.4, -0.1, 0.1, 0.4];
const NEAR: [f64; 4] = [-0.03, -0.01, 0.01, 0.03];

/// What a group weighs lasts for so long at least.
const LEAST_LASTS_NS: u64 = 50_000_000;

/// Somebody sets round numbers of `cpu.shares`.
const ROUND: [u64; 3] = [10, 100, 1000];

/// Looks for the weights with which ours agrees most often.
struct Search<'a, F> {
    records: &'a [Record],
    /// Where ours disagrees with these weights.
    follow: F,
    best: Run,
    /// The courses that were shown. To give one of them up must save as much as a change must.
    shown: &'a Weights,
    /// All that was followed: much of it is asked for again.
    known: BTreeMap<Weights, Run>,
}

/// Mends weights, guessed or shown, by the disagreements of following the recording with others.
pub(super) fn refine(
    weights: Weights,
    shown: &Weights,
    facts: &Facts,
    records: &[Record],
    follow: impl Fn(Weights) -> Vec<Disagreement> + Sync,
) -> Weights {
    let paths: Vec<String> = weights.0.keys().cloned().collect();
    let some = &paths[..paths.len().min(MOST_GROUPS)];
    let octaves = |path: &str, _: &Course| {
        let last = [facts.groups[path].shares];
        OCTAVES.into_iter().chain(last).map(scale_load).collect()
    };
    let best = run(weights, records, &follow);
    let mut search = Search {
        records,
        follow,
        best,
        shown,
        known: BTreeMap::new(),
    };
    for _ in 0..MOST_ROUNDS {
        let before = search.best.cost();
        search.in_turn(some, octaves);
        search.in_turn(some, |_, course| near(course, &FAR, &[]));
        search.improve(&paths, vec![Weights::as_made(facts)]);
        if search.best.cost() + COST_OF_CHANGE > before {
            break;
        }
    }
    search.in_turn(some, |_, course| near(course, &NEAR, &ROUND));
    search.best.weights
}

impl<F: Fn(Weights) -> Vec<Disagreement> + Sync> Search<'_, F> {
    /// Looks at one group after the other with weights that it may have had, while that helps.
    fn in_turn(&mut self, paths: &[String], shares: impl Fn(&str, &Course) -> BTreeSet<u64>) {
        let mut in_vain = 0;
        for path in paths.iter().cycle().take(MOST_TURNS * paths.len()) {
            let weights = &self.best.weights;
            let shares = shares(path, &weights.0[path]).into_iter();
            let others = shares.map(|shares| weights.with(path, vec![(0, shares)]));
            let improved = self.improve(slice::from_ref(path), others.collect());
            in_vain = if improved { 0 } else { in_vain + 1 };
            if in_vain == paths.len() {
                break;
            }
        }
    }

    /// Takes others of these groups' weights where ours agrees more often with them; whether that is so.
    fn improve(&mut self, paths: &[String], mut others: Vec<Weights>) -> bool {
        others.retain(|other| *other != self.best.weights);
        if self.best.misses.len() <= COST_OF_CHANGE || others.is_empty() {
            return false;
        }
        let mut runs = vec![self.best.clone()];
        runs.extend(self.runs(&others));
        let mut joined = best_of(&runs, paths);
        for course in joined.0.values_mut() {
            self.leave_lasting(course);
        }
        let gives_up = |(path, shown): (&String, &Course)| {
            self.best.weights.0[path] == *shown && joined.0[path] != *shown
        };
        let least = if self.shown.0.iter().any(gives_up) {
            COST_OF_CHANGE
        } else {
            1
        };
        let joined = self.runs(&[joined]).remove(0);
        let better = joined.cost() + least <= self.best.cost();
        if better {
            self.best = joined;
        }
        better
    }

    /// What follows from each of these weights.
    fn runs(&mut self, all: &[Weights]) -> Vec<Run> {
        let unknown = all
            .iter()
            .filter(|weights| !self.known.contains_key(weights));
        let unknown: Vec<&Weights> = unknown.collect();
        let run = |weights: &&Weights| run((*weights).clone(), self.records, &self.follow);
        let runs = side_by_side(&unknown, run);
        let found = unknown.into_iter().cloned().zip(runs);
        self.known.extend(found);
        all.iter()
            .map(|weights| self.known[weights].clone())
            .collect()
    }

    /// Leaves out of a course what does not last.
    fn leave_lasting(&self, course: &mut Course) {
        let begins: Vec<u64> = course.iter().map(|(at, _)| self.records[*at].ts).collect();
        let mut lasts = begins.iter().zip(begins.iter().skip(1));
        course.retain(|_| {
            lasts
                .next()
                .is_none_or(|(begin, end)| end - begin >= LEAST_LASTS_NS)
        });
        course.dedup_by_key(|(_, shares)| *shares);
    }
}

/// Follows the recording with these weights.
fn run(weights: Weights, records: &[Record], follow: impl Fn(Weights) -> Vec<Disagreement>) -> Run {
    let disagreements = follow(weights.clone());
    let mut misses: Vec<usize> = decisions(&disagreements)
        .map(|d| records.partition_point(|r| r.ts < d.ts))
        .collect();
    misses.sort_unstable();
    Run { weights, misses }
}

/// The weights of a course, and near those that are neither the first nor the last of a group: off by these parts of an
/// octave, and so round.
fn near(course: &Course, parts: &[f64], round: &[u64]) -> BTreeSet<u64> {
    let made = scale_load(DEFAULT_SHARES);
    let last = course.last().map(|(_, shares)| *shares);
    let found: BTreeSet<u64> = course
        .iter()
        .map(|(_, shares)| *shares)
        .chain([made])
        .collect();
    let mut near = found.clone();
    for &shares in found
        .iter()
        .filter(|shares| **shares != made && Some(**shares) != last)
    {
        near.extend(
            parts
                .iter()
                .map(|part| (shares as f64 * part.exp2()) as u64),
        );
        let shares = scale_load_down(shares);
        let below = round
            .iter()
            .map(|to| shares / to * to)
            .filter(|below| *below > 0);
        let above = round.iter().map(|to| shares.next_multiple_of(*to));
        near.extend(below.chain(above).map(scale_load));
    }
    near
}
