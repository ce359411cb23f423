//! What groups were set to before they had the settings that the recording tells.
//!
//! Model.      Of weights and limits the recording holds the last. What was before, and until when, is told by probes, or else
//!             learned: the recording is followed with several, and those are taken with which ours agrees most often.
//! Invariants. Where nothing speaks against it, groups have their last settings from the start.

use super::Follower;
use super::learned::Learned;
use super::limit_begins::Begins;
use super::tries::decisions;
use super::weights::Weights;
use crate::facts::Facts;
use crate::record::Record;

/// The settings of groups over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) weights: Weights,
    pub(super) limit_begins: Begins,
}

impl Settings {
    /// Finds them in a recording.
    pub(super) fn find(facts: &Facts, records: &[Record]) -> Settings {
        let limit_begins = Begins::find(&facts.groups, records, facts.topology.nr_cpus());
        let weights = Weights::find(facts, records, |weights, mends_loads| {
            let limit_begins = limit_begins.clone();
            let settings = Settings {
                weights,
                limit_begins,
            };
            let mut follower = Follower::new(facts, records, settings, Learned::default());
            if !mends_loads {
                follower.sched.leave_loads();
            }
            follower.follow();
            follower
        });
        let limit_begins = limit_begins.refine(|limit_begins| {
            let settings = Settings {
                weights: weights.clone(),
                limit_begins: limit_begins.clone(),
            };
            let mut follower = Follower::new(facts, records, settings, Learned::default());
            follower.follow();
            decisions(&follower.judge.disagreements).count()
        });
        Settings {
            weights,
            limit_begins,
        }
    }
}
