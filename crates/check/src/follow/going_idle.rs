//! Whether a CPU that goes idle has looked for tasks of others.
//!
//! Model. It does if more than one task was queued anywhere, and if it will be idle for longer, by its own estimate, than looking
//!        has taken so far, which is measured and not recorded. But looking takes time itself: a CPU that does not look goes idle
//!        much sooner after the last charge of the task that leaves it. So these times are of two kinds. They are parted where
//!        the logarithms on both sides lie closest together; the longest are left out, in which CPUs were held up.
//! Units. ns of the trace clock.
//! Source. kernel/sched/fair.c `newidle_balance` @ 6.1, `sched_balance_newidle` @ 6.12.

use super::Follower;
use super::times::Times;
use crate::record::{PrevState, Record, What};

/// One in so many of the times is left out.
const HELD_UP: usize = 20;

/// So long after the last charge before it, or later, a CPU goes idle that has looked for tasks.
pub(super) fn looking_takes(records: &[Record], times: &Times) -> u64 {
    let took = (0..records.len()).filter_map(|at| took(records, times, at));
    let mut took: Vec<u64> = took.collect();
    took.sort_unstable();
    took.truncate(took.len() - took.len().div_ceil(HELD_UP));
    parted(&took)
}

/// How long the CPU took to go idle, if it does with this record and its task left it for sleep.
fn took(records: &[Record], times: &Times, at: usize) -> Option<u64> {
    let r = &records[at];
    let What::Switch {
        prev,
        prev_state,
        next,
    } = &r.what
    else {
        return None;
    };
    if next.pid != 0 || prev.pid == 0 || *prev_state == PrevState::Runnable {
        return None;
    }
    let own = times.records_until(r.cpu, at).iter().rev();
    let mut own = own.map(|&at| &records[at]);
    let last = own.find(|r| !matches!(r.what, What::Probe { .. }))?;
    let charged = matches!(last.what, What::Runtime { pid, .. } if pid == prev.pid);
    charged.then(|| r.ts.saturating_sub(last.ts))
}

/// The least of the longer ones, where sorted times are parted best into two kinds; 0 if there is only one.
fn parted(sorted: &[u64]) -> u64 {
    let logs: Vec<f64> = sorted.iter().map(|&took| (took as f64 + 1.).ln()).collect();
    let all: f64 = logs.iter().sum();
    let mut below = 0.;
    let mut best = (0., 0);
    for (n, pair) in (1..).zip(logs.windows(2)) {
        below += pair[0];
        let (shorter, longer) = (f64::from(n), logs.len() as f64 - f64::from(n));
        let apart = (all - below) / longer - below / shorter;
        let between = shorter * longer * apart * apart;
        if between > best.0 && pair[0] < pair[1] {
            best = (between, sorted[n as usize]);
        }
    }
    best.1
}

impl Follower<'_> {
    /// Has the CPU that goes idle with the present record looked for tasks, as far as the time that it took tells?
    pub(super) fn may_have_looked(&self) -> bool {
        took(self.records, &self.times, self.at).is_none_or(|took| took >= self.looking_takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Party;

    #[test]
    fn times_are_of_two_kinds() {
        assert_eq!(parted(&[7, 8, 8, 9, 31, 35, 40]), 31);
        assert_eq!(parted(&[8, 8, 8]), 0);
        assert_eq!(parted(&[]), 0);
    }

    /// A task is charged; somewhat later its CPU goes on with another one.
    fn leaves(ts: u64, takes: u64, prev_state: PrevState, next: i32) -> [Record; 2] {
        let charge = What::Runtime {
            pid: 7,
            runtime: 1000,
            vruntime: None,
        };
        let switch = What::Switch {
            prev: Party::of(7),
            prev_state,
            next: Party::of(next),
        };
        [
            Record::of_task(ts, 0, charge),
            Record::of_task(ts + takes, 0, switch),
        ]
    }

    #[test]
    fn only_cpus_that_go_idle_tell_and_none_that_was_held_up() {
        let sleeps = PrevState::Interruptible;
        let mut records = Vec::new();
        for (n, takes) in (0_u64..).zip([9, 30, 8, 33, 4000, 7]) {
            records.extend(leaves(n * 10_000, takes, sleeps, 0));
            records.extend(leaves(n * 10_000 + 5000, 12, sleeps, 8));
            records.extend(leaves(n * 10_000 + 6000, 14, PrevState::Runnable, 0));
        }
        let times = Times::new(&records, 1);
        assert_eq!(looking_takes(&records, &times), 30);
    }
}
