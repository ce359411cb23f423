//! What ours did to a group's entity between two probes, and what else makes it end where the second one showed it.
//!
//! Model.      The entity runs and is given weights, and others are placed beside it by the virtual time of their queue. What is
//!             left of its slice in the end goes with the weights and not with the queue's virtual time. If the other kernel
//!             has another rest, something was different there: what weighs below it, which is told before it; what it ran
//!             for last, which no record tells of a group; what other CPUs contributed to the group's load from one or two of
//!             the weights on, be it that it had another weight before; or one of the weights alone. It is what leaves
//!             exactly as much, and puts the entity exactly where it was told to be; if nothing does, the others'
//!             contributions that leave as much.
//! Units.      ns of virtual time, weights in 1024ths.
//! Source.     kernel/sched/fair.c `update_curr`, `reweight_eevdf`, `calc_group_shares`, `place_entity` @ 6.12.

use crate::entity::{LoadWeight, scale_load_down};
use crate::group::MIN_SHARES;
use crate::units::{Nanos, SeId, Vruntime};
use alloc::vec::Vec;

/// Entities that do more than this between two probes are not looked at.
const MAX_STEPS: usize = 64;
/// By how much an entity can be elsewhere because the other kernel rounded once more.
pub(super) const ROUNDING: u64 = 1;
/// How many of the last weights, and how much more or less load, are looked at where the weight before is not known, either.
const LAST_WEIGHTS: usize = 2;
const MOST_MORE: u64 = 100;
const MOST_MORE_TWICE: i64 = 16;
/// The bits of a weight that sums do not tell.
const UNTOLD: u64 = (1 << 10) - 1;
/// So rare must it be that a weight before explains by chance what is left.
const CHANCE: u64 = 8;

/// Where a group's entity stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) vruntime: Vruntime,
    pub(super) deadline: u64,
    pub(super) weight: u64,
}

/// Its queue without it, when that queue's virtual time was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// Σ w·(v − v0) and Σ w.
    pub(super) sum: i64,
    pub(super) sum_weight: i64,
    /// `v0`, to which ours had last moved it.
    pub(super) origin: Vruntime,
}

/// What the weight of a group's entity, and its place after that, follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighing {
    pub(super) shares: i64,
    /// What its own queue weighs, and that queue's average load.
    pub(super) queue_weight: u64,
    pub(super) load_avg: i64,
    /// The clock.
    pub(super) now: Nanos,
    /// What other CPUs contribute.
    pub(super) others: i64,
    pub(super) queue: Others,
    /// The longest lag it may keep, in time.
    pub(super) lag_limit: Nanos,
    /// How often the group's load had changed.
    pub(super) load_changes: u32,
}

/// Another entity was placed by the virtual time of the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placing {
    pub(super) se: SeId,
    pub(super) queue: Others,
    pub(super) vlag: i64,
    /// As the sums count it.
    pub(super) weight: i64,
    /// Where ours placed it.
    pub(super) vruntime: Vruntime,
}

/// Something that ours did to a group's entity, or beside it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Ran { delta: Nanos, slice: Nanos },
    Weighed(Weighing),
    Placed(Placing),
}

/// How a course may have been another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// It was not.
    Nothing,
    /// Only what is below it weighed something else.
    Below,
    /// It weighed something else before, and other CPUs contributed so much more from a step on.
    Others { before: u64, first: usize, by: i64 },
    /// Other CPUs contributed so much more from one step on, and so much from a later one on.
    Twice { firsts: [usize; 2], by: [i64; 2] },
    /// A step gave this weight.
    Weight { step: usize, weight: u64 },
    /// It ran for so long in a step.
    Ran { step: usize, delta: Nanos },
}

/// Where a course ends.
pub(super) struct End {
    pub(super) place: Place,
    /// The origin of the queue's sums as the last step that asked for its virtual time left it, and by how much it is ahead of
    /// ours.
    pub(super) origin: (Vruntime, i64),
    /// By how much others that were placed are.
    pub(super) placed: Vec<(SeId, i64)>,
}

/// What ours did to a group's entity since it was last told where it is.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(super) from: Place,
    /// Its `sum_exec_runtime` after the last step.
    pub(super) ran: Nanos,
    pub(super) steps: Vec<Step>,
    /// By how much what is below it weighed more than in ours, from which clock on.
    pub(super) below: Vec<(Nanos, i64)>,
}

