//! What simple rules would have scored on the same decisions.
//!
//! Model.  chance: one of the candidates, each as likely. fifo: who waits longest; a task woken never
//!         preempts, and stays on the CPU where it slept. least vruntime: whose virtual runtime is
//!         least, compared on the queue where both wait.
//! Units.  Chance is counted in millionths of a decision, rounded down.

use crate::judge::Score;

/// Of one decision: how many answers there were, and which rules gave the kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baselines {
    /// 0 where there is nothing to choose from.
    pub(crate) candidates: u64,
    pub(crate) fifo: Option<bool>,
    pub(crate) least_vruntime: Option<bool>,
}

impl Baselines {
    /// For numbers, which no rule guesses.
    pub(crate) const NONE: Baselines = Baselines {
        candidates: 0,
        fifo: None,
        least_vruntime: None,
    };

    pub(crate) fn add_to(self, score: &mut Score) {
        score.chance_ppm += 1_000_000_u64.checked_div(self.candidates).unwrap_or(0);
        for (total, hit) in [
            (&mut score.fifo, self.fifo),
            (&mut score.least_vruntime, self.least_vruntime),
        ] {
            if let Some(hit) = hit {
                *total = Some(total.unwrap_or(0) + u64::from(hit));
            }
        }
    }
}
