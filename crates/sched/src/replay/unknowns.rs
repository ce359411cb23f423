//! How entities' places hang on amounts of virtual time that nothing tells.
//!
//! Model.      What a task had before it was first seen, its lag, is an unknown amount. As far as it is off, so is the task's virtual
//!             runtime once it is placed; by its part of the weight the virtual time of the queue; by that the place of whoever
//!             joins, and the lag with which somebody leaves. All of this is linear. Each entity has a factor for each unknown, of
//!             its virtual runtime and of its lag, which are computed wherever these are. Lag that is cut off hangs on nothing.
//! Deviations. Whether somebody is eligible, or over a limit, with other amounts is not looked at: as ours has it, it stays.
//! Invariants. Nothing is computed unless another kernel is followed whose virtual runtimes nothing shows.
//! Source.     kernel/sched/fair.c `avg_vruntime`, `update_entity_lag`, `place_entity`, `reweight_entity` @ 6.12, 6.18.

use crate::sched::Sched;
use crate::units::{CfsRqId, SeId};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// A factor of one.
pub const ONE: i64 = 1 << 24;

/// Factors of entities, by unknown, in units of 1/[`ONE`]; those beyond the end are zero. They are shared by copies.
type Factors = Vec<Option<Arc<[i64]>>>;

/// What hangs on how many unknowns.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unknowns {
    len: usize,
    /// Factors of virtual runtimes.
    places: Factors,
    /// Factors of lags.
    lags: Factors,
}

/// Adds `times / parts` of the factors.
fn add(sum: &mut [i64], factors: &[i64], times: i64, parts: i64) {
    for (sum, &factor) in sum.iter_mut().zip(factors) {
        *sum = sum.saturating_add(factor.saturating_mul(times) / parts);
    }
}

fn get(of: &Factors, se: SeId) -> &[i64] {
    let factors = of.get(se.idx()).and_then(Option::as_deref);
    factors.unwrap_or_default()
}

fn set(of: &mut Factors, se: SeId, factors: Vec<i64>) {
    if of.len() <= se.idx() {
        of.resize(se.idx() + 1, None);
    }
    let any = factors.iter().any(|&factor| factor != 0);
    of[se.idx()] = any.then(|| factors.into());
}

impl Sched {
    fn unknowns(&self) -> Option<&Unknowns> {
        self.probes.as_ref()?.unknowns.as_ref()
    }

    fn unknowns_mut(&mut self) -> Option<&mut Unknowns> {
        self.probes.as_mut()?.unknowns.as_mut()
    }

    /// An entity's virtual runtime, or if it is not queued its lag, is off by an amount that nothing tells: the unknown of this
    /// number. What has hung on another one of that number no longer does.
    pub fn follow_unknown(&mut self, se: SeId, unknown: usize) {
        let queued = self.ses[se].on_rq;
        let Some(probes) = &mut self.probes else {
            return;
        };
        let unknowns = probes.unknowns.get_or_insert_default();
        let all = unknowns.places.iter_mut().chain(&mut unknowns.lags);
        for factors in all.flatten() {
            if factors.get(unknown).is_some_and(|&factor| factor != 0) {
                let mut others = factors.to_vec();
                others[unknown] = 0;
                *factors = others.into();
            }
        }
        unknowns.len = unknowns.len.max(unknown + 1);
        let of = if queued {
            &mut unknowns.places
        } else {
            &mut unknowns.lags
        };
        let mut factors = vec![0; unknowns.len];
        add(&mut factors, get(of, se), 1, 1);
        factors[unknown] = factors[unknown].wrapping_add(ONE);
        set(of, se, factors);
    }

    /// The factors of an entity's virtual runtime, in units of 1/[`ONE`]; those beyond the end are zero.
    pub fn factors_of_place(&self, se: SeId) -> &[i64] {
        let places = self.unknowns().map(|unknowns| &unknowns.places);
        places.map_or(&[], |places| get(places, se))
    }

