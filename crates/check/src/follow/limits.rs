//! CPU limits: when period timers refilled the pools, and which queues were throttled.
//!
//! Model.      A timer belongs to the CPU that armed it, and its handler runs in the first timer interrupt
//!             of that CPU after it expired. What interrupts tell of that: see `limit_timers`. When the queues that it gave
//!             runtime to go back to work: see `returns`.
//! Source.     kernel/sched/fair.c `sched_cfs_period_timer`, `distribute_cfs_runtime` @ 6.1, 6.12.
//! Deviations. Limits are set when the first task comes, or when they change: see `quotas`.

use super::Follower;
use super::exhausted::COULD_RUN;
use super::periods::quota_in;
use super::phases::Phase;
use super::quotas::NO_LIMIT;
use super::tick_grid::Ticks;
use crate::record::{Record, What};
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::{BandwidthLimit, CfsRqId, CpuId, Effect, GroupId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

const NS_PER_US: u64 = 1000;
/// So many periods the timer of a limit runs that nobody needs.
const IDLE_PERIODS: u64 = 2;

/// Which timer of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Period,
    Slack,
}

type Timer = (GroupId, Kind);

/// A timer that is armed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    pub(super) cpu: u32,
    pub(super) expires: u64,
}

/// What the follower knows of limits beside the scheduler's own state.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) armed: BTreeMap<Timer, Armed>,
    pub(super) ticks: Ticks,
    /// The CPU whose interrupt has shown that it has a group's period timer.
    pub(super) shown: BTreeMap<GroupId, u32>,
    /// When each group was made, if that is recorded.
    pub(super) made: BTreeMap<GroupId, u64>,
    /// Groups whose limit is set.
    set: BTreeSet<GroupId>,
    /// The record of the interrupt that last gave a group's queues runtime.
    pub(super) refills: BTreeMap<GroupId, usize>,
    /// Groups whose queues go back to work in an interrupt that is not over.
    pub(super) returning: BTreeSet<GroupId>,
    /// Probes of `place_entity` show each queue that goes back to work.
    pub(super) placements: bool,
    /// What queues took from their pools since those were last refilled.
    pub(super) taken: BTreeMap<CfsRqId, u64>,
    /// They are being looked for: whether queues run out of runtime in ours tells how good they are.
    pub(super) are_tried: bool,
}

impl Limits {
    pub(super) fn new(records: &[Record], tick_nsec: u64, phase: Option<u64>) -> Limits {
        let shows = |r: &Record| {
            let What::Probe { point, flags, .. } = r.what else {
                return false;
            };
            point == ProbePoint::PlaceEntity && flags.is_some()
        };
        Limits {
            placements: records.iter().any(shows),
            ticks: Ticks::new(records, tick_nsec, phase),
            ..Limits::default()
        }
    }

    /// Is any set?
    pub(super) fn are_set(&self) -> bool {
        !self.set.is_empty()
    }

    /// A CPU leaves idle.
    pub(super) fn restart_ticks(&mut self, r: &Record) {
        self.ticks.served(r.cpu, r.ts);
    }
}

