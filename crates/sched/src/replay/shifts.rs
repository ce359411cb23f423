//! What moves along where an entity is told to be elsewhere.
//!
//! Model.      Entities are placed by their queue's virtual time. If one that was placed so is told to be elsewhere, and nothing
//!             else made it so, that time had been another one, for all who were placed by it and of whom nothing was told since.
//! Units.      ns of virtual time.
//! Source.     kernel/sched/fair.c `place_entity` @ 6.1, 6.12.

use crate::probe::{ProbeField, ProbeValues};
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};
use alloc::vec::Vec;

impl Sched {
    /// A queue's virtual time is only known relative to our guess: everything on it moves along with the first
    /// entity that was told.
    pub(crate) fn shift_queue(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let Some(vruntime) = told[ProbeField::Vruntime as usize] else {
            return;
        };
        let by = vruntime.wrapping_sub(self.ses[se].vruntime);
        if by == 0 {
            return;
        }
        let curr = self.cfs_rqs[cfs_rq].curr;
        let waiting: Vec<SeId> = self.cfs_rqs[cfs_rq].timeline.iter().map(|e| e.se).collect();
        for &other in &waiting {
            (self.fair.timeline_remove)(self, cfs_rq, other);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(by);
        let running = Some(curr).filter(|curr| curr.is_some() && !waiting.contains(curr));
        let apart = Some(se).filter(|se| *se != curr && !waiting.contains(se));
        for other in waiting.iter().copied().chain(running).chain(apart) {
            let entity = &mut self.ses[other];
            entity.vruntime = entity.vruntime.wrapping_add(by);
            entity.deadline = entity.deadline.wrapping_add(by);
        }
        for &other in &waiting {
            (self.fair.timeline_add)(self, cfs_rq, other);
        }
    }

    /// An entity that waits is told to be elsewhere, and the sums of all that wait, which count from the queue's origin,
    /// are as ours but for rounding that: if nothing was told of any of them since they were placed, all are elsewhere.
    pub(crate) fn shift_placed(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let cfs = &self.cfs_rqs[cfs_rq];
        let (Some(sum), Some(load)) = (
            told[ProbeField::AvgVruntime as usize],
            told[ProbeField::AvgLoad as usize],
        ) else {
            return;
        };
        let apart = cfs.avg_vruntime.abs_diff(sum.cast_signed());
        let waits = self.ses[se].on_rq && cfs.curr != se;
        let Some(probes) = self.probes.as_ref().filter(|_| waits) else {
            return;
        };
        let mut waiting = cfs.timeline.iter();
        if load == cfs.avg_load
            && apart < load
            && waiting.all(|entry| probes.is_only_placed(entry.se))
        {
            self.shift_queue(cfs_rq, se, told);
        }
    }

    /// A queue's virtual time was another one when a task was placed by it. That is so because of the groups on it, whose
    /// virtual runtime is not told: they move along, and so do other tasks that were placed by it and wait since.
    pub(crate) fn shift_groups(&mut self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let Some(vruntime) = told[ProbeField::Vruntime as usize] else {
            return;
        };
        let by = vruntime.wrapping_sub(self.ses[se].vruntime);
        let probes = self.probes.as_ref();
        let placed = |se| probes.is_some_and(|probes| probes.is_placed_by_queue(se));
        let others = self.cfs_rqs[cfs_rq].timeline.iter().map(|e| e.se);
        let moved: Vec<SeId> = others
            .filter(|&other| other != se && (!self.ses[other].is_task() || placed(other)))
            .collect();
        if moved.is_empty() && self.groups.len() == 1 {
            return;
        }
        for other in moved {
            (self.fair.timeline_remove)(self, cfs_rq, other);
            self.ses[other].vruntime = self.ses[other].vruntime.wrapping_add(by);
            (self.fair.timeline_add)(self, cfs_rq, other);
        }
        let cfs = &mut self.cfs_rqs[cfs_rq];
        cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{NOTHING_SHOWN, ProbePoint, Told};
    use crate::profile::{KernelProfile, Release};
    use crate::topology::Topology;
    use crate::units::{CpuId, GroupId};

    const CPU: CpuId = CpuId(0);

    #[test]
    fn a_task_placed_by_its_queue_tells_where_the_groups_are() {
        let profile = KernelProfile::new(Release::V6_1, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let group = sched.create_group(GroupId::ROOT, 0);
        let [grouped, alone, placed, told_before] = [0; 4].map(|now| {
            let task = sched.spawn(CPU, now);
            sched.wake_up_new_task(CPU, task, now);
            task
        });
        sched.sched_move_task(grouped, group, 0);
        let entity = sched.cfs_rqs[sched.groups[group].cfs_rq[CPU.idx()]].se;
        let root = sched.rqs[CPU].cfs;
        let [placed, told_before] = [placed, told_before].map(|task| sched.tasks[task].se);
        sched.hold_probes();
        let probes = sched.probes.as_mut().unwrap();
        probes.set_by_queue(placed, true);
        probes.set_by_queue(told_before, false);
        let stands = |sched: &Sched| {
            let [entity, placed, told_before] =
                [entity, placed, told_before].map(|se| sched.ses[se].vruntime);
            let zero = sched.cfs_rqs[root].zero_vruntime;
            ([entity, placed, zero], told_before)
        };
        let before = stands(&sched);
        let mut told = NOTHING_SHOWN;
        let se = sched.tasks[alone].se;
        let charged = sched.ses[se].vruntime;
        told[ProbeField::Vruntime as usize] = Some(charged.wrapping_add(500));
        sched.shift_groups(root, se, &told);
        let moved = before.0.map(|vruntime| vruntime.wrapping_add(500));
        assert_eq!(stands(&sched), (moved, before.1));
        assert_eq!(sched.ses[se].vruntime, charged, "it is told by itself");
    }

    /// Two tasks that wait and run in turn; the one that is about to run is told to be 9000 ahead, the sums being as ours.
    /// By how much the other one is ahead after that.
    fn moved_along(told_before: bool) -> u64 {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let tasks = [0, 0].map(|now| {
            let task = sched.spawn(CPU, now);
            sched.wake_up_new_task(CPU, task, now);
            sched.tasks[task].se
        });
        let (root, [se, other]) = (sched.rqs[CPU].cfs, tasks);
        sched.hold_probes();
        let probes = sched.probes.as_mut().unwrap();
        probes.set_queue_known(root);
        for task in tasks {
            probes.set_known(task);
            probes.set_only_placed(task, true);
        }
        probes.set_only_placed(other, !told_before);
        let before = sched.ses[other].vruntime;
        let cfs = &sched.cfs_rqs[root];
        let mut values = NOTHING_SHOWN;
        values[ProbeField::AvgVruntime as usize] = Some(cfs.avg_vruntime.cast_unsigned());
        values[ProbeField::AvgLoad as usize] = Some(cfs.avg_load);
        let vruntime = sched.ses[se].vruntime.wrapping_add(9000);
        values[ProbeField::Vruntime as usize] = Some(vruntime);
        let told = Told {
            point: ProbePoint::SetNextEntity,
            se,
            id: 1,
            at: 0,
            values,
        };
        sched.probes.as_mut().unwrap().told.push(told);
        sched.probe(ProbePoint::SetNextEntity, root, se);
        assert_eq!(sched.ses[se].vruntime, vruntime);
        sched.ses[other].vruntime.wrapping_sub(before)
    }

    #[test]
    fn all_that_were_only_placed_are_elsewhere_together() {
        assert_eq!(moved_along(false), 9000);
    }

    #[test]
    fn who_was_told_where_it_is_stays_there() {
        assert_eq!(moved_along(true), 0);
    }
}
