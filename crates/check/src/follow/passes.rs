//! The same pass as the kernel's, on a copy of ours.
//!
//! Model.   What a move tells of its pass: the moment, towards which CPU, and over which domain. That is the lowest that
//!          has both CPUs, for a pass never takes from the group that it balances for. Ours does a pass over that
//!          domain, with the state as it was when the pass's first record was written and the clocks that its records
//!          tell, or with what it had found before that (see `looks`). How often balancing had failed is what following
//!          led to. If ours moves nothing with that, which the kernel did, balancing has failed more often: the fewest
//!          times with which ours moves something, as long as there was time for so many passes since the kernel last
//!          moved something in that domain, with which the count begins anew. If yet another number gives the kernel's
//!          answer, it is not recorded. From then on it has that value.
//! Deviations. How often balancing had failed is not recorded: it shows only in that something is moved.

use super::Follower;
use super::cpu::Move;
use super::looks::Looks;
use fairwind_sched::balance::{CpuIdleType, Found};
use fairwind_sched::domain::flags::SD_BALANCE_NEWIDLE;
use fairwind_sched::domain::{Domains, SdId};
use fairwind_sched::features::Feature;
use fairwind_sched::probe::ReadClock;
use fairwind_sched::replay::NewIdle;
use fairwind_sched::{CpuId, Effect, Sched, TaskState};

/// Passes over domains, one after the other, each towards a CPU.
pub(super) type Passes = Vec<(CpuId, SdId)>;

/// A pass of the kernel that moved something.
pub(super) struct Asked {
    /// Its name in reports.
    pub(super) kind: &'static str,
    /// Ours when its first record was written.
    pub(super) before: Sched,
    pub(super) pass: Pass,
    /// What it had found long before it moved that.
    pub(super) found: Option<Found>,
    /// Ours since the CPU's last record before it: from then on it may have looked at the queues.
    pub(super) looks: Option<Looks>,
    /// Clocks of queues that its records tell.
    pub(super) clocks: Vec<(u32, u64)>,
    /// Clocks of queues as it read them when it locked them.
    pub(super) read: Vec<ReadClock>,
    /// What it moved.
    pub(super) moves: Vec<Move>,
    /// CPUs whose running tasks it had pushed.
    pub(super) pushes: Vec<u32>,
}

/// In which call of the scheduler a pass was.
#[derive(Clone, Debug)]
pub(super) enum Pass {
    /// In the softirq of a CPU that balances for itself, and as the nohz balancer for idle ones.
    Softirq {
        cpu: CpuId,
        clock: u64,
        passes: Passes,
    },
    /// In `schedule()` of a CPU without tasks, whose running task is in this state.
    NewlyIdle {
        cpu: CpuId,
        clock: u64,
        /// Its clock once it had balanced.
        now: u64,
        prev_state: TaskState,
        passes: Passes,
        /// How often it pulled something, one task each time.
        times: usize,
    },
}

impl Answer {
    /// Does ours leave everything where it is?
    pub(super) fn is_nothing(&self) -> bool {
        self.moves.is_empty() && self.pushes.is_empty()
    }
}

impl Pass {
    /// Domains that are balanced in it, each towards a CPU.
    pub(super) fn passes(&self) -> &Passes {
        let (Pass::Softirq { passes, .. } | Pass::NewlyIdle { passes, .. }) = self;
        passes
    }

    /// The clock of the CPU that does it, as it begins.
    pub(super) fn clock(&self) -> u64 {
        let (Pass::Softirq { clock, .. } | Pass::NewlyIdle { clock, .. }) = self;
        *clock
    }

    /// The same at an earlier time.
    pub(super) fn at(&self, ts: u64) -> Pass {
        let mut pass = self.clone();
        let (Pass::Softirq { clock, .. } | Pass::NewlyIdle { clock, .. }) = &mut pass;
        *clock = ts.min(*clock);
        pass
    }

