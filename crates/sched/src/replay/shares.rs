//! What the weight of a group's entity tells of the group's load elsewhere.
//!
//! Model.      A kernel gives a group's entity the weight `shares · load / (load + others)`, where `others` is what all
//!             other CPUs contribute. So the weight tells that sum, to the unit. If ours is another one, a CPU
//!             contributes something else. Either it brought its average up to date when ours did not; or it told what
//!             it contributes after the sum was last told, when its average was another one than ours; or it stayed
//!             with an average that it told earlier than ours, since no later one was far enough from that. Of those
//!             that this can be, it is the one whose average, brought up to date now, as it was told or as it was
//!             earlier, comes nearest to what is missing.
//! Invariants. A group's load stays the sum of what its CPUs contribute.
//! Source.     kernel/sched/fair.c `calc_group_shares`, `update_tg_load_avg` @ 6.1, 6.12.

use crate::entity::scale_load_down;
use crate::group::MIN_SHARES;
use crate::load;
use crate::pelt::LOAD_AVG_MAX;
use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};

impl Sched {
    /// What a group's entities are told to weigh tells nothing of the group's load: its weight is not sure.
    pub fn leave_loads(&mut self) {
        self.hold_probes();
        if let Some(probes) = &mut self.probes {
            probes.leaves_loads = true;
        }
    }

    /// An entity weighs so much in the other kernel. Ours gave it a weight when that did, so its place and the origin of its
    /// queue's sums stay.
    pub(crate) fn follow_weight(&mut self, cfs_rq: CfsRqId, se: SeId, weight: u64) {
        let waits = self.ses[se].on_rq && self.cfs_rqs[cfs_rq].curr != se;
        if waits {
            (self.fair.timeline_remove)(self, cfs_rq, se);
        }
        load::give_weight(&mut self.cfs_rqs[cfs_rq], &mut self.ses[se], weight);
        if waits {
            (self.fair.timeline_add)(self, cfs_rq, se);
        }
    }

    /// The entity of a group that has just been given a weight has another one in the other kernel.
    pub(crate) fn follow_group_weight(&mut self, se: SeId, weight: u64) {
        let cfs_rq = self.ses[se].my_q;
        let held = self.ses[se].load.weight;
        let leaves_loads = self
            .probes
            .as_ref()
            .is_some_and(|probes| probes.leaves_loads);
        if cfs_rq.is_none()
            || leaves_loads
            || weight <= MIN_SHARES
            || self.cfs_rqs[cfs_rq].load.weight == 0
            || self.calc_group_shares(cfs_rq) != held
        {
            return;
        }
        if weight == held {
            self.forget_contributions(self.cfs_rqs[cfs_rq].tg);
            return;
        }
        let cfs = &self.cfs_rqs[cfs_rq];
        let tg = &self.groups[cfs.tg];
        let load = scale_load_down(cfs.load.weight).max(cfs.avg.load_avg);
        let product = tg.shares.saturating_mul(load);
        let others = tg.load_avg - cfs.tg_load_avg_contrib as i64;
        let least = (product / (weight + 1) + 1).max(load);
        let most = product / weight;
        if least > most {
            return;
        }
        let told = (others + load as i64).clamp(least as i64, most as i64) - load as i64;
        self.mend_contribution(cfs_rq, told - others);
    }

    /// The other queues of a queue's group contribute more than ours, by so much.
    pub(super) fn mend_contribution(&mut self, cfs_rq: CfsRqId, by: i64) {
        let tg = self.cfs_rqs[cfs_rq].tg;
        let queues = self.groups[tg].cfs_rq.iter().copied();
        let others = queues.filter(|&queue| {
            queue != cfs_rq && self.cfs_rqs[queue].tg_load_avg_contrib as i64 + by >= 0
        });
        if let Some(queue) = others.min_by_key(|&queue| self.missed_contribution(queue, by)) {
            let contribution = &mut self.cfs_rqs[queue].tg_load_avg_contrib;
            *contribution = contribution.saturating_add_signed(by);
            self.groups[tg].load_avg += by;
        }
        self.forget_contributions(tg);
        self.count_change(tg);
    }

    /// Whether a queue's contribution can be no other than ours; and how far ours and so much more is from all that it can be.
    fn missed_contribution(&self, queue: CfsRqId, by: i64) -> (bool, u64) {
        let told = self.cfs_rqs[queue].tg_load_avg_contrib;
        let now = self.load_avg_now(queue);
        let apart = |from: u64| (told as i64 + by - from as i64).unsigned_abs();
        let of_told = self.contributed(queue).then_some(by.unsigned_abs());
        let of_now = (now.abs_diff(told) > told / 64).then(|| apart(now));
        let stays = self.may_have_told(queue).any(|past| past == told);
        let inexact = if stays {
            self.change_in_a_period(queue)
        } else {
            0
        };
        let of_past = self.may_have_told(queue).filter(|&past| past != told);
        let of_past = of_past.map(|past| apart(past) + inexact);
        let possible = of_told.into_iter().chain(of_now).chain(of_past).min();
        (possible.is_none(), possible.unwrap_or(apart(now)))
    }

