//! What the times of a group's entity tell of the weights that it was given.
//!
//! Model.      Between two probes of a group's entity ours notes what it does to it: runs it, and gives it a weight. What is
//!             left of its slice by the second probe goes with the weights and not with the queue's virtual time. If the
//!             other kernel has another rest, the group's load on other CPUs was another one when a weight was given:
//!             some CPU had told a contribution that ours has not heard of, or had not told one that ours has. By how
//!             much it was off is found by doing the same steps again, with another load from one of the weights on.
//! Invariants. Nothing is noted unless another kernel is followed.
//! Source.     kernel/sched/fair.c `update_curr`, `reweight_eevdf`, `calc_group_shares` @ 6.12.
//! Not here.   6.18, whose `reweight_entity` places the entity anew: what ours gives it is not noted, so nothing is found.

use crate::entity::{LoadWeight, scale_load_down};
use crate::group::MIN_SHARES;
use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, Nanos, SeId, Vruntime};
use alloc::vec::Vec;

/// Entities that do more than this between two probes are not looked at.
const MAX_STEPS: usize = 64;
/// Two divisions round what is left of a slice. A change of the load by one changes it by more.
const ROUNDING: u64 = 2;

/// Where a group's entity stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    vruntime: Vruntime,
    deadline: u64,
    weight: u64,
}

/// What the weight of a group's entity, and its place after that, follow from.
#[derive(Clone, Copy, Debug)]
struct Weighing {
    shares: i64,
    load: i64,
    /// What other CPUs contribute.
    others: i64,
    /// Σ w·(v − v0) and Σ w of the others on its queue.
    sum: i64,
    sum_weight: i64,
    origin: Vruntime,
    /// The longest lag it may keep, in time.
    lag_limit: Nanos,
    /// How often the group's load had changed.
    load_changes: u32,
}

/// Something that ours did to a group's entity.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ran { delta: Nanos, slice: Nanos },
    Weighed(Weighing),
}

/// What ours did to a group's entity since it was last told where it is.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    from: Place,
    /// Its `sum_exec_runtime` after the last step.
    ran: Nanos,
    steps: Vec<Step>,
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
    fn left(&self) -> i64 {
        self.deadline.wrapping_sub(self.vruntime).cast_signed()
    }

    fn weigh(&mut self, weighing: &Weighing, by: i64) {
        let weight = weighing.weight(by);
        if weight == self.weight {
            return;
        }
        let average = weighing.average(self);
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
    /// The weight if the others contribute so much more.
    fn weight(&self, by: i64) -> u64 {
        let shares = self.shares.wrapping_mul(self.load);
        let total = self.others + by + self.load;
        let weight = shares.checked_div(total).unwrap_or(shares);
        let least = MIN_SHARES.cast_signed();
        weight.clamp(least, self.shares.max(least)).cast_unsigned()
    }

    /// The virtual time of its queue, with the entity in it.
    fn average(&self, place: &Place) -> Vruntime {
        let own = scale_load_down(place.weight).cast_signed();
        let key = place.vruntime.wrapping_sub(self.origin).cast_signed();
        let mut sum = self.sum.wrapping_add(key.wrapping_mul(own));
        let weight = (self.sum_weight + own).max(1);
        if sum < 0 {
            sum -= weight - 1;
        }
        self.origin.wrapping_add((sum / weight).cast_unsigned())
    }
}

