//! Dynamic probes: what another kernel showed of an entity at a function's entry, held against ours at the same point.
//!
//! Model.      A caller that follows another kernel tells what that kernel's probes showed during a call. When ours
//!             reaches such a point it notes its own values beside the told ones and takes over what was told, so that
//!             the rest of the call starts from the other kernel's state.
//! Invariants. Nothing is noted or changed unless a caller asks for it.
//! Units.      As the kernel's fields: ns of virtual time, weights in 1024ths for entities.
//! Source.     kernel/sched/fair.c `place_entity`, `set_next_entity`, `put_prev_entity`, `update_curr` @ 6.1, 6.12.
//! Not here.   What a difference means: the caller judges.

use crate::replay::HangsOn;
use crate::replay::NewIdle;
use crate::replay::course::Course;
use crate::replay::unknowns::Unknowns;
use crate::sched::Sched;
use crate::units::{CfsRqId, CpuId, Nanos, SeId};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Where a probe stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbePoint {
    /// Entry of `place_entity`.
    PlaceEntity,
    /// Entry of `set_next_entity`.
    SetNextEntity,
    /// Entry of `put_prev_entity`.
    PutPrevEntity,
    /// The tracepoint `sched_stat_runtime`, after the charge.
    StatRuntime,
}

/// Declares the fields with the names that probes give them.
macro_rules! fields {
    ($($field:ident $name:literal $help:literal,)*) => {
        /// What a probe can show.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum ProbeField { $(#[doc = $help] $field,)* }

        impl ProbeField {
            /// All fields, in the order of [`ProbeValues`].
            pub const ALL: &[ProbeField] = &[$(ProbeField::$field,)*];

            /// Its name in a probe's definition.
            pub fn name(self) -> &'static str {
                match self { $(ProbeField::$field => $name,)* }
            }
        }
    };
}

fields! {
    Vruntime "vruntime" "`se->vruntime`.",
    Deadline "deadline" "`se->deadline`.",
    Vlag "vlag" "`se->vlag`.",
    Slice "slice" "`se->slice`.",
    Weight "weight" "`se->load.weight`.",
    AvgVruntime "avg_vruntime" "`cfs_rq->avg_vruntime`.",
    AvgLoad "avg_load" "`cfs_rq->avg_load`.",
    SeLoadAvg "se_load_avg" "`se->avg.load_avg`.",
    SeLoadSum "se_load_sum" "`se->avg.load_sum`.",
    SeRunnableAvg "se_runnable_avg" "`se->avg.runnable_avg`.",
    SeRunnableSum "se_runnable_sum" "`se->avg.runnable_sum`.",
    SeUtilAvg "se_util_avg" "`se->avg.util_avg`.",
    SeUtilSum "se_util_sum" "`se->avg.util_sum`.",
    CfsWeight "cfs_weight" "`cfs_rq->load.weight`.",
    CfsLoadAvg "cfs_load_avg" "`cfs_rq->avg.load_avg`.",
    CfsLoadSum "cfs_load_sum" "`cfs_rq->avg.load_sum`.",
    CfsRunnableAvg "cfs_runnable_avg" "`cfs_rq->avg.runnable_avg`.",
    CfsRunnableSum "cfs_runnable_sum" "`cfs_rq->avg.runnable_sum`.",
    CfsUtilAvg "cfs_util_avg" "`cfs_rq->avg.util_avg`.",
    CfsUtilSum "cfs_util_sum" "`cfs_rq->avg.util_sum`.",
    TgLoadAvg "tg_load_avg" "`cfs_rq->tg->load_avg`.",
    TgLoadAvgContrib "tg_load_avg_contrib" "`cfs_rq->tg_load_avg_contrib`.",
}

