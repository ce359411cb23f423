//! Weights of groups learned from what their entities are shown to weigh.
//!
//! Model.   `place_entity` shows what a group's entity weighs on a CPU, and so do the sums of the queue where it waits, if ours
//!          gives it another weight: the group's weight times the CPU's part of its load. Where the sums do not tell whose weight
//!          is another one, it is that of the only group that would have one of those that are known of it.
//!          Ours knows that part nearly, and so nearly the group's weight. Of the weights that the group may have had (the
//!          one it is made with, the one it has in the end, and those that many times that it was shown say nearly) the course
//!          is taken that is nearest to what was shown with the fewest changes. A change comes with the first weight that shows
//!          it, until `tried` moves it.

use super::tried::as_all_are_made;
use super::{DEFAULT_SHARES, Shares};
use crate::follow::Follower;
use crate::follow::group_courses::{COST_OF_CHANGE, Course, Courses};
use fairwind_sched::entity::{scale_load, scale_load_down};
use fairwind_sched::probe::{Held, ProbeField, ProbePoint, Weighed};
use fairwind_sched::{CfsRqId, SeId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How far off what is shown counts at most, as a logarithm: it may hang on a load that ours does not know.
const FARTHEST: f64 = 1.0;
/// As much as four weights that are shown twice as large.
const DISTANCE_OF_CHANGE: f64 = 4.0 * std::f64::consts::LN_2;
/// A weight that the group may have had in between is shown so often,
const OFTEN: usize = 6;
/// as nearly as this, as a logarithm.
const NEAR: f64 = 0.01;
/// Values that are nearer to each other than this are one, that ours knows the part of a little better or worse.
const APART: f64 = 0.1;
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

/// Learns the weights from what is shown while the recording is followed as `observe` does. That groups had others in between
/// than those that are known of them must save as much as a change must, of the disagreements that `misses` counts.
pub(super) fn learn(
    groups: &Shares,
    observe: impl Fn(&Courses) -> Vec<Shown>,
    misses: impl Fn(&Courses) -> usize,
) -> Courses {
    let mut runs = vec![observe(&Courses::default())];
    let known = settle(groups, &mut runs, &observe, known_choices);
    let others = settle(groups, &mut runs, &observe, all_choices);
    if others == known {
        return known;
    }
    let more = others
        .number_of_changes()
        .saturating_sub(known.number_of_changes());
    if misses(&others) + COST_OF_CHANGE * more.max(1) <= misses(&known) {
        others
    } else {
        known
    }
}

/// What a group may have weighed, by what was shown of it and what it weighs in the end.
type Choices = fn(&[&Views<'_>], u64) -> Vec<u64>;

/// Follows the recording with what is learned so far until that stays.
fn settle(
    groups: &Shares,
    runs: &mut Vec<Vec<Shown>>,
    observe: impl Fn(&Courses) -> Vec<Shown>,
    choices: Choices,
) -> Courses {
    let mut weights = learned(groups, runs, choices);
    if weights == Courses::default() {
        return weights;
    }
    if runs.len() == 1 {
        runs.push(observe(&as_all_are_made(groups)));
    }
    for _ in 0..ROUNDS {
        let next = learned(groups, runs, choices);
        if next == weights {
            break;
        }
        weights = next;
        runs.push(observe(&weights));
    }
    learned(groups, runs, choices)
}

fn learned(groups: &Shares, runs: &[Vec<Shown>], choices: Choices) -> Courses {
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
        let course = course(&views, &choices(&views, last), last);
        let mut course: Course = times.zip(course).collect();
        course.dedup_by_key(|(_, shares)| *shares);
        if course.iter().any(|&(_, shares)| shares != last) {
            weights.0.insert(path.clone(), course);
        }
    }
    weights
}

/// What a group weighed at each time that something was shown, and `last` in the end: the course with the least distance from
/// what was shown.
fn course(shown: &[&Views<'_>], choices: &[u64], last: u64) -> Vec<u64> {
    // The least distance of a course that ends with each choice, and where that came from.
    let mut costs = vec![0.0; choices.len()];
    let mut came_from: Vec<Vec<usize>> = Vec::new();
    for views in shown {
        let best = least(&costs);
        let from = |choice: usize| {
            if costs[choice] <= costs[best] + DISTANCE_OF_CHANGE {
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
                DISTANCE_OF_CHANGE
            };
            costs[source] + change + distance(views, choices[choice])
        };
        costs = sources.iter().enumerate().map(cost).collect();
        came_from.push(sources);
    }
    for (cost, &choice) in costs.iter_mut().zip(choices) {
        if choice != last {
            *cost += DISTANCE_OF_CHANGE;
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

/// What it was made with, and what it weighs in the end.
fn known_choices(_: &[&Views<'_>], last: u64) -> Vec<u64> {
    vec![last, scale_load(DEFAULT_SHARES)]
}

/// Also what many times that something was shown say nearly, as most of these do.
fn all_choices(shown: &[&Views<'_>], last: u64) -> Vec<u64> {
    let mut choices = known_choices(shown, last);
    let views = shown.iter().flat_map(|views| views.iter());
    let mut said: Vec<f64> = views.map(|view| view.of_group()).collect();
    said.sort_by(f64::total_cmp);
    let mut often: BTreeMap<u64, usize> = BTreeMap::new();
    for of_group in &said {
        let shares = (of_group / scale_load(1) as f64).round() as u64;
        *often.entry(scale_load(shares)).or_default() += 1;
    }
    let mut often: Vec<(u64, usize)> = often.into_iter().collect();
    often.sort_by_key(|&(_, times)| Reverse(times));
    for (value, _) in often {
        let [least, most] = [-NEAR, NEAR].map(|by| value as f64 * by.exp());
        let is_known = |known: &u64| (value as f64 / *known as f64).ln().abs() < APART;
        let from = said.partition_point(|said| *said < least);
        let near = said[from..].partition_point(|said| *said <= most);
        if near >= OFTEN && value > 0 && !choices.iter().any(is_known) {
            choices.push(value);
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
            let views: Vec<&Views<'_>> = views.iter().collect();
            course(&views, &known_choices(&views, last), last)
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
    fn what_is_shown_often_is_a_choice() {
        let last = scale_load(512);
        let (third, most) = (scale_load(1000), scale_load(2999) + 100);
        let part = shown(third, last / 3, last);
        let more = shown(most, last, last);
        let choices_of = |shown: &[&Shown]| {
            let views: Vec<Views<'_>> = shown.iter().map(|shown| vec![*shown]).collect();
            all_choices(&views.iter().collect::<Vec<_>>(), last)
        };
        let found = choices_of(&[&more, &part, &part, &part, &part, &part]);
        assert!(
            found.contains(&scale_load(3000)),
            "more of these say 3000 than 2999"
        );
        assert_eq!(choices_of(&[&part, &part]).len(), 2);
        // Ours knows the part nearly.
        let near = shown(scale_load(500), last, last);
        assert_eq!(choices_of(&[&near; 6]).len(), 2);
    }
}