impl Place {
    fn run(&mut self, delta: Nanos, slice: Nanos) {
        let mut load = LoadWeight::new(self.weight);
        self.vruntime = self.vruntime.wrapping_add(load.calc_delta_fair(delta));
        if self.left() <= 0 {
            self.deadline = self.vruntime.wrapping_add(load.calc_delta_fair(slice));
        }
    }

    /// Virtual time left of its slice.
    pub(super) fn left(&self) -> i64 {
        self.deadline.wrapping_sub(self.vruntime).cast_signed()
    }

    fn weigh(&mut self, weighing: &Weighing, average: Vruntime, weight: u64) {
        let limit = LoadWeight::new(self.weight).calc_delta_fair(weighing.lag_limit);
        let limit = limit.cast_signed();
        let rescale = |time: i64| {
            let real = time.wrapping_mul(self.weight.cast_signed());
            (real / weight.cast_signed()).cast_unsigned()
        };
        let lag = average.wrapping_sub(self.vruntime).cast_signed();
        let lag = lag.clamp(-limit, limit);
        let left = self.deadline.wrapping_sub(average).cast_signed();
        *self = Place {
            vruntime: average.wrapping_sub(rescale(lag)),
            deadline: average.wrapping_add(rescale(left)),
            weight,
        };
    }
}

impl Weighing {
    /// What its queue contributes if that weighs so much more.
    fn load(&self, below: i64) -> i64 {
        let weight = self.queue_weight.saturating_add_signed(below);
        scale_load_down(weight).cast_signed().max(self.load_avg)
    }

    /// The weight if its queue weighs so much more, and the others contribute so much more.
    fn weight(&self, below: i64, by: i64) -> u64 {
        let load = self.load(below);
        let shares = self.shares.wrapping_mul(load);
        let total = self.others + by + load;
        let weight = shares.checked_div(total).unwrap_or(shares);
        let least = MIN_SHARES.cast_signed();
        weight.clamp(least, self.shares.max(least)).cast_unsigned()
    }
}

impl Others {
    /// The virtual time of the queue with the entity in it, if so much more is in the sum.
    fn average(&self, place: &Place, more: i64) -> Vruntime {
        let own = scale_load_down(place.weight).cast_signed();
        let key = place.vruntime.wrapping_sub(self.origin).cast_signed();
        let mut sum = self
            .sum
            .wrapping_add(key.wrapping_mul(own))
            .wrapping_add(more);
        let weight = (self.sum_weight + own).max(1);
        if sum < 0 {
            sum -= weight - 1;
        }
        self.origin.wrapping_add((sum / weight).cast_unsigned())
    }

    /// The origin in ours, and by how much it is ahead of that at a virtual time.
    fn origin_at(&self, average: Vruntime) -> (Vruntime, i64) {
        let ahead = average.wrapping_sub(self.origin).cast_signed();
        (self.origin, ahead)
    }
}

impl Placing {
    /// How far behind the queue's virtual time it is placed beside the group's entity.
    fn lag(&self, place: &Place) -> i64 {
        let load = (self.queue.sum_weight + scale_load_down(place.weight).cast_signed()).max(1);
        self.vlag.wrapping_mul(load + self.weight) / load
    }
}

impl Course {
    pub(super) fn note(&mut self, step: Step) {
        if self.steps.len() < MAX_STEPS {
            self.steps.push(step);
        }
    }

    /// Was all noted?
    pub(super) fn is_whole(&self) -> bool {
        self.steps.len() < MAX_STEPS
    }

    /// By how much what is below it weighed more at a clock.
    fn below_at(&self, now: Nanos) -> i64 {
        let mut since = self.below.iter().rev();
        since
            .find(|(from, _)| *from <= now)
            .map_or(0, |(_, more)| *more)
    }

    /// The weights that were given, the last one first.
    fn weighings(&self) -> impl Iterator<Item = (usize, &Weighing)> {
        let steps = self.steps.iter().enumerate().rev();
        steps.filter_map(|(at, step)| match step {
            Step::Weighed(weighing) => Some((at, weighing)),
            _ => None,
        })
    }

    /// How often the group's load had changed when the last weight was given.
    pub(super) fn load_changes(&self) -> Option<u32> {
        let (_, last) = self.weighings().next()?;
        Some(last.load_changes)
    }

    /// Where it ends with a change.
    pub(super) fn end(&self, change: Change) -> End {
        self.walk(change, |_, _| {})
    }

