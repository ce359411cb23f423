//! Tasks that were taken off their queue and put back, because an attribute changed.
//!
//! Model.  Whoever changes a nice level, a policy, a slice or the allowed CPUs of a queued task takes it off, changes it and
//!         puts it back. Of a task that runs, probes of `put_prev_entity` and `set_next_entity` show that, with no switch
//!         after them: the first alone if it leaves the fair class, `place_entity` and the last if it comes to that. So they do
//!         of the groups above it that have no other task, and of one that gets another group (`sessions`). Of one that waits,
//!         `place_entity` with ENQUEUE_RESTORE does. Weight and slice, which `place_entity` shows, tell the policy and the nice
//!         level.
//! Source. kernel/sched/syscalls.c `__sched_setscheduler`, `set_user_nice`; core.c `__do_set_cpus_allowed` @ 6.12.

use super::Follower;
use super::changes::UNTOLD_RT_PRIO;
use crate::record::{Record, What};
use fairwind_sched::probe::{ProbeField, ProbePoint, Told};
use fairwind_sched::task::{Class, MAX_RT_PRIO};
use fairwind_sched::{CpuId, SchedAttr, TaskId};

/// `ENQUEUE_WAKEUP`: the entity was off its queue; alone, it comes back from being throttled, or it is a group's.
pub(super) const ENQUEUE_WAKEUP: u64 = 1;
/// `ENQUEUE_RESTORE`: the entity was taken off to be changed.
pub(super) const ENQUEUE_RESTORE: u64 = 2;

