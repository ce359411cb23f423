//! What groups and the kernel were set to before they had the settings that the recording tells.
//!
//! Model.      Of weights and limits the recording holds the last, of features and tunables the first and the last. What was
//!             before, and until when, is told by probes, or else learned: the recording is followed with several, and those
//!             are taken with which ours agrees most often.
//! Invariants. Where nothing speaks against it, groups and the kernel have their last settings from the start.

use super::Follower;
use super::group_courses::Courses;
use super::learned::Learned;
use super::{profiles, quotas, weights};
use crate::facts::Facts;
use crate::record::Record;

/// The settings over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) profiles: Courses,
    pub(super) weights: Courses,
    pub(super) quotas: Courses,
}

impl Settings {
    /// Finds them in a recording.
    pub(super) fn find(facts: &Facts, records: &[Record]) -> Settings {
        let follower = |settings| Follower::new(facts, records, settings, Learned::default());
        let guessed = quotas::guess(facts, records);
        let profiles = profiles::find(facts, records, |profiles| {
            let quotas = guessed.clone();
            let mut follower = follower(Settings {
                profiles,
                quotas,
                ..Settings::default()
            });
            follower.follow();
            follower.judge.disagreements
        });
        let weights = weights::find(facts, records, |weights, mends_loads| {
            let quotas = guessed.clone();
            let profiles = profiles.clone();
            let mut follower = follower(Settings {
                profiles,
                weights,
                quotas,
            });
            if !mends_loads {
                follower.sched.leave_loads();
            }
            follower.follow();
            follower
        });
        let quotas = quotas::refine(guessed, facts, records, |quotas| {
            let weights = weights.clone();
            let profiles = profiles.clone();
            let mut follower = follower(Settings {
                profiles,
                weights,
                quotas,
            });
            follower.limits.are_tried = true;
            follower.follow();
            follower.judge.disagreements
        });
        Settings {
            profiles,
            weights,
            quotas,
        }
    }
}
