//! Which entities stand where they do by something that no event tells: when other CPUs brought their averages up to date,
//! or a clock.
//!
//! Model.      A group's entity is weighed by what all CPUs contribute. If another CPU would tell the group a new contribution,
//!             had it just brought its average up to date, the weight hangs on whether it has, and no event tells. What is
//!             placed or weighed beside a group that runs hangs on the clock with which that is charged, which no event tells
//!             either. So does from then on the entity's virtual runtime, with it that of its queue, and with that what is
//!             weighed or placed in the queue, and the origin of its sums, which moves to that; on 6.1 the queue's
//!             `min_vruntime` as well, until another entity's takes it further. For an entity this ends where its virtual
//!             runtime is told, from which it goes on, and once it has left its queue where its lag is; for an origin with sums.
//! Invariants. Nothing is noted unless another kernel is followed.
//! Source.     kernel/sched/fair.c `calc_group_shares`, `update_tg_load_avg`, `reweight_entity`, `place_entity` @ 6.1, 6.12.

use crate::probe::{ProbeField, ProbePoint, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, SeId, TaskId};
use alloc::vec::Vec;

/// On what an entity's place hangs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HangsOn {
    /// When other CPUs brought their averages up to date.
    Updates,
    /// A clock that was guessed.
    Clock,
    /// A `min_vruntime` from before the recording.
    Start,
}