    /// Has ours do it.
    pub(super) fn ask(&self, sched: &mut Sched) {
        match self {
            Pass::Softirq { cpu, clock, passes } => {
                let mut last = None;
                for &(dest, sd) in passes {
                    let idle = if last == Some(dest) {
                        sched.idle_after_moving(dest)
                    } else if dest == *cpu {
                        softirq_idle(sched, dest)
                    } else {
                        CpuIdleType::Idle
                    };
                    if dest != *cpu && last != Some(dest) {
                        sched.follow_blocked_averages(dest, *clock);
                    }
                    // A wakeup on its way there came too late to keep the kernel from it.
                    let pending = sched.follow_ttwu_pending(dest, false);
                    sched.ask_balance(dest, sd, idle, *clock);
                    sched.follow_ttwu_pending(dest, pending);
                    last = Some(dest);
                }
            }
            Pass::NewlyIdle {
                cpu,
                clock,
                now,
                prev_state,
                passes,
                times,
            } => ask_newly_idle(sched, *cpu, [*clock, *now], *prev_state, passes, *times),
        }
    }
}

/// Ours after it did a pass.
pub(super) struct Answer {
    pub(super) sched: Sched,
    pub(super) moves: Vec<Move>,
    /// Whose running tasks are to be pushed.
    pub(super) pushes: Vec<u32>,
}

impl Follower<'_> {
    /// Does the pass on a copy of `base`; `failed` is how often balancing its domains had failed, if not as often as
    /// following led to.
    pub(super) fn ask_pass(&self, base: &Sched, asked: &Asked, failed: Option<u32>) -> Answer {
        self.ask_with(base, asked, failed, asked.found)
    }

    /// The same, which queue is the busiest and how much to move from there given, if it is.
    pub(super) fn ask_with(
        &self,
        base: &Sched,
        asked: &Asked,
        failed: Option<u32>,
        found: Option<Found>,
    ) -> Answer {
        let mut copy = base.clone();
        for &(cpu, now) in &asked.clocks {
            copy.follow_clock(CpuId(cpu), now);
        }
        copy.effects.clear();
        copy.report_passes(true);
        if let Some(failed) = failed {
            for &(_, sd) in asked.pass.passes() {
                copy.domains.sd[sd].nr_balance_failed = failed;
            }
        }
        if let Some(found) = found {
            copy.follow_found(found);
        }
        copy.lock_at(asked.read.clone());
        asked.pass.ask(&mut copy);
        copy.lock_at(Vec::new());
        answer(copy)
    }

    /// The passes that a number of moves belong to.
    pub(super) fn passes_of(&self, moves: impl Iterator<Item = (CpuId, CpuId)>) -> Passes {
        let pass = |(orig, dest)| Some((dest, domain_of_move(&self.sched.domains, orig, dest)?));
        let mut passes: Passes = moves.filter_map(pass).collect();
        passes.dedup();
        passes
    }
}

/// Towards which CPU the pass of a softirq on `cpu` is that moved something to `dest`. It is for `cpu` itself or the idle one
/// that balances for its group; where that may not have the task, it moves it on to one that may.
pub(super) fn balances_for(sched: &Sched, cpu: CpuId, orig: CpuId, dest: CpuId) -> CpuId {
    if dest == cpu {
        return dest;
    }
    let domains = &sched.domains;
    let Some(sd) = domain_of_move(domains, orig, dest) else {
        return dest;
    };
    let balancing = sched.balancing_cpu(sd, domains.sched_domain_span(sd));
    let siblings = domains.group_balance_mask(domains.sd[sd].groups);
    if sched.idle_cpu(balancing) {
        balancing
    } else if siblings.test(cpu) {
        cpu
    } else {
        dest
    }
}

/// Can the same pass of a softirq on `cpu` have made both moves, each from one CPU to another? It goes on to another CPU of the
/// same group with tasks that may not use the one that it is for.
pub(super) fn are_of_one_pass(
    sched: &Sched,
    cpu: CpuId,
    moved: (CpuId, CpuId),
    next: (CpuId, CpuId),
) -> bool {
    let towards = |(orig, dest)| balances_for(sched, cpu, orig, dest);
    moved.0 == next.0 && moved.1 != next.1 && towards(moved) == towards(next)
}

/// The domain of the pass that moves something: the lowest of the destination that has the other CPU, too.
fn domain_of_move(domains: &Domains, orig: CpuId, dest: CpuId) -> Option<SdId> {
    domains
        .for_each_domain(dest)
        .find(|&sd| domains.sched_domain_span(sd).test(orig))
}