    /// By how much a queue's average changes in a period, rounded up: ours may be one period off, as no event tells the clock.
    /// What is missing is rather that than an earlier average.
    fn change_in_a_period(&self, queue: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[queue];
        let load = scale_load_down(queue.load.weight);
        load.abs_diff(queue.avg.load_avg) * 1024 / u64::from(LOAD_AVG_MAX) + 1
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{KernelProfile, Release};
    use crate::sched::Sched;
    use crate::topology::Topology;
    use crate::units::{CpuId, GroupId};

    #[test]
    fn a_weight_that_is_told_moves_nothing() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let cpu = CpuId(0);
        let group = sched.create_group(GroupId::ROOT, 0);
        for grouped in [false, true] {
            let task = sched.spawn(cpu, 0);
            if grouped {
                sched.sched_move_task(task, group, 0);
            }
            sched.wake_up_new_task(cpu, task, 0);
        }
        sched.schedule(cpu, 0, true);
        sched.follow_charge(cpu, 3_000_000);
        let (root, queue) = (sched.rqs[cpu].cfs, sched.groups[group].cfs_rq[0]);
        let se = sched.cfs_rqs[queue].se;
        let stands = |sched: &Sched| {
            let entity = &sched.ses[se];
            let origin = sched.cfs_rqs[root].zero_vruntime;
            (entity.vruntime, entity.deadline, origin)
        };
        let before = stands(&sched);
        sched.follow_weight(root, se, 1 << 19);
        assert_eq!(stands(&sched), before);
        assert_eq!(sched.ses[se].load.weight, 1 << 19);
        assert_eq!(sched.cfs_rqs[root].load.weight, 3 << 19);
        sched.avg_vruntime(root);
        assert_ne!(stands(&sched).2, before.2, "asking for the average does");
    }

    #[test]
    fn a_weight_tells_what_other_cpus_contribute() {
        let profile = KernelProfile::new(Release::V6_12, 3);
        let mut sched = Sched::new(profile, Topology::regular(1, 3, 1));
        let group = sched.create_group(GroupId::ROOT, 0);
        for cpu in [0, 1].map(CpuId) {
            let task = sched.spawn(cpu, 0);
            sched.sched_move_task(task, group, 0);
            sched.wake_up_new_task(cpu, task, 0);
        }
        let queues = sched.groups[group].cfs_rq.clone();
        // A task on each of two CPUs, and on the third 50 are left of what contributes 300 still.
        for (queue, load, told) in [(0, 1024, 1024), (1, 1024, 1024), (2, 50, 300)] {
            sched.cfs_rqs[queues[queue]].avg.load_avg = load;
            sched.cfs_rqs[queues[queue]].tg_load_avg_contrib = told;
        }
        sched.groups[group].load_avg = 2348;
        let se = sched.cfs_rqs[queues[0]].se;
        assert!(sched.weights_are_pending(sched.rqs[CpuId(0)].cfs, se));
        let weight = |sched: &Sched| sched.calc_group_shares(queues[0]);
        sched.ses[se].load.weight = weight(&sched);
        // 1024 · 1024 · 1024 / (1024 + 1024 + 60): the third contributes 60.
        sched.follow_group_weight(se, (1 << 30) / 2108);
        assert_eq!(sched.groups[group].load_avg, 2108);
        let contributions = queues
            .iter()
            .map(|&queue| sched.cfs_rqs[queue].tg_load_avg_contrib);
        assert!(contributions.eq([1024, 1024, 60]));
        assert_eq!(weight(&sched), (1 << 30) / 2108);
        sched.cfs_rqs[queues[2]].avg.load_avg = 60;
        assert!(!sched.weights_are_pending(sched.rqs[CpuId(0)].cfs, se));
        // The third says that it contributes 64. If it is 63 in all that are told, it is the third that was wrong, though
        // the second's average is as near.
        sched.hold_probes();
        sched.cfs_rqs[queues[2]].avg.load_avg = 64;
        sched.cfs_rqs[queues[2]].tg_load_avg_contrib = 64;
        sched.groups[group].load_avg = 2112;
        sched.note_contribution(queues[2]);
        sched.ses[se].load.weight = weight(&sched);
        sched.follow_group_weight(se, (1 << 30) / 2111);
        let contributions = queues
            .iter()
            .map(|&queue| sched.cfs_rqs[queue].tg_load_avg_contrib);
        assert!(contributions.eq([1024, 1024, 63]));
        // The first and the second queue contribute less than ours by 4. That the second was at 1020 before explains it.
        for average in [1020, 1024] {
            sched.cfs_rqs[queues[1]].avg.load_avg = average;
            sched.update_and_note_contribution(queues[1]);
        }
        sched.ses[se].load.weight = weight(&sched);
        sched.follow_group_weight(se, (1 << 30) / 2107);
        assert_eq!(sched.cfs_rqs[queues[1]].tg_load_avg_contrib, 1020);
        sched.cfs_rqs[queues[1]].tg_load_avg_contrib = 1024;
        sched.groups[group].load_avg = 2111;
        // More than the group's shares is none of its weights.
        sched.follow_group_weight(se, 2 << 20);
        assert_eq!(sched.groups[group].load_avg, 2111);
    }
}
