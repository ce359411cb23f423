//! What states tell beside being compared: policies, bounds, changes of attributes.

use super::Follower;
use super::changes::only_nice;
use crate::judge::Class;
use fairwind_sched::entity::LoadWeight;
use fairwind_sched::features::Feature;
use fairwind_sched::probe::{Held, ProbeField, ProbePoint};
use fairwind_sched::task::DEFAULT_PRIO;
use fairwind_sched::{Policy, SchedAttr, TaskId};

pub(super) const NOT_POLICY: Class = Class::NotRecorded("policies");

impl Follower<'_> {
    /// After a charge whose virtual runtime was told.
    pub(super) fn after_charge(&mut self, held: &Held) {
        let task = self.sched.ses[held.se].task;
        if self.is_charged_as_idle(held) {
            self.set_idle_policy(task);
        } else if self.is_ordinary(task) {
            self.learn_nice(held, task);
        }
        self.lower_floor(task);
    }

    /// A running task can be behind its queue's `min_vruntime` by a sleeper's credit, which is
    /// `latency_ns`, or half of it with GENTLE_FAIR_SLEEPERS. If it is further behind, our `min_vruntime`
    /// is too high by so much at least, and so is all that was placed by it and that nothing has told since.
    fn lower_floor(&mut self, task: TaskId) {
        let se = self.sched.tasks[task].se;
        let vruntime = self.sched.ses[se].vruntime;
        let cfs_rq = self.sched.ses[se].cfs_rq;
        let floor = self.sched.cfs_rqs[cfs_rq].zero_vruntime;
        let behind = floor.wrapping_sub(vruntime) as i64;
        let profile = &self.sched.profile;
        let gentle = profile.features.has(Feature::GENTLE_FAIR_SLEEPERS);
        let credit = (profile.tunables.latency_ns >> u32::from(gentle)) as i64;
        let cfs = &self.sched.cfs_rqs[cfs_rq];
        // Where a queue has sums, which begin at this number, it has no floor.
        let last = cfs.nr_queued == 0 && self.sched.is_fair(task);
        let ran = cfs.curr == se && self.sched.ses[se].on_rq || last;
        if self.facts.picks_by_deadline() || !ran || behind <= credit {
            return;
        }
        self.judge.mended("queues whose min_vruntime was lower");
        let too_high = (behind - credit).cast_unsigned();
        self.sched.cfs_rqs[cfs_rq].zero_vruntime = floor.wrapping_sub(too_high);
        for other in self.candidates(self.sched.tasks[task].cpu) {
            let other = self.sched.tasks[other].se;
            let entity = &self.sched.ses[other];
            let ahead = entity.vruntime.wrapping_sub(floor) as i64;
            let placed = entity.cfs_rq == cfs_rq && self.told_on.get(&other) != Some(&cfs_rq);
            if other != se && placed && ahead >= -credit {
                let lowered = entity.vruntime.wrapping_sub(too_high);
                self.sched.follow_entity(other, lowered, 0);
            }
        }
    }

    /// Is this charge that of SCHED_IDLE, of a task taken for another policy? Policies are not
    /// recorded, but a charge tells the weight.
    pub(super) fn is_charged_as_idle(&self, held: &Held) -> bool {
        let idle = LoadWeight::idle_policy();
        self.sched.ses[held.se].load != idle && self.is_charged_as(held, idle)
    }

    /// Is a charge other than ours that of another weight?
    fn is_charged_as(&self, held: &Held, mut other: LoadWeight) -> bool {
        let told = held.told.values[ProbeField::Vruntime as usize];
        let ours = held.ours[ProbeField::Vruntime as usize];
        let (Some(told), Some(ours)) = (told, ours) else {
            return false;
        };
        if told == ours || held.told.point != ProbePoint::StatRuntime {
            return false;
        }
        let mut load = self.sched.ses[held.se].load;
        let runtime = held.told.id;
        let before = ours.wrapping_sub(load.calc_delta_fair(runtime));
        told.wrapping_sub(before) == other.calc_delta_fair(runtime)
    }

    /// A charge by the weight of another nice level, and of no other one, tells it: it changed again before a record showed it.
    fn learn_nice(&mut self, held: &Held, task: TaskId) {
        let told = only_nice(|nice| self.is_charged_as(held, LoadWeight::of_nice(nice)));
        if let Some(nice) = told {
            let attr = self.attr_of_prio(task, DEFAULT_PRIO + nice);
            self.set_attr(task, attr);
        }
    }

    fn set_idle_policy(&mut self, task: TaskId) {
        let nice = self.sched.tasks[task].nice();
        let attr = SchedAttr {
            policy: Policy::Idle,
            ..SchedAttr::normal(nice)
        };
        self.set_attr(task, attr);
    }
}
