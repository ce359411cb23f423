//! What probes told of entities, held against ours where ours comes by the same point.
//!
//! Model.   Probes are recorded by the CPU that executes the call. They are kept until the record that names the
//!          call, and then handed to our scheduler, which notes its own values when it reaches the same function
//!          with the same entity, and goes on with what was told.

use super::Follower;
use super::classify::EARLIER_STATE;
use super::placing_clock::NOT_CLOCK;
use crate::baselines::Baselines;
use crate::judge::{Class, Measure};
use crate::record::{Record, What};
use fairwind_sched::probe::{Held, ProbeField, ProbePoint, ProbeValues, Told};
use fairwind_sched::{CpuId, GroupId, Release, SeId, TaskId};

/// Fields that one decision compares.
struct Aspect {
    /// The decision's kind; `None`: it is that of the probe's point.
    kind: Option<&'static str>,
    fields: &'static [ProbeField],
}

const ASPECTS: [Aspect; 3] = [
    Aspect {
        kind: None,
        fields: &[
            ProbeField::Vruntime,
            ProbeField::Deadline,
            ProbeField::Vlag,
            ProbeField::Slice,
            ProbeField::Weight,
        ],
    },
    Aspect {
        kind: Some("sums"),
        fields: &[ProbeField::AvgVruntime, ProbeField::AvgLoad],
    },
    Aspect {
        kind: Some("averages"),
        fields: &[
            ProbeField::SeLoadAvg,
            ProbeField::SeLoadSum,
            ProbeField::SeRunnableAvg,
            ProbeField::SeRunnableSum,
            ProbeField::SeUtilAvg,
            ProbeField::SeUtilSum,
            ProbeField::CfsWeight,
            ProbeField::CfsLoadAvg,
            ProbeField::CfsLoadSum,
            ProbeField::CfsRunnableAvg,
            ProbeField::CfsRunnableSum,
            ProbeField::CfsUtilAvg,
            ProbeField::CfsUtilSum,
            ProbeField::TgLoadAvg,
            ProbeField::TgLoadAvgContrib,
        ],
    },
];

/// Loads that differ by less than such a part are the same, but for what groups weigh.
const LEAST_PART: u64 = 8;

