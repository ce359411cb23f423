//! Weights of groups learned from what their entities are shown to weigh.
//!
//! Model.   `place_entity` shows what a group's entity weighs on a CPU, and so do the sums of the queue where it waits, if ours
//!          gives it another weight: the group's weight times the CPU's part of its load. Where the sums do not tell whose weight
//!          is another one, it is that of the only group that would have one of those that are known of it.
//!          Ours knows that part nearly, and so nearly the group's weight. Of the weights that the group may have had (the
//!          one it is made with, the one it has in the end, and those of entities that had the whole load) the course is
//!          taken that is nearest to what was shown with the fewest changes.
//! Deviations. A change comes with the first weight that shows it.

use super::decisions::as_all_are_made;
use super::{DEFAULT_SHARES, Shares};
use crate::follow::Follower;
use crate::follow::group_courses::{Course, Courses};
use fairwind_sched::entity::{scale_load, scale_load_down};
use fairwind_sched::probe::{Held, ProbeField, ProbePoint, Weighed};
use fairwind_sched::{CfsRqId, SeId};
use std::collections::BTreeMap;

/// How far off what is shown counts at most, as a logarithm: it may hang on a load that ours does not know.
const FARTHEST: f64 = 1.0;
/// As much as four weights that are shown twice as large.
const COST_OF_CHANGE: f64 = 4.0 * std::f64::consts::LN_2;
/// A weight that the group may have had in between is shown so often,
const OFTEN: usize = 6;
/// as nearly as this, as a logarithm.
const NEAR: f64 = 0.01;
/// What is learned is followed and learned from so often: a group's weight has a part in what is on its queues.
const ROUNDS: usize = 2;

/// What a probe showed of a group's weight.
#[derive(Clone, Debug)]
pub(in crate::follow) struct Shown {
    at: usize,
    path: String,
    /// What its entity on a CPU weighs.
    weight: u64,
    /// What ours weighs there, and how much the whole group does.
    ours: u64,
    shares: u64,
}

impl Shown {
    /// How much the group weighs, if ours knows the CPU's part of its load.
    fn of_group(&self) -> f64 {
        self.weight as f64 * self.shares as f64 / self.ours as f64
    }

    /// Has the entity all that the group weighs?
    fn is_whole(&self) -> bool {
        self.ours == self.shares
    }

    fn distance(&self, shares: u64) -> f64 {
        if self.weight > shares {
            return FARTHEST;
        }
        let apart = (self.of_group() / shares as f64).ln().abs();
        apart.min(FARTHEST)
    }
}

/// The same of each time that the recording was followed, with other weights.
type Views<'a> = Vec<&'a Shown>;

/// How far a group's weight is from what was shown: where it was followed with that weight, if it was.
fn distance(views: &Views<'_>, shares: u64) -> f64 {
    let least = |views: &mut dyn Iterator<Item = &&Shown>| {
        let distances = views.map(|view| view.distance(shares));
        distances.min_by(f64::total_cmp)
    };
    let own = least(&mut views.iter().filter(|view| view.shares == shares));
    own.or_else(|| least(&mut views.iter())).unwrap_or(FARTHEST)
}

/// Learns the weights from what is shown while the recording is followed as `observe` does.
pub(super) fn learn(groups: &Shares, observe: impl Fn(&Courses) -> Vec<Shown>) -> Courses {
    let mut weights = Courses::default();
    let mut runs = vec![observe(&weights)];
    if learned(groups, &runs) == weights {
        return weights;
    }
    runs.push(observe(&as_all_are_made(groups)));
    for _ in 0..ROUNDS {
        let next = learned(groups, &runs);
        if next == weights {
            break;
        }
        weights = next;
        runs.push(observe(&weights));
    }
    learned(groups, &runs)
}

fn learned(groups: &Shares, runs: &[Vec<Shown>]) -> Courses {
    let mut weights = Courses::default();
    for (path, shares) in groups {
        let mut shown: BTreeMap<usize, Views<'_>> = BTreeMap::new();
        let own = runs.iter().flatten().filter(|shown| shown.path == *path);
        for view in own {
            shown.entry(view.at).or_default().push(view);
        }
        let last = scale_load(*shares);
        let views: Vec<&Views<'_>> = shown.values().collect();
        let times = std::iter::once(0).chain(shown.keys().skip(1).copied());
        let mut course: Course = times.zip(course(&views, last)).collect();
        course.dedup_by_key(|(_, shares)| *shares);
        if course.iter().any(|&(_, shares)| shares != last) {
            weights.0.insert(path.clone(), course);
        }
    }
    weights
}

