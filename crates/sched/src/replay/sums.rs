//! What a queue's sums tell of an entity that waits in it.
//!
//! Model.      A probe shows Σ w·(v − v0) and Σ w of all that wait in a queue. If ours are others, and taking the weight
//!             and the virtual runtime of one waiting entity as they must be for both sums to be as told gives whole
//!             numbers for that entity and for no other, and some slices' distance from where it is, then it is this one that
//!             was elsewhere.
//! Invariants. Both sums are as told afterwards, or nothing has changed.
//! Units.      Sums count weights as `scale_load_down` leaves them: of a group's weight ten bits are not told, and stay
//!             as near to ours as they can.
//! Source.     kernel/sched/fair.c `avg_vruntime_add`, `avg_vruntime_update` @ 6.12.

use crate::probe::{MAX_WEIGHT, MIN_WEIGHT};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};
use alloc::vec::Vec;

/// Who waits is no further from where ours is than so many of its slices.
const MOST_SLICES: u64 = 8;
/// How many bits of a weight the sums leave out.
const SHIFT: u32 = 10;

/// An entity as it must be for the sums to be as told.
struct Fit {
    se: SeId,
    weight: u64,
    /// By how much its virtual runtime is ahead of ours.
    ahead: i64,
}

impl Sched {
    /// The other kernel's sums of a queue are these, and `shown` is as it was told to be.
    pub(crate) fn follow_sums(&mut self, cfs_rq: CfsRqId, shown: SeId, sum: i64, load: u64) {
        let cfs = &self.cfs_rqs[cfs_rq];
        if (cfs.avg_vruntime, cfs.avg_load) == (sum, load) {
            return;
        }
        let more = (
            sum.wrapping_sub(cfs.avg_vruntime),
            load.wrapping_sub(cfs.avg_load).cast_signed(),
        );
        let waiting = cfs.timeline.iter().map(|entry| entry.se);
        let fits: Vec<Fit> = waiting
            .filter(|&se| se != shown)
            .filter_map(|se| self.fit(cfs_rq, se, more))
            .collect();
        let [fit] = &fits[..] else {
            return;
        };
        self.take_over_fit(cfs_rq, fit);
    }

    /// The entity as it is if it alone makes for so much `more` of both sums.
    fn fit(&self, cfs_rq: CfsRqId, se: SeId, more: (i64, i64)) -> Option<Fit> {
        let entity = &self.ses[se];
        if more.1 != 0 && entity.is_task() {
            return None;
        }
        let own = entity.weight().cast_signed();
        let weight = own.checked_add(more.1)?;
        if !(MIN_WEIGHT..=MAX_WEIGHT >> SHIFT).contains(&weight.cast_unsigned()) {
            return None;
        }
        let origin = self.cfs_rqs[cfs_rq].zero_vruntime;
        let key = entity.vruntime.wrapping_sub(origin).cast_signed();
        let sum = key.checked_mul(own)?.checked_add(more.0)?;
        if sum % weight != 0 {
            return None;
        }
        let least = weight.cast_unsigned() << SHIFT;
        let ahead = (sum / weight).wrapping_sub(key);
        let slice = entity.load.clone().calc_delta_fair(entity.slice);
        if ahead.unsigned_abs() / MOST_SLICES > slice {
            return None;
        }
        Some(Fit {
            se,
            weight: entity.load.weight.clamp(least, least | ((1 << SHIFT) - 1)),
            ahead,
        })
    }

    fn take_over_fit(&mut self, cfs_rq: CfsRqId, fit: &Fit) {
        let entity = &self.ses[fit.se];
        let vruntime = entity.vruntime.wrapping_add(fit.ahead.cast_unsigned());
        if !(self.fair.can_hold)(self, cfs_rq, fit.se, vruntime) {
            return;
        }
        let left = entity.deadline.wrapping_sub(entity.vruntime).cast_signed();
        let real = i128::from(left) * i128::from(entity.load.weight);
        let left = (real / i128::from(fit.weight)) as i64;
        if fit.weight != entity.load.weight {
            (self.fair.reweight_entity)(self, cfs_rq, fit.se, fit.weight);
        }
        (self.fair.timeline_remove)(self, cfs_rq, fit.se);
        let entity = &mut self.ses[fit.se];
        entity.vruntime = vruntime;
        entity.deadline = vruntime.wrapping_add(left.cast_unsigned());
        (self.fair.timeline_add)(self, cfs_rq, fit.se);
    }
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
    fn nobody_waits_many_slices_away() {
        let (mut sched, [_, group]) = waiting();
        let root = sched.rqs[CPU].cfs;
        let (sum, load) = sums(&sched);
        // By the load told it is the group, which would be a second away from where it is.
        let told = (sum + 1000 * 1_000_000_000, load - 24);
        sched.follow_sums(root, SeId::NONE, told.0, told.1);
        assert_eq!(sums(&sched), (sum, load));
        assert_eq!(sched.ses[group].load.weight, 1024 << 10);
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
