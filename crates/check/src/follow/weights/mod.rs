//! The weights of groups over time.
//!
//! Model.   A probe of `sched_group_set_shares` tells each change. Without one, a group's weight is learned, if somebody has
//!          set it: from what its entities are shown to weigh, where something shows that, and from following the recording
//!          with others. Where neither speaks against it, a group has its final weight from the start; one of which no file
//!          tells since it was removed, the weight of one that is made.
//! Units.   Weights as the kernel holds them: `cpu.shares`, scaled as weights of entities are.

mod shown;
mod tried;

use super::Follower;
use super::group_courses::{Course, Courses};
use crate::facts::Facts;
use crate::record::{Record, What};
use fairwind_sched::entity::{scale_load, scale_load_down};
use fairwind_sched::probe::{ProbeField, ProbePoint};
pub(super) use shown::Shown;
use std::collections::BTreeMap;

/// `cpu.shares` of a group that is made.
const DEFAULT_SHARES: u64 = 1024;

/// `cpu.shares` of groups, by path.
type Shares = BTreeMap<String, u64>;

/// The weights that are told, or else learned from following the recording with others.
pub(super) fn find<'a>(
    facts: &'a Facts,
    records: &'a [Record],
    follow: impl Fn(Courses, bool) -> Follower<'a> + Sync,
) -> Courses {
    let told = told(records);
    if told != Courses::default() {
        return told;
    }
    let groups = last_shares(facts, records);
    let mut weights = in_the_end(facts, &groups);
    if weights == Courses::default() {
        return weights;
    }
    let mut shown = Courses::default();
    if records.iter().any(shows_weight) {
        let observe = |weights: &Courses| follow(weights.clone(), false).shown_weights;
        shown = shown::learn(&groups, observe, |shown| {
            let mut weights = weights.clone();
            weights.0.extend(shown.0.clone());
            follow(weights, true).judge.disagreements.len()
        });
        weights.0.extend(shown.0.clone());
    }
    let all = |weights| follow(weights, true).judge.disagreements;
    tried::refine(weights, &shown, &groups, records, all)
}

/// The last `cpu.shares` of each group, as far as a file tells. Where files tell of some, groups with tasks that they leave out
/// were removed: these are taken to have kept those with which they were made.
fn last_shares(facts: &Facts, records: &[Record]) -> Shares {
    let told = facts.groups.iter();
    let mut shares: Shares = told
        .map(|(path, group)| (path.clone(), group.shares))
        .collect();
    let attached = records.iter().filter_map(|r| match &r.what {
        What::Attach { path, .. } if !facts.groups.is_empty() => Some(path),
        _ => None,
    });
    for path in attached {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        for path in above.chain([path.as_str()]).filter(|path| path.len() > 1) {
            if !shares.contains_key(path) {
                shares.insert(path.to_owned(), DEFAULT_SHARES);
            }
        }
    }
    shares
}

fn told(records: &[Record]) -> Courses {
    let mut paths = BTreeMap::new();
    let mut weights = Courses::default();
    for (at, r) in records.iter().enumerate() {
        match &r.what {
            What::Mkdir { id, path, .. } => {
                paths.insert(id, path);
            }
            What::SetShares { id, shares } => {
                let Some(&path) = paths.get(id) else { continue };
                let course = weights.0.entry(path.clone());
                course.or_insert_with(as_made).push((at, *shares));
            }
            _ => {}
        }
    }
    weights
}

/// Groups whose weight was set, and those that were removed, have had their last one all the time.
fn in_the_end(facts: &Facts, groups: &Shares) -> Courses {
    let is_set = |(path, shares): &(&String, &u64)| {
        **shares != DEFAULT_SHARES || !facts.groups.contains_key(*path)
    };
    let course = |shares: &u64| vec![(0, scale_load(*shares))];
    let set = groups.iter().filter(is_set);
    Courses(
        set.map(|(path, shares)| (path.clone(), course(shares)))
            .collect(),
    )
}

fn as_made() -> Course {
    vec![(0, scale_load(DEFAULT_SHARES))]
}

/// Does a record show what an entity weighs that is put on a queue?
fn shows_weight(r: &Record) -> bool {
    match &r.what {
        What::Probe { point, values, .. } => {
            *point == ProbePoint::PlaceEntity && values[ProbeField::Weight as usize].is_some()
        }
        _ => false,
    }
}

impl Follower<'_> {
    /// The weight with which a group is made, if it is not its last.
    pub(super) fn first_shares(&self, path: &str) -> Option<u64> {
        let (_, first) = self.weights.0.get(path)?.first()?;
        Some(scale_load_down(*first))
    }

    /// Says how many changes were learned, and how many are told of groups of which no record says which they are.
    pub(super) fn report_weights(&mut self) {
        let made = |id: u64| {
            let mut records = self.records.iter();
            records.any(|r| matches!(r.what, What::Mkdir { id: of, .. } if of == id))
        };
        let told = self.records.iter().filter_map(|r| match r.what {
            What::SetShares { id, .. } => Some(made(id)),
            _ => None,
        });
        let told: Vec<bool> = told.collect();
        for _ in told.iter().filter(|made| !**made) {
            self.judge
                .mended("weights of groups made before the recording");
        }
        if told.contains(&true) {
            return;
        }
        for _ in 0..self.weights.number_of_changes() {
            self.judge.mended("changes of groups' weights");
        }
    }

    /// Before a record is followed: groups get the weights that they have from then on.
    pub(super) fn change_weights(&mut self, r: &Record) {
        for (path, shares) in self.weights.changes(self.at) {
            let Some(&group) = self.groups.get(path) else {
                continue;
            };
            let shares = scale_load_down(shares);
            if self.sched.set_shares(group, shares, r.ts).is_err() {
                self.judge.mended("groups with settings that cannot be");
            }
        }
    }
}
