//! How often tasks switched whom they wake, before the recording: told by where the kernel puts tasks.
//!
//! Model.      A waker of many different tasks does not draw them to its cache (`wake_wide`). Each task counts how often
//!             it switched, a child begins with its parent's count, and counts are halved now and then. So all
//!             relatives have a part of what their first forefather had counted before the recording. Where it
//!             matters to a placement whether `wake_wide` says yes, the kernel's choice tells it. Ours takes the first
//!             count that agrees with most placements so far.
//! Invariants. A placement is answered by what earlier ones told, never by itself or later ones.
//! Deviations. Wakees from before the recording are not recorded: ours needs disagreements to learn of them.
//! Source.     kernel/sched/fair.c `record_wakee`, `wake_wide` @ 6.1, 6.12.

use super::Follower;
use fairwind_sched::replay::BeforePlacement;
use fairwind_sched::{CpuId, Sched, TaskId};
use std::collections::BTreeMap;

/// The largest first count that is tried.
const MOST: u32 = 64;

/// What is known of the counts.
#[derive(Debug, Default)]
pub(super) struct Wakees {
    /// The first forefather of each task that was forked in the recording.
    forefathers: BTreeMap<TaskId, TaskId>,
    /// How often a task's count was halved.
    halved: BTreeMap<TaskId, u32>,
    families: BTreeMap<TaskId, Family>,
}

/// The descendants of a task from before the recording.
#[derive(Debug)]
struct Family {
    /// What its count was, as far as is known.
    first_count: u32,
    /// With how many placements each count up to [`MOST`] agrees.
    agree: Vec<u32>,
}

impl Wakees {
    /// A child begins with its parent's count.
    pub(super) fn forked(&mut self, parent: TaskId, child: TaskId) {
        let first = self.forefather(parent);
        self.forefathers.insert(child, first);
        self.halved.insert(child, self.halved(parent));
    }

    fn forefather(&self, task: TaskId) -> TaskId {
        self.forefathers.get(&task).copied().unwrap_or(task)
    }

    fn halved(&self, task: TaskId) -> u32 {
        self.halved.get(&task).copied().unwrap_or(0).min(31)
    }

    fn family(&mut self, first: TaskId) -> &mut Family {
        self.families.entry(first).or_insert_with(|| Family {
            first_count: 0,
            agree: vec![0; MOST as usize + 1],
        })
    }
}

impl Follower<'_> {
    /// Learns from a placement that ours has just answered. True if the kernel's answer is the one with the other
    /// width; then ours goes on from that.
    pub(super) fn learn_wakees(
        &mut self,
        task: TaskId,
        here: CpuId,
        [kernel, ours]: [CpuId; 2],
        before: &BeforePlacement,
        ask: impl Fn(&mut Sched) -> CpuId,
    ) -> bool {
        let waker = self.sched.rqs[here].curr;
        if before.wakee_flip_decay_ts() != self.sched.tasks[waker].wakee_flip_decay_ts {
            *self.wakees.halved.entry(waker).or_default() += 1;
        }
        let wide = self.sched.wake_wide(here, waker, task);
        let counts = [waker, task].map(|task| self.sched.tasks[task].wakee_flips);
        let after = self.sched.before_placement(here, task);
        self.sched.take_back(before);
        let sched = &mut self.sched;
        // Enough for `wake_wide` to say the contrary, whatever is added or halved before it is asked.
        let factor = sched.domains.sd_llc_size[here.idx()].saturating_add(1);
        let (many, few) = if wide {
            (0, 0)
        } else {
            (factor * factor * 4, factor)
        };
        sched.tasks[waker].wakee_flips = many;
        sched.tasks[task].wakee_flips = few;
        let otherwise = ask(sched);
        let matters = ours != otherwise && sched.wake_wide(here, waker, task) != wide;
        if matters && otherwise == kernel {
            sched.tasks[waker].wakee_flips = counts[0];
            sched.tasks[task].wakee_flips = counts[1];
        } else {
            sched.take_back(&after);
        }
        if !matters || (ours != kernel && otherwise != kernel) {
            return false;
        }
        self.count_agreement([waker, task], here, wide == (ours == kernel));
        ours != kernel
    }

    /// Notes which first counts agree with what was told, and takes the best.
    fn count_agreement(&mut self, pair: [TaskId; 2], here: CpuId, told: bool) {
        let [waker, task] = pair;
        let first = self.wakees.forefather(task);
        let relatives = pair.map(|task| self.wakees.forefather(task) == first);
        let halved = pair.map(|task| self.wakees.halved(task));
        let counts = pair.map(|task| self.sched.tasks[task].wakee_flips);
        let taken = self.wakees.family(first).first_count;
        for count in 0..=MOST {
            for at in 0..2 {
                if relatives[at] {
                    self.sched.tasks[pair[at]].wakee_flips =
                        shifted(counts[at], [taken, count], halved[at]);
                }
            }
            if self.sched.wake_wide(here, waker, task) == told {
                self.wakees.family(first).agree[count as usize] += 1;
            }
        }
        for at in 0..2 {
            self.sched.tasks[pair[at]].wakee_flips = counts[at];
        }
        let agree = &self.wakees.family(first).agree;
        let most = agree.iter().max().copied().unwrap_or(0);
        if agree[taken as usize] == most {
            return;
        }
        let best = agree.iter().position(|&agree| agree == most).unwrap_or(0) as u32;
        self.wakees.family(first).first_count = best;
        let relatives = self.wakees.forefathers.iter();
        let relatives = relatives.filter(|(_, forefather)| **forefather == first);
        for relative in relatives.map(|(task, _)| *task).chain([first]) {
            let halved = self.wakees.halved(relative);
            let flips = &mut self.sched.tasks[relative].wakee_flips;
            *flips = shifted(*flips, [taken, best], halved);
        }
    }
}

/// A count, if the first count in it was another one.
fn shifted(count: u32, [taken, other]: [u32; 2], halved: u32) -> u32 {
    count
        .saturating_add(other >> halved)
        .saturating_sub(taken >> halved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_count_is_halved_with_what_was_added() {
        // 9 = 4 + (20 >> 2); with 13 at first it would be 4 + 3.
        assert_eq!(shifted(9, [20, 13], 2), 7);
        assert_eq!(shifted(7, [13, 20], 2), 9);
        assert_eq!(shifted(1, [8, 0], 0), 0);
    }

    #[test]
    fn a_grandchild_has_the_first_forefather_of_its_parent() {
        let [first, child, grandchild] = [1, 2, 3].map(TaskId);
        let mut wakees = Wakees::default();
        wakees.halved.insert(first, 1);
        wakees.forked(first, child);
        wakees.forked(child, grandchild);
        assert_eq!(wakees.forefather(grandchild), first);
        assert_eq!(wakees.halved(grandchild), 1);
    }
}
