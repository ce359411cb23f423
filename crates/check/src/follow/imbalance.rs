//! How much a pass of the kernel had to move, where ours would have moved a little more or less.
//!
//! Model.   A pass that moves load or utilisation goes on when that is made good but for a rest: it tries as many tasks as it may,
//!          and puts those that it leaves at the other end of the queue's list. Where ours moves other tasks from the same
//!          queue, it is asked what it would if it had to move more or less; if that is what the kernel moved, ours goes on from
//!          there. If not, those that the pass can have tried are put there all the same. For the judgement neither counts.
//! Source.  kernel/sched/fair.c `detach_tasks` @ 6.1, 6.12.

use super::Follower;
use super::passes::{Answer, Asked, Pass};
use fairwind_sched::TaskId;
use fairwind_sched::balance::{Found, MigrationType};

impl Follower<'_> {
    /// How much to move makes ours move what the kernel did, up to twice what it found.
    pub(super) fn fitting_imbalance(&self, asked: &Asked, ours: &Answer) -> Option<Found> {
        let mut found = source_of_load(asked, ours)?;
        let (mut least, mut most) = (1, found.imbalance.saturating_mul(2).min(i64::MAX - 1));
        while least <= most {
            found.imbalance = least + (most - least) / 2;
            let answer = self.ask_with(&asked.before, asked, None, Some(found));
            if answer.moves == asked.moves {
                return Some(found);
            }
            match answer.moves.len().cmp(&asked.moves.len()) {
                std::cmp::Ordering::Less => least = found.imbalance + 1,
                std::cmp::Ordering::Equal => return None,
                std::cmp::Ordering::Greater => most = found.imbalance - 1,
            }
        }
        None
    }

    /// What the kernel's pass may have tried and left is tried last by the next one.
    pub(super) fn look_at_rest(&mut self, asked: &Asked, ours: &Answer) {
        if let Some(found) = source_of_load(asked, ours) {
            let moved: Vec<TaskId> = asked.moves.iter().map(|moved| moved.task).collect();
            self.sched.follow_looked(found.src_cpu, &moved);
        }
    }
}

/// The queue from which both moved load or utilisation in the only pass of a softirq, and how much ours found to move.
fn source_of_load(asked: &Asked, ours: &Answer) -> Option<Found> {
    let report = ours.sched.pass_reports().first()?;
    let src_cpu = report.src_cpu?;
    let one_pass = matches!(&asked.pass, Pass::Softirq { passes, .. } if passes.len() == 1);
    let from_there = asked.moves.iter().all(|moved| moved.orig == src_cpu.0);
    let of_load = matches!(
        report.migration_type,
        MigrationType::Load | MigrationType::Util
    );
    (one_pass && from_there && of_load && !asked.moves.is_empty()).then_some(Found {
        src_cpu,
        nr_running: asked.before.rqs[src_cpu].nr_running,
        imbalance: report.imbalance,
        migration_type: report.migration_type,
    })
}