/// Weights between these are possible: `MIN_SHARES` and `MAX_SHARES` of 6.1 and 6.12.
pub(crate) const MIN_WEIGHT: u64 = 2;
pub(crate) const MAX_WEIGHT: u64 = 1 << 28;
/// Sums of weighted virtual time are smaller.
const MAX_SUM: u64 = 1 << 53;
/// Slices are no longer: `sysctl_sched_base_slice` is an unsigned int of ns.
const MAX_SLICE: u64 = u32::MAX as u64;
/// Averages are smaller: 2¹⁶ tasks of the largest weight on a queue, and a CPU's utilisation several times over.
const ABOVE_AVERAGES: [(ProbeField, u64); 14] = [
    (ProbeField::SeLoadAvg, 1 << 34),
    (ProbeField::SeLoadSum, 1 << 50),
    (ProbeField::SeRunnableAvg, 1 << 26),
    (ProbeField::SeRunnableSum, 1 << 42),
    (ProbeField::SeUtilAvg, 1 << 16),
    (ProbeField::SeUtilSum, 1 << 32),
    (ProbeField::CfsLoadAvg, 1 << 34),
    (ProbeField::CfsLoadSum, 1 << 50),
    (ProbeField::CfsRunnableAvg, 1 << 26),
    (ProbeField::CfsRunnableSum, 1 << 42),
    (ProbeField::CfsUtilAvg, 1 << 16),
    (ProbeField::CfsUtilSum, 1 << 32),
    (ProbeField::TgLoadAvg, 1 << 50),
    (ProbeField::TgLoadAvgContrib, 1 << 34),
];

/// A value for each of [`ProbeField::ALL`]; `None`: the probe does not show it.
pub type ProbeValues = [Option<u64>; ProbeField::ALL.len()];

/// A probe that shows nothing.
pub const NOTHING_SHOWN: ProbeValues = [None; ProbeField::ALL.len()];

/// What the other kernel's probe showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Where it stands.
    pub point: ProbePoint,
    /// The entity; none: not known yet, the first one that comes by.
    pub se: SeId,
    /// Its number, for the caller.
    pub id: u64,
    /// When it was recorded.
    pub at: Nanos,
    /// What it showed.
    pub values: ProbeValues,
}

/// Both sides of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Our entity.
    pub se: SeId,
    /// Its queue.
    pub cfs_rq: CfsRqId,
    /// The other kernel's side.
    pub told: Told,
    /// Ours, before what was told was taken over.
    pub ours: ProbeValues,
    /// The queue was waiting for its first absolute virtual time, which this told.
    pub first_of_queue: bool,
    /// The same of the entity.
    pub first_of_entity: bool,
    /// The sides differ, and what is shown hangs on this.
    pub hangs_on: Option<HangsOn>,
}

/// How many of a queue's last averages are kept.
pub(crate) const PAST_AVERAGES: usize = 12;

/// What the sums of a queue told of a group's entity that waits there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weighed {
    /// Who.
    pub se: SeId,
    /// What it weighs.
    pub told: u64,
    /// What it did in ours.
    pub ours: u64,
}

/// The clock of a CPU's queue as the other kernel read it once it had locked the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadClock {
    /// Whose.
    pub cpu: CpuId,
    /// What it read.
    pub now: Nanos,
    /// Nothing tells that.
    pub guessed: bool,
}

/// Probes of a scheduler that follows another.
#[derive(Clone, Default, Debug)]
pub struct Probes {
    /// What the other kernel showed and ours has not reached yet.
    pub told: Vec<Told>,
    /// What ours has reached.
    pub held: Vec<Held>,
    /// Groups' entities whose weights sums have told.
    pub weighed: Vec<Weighed>,
    /// Queues whose virtual time has been told, by id.
    known_queues: Vec<bool>,
    /// Entities whose state has been told, by id.
    known_entities: Vec<bool>,
    /// Entities that have been placed or set to run, which their lag follows from, by id.
    lag_followed: Vec<bool>,
    /// Entities that were placed by their queue's virtual time alone and not charged since, by id.
    placed_by_queue: Vec<bool>,
    /// Entities that nothing was told of since they were placed, by id.
    only_placed: Vec<bool>,
    /// How the next CPU to run out of tasks was balanced.
    pub newidle: Option<NewIdle>,
    /// Clocks of queues as passes read them when they lock them.
    pub(crate) read_by_pass: Vec<ReadClock>,
    /// How far the clock of each CPU can go: its running task is not charged before.
    limits: Vec<Nanos>,
    /// What was done to groups' entities since they were last told, by id.
    pub(crate) courses: Vec<Option<Course>>,
    /// How often a group's load has changed, by id.
    pub(crate) load_changes: Vec<u32>,
    /// Whether queues have told their group what they contribute since its load was last told, by id.
    pub(crate) contributed: Vec<bool>,
    /// The last averages with which queues may have told their group what they contribute, the newest first, by id.
    pub(crate) averages: Vec<[u64; PAST_AVERAGES]>,
    /// A group's weights that are told tell nothing of its load.
    pub(crate) leaves_loads: bool,
    /// On what the place of entities hangs that no event tells, by id.
    pub(crate) hanging: Vec<Option<HangsOn>>,
    /// The same of the `min_vruntime` of queues, by id.
    pub(crate) floors_hanging: Vec<Option<HangsOn>>,
    /// The same of the origin of queues' sums.
    pub(crate) origins_hanging: Vec<Option<HangsOn>>,
    /// Of each CPU the last clock of its queue of which a record tells when it was used, and that record's time.
    pub(crate) reached: Vec<(Nanos, Nanos)>,
    /// Amounts that nothing tells, and what hangs on them.
    pub(crate) unknowns: Option<Unknowns>,
    /// CPUs whose clock in this call is a guess.
    pub(crate) guessed: Vec<CpuId>,
}

