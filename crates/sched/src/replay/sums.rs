//! What a queue's sums tell of an entity that waits in it.
//!
//! Model.      A probe shows Σ w·(v − v0) and Σ w of all that wait in a queue. If ours are others, one waiting entity is
//!             looked for that makes for both, no further than some slices from where ours is:
//!             with another weight and virtual runtime, v0 being ours;
//!             with another weight alone, because of which the queue's average, and with it v0, is another one;
//!             with another virtual runtime, and v0 where the average that it was last moved to is because of that.
//!             It is that entity if whole numbers come out for it and for no other. If for none, Σ w still tells what the
//!             only group that waits weighs.
//! Invariants. Both sums are as told afterwards, or Σ w is, or nothing has changed.
//! Units.      Sums count weights as `scale_load_down` leaves them: of a group's weight ten bits are not told, and stay
//!             as near to ours as they can.
//! Source.     kernel/sched/fair.c `avg_vruntime_add`, `avg_vruntime_update`, `avg_vruntime` @ 6.12.

use crate::probe::{MAX_WEIGHT, MIN_WEIGHT, Weighed};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

/// Who waits is no further from where ours is than so many of its slices.
const MOST_SLICES: u64 = 8;
/// How many places the origin may have that an average was rounded to, on each side.
const MOST_ORIGINS: i128 = 12;
/// For whom whole numbers come out is told only of those who weigh so much: of one that weighs 3 they do in every third case.
const LEAST_TELLING: i64 = 16;
/// How many bits of a weight the sums leave out.
const SHIFT: u32 = 10;

/// An entity as it must be for the sums to be as told.
struct Fit {
    se: SeId,
    weight: u64,
    /// By how much its virtual runtime is ahead of ours.
    ahead: i64,
    /// By how much the origin of the sum is.
    origin: i64,
}

/// By how much sums that were told are more than ours.
#[derive(Clone, Copy)]
struct More {
    sum: i64,
    load: i64,
}