impl Follower<'_> {
    /// A task goes to a group: by now the limits of the group and of those above it are set.
    pub(super) fn set_limits(&mut self, r: &Record, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.set_limits(r, above);
        }
        let is_set = |group| self.limits.set.contains(group);
        if path.len() <= 1 || self.groups.get(path).is_none_or(is_set) {
            return;
        }
        let last = self.facts.groups.get(path).and_then(|facts| facts.quota_us);
        let quota = self.quotas.value_at(path, self.at).or(last);
        if let Some(quota_us) = quota.filter(|quota| *quota != NO_LIMIT) {
            self.set_limit(r, path, quota_us);
        }
    }

    /// Sets the limit of a group to this quota in its last period.
    fn set_limit(&mut self, r: &Record, path: &str, quota_us: u64) {
        let (Some(&group), Some(facts)) = (self.groups.get(path), self.facts.groups.get(path))
        else {
            return;
        };
        let phase = self.phases.of(path);
        let first = self.limits.set.insert(group);
        if let Some(phase) = phase.filter(|_| first) {
            self.sched.groups[group].bandwidth.period_expires = phase.expires;
        }
        let period_us = self.periods.value_at(path, self.at);
        let period_us = period_us.unwrap_or(facts.period_us);
        let quota_us = quota_in(period_us, quota_us, facts.period_us);
        let burst_us = facts.burst_us.min(quota_us);
        let limit = BandwidthLimit {
            quota: quota_us.saturating_mul(NS_PER_US),
            period: period_us * NS_PER_US,
            burst: burst_us * NS_PER_US,
        };
        let set = if first {
            self.sched.set_first_bandwidth(group, limit, r.ts)
        } else {
            self.sched.set_bandwidth(group, limit, r.ts)
        };
        let is_set = set.is_ok();
        if !is_set {
            self.judge.mended("groups with settings that cannot be");
        }
        self.take_effects(phase.map_or(r.cpu, |phase| phase.cpu));
        if let Some(phase) = phase.filter(|_| first && is_set) {
            self.leave_unserved(r, group, phase, limit.period);
        }
    }

    /// A group's limit is set before its first task comes, as the group is made. If its timer has expired since, and that was not
    /// served yet, it will be. A timer that nobody needs is not started again the second time that it expires.
    fn leave_unserved(&mut self, r: &Record, group: GroupId, phase: Phase, period: u64) {
        let made = self.limits.made.get(&group);
        let unserved = made.and_then(|&made| {
            let expired = self.phases.unserved(phase, period, [made, r.ts])?;
            (expired - made <= IDLE_PERIODS * period).then_some(expired)
        });
        if let Some(expires) = unserved {
            self.sched.groups[group].bandwidth.period_expires = expires;
            let cpu = phase.cpu;
            let armed = Armed { cpu, expires };
            self.limits.armed.insert((group, Kind::Period), armed);
        }
    }

    /// Before a record is followed: groups get the limits that they have from then on.
    pub(super) fn change_limits(&mut self, r: &Record) {
        let changes = self
            .quotas
            .changes(self.at)
            .chain(self.periods.changes(self.at));
        let changes: BTreeSet<String> = changes.map(|(path, _)| path.clone()).collect();
        for path in changes {
            let Some(quota_us) = self.quotas.value_at(&path, self.at) else {
                continue;
            };
            self.judge
                .mended("limits that were set while their group worked");
            self.set_limit(r, &path, quota_us);
        }
    }

    /// Arms the timers that a call on `cpu` asked for; other effects are the trace's to tell.
    pub(super) fn take_effects(&mut self, cpu: u32) {
        for effect in std::mem::take(&mut self.sched.effects) {
            let (timer, expires, cpu) = match effect {
                Effect::StartPeriodTimer { group, expires } => {
                    let period = self.sched.groups[group].bandwidth.period;
                    let is_shown = self.limits.shown.get(&group) == Some(&cpu);
                    let serving = || self.phases.serving_cpu(cpu, expires, period);
                    let cpu = if is_shown { cpu } else { serving() };
                    ((group, Kind::Period), expires, cpu)
                }
                Effect::StartSlackTimer { group, expires } => ((group, Kind::Slack), expires, cpu),
                Effect::TakeRuntime { cfs_rq, taken } => {
                    self.note_take(cfs_rq, taken);
                    continue;
                }
                _ => continue,
            };
            self.limits.armed.insert(timer, Armed { cpu, expires });
        }
    }

    /// A timer interrupt begins.
    pub(super) fn timers_expire(&mut self, r: &Record) {
        self.tell_timers(r);
        self.cpu(r.cpu).in_timers = Some(self.lasts_until(r));
        self.run_timers(r.cpu, r.ts, self.interrupt_charges(r.cpu, self.at));
    }

    /// Before a record of a CPU: its timer interrupt goes on, perhaps with what has expired meanwhile, or
    /// it is over, and has run all that had expired.
    pub(super) fn timers_go_on(&mut self, r: &Record) {
        let Some(since) = self.cpu(r.cpu).in_timers else {
            return;
        };
        if r.hardirq() && r.what != What::Timer {
            self.cpu(r.cpu).in_timers = Some(since.max(r.ts));
            let charges = self.is_charged_by(r.cpu, r) || self.interrupt_charges(r.cpu, self.at);
            self.run_timers(r.cpu, r.ts, charges);
        } else {
            self.cpu(r.cpu).in_timers = None;
            while let Some((_, timer)) = self.due(r.cpu, since) {
                self.run_timer(r.cpu, since, timer);
            }
        }
    }

    /// Runs what has expired on a CPU in the order in which it expired: not before the tick, if that is
    /// first and still to come, nor before a queue of this CPU is back that an earlier one gave runtime to.
    pub(super) fn run_timers(&mut self, cpu: u32, now: u64, tick: bool) {
        while let Some((expires, timer)) = self.due(cpu, now) {
            let tick_first = tick && self.limits.ticks.expires(cpu, now) < expires;
            let returning =
                self.limits.placements && !self.sched.rqs[CpuId(cpu)].cfsb_csd.is_empty();
            if tick_first || returning {
                return;
            }
            self.run_timer(cpu, now, timer);
        }
    }

    /// Is the interrupt that gives a group's queues runtime not over yet? Ours has done that as it began.
    pub(super) fn is_being_refilled(&self, group: GroupId) -> bool {
        let Some(&(mut at)) = self.limits.refills.get(&group) else {
            return false;
        };
        while self.records[at].hardirq() {
            match self.next_on_cpu[at] {
                Some(next) if next > self.at => return true,
                Some(next) if self.records[next].what != What::Timer => at = next,
                _ => return false,
            }
        }
        false
    }

    /// The timer of a CPU that has expired first.
    pub(super) fn due(&self, cpu: u32, now: u64) -> Option<(u64, Timer)> {
        let due = |(&timer, armed): (&Timer, &Armed)| {
            (armed.cpu == cpu && armed.expires <= now).then_some((armed.expires, timer))
        };
        self.limits.armed.iter().filter_map(due).min()
    }

    fn run_timer(&mut self, cpu: u32, now: u64, timer: Timer) {
        self.limits.armed.remove(&timer);
        self.limits.refills.insert(timer.0, self.at);
        self.forget_takes(timer.0);
        if !self.limits.placements {
            self.limits.returning.insert(timer.0);
        }
        match timer {
            (group, Kind::Period) => {
                self.sched.follow_period_timer(group, now);
            }
            (group, Kind::Slack) => self.sched.follow_slack_timer(group, now),
        }
        self.take_effects(cpu);
    }

    /// A group's period timer has expired and not run yet: it does.
    pub(super) fn run_late_period_timer(&mut self, r: &Record, group: GroupId) {
        let period = (group, Kind::Period);
        let armed = self.limits.armed.get(&period).copied();
        if let Some(late) = armed.filter(|late| late.expires <= r.ts) {
            self.run_timer(late.cpu, r.ts, period);
        }
    }

    /// Is this record a charge of a CPU's running task in an interrupt?
    pub(super) fn is_charged_by(&self, cpu: u32, r: &Record) -> bool {
        let curr = self.pid(self.sched.rqs[CpuId(cpu)].curr);
        matches!(r.what, What::Runtime { pid, .. } if r.hardirq() && Some(pid) == curr)
    }

    /// Does the interrupt go on after a record with a charge of the running task?
    pub(super) fn interrupt_charges(&self, cpu: u32, at: usize) -> bool {
        let mut rest = self.rest_of_interrupt(at);
        rest.any(|r| self.is_charged_by(cpu, r))
    }

    /// The tick of an interrupt has run.
    pub(super) fn tick_is_over(&mut self, r: &Record) {
        self.limits.ticks.served(r.cpu, r.ts);
        self.run_timers(r.cpu, r.ts, self.interrupt_charges(r.cpu, self.at));
    }

    /// The queues that a task and its groups are on, none for one that is not fair.
    pub(super) fn queues_above(&self, task: TaskId) -> Vec<CfsRqId> {
        let mut queues = Vec::new();
        let mut se = self.sched.tasks[task].se;
        while self.sched.is_fair(task) && se.is_some() {
            queues.push(self.sched.ses[se].cfs_rq);
            se = self.sched.ses[se].parent;
        }
        queues
    }

    /// The kernel's tick goes on with who runs, ours would ask for another pick: is that because the one whom ours would run
    /// next is out of runtime, or, if that is who runs, because all others are, and it is alone?
    pub(super) fn throttle_next(&mut self, r: &Record) {
        let cpu = CpuId(r.cpu);
        let curr = self.sched.rqs[cpu].curr;
        if self.limits.set.is_empty() || !self.sched.is_fair(curr) {
            return;
        }
        let mut copy = self.copy();
        copy.newidle_balancing = false;
        let next = copy.schedule(cpu, self.sched.rqs[cpu].clock, false).next;
        if next != curr {
            self.throttle_passed(r, next, curr);
            return;
        }
        let mut others = self.candidates(cpu);
        others.retain(|other| *other != curr);
        if others.iter().all(|&other| self.is_passed(r, other, curr)) {
            for other in others {
                self.throttle_above(r, other, curr);
            }
        }
    }

    /// The kernel passed over a task: it is out of runtime if it does not run until its group has some again.
    pub(super) fn throttle_passed(&mut self, r: &Record, task: TaskId, runs: TaskId) {
        if self.is_passed(r, task, runs) {
            self.throttle_above(r, task, runs);
        }
    }

    /// Does a task with a limit not run until its group has runtime again?
    pub(super) fn is_passed(&self, r: &Record, task: TaskId, runs: TaskId) -> bool {
        let least_left = self.least_left(self.limited_above(task, runs));
        let (Some(pid), Some(cfs_rq)) = (self.pid(task), least_left) else {
            return false;
        };
        let refill = self.sched.groups[self.sched.cfs_rqs[cfs_rq].tg]
            .bandwidth
            .period_expires;
        let until_refill = self.records[self.at + 1..].iter();
        let mut until_refill = until_refill.take_while(|r| r.ts < refill);
        let goes_on = |r: &Record| match &r.what {
            What::Switch { next, .. } => next.pid == pid,
            What::Migrate { pid: moved, .. } => *moved == pid,
            _ => false,
        };
        refill > r.ts && !until_refill.any(goes_on)
    }

    /// The queues with a limit above a task, and not above the one that `runs`.
    pub(super) fn limited_above(&self, task: TaskId, runs: TaskId) -> Vec<CfsRqId> {
        let running = self.queues_above(runs);
        let mut limited = self.queues_above(task);
        limited.retain(|cfs_rq| {
            self.sched.cfs_rqs[*cfs_rq].runtime_enabled && !running.contains(cfs_rq)
        });
        limited
    }

    /// The one of some queues that has least left of its limit.
    pub(super) fn least_left(&self, queues: Vec<CfsRqId>) -> Option<CfsRqId> {
        queues.into_iter().min_by_key(|&cfs_rq| {
            let queue = &self.sched.cfs_rqs[cfs_rq];
            let pool = self.sched.groups[queue.tg].bandwidth.runtime;
            (
                queue.runtime_remaining.saturating_add_unsigned(pool),
                cfs_rq,
            )
        })
    }

    /// The kernel does not run this task, although ours would: a queue above it is out of runtime.
    pub(super) fn throttle_above(&mut self, r: &Record, task: TaskId, runs: TaskId) {
        if self.sched.tasks[task].cpu.0 != r.cpu || self.is_throttled(task) {
            return;
        }
        if let Some(cfs_rq) = self.least_left(self.limited_above(task, runs)) {
            let clock = self.clock_at(CpuId(r.cpu), r.ts);
            let refilled = self.is_being_refilled(self.sched.cfs_rqs[cfs_rq].tg);
            self.take_effects(r.cpu);
            if refilled {
                self.give_back(cfs_rq);
            }
            if self.sched.follow_throttle(cfs_rq, clock, refilled) && !refilled {
                self.judge.mended(COULD_RUN);
            }
            self.take_effects(r.cpu);
        }
    }
}
