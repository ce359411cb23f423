//! In which phase the period of each limit runs, and on which CPU its timer is.
//!
//! Model.      A throttled queue goes back to work soon after the timer interrupt that refilled its pool.
//!             So that phase and CPU are taken, of all timer interrupts, whose periods the returns follow
//!             most closely: the least sum of logarithms of the times between.
//!             Returns are seen where a task runs on an idle CPU that was runnable before and was neither
//!             woken nor moved, and where `place_entity` in an interrupt shows a group's entity first.
//!             Where periods begin with the clock of timers (6.1), the phase follows from that clock.
//!             A timer that is believed on one CPU is on another one if that one's interrupts serve its next periods much sooner.
//! Units.      ns of the trace clock.
//! Source.     kernel/sched/fair.c `init_cfs_bandwidth`, `start_cfs_bandwidth` @ 6.1, 6.12.

use super::group_courses::Courses;
use super::requeues::ENQUEUE_WAKEUP;
use crate::facts::{Facts, GroupFacts};
use crate::record::{PrevState, Record, What};
use fairwind_sched::probe::ProbePoint;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const NS_PER_US: u64 = 1000;
/// So many periods tell that a timer is on another CPU, if that serves each sooner: in the mean, by more than so many octaves.
const TELLING_PERIODS: u64 = 10;
const SOONER_OCTAVES: u64 = 3;
/// More returns than this do not tell more.
const MAX_RETURNS: usize = 64;
/// What one call places comes sooner after one another than this, what two interrupts do later.
pub(super) const CALL_NS: u64 = 1_000_000;

/// When the timer of a limit expires first, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    /// In the first period.
    pub(super) expires: u64,
    /// The CPU whose interrupt it is at first.
    pub(super) cpu: u32,
}

/// The phases of all limits, by the path of the group.
#[derive(Debug, Default)]
pub(super) struct Phases {
    phases: BTreeMap<String, Phase>,
    /// The timer interrupts of each CPU, if there are limits.
    interrupts: BTreeMap<u32, Vec<u64>>,
}

impl Phases {
    /// Finds the phases in a recording.
    pub(super) fn find(facts: &Facts, records: &[Record], periods: &Courses) -> Phases {
        let mut phases = Phases::default();
        let limited: Vec<(&String, &GroupFacts)> = facts
            .groups
            .iter()
            .filter(|(_, group)| group.had_limit())
            .collect();
        if limited.is_empty() {
            return phases;
        }
        let returns = returns(records);
        for r in records.iter().filter(|r| r.what == What::Timer) {
            phases.interrupts.entry(r.cpu).or_default().push(r.ts);
        }
        let no_returns = Vec::new();
        for (path, group) in limited {
            let course = periods.0.get(path).map_or(&[][..], Vec::as_slice);
            let period = course.first().map_or(group.period_us, |(_, first)| *first) * NS_PER_US;
            let changes = course.get(1).and_then(|(at, _)| records.get(*at));
            let returns = returns.get(path).unwrap_or(&no_returns);
            let first = changes.map_or(returns.len(), |r| returns.partition_point(|ts| *ts < r.ts));
            let returns = &returns[..first.min(MAX_RETURNS)];
            let start = facts.start_of_periods();
            let known = start.map(|start| i128::from(start).rem_euclid(i128::from(period)) as u64);
            if let Some(phase) = best_phase(&phases.interrupts, period, returns, known) {
                phases.phases.insert(path.clone(), phase);
            }
        }
        phases
    }

    /// The phase of a group's period, if the recording tells it.
    pub(super) fn of(&self, path: &str) -> Option<Phase> {
        self.phases.get(path).copied()
    }

    /// When a timer expired after `since` that its CPU's interrupts have not served at `now`, if one did.
    pub(super) fn unserved(
        &self,
        phase: Phase,
        period: u64,
        [since, now]: [u64; 2],
    ) -> Option<u64> {
        let into = (now % period + period - phase.expires % period) % period;
        let expired = now.checked_sub(into).filter(|&expired| expired > since)?;
        let interrupts = self.interrupts.get(&phase.cpu)?;
        let served = interrupts.partition_point(|&interrupt| interrupt < expired);
        interrupts
            .get(served)
            .is_none_or(|&interrupt| interrupt > now)
            .then_some(expired)
    }

    /// When a CPU's next timer interrupt begins.
    pub(super) fn next_interrupt(&self, cpu: u32, since: u64) -> Option<u64> {
        let interrupts = self.interrupts.get(&cpu)?;
        let next = interrupts.partition_point(|&interrupt| interrupt <= since);
        interrupts.get(next).copied()
    }

