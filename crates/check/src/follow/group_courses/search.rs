//! The search for the settings with which ours decides as the kernel did.
//!
//! Model.      While a group is set otherwise than in the kernel, ours keeps deciding otherwise. So the recording is followed
//!             with one of many values for each group in turn. A group gets the best course through these (`best_course`),
//!             then the next does, and so on while that helps. Then its changes may come earlier or later, and each of its
//!             values may be a little more or less. In the end, changes that spoil about as much as they mend are given up.
//! Deviations. Of large recordings little is tried: to follow them takes long.

use super::best_course::{COST_OF_CHANGE, Run, SURE, best_of};
use super::{Course, Courses};
use crate::follow::tries::side_by_side;
use crate::judge::Disagreement;
use crate::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::slice;

/// So often each group is looked at.
const MOST_TURNS: usize = 4;
/// A value lasts for so long at least.
const LEAST_LASTS_NS: u64 = 50_000_000;
/// By how much a change is moved, one after the other, and how often in one direction.
const FAR_NS: [u64; 5] = [160_000_000, 80_000_000, 40_000_000, 20_000_000, 10_000_000];
const NEAR_NS: [u64; 7] = [
    16_000_000, 8_000_000, 4_000_000, 2_000_000, 1_000_000, 500_000, 250_000,
];
const MOST_MOVES: usize = 4;
/// So many records are followed, and no further course is tried: about a minute and a half on two CPUs.
const MOST_FOLLOWED: usize = 20_000_000;

/// Looks for the courses with which ours agrees most often.
pub(in crate::follow) struct Search<'a, F> {
    records: &'a [Record],
    /// Where ours disagrees with these courses.
    follow: F,
    best: Run,
    /// Courses that were shown. Their changes need save nothing, and to give one of them up must save as much as a change must.
    shown: &'a Courses,
    /// All that was followed: much of it is asked for again.
    known: BTreeMap<Courses, Run>,
}

