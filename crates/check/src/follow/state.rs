//! What states tell beside being compared: policies, bounds, changes of attributes.

use super::Follower;
use crate::judge::Class;
use crate::record::Record;
use fairwind_sched::features::Feature;
use fairwind_sched::probe::{Held, ProbeField, ProbePoint};
use fairwind_sched::{CpuId, Policy, SchedAttr, TaskId};

/// Weight of nice 0 in the precision of entities, and as the kernel's table has it.
const NICE_0_LOAD: u64 = 1 << 20;
const NICE_0_WEIGHT: u64 = 1024;
/// Weight of SCHED_IDLE, as in the kernel.
const IDLE_WEIGHT: u64 = 3;

pub(super) const NOT_POLICY: Class = Class::NotRecorded("policies");

impl Follower<'_> {
    /// After a charge whose virtual runtime was told.
    pub(super) fn after_charge(&mut self, held: &Held) {
        let task = self.sched.ses[held.se].task;
        if self.is_charged_as_idle(held) {
            self.set_idle_policy(task);
        }
        self.lower_floor(task);
    }

    /// A running task can be behind its queue's `min_vruntime` by a sleeper's credit, which is
    /// `latency_ns`, or half of it with GENTLE_FAIR_SLEEPERS. If it is further behind, our `min_vruntime`
    /// is too high, and so is all that was placed by it.
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
        // A queue with sums, which begin at this number, has no floor.
        if cfs.curr != se || cfs.avg_load != 0 || behind <= credit {
            return;
        }
        self.judge.mended("queues whose min_vruntime was lower");
        self.sched.cfs_rqs[cfs_rq].zero_vruntime = vruntime;
        for other in self.candidates(self.sched.tasks[task].cpu) {
            let other = self.sched.tasks[other].se;
            let entity = &self.sched.ses[other];
            let ahead = entity.vruntime.wrapping_sub(floor) as i64;
            if other != se && entity.cfs_rq == cfs_rq && ahead >= -credit {
                let lowered = entity.vruntime.wrapping_sub(behind as u64);
                self.sched.follow_entity(other, lowered, 0);
            }
        }
    }

    /// Probes of `put_prev_entity` and `set_next_entity` of the running task alike, and no switch: it was
    /// taken off its queue and put back, because an attribute changed.
    pub(super) fn end_requeue(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let curr = self.sched.rqs[cpu].curr;
        let told = self.told();
        let mut points = told.iter();
        let Some(put) = points.find(|told| told.point == ProbePoint::PutPrevEntity) else {
            return;
        };
        let Some(set) = points.find(|told| told.point == ProbePoint::SetNextEntity) else {
            return;
        };
        let (address, back) = (put.id, set.id);
        if back != address || !self.sched.is_fair(curr) {
            return;
        }
        if self.attach_probed(r, curr) {
            return;
        }
        let told = self.told();
        let weight = told
            .iter()
            .find(|told| told.point == ProbePoint::PlaceEntity && told.id == address)
            .and_then(|told| told.values[ProbeField::Weight as usize]);
        let se = self.sched.tasks[curr].se;
        let weight = weight.filter(|&weight| weight != self.sched.ses[se].load.weight);
        for point in [
            ProbePoint::PutPrevEntity,
            ProbePoint::PlaceEntity,
            ProbePoint::SetNextEntity,
        ] {
            self.told_of(point, curr);
        }
        let held = self.sched.rqs[cpu].clock;
        let clock = self.cpu(r.cpu).pending_clock.take().unwrap_or(held);
        if self.exiting.remove(&curr) {
            self.sched.follow_autogroup_exit(curr, clock);
        } else {
            self.sched.follow_requeue(curr, weight, clock);
        }
        self.forget_told();
        self.sched.rqs[cpu].need_resched = r.need_resched;
    }

    /// Is this charge that of SCHED_IDLE, of a task taken to have nice 0? Policies are not recorded,
    /// but a charge tells the weight: 3 instead of 1024, give or take the rounding.
    pub(super) fn is_charged_as_idle(&self, held: &Held) -> bool {
        let told = held.told.values[ProbeField::Vruntime as usize];
        let ours = held.ours[ProbeField::Vruntime as usize];
        let (Some(told), Some(ours)) = (told, ours) else {
            return false;
        };
        let entity = &self.sched.ses[held.se];
        if held.told.point != ProbePoint::StatRuntime || entity.load.weight != NICE_0_LOAD {
            return false;
        }
        let runtime = held.told.id;
        let charged = told.wrapping_sub(ours.wrapping_sub(runtime));
        charged.checked_div(runtime) == Some(NICE_0_WEIGHT / IDLE_WEIGHT)
    }

    fn set_idle_policy(&mut self, task: TaskId) {
        let attr = SchedAttr {
            policy: Policy::Idle,
            ..SchedAttr::normal(0)
        };
        let cpu = self.sched.tasks[task].cpu;
        let now = self.sched.rqs[cpu].clock;
        if self.sched.sched_setscheduler(task, attr, now).is_err() {
            self.judge.mended("policies that cannot be");
        }
        self.take_effects(cpu.0);
    }
}
