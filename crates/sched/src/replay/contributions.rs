//! What the CPUs of a group contribute to its load, and what else each may have told it.
//!
//! Model.      A CPU tells a group another contribution when its average is more than a 64th from what it told last. No event
//!             tells when it brings its average up to date; so the other kernel's may have told it at another time than
//!             ours, or stay with one that it told earlier. How long ago that was goes by the time (`sched_clock_cpu`),
//!             and not by the queue's clock, which stands still in a call: records tell how far the call has come.
//! Invariants. Nothing is noted unless another kernel is followed.
//! Source.     kernel/sched/fair.c `update_tg_load_avg` @ 6.1, 6.12.

use crate::entity::scale_load_down;
use crate::probe::PAST_AVERAGES;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, GroupId, Nanos, SeId};

impl Sched {
    /// A queue may tell its group what it contributes; notes whether it has.
    #[cold]
    pub(crate) fn update_and_note_contribution(&mut self, cfs_rq: CfsRqId) {
        let before = self.cfs_rqs[cfs_rq].tg_load_avg_contrib;
        let reached = self.reached(self.cfs_rqs[cfs_rq].cpu);
        let clock = core::mem::replace(&mut self.now, reached);
        (self.fair.update_tg_load_avg)(self, cfs_rq);
        self.now = clock;
        self.note_average(cfs_rq);
        if self.cfs_rqs[cfs_rq].tg_load_avg_contrib != before {
            self.note_contribution(cfs_rq);
        }
    }

    /// The time by now: it goes on while the clock of a CPU's queue stands still, but not beyond what is shown next.
    fn reached(&self, cpu: CpuId) -> Nanos {
        let Some(probes) = &self.probes else {
            return self.now;
        };
        let reached = probes.reached.get(cpu.idx());
        let reached = reached.filter(|(clock, _)| *clock == self.rqs[cpu].clock);
        let next = probes.told.first().map_or(Nanos::MAX, |told| told.at);
        reached.map_or(self.now, |&(clock, at)| at.min(next).max(clock))
    }

    pub(super) fn note_contribution(&mut self, cfs_rq: CfsRqId) {
        if let Some(probes) = &mut self.probes {
            if probes.contributed.len() <= cfs_rq.idx() {
                probes.contributed.resize(cfs_rq.idx() + 1, false);
            }
            probes.contributed[cfs_rq.idx()] = true;
        }
        self.count_change(self.cfs_rqs[cfs_rq].tg);
    }

    pub(super) fn count_change(&mut self, tg: GroupId) {
        if let Some(probes) = &mut self.probes {
            if probes.load_changes.len() <= tg.idx() {
                probes.load_changes.resize(tg.idx() + 1, 0);
            }
            probes.load_changes[tg.idx()] += 1;
        }
    }

    fn note_average(&mut self, cfs_rq: CfsRqId) {
        let average = self.cfs_rqs[cfs_rq].avg.load_avg;
        if let Some(probes) = &mut self.probes {
            if probes.averages.len() <= cfs_rq.idx() {
                probes.averages.resize(cfs_rq.idx() + 1, [0; PAST_AVERAGES]);
            }
            let averages = &mut probes.averages[cfs_rq.idx()];
            if averages[0] != average {
                averages.rotate_right(1);
                averages[0] = average;
            }
        }
    }

    /// Of a queue's last averages those that it can have told last: no later one is so far from it that it was told.
    pub(super) fn may_have_told(&self, cfs_rq: CfsRqId) -> impl Iterator<Item = u64> {
        let probes = self.probes.as_ref();
        let averages = probes.and_then(|probes| probes.averages.get(cfs_rq.idx()));
        let averages = averages.map_or(&[][..], |averages| &averages[..]);
        let stays = |at: usize, past: u64| {
            let mut later = averages[..at].iter();
            later.all(|later| later.abs_diff(past) <= past / 64)
        };
        let averages = averages.iter().copied().enumerate();
        averages.filter_map(move |(at, past)| stays(at, past).then_some(past))
    }

    pub(super) fn contributed(&self, cfs_rq: CfsRqId) -> bool {
        let probes = self.probes.as_ref();
        let contributed = probes.and_then(|probes| probes.contributed.get(cfs_rq.idx()));
        contributed.copied().unwrap_or_default()
    }