    /// The CPU whose interrupt it is when a timer expires next that is believed on `cpu`.
    pub(super) fn serving_cpu(&self, cpu: u32, expires: u64, period: u64) -> u32 {
        let lateness = |interrupts: &[u64]| -> u64 {
            let all =
                (0..TELLING_PERIODS).map(|n| expires.saturating_add(n.saturating_mul(period)));
            let late = all.map(|expires| {
                let at = interrupts.partition_point(|&interrupt| interrupt < expires);
                let late = interrupts.get(at).map(|served| served - expires);
                logarithm(late.map_or(period, |late| late.min(period)))
            });
            late.sum()
        };
        let others = self
            .interrupts
            .iter()
            .map(|(&other, at)| (lateness(at), other));
        let (Some(interrupts), Some((least, other))) = (self.interrupts.get(&cpu), others.min())
        else {
            return cpu;
        };
        let sooner = 16 * SOONER_OCTAVES * TELLING_PERIODS;
        if least + sooner < lateness(interrupts) {
            other
        } else {
            cpu
        }
    }
}

/// The latest of the phases that explain the returns best: a timer expires before its interrupt begins, and
/// none of its interrupts is further from the earliest than that.
fn best_phase(
    interrupts: &BTreeMap<u32, Vec<u64>>,
    period: u64,
    returns: &[u64],
    known: Option<u64>,
) -> Option<Phase> {
    let before = |ts: u64, at: &[u64]| {
        let next = at.partition_point(|&interrupt| interrupt <= ts);
        next.checked_sub(1).map(|last| at[last] % period)
    };
    let seen = returns
        .iter()
        .flat_map(|&ts| interrupts.values().filter_map(move |at| before(ts, at)));
    let candidates: BTreeSet<u64> = match known {
        Some(phase) => BTreeSet::from([phase]),
        None => seen.collect(),
    };
    let (_, _, phase) = candidates
        .into_iter()
        .filter_map(|phase| {
            let (cost, cpu) = cost(interrupts, phase, period, returns)?;
            let phase = Phase {
                expires: phase,
                cpu,
            };
            Some((cost, Reverse(phase.expires), phase))
        })
        .min_by_key(|&(cost, latest, _)| (cost, latest))?;
    Some(phase)
}

/// How closely returns follow the interrupts that a timer of this phase has: the sum of the logarithms of the
/// times between, with the CPU of the first. The timer stops when nothing is used and starts again
/// wherever something is, so it may change its CPU: that costs as much as a return a period late.
fn cost(
    interrupts: &BTreeMap<u32, Vec<u64>>,
    phase: u64,
    period: u64,
    returns: &[u64],
) -> Option<(u64, u32)> {
    let change = logarithm(period);
    // The least cost up to a return that each CPU's timer explains, and where that way began.
    let mut ways: Vec<(u64, u32)> = interrupts.keys().map(|&cpu| (0, cpu)).collect();
    for &ts in returns {
        let (least, began) = *ways.iter().min()?;
        for (way, at) in ways.iter_mut().zip(interrupts.values()) {
            if least + change < way.0 {
                *way = (least + change, began);
            }
            way.0 += logarithm(delay(at, phase, period, ts).unwrap_or(period));
        }
    }
    ways.into_iter().min()
}

/// How long after the latest interrupt of a CPU that served a timer of this phase.
fn delay(interrupts: &[u64], phase: u64, period: u64, ts: u64) -> Option<u64> {
    let mut expires = ts.checked_sub(phase)? / period * period + phase;
    loop {
        let at = interrupts.partition_point(|&interrupt| interrupt < expires);
        if let Some(served) = interrupts.get(at).filter(|&&served| served <= ts) {
            return Some(ts - served);
        }
        expires = expires.checked_sub(period)?;
    }
}

/// The binary logarithm of a time in µs, in 1/16.
pub(super) fn logarithm(ns: u64) -> u64 {
    let us = ns / NS_PER_US + 1;
    let exponent = u64::from(us.ilog2());
    16 * exponent + ((16 * (us - (1 << exponent))) >> exponent)
}

/// What is known of a task.
#[derive(Clone, Debug, Default)]
struct Seen {
    group: String,
    /// It was runnable when it was last switched away from, and was neither woken nor moved since.
    waits: bool,
}

