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
        let follower_with = |weights: &Courses, quotas: &Courses| {
            follower(Settings {
                profiles: profiles.clone(),
                weights: weights.clone(),
                quotas: quotas.clone(),
            })
        };
        let weights_beside = |quotas: &Courses| {
            weights::find(facts, records, |weights, mends_loads| {
                let mut follower = follower_with(&weights, quotas);
                if !mends_loads {
                    follower.sched.leave_loads();
                }
                follower.follow();
                follower
            })
        };
        let quotas_beside = |weights: &Courses| {
            quotas::refine(guessed.clone(), facts, records, |quotas| {
                let mut follower = follower_with(weights, &quotas);
                follower.limits.are_tried = true;
                follower.follow();
                follower.judge.disagreements
            })
        };
        let (weights, quotas) = in_turn(guessed.clone(), weights_beside, quotas_beside);
        Settings {
            profiles,
            weights,
            quotas,
        }
    }
}

/// Weights, found beside the limits that are guessed, limits beside these, and weights again if they are others: a group with a
/// limit that it does not have does not show what it weighs.
fn in_turn<T: PartialEq>(
    guessed: T,
    weights_beside: impl Fn(&T) -> T,
    quotas_beside: impl Fn(&T) -> T,
) -> (T, T) {
    let weights = weights_beside(&guessed);
    let quotas = quotas_beside(&weights);
    if quotas == guessed {
        return (weights, quotas);
    }
    (weights_beside(&quotas), quotas)
}

#[cfg(test)]
mod tests {
    use super::in_turn;
    use std::cell::RefCell;

    #[test]
    fn weights_are_found_beside_the_limits_that_groups_have() {
        let asked = RefCell::new(Vec::new());
        let weights_beside = |quotas: &u64| {
            asked.borrow_mut().push(*quotas);
            quotas * 10
        };
        assert_eq!(in_turn(1, weights_beside, |_| 2), (20, 2));
        assert_eq!(in_turn(3, weights_beside, |weights| weights / 10), (30, 3));
        assert_eq!(asked.into_inner(), [1, 2, 3]);
    }
}
