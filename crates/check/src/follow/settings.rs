//! What groups were set to before they had the settings that the recording tells.
//!
//! Model.      Of weights and limits the recording holds the last. What was before, and until when, is told by probes, or else
//!             learned: the recording is followed with several, and those are taken with which ours agrees most often.
//! Invariants. Where nothing speaks against it, groups have their last settings from the start.

use super::Follower;
use super::group_courses::Courses;
use super::learned::Learned;
use super::{quotas, weights};
use crate::facts::Facts;
use crate::record::Record;

/// The settings of groups over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) weights: Courses,
    pub(super) quotas: Courses,
}

impl Settings {
    /// Finds them in a recording.
    pub(super) fn find(facts: &Facts, records: &[Record]) -> Settings {
        let follower = |settings| Follower::new(facts, records, settings, Learned::default());
        let guessed = quotas::guess(facts, records);
        let weights = weights::find(facts, records, |weights, mends_loads| {
            let quotas = guessed.clone();
            let mut follower = follower(Settings { weights, quotas });
            if !mends_loads {
                follower.sched.leave_loads();
            }
            follower.follow();
            follower
        });
        let quotas = quotas::refine(guessed, facts, records, |quotas| {
            let weights = weights.clone();
            let mut follower = follower(Settings { weights, quotas });
            follower.limits.are_tried = true;
            follower.follow();
            follower.judge.disagreements
        });
        Settings { weights, quotas }
    }
}
