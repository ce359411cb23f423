//! What else may have been done to a group's entity, for it to end where it was told to be.
//!
//! Model.      What is left of the entity's slice in the end goes with the weights and not with the queue's virtual time. If the
//!             other kernel has another rest than ours, something was different there: what weighs below the entity, which is
//!             told before it; what it ran for last, which no record tells of a group; what other CPUs contributed to the
//!             group's load from one or two of the weights on, be it that it had another weight before; or one of the weights
//!             alone. It is what leaves exactly as much, and puts the entity exactly where it was told to be; if nothing
//!             does, the others' contributions that leave as much.
//! Invariants. Up to the first step that a change concerns a course is walked once, for all changes.
//! Source.     kernel/sched/fair.c `update_curr`, `reweight_eevdf`, `calc_group_shares` @ 6.12.

use super::course::{Change, Course, End, Place, ROUNDING, Stand, Step};
use crate::group::MIN_SHARES;
use crate::units::Vruntime;
use alloc::vec::Vec;

/// How many of the last weights, and how much more or less load, are looked at where the weight before is not known, either.
const LAST_WEIGHTS: usize = 2;
const MOST_MORE: u64 = 100;
const MOST_MORE_TWICE: i64 = 16;
/// The bits of a weight that sums do not tell.
const UNTOLD: u64 = (1 << 10) - 1;
/// So rare must it be that a weight before explains by chance what is left.
const CHANCE: u64 = 8;

/// The change with which a course ends where the entity was told to be, with so much left of its slice; if there is none, other
/// contributions that leave as much.
pub(super) fn solve(course: &Course, vruntime: Vruntime, left: i64) -> Option<(Change, End)> {
    let search = Search::new(course, left);
    let rank = |change: Change| {
        let place = search.place(change);
        let missing = place.left().wrapping_sub(left).unsigned_abs();
        let there = place.vruntime.abs_diff(vruntime) <= ROUNDING;
        let fits = missing == 0 && there || missing <= ROUNDING && search.is_likely(change);
        fits.then_some(((missing, !there), change))
    };
    let ranked = search.changes().into_iter().filter_map(rank);
    let best = ranked.min_by_key(|(rank, _)| *rank);
    let exact = best.is_some_and(|(rank, _)| rank == (0, false));
    let twice = || search.changes_in_two_steps().find_map(rank);
    let found = if exact { best } else { twice().or(best) };
    found.map(|(_, change)| (change, course.end(change)))
}

/// Looks for changes of a course that leave so much of the entity's slice.
struct Search<'a> {
    course: &'a Course,
    left: i64,
    /// Where the course stands before each step, and in the end, if only what is below it weighed something else.
    stands: Vec<Stand>,
}

impl Search<'_> {
    fn new(course: &Course, left: i64) -> Search<'_> {
        let mut stand = course.begin(Change::Below);
        let mut stands = Vec::from([stand]);
        for at in 0..course.steps.len() {
            course.take(at, Change::Below, &mut stand);
            stands.push(stand);
        }
        Search {
            course,
            left,
            stands,
        }
    }

    /// Where the course ends with a change.
    fn place(&self, change: Change) -> Place {
        let first = match change {
            Change::Below => self.course.steps.len(),
            Change::Others { before, first, .. } if before == self.course.from.weight => first,
            Change::Nothing | Change::Others { .. } => 0,
            Change::Twice { firsts, .. } => firsts[0],
            Change::Weight { step, .. } | Change::Ran { step, .. } => step,
        };
        let mut stand = if first == 0 {
            self.course.begin(change)
        } else {
            self.stands[first]
        };
        for at in first..self.course.steps.len() {
            self.course.take(at, change, &mut stand);
        }
        stand.place
    }

    fn is_likely(&self, change: Change) -> bool {
        change == Change::Below
            || matches!(change, Change::Others { before, .. } if before == self.course.from.weight)
    }

    /// The changes that leave about as much of the slice, the likely ones first.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        if !self.course.below.is_empty() {
            changes.push(Change::Below);
        }
        let mut steps = self.course.steps.iter().enumerate().rev();
        let ran = steps.find_map(|(step, done)| match done {
            Step::Ran { delta, .. } => Some((step, *delta)),
            _ => None,
        });
        // The more it runs, or weighs, the less is left.
        if let Some((step, delta)) = ran {
            let most = delta.saturating_mul(2);
            changes.extend(self.fitting(0, most, |delta| Change::Ran { step, delta }));
        }
        let before = self.course.from.weight;
        for (first, weighing) in self.course.weighings() {
            let most = (weighing.others + weighing.load(0)).saturating_mul(4);
            let range = most.saturating_add(weighing.others).max(0).cast_unsigned();
            changes.extend(self.fitting(0, range, |less| {
                let by = most - less.cast_signed();
                Change::Others { before, first, by }
            }));
        }
        // Weights are charged without their last bits: what is left does not fall everywhere.
        for (first, _) in self.course.weighings() {
            let near = near(MOST_MORE.cast_signed());
            changes.extend(near.map(|by| Change::Others { before, first, by }));
        }
        for (step, weighing) in self.course.weighings() {
            let most = weighing.shares.cast_unsigned();
            let given = |weight| Change::Weight { step, weight };
            changes.extend(self.fitting(MIN_SHARES, most, given));
        }
        changes.extend(self.changes_from_another());
        changes
    }

    /// The same where the weight before was another one as well, of which sums leave ten bits untold. The less these change
    /// what is left, the more changes fit by chance.
    fn changes_from_another(&self) -> Vec<Change> {
        let weight = self.course.from.weight;
        let most = weight | UNTOLD;
        let more = (self.left.unsigned_abs() / weight / CHANCE).min(MOST_MORE);
        let tried = core::iter::once(0).chain(near(more.cast_signed()));
        let weighings = self.course.weighings();
        let firsts = weighings.map(|(first, _)| first).take(LAST_WEIGHTS);
        let tried = firsts.flat_map(|first| tried.clone().map(move |by| (first, by)));
        let fitting = tried.filter_map(|(first, by)| {
            self.fitting(0, UNTOLD.min(most - MIN_SHARES), |less| {
                let before = most - less;
                Change::Others { before, first, by }
            })
        });
        fitting.collect()
    }

    /// The changes in which other CPUs contributed more or less from one of the last weights on, and again from a later one on.
    fn changes_in_two_steps(&self) -> impl Iterator<Item = Change> {
        let last = self.course.weighings().map(|(first, _)| first);
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
    fn fitting(&self, least: u64, most: u64, change: impl Fn(u64) -> Change) -> Option<Change> {
        let missing = |number: u64| {
            let place = self.place(change(number));
            place.left().wrapping_sub(self.left)
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
    use crate::replay::course::{Others, Placing, Weighing};
    use crate::units::{Nanos, SeId};
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
        let found = solve(course, told.vruntime, told.left());
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
            let average = placing.queue.average(&place, 0);
            placing.vruntime = average.wrapping_sub(placing.lag(&place).cast_unsigned());
            course.steps.push(Step::Placed(placing));
            (course, placing.vruntime)
        };
        let (ours, at) = placed(7168);
        assert_eq!(ours.end(Change::Nothing).placed, [(SeId(7), 0)]);
        let (other, told) = placed(7168 + 100);
        let (_, end) = solve(&ours, end(&other).vruntime, end(&other).left())
            .expect("others contributed 100 more");
        let ahead = told.wrapping_sub(at).cast_signed();
        assert_ne!(ahead, 0);
        assert_eq!(end.placed, [(SeId(7), ahead)]);
    }
}
