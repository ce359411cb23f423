//! Priorities and policies that somebody else changes: not recorded, but a later record tells them.
//!
//! Model.      Whoever changes a queued task charges its CPU's running task, outside of every other call of the
//!             scheduler. With such a charge the task of that queue changes whose next record shows another priority
//!             or policy than ours has; if several do, the one that shows it first. Where chrt is used, it is that
//!             which changes policies. The priority is in switches and wakeups; a charge of 6.1 shows a virtual runtime while a
//!             task is of the fair class, and tells so if it is. Such a charge tells a nice level that holds only until the next
//!             change, and SCHED_IDLE, by their weights, and which call is used where a task of this name is changed.
//!             Of a task that leaves its queue before, the difference between its next charge and the one after that tells the policy,
//!             unless the first is its own: with that it may change itself.
//!             Where no virtual runtimes are shown, a task that the kernel passes over again and again is taken for one of
//!             SCHED_IDLE, until the kernel picks it, or has it run on at a tick, where ours does not.
//! Invariants. A decision is answered with what holds by a change before it, not by the decision itself.
//! Deviations. Changes of policies and nice levels are not recorded: of two tasks of a queue that change between the same
//!             records, ours may change one with the charge that the other one's change made.
//! Source.     kernel/sched/core.c `__sched_setscheduler` @ 6.1; syscalls.c @ 6.12.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::entity::LoadWeight;
use fairwind_sched::probe::ProbePoint;
use fairwind_sched::task::{DEFAULT_PRIO, MAX_RT_PRIO};
use fairwind_sched::{CpuId, Policy, Sched, SchedAttr, SeId, TaskId};
use std::ops::Range;

/// The command that changes policies.
const CHRT: &str = "chrt";
/// The priority of a real-time task of which no record shows it: the lowest of them.
pub(super) const UNTOLD_RT_PRIO: i32 = MAX_RT_PRIO - 2;
/// All there are.
const NICE_LEVELS: Range<i32> = -20..20;
/// So many picks and ticks in a row have to tell that a task is not of SCHED_IDLE.
const TELLING: u32 = 2;
/// So many turns of all others a task of SCHED_NORMAL does not wait.
const STARVED: u64 = 4;

/// Does somebody use the command that changes policies?
pub(super) fn uses_chrt(records: &[Record]) -> bool {
    let runs = |r: &Record| matches!(&r.what, What::Switch { next, .. } if next.comm == CHRT);
    records.iter().any(runs)
}

/// The nice level of which something holds, if it does of no other one.
pub(super) fn only_nice(holds: impl Fn(i32) -> bool) -> Option<i32> {
    let mut levels = NICE_LEVELS.filter(|&nice| holds(nice));
    levels.next().filter(|_| levels.next().is_none())
}

/// A task that ours has picked, and the kernel not.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedOver {
    cpu: CpuId,
    /// Since when, by its queue's clock.
    since: u64,
    /// How often the kernel has picked another one.
    picks: u64,
}