/// Ours after a pass, and what it did.
pub(super) fn answer(sched: Sched) -> Answer {
    let moves = moves(&sched);
    let pushes = sched.effects.iter().filter_map(|effect| match effect {
        Effect::StopActiveBalance { cpu } => Some(cpu.0),
        _ => None,
    });
    let pushes = pushes.collect();
    Answer {
        sched,
        moves,
        pushes,
    }
}

/// In what state a CPU is that balances for itself in the softirq. Whoever runs while that does ran at the tick before it,
/// but for the softirq's own thread.
pub(super) fn softirq_idle(sched: &Sched, cpu: CpuId) -> CpuIdleType {
    if sched.is_idle(cpu) || sched.rqs[cpu].idle_balance {
        CpuIdleType::Idle
    } else {
        CpuIdleType::NotIdle
    }
}

/// The CPU looked for tasks in these domains, as those that were pulled tell: neither the machine nor what looking
/// costs nor a random number nor a wakeup on its way kept it from that. It looks again where what it pulled was about to
/// sleep; whether it did so after it last pulled one is not told.
fn ask_newly_idle(
    copy: &mut Sched,
    cpu: CpuId,
    [clock, now]: [u64; 2],
    prev: TaskState,
    passes: &Passes,
    times: usize,
) {
    let drawn = copy.profile.features.has(Feature::NI_RANDOM);
    copy.profile.features.set(Feature::NI_RANDOM, false);
    copy.set_overloaded(true);
    let rq = &mut copy.rqs[cpu];
    let avg_idle = std::mem::replace(&mut rq.avg_idle, u64::MAX / 2);
    let ttwu_pending = copy.follow_ttwu_pending(cpu, false);
    let sds: Vec<SdId> = copy.domains.for_each_domain(cpu).collect();
    let flags: Vec<_> = sds.iter().map(|&sd| copy.domains.sd[sd].flags).collect();
    for &sd in &sds {
        if !passes.contains(&(cpu, sd)) {
            copy.domains.sd[sd].flags &= !SD_BALANCE_NEWIDLE;
        }
    }
    if prev != TaskState::Running && !copy.is_idle(cpu) {
        copy.set_current_state(cpu, prev);
    }
    if let Some(probes) = &mut copy.probes {
        probes.newidle = Some(NewIdle {
            now,
            moves: None,
            times,
        });
    }
    copy.schedule(cpu, clock, false);
    if let Some(probes) = &mut copy.probes {
        probes.newidle = None;
    }
    copy.newidle_balancing = true;
    for (sd, flags) in sds.into_iter().zip(flags) {
        copy.domains.sd[sd].flags = flags;
    }
    copy.rqs[cpu].avg_idle = avg_idle;
    copy.follow_ttwu_pending(cpu, ttwu_pending);
    copy.profile.features.set(Feature::NI_RANDOM, drawn);
}

fn moves(sched: &Sched) -> Vec<Move> {
    let moved = |effect: &Effect| match effect {
        Effect::Migrate { task, orig, dest } => Some(Move {
            task: *task,
            orig: orig.0,
            dest: dest.0,
        }),
        _ => None,
    };
    sched.effects.iter().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::{KernelProfile, Release, Topology};

    #[test]
    fn a_pass_goes_on_to_a_sibling_that_has_tasks() {
        let profile = KernelProfile::new(Release::V6_1, 4);
        let mut sched = Sched::new(profile, Topology::regular(1, 2, 2));
        let [orig, own, sibling] = [0, 3, 2].map(CpuId);
        let to = |sched: &Sched, dest| balances_for(sched, own, orig, dest);
        let goes_on = |sched: &Sched| are_of_one_pass(sched, own, (orig, own), (orig, sibling));
        assert_eq!(to(&sched, sibling), sibling, "for that, which is idle");
        let for_others = balances_for(&sched, CpuId(1), orig, own);
        assert_eq!(for_others, sibling, "the first idle one of the group");
        assert!(!goes_on(&sched));
        // It has not switched to the task yet.
        let task = sched.spawn(sibling, 0);
        sched.wake_up_new_task(sibling, task, 0);
        assert!(sched.is_idle(sibling));
        assert_eq!(to(&sched, sibling), own);
        assert!(goes_on(&sched));
        let of_one = |moved| are_of_one_pass(&sched, own, moved, (orig, sibling));
        assert!(!of_one((CpuId(1), own)), "from another queue");
        assert!(!of_one((orig, sibling)), "once more");
    }
}