    /// By how much more than in ours it weighs with a change, from which clock on.
    pub(super) fn heavier(&self, change: Change) -> Vec<(Nanos, i64)> {
        let mut ours = Vec::new();
        self.walk(Change::Nothing, |_, weight| ours.push(weight));
        let mut ours = ours.into_iter();
        let mut heavier = Vec::new();
        self.walk(change, |now, weight| {
            let more = weight.cast_signed() - ours.next().unwrap_or(weight).cast_signed();
            heavier.push((now, more));
        });
        heavier
    }

    /// Walks it with a change, and gives each weight with its clock.
    fn walk(&self, change: Change, mut weighed: impl FnMut(Nanos, u64)) -> End {
        let mut place = self.from;
        if let Change::Others { before, .. } = change {
            place.weight = before;
        }
        let (mut origin, mut placed) = ((0, 0), Vec::new());
        // What the sums are more because others were placed further ahead.
        let mut more = 0_i64;
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Ran { delta, slice } => match change {
                    Change::Ran { step, delta } if step == at => place.run(delta, *slice),
                    _ => place.run(*delta, *slice),
                },
                Step::Weighed(weighing) => {
                    let below = if change == Change::Nothing {
                        0
                    } else {
                        self.below_at(weighing.now)
                    };
                    let weight = match change {
                        Change::Others { first, by, .. } if at >= first => {
                            weighing.weight(below, by)
                        }
                        Change::Twice { firsts, by } if at >= firsts[1] => {
                            weighing.weight(below, by[1])
                        }
                        Change::Twice { firsts, by } if at >= firsts[0] => {
                            weighing.weight(below, by[0])
                        }
                        Change::Weight { step, weight } if step == at => weight,
                        _ => weighing.weight(below, 0),
                    };
                    if weight != place.weight {
                        let average = weighing.queue.average(&place, more);
                        origin = weighing.queue.origin_at(average);
                        place.weigh(weighing, average, weight);
                    }
                    weighed(weighing.now, place.weight);
                }
                Step::Placed(placing) => {
                    let average = placing.queue.average(&place, more);
                    origin = placing.queue.origin_at(average);
                    let vruntime = average.wrapping_sub(placing.lag(&place).cast_unsigned());
                    let ahead = vruntime.wrapping_sub(placing.vruntime).cast_signed();
                    more = more.wrapping_add(ahead.wrapping_mul(placing.weight));
                    placed.push((placing.se, ahead));
                }
            }
        }
        End {
            place,
            origin,
            placed,
        }
    }

    /// The change with which it ends where the entity was told to be, with so much left of its slice; if there is none, other
    /// contributions that leave as much.
    pub(super) fn solve(&self, vruntime: Vruntime, left: i64) -> Option<(Change, End)> {
        let rank = |change: Change| {
            let end = self.end(change);
            let missing = end.place.left().wrapping_sub(left).unsigned_abs();
            let there = end.place.vruntime.abs_diff(vruntime) <= ROUNDING;
            let fits = missing == 0 && there || missing <= ROUNDING && self.is_likely(change);
            fits.then_some(((missing, !there), (change, end)))
        };
        let ranked = self.changes(left).into_iter().filter_map(rank);
        let best = ranked.min_by_key(|(rank, _)| *rank);
        let exact = best.as_ref().is_some_and(|(rank, _)| *rank == (0, false));
        let twice = || {
            let mut changes = self.changes_in_two_steps();
            changes.find_map(|change| rank(change).map(|(_, found)| found))
        };
        let twice = if exact { None } else { twice() };
        twice.or(best.map(|(_, found)| found))
    }

    fn is_likely(&self, change: Change) -> bool {
        change == Change::Below
            || matches!(change, Change::Others { before, .. } if before == self.from.weight)
    }

    /// The changes that leave about so much of the slice, the likely ones first.
    fn changes(&self, left: i64) -> Vec<Change> {
        let mut changes = Vec::new();
        if !self.below.is_empty() {
            changes.push(Change::Below);
        }
        let mut steps = self.steps.iter().enumerate().rev();
        let ran = steps.find_map(|(step, done)| match done {
            Step::Ran { delta, .. } => Some((step, *delta)),
            _ => None,
        });
        // The more it runs, or weighs, the less is left.
        if let Some((step, delta)) = ran {
            let most = delta.saturating_mul(2);
            changes.extend(self.fitting(0, most, left, |delta| Change::Ran { step, delta }));
        }
        let before = self.from.weight;
        for (first, weighing) in self.weighings() {
            let most = (weighing.others + weighing.load(0)).saturating_mul(4);
            let range = most.saturating_add(weighing.others).max(0).cast_unsigned();
            changes.extend(self.fitting(0, range, left, |less| {
                let by = most - less.cast_signed();
                Change::Others { before, first, by }
            }));
        }
        // Weights are charged without their last bits: what is left does not fall everywhere.
        for (first, _) in self.weighings() {
            let near = near(MOST_MORE.cast_signed());
            changes.extend(near.map(|by| Change::Others { before, first, by }));
        }
        for (step, weighing) in self.weighings() {
            let most = weighing.shares.cast_unsigned();
            let given = |weight| Change::Weight { step, weight };
            changes.extend(self.fitting(MIN_SHARES, most, left, given));
        }
        changes.extend(self.changes_from_another(left));
        changes
    }

    /// The same where the weight before was another one as well, of which sums leave ten bits untold. The less these change
    /// what is left, the more changes fit by chance.
    fn changes_from_another(&self, left: i64) -> Vec<Change> {
        let most = self.from.weight | UNTOLD;
        let more = (left.unsigned_abs() / self.from.weight / CHANCE).min(MOST_MORE);
        let tried = core::iter::once(0).chain(near(more.cast_signed()));
        let firsts = self.weighings().map(|(first, _)| first).take(LAST_WEIGHTS);
        let tried = firsts.flat_map(|first| tried.clone().map(move |by| (first, by)));
        let fitting = tried.filter_map(|(first, by)| {
            self.fitting(0, UNTOLD.min(most - MIN_SHARES), left, |less| {
                let before = most - less;
                Change::Others { before, first, by }
            })
        });
        fitting.collect()
    }

    /// The changes in which other CPUs contributed more or less from one of the last weights on, and again from a later one on.
    fn changes_in_two_steps(&self) -> impl Iterator<Item = Change> {
        let last = self.weighings().map(|(first, _)| first);
        let last: Vec<usize> = last.take(LAST_WEIGHTS + 1).collect();
        let pairs = (0..last.len()).flat_map(move |at| {
            let (later, earlier) = (last[at], last[at + 1..].to_vec());
            earlier.into_iter().map(move |earlier| [earlier, later])
        });
        pairs.flat_map(|firsts| {
            near(MOST_MORE_TWICE).flat_map(move |first| {
                let second = core::iter::once(0).chain(near(MOST_MORE_TWICE));
                let others = second.filter(move |second| *second != first);
                others.map(move |second| Change::Twice {
                    firsts,
                    by: [first, second],
                })
            })
        })
    }

    /// The number of a range with which the least is missing from what is left, where more of it leaves less.
    fn fitting(
        &self,
        least: u64,
        most: u64,
        left: i64,
        change: impl Fn(u64) -> Change,
    ) -> Option<Change> {
        let missing = |number: u64| {
            let end = self.end(change(number)).place;
            end.left().wrapping_sub(left)
        };
        let first = first_that(least, most, |number| missing(number) <= 0);
        let near = [first, first.saturating_sub(1).max(least)].into_iter();
        near.min_by_key(|&number| missing(number).unsigned_abs())
            .map(change)
    }
}

