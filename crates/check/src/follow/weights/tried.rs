//! Weights of groups learned from following the recording with many.
//!
//! Model.      The search for courses, with the weights that groups are made with and others. At first these are an octave or two apart,
//!             then near those found.
//! Deviations. Weights that differ from the one that was found by less than decisions and states tell are not found, and of
//!             groups eight are looked at.

use super::{DEFAULT_SHARES, Shares, as_made};
use crate::follow::group_courses::{Course, Courses, Search, near};
use crate::judge::Disagreement;
use crate::record::Record;
use fairwind_sched::entity::scale_load;

/// Groups that are looked at.
const MOST_GROUPS: usize = 8;
/// So often weights are looked at that are octaves apart, and then nearer ones.
const MOST_ROUNDS: usize = 3;
/// `cpu.shares` that a group may have had; far from those of a new one two octaves apart.
const OCTAVES: [u64; 11] = [
    8,
    32,
    128,
    256,
    512,
    DEFAULT_SHARES,
    2048,
    4096,
    8192,
    16384,
    65536,
];
/// By which parts of an octave a weight that was found may be off, at first, while it is tuned and in the end.
const FAR: [f64; 4] = [-0.4, -0.1, 0.1, 0.4];
const TUNED: [f64; 6] = [-0.8, -0.3, -0.1, 0.1, 0.3, 0.8];
const NEAR: [f64; 4] = [-0.03, -0.01, 0.01, 0.03];
/// Somebody sets round numbers of `cpu.shares`.
const ROUND: [u64; 3] = [10, 100, 1000];

/// Mends weights, guessed or shown, by the disagreements of following the recording with others, those in state among them.
pub(super) fn refine(
    weights: Courses,
    shown: &Courses,
    groups: &Shares,
    records: &[Record],
    follow: impl Fn(Courses) -> Vec<Disagreement> + Sync,
) -> Courses {
    let paths: Vec<String> = weights.0.keys().cloned().collect();
    let some = &paths[..paths.len().min(MOST_GROUPS)];
    let octaves = |path: &str, _: &Course| {
        let last = [groups[path]];
        OCTAVES.into_iter().chain(last).map(scale_load).collect()
    };
    let kept = |path: &str| vec![scale_load(DEFAULT_SHARES), scale_load(groups[path])];
    let mut search = Search::new(weights, shown, records, follow);
    search.repeat(MOST_ROUNDS, |search| {
        search.in_turn(some, octaves);
        search.in_turn(some, |path, course| near(course, &kept(path), &FAR, &[]));
        search.improve(&paths, vec![as_all_are_made(groups)]);
        search.move_changes();
        search.tune_values(kept, &TUNED, &[]);
    });
    let round = ROUND.map(scale_load);
    search.in_turn(some, |path, course| {
        near(course, &kept(path), &NEAR, &round)
    });
    search.end(MOST_ROUNDS, kept, &NEAR, &round);
    search.found()
}

/// Groups keep the weights that they are made with.
pub(super) fn as_all_are_made(groups: &Shares) -> Courses {
    let paths = groups.keys().cloned();
    Courses(paths.map(|path| (path, as_made())).collect())
}
