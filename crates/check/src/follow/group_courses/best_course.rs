//! The courses that groups' settings took, out of several ways to follow a recording.
//!
//! Model.   Each was followed with other settings of some groups. At each time the one is taken with which ours agrees more
//!          often, with as few changes as that allows: the path of least cost through the disagreements of all.
//! Deviations. A change comes in the middle of the time in which it can have come.

use super::{Course, Courses, value_at};
use std::collections::{BTreeMap, BTreeSet};

/// As many disagreements as a change must save.
pub(in crate::follow) const COST_OF_CHANGE: usize = 12;

/// The part of the decisions that differ which a change must have right: it mends twice as many as it spoils.
pub(super) const SURE: f64 = 2.0 / 3.0;

/// What follows from courses: at which records ours decides otherwise.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) courses: Courses,
    pub(super) misses: Vec<usize>,
}

/// From which record on which run is the best.
type Spans = Vec<(usize, usize)>;

impl Run {
    /// How many disagreements there are, and changes that were not shown.
    pub(super) fn cost(&self, shown: &Courses) -> usize {
        let paths = self.courses.0.keys();
        let changes = paths.map(|path| self.courses.changes_beside(path, shown).count());
        self.misses.len() + COST_OF_CHANGE * changes.max().unwrap_or(0)
    }

    /// Of the decisions in which ours disagrees in one of two runs only, the part that this one has right.
    pub(super) fn mends_of(&self, other: &Run) -> f64 {
        let mut mended: BTreeMap<usize, isize> = BTreeMap::new();
        for at in &other.misses {
            *mended.entry(*at).or_default() += 1;
        }
        for at in &self.misses {
            *mended.entry(*at).or_default() -= 1;
        }
        let right: isize = mended.values().map(|mended| mended.max(&0)).sum();
        let differ: isize = mended.values().map(|mended| mended.abs()).sum();
        right as f64 / differ.max(1) as f64
    }
}

/// The courses of the first run, but for these groups, which have those of the run that is the best at each time.
pub(super) fn best_of(runs: &[Run], paths: &[String], shown: &Courses) -> Courses {
    let spans = spans(runs, paths, shown);
    let mut best = runs[0].courses.clone();
    for path in paths {
        let courses: Vec<&Course> = runs.iter().map(|run| &run.courses.0[path]).collect();
        best = best.with(path, joined(&courses, &spans));
    }
    best
}

/// The course that is that of one run after the other.
fn joined(courses: &[&Course], spans: &Spans) -> Course {
    let changes = courses.iter().copied().flatten().map(|(from, _)| *from);
    let times: BTreeSet<usize> = spans.iter().map(|(from, _)| *from).chain(changes).collect();
    let mut course = Course::new();
    for time in times {
        let begun = spans.iter().take_while(|(from, _)| *from <= time);
        let run = begun.last().map_or(0, |(_, run)| *run);
        let value = value_at(courses[run], time);
        if course.last().is_none_or(|(_, before)| *before != value) {
            course.push((time, value));
        }
    }
    course
}