impl Probes {
    /// The running task of a CPU is next charged at this time of its clock, and the clock goes no further before.
    pub fn limit_clock(&mut self, cpu: CpuId, limit: Nanos) {
        self.limits(cpu.idx() + 1)[cpu.idx()] = limit;
    }

    /// The same of each CPU, of at least so many.
    pub fn limits(&mut self, nr_cpus: usize) -> &mut [Nanos] {
        if self.limits.len() < nr_cpus {
            self.limits.resize(nr_cpus, Nanos::MAX);
        }
        &mut self.limits
    }

    /// A call that had read this clock of a CPU's queue was recorded at `at`.
    pub fn set_reached(&mut self, cpu: CpuId, clock: Nanos, at: Nanos) {
        if self.reached.len() <= cpu.idx() {
            self.reached.resize(cpu.idx() + 1, (0, 0));
        }
        self.reached[cpu.idx()] = (clock, at);
    }

    /// Was the running task of a CPU not charged yet at this time of its clock?
    pub(crate) fn is_early(&self, cpu: CpuId, now: Nanos) -> bool {
        let limit = self.limits.get(cpu.idx());
        limit.is_some_and(|&limit| limit != Nanos::MAX && now < limit)
    }

    /// What a CPU's clock can show at `now`.
    pub(crate) fn limited(&self, cpu: CpuId, now: Nanos) -> Nanos {
        self.limits
            .get(cpu.idx())
            .map_or(now, |&limit| now.min(limit))
    }

    /// An entity was placed: by its queue's virtual time alone?
    pub(crate) fn set_by_queue(&mut self, se: SeId, by_queue: bool) {
        set(&mut self.placed_by_queue, se.idx());
        self.placed_by_queue[se.idx()] = by_queue;
    }

    /// An entity is where it was placed, or where it was told to be.
    pub(crate) fn set_only_placed(&mut self, se: SeId, only_placed: bool) {
        set(&mut self.only_placed, se.idx());
        self.only_placed[se.idx()] = only_placed;
    }

    pub(crate) fn is_only_placed(&self, se: SeId) -> bool {
        self.only_placed.get(se.idx()).copied().unwrap_or(false)
    }

    /// Has the entity been placed by its queue's virtual time alone, since this was last asked?
    fn take_by_queue(&mut self, se: SeId) -> bool {
        let placed = self.placed_by_queue.get_mut(se.idx());
        placed.is_some_and(core::mem::take)
    }

    pub(crate) fn is_placed_by_queue(&self, se: SeId) -> bool {
        let placed = self.placed_by_queue.get(se.idx());
        placed.copied().unwrap_or(false)
    }

    /// The state of an entity is determined by what was told or happened, from here on.
    pub fn set_known(&mut self, se: SeId) -> bool {
        set(&mut self.known_entities, se.idx())
    }

    /// The entity is placed or set to run. Was it not before?
    fn set_lag_followed(&mut self, se: SeId) -> bool {
        set(&mut self.lag_followed, se.idx())
    }

    /// Has the entity's state been told?
    pub fn is_known(&self, se: SeId) -> bool {
        self.known_entities.get(se.idx()).copied().unwrap_or(false)
    }