impl Sched {
    /// The other kernel's sums of a queue are these, and `shown` is as it was told to be.
    pub(crate) fn follow_sums(&mut self, cfs_rq: CfsRqId, shown: SeId, sum: i64, load: u64) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let more = More {
            sum: sum.wrapping_sub(cfs.avg_vruntime),
            load: load.wrapping_sub(cfs.avg_load).cast_signed(),
        };
        if (more.sum, more.load) == (0, 0) {
            return;
        }
        let waiting = || cfs.timeline.iter().map(|entry| entry.se);
        let others = waiting().filter(|&se| se != shown);
        let fit = only(others.filter_map(|se| self.fit(cfs_rq, se, more)))
            .or_else(|| only(waiting().filter_map(|se| self.fit_of_weight(cfs_rq, se, more))))
            .or_else(|| self.fit_of_average(cfs_rq, shown, more))
            .or_else(|| {
                let group = only(waiting().filter(|&se| !self.ses[se].is_task()))?;
                let weight = self.told_weight(group, more.load)?;
                Some(self.fit_with(group, weight))
            });
        if let Some(fit) = fit {
            self.take_over_fit(cfs_rq, shown, &fit);
        }
    }

    /// What an entity weighs, as the sums count it, if it makes for a load of so much `more`: a task's weight is known.
    fn told_weight(&self, se: SeId, more: i64) -> Option<i64> {
        let entity = &self.ses[se];
        let weight = entity.weight().cast_signed().checked_add(more)?;
        let possible = (MIN_WEIGHT..=MAX_WEIGHT >> SHIFT).contains(&weight.cast_unsigned());
        (possible && (more == 0 || !entity.is_task())).then_some(weight)
    }

    fn fit_with(&self, se: SeId, weight: i64) -> Fit {
        let least = weight.cast_unsigned() << SHIFT;
        Fit {
            se,
            weight: { self.ses[se].load.weight }.clamp(least, least | ((1 << SHIFT) - 1)),
            ahead: 0,
            origin: 0,
        }
    }

    /// The entity as it is if it alone makes for so much `more` of both sums.
    fn fit(&self, cfs_rq: CfsRqId, se: SeId, more: More) -> Option<Fit> {
        let weight = self.told_weight(se, more.load)?;
        if weight < LEAST_TELLING {
            return None;
        }
        let (key, own) = self.key_and_weight(cfs_rq, se);
        let sum = key.checked_mul(own)?.checked_add(more.sum)?;
        if sum % weight != 0 {
            return None;
        }
        let ahead = (sum / weight).wrapping_sub(key);
        self.is_near(se, ahead).then(|| Fit {
            ahead,
            ..self.fit_with(se, weight)
        })
    }

    /// The entity as it is if its weight makes for so much `more` of the load, and the origin for the rest.
    fn fit_of_weight(&self, cfs_rq: CfsRqId, se: SeId, more: More) -> Option<Fit> {
        let weight = self.told_weight(se, more.load).filter(|_| more.load != 0)?;
        let (key, _) = self.key_and_weight(cfs_rq, se);
        let sum = key.checked_mul(more.load)?.checked_sub(more.sum)?;
        let load = self.cfs_rqs[cfs_rq].avg_load.cast_signed() + more.load;
        let origin = sum.checked_div(load).filter(|_| sum % load == 0)?;
        self.is_near(se, origin).then(|| Fit {
            origin,
            ..self.fit_with(se, weight)
        })
    }

    /// The entity as it is if it alone hangs on what no event tells, and the origin, which was moved to the queue's average,
    /// is where it is because of that.
    fn fit_of_average(&self, cfs_rq: CfsRqId, shown: SeId, more: More) -> Option<Fit> {
        let cfs = &self.cfs_rqs[cfs_rq];
        let waiting = cfs.timeline.iter().map(|entry| entry.se);
        let se = only(waiting.filter(|&se| se != shown && self.is_unsure(se)))?;
        let weight = self.told_weight(se, more.load).filter(|_| more.load == 0)?;
        let weight = i128::from(Some(weight).filter(|weight| *weight >= LEAST_TELLING)?);
        let [sum, load, total] =
            [more.sum, cfs.avg_load.cast_signed(), cfs.zero_weight].map(i128::from);
        // Where the average of `total` was so much ahead that `sum` is more, but for its rounding.
        let apart = total - load;
        let middle = sum.checked_div(apart)?;
        let width = total / apart.abs() + 1;
        if width > MOST_ORIGINS {
            return None;
        }
        let fits = (middle - width..=middle + width).filter_map(|origin| {
            let sum = sum + origin * load;
            let fits = sum % weight == 0 && (origin * total - sum).abs() <= total;
            let ahead = i64::try_from(sum / weight).ok()?;
            let origin = i64::try_from(origin).ok()?;
            (fits && self.is_near(se, ahead)).then_some((ahead, origin))
        });
        let (ahead, origin) = only(fits)?;
        Some(Fit {
            se,
            weight: self.ses[se].load.weight,
            ahead,
            origin,
        })
    }

    /// Does an entity's place hang on what no event tells?
    fn is_unsure(&self, se: SeId) -> bool {
        let probes = self.probes.as_ref();
        self.hangs(se).is_some() || probes.is_some_and(|probes| probes.is_only_placed(se))
    }

    /// How far an entity is ahead of the origin of its queue's sum, and with what weight it counts.
    fn key_and_weight(&self, cfs_rq: CfsRqId, se: SeId) -> (i64, i64) {
        let entity = &self.ses[se];
        let origin = self.cfs_rqs[cfs_rq].zero_vruntime;
        let key = entity.vruntime.wrapping_sub(origin).cast_signed();
        (key, entity.weight().cast_signed())
    }

    fn is_near(&self, se: SeId, ahead: i64) -> bool {
        let entity = &self.ses[se];
        let slice = entity.load.clone().calc_delta_fair(entity.slice);
        ahead.unsigned_abs() / MOST_SLICES <= slice
    }

    fn take_over_fit(&mut self, cfs_rq: CfsRqId, shown: SeId, fit: &Fit) {
        let entity = &self.ses[fit.se];
        let vruntime = entity.vruntime.wrapping_add(fit.ahead.cast_unsigned());
        if !(self.fair.can_hold)(self, cfs_rq, fit.se, vruntime) {
            return;
        }
        let mut left = entity.deadline.wrapping_sub(entity.vruntime).cast_signed();
        if fit.se != shown {
            let real = i128::from(left) * i128::from(entity.load.weight);
            left = (real / i128::from(fit.weight)) as i64;
        }
        if fit.weight != entity.load.weight {
            if let Some(probes) = &mut self.probes {
                probes.weighed.push(Weighed {
                    se: fit.se,
                    told: fit.weight,
                    ours: entity.load.weight,
                });
            }
            self.follow_weight(cfs_rq, fit.se, fit.weight);
        }
        (self.fair.timeline_remove)(self, cfs_rq, fit.se);
        let entity = &mut self.ses[fit.se];
        entity.vruntime = vruntime;
        entity.deadline = vruntime.wrapping_add(left.cast_unsigned());
        (self.fair.timeline_add)(self, cfs_rq, fit.se);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let moved = fit.origin.wrapping_mul(cfs.avg_load.cast_signed());
        cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(fit.origin.cast_unsigned());
        cfs.avg_vruntime = cfs.avg_vruntime.wrapping_sub(moved);
    }
}

/// The item of an iterator that has one alone.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

#[cfg(test)]
mod tests {
    use crate::profile::{KernelProfile, Release};
    use crate::sched::Sched;
    use crate::topology::Topology;
    use crate::units::{CpuId, GroupId, SeId};

    const CPU: CpuId = CpuId(0);

    /// A hog that runs, and beside it a task and a group that wait.
    fn waiting() -> (Sched, [SeId; 2]) {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let start = |sched: &mut Sched| {
            let task = sched.spawn(CPU, 0);
            sched.wake_up_new_task(CPU, task, 0);
            task
        };
        start(&mut sched);
        sched.schedule(CPU, 1000, false);
        let alone = start(&mut sched);
        let grouped = start(&mut sched);
        let group = sched.create_group(GroupId::ROOT, 1000);
        sched.sched_move_task(grouped, group, 1000);
        let queue = sched.groups[group].cfs_rq[CPU.idx()];
        let entities = [sched.tasks[alone].se, sched.cfs_rqs[queue].se];
        (sched, entities)
    }

