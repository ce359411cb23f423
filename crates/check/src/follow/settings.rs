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
        let guessed = quotas::guess(facts, records, &Courses::default());
        let with_profiles = |profiles| Settings {
            profiles,
            quotas: guessed.clone(),
            ..Settings::default()
        };
        let profiles = profiles::find(facts, records, |profiles| {
            with_profiles(profiles).disagreements(facts, records)
        });
        let settings = with_profiles(profiles);
        let weights_beside = |quotas: &Courses| {
            let quotas = quotas.clone();
            let settings = settings.clone();
            Settings { quotas, ..settings }.weights(facts, records)
        };
        let quotas_beside = |weights: &Courses| {
            let weights = weights.clone();
            let settings = settings.clone();
            Settings {
                weights,
                ..settings
            }
            .quotas(facts, records)
        };
        let (weights, quotas) = in_turn(guessed.clone(), weights_beside, quotas_beside);
        let settings = Settings {
            weights,
            quotas,
            ..settings
        };
        settings.change_periods(facts, records)
    }

    /// The same with the periods that returns tell, and the limits and weights found beside these, if that is better.
    fn change_periods(self, facts: &Facts, records: &[Record]) -> Settings {
        let periods = periods::find(facts, records);
        if periods == Courses::default() {
            return self;
        }
        let mut changed = Settings {
            periods,
            ..self.clone()
        };
        changed.quotas = changed.quotas(facts, records);
        changed.periods = periods::refine(changed.periods.clone(), records, |periods| {
            let changed = changed.clone();
            Settings { periods, ..changed }.tried_limits(facts, records)
        });
        let misses = |settings: &Settings| settings.disagreements(facts, records).len();
        let changes = changed.periods.number_of_changes().max(1);
        if misses(&changed) + COST_OF_CHANGE * changes >= misses(&self) {
            return self;
        }
        changed.weights = changed.weights(facts, records);
        changed
    }

    /// The weights that are found beside the others.
    fn weights(&self, facts: &Facts, records: &[Record]) -> Courses {
        weights::find(facts, records, |weights, mends_loads| {
            let settings = self.clone();
            let mut follower = Settings {
                weights,
                ..settings
            }
            .follower(facts, records);
            if !mends_loads {
                follower.sched.leave_loads();
            }
            follower.follow();
            follower
        })
    }

    /// The quotas that are found beside the others.
    fn quotas(&self, facts: &Facts, records: &[Record]) -> Courses {
        let guessed = quotas::guess(facts, records, &self.periods);
        quotas::refine(guessed, facts, records, &self.periods, |quotas| {
            let settings = self.clone();
            Settings { quotas, ..settings }.tried_limits(facts, records)
        })
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