impl Course {
    /// How often the group's load had changed when the last weight was given.
    fn load_changes(&self) -> Option<u32> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Weighed(weighing) => Some(weighing.load_changes),
            Step::Ran { .. } => None,
        })
    }

    /// Where it ends if others contribute so much more from a step on.
    fn end(&self, first: usize, by: i64) -> Place {
        let mut place = self.from;
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Ran { delta, slice } => place.run(*delta, *slice),
                Step::Weighed(weighing) => place.weigh(weighing, if at < first { 0 } else { by }),
            }
        }
        place
    }

    /// By how much the others' contributions were different for so much to be left in the end, since which of the weights
    /// it may be, the last one first; and the weight that it then has.
    fn solve(&self, left: i64) -> Option<(i64, u64)> {
        let steps = self.steps.iter().enumerate().rev();
        let mut weighed = steps.filter_map(|(at, step)| match step {
            Step::Weighed(weighing) => Some((at, weighing)),
            Step::Ran { .. } => None,
        });
        weighed.find_map(|(first, weighing)| {
            let total = weighing.others + weighing.load;
            let ranges = [(1, total.saturating_mul(4)), (-1, weighing.others)];
            ranges.into_iter().find_map(|(sign, most)| {
                let missing = |by: i64| self.end(first, sign * by).left().wrapping_sub(left);
                // A greater load makes for less weight, and that for more virtual time.
                let by = first_that(1, most, |by| missing(by).signum() * sign >= 0);
                let nearest = [by, by - 1].into_iter().filter(|&by| by > 0);
                let by = nearest.min_by_key(|&by| missing(by).unsigned_abs())?;
                let fits = missing(by).unsigned_abs() <= ROUNDING;
                fits.then(|| (sign * by, self.end(first, sign * by).weight))
            })
        })
    }
}