    pub(crate) fn is_queue_known(&self, cfs_rq: CfsRqId) -> bool {
        self.known_queues
            .get(cfs_rq.idx())
            .copied()
            .unwrap_or(false)
    }

    /// A queue's virtual time is determined from here on; true if it was not before.
    pub fn set_queue_known(&mut self, cfs_rq: CfsRqId) -> bool {
        set(&mut self.known_queues, cfs_rq.idx())
    }
}

/// Sets a flag; true if it was not set.
fn set(flags: &mut Vec<bool>, at: usize) -> bool {
    if flags.len() <= at {
        flags.resize(at + 1, false);
    }
    !core::mem::replace(&mut flags[at], true)
}

impl Sched {
    /// A point where another kernel may have shown its state.
    #[inline]
    pub(crate) fn probe(&mut self, point: ProbePoint, cfs_rq: CfsRqId, se: SeId) {
        if self.probes.is_some() {
            self.hold(point, cfs_rq, se);
        }
    }

    #[cold]
    fn hold(&mut self, point: ProbePoint, cfs_rq: CfsRqId, se: SeId) {
        if point == ProbePoint::StatRuntime && !self.ses[se].is_task() {
            self.note_ran(se);
            return;
        }
        let Some(probes) = &mut self.probes else {
            return;
        };
        if point == ProbePoint::PlaceEntity {
            probes.set_only_placed(se, true);
        }
        let sets_lag = matches!(point, ProbePoint::PlaceEntity | ProbePoint::SetNextEntity);
        let lag_is_older =
            sets_lag && probes.set_lag_followed(se) && point == ProbePoint::SetNextEntity;
        let at = probes
            .told
            .iter()
            .position(|told| told.point == point && (told.se == se || told.se.is_none()));
        let Some(at) = at else {
            if point == ProbePoint::PlaceEntity {
                self.note_hanging_place(cfs_rq, se);
            }
            return;
        };
        let mut told = probes.told.remove(at);
        let cpu = self.cfs_rqs[cfs_rq].cpu;
        probes.set_reached(cpu, self.rqs[cpu].clock, told.at);
        let shows_time = told.values[ProbeField::Vruntime as usize].is_some();
        // Before it is placed an entity has no place in the queue's time.
        let places = point == ProbePoint::PlaceEntity;
        if places && shows_time && !probes.is_queue_known(cfs_rq) {
            told.values[ProbeField::Vruntime as usize] = None;
        }
        let first_of_entity = shows_time && probes.set_known(se);
        let first_of_queue = shows_time && !places && probes.set_queue_known(cfs_rq);
        let charged = point == ProbePoint::StatRuntime;
        let by_queue = charged && probes.take_by_queue(se) && !first_of_entity;
        if first_of_queue {
            self.shift_queue(cfs_rq, se, &told.values);
            self.note_unknown_floor(cfs_rq);
        } else if by_queue {
            self.shift_groups(cfs_rq, se, &told.values);
        }
        if let (true, Some(lag)) = (lag_is_older, told.values[ProbeField::Vlag as usize]) {
            // It ran when the recording began, and its lag is from before that.
            self.ses[se].vlag = lag.cast_signed();
        }
        let ours = self.probe_values(cfs_rq, se);
        let mut sides = told.values.iter().zip(&ours);
        let differs = sides.any(|(told, ours)| told.is_some() && told != ours);
        let hangs_on = if !differs {
            None
        } else if self.weights_are_pending(cfs_rq, se) {
            Some(HangsOn::Updates)
        } else {
            self.told_hangs(point, (cfs_rq, se), &told.values)
        };
        let held = Held {
            se,
            cfs_rq,
            told,
            ours,
            first_of_queue,
            first_of_entity,
            hangs_on,
        };
        if self.is_possible(cfs_rq, se, &told.values) {
            if let Some(weight) = told.values[ProbeField::Weight as usize] {
                self.follow_group_weight(se, weight);
            }
            if !places && self.ses[se].on_rq {
                self.follow_group_times(cfs_rq, se, &told.values);
            }
            if point == ProbePoint::SetNextEntity {
                self.shift_placed(cfs_rq, se, &told.values);
            }
            self.take_over(point, cfs_rq, se, &told.values);
            if shows_time
                && !places
                && let Some(probes) = &mut self.probes
            {
                probes.set_only_placed(se, false);
            }
            self.begin_course(se, places);
            // Once it has left its queue, there is its lag to be told, too.
            let lag_told = told.values[ProbeField::Vlag as usize].is_some();
            if shows_time && (self.ses[se].on_rq || lag_told) {
                self.end_hanging(se);
            }
        }
        if places {
            self.note_hanging_place(cfs_rq, se);
        }
        if let Some(probes) = &mut self.probes {
            probes.held.push(held);
        }
    }