impl Sched {
    /// The clock of a CPU that is about to be told is a guess; or no clock is any more.
    pub fn guess_clock(&mut self, cpu: Option<CpuId>) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        match cpu {
            Some(cpu) => probes.guessed.push(cpu),
            None => probes.guessed.clear(),
        }
    }

    /// A group's entity that is queued is weighed.
    pub(crate) fn note_hanging_weight(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if self.contributions_are_pending(self.ses[se].my_q) {
            self.note_hanging_origin(cfs_rq);
            self.set_hanging(se, Some(HangsOn::Updates));
        } else {
            self.note_hanging_place(cfs_rq, se);
        }
    }

    /// An entity is placed by its queue's virtual time.
    #[cold]
    pub(crate) fn note_hanging_place(&mut self, cfs_rq: CfsRqId, se: SeId) {
        let origin = self.note_hanging_origin(cfs_rq);
        if let Some(on) = origin.or(self.floor_hangs(cfs_rq)) {
            self.set_hanging(se, Some(on));
        }
    }

    /// The origin of a queue's sums has moved to its average.
    fn note_hanging_origin(&mut self, cfs_rq: CfsRqId) -> Option<HangsOn> {
        let clock = self.is_clock_guessed(cfs_rq).then_some(HangsOn::Clock);
        let on = self.queue_hangs(cfs_rq).or(clock);
        if let Some(probes) = &mut self.probes {
            set(&mut probes.origins_hanging, cfs_rq.idx(), on);
        }
        on
    }

    /// The origin of a queue's sums is as told.
    pub(crate) fn end_hanging_origin(&mut self, cfs_rq: CfsRqId) {
        if let Some(probes) = &mut self.probes {
            set(&mut probes.origins_hanging, cfs_rq.idx(), None);
        }
    }

    /// The `min_vruntime` of a queue has gone on to an entity's.
    #[cold]
    pub(crate) fn note_hanging_floor(&mut self, cfs_rq: CfsRqId) {
        let queue = &self.cfs_rqs[cfs_rq];
        let first = queue.timeline.first().map(|first| first.se);
        let mut entities = queue.curr.get().into_iter().chain(first);
        let floor = entities.find(|&se| self.ses[se].vruntime == queue.zero_vruntime);
        let on = floor.and_then(|se| self.hangs(se));
        if let Some(probes) = &mut self.probes {
            set(&mut probes.floors_hanging, cfs_rq.idx(), on);
        }
    }

    /// Of a queue the place of an entity was told for the first time: by how much its `min_vruntime` is ahead is not.
    pub(crate) fn note_unknown_floor(&mut self, cfs_rq: CfsRqId) {
        let on = self.fair.keeps_min_vruntime.then_some(HangsOn::Start);
        if let Some(probes) = &mut self.probes {
            set(&mut probes.floors_hanging, cfs_rq.idx(), on);
        }
    }

    /// An entity comes to a queue from whose `min_vruntime` it counts, or is counted from it as it leaves.
    #[cold]
    pub(crate) fn note_hanging_base(&mut self, cfs_rq: CfsRqId, se: SeId) {
        if let Some(on) = self.floor_hangs(cfs_rq) {
            self.set_hanging(se, Some(on));
        }
    }

    fn floor_hangs(&self, cfs_rq: CfsRqId) -> Option<HangsOn> {
        let probes = self.probes.as_ref()?;
        probes.floors_hanging.get(cfs_rq.idx()).copied().flatten()
    }

    fn origin_hangs(&self, cfs_rq: CfsRqId) -> Option<HangsOn> {
        let probes = self.probes.as_ref()?;
        probes.origins_hanging.get(cfs_rq.idx()).copied().flatten()
    }

    /// A group's entity was charged: its slice may have ended with that, and its virtual time is rounded down each time.
    pub(crate) fn note_hanging_charge(&mut self, se: SeId) {
        if self.hangs(se).is_none() && self.is_clock_guessed(self.ses[se].cfs_rq) {
            self.set_hanging(se, Some(HangsOn::Clock));
        }
    }

    /// The entity goes on from what was told of it.
    pub(crate) fn end_hanging(&mut self, se: SeId) {
        self.set_hanging(se, None);
    }

    /// On what hangs what is told: the entity's state, or that of its queue where the probe shows more than the entity.
    pub(crate) fn told_hangs(
        &self,
        point: ProbePoint,
        (cfs_rq, se): (CfsRqId, SeId),
        told: &ProbeValues,
    ) -> Option<HangsOn> {
        let of_sum = told[ProbeField::AvgVruntime as usize].is_some();
        let of_queue = of_sum
            || point == ProbePoint::PlaceEntity
            || told[ProbeField::AvgLoad as usize].is_some();
        let queue = of_queue.then(|| self.queue_hangs(cfs_rq)).flatten();
        let origin = of_sum.then(|| self.origin_hangs(cfs_rq)).flatten();
        self.hangs(se).or(queue).or(origin)
    }

    /// On what hangs the order of two tasks of a CPU: the places of the entities above them that share a queue, and where entities
    /// have to be eligible the average of that.
    pub fn order_hangs(&self, a: TaskId, b: TaskId) -> Option<HangsOn> {
        let [a, b] = [a, b].map(|task| self.tasks[task].se);
        let cpu = |se: SeId| {
            let cfs_rq = self.ses[se].cfs_rq.get();
            cfs_rq.map(|cfs_rq| self.cfs_rqs[cfs_rq].cpu)
        };
        if cpu(a).is_none() || cpu(a) != cpu(b) {
            return None;
        }
        let (a, b) = self.find_matching_se(a, b);
        let cfs_rq = self.ses[a].cfs_rq;
        let by_average = !self.fair.keeps_min_vruntime;
        let queue = by_average.then(|| self.queue_hangs(cfs_rq)).flatten();
        self.hangs(a).or(self.hangs(b)).or(queue)
    }

    /// On what hangs whether a running task has had its slice, or a group above it: the entity's place, and where a slice is a
    /// share of what the queue weighs, those of all that are queued there.
    pub fn slice_hangs(&self, task: TaskId) -> Option<HangsOn> {
        let mut se = self.tasks[task].se;
        while let Some(cfs_rq) = self.ses[se].cfs_rq.get() {
            let by_average = !self.fair.keeps_min_vruntime;
            let shares = (!by_average).then(|| self.queue_hangs(cfs_rq)).flatten();
            let on = self.hangs(se).or(shares);
            if on.is_some() {
                return on;
            }
            se = self.ses[se].parent.get()?;
        }
        None
    }

    fn queue_hangs(&self, cfs_rq: CfsRqId) -> Option<HangsOn> {
        let queue = &self.cfs_rqs[cfs_rq];
        let mut waiting = queue.timeline.iter();
        let waiting = waiting.find_map(|entry| self.hangs(entry.se));
        self.hangs(queue.curr).or(waiting)
    }

    /// Is a group charged there with a clock that is a guess?
    fn is_clock_guessed(&self, cfs_rq: CfsRqId) -> bool {
        let queue = &self.cfs_rqs[cfs_rq];
        let of_group = queue.curr.is_some() && !self.ses[queue.curr].is_task();
        let probes = self.probes.as_ref();
        of_group && probes.is_some_and(|probes| probes.guessed.contains(&queue.cpu))
    }

    pub(super) fn hangs(&self, se: SeId) -> Option<HangsOn> {
        let probes = self.probes.as_ref()?;
        probes.hanging.get(se.idx()).copied().flatten()
    }

    fn set_hanging(&mut self, se: SeId, on: Option<HangsOn>) {
        if let Some(probes) = &mut self.probes {
            set(&mut probes.hanging, se.idx(), on);
        }
    }
}