/// The least number of a range for which a test holds that holds for all greater ones, too; else the greatest.
fn first_that(mut least: i64, mut most: i64, holds: impl Fn(i64) -> bool) -> i64 {
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

impl Sched {
    /// A group's entity was charged for running since it was last told or charged.
    pub(crate) fn note_ran(&mut self, se: SeId) {
        let entity = &self.ses[se];
        let sum = entity.sum_exec_runtime;
        let slice = if entity.custom_slice {
            entity.slice
        } else {
            self.profile.base_slice_ns(entity.depth)
        };
        let probes = self.probes.as_mut();
        let Some(course) = probes.and_then(|probes| probes.courses.get_mut(se.idx())) else {
            return;
        };
        if let Some(course) = course
            .as_mut()
            .filter(|course| course.steps.len() < MAX_STEPS)
        {
            let before = core::mem::replace(&mut course.ran, sum);
            let delta = sum.saturating_sub(before);
            course.steps.push(Step::Ran { delta, slice });
        }
    }

    /// An entity that is queued is about to be given the weight that it should have.
    pub(crate) fn note_weighed(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let entity = &self.ses[se];
        if entity.is_task() {
            return;
        }
        self.note_hanging_weight(cfs_rq, se);
        let entity = &self.ses[se];
        let (sum, sum_weight) = self.vruntime_sums(&self.cfs_rqs[cfs_rq]);
        let origin = self.cfs_rqs[cfs_rq].zero_vruntime;
        let own = entity.weight().cast_signed();
        let key = entity.vruntime.wrapping_sub(origin).cast_signed();
        let g = &self.cfs_rqs[entity.my_q];
        let tg = &self.groups[g.tg];
        let load = scale_load_down(g.load.weight).max(g.avg.load_avg);
        let weighing = Weighing {
            shares: tg.shares.cast_signed(),
            load: load.cast_signed(),
            others: tg.load_avg - g.tg_load_avg_contrib.cast_signed(),
            sum: sum.wrapping_sub(key.wrapping_mul(own)),
            sum_weight: sum_weight - own,
            origin,
            lag_limit: (2 * entity.slice).max(self.tick_nsec()),
            load_changes: self.load_changes(g.tg),
        };
        self.note_step(se, Step::Weighed(weighing));
    }

    fn note_step(&mut self, se: SeId, step: Step) {
        let begun = self.course_from(se);
        let Some(probes) = &mut self.probes else {
            return;
        };
        if probes.courses.len() <= se.idx() {
            probes.courses.resize(se.idx() + 1, None);
        }
        let course = probes.courses[se.idx()].get_or_insert(begun);
        if course.steps.len() < MAX_STEPS {
            course.steps.push(step);
        }
    }

    fn course_from(&self, se: SeId) -> Course {
        let entity = &self.ses[se];
        Course {
            from: Place {
                vruntime: entity.vruntime,
                deadline: entity.deadline,
                weight: entity.load.weight,
            },
            ran: entity.sum_exec_runtime,
            steps: Vec::new(),
        }
    }

    /// An entity has been put where it was told to be: a new course begins. One that was placed is put elsewhere still.
    pub(crate) fn begin_course(&mut self, se: SeId, placed: bool) {
        if self.ses[se].is_task() {
            return;
        }
        let begun = (!placed).then(|| self.course_from(se));
        if let Some(probes) = &mut self.probes {
            if probes.courses.len() <= se.idx() {
                probes.courses.resize(se.idx() + 1, None);
            }
            probes.courses[se.idx()] = begun;
        }
    }

    /// It is told where a queued entity is. If that is elsewhere than ours because its group's load was another one, the
    /// entity gets the weight, and the group the load, that this tells.
    pub(crate) fn follow_group_times(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        let course = probes.courses.get_mut(se.idx()).and_then(Option::take);
        let (Some(course), Some(vruntime), Some(deadline)) = (
            course.filter(|course| course.steps.len() < MAX_STEPS),
            told[ProbeField::Vruntime as usize],
            told[ProbeField::Deadline as usize],
        ) else {
            return;
        };
        let entity = &self.ses[se];
        let ours = course.end(0, 0);
        let left = deadline.wrapping_sub(vruntime).cast_signed();
        if (ours.vruntime, ours.deadline) != (entity.vruntime, entity.deadline)
            || ours.left().wrapping_sub(left).unsigned_abs() <= ROUNDING
        {
            return;
        }
        if let Some((by, weight)) = course.solve(left) {
            let gcfs_rq = self.ses[se].my_q;
            // What was told since then is not off by that.
            if course.load_changes() == Some(self.load_changes(self.cfs_rqs[gcfs_rq].tg)) {
                self.mend_contribution(gcfs_rq, by);
            }
            (self.fair.reweight_entity)(self, cfs_rq, se, weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group with 1024 of a load of 8192 in all runs for 30 ms, and is weighed anew when it is 8292; then it runs on.
    fn course(others: i64) -> Course {
        let weighing = Weighing {
            shares: 1 << 20,
            load: 1024,
            others,
            sum: -3_000_000_000,
            sum_weight: 1024,
            origin: 80_000_000,
            lag_limit: 5_600_000,
            load_changes: 0,
        };
        let slice = 2_800_000;
        let ran = |delta| Step::Ran { delta, slice };
        Course {
            from: Place {
                vruntime: 50_000_000,
                deadline: 60_000_000,
                weight: 1 << 17,
            },
            ran: 0,
            steps: [ran(4_000_000), Step::Weighed(weighing), ran(50_000)].to_vec(),
        }
    }

    #[test]
    fn the_rest_of_a_slice_tells_the_load_of_others() {
        let told = course(7168 + 100).end(0, 0);
        let ours = course(7168);
        assert_ne!(ours.end(0, 0).left(), told.left());
        assert_eq!(ours.solve(told.left()), Some((100, told.weight)));
        assert_eq!(
            course(7168 + 101).solve(told.left()),
            Some((-1, told.weight))
        );
    }

    #[test]
    fn it_does_so_wherever_the_queue_is() {
        let told = course(7168 + 100).end(0, 0);
        let mut elsewhere = course(7168);
        if let Step::Weighed(weighing) = &mut elsewhere.steps[1] {
            weighing.sum += 4_000_000_000;
        }
        assert_ne!(elsewhere.end(0, 100).vruntime, told.vruntime);
        assert_eq!(elsewhere.solve(told.left()), Some((100, told.weight)));
    }
}
