//! What a walk through a recording learned, for another walk from the beginning.
//!
//! Model.      Some facts are not recorded and hold all through the recording, or for long: which programs wake others with
//!             WF_SYNC, what tasks had counted before, which policy they changed to, which CPUs they may use and from when on.
//!             Decisions tell them. A first walk learns them as it goes, and what it has learned by the end the next one, which
//!             is judged, knows from the beginning.
//!             Tasks that stay on some CPUs by chance look bound to them: that they are is kept if ours then takes fewer tasks
//!             elsewhere.
//! Invariants. Nothing is known from the beginning that one decision alone has told.

use super::allowed::{self, Bound};
use super::batch::Change;
use super::looks_free;
use super::wakees::First;
use super::{Follower, KindOfWakeup};
use fairwind_sched::Policy;
use std::collections::{BTreeMap, BTreeSet};

/// So many more decisions one way than the other tell which way it is: how a program wakes another one, say.
pub(super) const TELLING: u32 = 2;

/// What a walk learned.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Learned {
    /// How many wakeups of a kind told that they were without WF_SYNC, and with it.
    pub(super) syncs: BTreeMap<KindOfWakeup, [u32; 2]>,
    /// What tasks from before the recording, by thread id, had counted.
    pub(super) first_counts: BTreeMap<i32, First>,
    /// Whether tasks were of SCHED_BATCH or SCHED_NORMAL after their attributes were changed.
    pub(super) policies: BTreeMap<Change, Policy>,
    /// To which CPUs tasks are bound, from when on.
    pub(super) bounds: Vec<Bound>,
    /// How long before they queue a task that was left to them CPUs look free, ns.
    pub(super) looks_free: u64,
    /// Passes to which ours had another answer: the CPU, and when the first record was written.
    pub(super) wrong_passes: BTreeSet<(u32, u64)>,
}

impl Follower<'_> {
    /// What the recording has told, once it is followed to its end.
    pub(super) fn learned(&self) -> Learned {
        let syncs = self.syncs.iter();
        let syncs = syncs.filter(|(_, [without, with])| *with >= without + TELLING);
        let policies = self.policies.iter();
        let policies = policies.filter_map(|(change, told)| Some((*change, (*told)?)));
        Learned {
            syncs: syncs.map(|(kind, seen)| (kind.clone(), *seen)).collect(),
            first_counts: self.first_counts(),
            policies: policies.collect(),
            bounds: allowed::bounds(&self.hints, self.records, self.sched.nr_cpus()),
            looks_free: looks_free::span(&self.looks_free),
            wrong_passes: self.wrong_passes.clone(),
        }
    }
}