    fn probe_values(&self, cfs_rq: CfsRqId, se: SeId) -> ProbeValues {
        let entity = &self.ses[se];
        let cfs = &self.cfs_rqs[cfs_rq];
        let mut values = NOTHING_SHOWN;
        for (value, field) in values.iter_mut().zip(ProbeField::ALL) {
            *value = Some(match field {
                ProbeField::Vruntime => entity.vruntime,
                ProbeField::Deadline => entity.deadline,
                ProbeField::Vlag => entity.vlag as u64,
                ProbeField::Slice => entity.slice,
                ProbeField::Weight => entity.load.weight,
                ProbeField::AvgVruntime => cfs.avg_vruntime as u64,
                ProbeField::AvgLoad => cfs.avg_load,
                ProbeField::SeLoadAvg => entity.avg.load_avg,
                ProbeField::SeLoadSum => entity.avg.load_sum,
                ProbeField::SeRunnableAvg => entity.avg.runnable_avg,
                ProbeField::SeRunnableSum => entity.avg.runnable_sum,
                ProbeField::SeUtilAvg => entity.avg.util_avg,
                ProbeField::SeUtilSum => entity.avg.util_sum.into(),
                ProbeField::CfsWeight => cfs.load.weight,
                ProbeField::CfsLoadAvg => cfs.avg.load_avg,
                ProbeField::CfsLoadSum => cfs.avg.load_sum,
                ProbeField::CfsRunnableAvg => cfs.avg.runnable_avg,
                ProbeField::CfsRunnableSum => cfs.avg.runnable_sum,
                ProbeField::CfsUtilAvg => cfs.avg.util_avg,
                ProbeField::CfsUtilSum => cfs.avg.util_sum.into(),
                ProbeField::TgLoadAvg => self.groups[cfs.tg].load_avg as u64,
                ProbeField::TgLoadAvgContrib => cfs.tg_load_avg_contrib,
            });
        }
        values
    }

    /// Can a kernel be in the state that was told? If not, the recording is damaged, and the sums would overflow.
    fn is_possible(&self, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) -> bool {
        let get = |field: ProbeField| told[field as usize];
        let entity = &self.ses[se];
        let cfs = &self.cfs_rqs[cfs_rq];
        let weight = get(ProbeField::Weight).unwrap_or(entity.load.weight);
        if !(MIN_WEIGHT..=MAX_WEIGHT).contains(&weight) {
            return false;
        }
        if get(ProbeField::Slice).is_some_and(|slice| slice > MAX_SLICE) {
            return false;
        }
        if ABOVE_AVERAGES
            .iter()
            .any(|&(field, above)| get(field).is_some_and(|told| told >= above))
        {
            return false;
        }
        let vruntime = get(ProbeField::Vruntime).unwrap_or(entity.vruntime);
        let sum = get(ProbeField::AvgVruntime).map_or(0, u64::cast_signed);
        // Joining stretches a lag by (W + w)/W, and the sums count it with W + w.
        let vlag = get(ProbeField::Vlag).map_or(0, u64::cast_signed);
        let joined = u128::from(cfs.avg_load.saturating_add(weight >> 10));
        let stretched = u128::from(vlag.unsigned_abs()) * joined * joined;
        (self.fair.can_hold)(self, cfs_rq, se, vruntime)
            && sum.unsigned_abs() < MAX_SUM
            && stretched / u128::from(cfs.avg_load.max(1)) < u128::from(MAX_SUM)
    }