    /// The factors of a queue's virtual time.
    pub fn factors_of_average(&self, cfs_rq: CfsRqId) -> Vec<i64> {
        let Some(unknowns) = self.unknowns() else {
            return Vec::new();
        };
        let cfs = &self.cfs_rqs[cfs_rq];
        let curr = cfs.curr.get().filter(|&curr| self.ses[curr].on_rq);
        let members = || cfs.timeline.iter().map(|waiting| waiting.se).chain(curr);
        let weight: u64 = members().map(|se| self.ses[se].weight()).sum();
        let mut sum = vec![0; unknowns.len];
        for se in members() {
            let own = self.ses[se].weight() as i64;
            add(&mut sum, get(&unknowns.places, se), own, 1);
        }
        for factor in &mut sum {
            *factor /= weight.max(1) as i64;
        }
        sum
    }

    /// The unknowns are by so many ns of virtual time more than was thought. All that hangs on them moves.
    pub fn follow_unknowns(&mut self, more: &[i64]) {
        let Some(unknowns) = self.unknowns() else {
            return;
        };
        let moved = |factors: &[i64]| {
            let by = factors.iter().zip(more);
            let by = by.map(|(&factor, &more)| i128::from(factor) * i128::from(more));
            (by.sum::<i128>() / i128::from(ONE)) as i64
        };
        let last = unknowns.places.len().max(unknowns.lags.len());
        let moves = self.ses.ids().take(last).map(|se| {
            let of = if self.ses[se].on_rq {
                &unknowns.places
            } else {
                &unknowns.lags
            };
            (se, moved(get(of, se)))
        });
        let moves: Vec<(SeId, i64)> = moves.filter(|&(_, by)| by != 0).collect();
        for (se, by) in moves {
            let entity = &mut self.ses[se];
            if entity.on_rq {
                let by = by as u64;
                let (vruntime, deadline) = (entity.vruntime, entity.deadline);
                self.follow_entity(se, vruntime.wrapping_add(by), deadline.wrapping_add(by));
            } else {
                entity.vlag = entity.vlag.wrapping_add(by);
            }
        }
    }

    /// An entity is placed by the virtual time of its queue, and `times / parts` of its lag.
    pub(crate) fn note_factors_placed(
        &mut self,
        cfs_rq: CfsRqId,
        se: SeId,
        (times, parts): (u64, u64),
    ) {
        if self.unknowns().is_none() {
            return;
        }
        let mut place = self.factors_of_average(cfs_rq);
        if let Some(unknowns) = self.unknowns_mut() {
            let lag = get(&unknowns.lags, se);
            add(&mut place, lag, -(times as i64), parts as i64);
            set(&mut unknowns.places, se, place);
        }
    }

    /// An entity's lag is what it is behind the virtual time of its queue, or less.
    pub(crate) fn note_factors_of_lag(&mut self, cfs_rq: CfsRqId, se: SeId, is_cut: bool) {
        if self.unknowns().is_none() {
            return;
        }
        if is_cut {
            self.note_lag_cut(se);
            return;
        }
        let mut lag = self.factors_of_average(cfs_rq);
        if let Some(unknowns) = self.unknowns_mut() {
            add(&mut lag, get(&unknowns.places, se), -1, 1);
            set(&mut unknowns.lags, se, lag);
        }
    }

    /// An entity has no lag, or another one.
    pub(crate) fn note_lag_cut(&mut self, se: SeId) {
        if let Some(unknowns) = self.unknowns_mut() {
            set(&mut unknowns.lags, se, Vec::new());
        }
    }

    /// An entity's lag is `times / parts` of what it was.
    pub(crate) fn note_lag_scaled(&mut self, se: SeId, times: u64, parts: u64) {
        if let Some(unknowns) = self.unknowns_mut() {
            let mut lag = vec![0; unknowns.len];
            let (times, parts) = (times as i64, parts as i64);
            add(&mut lag, get(&unknowns.lags, se), times, parts);
            set(&mut unknowns.lags, se, lag);
        }
    }

