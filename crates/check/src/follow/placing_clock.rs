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
use fairwind_sched::{CfsRqId, CpuId, Sched, SeId};

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
        let least = earliest.max(self.sched.rqs[cpu].clock);
        let most = latest.max(guess);
        if by == 0 {
            return Some(guess);
        }
        if least > most {
            return None;
        }
        let clock = first_root(least, most, ahead)?;
        self.clock_told.insert(se, (self.at, by));
        Some(clock)
    }

    /// Does a CPU queue a task without charging the one that runs?
    pub(super) fn queued_without_charge(&self, cpu: u32, pid: i32) -> bool {
        let cpu = CpuId(cpu);
        let Some(task) = self.known(pid) else {
            // It is in no group, as far as is known.
            return self.group_runs_on(self.sched.rqs[cpu].cfs) == Some(true);
        };
        let se = self.sched.tasks[task].se;
        !self.sched.is_fair(task) || self.beside_group(cpu, se).is_some()
    }

    /// Is what runs on a queue a group's entity?
    fn group_runs_on(&self, cfs_rq: CfsRqId) -> Option<bool> {
        let running = self.sched.cfs_rqs[cfs_rq].curr.get();
        running.map(|se| !self.sched.ses[se].is_task())
    }

    /// The entity, itself or a group's above, that joins a queue of a CPU where a group runs.
    fn beside_group(&self, cpu: CpuId, mut se: SeId) -> Option<SeId> {
        let mut cfs_rq = self.queue_on(cpu, se);
        loop {
            if let Some(of_group) = self.group_runs_on(cfs_rq) {
                return of_group.then_some(se);
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

/// How often the line through two points is tried before halves are.
const LINES: u32 = 4;

/// The first of `least..=most` at which `f`, which rises, is 0. It is nearly a line, and each look at it copies a scheduler.
fn first_root(least: u64, most: u64, f: impl Fn(u64) -> i64) -> Option<u64> {
    let (mut below, mut at_below) = (least, f(least));
    if at_below >= 0 {
        return (at_below == 0).then_some(least);
    }
    let (mut above, mut at_above) = (most, f(most));
    let mut lines = 0;
    while at_above >= 0 && above - below > 1 {
        let span = above - below;
        let rise = at_above.abs_diff(at_below);
        let step = if lines < LINES && rise > 1 {
            let part = u128::from(span) * u128::from(at_below.unsigned_abs()) / u128::from(rise);
            part.clamp(1, u128::from(span - 1)) as u64
        } else {
            span / 2
        };
        lines += 1;
        let middle = below + step;
        let at = f(middle);
        if at >= 0 {
            (above, at_above) = (middle, at);
        } else {
            (below, at_below) = (middle, at);
        }
    }
    (at_above == 0).then_some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_root_of_what_rises_in_steps() {
        let steps = |per: i64, root: i64| move |x: u64| (x as i64 - root).div_euclid(per);
        for per in [1, 7, 100] {
            for root in [1000, 1001, 5000, 90_000] {
                assert_eq!(
                    first_root(1000, 90_000, steps(per, root)),
                    Some(root as u64)
                );
            }
            assert_eq!(first_root(1000, 90_000, steps(per, 90_001)), None);
            assert_eq!(first_root(1000, 90_000, steps(per, 1000 - per)), None);
        }
        // One that leaps over it, and one that is no line.
        assert_eq!(first_root(0, 100, |x| if x < 50 { -3 } else { 2 }), None);
        let bent = |x: u64| (x * x) as i64 - 1_000_000;
        assert_eq!(first_root(0, 1 << 20, bent), Some(1000));
    }
}