impl Follower<'_> {
    /// What was told on the CPU whose record is followed, and not reached yet.
    pub(super) fn told(&mut self) -> &mut Vec<Told> {
        self.sched.hold_probes();
        let probes = self.sched.probes.as_mut().expect("they were just begun");
        &mut probes.told
    }

    /// Before a record is followed: what its CPU was told.
    pub(super) fn begin_told(&mut self, cpu: u32) {
        *self.told() = std::mem::take(&mut self.cpu(cpu).told);
    }

    /// After a record was followed: what ours came by is judged.
    pub(super) fn end_told(&mut self, r: &Record) {
        self.cpu(r.cpu).told = std::mem::take(self.told());
        let probes = self.sched.probes.as_mut();
        for weighed in probes.map_or(Vec::new(), |probes| std::mem::take(&mut probes.weighed)) {
            self.note_weighed(weighed);
        }
        let probes = self.sched.probes.as_mut();
        for held in probes.map_or(Vec::new(), |probes| std::mem::take(&mut probes.held)) {
            self.judge_held(r, &held);
            self.drop_sleepers(r, &held);
        }
    }

    /// A queue's load was told to be less than ours by what tasks weigh that sleep and are still on it: they are not. That is
    /// all of them, or the one which goes to sleep in this switch, or the only one that it can be.
    fn drop_sleepers(&mut self, r: &Record, held: &Held) {
        let load = ProbeField::AvgLoad as usize;
        let (Some(told), Some(ours)) = (held.told.values[load], held.ours[load]) else {
            return;
        };
        let Some(more) = ours.checked_sub(told).filter(|&more| more != 0) else {
            return;
        };
        let entity = |task: &TaskId| &self.sched.ses[self.sched.tasks[*task].se];
        let sleeps =
            |task: &TaskId| entity(task).sched_delayed && entity(task).cfs_rq == held.cfs_rq;
        // What groups weigh is not known as well.
        let makes = |tasks: &[TaskId]| {
            let weight: u64 = tasks.iter().map(|task| entity(task).weight()).sum();
            weight != 0 && weight.abs_diff(more) * LEAST_PART <= weight
        };
        let cpu = self.sched.cfs_rqs[held.cfs_rq].cpu;
        let all: Vec<TaskId> = self.sched.cfs_tasks(cpu).filter(sleeps).collect();
        let prev = match &r.what {
            What::Switch { prev, .. } => self.known(prev.pid),
            _ => None,
        };
        let alone = all.iter().copied().filter(|&task| makes(&[task]));
        let alone: Vec<TaskId> = alone.collect();
        let gone = match (
            makes(&all),
            prev.filter(|prev| alone.contains(prev)),
            &alone[..],
        ) {
            (true, ..) => all,
            (_, Some(prev), _) => vec![prev],
            (_, None, [task]) => vec![*task],
            _ => return,
        };
        for task in gone {
            self.take_sleeper_off(task);
        }
    }

    /// A probe was hit; one that shows more of the same entity belongs to it.
    pub(super) fn probe(&mut self, point: ProbePoint, address: u64, at: u64, values: &ProbeValues) {
        let se = self.addresses.get(&address).copied().unwrap_or(SeId::NONE);
        let told = self.told();
        if let Some(last) = told.last_mut().filter(|last| {
            let apart = last
                .values
                .iter()
                .zip(values)
                .all(|(a, b)| a.is_none() || b.is_none());
            last.point == point && last.id == address && apart
        }) {
            for (value, more) in last.values.iter_mut().zip(values) {
                *value = value.or(*more);
            }
            last.at = at;
            return;
        }
        let values = *values;
        told.push(Told {
            point,
            se,
            id: address,
            at,
            values,
        });
    }

    /// The first probe at a point is that of a task, and those after it are of the groups above, on a CPU.
    pub(super) fn told_of(&mut self, point: ProbePoint, task: TaskId, cpu: CpuId) {
        self.told_in_order(point, &self.entities_on(task, cpu));
    }

    /// The same of a task that comes to a group.
    pub(super) fn told_of_regrouped(&mut self, point: ProbePoint, task: TaskId, group: GroupId) {
        let cpu = self.sched.tasks[task].cpu;
        self.told_in_order(point, &self.entities_in(group, task, cpu));
    }

    /// A task is put on a queue of a CPU, other than by a wakeup: CFS places the groups above it alone.
    pub(super) fn told_of_enqueue(&mut self, task: TaskId, cpu: CpuId) {
        let entities = self.entities_on(task, cpu);
        let left_alone = usize::from(self.sched.profile.release == Release::V6_1);
        let placed = entities.get(left_alone..).unwrap_or_default();
        self.told_in_order(ProbePoint::PlaceEntity, placed);
    }

    /// A CPU goes on to a task. CFS goes down to it, once it has put all that ran, if the task before was of another class or
    /// a group above it was out of runtime; else it puts and sets them in turn, upwards.
    pub(super) fn told_of_next(&mut self, cpu: CpuId, next: TaskId) {
        let mut entities = self.entities_on(next, cpu);
        let points = self.told().iter().map(|told| told.point);
        let from_set = points.skip_while(|point| *point != ProbePoint::SetNextEntity);
        let from_set: Vec<ProbePoint> = from_set.collect();
        let down = from_set == vec![ProbePoint::SetNextEntity; entities.len()];
        if self.sched.profile.release == Release::V6_1 && down {
            entities.reverse();
        }
        self.told_in_order(ProbePoint::SetNextEntity, &entities);
    }

    /// A task's entity and those of the groups above it on a CPU, to which it may be on its way.
    fn entities_on(&self, task: TaskId, cpu: CpuId) -> Vec<SeId> {
        self.entities_in(self.sched.tasks[task].group, task, cpu)
    }

    /// The same if it were in a group.
    fn entities_in(&self, group: GroupId, task: TaskId, cpu: CpuId) -> Vec<SeId> {
        let cfs_rq = self.sched.groups[group].cfs_rq[cpu.idx()];
        let mut entities = vec![self.sched.tasks[task].se];
        entities.extend(self.upwards(self.sched.cfs_rqs[cfs_rq].se));
        entities
    }

    /// An entity and the groups above it.
    pub(super) fn upwards(&self, se: SeId) -> Vec<SeId> {
        let above = |&se: &SeId| Some(self.sched.ses[se].parent).filter(|se| se.is_some());
        std::iter::successors(Some(se).filter(|se| se.is_some()), above).collect()
    }

    /// The probes at a point are of these entities, in this order. Where a group's address has been told, its probes tell which
    /// are left out, and those of groups that are not among them are of another call.
    fn told_in_order(&mut self, point: ProbePoint, mut entities: &[SeId]) {
        let mut told = std::mem::take(self.told());
        for told in told.iter_mut().filter(|told| told.point == point) {
            let known = self.addresses.get(&told.id);
            let group = known.filter(|&&se| !self.sched.ses[se].is_task());
            if let Some(group) = group {
                let Some(left_out) = entities.iter().position(|se| se == group) else {
                    continue;
                };
                entities = &entities[left_out..];
            }
            let Some((&se, later)) = entities.split_first() else {
                break;
            };
            told.se = se;
            entities = later;
        }
        *self.told() = told;
    }

    /// The first probe at a point is that of a task, whatever groups it is in by now.
    pub(super) fn first_told_of(&mut self, point: ProbePoint, task: TaskId) {
        let se = self.sched.tasks[task].se;
        if let Some(told) = self.told().iter_mut().find(|told| told.point == point) {
            told.se = se;
        }
    }

    /// Has a probe shown the running task being put back?
    pub(super) fn is_put_told(&mut self) -> bool {
        let put = |told: &Told| told.point == ProbePoint::PutPrevEntity;
        self.told().iter().any(put)
    }

    /// Has the recording shown the entity's state?
    pub(super) fn is_known(&self, se: SeId) -> bool {
        let probes = self.sched.probes.as_ref();
        probes.is_some_and(|probes| probes.is_known(se))
    }

    /// The call is over; what ours did not come by, ours did not do.
    pub(super) fn forget_told(&mut self) {
        let told = std::mem::take(self.told());
        for _ in told
            .iter()
            .filter(|told| told.point != ProbePoint::StatRuntime)
        {
            self.judge.mended("probes of calls that ours did not make");
        }
    }

    fn judge_held(&mut self, r: &Record, held: &Held) {
        let (se, point) = (held.se, held.told.point);
        if point != ProbePoint::StatRuntime {
            self.addresses.insert(held.told.id, se);
            self.note_weight(held);
        }
        let ours = |field: ProbeField| held.ours[field as usize];
        let told = |field: ProbeField| held.told.values[field as usize];
        let first = held.first_of_entity || held.first_of_queue;
        let clock_told = self.clock_told.get(&se).copied();
        let clock_told = clock_told.filter(|&(placed, _)| placed < self.at);
        if clock_told.is_some() {
            self.clock_told.remove(&se);
        }
        for aspect in ASPECTS {
            let shown = || aspect.fields.iter().filter(|&&field| told(field).is_some());
            if first || shown().next().is_none() {
                continue;
            }
            let is_task = self.sched.ses[se].is_task();
            let kind = aspect.kind.unwrap_or(match point {
                ProbePoint::StatRuntime => "stat_runtime",
                _ if !is_task => "group",
                ProbePoint::PlaceEntity => "place",
                ProbePoint::SetNextEntity => "set_next",
                ProbePoint::PutPrevEntity => "put_prev",
            });
            let different = || shown().filter(|&&field| told(field) != ours(field));
            let told_clock = clock_told.filter(|_| aspect.kind.is_none());
            let agree = different().next().is_none() && told_clock.is_none();
            let differs = (!agree).then(|| {
                let mut text = self.entity_name(se);
                if let Some((_, by)) = told_clock {
                    text += &format!(" vruntime by our clock {by:+}");
                }
                for &field in different() {
                    let (told, ours) = (told(field).unwrap_or(0), ours(field).unwrap_or(0));
                    let by = ours.wrapping_sub(told).cast_signed();
                    text += &format!(" {} {}, ours {by:+}", field.name(), told.cast_signed());
                }
                let class = match told_clock {
                    Some(_) => NOT_CLOCK,
                    None => self.held_class(held),
                };
                (class, text)
            });
            let decision = Self::decision(r, Measure::State, kind);
            self.judge.judge(decision, Baselines::NONE, differs);
        }
        if let (Some(told), Some(ours)) = (told(ProbeField::Vruntime), ours(ProbeField::Vruntime)) {
            self.tell_order(se, told.wrapping_sub(ours));
        }
        if told(ProbeField::Vruntime).is_some() {
            self.told_on.insert(se, self.sched.ses[se].cfs_rq);
            self.raced.remove(&self.sched.ses[se].task);
        }
        if point == ProbePoint::StatRuntime {
            self.after_charge(held);
        }
    }

    fn held_class(&self, held: &Held) -> Class {
        if self.is_charged_as_idle(held) {
            return super::state::NOT_POLICY;
        }
        let task = self.sched.ses[held.se].task;
        if task.is_some() && self.unsure.contains(&task) {
            return EARLIER_STATE;
        }
        if self.lost_race(task, held) {
            return Class::Race;
        }
        let hangs = held.hangs_on.map(|on| self.class_of_hanging(on));
        hangs.unwrap_or(Class::Ours)
    }

    pub(super) fn entity_name(&self, se: SeId) -> String {
        let entity = &self.sched.ses[se];
        if entity.is_task() {
            return self.name(entity.task);
        }
        let tg = self.sched.cfs_rqs[entity.my_q].tg;
        let mut groups = self.groups.iter();
        let path = groups.find(|(_, group)| **group == tg);
        path.map_or("a group", |(path, _)| path).to_owned()
    }
}