impl<'a, F: Fn(Courses) -> Vec<Disagreement> + Sync> Search<'a, F> {
    /// Begins with these courses, each of which may change.
    pub(in crate::follow) fn new(
        courses: Courses,
        shown: &'a Courses,
        records: &'a [Record],
        follow: F,
    ) -> Search<'a, F> {
        let best = run(courses, records, &follow);
        Search {
            records,
            follow,
            best,
            shown,
            known: BTreeMap::new(),
        }
    }

    /// The best that was found.
    pub(in crate::follow) fn found(self) -> Courses {
        self.best.courses
    }

    /// Does `round` over and over, while it saves more than a change must.
    pub(in crate::follow) fn repeat(&mut self, times: usize, mut round: impl FnMut(&mut Self)) {
        for _ in 0..times {
            let before = self.best.cost(self.shown);
            round(self);
            if self.best.cost(self.shown) + COST_OF_CHANGE > before {
                break;
            }
        }
    }

    /// Looks at one group after the other with values that it may have had, while that helps.
    pub(in crate::follow) fn in_turn(
        &mut self,
        paths: &[String],
        values: impl Fn(&str, &Course) -> BTreeSet<u64>,
    ) {
        let mut in_vain = 0;
        for path in paths.iter().cycle().take(MOST_TURNS * paths.len()) {
            let courses = &self.best.courses;
            let values = values(path, &courses.0[path]).into_iter();
            let others = values.map(|value| courses.with(path, vec![(0, value)]));
            let improved = self.improve(slice::from_ref(path), others.collect());
            in_vain = if improved { 0 } else { in_vain + 1 };
            if in_vain == paths.len() {
                break;
            }
        }
    }

    /// Takes others of these groups' courses where ours agrees more often with them; whether that is so.
    pub(in crate::follow) fn improve(
        &mut self,
        paths: &[String],
        mut others: Vec<Courses>,
    ) -> bool {
        others.retain(|other| *other != self.best.courses);
        if self.is_good() || others.is_empty() || self.is_spent() {
            return false;
        }
        let mut runs = vec![self.best.clone()];
        runs.extend(self.runs(&others));
        let mut joined = best_of(&runs, paths, self.shown);
        for course in joined.0.values_mut() {
            self.leave_lasting(course);
        }
        let gives_up = |(path, shown): (&String, &Course)| {
            self.best.courses.0[path] == *shown && joined.0[path] != *shown
        };
        let least = if self.shown.0.iter().any(gives_up) {
            COST_OF_CHANGE
        } else {
            1
        };
        let joined = self.runs(&[joined]).remove(0);
        let better = joined.cost(self.shown) + least <= self.best.cost(self.shown);
        if better {
            self.best = joined;
        }
        better
    }

    /// Has changes that were not shown come earlier or later, while ours agrees more often with that.
    pub(in crate::follow) fn move_changes(&mut self) {
        let not_shown = self.not_shown();
        for by in FAR_NS {
            self.move_each(&not_shown, by);
        }
    }

    /// Has all changes come a little earlier or later, while ours agrees more often with that.
    fn move_nearly(&mut self) {
        let all = self.best.courses.0.iter();
        let all: Vec<(String, usize)> = all
            .map(|(path, course)| (path.clone(), course.len()))
            .collect();
        for by in NEAR_NS {
            self.move_each(&all, by);
        }
    }

    /// Ends the search: has changes come a little earlier or later and tunes values, so often at most, and once more without the
    /// changes that are doubtful then.
    pub(in crate::follow) fn end(
        &mut self,
        times: usize,
        kept: impl Fn(&str) -> Vec<u64>,
        parts: &[f64],
        round: &[u64],
    ) {
        let tune = |search: &mut Self| {
            search.move_nearly();
            search.tune_values(&kept, parts, round);
        };
        self.repeat(times, tune);
        if self.give_up_doubtful() {
            self.repeat(times, tune);
        }
    }

    /// Gives up changes that were not shown, the most doubtful first, while one of them spoils about as much as it mends; whether
    /// there was any.
    fn give_up_doubtful(&mut self) -> bool {
        let before = self.best.courses.clone();
        while let Some(without) = self.without_doubtful() {
            self.best = without;
        }
        self.best.courses != before
    }

    /// What follows without the change that is most in doubt, if one is.
    fn without_doubtful(&mut self) -> Option<Run> {
        if self.is_spent() {
            return None;
        }
        let changes = self.not_shown().into_iter();
        let changes =
            changes.flat_map(|(path, len)| (1..len).map(move |change| (path.clone(), change)));
        let others = changes.flat_map(|(path, change)| self.without(&path, change));
        let others: Vec<Courses> = others.collect();
        let runs = self.runs(&others);
        let better = |runs: &[Run]| runs.iter().min_by_key(|run| run.misses.len()).cloned();
        let without = runs.chunks(2).filter_map(better);
        let sure = |run: &Run| self.best.mends_of(run);
        let least = without.min_by(|one, other| sure(one).total_cmp(&sure(other)))?;
        (sure(&least) < SURE).then_some(least)
    }

    /// One change of a group less: what it had before stays, or it had already what comes.
    fn without(&self, path: &str, change: usize) -> [Courses; 2] {
        let course = &self.best.courses.0[path];
        let values = [course[change - 1].1, course[change].1];
        values.map(|value| {
            let mut course = course.clone();
            course.remove(change);
            course[change - 1].1 = value;
            course.dedup_by_key(|(_, value)| *value);
            self.best.courses.with(path, course)
        })
    }

    /// Moves each change of these groups, which have so many values each.
    fn move_each(&mut self, groups: &[(String, usize)], by: u64) {
        for (path, len) in groups {
            for change in 1..*len {
                for _ in 0..MOST_MOVES {
                    let moved = [false, true].map(|later| self.moved(path, change, by, later));
                    let moved: Vec<Courses> = moved.into_iter().flatten().collect();
                    if !self.take_best(&moved) {
                        break;
                    }
                }
            }
        }
    }

    /// Has values of the courses that were not shown be others by these parts of an octave, while ours agrees more often with that.
    /// The first value and the last stay, if they are `kept`.
    pub(in crate::follow) fn tune_values(
        &mut self,
        kept: impl Fn(&str) -> Vec<u64>,
        parts: &[f64],
        round: &[u64],
    ) {
        for (path, len) in self.not_shown() {
            let kept = kept(&path);
            for at in 0..len {
                for _ in 0..MOST_MOVES {
                    let course = &self.best.courses.0[&path];
                    let value = course[at].1;
                    let stays = (at == 0 || at + 1 == len) && kept.contains(&value);
                    if stays || self.is_good() || self.is_spent() {
                        break;
                    }
                    let values = near(&vec![(0, value)], &[], parts, round);
                    let tuned = values.into_iter().map(|value| {
                        let mut course = course.clone();
                        course[at].1 = value;
                        self.best.courses.with(&path, course)
                    });
                    if !self.take_best(&tuned.collect::<Vec<_>>()) {
                        break;
                    }
                }
            }
        }
    }

    /// The courses that were not shown, and how many values each has.
    fn not_shown(&self) -> Vec<(String, usize)> {
        let courses = self.best.courses.0.iter();
        let not_shown = courses.filter(|(path, _)| !self.shown.0.contains_key(*path));
        not_shown
            .map(|(path, course)| (path.clone(), course.len()))
            .collect()
    }

    /// Takes those courses with which ours agrees most often, if that is more often than so far; whether that is so.
    fn take_best(&mut self, others: &[Courses]) -> bool {
        let runs = self.runs(others).into_iter();
        let best = runs.min_by_key(|run| run.misses.len());
        let better = best.filter(|run| run.misses.len() < self.best.misses.len());
        better.map(|run| self.best = run).is_some()
    }

    /// One change of a group comes earlier or later, but neither before the one before it nor after the next.
    fn moved(&self, path: &str, change: usize, by: u64, later: bool) -> Option<Courses> {
        if self.is_spent() {
            return None;
        }
        let course = &self.best.courses.0[path];
        let ts = self.records.get(course[change].0)?.ts;
        let ts = if later {
            ts.saturating_add(by)
        } else {
            ts.saturating_sub(by)
        };
        let at = self.records.partition_point(|r| r.ts < ts);
        let next = course
            .get(change + 1)
            .map_or(self.records.len(), |next| next.0);
        if at <= course[change - 1].0 || at >= next {
            return None;
        }
        let mut course = course.clone();
        course[change].0 = at;
        Some(self.best.courses.with(path, course))
    }

    /// Are there too few disagreements for a change to save what it must?
    fn is_good(&self) -> bool {
        self.best.misses.len() <= COST_OF_CHANGE
    }

    /// Have enough courses been tried?
    fn is_spent(&self) -> bool {
        self.known.len().saturating_mul(self.records.len()) > MOST_FOLLOWED
    }

    /// What follows from each of these courses.
    fn runs(&mut self, all: &[Courses]) -> Vec<Run> {
        let unknown = all
            .iter()
            .filter(|courses| !self.known.contains_key(courses));
        let unknown: Vec<&Courses> = unknown.collect();
        let run = |courses: &&Courses| run((*courses).clone(), self.records, &self.follow);
        let runs = side_by_side(&unknown, run);
        let found = unknown.into_iter().cloned().zip(runs);
        self.known.extend(found);
        all.iter()
            .map(|courses| self.known[courses].clone())
            .collect()
    }

    /// Leaves out of a course what does not last, or comes after the last record.
    fn leave_lasting(&self, course: &mut Course) {
        course.retain(|(at, _)| *at < self.records.len());
        let begins: Vec<u64> = course.iter().map(|(at, _)| self.records[*at].ts).collect();
        let mut lasts = begins.iter().zip(begins.iter().skip(1));
        course.retain(|_| {
            lasts
                .next()
                .is_none_or(|(begin, end)| end - begin >= LEAST_LASTS_NS)
        });
        course.dedup_by_key(|(_, value)| *value);
    }
}

