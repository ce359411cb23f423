//! Which CPU kept the time, as far as sleeps of RCU's thread tell.
//!
//! Model. While a grace period lasts, RCU's thread sleeps for one jiffy at a time. Its timer is in the wheel of the CPU on which it
//!        went to sleep, and expires in that CPU's first tick that finds two jiffies more than there were then. A CPU explains
//!        a sleep if its own ticks would have counted so. The timekeepers of a recording are those that leave the fewest sleeps
//!        unexplained, where a change costs as much as three of them; a CPU counts as one from the first to the last sleep of
//!        its time if every other explains three fewer of these. RCU also wakes its thread for other reasons, so that some sleeps
//!        have no explanation.
//! Units. ns of the trace clock.
//! Source. kernel/time/timer.c `calc_index`, `run_local_timers`, kernel/rcu/tree.c `rcu_gp_fqs_loop` @ 6.1, 6.12.

use crate::record::{PrevState, Record, What};

/// Jiffies by which a timer of one jiffy expires: it is not early although the present one has begun.
const EXPIRES: u64 = 2;
/// How many unexplained sleeps a change costs, and by how many more than others a timekeeper is told.
const CHANGE: usize = 3;

/// A CPU kept the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Since when at the latest.
    pub(super) from: u64,
    /// Until when at least.
    pub(super) until: u64,
    /// Which CPU.
    pub(super) cpu: u32,
}

/// A timer interrupt.
#[derive(Clone, Copy, Debug)]
struct Tick {
    began: u64,
    /// When it charged the running task, just after it had read the time.
    charged: u64,
}

/// The thread slept.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    from: u64,
    until: u64,
    cpu: u32,
}

/// Timer interrupts and sleeps of a recording.
struct Seen {
    ticks: Vec<Vec<Tick>>,
    sleeps: Vec<Sleep>,
    /// When a tick was due, and how far they are apart.
    epoch: u64,
    tick: u64,
}

impl Seen {
    fn new(records: &[Record], nr_cpus: usize, epoch: u64, tick: u64) -> Seen {
        let mut seen = Seen {
            ticks: vec![Vec::new(); nr_cpus],
            sleeps: Vec::new(),
            epoch,
            tick,
        };
        let mut in_timer = vec![false; nr_cpus];
        let mut asleep: Option<(i32, u64, u32)> = None;
        for r in records {
            let cpu = r.cpu as usize;
            if cpu >= nr_cpus {
                continue;
            }
            in_timer[cpu] &= r.hardirq();
            match &r.what {
                What::Timer => {
                    in_timer[cpu] = true;
                    seen.ticks[cpu].push(Tick {
                        began: r.ts,
                        charged: r.ts,
                    });
                }
                What::Runtime { .. } if in_timer[cpu] => {
                    in_timer[cpu] = false;
                    if let Some(tick) = seen.ticks[cpu].last_mut() {
                        tick.charged = r.ts;
                    }
                }
                What::Switch {
                    prev, prev_state, ..
                } if *prev_state != PrevState::Runnable && is_of_rcu(&prev.comm) => {
                    asleep = Some((prev.pid, r.ts, r.cpu));
                }
                What::Waking { pid, .. } => {
                    if let Some((_, from, cpu)) = asleep.take_if(|(thread, ..)| thread == pid)
                        && r.softirq
                        && r.cpu == cpu
                    {
                        let until = r.ts;
                        seen.sleeps.push(Sleep { from, until, cpu });
                    }
                }
                _ => {}
            }
        }
        seen
    }

    /// The ticks of a CPU until a time.
    fn until(&self, cpu: u32, ts: u64) -> &[Tick] {
        let ticks = &self.ticks[cpu as usize];
        &ticks[..ticks.partition_point(|tick| tick.began <= ts)]
    }

    /// Jiffies at a time if a CPU counts them.
    fn count(&self, cpu: u32, ts: u64) -> Option<u64> {
        let last = self.until(cpu, ts).last()?;
        Some(last.charged.checked_sub(self.epoch)? / self.tick)
    }

    /// Would the thread have woken in this tick and in none before it, if a CPU counted jiffies? None if it woke in none.
    fn explains(&self, cpu: u32, sleep: Sleep) -> Option<bool> {
        let own = self.until(sleep.cpu, sleep.until);
        let first = own.partition_point(|tick| tick.began <= sleep.from);
        let (_, earlier) = own[first..].split_last()?;
        let Some(start) = self.count(cpu, sleep.from) else {
            return Some(false);
        };
        let expired = |ts| {
            self.count(cpu, ts)
                .is_some_and(|count| count >= start + EXPIRES)
        };
        Some(expired(sleep.until) && !earlier.iter().any(|tick| expired(tick.began)))
    }
}

fn is_of_rcu(comm: &str) -> bool {
    matches!(comm, "rcu_preempt" | "rcu_sched")
}