    fn sums(sched: &Sched) -> (i64, u64) {
        let cfs = &sched.cfs_rqs[sched.rqs[CPU].cfs];
        (cfs.avg_vruntime, cfs.avg_load)
    }

    #[test]
    fn a_weight_tells_whose_it_is() {
        let (mut sched, [_, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        let origin = sched.cfs_rqs[root].zero_vruntime;
        let key = sched.ses[group].vruntime.wrapping_sub(origin).cast_signed();
        let (sum, load) = sums(&sched);
        // Told: the group weighs 1000 and not 1024, and is 500 ahead of where it was.
        let told = (sum - 1024 * key + 1000 * (key + 500), load - 24);
        sched.follow_sums(root, SeId::NONE, told.0, told.1);
        assert_eq!(sums(&sched), told);
        assert_eq!(sched.ses[group].load.weight, 1000 << 10 | 1023);
        let moved = sched.ses[group].vruntime.wrapping_sub(origin);
        assert_eq!(moved.cast_signed(), key + 500);
    }

    #[test]
    fn who_weighs_little_is_not_told_by_whole_numbers() {
        let (mut sched, [alone, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        let tg = sched.cfs_rqs[sched.ses[group].my_q].tg;
        sched.set_shares(tg, 3, 1000).unwrap();
        let before = [alone, group].map(|se| sched.ses[se].vruntime);
        let (sum, load) = sums(&sched);
        sched.follow_sums(root, SeId::NONE, sum + 3000, load);
        assert_eq!([alone, group].map(|se| sched.ses[se].vruntime), before);
        sched.follow_sums(root, SeId::NONE, sum + 1024 * 500, load);
        assert_eq!(sched.ses[alone].vruntime, before[0] + 500);
    }

    #[test]
    fn a_weight_moves_the_origin_of_its_queue() {
        let (mut sched, [_, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        let origin = sched.cfs_rqs[root].zero_vruntime;
        let vruntime = sched.ses[group].vruntime;
        let key = vruntime.wrapping_sub(origin).cast_signed();
        let (sum, load) = sums(&sched);
        // Told: the group weighs 1000 and not 1024, and the origin is 701 ahead of ours.
        let told = (sum - 24 * key - 701 * (load - 24).cast_signed(), load - 24);
        sched.follow_sums(root, SeId::NONE, told.0, told.1);
        assert_eq!(sums(&sched), told);
        assert_eq!(sched.ses[group].load.weight, 1000 << 10 | 1023);
        assert_eq!(sched.ses[group].vruntime, vruntime);
        let moved = sched.cfs_rqs[root].zero_vruntime.wrapping_sub(origin);
        assert_eq!(moved, 701);
    }

    #[test]
    fn the_origin_is_where_the_average_was() {
        let (mut sched, [alone, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        (sched.fair.reweight_entity)(&mut sched, root, group, 1000 << 10);
        sched.avg_vruntime(root);
        sched.hold_probes();
        let probes = sched.probes.as_mut().unwrap();
        probes.set_only_placed(group, true);
        // In the other kernel the group is 601 ahead, and was when the average was taken.
        let mut other = sched.clone();
        (other.fair.timeline_remove)(&mut other, root, group);
        other.ses[group].vruntime += 601;
        (other.fair.timeline_add)(&mut other, root, group);
        other.avg_vruntime(root);
        let told = sums(&other);
        assert_ne!(sums(&sched), told);
        sched.follow_sums(root, alone, told.0, told.1);
        assert_eq!(sums(&sched), told);
        assert_eq!(sched.ses[group].vruntime, other.ses[group].vruntime);
        let zero = |sched: &Sched| sched.cfs_rqs[root].zero_vruntime;
        assert_eq!(zero(&sched), zero(&other));
    }

    #[test]
    fn nobody_waits_many_slices_away() {
        let (mut sched, [_, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        let vruntime = sched.ses[group].vruntime;
        let (sum, load) = sums(&sched);
        // By the load told it is the group, which would be a second away from where it is.
        let told = (sum + 1000 * 1_000_000_000, load - 24);
        sched.follow_sums(root, SeId::NONE, told.0, told.1);
        assert_eq!(sums(&sched).1, told.1);
        assert_eq!(sched.ses[group].load.weight, 1000 << 10 | 1023);
        assert_eq!(sched.ses[group].vruntime, vruntime);
    }

    #[test]
    fn what_two_could_have_done_changes_nothing() {
        let (mut sched, _) = waiting();
        let root = sched.rqs[CPU].cfs;
        let before = sums(&sched);
        // The task or the group, of equal weight, is 500 ahead.
        sched.follow_sums(root, SeId::NONE, before.0 + 1024 * 500, before.1);
        assert_eq!(sums(&sched), before);
    }
}