/// The times at which throttled queues of each group went back to work, as far as the trace shows.
pub(super) fn returns(records: &[Record]) -> BTreeMap<String, Vec<u64>> {
    let mut returns: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut tasks: BTreeMap<i32, Seen> = BTreeMap::new();
    let mut entities: BTreeMap<u64, String> = BTreeMap::new();
    let mut owners: BTreeMap<i32, u64> = BTreeMap::new();
    let mut chains: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut placing: BTreeMap<u32, (u64, Option<String>)> = BTreeMap::new();
    for r in records {
        match &r.what {
            What::Attach { pid, path, .. } => tasks.entry(*pid).or_default().group.clone_from(path),
            What::Fork { parent, child, .. } => {
                let group = tasks.get(parent).map(|task| task.group.clone());
                let group = group.unwrap_or_default();
                let waits = false;
                tasks.insert(*child, Seen { group, waits });
            }
            What::Wakeup { pid, .. } | What::Waking { pid, .. } | What::Migrate { pid, .. } => {
                tasks.entry(*pid).or_default().waits = false;
            }
            What::Probe { .. } if !r.what.shows_entity() => continue,
            What::Probe {
                point: ProbePoint::SetNextEntity,
                address,
                ..
            } => chains.entry(r.cpu).or_default().push(*address),
            What::Probe {
                point: ProbePoint::PlaceEntity,
                address,
                flags,
                ..
            } => {
                let group = entities.get(address);
                let before = placing.get(&r.cpu);
                let before = before.filter(|(ts, _)| r.ts.saturating_sub(*ts) < CALL_NS);
                let alone = before.is_none_or(|(_, below)| {
                    let above = below.as_ref().map(|below| parent(below));
                    above.is_some_and(|above| Some(above) != group.map(String::as_str))
                });
                if let Some(group) = group
                    && r.irq
                    && *flags == Some(ENQUEUE_WAKEUP)
                    && alone
                {
                    returns.entry(group.clone()).or_default().push(r.ts);
                }
                placing.insert(r.cpu, (r.ts, group.cloned()));
                continue;
            }
            What::Switch {
                prev,
                prev_state,
                next,
            } => {
                let task = tasks.entry(next.pid).or_default().clone();
                let chain = chains.remove(&r.cpu).unwrap_or_default();
                // The task's own entity is the first that is set, and groups that both tasks are in are not.
                let own = owners.get(&next.pid);
                let own = chain.iter().rposition(|address| own == Some(address));
                let own = own.unwrap_or(0);
                if let Some(address) = chain.get(own) {
                    owners.insert(next.pid, *address);
                }
                let mut path = task.group.as_str();
                for address in chain.iter().skip(own + 1) {
                    if path.len() > 1 {
                        entities.insert(*address, path.to_owned());
                        path = parent(path);
                    }
                }
                if prev.pid == 0 && task.waits && entities.is_empty() {
                    let mut path = task.group.as_str();
                    while path.len() > 1 {
                        returns.entry(path.to_owned()).or_default().push(r.ts);
                        path = parent(path);
                    }
                }
                tasks.entry(prev.pid).or_default().waits = *prev_state == PrevState::Runnable;
            }
            What::Runtime { .. } => continue,
            _ => {}
        }
        placing.remove(&r.cpu);
    }
    returns
}

/// The group above, empty above the first level.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_phase_is_that_of_the_interrupts_which_returns_follow() {
        // Ticks of 4 ms on both CPUs, and on CPU 1 a timer of 50 ms at 7.3 ms, served 30 µs late.
        let timer: Vec<u64> = (0..12).map(|k| k * 50 * MS + 7_330_000).collect();
        let ticks = |start: u64| (0..150).map(move |k| start + k * 4 * MS);
        let mut on_1: Vec<u64> = ticks(1_500_000).chain(timer.iter().copied()).collect();
        on_1.sort_unstable();
        let interrupts = BTreeMap::from([(0, ticks(20_000).collect()), (1, on_1)]);
        let returns: Vec<u64> = timer.iter().skip(2).map(|at| at + 90_000).collect();
        let phase = best_phase(&interrupts, 50 * MS, &returns, None);
        let expires = 7_330_000;
        assert_eq!(phase, Some(Phase { expires, cpu: 1 }));
        let known = best_phase(&interrupts, 50 * MS, &returns, Some(7_300_000));
        let expires = 7_300_000;
        assert_eq!(known, Some(Phase { expires, cpu: 1 }));
        assert_eq!(best_phase(&interrupts, 50 * MS, &[], None), None);
    }

    #[test]
    fn a_timer_is_unserved_until_its_cpu_is_next_interrupted() {
        let phases = Phases {
            interrupts: BTreeMap::from([(0, vec![15 * MS, 22 * MS]), (1, vec![8 * MS])]),
            ..Phases::default()
        };
        let expires = 17 * MS;
        let unserved = |cpu, since, now| {
            let phase = Phase { expires, cpu };
            phases.unserved(phase, 10 * MS, [since * MS, now * MS])
        };
        assert_eq!(unserved(0, 5, 20), Some(17 * MS));
        assert_eq!(unserved(0, 18, 20), None, "it expired before that");
        assert_eq!(unserved(0, 5, 23), None);
        assert_eq!(unserved(1, 5, 7), Some(7 * MS), "at once");
        assert_eq!(unserved(2, 5, 20), None, "no CPU of the recording");
    }

    #[test]
    fn a_timer_is_on_the_cpu_that_serves_it_much_sooner() {
        let served = |late: u64| (0..12).map(|k| k * 50 * MS + 7 * MS + late).collect();
        let phases = Phases {
            interrupts: BTreeMap::from([(0, served(4 * MS)), (1, served(MS)), (2, vec![])]),
            ..Phases::default()
        };
        let cpu = |believed| phases.serving_cpu(believed, 57 * MS, 50 * MS);
        assert_eq!(
            (cpu(0), cpu(1), cpu(2)),
            (0, 1, 1),
            "four times is not much"
        );
    }

    #[test]
    fn a_timer_that_is_late_is_served_by_the_next_interrupt() {
        let interrupts = [10 * MS, 31 * MS, 48 * MS];
        assert_eq!(delay(&interrupts, 5 * MS, 20 * MS, 32 * MS), Some(MS));
        assert_eq!(delay(&interrupts, 5 * MS, 20 * MS, 30 * MS), Some(20 * MS));
        assert_eq!(delay(&interrupts, 5 * MS, 20 * MS, 9 * MS), None);
    }
}