/// What a group weighed at each time that something was shown, and `last` in the end: the course with the least distance from
/// what was shown.
fn course(shown: &[&Views<'_>], last: u64) -> Vec<u64> {
    let choices = choices(shown, last);
    // The least distance of a course that ends with each choice, and where that came from.
    let mut costs = vec![0.0; choices.len()];
    let mut came_from: Vec<Vec<usize>> = Vec::new();
    for views in shown {
        let best = least(&costs);
        let from = |choice: usize| {
            if costs[choice] <= costs[best] + COST_OF_CHANGE {
                choice
            } else {
                best
            }
        };
        let sources: Vec<usize> = (0..choices.len()).map(from).collect();
        let cost = |(choice, &source): (usize, &usize)| {
            let change = if choice == source {
                0.0
            } else {
                COST_OF_CHANGE
            };
            costs[source] + change + distance(views, choices[choice])
        };
        costs = sources.iter().enumerate().map(cost).collect();
        came_from.push(sources);
    }
    for (cost, &choice) in costs.iter_mut().zip(&choices) {
        if choice != last {
            *cost += COST_OF_CHANGE;
        }
    }
    let mut choice = least(&costs);
    let mut course = Vec::new();
    for sources in came_from.iter().rev() {
        course.push(choices[choice]);
        choice = sources[choice];
    }
    course.reverse();
    course
}

/// What a group may have weighed: what it was made with, what it weighs in the end, and what an entity weighed that had all
/// of it, if many others show the same.
fn choices(shown: &[&Views<'_>], last: u64) -> Vec<u64> {
    let mut choices = vec![last, scale_load(DEFAULT_SHARES)];
    let views = || shown.iter().flat_map(|views| views.iter());
    for whole in views().filter(|view| view.is_whole()) {
        let near = |view: &&&Shown| (view.of_group() / whole.weight as f64).ln().abs() < NEAR;
        if !choices.contains(&whole.weight) && views().filter(near).count() >= OFTEN {
            choices.push(whole.weight);
        }
    }
    choices
}

/// Does a group weigh about as much as it is known to have weighed at some time, if its entity weighs `told`, and `ours` where
/// the group weighs `shares`?
fn weighs_as_known(told: u64, [ours, shares]: [u64; 2], known: [u64; 2]) -> bool {
    let of_group = told as f64 * shares as f64 / ours as f64;
    let is_near = |known: u64| (of_group / known as f64).ln().abs() < NEAR;
    known.into_iter().any(is_near)
}

fn least(costs: &[f64]) -> usize {
    let least = |&a: &usize, &b: &usize| costs[a].total_cmp(&costs[b]);
    (0..costs.len()).min_by(least).unwrap_or(0)
}

impl Follower<'_> {
    /// Notes what a probe showed of a group's weight.
    pub(in crate::follow) fn note_weight(&mut self, held: &Held) {
        let both = |field: ProbeField| {
            let told = held.told.values[field as usize];
            told.zip(held.ours[field as usize])
        };
        if let (Some((told, ours)), ProbePoint::PlaceEntity) =
            (both(ProbeField::Weight), held.told.point)
        {
            let se = held.se;
            self.note_weighed(Weighed { se, told, ours });
        }
        if let Some((told, ours)) = both(ProbeField::AvgLoad) {
            self.note_load(held.cfs_rq, told.wrapping_sub(ours).cast_signed());
        }
    }

    /// What waits on a queue weighs so much more than in ours: is that one group, because it has another of the weights that are
    /// known of it?
    fn note_load(&mut self, cfs_rq: CfsRqId, more: i64) {
        let told_already = self
            .shown_weights
            .last()
            .is_some_and(|shown| shown.at == self.at);
        if more == 0 || told_already {
            return;
        }
        let waiting = self.sched.cfs_rqs[cfs_rq]
            .timeline
            .iter()
            .map(|entry| entry.se);
        let mut fits = waiting.filter_map(|se| self.fits_load(se, more));
        if let (Some(weighed), None) = (fits.next(), fits.next()) {
            self.note_weighed(weighed);
        }
    }

    /// What a group's entity weighs if it makes for so much more of the load, and that is one of its known weights.
    fn fits_load(&self, se: SeId, more: i64) -> Option<Weighed> {
        let entity = &self.sched.ses[se];
        if entity.is_task() {
            return None;
        }
        let tg = self.sched.cfs_rqs[entity.my_q].tg;
        let ours = entity.load.weight;
        let told = scale_load_down(ours).checked_add_signed(more)?;
        let shares = self.sched.groups[tg].shares;
        let last = self.facts.groups.get(&self.entity_name(se))?.shares;
        let known = [DEFAULT_SHARES, last].map(scale_load);
        let told = scale_load(told);
        weighs_as_known(told, [ours, shares], known).then_some(Weighed { se, told, ours })
    }

    /// Notes what a group's entity was told to weigh.
    pub(in crate::follow) fn note_weighed(&mut self, weighed: Weighed) {
        let cfs_rq = self.sched.ses[weighed.se].my_q;
        if cfs_rq.is_none() || weighed.ours == 0 {
            return;
        }
        self.shown_weights.push(Shown {
            at: self.at,
            path: self.entity_name(weighed.se),
            weight: weighed.told,
            ours: weighed.ours,
            shares: self.sched.groups[self.sched.cfs_rqs[cfs_rq].tg].shares,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entity that weighs so much where ours, with a group of `shares`, gives it `ours`.
    fn shown(weight: u64, ours: u64, shares: u64) -> Shown {
        Shown {
            at: 0,
            path: String::new(),
            weight,
            ours,
            shares,
        }
    }

    #[test]
    fn a_course_changes_where_what_is_shown_does() {
        let (made, last) = (scale_load(DEFAULT_SHARES), scale_load(512));
        let before = shown(made / 3, last / 3, last);
        let after = shown(last / 3, last / 3, last);
        let course = |shown: &[&Shown]| {
            let views: Vec<Views<'_>> = shown.iter().map(|shown| vec![*shown]).collect();
            course(&views.iter().collect::<Vec<_>>(), last)
        };
        let many = [&before; 6];
        let found = course(&[&many[..], &[&after; 2]].concat());
        assert_eq!(found, [vec![made; 6], vec![last; 2]].concat());
        assert_eq!(course(&[&after, &after]), [last; 2]);
        // Below what a change costs: ours may not know the load.
        let smaller = shown(last / 5, last / 3, last);
        assert_eq!(course(&[&smaller, &smaller, &after]), [last; 3]);
        // More than a group weighs no entity does.
        assert_eq!(shown(last + 1, last, last).distance(last), FARTHEST);
    }

    #[test]
    fn a_load_tells_of_a_group_that_would_have_a_weight_known_of_it() {
        // Made with 1024, 300 in the end: half of it is on this CPU.
        let known = [DEFAULT_SHARES, 300].map(scale_load);
        let told = |told, ours, shares| {
            let [told, ours, shares] = [told, ours, shares].map(scale_load);
            weighs_as_known(told, [ours, shares], known)
        };
        assert!(told(150, 512, 1024) && told(512, 150, 300));
        assert!(!told(300, 512, 1024) && !told(150, 150, 600));
    }

    #[test]
    fn what_one_with_all_of_the_load_weighs_is_a_choice_if_others_agree() {
        let last = scale_load(512);
        let whole = shown(scale_load(3000), last, last);
        let part = shown(scale_load(1500), last / 2, last);
        let choices_of = |shown: &[&Shown]| {
            let views: Vec<Views<'_>> = shown.iter().map(|shown| vec![*shown]).collect();
            choices(&views.iter().collect::<Vec<_>>(), last)
        };
        let found = choices_of(&[&whole, &part, &part, &part, &part, &part]);
        assert!(found.contains(&scale_load(3000)));
        assert_eq!(choices_of(&[&whole, &part]).len(), 2);
    }
}