impl Follower<'_> {
    /// A charge of a CPU's running task, which no other call explains: a task of that CPU may have been changed.
    pub(super) fn changes_other(&mut self, by: u32, cpu: CpuId) {
        if self.puts_running() {
            return;
        }
        let changes = self
            .queued_on(cpu)
            .filter_map(|task| Some((self.attr_ahead(task)?, task)))
            .filter(|&((_, attr), task)| self.changes(by, task, attr))
            .min_by_key(|&((at, _), _)| at);
        if let Some(((_, attr), task)) = changes {
            self.set_attr(task, attr);
            self.take_effects(cpu.0);
        }
    }

    /// Does a probe of `put_prev_entity` show that it is the running task that is taken off its queue to be changed?
    fn puts_running(&self) -> bool {
        let next = self.next_on_cpu[self.at].map(|next| &self.records[next].what);
        next.and_then(What::probed) == Some(ProbePoint::PutPrevEntity)
    }

    /// Can it be the running task of this CPU that changes another one so? Where chrt is used, it is that which changes policies.
    fn changes(&self, by: u32, task: TaskId, attr: SchedAttr) -> bool {
        let same_policy = attr.policy == self.sched.tasks[task].policy;
        let itself = self.sched.rqs[CpuId(by)].curr == task;
        same_policy || itself || !self.uses_chrt || self.runs_chrt(by)
    }

    /// Is a CPU's running task that command? It may have been switched to before it became that.
    pub(super) fn runs_chrt(&self, cpu: u32) -> bool {
        let own = self.times.records_of(cpu, self.at + 1).iter();
        let left = own
            .map(|&at| &self.records[at].what)
            .find_map(|what| match what {
                What::Switch { prev, .. } => Some(prev.comm.as_str()),
                _ => None,
            });
        left.or_else(|| self.names.comm(self.sched.rqs[CpuId(cpu)].curr)) == Some(CHRT)
    }

    /// A sleeping task that is woken, and whose policy a later record tells.
    pub(super) fn changed_asleep(&mut self, task: TaskId) {
        if let Some(policy) = self.policy_ahead(task, None)
            && policy != self.sched.tasks[task].policy
            && self.sched.is_fair(task)
        {
            let attr = SchedAttr {
                policy,
                ..self.attr_of_prio(task, self.sched.tasks[task].prio)
            };
            self.set_attr(task, attr);
        }
    }

    /// Where no virtual runtimes are shown, picks tell of SCHED_IDLE: a task of it is passed over by the kernel where ours
    /// picks it for [`STARVED`] times as many picks as tasks are queued, and as long as they take for a turn each.
    pub(super) fn learn_idle(&mut self, kernel: TaskId, ours: TaskId) {
        self.passed_over.remove(&kernel);
        let cpu = self.sched.tasks[kernel].cpu;
        for passed_over in self.passed_over.values_mut() {
            passed_over.picks += u64::from(passed_over.cpu == cpu);
        }
        if kernel == ours || self.limits.are_set() {
            self.picks_of_idle.remove(&kernel);
            return;
        }
        self.outlasts_idle(kernel);
        let (picked, passed_over) = (self.sched.tasks[kernel].se, self.sched.tasks[ours].se);
        if self.is_known(passed_over) {
            return;
        }
        let policy = self.sched.tasks[ours].policy;
        if matches!(policy, Policy::Normal | Policy::Batch) && self.is_starved(ours) {
            self.set_policy(ours, Policy::Idle);
        }
        if self.sched.tasks[ours].policy == Policy::Idle {
            // It has come to where the picked one is, with a slice of its own.
            let vruntime = self.sched.ses[picked].vruntime;
            let slice = self.virtual_slice(passed_over);
            self.sched
                .follow_entity(passed_over, vruntime, vruntime.wrapping_add(slice));
            self.doubt(passed_over, slice as f64);
        }
    }

    /// The kernel picks a task, or has it run on, where ours does not: [`TELLING`] times in a row tell that it is not of SCHED_IDLE.
    pub(super) fn outlasts_idle(&mut self, task: TaskId) {
        if self.sched.tasks[task].policy == Policy::Idle {
            let told = self.picks_of_idle.entry(task).or_default();
            *told += 1;
            if *told == TELLING && !self.is_known(self.sched.tasks[task].se) {
                self.picks_of_idle.remove(&task);
                self.set_policy(task, Policy::Normal);
            }
        }
    }

    fn is_starved(&mut self, task: TaskId) -> bool {
        let t = &self.sched.tasks[task];
        let rq = &self.sched.rqs[t.cpu];
        let begins = PassedOver {
            cpu: t.cpu,
            since: rq.clock,
            picks: 1,
        };
        let passed_over = self.passed_over.entry(task).or_insert(begins);
        if passed_over.cpu != t.cpu {
            *passed_over = begins;
        }
        let PassedOver { since, picks, .. } = *passed_over;
        let turns = STARVED * u64::from(rq.nr_running);
        let waited = rq.clock.saturating_sub(since);
        picks > turns && waited > turns.saturating_mul(self.virtual_slice(t.se))
    }

    fn virtual_slice(&mut self, se: SeId) -> u64 {
        let entity = &mut self.sched.ses[se];
        entity.load.calc_delta_fair(entity.slice)
    }

    fn set_policy(&mut self, task: TaskId, policy: Policy) {
        let nice = self.sched.tasks[task].nice();
        self.set_attr(
            task,
            SchedAttr {
                policy,
                ..SchedAttr::normal(nice)
            },
        );
    }

    /// Brings a task to the priority that a record shows for it.
    pub(super) fn set_prio(&mut self, task: TaskId, prio: i32) {
        let t = &self.sched.tasks[task];
        if self.is_ordinary(task) && t.prio != prio {
            self.set_attr(task, self.attr_of_prio(task, prio));
        }
    }

    /// What a task of a priority has, if its policy is as it was where the class is.
    pub(super) fn attr_of_prio(&self, task: TaskId, prio: i32) -> SchedAttr {
        let t = &self.sched.tasks[task];
        let entity = &self.sched.ses[t.se];
        if prio < 0 {
            return SchedAttr {
                policy: Policy::Deadline,
                ..SchedAttr::normal(0)
            };
        }
        if prio < MAX_RT_PRIO {
            return SchedAttr {
                policy: Policy::Fifo,
                nice: 0,
                priority: MAX_RT_PRIO - 1 - prio,
                runtime: 0,
            };
        }
        SchedAttr {
            policy: if t.policy.is_fair() {
                t.policy
            } else {
                Policy::Normal
            },
            nice: prio - DEFAULT_PRIO,
            priority: 0,
            runtime: if entity.custom_slice { entity.slice } else { 0 },
        }
    }

    /// The priority that a task is next shown to have, and by which record. A charge of 6.1 tells whether it is of the fair
    /// class: then it shows a virtual runtime.
    pub(super) fn prio_ahead(&self, task: TaskId) -> Option<(usize, i32)> {
        let pid = self.pid(task)?;
        let (at, prio) = self.times.prio(pid, self.at)?;
        let charge = self.times.charges(pid, self.at).first();
        let charge = charge.filter(|&&(charge, _)| charge < at && self.shows_state);
        let Some(&(charge, runtime)) = charge.filter(|_| !self.facts.picks_by_deadline()) else {
            return Some((at, prio));
        };
        if let Some(nice) = self.nice_of_charge(task, pid, charge, runtime) {
            return Some((charge, DEFAULT_PRIO + nice));
        }
        let fair = matches!(self.records[charge].what, What::Runtime { vruntime, .. } if vruntime.is_some());
        let is_fair = |prio: i32| prio >= MAX_RT_PRIO;
        let t = &self.sched.tasks[task];
        Some(if fair == is_fair(prio) {
            (at, prio)
        } else if fair == is_fair(t.prio) {
            (charge, t.prio)
        } else if fair {
            (charge, DEFAULT_PRIO + t.nice())
        } else {
            (charge, UNTOLD_RT_PRIO)
        })
    }

    /// The nice level that a task's next charge tells, if ours or one other explains it and the task stays where it is until
    /// then.
    fn nice_of_charge(&self, task: TaskId, pid: i32, charge: usize, runtime: u64) -> Option<i32> {
        let What::Runtime { vruntime, .. } = self.records[charge].what else {
            return None;
        };
        let t = &self.sched.tasks[task];
        let known = self.sched.is_fair(task) && self.is_known(t.se);
        if !known || self.times.leaves_queue(pid, self.at, charge) {
            return None;
        }
        let charged = vruntime?.wrapping_sub(self.sched.ses[t.se].vruntime);
        let explains = |mut weight: LoadWeight| weight.calc_delta_fair(runtime) == charged;
        if explains(LoadWeight::of_nice(t.nice())) {
            return Some(t.nice());
        }
        if explains(LoadWeight::idle_policy()) {
            return None;
        }
        only_nice(|nice| explains(LoadWeight::of_nice(nice)))
    }

    /// Attributes other than ours that the next record of a task shows, and which record that is.
    pub(super) fn attr_ahead(&self, task: TaskId) -> Option<(usize, SchedAttr)> {
        let (at, prio) = self.prio_ahead(task)?;
        let t = &self.sched.tasks[task];
        let attr = self.attr_of_prio(task, prio);
        let runs_fair = t.on_cpu && self.sched.is_fair(task);
        if self.limits.placements && (prio >= MAX_RT_PRIO || runs_fair) {
            // Where it is placed, or put if it runs, it tells what it changes to.
            return None;
        }
        if prio < MAX_RT_PRIO {
            return (t.prio != prio).then_some((at, attr));
        }
        let known = self.is_known(t.se) && self.sched.is_fair(task);
        let vruntime = self.sched.ses[t.se].vruntime;
        let policy = self.policy_ahead(task, known.then_some(vruntime));
        let policy = policy.unwrap_or(attr.policy);
        let changes = t.prio != prio || t.policy != policy;
        changes.then_some((at, SchedAttr { policy, ..attr }))
    }

    /// Is a task's next charge that of SCHED_IDLE, or of its nice level? `vruntime` is what it has until then, if
    /// that is known; else the difference between two charges tells it.
    fn policy_ahead(&self, task: TaskId, vruntime: Option<u64>) -> Option<Policy> {
        let pid = self.pid(task)?;
        let mut before = vruntime;
        let known = vruntime.is_some();
        let mut since = self.at;
        let mut nice = self.sched.tasks[task].nice();
        for &(at, runtime) in self.times.charges(pid, self.at).iter().take(2) {
            let What::Runtime { vruntime, .. } = self.records[at].what else {
                return None;
            };
            let told = vruntime?;
            if self.times.leaves_queue(pid, since, at) {
                before = None;
            }
            if let Some((shown, prio)) = self.times.prio(pid, self.at)
                && shown <= at
                && prio >= MAX_RT_PRIO
            {
                nice = prio - DEFAULT_PRIO;
            }
            if let Some(before) = before {
                let charged = told.wrapping_sub(before);
                if LoadWeight::of_nice(nice).calc_delta_fair(runtime) == charged {
                    let policy = self.sched.tasks[task].policy;
                    let other = matches!(policy, Policy::Normal | Policy::Batch);
                    return Some(if other { policy } else { Policy::Normal });
                }
                let idle = LoadWeight::idle_policy().calc_delta_fair(runtime) == charged;
                return idle.then_some(Policy::Idle);
            }
            let r = &self.records[at];
            if known && r.pid == pid && !r.irq {
                // It leaves its queue before this charge, with which it may change itself.
                return None;
            }
            (before, since) = (Some(told), at);
        }
        None
    }

    /// Sets attributes at the time of its CPU's clock.
    pub(super) fn set_attr(&mut self, task: TaskId, attr: SchedAttr) {
        let cpu = self.sched.tasks[task].cpu;
        self.set_attr_at(task, attr, self.sched.rqs[cpu].clock);
    }

    /// Sets attributes at a time of its CPU's clock.
    pub(super) fn set_attr_at(&mut self, task: TaskId, attr: SchedAttr, clock: u64) {
        if self.sets_nice_alone(task, attr) {
            let by_setattr = self.is_set_by_setattr(task);
            self.learn_setter(task, attr, clock);
            set_nice(&mut self.sched, task, attr, clock, by_setattr);
        } else if self.sched.sched_setscheduler(task, attr, clock).is_err() {
            self.judge.mended("attributes that cannot be");
        }
        self.may_change_policy(task);
        self.take_effects(self.sched.tasks[task].cpu.0);
    }

    /// Does only the nice level of a fair task change?
    fn sets_nice_alone(&self, task: TaskId, attr: SchedAttr) -> bool {
        let t = &self.sched.tasks[task];
        let same_slice = attr.runtime == 0 && !self.sched.ses[t.se].custom_slice;
        let same_policy = t.policy == attr.policy && attr.policy.is_fair();
        same_policy && same_slice && t.nice() != attr.nice && NICE_LEVELS.contains(&attr.nice)
    }

    /// Has it shown of a task of this name that sched_setattr() changes its nice level, and not setpriority()?
    fn is_set_by_setattr(&self, task: TaskId) -> bool {
        let comm = self.names.comm(task);
        comm.is_some_and(|comm| self.set_by_setattr.contains(comm))
    }

    /// The task's next charge tells which call changes it, if they lead to different ones: that holds from the next change on.
    fn learn_setter(&mut self, task: TaskId, attr: SchedAttr, clock: u64) {
        let (Some((runtime, told)), Some(comm)) =
            (self.next_charge_there(task), self.names.comm(task))
        else {
            return;
        };
        let leads_to_told = |by_setattr| {
            let mut copy = self.copy();
            set_nice(&mut copy, task, attr, clock, by_setattr);
            let entity = &mut copy.ses[copy.tasks[task].se];
            let charged = entity.load.calc_delta_fair(runtime);
            entity.vruntime.wrapping_add(charged) == told
        };
        match [false, true].map(leads_to_told) {
            [true, false] => self.set_by_setattr.remove(comm),
            [false, true] => self.set_by_setattr.insert(comm.to_owned()),
            _ => false,
        };
    }

    /// The runtime of a task's next charge, if it stays on its queue until then, and the virtual runtime that this shows.
    fn next_charge_there(&self, task: TaskId) -> Option<(u64, u64)> {
        let pid = self.pid(task)?;
        let &(charge, runtime) = self.times.charges(pid, self.at).first()?;
        let What::Runtime { vruntime, .. } = self.records[charge].what else {
            return None;
        };
        let stays = !self.times.leaves_queue(pid, self.at, charge);
        Some((runtime, vruntime.filter(|_| stays)?))
    }
}

