//! What a CPU has recorded of a call that is not over yet.

use super::hotplug::Offline;
use super::looks::Looks;
use super::ticks::Charged;
use crate::judge::Class;
use fairwind_sched::domain::SdId;
use fairwind_sched::probe::Told;
use fairwind_sched::replay::LeftLoad;
use fairwind_sched::{CfsRqId, CpuId, Sched, TaskId};
use std::collections::BTreeMap;

/// A move that balancing recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) task: TaskId,
    pub(super) orig: u32,
    pub(super) dest: u32,
}

/// What was looked up of a running task's charges to come: looking it up at each record takes long.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChargesOf {
    pub(super) task: TaskId,
    /// The record after which.
    pub(super) since: usize,
    /// The first one, by record, and its runtime.
    pub(super) first: Option<(usize, u64)>,
    /// The record with which its CPU switches without having charged it again, before that.
    pub(super) uncharged: Option<usize>,
}

impl ChargesOf {
    /// Is the same to come for `task` after the record `since`, too?
    pub(super) fn hold(&self, task: TaskId, since: usize) -> bool {
        let nothing_between = self.first.is_none_or(|(charge, _)| charge > since)
            && self.uncharged.is_none_or(|switch| switch > since);
        self.task == task && self.since <= since && nothing_between
    }
}

/// The charges of a CPU's running task.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges {
    /// The next one, by task and record, and the clock that this tells.
    pub(super) next: Option<(TaskId, usize, u64)>,
    /// Those to come.
    pub(super) known: Option<ChargesOf>,
    /// The record to come of one that ours has already made in another call.
    pub(super) made_ahead: Option<(TaskId, usize)>,
    /// The record with which the CPU next leaves idle, and the latest that its clock can be then.
    pub(super) leaves_idle: Option<(usize, u64)>,
}

impl Charges {
    /// The record to come of one of a task's that ours has already made.
    pub(super) fn made_of(&self, task: TaskId) -> Option<usize> {
        let made = self.made_ahead;
        made.and_then(|(of, charge)| (of == task).then_some(charge))
    }
}

/// What a CPU has recorded of a call that is not over yet.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuContext {
    /// Its own clock, updated by a call that no record has named yet.
    pub(super) pending_clock: Option<u64>,
    /// That was charged after a probe showed the running task being put back.
    pub(super) charged_by_put: bool,
    /// A child that its running task has forked, the record of which is still to come.
    pub(super) forked_ahead: Option<TaskId>,
    /// The task it is waking and queueing, between `sched_waking` and `sched_wakeup`.
    pub(super) waking: Option<i32>,
    /// What was charged as it queued the task that it is waking has asked for a reschedule.
    pub(super) resched_by_charge: bool,
    /// Clocks that it updated on queues while holding their lock.
    pub(super) clocks: BTreeMap<u32, u64>,
    /// Moves out of `schedule()`.
    pub(super) moves: Vec<Move>,
    /// What its stopper, or a task that changes where others may run, has taken off a queue and is still to put on another one.
    pub(super) in_flight: Option<Move>,
    /// Moves out of interrupts.
    pub(super) irq_moves: Vec<Move>,
    /// In the timer's interrupt; whether its tick has run.
    pub(super) in_timer: Option<bool>,
    /// The balancing softirq is raised and waits for those that wake somebody.
    pub(super) balances_later: bool,
    /// Its tick comes once the same interrupt has woken somebody.
    pub(super) tick_waits: bool,
    /// Domains that the balancing softirq, in which something is moved, is still to balance.
    pub(super) to_balance: Vec<SdId>,
    /// If it takes no tasks, how far down it is.
    pub(super) offline: Offline,
    /// When that softirq was raised, until it begins.
    pub(super) softirq_raised: Option<u64>,
    /// It was kicked to balance for all idle CPUs, and moves something in that softirq.
    pub(super) kicked: bool,
    /// Domains that it has balanced in the softirq that is going on, and for which CPU.
    pub(super) balanced: Vec<(CpuId, SdId)>,
    /// The balancing softirq was raised while it ran, and is to run once more.
    pub(super) raised_again: bool,
    /// A throttled queue that goes back to work, at this clock, while records show where it and the groups above are placed.
    pub(super) returning: Option<(CfsRqId, u64)>,
    /// The address of a task's entity that is put back after a change, while records show where groups above it are placed.
    pub(super) requeueing: Option<u64>,
    /// The record with which a probe showed that one was back, and the clock by which it was put back.
    pub(super) put_back: Option<(usize, u64)>,
    /// The softirq was raised by a tick after which another one runs at once.
    pub(super) softirq_waits: bool,
    /// It has picked the task that ran, after another CPU took one from it.
    pub(super) goes_on_later: bool,
    /// Its running task has yielded and is still to call `schedule()`.
    pub(super) yields: bool,
    /// Queues that its running task has left, and their virtual times before that, until its switch is recorded.
    pub(super) left: Vec<(CfsRqId, u64)>,
    /// What tasks have left on its queues since it set the task to which it is about to switch.
    pub(super) left_late: Vec<LeftLoad>,
    /// A tick whose outcome its next record shows.
    pub(super) charged: Option<Charged>,
    /// Everything as it was when the pass began of which moves are being gathered.
    pub(super) before_pass: Option<Box<Sched>>,
    /// Everything as it has been since its last record before that pass.
    pub(super) looks: Option<Looks>,
    /// When the first record of that pass was written.
    pub(super) pass_ts: u64,
    /// When the first probe of the call that is going on was hit.
    pub(super) first_probe: Option<u64>,
    /// CPUs whose stoppers the softirq woke, and where these will push the running task.
    pub(super) pushes: Vec<(CpuId, CpuId)>,
    /// Its running task has gone to another group, and the record of that is still to come.
    pub(super) requeued_by_attach: bool,
    /// Its stopper was woken to push the running task: whether ours would have done so, and why not.
    pub(super) pushed: Option<(bool, Class)>,
    /// The task that was charged before its stopper was woken, outside interrupts.
    pub(super) stopper_woken_for: Option<TaskId>,
    /// It is in a timer interrupt, whose last record was at this time.
    pub(super) in_timers: Option<u64>,
    /// The record with which it was last chosen for a task that is left to it to queue.
    pub(super) left_by: Option<usize>,
    /// What probes showed of entities.
    pub(super) told: Vec<Told>,
    /// When its last record was written that is not inside a call.
    pub(super) last_ts: u64,
    /// Whether its last record found a reschedule asked for.
    pub(super) last_resched: bool,
}