/// Who kept the time when, if ticks were due at an epoch.
pub(super) fn find(records: &[Record], nr_cpus: usize, epoch: u64, tick: u64) -> Vec<Kept> {
    let seen = Seen::new(records, nr_cpus, epoch, tick);
    let mut sleeps = Vec::new();
    let mut explained: Vec<Vec<bool>> = Vec::new();
    for &sleep in &seen.sleeps {
        let by = (0..nr_cpus as u32).map(|cpu| seen.explains(cpu, sleep));
        if let Some(by) = by.collect() {
            sleeps.push(sleep);
            explained.push(by);
        }
    }
    let path = cheapest(&explained, nr_cpus);
    let mut kept = Vec::new();
    let mut at = 0;
    for time in path.chunk_by(|a, b| a == b) {
        let of_time = at..at + time.len();
        at = of_time.end;
        let explains = |cpu: usize| {
            explained[of_time.clone()]
                .iter()
                .filter(|by| by[cpu])
                .count()
        };
        let cpu = time[0];
        let best = explains(cpu);
        if (0..nr_cpus).all(|other| other == cpu || explains(other) + CHANGE <= best) {
            kept.push(Kept {
                from: sleeps[of_time.start].from,
                until: sleeps[of_time.end - 1].until,
                cpu: cpu as u32,
            });
        }
    }
    kept
}

/// A CPU for each sleep: the fewest unexplained ones and changes.
fn cheapest(explained: &[Vec<bool>], nr_cpus: usize) -> Vec<usize> {
    let mut costs = vec![0; nr_cpus];
    let mut before: Vec<Vec<usize>> = Vec::new();
    for by in explained {
        let least = (0..nr_cpus).min_by_key(|&cpu| costs[cpu]).unwrap_or(0);
        let changed = costs.get(least).copied().unwrap_or(0) + CHANGE;
        let mut came_from = Vec::new();
        for (cpu, cost) in costs.iter_mut().enumerate() {
            came_from.push(if changed < *cost { least } else { cpu });
            *cost = changed.min(*cost) + usize::from(!by[cpu]);
        }
        before.push(came_from);
    }
    let mut cpu = (0..nr_cpus).min_by_key(|&cpu| costs[cpu]).unwrap_or(0);
    let mut path = Vec::new();
    for came_from in before.iter().rev() {
        path.push(cpu);
        cpu = came_from[cpu];
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Party;

    const MS: u64 = 1_000_000;
    const RCU: i32 = 18;

    fn timer(ts: u64, cpu: u32) -> Record {
        Record {
            irq: true,
            ..Record::of_task(ts, cpu, What::Timer)
        }
    }

    fn sleeps(ts: u64) -> Record {
        let party = |pid, comm: &str| Party {
            pid,
            comm: comm.to_owned(),
            prio: 120,
        };
        let what = What::Switch {
            prev: party(RCU, "rcu_preempt"),
            prev_state: PrevState::Interruptible,
            next: party(0, "swapper"),
        };
        Record::of_task(ts, 0, what)
    }

    fn wakes(ts: u64) -> Record {
        let what = What::Waking {
            pid: RCU,
            comm: "rcu_preempt".to_owned(),
            prio: 120,
            slept_on: 0,
        };
        Record {
            irq: true,
            softirq: true,
            ..Record::of_task(ts, 0, what)
        }
    }

    /// CPU 0 ticks every 4 ms; CPU 1 is held up, and ticks every 12.
    fn records(late: u64) -> Vec<Record> {
        let mut records = Vec::new();
        for period in 0..6 {
            let start = period * 12 * MS;
            records.push(timer(start, 1));
            records.extend([0, 4, 8].map(|ms| timer(start + ms * MS + 1000, 0)));
            records.push(sleeps(start + MS));
            records.push(wakes(start + late));
        }
        records.sort_by_key(|r| r.ts);
        records
    }

    #[test]
    fn sleeps_tell_whose_ticks_count() {
        let by_1 = find(&records(12 * MS + 2000), 2, 0, 4 * MS);
        assert_eq!(by_1.iter().map(|kept| kept.cpu).collect::<Vec<_>>(), [1]);
        assert_eq!(by_1[0].from, MS);
        let by_0 = find(&records(8 * MS + 2000), 2, 0, 4 * MS);
        assert_eq!(by_0.iter().map(|kept| kept.cpu).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_all_explain_tells_nothing() {
        let mut records = records(8 * MS + 2000);
        records.retain(|r| r.cpu == 0);
        let twice: Vec<Record> = records
            .into_iter()
            .flat_map(|r| match r.what {
                What::Timer => vec![r.clone(), timer(r.ts, 1)],
                _ => vec![r],
            })
            .collect();
        assert_eq!(find(&twice, 2, 0, 4 * MS), []);
        assert_eq!(find(&[], 2, 0, 4 * MS), []);
    }

    #[test]
    fn a_change_costs_as_much_as_three() {
        let by = |cpu: usize, times| vec![vec![cpu == 0, cpu == 1]; times];
        let three = [by(0, 4), by(1, 3), by(0, 4)].concat();
        assert_eq!(cheapest(&three, 2), [0; 11]);
        let many = [by(0, 4), by(1, 4)].concat();
        assert_eq!(cheapest(&many, 2), [[0; 4], [1; 4]].concat());
    }
}
