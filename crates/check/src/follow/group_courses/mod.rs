//! What a setting of groups was over time; of the kernel's own settings each counts as one of a group.
//!
//! Units. As the setting has them.

mod best_course;
mod search;

pub(super) use best_course::COST_OF_CHANGE;
pub(super) use search::{Search, near};
use std::collections::BTreeMap;

/// A group's values of a setting: from which record on, and which. The first is that with which it is made.
pub(super) type Course = Vec<(usize, u64)>;

/// The courses of groups, by path, whose setting is not what it is in the end all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Courses(pub(super) BTreeMap<String, Course>);

impl Courses {
    /// The same, but for one group.
    pub(super) fn with(&self, path: &str, course: Course) -> Courses {
        let mut courses = self.clone();
        courses.0.insert(path.to_owned(), course);
        courses
    }

    /// The value of a group when a record is followed, if it has a course.
    pub(super) fn value_at(&self, path: &str, at: usize) -> Option<u64> {
        self.0.get(path).map(|course| value_at(course, at))
    }

    /// The groups that get another value with a record, and which.
    pub(super) fn changes(&self, at: usize) -> impl Iterator<Item = (&String, u64)> {
        self.0.iter().filter_map(move |(path, course)| {
            let mut changes = course.iter().skip(1);
            let (_, value) = changes.find(|(from, _)| *from == at)?;
            Some((path, *value))
        })
    }

    /// The records with which a group's value changes, but for the changes that others have, too.
    fn changes_beside(&self, path: &str, others: &Courses) -> impl Iterator<Item = usize> {
        let in_others = others.0.get(path).map_or(&[][..], Vec::as_slice);
        let changes = self.0[path].iter().skip(1);
        let own = changes.filter(|change| !in_others.contains(change));
        own.map(|(at, _)| *at)
    }

    /// How many changes there are.
    pub(super) fn number_of_changes(&self) -> usize {
        self.0.values().map(|course| course.len() - 1).sum()
    }
}

fn value_at(course: &Course, at: usize) -> u64 {
    let begun = course.iter().take_while(|(from, _)| *from <= at);
    begun.last().map_or(course[0].1, |(_, value)| *value)
}
