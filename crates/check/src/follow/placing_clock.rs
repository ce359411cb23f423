//! The clock with which an entity was placed beside a running group.
//!
//! Model.   What a group is charged is not recorded, so the clock of a wakeup beside one is known to some µs only. The
//!          virtual time of the queue goes with the clock, and the placed entity's virtual runtime with that of the queue:
//!          where it stood when it was next shown, or first charged, tells the clock. What was told so is a fact that the recording lacked,
//!          and counts as a disagreement where it is shown.
//! Source.  kernel/sched/fair.c `enqueue_entity`, `place_entity` @ 6.1, 6.12.

use super::Follower;
use crate::judge::Class;
use crate::record::What;
use fairwind_sched::probe::{ProbeField, ProbePoint, Told};
use fairwind_sched::{CpuId, Sched, SeId};

/// The class of what a clock was told by.
pub(super) const NOT_CLOCK: Class = Class::NotRecorded("clocks of groups that run");

impl Follower<'_> {
    /// The clock, of a span of time, with which `place` puts an entity on a CPU's queue; `guess` if nothing tells it.
    pub(super) fn placing_clock(
        &mut self,
        cpu: CpuId,
        se: SeId,
        guess: u64,
        (earliest, latest): (u64, u64),
        place: impl Fn(&mut Sched, u64),
    ) -> u64 {
        let Some(se) = self.beside_group(cpu, se) else {
            return guess;
        };
        let told = self.told_clock(cpu, se, guess, (earliest, latest), place);
        if told.is_none() {
            self.sched.guess_clock(Some(cpu));
        }
        told.unwrap_or(guess)
    }

    /// The clock that the entity's next virtual runtime tells.
    fn told_clock(
        &mut self,
        cpu: CpuId,
        se: SeId,
        guess: u64,
        (earliest, latest): (u64, u64),
        place: impl Fn(&mut Sched, u64),
    ) -> Option<u64> {
        let shown = self.next_shown(se)?;
        let ahead = |clock: u64| {
            let mut copy = self.sched.clone();
            place(&mut copy, clock);
            copy.ses[se].vruntime.wrapping_sub(shown).cast_signed()
        };
        let by = ahead(guess);
        let mut least = earliest.max(self.sched.rqs[cpu].clock);
        let mut most = latest.max(guess);
        if by == 0 {
            return Some(guess);
        }
        if least > most || ahead(least) > 0 || ahead(most) < 0 {
            return None;
        }
        while least < most {
            let middle = least + (most - least) / 2;
            if ahead(middle) >= 0 {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        if ahead(least) != 0 {
            return None;
        }
        self.clock_told.insert(se, (self.at, by));
        Some(least)
    }

    /// The entity, itself or a group's above, that joins a queue of a CPU where a group runs.
    fn beside_group(&self, cpu: CpuId, mut se: SeId) -> Option<SeId> {
        let mut cfs_rq = self.queue_on(cpu, se);
        loop {
            let running = self.sched.cfs_rqs[cfs_rq].curr;
            if running.is_some() {
                return (!self.sched.ses[running].is_task()).then_some(se);
            }
            se = self.sched.cfs_rqs[cfs_rq].se;
            if se.is_none() {
                return None;
            }
            cfs_rq = self.sched.ses[se].cfs_rq;
        }
    }

    /// The virtual runtime that an entity has where it is next shown, or had before it was first charged.
    fn next_shown(&self, se: SeId) -> Option<u64> {
        let told = &self.sched.probes.as_ref()?.told;
        let placed = |told: &&Told| told.point == ProbePoint::PlaceEntity && told.se == se;
        if let Some(told) = told.iter().find(placed) {
            let next = self.times.shown(told.id, self.at)?;
            let What::Probe { values, .. } = &self.records[next].what else {
                return None;
            };
            return values[ProbeField::Vruntime as usize];
        }
        let entity = &self.sched.ses[se];
        let (next, runtime) = *self
            .times
            .charges(self.pid(entity.task)?, self.at)
            .first()?;
        let What::Runtime {
            vruntime: Some(charged),
            ..
        } = self.records[next].what
        else {
            return None;
        };
        let mut load = entity.load;
        Some(charged.wrapping_sub(load.calc_delta_fair(runtime)))
    }
}