    /// A group's load is as it was told to be.
    pub(super) fn forget_contributions(&mut self, tg: GroupId) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        for queue in &self.groups[tg].cfs_rq {
            if let Some(contributed) = probes.contributed.get_mut(queue.idx()) {
                *contributed = false;
            }
        }
    }

    /// How often a group's load has changed: a queue told another contribution, or weights told one.
    pub(super) fn load_changes(&self, tg: GroupId) -> u32 {
        let probes = self.probes.as_ref();
        let changes = probes.and_then(|probes| probes.load_changes.get(tg.idx()));
        changes.copied().unwrap_or(0)
    }

    /// Do the weights of groups on a queue, or of the entity, depend on when other CPUs bring their averages up to date?
    /// So it is if one of them would tell the group a new contribution if it did so now, or told it one since the group's
    /// load was last told: it may have done so at another time, or stayed with what it told before. And so it is if one may have
    /// told another of its last averages than ours, and stayed with that.
    pub(crate) fn weights_are_pending(&self, cfs_rq: CfsRqId, se: SeId) -> bool {
        let queue = &self.cfs_rqs[cfs_rq];
        let waiting = queue.timeline.iter().map(|entry| entry.se);
        let mut entities = waiting.chain([queue.curr, se]);
        entities.any(|se| se.is_some() && self.contributions_are_pending(self.ses[se].my_q))
    }

    pub(super) fn contributions_are_pending(&self, cfs_rq: CfsRqId) -> bool {
        if cfs_rq.is_none() {
            return false;
        }
        let tg = self.cfs_rqs[cfs_rq].tg;
        self.groups[tg].cfs_rq.iter().any(|&other| {
            let told = self.cfs_rqs[other].tg_load_avg_contrib;
            other != cfs_rq
                && (self.contributed(other)
                    || self.load_avg_now(other).abs_diff(told) > told / 64
                    || self.may_have_told(other).any(|past| past != told))
        })
    }

    /// What a queue's average would be if it was brought up to date.
    pub(super) fn load_avg_now(&self, cfs_rq: CfsRqId) -> u64 {
        let cfs = &self.cfs_rqs[cfs_rq];
        let mut avg = cfs.avg;
        if cfs.throttle_count == 0 {
            let since = self.now.saturating_sub(self.rqs[cfs.cpu].clock);
            let now = self.cfs_rq_clock_pelt(cfs_rq).wrapping_add(since);
            let load = scale_load_down(cfs.load.weight);
            if avg.update_sum(now, load, 0, false) {
                avg.update_avg(1);
            }
        }
        avg.load_avg
    }
}

#[cfg(test)]
mod tests {
    use crate::probe::{NOTHING_SHOWN, ProbePoint, Told};
    use crate::profile::{KernelProfile, Release};
    use crate::sched::Sched;
    use crate::topology::Topology;
    use crate::units::{CfsRqId, CpuId, GroupId, SeId};
    use alloc::vec::Vec;

    /// A group, and its queue on the only CPU of a scheduler that follows another.
    fn group_on_one_cpu() -> (Sched, GroupId, CfsRqId) {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        sched.hold_probes();
        let group = sched.create_group(GroupId::ROOT, 0);
        let queue = sched.groups[group].cfs_rq[0];
        (sched, group, queue)
    }

    #[test]
    fn what_it_may_have_told_is_near_all_averages_since() {
        let (mut sched, group, queue) = group_on_one_cpu();
        for average in [900, 980, 984, 984, 990, 995] {
            sched.cfs_rqs[queue].avg.load_avg = average;
            sched.now += 2_000_000;
            sched.update_and_note_contribution(queue);
        }
        // Ours told 980 and stays with it, as 995 is not a 64th more. 900 was left for 980 at the latest.
        assert_eq!(sched.cfs_rqs[queue].tg_load_avg_contrib, 980);
        assert!(sched.may_have_told(queue).eq([995, 990, 984, 980]));
        assert_eq!(sched.load_changes(group), 2);
    }

    #[test]
    fn a_millisecond_is_over_by_the_time_and_not_by_the_clock_of_the_queue() {
        let (mut sched, _, queue) = group_on_one_cpu();
        // The clock was read 20 µs before the first contribution, and then 30 µs before each record.
        let mut contributed = Vec::new();
        for (clock, at) in [
            (5_000_000, 20_000),
            (5_980_000, 30_000),
            (6_000_000, 30_000),
        ] {
            sched.now = clock;
            sched.rqs[CpuId(0)].clock = clock;
            let probes = sched.probes.as_mut().unwrap();
            probes.set_reached(CpuId(0), clock, clock + at);
            sched.cfs_rqs[queue].avg.load_avg += 100;
            sched.update_and_note_contribution(queue);
            contributed.push(sched.cfs_rqs[queue].tg_load_avg_contrib);
            assert_eq!(sched.now, clock);
        }
        assert_eq!(contributed, [100, 100, 300]);
        assert_eq!(sched.cfs_rqs[queue].last_update_tg_load_avg, 6_030_000);
    }

    #[test]
    fn what_is_shown_next_is_not_over_yet() {
        let (mut sched, _, queue) = group_on_one_cpu();
        sched.now = 5_000_000;
        sched.rqs[CpuId(0)].clock = sched.now;
        let probes = sched.probes.as_mut().unwrap();
        // The CPU was held up for 8 ms after it had shown where it placed an entity.
        probes.set_reached(CpuId(0), 5_000_000, 13_000_000);
        probes.told.push(Told {
            point: ProbePoint::PlaceEntity,
            se: SeId::NONE,
            id: 1,
            at: 5_020_000,
            values: NOTHING_SHOWN,
        });
        sched.cfs_rqs[queue].avg.load_avg = 100;
        sched.update_and_note_contribution(queue);
        assert_eq!(sched.cfs_rqs[queue].last_update_tg_load_avg, 5_020_000);
    }
}