/// Follows the recording with these courses.
fn run(courses: Courses, records: &[Record], follow: impl Fn(Courses) -> Vec<Disagreement>) -> Run {
    let disagreements = follow(courses.clone());
    let mut misses: Vec<usize> = disagreements
        .iter()
        .map(|d| records.partition_point(|r| r.ts < d.ts))
        .collect();
    misses.sort_unstable();
    Run { courses, misses }
}

/// The values of a course and those `kept`, and near all but these: off by these parts of an octave, and multiples of what is
/// round.
pub(in crate::follow) fn near(
    course: &Course,
    kept: &[u64],
    parts: &[f64],
    round: &[u64],
) -> BTreeSet<u64> {
    let values = course.iter().map(|(_, value)| *value);
    let found: BTreeSet<u64> = values.chain(kept.iter().copied()).collect();
    let mut near = found.clone();
    for &value in found.iter().filter(|value| !kept.contains(value)) {
        near.extend(parts.iter().map(|part| (value as f64 * part.exp2()) as u64));
        let below = round.iter().map(|to| value / to * to);
        near.extend(below.filter(|below| *below > 0));
        near.extend(
            round
                .iter()
                .filter_map(|to| value.checked_next_multiple_of(*to)),
        );
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Class, Measure};

    const MS: u64 = 1_000_000;

    fn one_each_ms() -> Vec<Record> {
        let timer = |ms| Record::of_task(ms * MS, 0, crate::record::What::Timer);
        (0..1000).map(timer).collect()
    }

    fn miss(r: &Record) -> Disagreement {
        Disagreement {
            ts: r.ts,
            cpu: 0,
            measure: Measure::Pick,
            kind: "switch",
            class: Class::Ours,
            text: String::new(),
        }
    }

    #[test]
    fn near_are_those_a_little_off_and_round_ones() {
        let course = vec![(0, 1000), (10, 2345), (20, 700)];
        let near = near(&course, &[1000, 700], &[1.0], &[100]);
        let expected = [700, 1000, 2300, 2345, 2400, 4690];
        assert_eq!(near.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_change_that_spoils_as_much_as_it_mends_is_given_up() {
        let records = one_each_ms();
        // The kernel's group changes at 600 ms. Chance has ours right more often for a while with another value before.
        let kernel = |at: usize| if at < 600 { 10 } else { 30 };
        let follow = |courses: Courses| {
            let differs = |at: &usize| {
                let value = courses.value_at("/a", *at);
                let is_chance = (100..200).contains(at) && at % 5 > 1;
                let expected = if is_chance { 20 } else { kernel(*at) };
                value != Some(expected)
            };
            let wrong = records.iter().enumerate().filter(|(at, _)| differs(at));
            wrong.map(|(_, r)| miss(r)).collect()
        };
        let shown = Courses::default();
        let all = vec![(0, 10), (100, 20), (200, 10), (600, 30)];
        let mut search = Search::new(Courses::default().with("/a", all), &shown, &records, follow);
        assert!(search.give_up_doubtful());
        assert!(!search.give_up_doubtful());
        assert_eq!(search.found().0["/a"], [(0, 10), (600, 30)]);
    }

    #[test]
    fn values_and_changes_are_found_with_which_ours_disagrees_least_often() {
        // One decision each ms. The kernel's group has 10 for 600 ms, then 30.
        let records = one_each_ms();
        let kernel = |at: usize| if at < 600 { 10 } else { 30 };
        let follow = |courses: Courses| {
            let differs = |at: &usize| courses.value_at("/a", *at) != Some(kernel(*at));
            let wrong = records.iter().enumerate().filter(|(at, _)| differs(at));
            wrong.map(|(_, r)| miss(r)).collect()
        };
        let shown = Courses::default();
        let start = Courses::default().with("/a", vec![(0, 30)]);
        let mut search = Search::new(start, &shown, &records, follow);
        let paths = ["/a".to_owned()];
        search.in_turn(&paths, |_, _| BTreeSet::from([10, 20, 30]));
        assert_eq!(search.best.courses.0["/a"], [(0, 10), (600, 30)]);
        let early = Courses::default().with("/a", vec![(0, 10), (250, 30)]);
        search.best = search.runs(&[early]).remove(0);
        search.move_changes();
        assert_eq!(search.best.courses.0["/a"], [(0, 10), (600, 30)]);
        let other = Courses::default().with("/a", vec![(0, 5), (600, 15), (900, 30)]);
        search.best = search.runs(&[other]).remove(0);
        search.tune_values(|_| vec![30], &[-1.0, 1.0], &[]);
        let tuned = [(0, 10), (600, 30), (900, 30)];
        assert_eq!(search.found().0["/a"], tuned);
    }
}