    /// An entity's weight changes, and it keeps its lag as real time.
    pub(crate) fn note_factors_weighed(&mut self, cfs_rq: CfsRqId, se: SeId, old: u64, new: u64) {
        if self.unknowns().is_none() {
            return;
        }
        if !self.ses[se].on_rq {
            self.note_lag_scaled(se, old, new);
            return;
        }
        let average = self.factors_of_average(cfs_rq);
        if let Some(unknowns) = self.unknowns_mut() {
            let (old, new) = (old as i64, new as i64);
            let mut place = average.clone();
            add(&mut place, &average, -old, new);
            add(&mut place, get(&unknowns.places, se), old, new);
            set(&mut unknowns.places, se, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::SchedAttr;
    use crate::profile::{KernelProfile, Release};
    use crate::replay::FollowedWakeup;
    use crate::task::TaskState;
    use crate::topology::Topology;
    use crate::units::{CpuId, TaskId};

    const CPU: CpuId = CpuId(0);
    const MORE: i64 = 90_000;

    /// Three hogs of which the first one's place is unknown.
    fn hogs(release: Release) -> (Sched, [TaskId; 3]) {
        let profile = KernelProfile::new(release, 1);
        let mut sched = Sched::new(profile, Topology::regular(1, 1, 1));
        sched.hold_probes();
        let tasks = [0; 3].map(|_| {
            let task = sched.spawn(CPU, 0);
            sched.wake_up_new_task(CPU, task, 0);
            task
        });
        sched.schedule(CPU, 0, false);
        let se = sched.tasks[tasks[0]].se;
        sched.follow_unknown(se, 0);
        (sched, tasks)
    }

    /// Somebody joins, the first one sleeps and is woken, the second one is reniced: its lag is scaled.
    fn go_on(sched: &mut Sched, tasks: [TaskId; 3]) {
        let ms = |ms: u64| ms * 1_000_000;
        let new = sched.spawn(CPU, ms(2));
        sched.wake_up_new_task(CPU, new, ms(2));
        sched
            .sched_setscheduler(tasks[1], SchedAttr::normal(5), ms(2))
            .unwrap();
        let mut now = ms(2);
        while sched.rqs[CPU].curr != tasks[0]
            || !sched.entity_eligible(sched.rqs[CPU].cfs, sched.tasks[tasks[0]].se)
        {
            now += ms(1);
            sched.follow_switch(CPU, now, tasks[0]);
            sched.schedule(CPU, now, false);
            assert!(now < ms(100));
        }
        sched.set_current_state(CPU, TaskState::Interruptible);
        sched.schedule(CPU, now, false);
        now += ms(1);
        let wakeup = FollowedWakeup {
            this_cpu: CPU,
            cpu: CPU,
            wake_flags: 0,
            migrated: false,
        };
        sched.follow_wakeup(tasks[0], wakeup, now);
    }

    /// Once the unknown is told, all is where it would be had it been known from the start.
    #[test]
    fn what_hangs_on_an_unknown_goes_where_it_belongs() {
        for release in [Release::V6_12, Release::V6_18] {
            let (mut late, tasks) = hogs(release);
            let (mut early, _) = hogs(release);
            early.follow_unknowns(&[MORE]);
            go_on(&mut early, tasks);
            go_on(&mut late, tasks);
            let places = |sched: &Sched| {
                let of = sched.tasks.ids().map(|task| sched.tasks[task].se);
                of.map(|se| sched.ses[se].vruntime).collect::<Vec<u64>>()
            };
            let off = |a: &Sched, b: &Sched| {
                let both = places(a).into_iter().zip(places(b));
                both.map(|(a, b)| a.wrapping_sub(b).cast_signed().abs())
                    .max()
                    .unwrap()
            };
            assert!(off(&early, &late) > 10_000, "{release:?}");
            late.follow_unknowns(&[MORE]);
            assert!(
                off(&early, &late) < 10,
                "{release:?} {:?} {:?}",
                places(&early),
                places(&late)
            );
        }
    }

    #[test]
    fn a_number_that_is_used_again_is_another_unknown() {
        let (mut sched, tasks) = hogs(Release::V6_12);
        let [first, second, _] = tasks.map(|task| sched.tasks[task].se);
        assert_eq!(sched.factors_of_place(first), [ONE]);
        let average = sched.factors_of_average(sched.rqs[CPU].cfs);
        assert_eq!(average, [ONE / 3]);
        sched.follow_unknown(second, 0);
        assert_eq!(sched.factors_of_place(first), [0]);
        assert_eq!(sched.factors_of_place(second), [ONE]);
    }
}