fn set(hanging: &mut Vec<Option<HangsOn>>, at: usize, on: Option<HangsOn>) {
    if hanging.len() <= at {
        hanging.resize(at + 1, None);
    }
    hanging[at] = on;
}

#[cfg(test)]
mod tests {
    use super::HangsOn;
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
                sched
                    .told_hangs(ProbePoint::SetNextEntity, (root, se), &told)
                    .is_some()
            };
            sched.note_hanging_weight(root, se);
            assert!(!hangs(&sched, se, ProbeField::Vruntime), "{release:?}");
            let [beside, elsewhere] = [cpu, CpuId(1)].map(|cpu| sched.spawn(cpu, 0));
            assert_eq!(sched.order_hangs(tasks[0], beside), None);
            // The other CPU contributes 100, and would contribute nothing.
            sched.cfs_rqs[there].tg_load_avg_contrib = 100;
            sched.groups[group].load_avg += 100;
            sched.note_hanging_weight(root, se);
            assert!(hangs(&sched, se, ProbeField::Vruntime));
            assert!(!hangs(&sched, other, ProbeField::Vruntime));
            assert!(hangs(&sched, other, ProbeField::AvgVruntime), "its queue's");
            let order = sched.order_hangs(beside, tasks[0]);
            assert_eq!(order, Some(HangsOn::Updates));
            assert_eq!(sched.order_hangs(elsewhere, tasks[0]), None);
            // The group's slice does, and on 6.1 that of who shares the queue.
            assert_eq!(sched.slice_hangs(tasks[0]), Some(HangsOn::Updates));
            let shares = (release == Release::V6_1).then_some(HangsOn::Updates);
            assert_eq!(sched.slice_hangs(beside), shares);
            assert_eq!(sched.slice_hangs(elsewhere), None);
            sched.note_hanging_place(root, other);
            assert!(hangs(&sched, other, ProbeField::Vruntime));
            sched.end_hanging(se);
            assert!(!hangs(&sched, se, ProbeField::Vruntime));
            sched.end_hanging(other);
            assert!(hangs(&sched, other, ProbeField::AvgVruntime), "its origin");
            assert!(!hangs(&sched, other, ProbeField::AvgLoad));
            sched.end_hanging_origin(root);
            assert!(!hangs(&sched, other, ProbeField::AvgVruntime));
            // The group's entity has taken `min_vruntime` as far as its own, which is told later.
            sched.note_hanging_weight(root, se);
            sched.cfs_rqs[root].curr = se;
            sched.cfs_rqs[root].zero_vruntime = sched.ses[se].vruntime;
            sched.note_hanging_floor(root);
            sched.end_hanging(se);
            for note in [Sched::note_hanging_place, Sched::note_hanging_base] {
                note(&mut sched, root, other);
                assert!(hangs(&sched, other, ProbeField::Vruntime));
                sched.end_hanging(other);
            }
            sched.note_hanging_floor(root);
            sched.note_hanging_base(root, other);
            assert!(!hangs(&sched, other, ProbeField::Vruntime));
            // Where the recording begins, nothing tells how far it is ahead.
            sched.note_unknown_floor(root);
            sched.note_hanging_base(root, other);
            let start = (release == Release::V6_1).then_some(HangsOn::Start);
            assert_eq!(sched.hangs(other), start);
        }
    }

    #[test]
    fn what_is_placed_beside_a_group_hangs_on_a_clock_that_was_guessed() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let cpu = CpuId(0);
        let group = sched.create_group(GroupId::ROOT, 0);
        let start = |sched: &mut Sched| {
            let task = sched.spawn(cpu, 0);
            sched.wake_up_new_task(cpu, task, 0);
            task
        };
        let grouped = start(&mut sched);
        sched.schedule(cpu, 1000, false);
        let alone = start(&mut sched);
        let (root, se) = (sched.rqs[cpu].cfs, sched.tasks[alone].se);
        sched.hold_probes();
        sched.guess_clock(Some(cpu));
        sched.note_hanging_place(root, se);
        assert_eq!(sched.hangs(se), None, "a task runs, whose charge is told");
        sched.sched_move_task(grouped, group, 2000);
        sched.note_hanging_place(root, se);
        assert_eq!(sched.hangs(se), Some(HangsOn::Clock));
        let group = sched.cfs_rqs[root].curr;
        sched.note_hanging_charge(group);
        assert_eq!(sched.hangs(group), Some(HangsOn::Clock));
        sched.end_hanging(group);
        sched.end_hanging(se);
        sched.guess_clock(None);
        sched.note_hanging_place(root, se);
        assert_eq!(sched.hangs(se), None, "the clock is told again");
    }
}
