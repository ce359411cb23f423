//! Idle CPUs that look free though a task was left to them, shortly before they queue it.
//!
//! Model.      6.1 takes off that a task is on its way (`ttwu_pending`) before the task is queued, which is recorded last: a waker
//!             that looks in between finds the CPU free. How long before that record this begins is not recorded. Placements
//!             tell where that decides: ours takes the span that most of an earlier walk's agree with.
//! Invariants. A span is taken only if two of three placements within it agree, and more than one.
//! Units.      ns of the trace clock.
//! Source.     kernel/sched/core.c `sched_ttwu_pending`, `idle_cpu` @ 6.1.

use super::Follower;
use super::learned::TELLING;
use super::placement::{Question, with_cpus_seen};
use crate::record::What;
use fairwind_sched::CpuId;
use fairwind_sched::replay::BeforePlacement;

/// It is clear if two of three agree: so many times what more agree than disagree is at least all of them.
const CLEAR: i32 = 3;

/// A placement that would have taken such a CPU had it looked free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tells {
    /// How long before the CPU queued a task.
    before: u64,
    /// The kernel took it.
    free: bool,
}

/// The span before a CPU queues a task within which most find it free; 0 if that is not told, or not clear.
pub(super) fn span(told: &[Tells]) -> u64 {
    let mut told = told.to_vec();
    told.sort_unstable_by_key(|tells| (tells.before, tells.free));
    let (mut agree, mut most) = (0, 0);
    let (mut span, mut clear) = (0, false);
    for (tried, tells) in (1..).zip(told) {
        agree += if tells.free { 1 } else { -1 };
        if agree > most {
            most = agree;
            span = tells.before;
            clear = most * CLEAR >= tried;
        }
    }
    if clear && most >= TELLING.cast_signed() {
        span
    } else {
        0
    }
}

impl Follower<'_> {
    /// When a CPU queues a task that was left to it, if that is its next record and it looks free before that.
    pub(super) fn queues_next(&self, cpu: CpuId) -> Option<u64> {
        let looks_free = self.facts.clears_pending_first() && self.sched.rqs[cpu].ttwu_pending;
        let next = self.times.records_of(cpu.0, self.at + 1).first();
        let next = &self.records[*next.filter(|_| looks_free)?];
        let queues = matches!(next.what, What::Wakeup { target, .. } if target == cpu.0);
        queues.then_some(next.ts)
    }

    /// CPUs that are about to queue a task, and how long before that it is.
    pub(super) fn about_to_queue(&self, ts: u64) -> Vec<(CpuId, u64)> {
        let tick = self.facts.profile.tick_nsec();
        let queues = self.sched.rqs.ids().filter_map(|cpu| {
            let before = self.queues_next(cpu)?.saturating_sub(ts);
            (before < tick).then_some((cpu, before))
        });
        queues.collect()
    }

    /// Learns from a placement before which of these CPUs looked free.
    pub(super) fn learn_looks_free(
        &mut self,
        ts: u64,
        question: Question,
        kernel: CpuId,
        before: &BeforePlacement,
        about_to_queue: &[(CpuId, u64)],
    ) {
        if about_to_queue.is_empty() {
            return;
        }
        let mut ask = |free: &[CpuId]| {
            self.sched.ask_otherwise(before, |sched| {
                with_cpus_seen(sched, free, &[], |sched| question.ask(sched, ts))
            })
        };
        let none_free = ask(&[]);
        for &(cpu, before) in about_to_queue {
            if none_free != cpu && ask(&[cpu]) == cpu {
                let free = kernel == cpu;
                self.looks_free.push(Tells { before, free });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(u64, bool)]) -> Vec<Tells> {
        let tells = |&(before, free)| Tells { before, free };
        all.iter().map(tells).collect()
    }

    #[test]
    fn the_span_that_most_agree_with() {
        assert_eq!(span(&[]), 0);
        assert_eq!(span(&told(&[(3, true)])), 0, "one alone");
        assert_eq!(span(&told(&[(9, true), (3, true)])), 9);
        let some_late = [
            (3, true),
            (5, false),
            (6, true),
            (7, true),
            (8, false),
            (11, true),
        ];
        assert_eq!(span(&told(&some_late)), 7);
        assert_eq!(
            span(&told(&[(3, false), (4, false), (5, true), (6, true)])),
            0
        );
        let unclear = [
            (1, true),
            (2, false),
            (3, true),
            (4, false),
            (5, true),
            (6, true),
        ];
        assert_eq!(span(&told(&unclear)), 6, "4 of 6");
        assert_eq!(
            span(&told(&[&[(0, false), (0, true)], &unclear[..]].concat())),
            0,
            "5 of 8"
        );
    }
}
