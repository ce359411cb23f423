//! What ours did to a group's entity between two probes, and where it ends if something was different.
//!
//! Model.      The entity runs and is given weights, and others are placed beside it by the virtual time of their queue. Each
//!             of these is a step, which can be taken again with a change (see `solve`).
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

/// Where a course stands between two steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand {
    pub(super) place: Place,
    /// As that of its end.
    origin: (Vruntime, i64),
    /// What the sums are more because others were placed further ahead.
    more: i64,
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
    pub(super) fn load(&self, below: i64) -> i64 {
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
    pub(super) fn average(&self, place: &Place, more: i64) -> Vruntime {
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
    pub(super) fn lag(&self, place: &Place) -> i64 {
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
    pub(super) fn weighings(&self) -> impl Iterator<Item = (usize, &Weighing)> {
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
        let mut stand = self.begin(change);
        let mut placed = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            placed.extend(self.take(at, change, &mut stand));
            if let Step::Weighed(weighing) = step {
                weighed(weighing.now, stand.place.weight);
            }
        }
        End {
            place: stand.place,
            origin: stand.origin,
            placed,
        }
    }

    /// Where it begins with a change.
    pub(super) fn begin(&self, change: Change) -> Stand {
        let mut place = self.from;
        if let Change::Others { before, .. } = change {
            place.weight = before;
        }
        Stand {
            place,
            origin: (0, 0),
            more: 0,
        }
    }

    /// Takes a step with a change. If it places another entity: by how much that is further ahead.
    pub(super) fn take(&self, at: usize, change: Change, stand: &mut Stand) -> Option<(SeId, i64)> {
        match &self.steps[at] {
            Step::Ran { delta, slice } => {
                let delta = match change {
                    Change::Ran { step, delta } if step == at => delta,
                    _ => *delta,
                };
                stand.place.run(delta, *slice);
                None
            }
            Step::Weighed(weighing) => {
                let below = if change == Change::Nothing {
                    0
                } else {
                    self.below_at(weighing.now)
                };
                let weight = match change {
                    Change::Others { first, by, .. } if at >= first => weighing.weight(below, by),
                    Change::Twice { firsts, by } if at >= firsts[1] => {
                        weighing.weight(below, by[1])
                    }
                    Change::Twice { firsts, by } if at >= firsts[0] => {
                        weighing.weight(below, by[0])
                    }
                    Change::Weight { step, weight } if step == at => weight,
                    _ => weighing.weight(below, 0),
                };
                if weight != stand.place.weight {
                    let average = weighing.queue.average(&stand.place, stand.more);
                    stand.origin = weighing.queue.origin_at(average);
                    stand.place.weigh(weighing, average, weight);
                }
                None
            }
            Step::Placed(placing) => {
                let average = placing.queue.average(&stand.place, stand.more);
                stand.origin = placing.queue.origin_at(average);
                let lag = placing.lag(&stand.place);
                let vruntime = average.wrapping_sub(lag.cast_unsigned());
                let ahead = vruntime.wrapping_sub(placing.vruntime).cast_signed();
                let more = ahead.wrapping_mul(placing.weight);
                stand.more = stand.more.wrapping_add(more);
                Some((placing.se, ahead))
            }
        }
    }
}
