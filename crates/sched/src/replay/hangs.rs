//! Which entities stand where they do by a weight that hangs on when other CPUs brought their averages up to date.
//!
//! Model.      A group's entity is weighed by what all CPUs contribute. If another CPU would tell the group a new contribution,
//!             had it just brought its average up to date, the weight hangs on whether it has, and no event tells. So does
//!             from then on the entity's virtual runtime, with it that of its queue, and with that what is weighed or placed
//!             in the queue. For an entity this ends where its virtual runtime is told, from which it goes on.
//! Invariants. Nothing is noted unless another kernel is followed.
//! Source.     kernel/sched/fair.c `calc_group_shares`, `update_tg_load_avg`, `reweight_entity`, `place_entity` @ 6.1, 6.12.

use crate::probe::{ProbeField, ProbePoint, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

impl Sched {
    /// A group's entity that is queued is weighed.
    pub(crate) fn note_hanging_weight(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let my_q = self.ses[se].my_q;
        if self.contributions_are_pending(my_q) || self.queue_hangs(cfs_rq) {
            self.set_hanging(se, true);
        }
    }

    /// An entity is placed by its queue's virtual time.
    pub(crate) fn note_hanging_place(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.queue_hangs(cfs_rq) {
            self.set_hanging(se, true);
        }
    }

    /// The entity goes on from what was told of it.
    pub(crate) fn end_hanging(&mut self, se: SeId) {
        self.set_hanging(se, false);
    }

    /// Does what is told hang on such weights: the entity's state, or that of its queue where the probe shows more than the
    /// entity?
    pub(crate) fn told_hangs(
        &self,
        point: ProbePoint,
        (cfs_rq, se): (CfsRqId, SeId),
        told: &ProbeValues,
    ) -> bool {
        let of_queue = point == ProbePoint::PlaceEntity
            || told[ProbeField::AvgVruntime as usize].is_some()
            || told[ProbeField::AvgLoad as usize].is_some();
        self.hangs(se) || of_queue && self.queue_hangs(cfs_rq)
    }

    fn queue_hangs(&self, cfs_rq: CfsRqId) -> bool {
        let queue = &self.cfs_rqs[cfs_rq];
        let mut waiting = queue.timeline.iter();
        self.hangs(queue.curr) || waiting.any(|entry| self.hangs(entry.se))
    }

    fn hangs(&self, se: SeId) -> bool {
        let probes = self.probes.as_ref();
        probes.is_some_and(|probes| probes.hanging.get(se.idx()).copied().unwrap_or(false))
    }

    fn set_hanging(&mut self, se: SeId, hangs: bool) {
        if let Some(probes) = &mut self.probes {
            if probes.hanging.len() <= se.idx() {
                probes.hanging.resize(se.idx() + 1, false);
            }
            probes.hanging[se.idx()] = hangs;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::{NOTHING_SHOWN, ProbeField, ProbePoint};
    use crate::profile::{KernelProfile, Release};
    use crate::sched::Sched;
    use crate::topology::Topology;
    use crate::units::{CpuId, GroupId};

    #[test]
    fn what_a_pending_contribution_weighs_hangs_until_it_is_told() {
        for release in [Release::V6_1, Release::V6_12] {
            let mut sched = Sched::new(KernelProfile::new(release, 2), Topology::regular(1, 2, 1));
            let cpu = CpuId(0);
            let group = sched.create_group(GroupId::ROOT, 0);
            let tasks = [cpu, cpu].map(|cpu| {
                let task = sched.spawn(cpu, 0);
                sched.wake_up_new_task(cpu, task, 0);
                task
            });
            sched.sched_move_task(tasks[0], group, 0);
            sched.hold_probes();
            let [here, there] = sched.groups[group].cfs_rq[..] else {
                panic!("two CPUs");
            };
            let (root, se) = (sched.rqs[cpu].cfs, sched.cfs_rqs[here].se);
            let other = sched.tasks[tasks[1]].se;
            let hangs = |sched: &Sched, se, shown: ProbeField| {
                let mut told = NOTHING_SHOWN;
                told[shown as usize] = Some(1);
                sched.told_hangs(ProbePoint::SetNextEntity, (root, se), &told)
            };
            sched.note_hanging_weight(root, se);
            assert!(!hangs(&sched, se, ProbeField::Vruntime), "{release:?}");
            // The other CPU contributes 100, and would contribute nothing.
            sched.cfs_rqs[there].tg_load_avg_contrib = 100;
            sched.groups[group].load_avg += 100;
            sched.note_hanging_weight(root, se);
            assert!(hangs(&sched, se, ProbeField::Vruntime));
            assert!(!hangs(&sched, other, ProbeField::Vruntime));
            assert!(hangs(&sched, other, ProbeField::AvgVruntime), "its queue's");
            sched.note_hanging_place(root, other);
            assert!(hangs(&sched, other, ProbeField::Vruntime));
            sched.end_hanging(se);
            assert!(!hangs(&sched, se, ProbeField::Vruntime));
            sched.end_hanging(other);
            assert!(!hangs(&sched, other, ProbeField::AvgVruntime));
        }
    }
}