    /// Takes over what was told of an entity and its queue.
    fn take_over(&mut self, point: ProbePoint, cfs_rq: CfsRqId, se: SeId, told: &ProbeValues) {
        let get = |field: ProbeField| told[field as usize];
        let entity = &self.ses[se];
        let in_line =
            entity.on_rq && self.cfs_rqs[cfs_rq].curr != se && point == ProbePoint::SetNextEntity;
        if let Some(weight) = get(ProbeField::Weight)
            && (!entity.on_rq || point != ProbePoint::PlaceEntity)
            && weight != entity.load.weight
        {
            self.follow_weight(cfs_rq, se, weight);
        }
        let entity = &self.ses[se];
        let vruntime = get(ProbeField::Vruntime).unwrap_or(entity.vruntime);
        let deadline = get(ProbeField::Deadline).unwrap_or(entity.deadline);
        let slice = get(ProbeField::Slice).unwrap_or(entity.slice);
        let moved = (vruntime, deadline, slice) != (entity.vruntime, entity.deadline, entity.slice);
        if in_line && moved {
            (self.fair.timeline_remove)(self, cfs_rq, se);
        }
        let entity = &mut self.ses[se];
        let by = vruntime.wrapping_sub(entity.vruntime);
        if point == ProbePoint::PutPrevEntity && !entity.on_rq {
            // Where nobody else is left, the queue's virtual time is that of the last who was.
            let cfs = &mut self.cfs_rqs[cfs_rq];
            if cfs.nr_queued == 0 {
                cfs.zero_vruntime = cfs.zero_vruntime.wrapping_add(by);
            }
        }
        entity.vruntime = vruntime;
        entity.deadline = deadline;
        entity.slice = slice;
        entity.vlag = get(ProbeField::Vlag).map_or(entity.vlag, u64::cast_signed);
        if in_line && moved {
            (self.fair.timeline_add)(self, cfs_rq, se);
        }
        self.take_over_sums(cfs_rq, se, told);
        self.follow_averages(cfs_rq, se, told);
    }

    /// With equal weights and places, different sums mean another origin; else some entity is elsewhere.
    fn take_over_sums(&mut self, cfs_rq: CfsRqId, shown: SeId, told: &ProbeValues) {
        let (Some(sum), Some(load)) = (
            told[ProbeField::AvgVruntime as usize],
            told[ProbeField::AvgLoad as usize],
        ) else {
            return;
        };
        self.end_hanging_origin(cfs_rq);
        let cfs = &mut self.cfs_rqs[cfs_rq];
        let apart = cfs.avg_vruntime.wrapping_sub(sum.cast_signed());
        if load == 0 || load != cfs.avg_load || apart % load.cast_signed() != 0 {
            self.follow_sums(cfs_rq, shown, sum.cast_signed(), load);
            return;
        }
        cfs.avg_vruntime = sum.cast_signed();
        cfs.zero_vruntime = cfs
            .zero_vruntime
            .wrapping_add((apart / load.cast_signed()).cast_unsigned());
    }