/// Changes a nice level alone: by sched_setattr(), which takes the task off its queue as one that moves, or by setpriority().
fn set_nice(sched: &mut Sched, task: TaskId, attr: SchedAttr, clock: u64, by_setattr: bool) {
    if by_setattr {
        let set = sched.sched_setscheduler(task, attr, clock);
        debug_assert!(set.is_ok(), "a nice level is one of those that there are");
    } else {
        sched.set_user_nice(task, attr.nice, clock);
    }
}

#[cfg(test)]
mod tests {
    use crate::follow::without_state;
    use crate::judge::Measure;

    /// A hog of SCHED_IDLE beside eight others: without probes nothing tells its policy but that it is not picked.
    #[test]
    fn a_task_that_starves_is_taken_for_one_of_sched_idle() {
        let picks = without_state::count("fair-1cpu-6.12", Measure::Pick);
        assert!(picks.agree * 1000 > picks.decisions * 980, "{picks:?}");
    }

    /// Tasks whose nice levels commands change are passed over, too, where ours has them wrong. They run on at ticks.
    #[test]
    fn a_task_that_runs_on_is_not_of_sched_idle() {
        let asked = without_state::count("commands-6.12", Measure::Preemption);
        assert!(asked.agree * 1000 > asked.decisions * 990, "{asked:?}");
    }
}
