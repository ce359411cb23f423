//! What groups and the kernel were set to before they had the settings that the recording tells.
//!
//! Model.      Of weights and limits the recording holds the last, of features and tunables the first and the last. What was
//!             before, and until when, is told by probes, or else learned: the recording is followed with several, and those
//!             are taken with which ours agrees most often.
//!             Limits have the periods that returns tell only if ours agrees more often with that, each change in so much.
//! Invariants. Where nothing speaks against it, groups and the kernel have their last settings from the start.

use super::Follower;
use super::group_courses::{COST_OF_CHANGE, Courses};
use super::learned::Learned;
use super::{periods, profiles, quotas, weights};
use crate::facts::Facts;
use crate::judge::Disagreement;
use crate::record::Record;

/// The settings over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) profiles: Courses,
    pub(super) weights: Courses,
    pub(super) quotas: Courses,
    pub(super) periods: Courses,
}

impl Settings {
    /// Finds them in a recording.
    pub(super) fn find(facts: &Facts, records: &[Record]) -> Settings {
        let settings = Settings::with_periods(Courses::default(), facts, records);
        let periods = periods::find(facts, records);
        if periods == Courses::default() {
            return settings;
        }
        let changed = Settings::with_periods(periods, facts, records);
        let misses = |settings: &Settings| settings.disagreements(facts, records).len();
        let least = misses(&changed) + COST_OF_CHANGE * changed.periods.number_of_changes().max(1);
        if least < misses(&settings) {
            changed
        } else {
            settings
        }
    }

    /// Finds the others, with these periods.
    fn with_periods(periods: Courses, facts: &Facts, records: &[Record]) -> Settings {
        let guessed = quotas::guess(facts, records, &periods);
        let profiles = profiles::find(facts, records, |profiles| {
            let settings = Settings {
                profiles,
                quotas: guessed.clone(),
                periods: periods.clone(),
                ..Settings::default()
            };
            settings.disagreements(facts, records)
        });
        let with = |weights: &Courses, quotas: &Courses, periods: &Courses| Settings {
            profiles: profiles.clone(),
            weights: weights.clone(),
            quotas: quotas.clone(),
            periods: periods.clone(),
        };
        let weights_beside = |quotas: &Courses| {
            weights::find(facts, records, |weights, mends_loads| {
                let mut follower = with(&weights, quotas, &periods).follower(facts, records);
                if !mends_loads {
                    follower.sched.leave_loads();
                }
                follower.follow();
                follower
            })
        };
        let quotas_beside = |weights: &Courses| {
            quotas::refine(guessed.clone(), facts, records, &periods, |quotas| {
                with(weights, &quotas, &periods).tried_limits(facts, records)
            })
        };
        let (weights, quotas) = in_turn(guessed.clone(), weights_beside, quotas_beside);
        let periods = periods::refine(periods.clone(), records, |periods| {
            with(&weights, &quotas, &periods).tried_limits(facts, records)
        });
        with(&weights, &quotas, &periods)
    }

    fn follower<'a>(self, facts: &'a Facts, records: &'a [Record]) -> Follower<'a> {
        Follower::new(facts, records, self, Learned::default())
    }

    /// Where ours disagrees with them.
    fn disagreements(&self, facts: &Facts, records: &[Record]) -> Vec<Disagreement> {
        let mut follower = self.clone().follower(facts, records);
        follower.follow();
        follower.judge.disagreements
    }

    /// Where ours disagrees with them while limits are looked for.
    fn tried_limits(self, facts: &Facts, records: &[Record]) -> Vec<Disagreement> {
        let mut follower = self.follower(facts, records);
        follower.limits.are_tried = true;
        follower.follow();
        follower.judge.disagreements
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