/// The spans of records in which one run is better than the others, so that the fewest disagreements and changes of these
/// groups' settings that were not shown are left. In the end it is the first run.
fn spans(runs: &[Run], paths: &[String], shown: &Courses) -> Spans {
    let values = |run: usize, at: usize| {
        let courses = paths.iter().map(move |path| &runs[run].courses.0[path]);
        courses.map(move |course| value_at(course, at))
    };
    let own_changes = |run: &Run| -> BTreeSet<usize> {
        let changes = |path: &String| run.courses.changes_beside(path, shown).collect::<Vec<_>>();
        paths.iter().flat_map(changes).collect()
    };
    let own_changes: Vec<BTreeSet<usize>> = runs.iter().map(own_changes).collect();
    let mut events: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (run, of_run) in runs.iter().enumerate() {
        for &at in &of_run.misses {
            events.entry(at).or_default().push(run);
        }
        for (at, _) in paths.iter().flat_map(|path| &of_run.courses.0[path]) {
            events.entry(*at).or_default();
        }
    }
    let end = events.last_key_value().map_or(0, |(at, _)| at + 1);
    // The least cost of what ends with each run, and which run that was with before each event.
    let mut costs = vec![0; runs.len()];
    let mut before: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut last = 0;
    for (&at, misses) in events.iter().chain([(&end, &Vec::new())]) {
        let cost = |from: usize, to: usize| {
            let changes = if from == to {
                own_changes[to].contains(&at)
            } else {
                !values(from, last).eq(values(to, at))
            };
            costs[from] + if changes { COST_OF_CHANGE } else { 0 }
        };
        let come = (0..runs.len()).map(|to| {
            let all = (0..runs.len()).map(|from| (cost(from, to), from != to, from));
            let (cost, _, from) = all.min().unwrap_or_default();
            (cost, from)
        });
        let (mut new, from): (Vec<usize>, Vec<usize>) = come.unzip();
        for run in misses {
            new[*run] += 1;
        }
        before.push((at, from));
        (costs, last) = (new, at);
    }
    let mut spans = Spans::new();
    let mut run = 0;
    let mut end = end;
    for (at, before) in before.iter().rev() {
        if before[run] != run {
            // From here on it costs the same until the one before disagrees.
            let misses = &runs[before[run]].misses;
            let next = misses[misses.partition_point(|miss| miss < at)..].first();
            let until = next.map_or(end, |next| end.min(*next));
            end = at.midpoint(until);
            spans.push((end, run));
            run = before[run];
        }
    }
    spans.push((0, run));
    spans.reverse();
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: u64, misses: &[(usize, usize)]) -> Run {
        let courses = Courses::default().with("/a", vec![(0, value)]);
        let misses = misses
            .iter()
            .flat_map(|&(from, n)| from..from + n)
            .collect();
        Run { courses, misses }
    }

    #[test]
    fn the_better_run_is_taken_where_it_saves_more_than_a_change_costs() {
        let spans = |one: &[(usize, usize)], other: &[(usize, usize)], third: &[(usize, usize)]| {
            spans(
                &[run(10, one), run(20, other), run(30, third)],
                &["/a".to_owned()],
                &Courses::default(),
            )
        };
        let many = (0, 2000);
        // Few disagreements that the other lacks are no reason to change, many are, until it has many.
        assert_eq!(spans(&[(0, COST_OF_CHANGE)], &[], &[many]), [(0, 0)]);
        let changed = spans(&[(100, 50)], &[(500, 50)], &[many]);
        assert_eq!(changed, [(0, 1), (325, 0)], "between 150 and 500");
        let in_between = spans(&[(400, 50)], &[(100, 50), (900, 50)], &[many]);
        assert_eq!(in_between, [(0, 0), (275, 1), (675, 0)]);
        // Its end is the recording's: after that there is nothing to be better at.
        let ends = spans(&[(100, 50)], &[], &[]);
        assert_eq!(ends, [(0, 1), (150, 0)]);
        // One after the other.
        let three = spans(&[(100, 500)], &[(400, 900)], &[(100, 300), (600, 100)]);
        assert_eq!(three, [(0, 1), (400, 2), (600, 0)]);
    }

    #[test]
    fn what_is_wrong_in_both_runs_does_not_count() {
        let one = run(10, &[(0, 50), (100, 5)]);
        let other = run(20, &[(0, 50), (200, 15)]);
        assert_eq!(one.mends_of(&other), 0.75);
        assert_eq!(other.mends_of(&one), 0.25);
        assert_eq!(one.mends_of(&one), 0.0);
    }

    #[test]
    fn a_change_that_was_shown_need_save_nothing() {
        let shown = Courses::default().with("/a", vec![(0, 20), (500, 10)]);
        let constant = run(10, &[(0, 5)]);
        let changes = Run {
            courses: shown.clone(),
            misses: Vec::new(),
        };
        let best = |shown: &Courses| {
            let runs = [constant.clone(), changes.clone()];
            best_of(&runs, &["/a".to_owned()], shown).0["/a"].clone()
        };
        assert_eq!(best(&shown), [(0, 20), (500, 10)]);
        assert_eq!(best(&Courses::default()), [(0, 10)]);
        assert_eq!(changes.cost(&shown), 0);
        assert_eq!(changes.cost(&Courses::default()), COST_OF_CHANGE);
    }

    #[test]
    fn courses_are_joined_where_one_changes_to_the_other() {
        let one = vec![(0, 10), (600, 30)];
        let other = vec![(0, 20)];
        let joined = |spans: &[(usize, usize)]| joined(&[&one, &other], &spans.to_vec());
        assert_eq!(joined(&[(0, 0)]), one);
        assert_eq!(joined(&[(0, 1), (500, 0)]), [(0, 20), (500, 10), (600, 30)]);
        let span = joined(&[(0, 0), (300, 1), (700, 0)]);
        assert_eq!(span, [(0, 10), (300, 20), (700, 30)]);
    }
}