impl Follower<'_> {
    /// The task of an entity that a probe has shown before.
    pub(super) fn task_at(&self, address: u64) -> Option<TaskId> {
        let se = *self.addresses.get(&address)?;
        let task = self.sched.ses[se].task;
        task.is_some().then_some(task)
    }

    /// Is it the entity of a group, by what probes have shown before? Where it is put, that of its task was just before.
    pub(super) fn is_group_at(&self, address: u64) -> bool {
        let se = self.addresses.get(&address);
        se.is_some_and(|&se| !self.sched.ses[se].is_task())
    }

    /// A call is over that was no switch, or another one begins: what its probes showed of a running task, if it left or joined
    /// the fair class.
    pub(super) fn end_requeue(&mut self, r: &Record) {
        let told = self.told();
        let from = |point: ProbePoint| {
            let at = told.iter().position(|told| told.point == point)?;
            let mut later = told[at..].iter();
            let set = later.find(|told| told.point == ProbePoint::SetNextEntity);
            Some((told[at].id, set.map(|set| set.id)))
        };
        let (put, place) = (
            from(ProbePoint::PutPrevEntity),
            from(ProbePoint::PlaceEntity),
        );
        match (put, place) {
            (Some((put, None)), None) => self.leave_fair_class(r, put),
            (None, Some((place, Some(set)))) if place == set => self.join_fair_class(r, place),
            _ => {}
        }
    }

    /// After a `set_next_entity` that may be the last one of a change of the running task: if it is, the change is followed now.
    /// Other CPUs may have to do with the queue before this one records more.
    pub(super) fn end_requeue_at_once(&mut self, r: &Record) {
        let Some(next) = self.next_on_cpu[self.at] else {
            return;
        };
        let told = self.told();
        let put = told
            .iter()
            .find(|told| told.point == ProbePoint::PutPrevEntity);
        let Some(address) = put.map(|put| put.id) else {
            return;
        };
        let mut set = { told.iter() }.filter(|told| told.point == ProbePoint::SetNextEntity);
        if !set.any(|set| set.id == address) {
            return;
        }
        let after = &self.records[next];
        let same_call = (after.irq, after.need_resched) == (r.irq, r.need_resched);
        let goes_on = after.what.probed() == Some(ProbePoint::SetNextEntity);
        if !(same_call && goes_on) {
            self.end_change(next, address);
        }
    }

    /// It was put back and went on.
    fn end_change(&mut self, after: usize, address: u64) {
        let r = &self.records[after];
        let Some((task, cpu)) = self.running_at(r, address) else {
            return;
        };
        if !self.sched.is_fair(task) || self.attach_probed(r, task) {
            return;
        }
        let attr = self.attr_told(address, task);
        let charge = self.last_charge(r.cpu, task);
        let group = self.regrouped(charge, Some(after), task);
        self.told_of(ProbePoint::PutPrevEntity, task, cpu);
        let stays = self.sched.tasks[task].group;
        for point in [ProbePoint::PlaceEntity, ProbePoint::SetNextEntity] {
            self.told_of_regrouped(point, task, group.unwrap_or(stays));
        }
        let clock = self.requeue_clock(r, cpu);
        if let Some(group) = group {
            self.sched.follow_regroup(task, group, clock);
        } else {
            self.sched.follow_requeue(task, attr, clock);
            self.may_change_policy(task);
        }
        self.end_change_of(r, cpu);
    }

    /// The charge of a task in the call that the record which is followed ends.
    fn last_charge(&self, cpu: u32, task: TaskId) -> Option<usize> {
        let pid = self.pid(task)?;
        let own = self.times.records_until(cpu, self.at).iter().rev().copied();
        let mut call = own.take_while(|&at| self.records[at].what.is_inside());
        call.find(|&at| matches!(self.records[at].what, What::Runtime { pid: of, .. } if of == pid))
    }

    /// It was put back, and neither it nor another one went on in the fair class.
    fn leave_fair_class(&mut self, r: &Record, address: u64) {
        let Some((task, cpu)) = self.running_at(r, address) else {
            return;
        };
        // What another CPU runs only a change puts.
        let leaves = cpu.0 != r.cpu || self.goes_on_elsewhere(r.cpu, self.at);
        if !self.sched.is_fair(task) || !leaves {
            return;
        }
        let shown = self
            .prio_ahead(task)
            .filter(|&(_, prio)| prio < MAX_RT_PRIO);
        let prio = shown.map_or(UNTOLD_RT_PRIO, |(_, prio)| prio);
        let attr = self.attr_of_prio(task, prio);
        self.told_of(ProbePoint::PutPrevEntity, task, cpu);
        self.change(task, attr, r, cpu);
    }

    /// Does a CPU go on without a task of the fair class having been put or set, or switch from one of another class? One that is
    /// queued after another charge comes back from there. Where an interrupt begins, nothing of the call is still to come.
    pub(super) fn goes_on_elsewhere(&self, cpu: u32, at: usize) -> bool {
        let own = self.times.records_of(cpu, at + 1).iter();
        let own = own.map(|&at| &self.records[at]);
        let next = own.clone().next();
        if next.is_some_and(|next| next.irq) && !self.records[at].irq {
            return true;
        }
        let is_charge = |r: &Record| matches!(r.what, What::Runtime { .. });
        let charged = is_charge(&self.records[at]) || next.is_some_and(is_charge);
        let leaves_elsewhere = || {
            let end = own.clone().find(|r| !r.what.is_inside());
            end.is_some_and(
                |r| matches!(&r.what, What::Switch { prev, .. } if prev.prio < MAX_RT_PRIO),
            )
        };
        match own.clone().find(|r| !is_charge(r)).map(|r| &r.what) {
            Some(What::Probe { point, .. }) if *point == ProbePoint::PlaceEntity => charged,
            Some(What::Probe { point, .. }) if *point != ProbePoint::SetNextEntity => false,
            // Another one is set once it has left.
            Some(What::Probe { .. } | What::Switch { .. }) => leaves_elsewhere(),
            other => other.is_some(),
        }
    }

    /// It was queued and went on, and was of another class before.
    fn join_fair_class(&mut self, r: &Record, address: u64) {
        let Some((task, cpu)) = self.running_at(r, address) else {
            return;
        };
        if self.sched.tasks[task].class != Class::Rt {
            return;
        }
        let nice = self.sched.tasks[task].nice();
        let attr = self.attr_told(address, task);
        self.told_of(ProbePoint::PlaceEntity, task, cpu);
        self.told_of(ProbePoint::SetNextEntity, task, cpu);
        self.change(task, attr.unwrap_or(SchedAttr::normal(nice)), r, cpu);
    }

    /// The task of an entity, and its CPU, if it runs.
    fn running_at(&self, r: &Record, address: u64) -> Option<(TaskId, CpuId)> {
        let here = self.sched.rqs[CpuId(r.cpu)].curr;
        let task = self.task_at(address).unwrap_or(here);
        let cpu = self.sched.tasks[task].cpu;
        (self.sched.rqs[cpu].curr == task).then_some((task, cpu))
    }

    fn change(&mut self, task: TaskId, attr: SchedAttr, r: &Record, cpu: CpuId) {
        let clock = self.requeue_clock(r, cpu);
        self.set_attr_at(task, attr, clock);
        self.end_change_of(r, cpu);
    }

    /// Whether the change asked for a reschedule shows in the next record; but if nobody waits, only another CPU can have.
    fn end_change_of(&mut self, r: &Record, cpu: CpuId) {
        self.forget_told();
        let alone = self.sched.cfs_rqs[self.sched.rqs[cpu].cfs].nr_queued == 1;
        if cpu.0 == r.cpu && !(alone && self.sched.is_fair(self.sched.rqs[cpu].curr)) {
            self.sched.rqs[cpu].need_resched = r.need_resched;
        }
    }

    /// `place_entity` of a task that waits, which is put back; or of a group above it that had no other task.
    pub(super) fn requeued_by_place(&mut self, r: &Record, address: u64, flags: Option<u64>) {
        let restored = flags.is_some_and(|flags| flags & ENQUEUE_RESTORE != 0);
        let begun = self.cpu(r.cpu).requeueing.take();
        let Some(address) = begun.or(restored.then_some(address)) else {
            return;
        };
        let Some(task) = self.task_at(address) else {
            return;
        };
        if self.places_above(task) {
            self.cpu(r.cpu).requeueing = Some(address);
            return;
        }
        let cpu = self.sched.tasks[task].cpu;
        let t = &self.sched.tasks[task];
        let (queued, real_time) = (t.is_queued(), t.class == Class::Rt);
        let runs = self.sched.rqs[cpu].curr == task;
        let attaches = || {
            self.pid(task)
                .is_some_and(|pid| self.attach_ahead(pid).is_some())
        };
        if !queued || runs || attaches() {
            return;
        }
        if real_time {
            // It comes back to the fair class.
            let nice = self.sched.tasks[task].nice();
            let attr = self
                .attr_told(address, task)
                .unwrap_or(SchedAttr::normal(nice));
            self.told_of(ProbePoint::PlaceEntity, task, cpu);
            self.set_attr(task, attr);
            return;
        }
        let attr = self.attr_told(address, task);
        self.told_of(ProbePoint::PlaceEntity, task, cpu);
        let clock = self.requeue_clock(r, cpu);
        self.sched.follow_requeue(task, attr, clock);
        self.may_change_policy(task);
        self.forget_told();
    }

    /// Does the CPU's next record show where a group above a task is placed?
    fn places_above(&self, task: TaskId) -> bool {
        let next = self.next_on_cpu[self.at].map(|next| &self.records[next].what);
        let Some(What::Probe { point, address, .. }) = next else {
            return false;
        };
        let parent = self.sched.ses[self.sched.tasks[task].se].parent;
        let known = self.addresses.get(address);
        *point == ProbePoint::PlaceEntity
            && parent.is_some()
            && known.is_none_or(|se| self.upwards(parent).contains(se))
    }

    /// The clock of the queue on which a task is changed.
    fn requeue_clock(&mut self, r: &Record, cpu: CpuId) -> u64 {
        let context = self.cpu(r.cpu);
        let told = if cpu.0 == r.cpu {
            context.pending_clock.take()
        } else {
            context.clocks.remove(&cpu.0)
        };
        told.unwrap_or_else(|| {
            if self.sched.is_fair(self.sched.rqs[cpu].curr) {
                self.sched.rqs[cpu].clock
            } else {
                self.clock_at(cpu, r.ts)
            }
        })
    }

    /// A sleeper that is woken was changed while it slept, by what `place_entity` shows.
    pub(super) fn changed_by_place(&mut self, task: TaskId) {
        if self.sched.tasks[task].is_queued() || !self.sched.is_fair(task) {
            return;
        }
        let mut told = self.told().iter();
        let place = told.find(|told| told.point == ProbePoint::PlaceEntity);
        if let Some(address) = place.map(|told| told.id)
            && let Some(attr) = self.attr_told(address, task)
        {
            self.set_attr(task, attr);
        }
    }

    /// What a task has changed to, by what `place_entity` shows.
    fn attr_told(&mut self, address: u64, task: TaskId) -> Option<SchedAttr> {
        let mut told = self.told().iter();
        let shows = |told: &&Told| told.point == ProbePoint::PlaceEntity && told.id == address;
        let values = told.find(shows)?.values;
        let se = self.sched.tasks[task].se;
        let entity = &self.sched.ses[se];
        let (weight, slice) = (entity.load.weight, entity.slice);
        let told_weight = values[ProbeField::Weight as usize].unwrap_or(weight);
        // A slice from before it was first placed does not stay.
        let told_slice = values[ProbeField::Slice as usize].filter(|_| self.is_known(se));
        let told_slice = told_slice.unwrap_or(slice);
        let attr = self.sched.attr_of(task, told_weight, told_slice)?;
        let present = self.attr_of_prio(task, self.sched.tasks[task].prio);
        (attr != present).then_some(attr)
    }
}
