//! Since when the kernel has had the features and tunables that it has in the end.
//!
//! Model.      Debug files of the beginning and the end tell both, and no event what came between. If they differ, the search
//!             for courses is made (`group_courses`) with features and tunables as the groups, each of which is as it was first
//!             or as it is in the end.
//! Deviations. All features are taken to have changed together, and so are all tunables, and to have been no others in between.
//!             Those that the debug file shows are compared: features, and what slices and wakeup preemption are made from.
//! Source.     kernel/sched/debug.c `sched_debug_header` @ 6.1, 6.12.

use super::Follower;
use super::group_courses::{Courses, Search};
use crate::facts::Facts;
use crate::judge::Disagreement;
use crate::record::Record;
use fairwind_sched::KernelProfile;
use std::collections::BTreeSet;

/// What changes.
const FEATURES: &str = "features";
const TUNABLES: &str = "tunables";
/// As it is in the beginning, and in the end.
const FIRST: u64 = 0;
const LAST: u64 = 1;

/// When features and tunables were set how; `follow` gives where ours disagrees with that.
pub(super) fn find(
    facts: &Facts,
    records: &[Record],
    follow: impl Fn(Courses) -> Vec<Disagreement> + Sync,
) -> Courses {
    let mut courses = Courses::default();
    let Some(last) = &facts.profile_after else {
        return courses;
    };
    let first = &facts.profile;
    for (what, changes) in [
        (FEATURES, first.features != last.features),
        (TUNABLES, first.tunables != last.tunables),
    ] {
        if changes {
            courses = courses.with(what, vec![(0, LAST)]);
        }
    }
    let changed: Vec<String> = courses.0.keys().cloned().collect();
    let none_shown = Courses::default();
    let mut search = Search::new(courses, &none_shown, records, follow);
    search.in_turn(&changed, |_, _| BTreeSet::from([FIRST, LAST]));
    search.move_changes();
    search.found()
}

/// The kernel as it is when a record is followed.
pub(super) fn at(facts: &Facts, courses: &Courses, at: usize) -> KernelProfile {
    let mut profile = facts.profile.clone();
    if let Some(last) = &facts.profile_after {
        let is_last = |what| courses.value_at(what, at) == Some(LAST);
        if is_last(FEATURES) {
            profile.features = last.features;
        }
        if is_last(TUNABLES) {
            profile.tunables = last.tunables.clone();
        }
    }
    profile
}

impl Follower<'_> {
    /// Before a record is followed: the kernel gets the settings that it has from then on.
    pub(super) fn change_profile(&mut self) {
        if self.profiles.changes(self.at).next().is_some() {
            self.sched.profile = at(self.facts, &self.profiles, self.at);
        }
    }

    /// Counts the changes that no event told.
    pub(super) fn report_profiles(&mut self) {
        if self.facts.profile_after.is_some() {
            self.judge.mended("changes of features and tunables");
        }
    }
}
