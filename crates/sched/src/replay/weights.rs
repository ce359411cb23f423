//! What the times of a group's entity tell of the weights that it was given.
//!
//! Model.      Between two probes of a group's entity ours notes its course. Where that ends elsewhere than the second one shows,
//!             the change that explains it tells the entity's weight, what other CPUs contribute to its group, and where the
//!             others are that were placed beside it.
//! Invariants. Nothing is noted unless another kernel is followed.
//! Source.     kernel/sched/fair.c `update_curr`, `reweight_eevdf`, `calc_group_shares` @ 6.12.
//! Not here.   6.18, whose `reweight_entity` places the entity anew: what ours gives it is not noted, so nothing is found.

use super::course::{Change, Course, End, Others, Place, Placing, ROUNDING, Step, Weighing};
use super::solve::solve;
use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, Nanos, SeId};
use alloc::vec::Vec;

impl Sched {
    /// A group's entity was charged for running since it was last told or charged.
    pub(crate) fn note_ran(&mut self, se: SeId) {
        self.note_hanging_charge(se);
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
        if let Some(course) = course {
            let before = core::mem::replace(&mut course.ran, sum);
            let delta = sum.saturating_sub(before);
            course.note(Step::Ran { delta, slice });
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
        let g = &self.cfs_rqs[entity.my_q];
        let tg = &self.groups[g.tg];
        let weighing = Weighing {
            shares: tg.shares.cast_signed(),
            queue_weight: g.load.weight,
            load_avg: g.avg.load_avg.cast_signed(),
            now: self.rqs[g.cpu].clock,
            others: tg.load_avg - g.tg_load_avg_contrib.cast_signed(),
            queue: self.others_of(cfs_rq, se),
            lag_limit: (2 * entity.slice).max(self.tick_nsec()),
            load_changes: self.load_changes(g.tg),
        };
        self.note_step(se, Step::Weighed(weighing));
    }

    /// An entity has been placed beside groups that are queued, with this lag.
    #[cold]
    pub(crate) fn note_placed(&mut self, cfs_rq: CfsRqId, se: SeId, vlag: i64) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let waiting = cfs.timeline.iter().map(|entry| entry.se);
        let running = Some(cfs.curr).filter(|curr| curr.is_some() && self.ses[*curr].on_rq);
        let groups = waiting.chain(running);
        let groups: Vec<SeId> = groups.filter(|group| !self.ses[*group].is_task()).collect();
        for group in groups.into_iter().filter(|group| *group != se) {
            let entity = &self.ses[se];
            let placing = Placing {
                se,
                queue: self.others_of(cfs_rq, group),
                vlag,
                weight: entity.weight().cast_signed(),
                vruntime: entity.vruntime,
            };
            self.note_step(group, Step::Placed(placing));
        }
    }

    /// A queue, the virtual time of which was just asked for, without one of its entities.
    fn others_of(&self, cfs_rq: CfsRqId, se: SeId) -> Others {
        let entity = &self.ses[se];
        let (sum, sum_weight) = self.vruntime_sums(&self.cfs_rqs[cfs_rq]);
        let origin = self.cfs_rqs[cfs_rq].zero_vruntime;
        let own = entity.weight().cast_signed();
        let key = entity.vruntime.wrapping_sub(origin).cast_signed();
        Others {
            sum: sum.wrapping_sub(key.wrapping_mul(own)),
            sum_weight: sum_weight - own,
            origin,
        }
    }

    fn note_step(&mut self, se: SeId, step: Step) {
        let begun = self.course_from(se);
        let Some(probes) = &mut self.probes else {
            return;
        };
        if probes.courses.len() <= se.idx() {
            probes.courses.resize(se.idx() + 1, None);
        }
        probes.courses[se.idx()].get_or_insert(begun).note(step);
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
            below: Vec::new(),
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
            course.filter(Course::is_whole),
            told[ProbeField::Vruntime as usize],
            told[ProbeField::Deadline as usize],
        ) else {
            return;
        };
        let entity = &self.ses[se];
        let ours = course.end(Change::Nothing).place;
        let left = deadline.wrapping_sub(vruntime).cast_signed();
        if (ours.vruntime, ours.deadline) != (entity.vruntime, entity.deadline)
            || ours.left() == left
        {
            return;
        }
        let Some((change, end)) = solve(&course, vruntime, left) else {
            return;
        };
        self.note_below(se, course.heavier(change));
        let gcfs_rq = self.ses[se].my_q;
        // What was told since then is not off by that.
        if let Change::Others { by, .. } = change
            && course.load_changes() == Some(self.load_changes(self.cfs_rqs[gcfs_rq].tg))
        {
            self.mend_contribution(gcfs_rq, by);
        }
        if end.place.weight != self.ses[se].load.weight {
            self.follow_weight(cfs_rq, se, end.place.weight);
        }
        if end.place.vruntime.abs_diff(vruntime) <= ROUNDING {
            self.move_placed(cfs_rq, se, &end);
        }
    }

    /// An entity weighed so much more than in ours, from these clocks on: so did the queue that it is on.
    fn note_below(&mut self, se: SeId, heavier: Vec<(Nanos, i64)>) {
        let parent = self.ses[se].parent;
        let courses = self.probes.as_mut().map(|probes| &mut probes.courses);
        let course = courses.and_then(|courses| courses.get_mut(parent.idx())?.as_mut());
        if let Some(course) = course.filter(|_| parent.is_some()) {
            course.below = heavier;
        }
    }

    /// What was placed beside a group's entity is where it was placed beside that as it was told.
    fn move_placed(&mut self, cfs_rq: CfsRqId, group: SeId, end: &End) {
        for &(se, ahead) in &end.placed {
            let probes = self.probes.as_ref();
            let stays = probes.is_some_and(|probes| probes.is_only_placed(se));
            let mut waiting = self.cfs_rqs[cfs_rq].timeline.iter();
            let waits = waiting.any(|entry| entry.se == se);
            let vruntime = self.ses[se].vruntime.wrapping_add(ahead.cast_unsigned());
            if stays && waits && (self.fair.can_hold)(self, cfs_rq, se, vruntime) {
                (self.fair.timeline_remove)(self, cfs_rq, se);
                let entity = &mut self.ses[se];
                entity.vruntime = vruntime;
                entity.deadline = entity.deadline.wrapping_add(ahead.cast_unsigned());
                (self.fair.timeline_add)(self, cfs_rq, se);
            }
        }
        let (origin, ahead) = end.origin;
        let moved = origin.wrapping_add(ahead.cast_unsigned());
        let cfs = &self.cfs_rqs[cfs_rq];
        if cfs.zero_vruntime == origin && (self.fair.can_hold)(self, cfs_rq, group, moved) {
            let cfs = &mut self.cfs_rqs[cfs_rq];
            let sum = ahead.wrapping_mul(cfs.avg_load.cast_signed());
            cfs.avg_vruntime = cfs.avg_vruntime.wrapping_sub(sum);
            cfs.zero_vruntime = moved;
        }
    }
}