    /// Begins to hold probes.
    pub fn hold_probes(&mut self) {
        self.probes.get_or_insert_with(Box::default);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{KernelProfile, Release};
    use crate::task::TaskState;
    use crate::topology::Topology;
    use crate::units::TaskId;

    const CPU: CpuId = CpuId(0);

    /// A hog that runs, and a task woken beside it; what was told of its placement is `weight` and `vlag`.
    fn placed(weight: u64, vlag: i64) -> (Sched, Vec<Held>) {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let start = |sched: &mut Sched| {
            let task = sched.spawn(CPU, 0);
            sched.wake_up_new_task(CPU, task, 0);
            task
        };
        start(&mut sched);
        sched.schedule(CPU, 1000, false);
        sched.hold_probes();
        let mut values = NOTHING_SHOWN;
        values[ProbeField::Weight as usize] = Some(weight);
        values[ProbeField::Vlag as usize] = Some(vlag.cast_unsigned());
        values[ProbeField::Vruntime as usize] = Some(7);
        let told = Told {
            point: ProbePoint::PlaceEntity,
            se: SeId::NONE,
            id: 1,
            at: 0,
            values,
        };
        sched.probes.as_mut().unwrap().told.push(told);
        let task: TaskId = start(&mut sched);
        assert!(sched.tasks[task].is_queued());
        let held = core::mem::take(&mut sched.probes.as_mut().unwrap().held);
        (sched, held)
    }

    #[test]
    fn what_was_told_is_held_against_ours_and_taken_over() {
        // Told: lag of 300, and twice the weight of nice 0.
        let (sched, held) = placed(2 << 20, 300);
        let [held] = &held[..] else {
            panic!("one probe: {held:?}")
        };
        let ours = |field: ProbeField| held.ours[field as usize];
        assert!(held.first_of_entity && !held.first_of_queue);
        assert_eq!(ours(ProbeField::Weight), Some(1 << 20));
        assert_eq!(ours(ProbeField::Vlag), Some(0));
        // The hog is alone at V with weight 1: the lag is stretched by (1 + 2)/1 to be 300 once it has joined.
        let average = sched.ses[SeId(sched.cfs_rqs[held.cfs_rq].curr.0)].vruntime;
        let entity = &sched.ses[held.se];
        assert_eq!(entity.load.weight, 2 << 20);
        assert_eq!(entity.vruntime, average.wrapping_sub(900));
        assert!(sched.probes.unwrap().told.is_empty());
    }

    #[test]
    fn what_agrees_changes_nothing() {
        let (told, _) = placed(1 << 20, 0);
        let (again, held) = placed(1 << 20, 0);
        let se = held[0].se;
        assert_eq!(told.ses[se].vruntime, again.ses[se].vruntime);
        assert_eq!(
            told.ses[se].vruntime,
            told.cfs_rqs[held[0].cfs_rq].zero_vruntime
        );
    }

    #[test]
    fn a_weight_told_on_the_way_into_a_queue_is_what_the_queue_counts() {
        let profile = KernelProfile::new(Release::V6_1, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        for _ in 0..2 {
            let task = sched.spawn(CPU, 0);
            sched.wake_up_new_task(CPU, task, 0);
        }
        sched.schedule(CPU, 1000, false);
        sched.set_current_state(CPU, TaskState::Interruptible);
        let sleeper = sched.schedule(CPU, 2000, false).prev;
        sched.hold_probes();
        let mut values = NOTHING_SHOWN;
        values[ProbeField::Weight as usize] = Some(2 << 20);
        let told = Told {
            point: ProbePoint::PlaceEntity,
            se: SeId::NONE,
            id: 1,
            at: 0,
            values,
        };
        sched.probes.as_mut().unwrap().told.push(told);
        sched.try_to_wake_up(CPU, sleeper, 3000, 0);
        assert_eq!(sched.ses[sched.tasks[sleeper].se].load.weight, 2 << 20);
        let root = sched.rqs[CPU].cfs;
        assert_eq!(sched.cfs_rqs[root].load.weight, 3 << 20);
    }

    #[test]
    fn whoever_comes_to_an_empty_queue_comes_where_the_last_was_told_to_be() {
        let profile = KernelProfile::new(Release::V6_12, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        let task = sched.spawn(CPU, 0);
        sched.wake_up_new_task(CPU, task, 0);
        sched.schedule(CPU, 1000, false);
        sched.hold_probes();
        let se = sched.tasks[task].se;
        for (id, sleeps_at) in [(1, 2_000_000), (2, 6_000_000)] {
            let mut values = NOTHING_SHOWN;
            values[ProbeField::Vruntime as usize] = Some(50_000_000 * id);
            let point = ProbePoint::PutPrevEntity;
            let told = Told {
                point,
                se,
                id,
                at: 0,
                values,
            };
            sched.probes.as_mut().unwrap().told.push(told);
            sched.set_current_state(CPU, TaskState::Interruptible);
            let next = sched.schedule(CPU, sleeps_at, false).next;
            assert_eq!(next, sched.rqs[CPU].idle);
            sched.try_to_wake_up(CPU, task, sleeps_at + 1_000_000, 0);
            assert_eq!(sched.ses[se].vruntime, 50_000_000 * id);
            sched.schedule(CPU, sleeps_at + 1_000_000, false);
        }
    }

    #[test]
    fn a_clock_stops_where_it_is_told_to() {
        let mut sched = Sched::new(
            KernelProfile::new(Release::V6_12, 1),
            Topology::regular(1, 1, 1),
        );
        sched.hold_probes();
        sched.probes.as_mut().unwrap().limit_clock(CPU, 500);
        sched.set_time(2000);
        sched.update_rq_clock(CPU);
        assert_eq!(sched.rqs[CPU].clock, 500);
    }
}