/// The numbers next to 0, except for that.
fn near(most: i64) -> impl Iterator<Item = i64> + Clone {
    (1..=most).flat_map(|by| [by, -by])
}

/// The least number of a range for which a test holds that holds for all greater ones, too; else the greatest.
fn first_that(mut least: u64, mut most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while least < most {
        let middle = least + (most - least) / 2;
        if holds(middle) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SLICE: Nanos = 2_800_000;

    fn ran(delta: Nanos) -> Step {
        Step::Ran {
            delta,
            slice: SLICE,
        }
    }

    /// Beside a group that is 26 ms ahead of it.
    fn queue() -> Others {
        Others {
            sum: -3_000_000_000,
            sum_weight: 1024,
            origin: 80_000_000,
        }
    }

    /// A group with 1024 of a load of 8192 in all runs for 4 ms, and is weighed anew; then it runs on.
    fn course(others: i64) -> Course {
        let weighing = Weighing {
            shares: 1 << 20,
            queue_weight: 1 << 20,
            load_avg: 1000,
            now: 0,
            others,
            queue: queue(),
            lag_limit: 5_600_000,
            load_changes: 0,
        };
        Course {
            from: Place {
                vruntime: 50_000_000,
                deadline: 60_000_000,
                weight: 1 << 17,
            },
            ran: 0,
            below: Vec::new(),
            steps: vec![ran(4_000_000), Step::Weighed(weighing), ran(50_000)],
        }
    }

    fn end(course: &Course) -> Place {
        course.end(Change::Nothing).place
    }

    fn found(course: &Course, told: Place) -> Option<(Change, Place)> {
        let found = course.solve(told.vruntime, told.left());
        found.map(|(change, end)| (change, end.place))
    }

    fn contributed(by: i64) -> Change {
        let before = 1 << 17;
        let first = 1;
        Change::Others { before, first, by }
    }

    #[test]
    fn the_rest_of_a_slice_tells_the_load_of_others() {
        let told = end(&course(7168 + 100));
        assert_ne!(end(&course(7168)), told);
        for (ours, by) in [(7168, 100), (7168 + 101, -1)] {
            assert_eq!(found(&course(ours), told), Some((contributed(by), told)));
        }
    }

    #[test]
    fn it_does_so_wherever_the_queue_is() {
        let told = end(&course(7168 + 100));
        let mut elsewhere = course(7168);
        if let Step::Weighed(weighing) = &mut elsewhere.steps[1] {
            weighing.queue.sum += 4_000_000_000;
        }
        let found = found(&elsewhere, told).expect("as much is left");
        assert_eq!((found.0, found.1.weight), (contributed(100), told.weight));
        assert_ne!(found.1.vruntime, told.vruntime);
    }

    #[test]
    fn it_tells_for_how_long_it_ran_last() {
        let mut other = course(7168);
        other.steps[2] = ran(50_400);
        let told = end(&other);
        let ran = Change::Ran {
            step: 2,
            delta: 50_400,
        };
        assert_eq!(found(&course(7168), told), Some((ran, told)));
    }

    #[test]
    fn it_tells_what_it_weighed_before() {
        let mut other = course(7168 + 3);
        other.from.weight += 700;
        let told = end(&other);
        let Some((Change::Others { before, by, .. }, place)) = found(&course(7168), told) else {
            panic!("it weighed 700 more before, and others contributed 3 more");
        };
        assert_eq!((before, by, place), ((1 << 17) + 700, 3, told));
    }

    #[test]
    fn what_is_below_it_weighed_more_from_a_clock_on() {
        let heavier = |below| {
            let mut course = course(7168);
            if let Step::Weighed(weighing) = &mut course.steps[1] {
                weighing.now = 5000;
            }
            course.below = below;
            course
        };
        let told = heavier(vec![(3000, 1 << 14), (6000, 1 << 18)]);
        let told = told.end(Change::Below).place;
        assert_ne!(end(&course(7168)), told);
        let ours = heavier(vec![(5000, 1 << 14)]);
        assert_eq!(end(&ours), end(&course(7168)), "ours knows nothing of it");
        assert_eq!(found(&ours, told), Some((Change::Below, told)));
        let more = told.weight.cast_signed() - end(&ours).weight.cast_signed();
        assert_eq!(ours.heavier(Change::Below), [(5000, more)]);
    }

    #[test]
    fn others_are_where_they_were_placed_beside_it() {
        let placed = |others: i64| {
            let mut course = course(others);
            let place = end(&course);
            let mut placing = Placing {
                se: SeId(7),
                queue: queue(),
                vlag: 1_000_000,
                weight: 1024,
                vruntime: 0,
            };
            placing.vruntime = placing
                .queue
                .average(&place, 0)
                .wrapping_sub(placing.lag(&place).cast_unsigned());
            course.steps.push(Step::Placed(placing));
            (course, placing.vruntime)
        };
        let (ours, at) = placed(7168);
        assert_eq!(ours.end(Change::Nothing).placed, [(SeId(7), 0)]);
        let (other, told) = placed(7168 + 100);
        let (_, end) = ours
            .solve(end(&other).vruntime, end(&other).left())
            .expect("others contributed 100 more");
        let ahead = told.wrapping_sub(at).cast_signed();
        assert_ne!(ahead, 0);
        assert_eq!(end.placed, [(SeId(7), ahead)]);
    }
}
