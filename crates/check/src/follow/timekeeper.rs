//! Which CPU kept the time.
//!
//! Model. The timekeeper brings jiffies up to date in its tick until it stops that; then whoever ticks next has the duty. So it
//!        follows from when CPUs stop their ticks who it is, but for the first one, and for stops that are not told or were none.
//!        All CPUs that may have it are followed side by side, the duty of each with what jiffies are then. What tells them apart
//!        is RCU's thread: while a grace period lasts, it sleeps for one jiffy at a time. Its timer is in the wheel of the CPU on
//!        which it went to sleep, and expires in that CPU's first tick that finds two jiffies more than there were then. A tick
//!        that should have woken it and did not, or the other way round, speaks against the CPU; so does a stop that is not told,
//!        and one that is told if the CPU has kept the duty. The timekeepers are those of the way against which least speaks.
//! Units. ns of the trace clock.
//! Source. kernel/time/tick-sched.c `tick_sched_do_timer`, `tick_nohz_stop_tick`; kernel/time/timer.c `calc_index`,
//!        `run_local_timers`, kernel/rcu/tree.c `rcu_gp_fqs_loop` @ 6.1, 6.12.
//! Deviations. Which CPU keeps the time is not recorded: where RCU's thread does not sleep nothing tells CPUs apart.

use super::grid::Grid;
use super::tick_stops::TickStops;
use crate::record::{PrevState, Record, What};
use std::collections::BTreeSet;

/// Jiffies by which a timer of one jiffy expires: it is not early although the present one has begun.
const EXPIRES: u64 = 2;
/// With more CPUs ways are not followed: each holds something for each CPU.
const MOST_CPUS: usize = 256;
/// `MAX_STALLED_JIFFIES`.
const MAX_STALLED: u8 = 5;

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

/// A way in which the duty may have gone from CPU to CPU.
#[derive(Clone, Debug)]
struct Way {
    /// How much speaks against it.
    cost: u32,
    /// Jiffies, counted from the grid's epoch.
    now: u64,
    /// What they were when RCU's thread went to sleep.
    slept: u64,
    /// What each CPU's last tick found, and how many in a row found the same.
    found: Vec<(u64, u8)>,
    /// Where in the list of changes the last one of this way is.
    last: Option<usize>,
}

/// Somebody got the duty, or nobody has it.
#[derive(Clone, Copy, Debug)]
struct Change {
    ts: u64,
    keeper: Option<u32>,
    before: Option<usize>,
}

/// All ways: that in which each CPU keeps the time, and at last that in which none does.
struct Ways {
    ways: Vec<Option<Way>>,
    changes: Vec<Change>,
}

impl Ways {
    fn new(nr_cpus: usize, stops: &TickStops, count: u64) -> Ways {
        let way = Way {
            cost: 0,
            now: count,
            slept: count,
            found: vec![(0, 0); nr_cpus],
            last: None,
        };
        let ticks = |cpu: &u32| !stops.start.contains(cpu);
        let mut changes = Vec::new();
        let mut ways: Vec<Option<Way>> = (0..nr_cpus as u32)
            .map(|cpu| {
                ticks(&cpu).then(|| {
                    changes.push(Change {
                        ts: 0,
                        keeper: Some(cpu),
                        before: None,
                    });
                    Way {
                        last: Some(changes.len() - 1),
                        ..way.clone()
                    }
                })
            })
            .collect();
        let none = ways.iter().all(Option::is_none);
        ways.push(none.then_some(way));
        Ways { ways, changes }
    }

    fn nobody(&self) -> usize {
        self.ways.len() - 1
    }

    /// A way goes on with another keeper, if no better one does.
    fn goes_on(&mut self, mut way: Way, keeper: Option<u32>, ts: u64) {
        let to = keeper.map_or(self.nobody(), |cpu| cpu as usize);
        if self.ways[to]
            .as_ref()
            .is_some_and(|other| other.cost <= way.cost)
        {
            return;
        }
        self.changes.push(Change {
            ts,
            keeper,
            before: way.last,
        });
        way.last = Some(self.changes.len() - 1);
        self.ways[to] = Some(way);
    }

    /// Jiffies are brought up to date, whoever has the duty.
    fn update_all(&mut self, count: u64) {
        for way in self.ways.iter_mut().flatten() {
            way.now = way.now.max(count);
        }
    }

    /// A CPU ticks.
    fn tick(&mut self, cpu: u32, ts: u64, count: u64) {
        let nobody = self.nobody();
        if let Some(way) = self.ways[nobody].take() {
            self.goes_on(way, Some(cpu), ts);
        }
        for (keeper, way) in self.ways.iter_mut().enumerate() {
            let Some(way) = way else { continue };
            if keeper == cpu as usize {
                way.now = way.now.max(count);
            }
            let (found, times) = &mut way.found[cpu as usize];
            if *found != way.now {
                *times = 0;
            } else {
                *times += 1;
                if *times == MAX_STALLED {
                    way.now = way.now.max(count);
                    *times = 0;
                }
            }
            *found = way.now;
        }
    }

    /// A CPU seems to stop its tick, or may have done so.
    fn stop(&mut self, cpu: u32, ts: u64, is_told: bool) {
        let Some(kept) = &mut self.ways[cpu as usize] else {
            return;
        };
        let mut stops = kept.clone();
        if is_told {
            kept.cost += 1;
        } else {
            stops.cost += 1;
        }
        self.goes_on(stops, None, ts);
    }

    /// An interrupt of the CPU in whose wheel RCU's timer is: it woke the thread, or did not.
    fn judge(&mut self, woke: bool) {
        for way in self.ways.iter_mut().flatten() {
            if (way.now >= way.slept + EXPIRES) != woke {
                way.cost += 1;
            }
        }
    }

    /// RCU's thread goes to sleep.
    fn sleep(&mut self) {
        for way in self.ways.iter_mut().flatten() {
            way.slept = way.now;
        }
    }

    /// Who had the duty when, on the way against which least speaks, until the end.
    fn best(&self, end: u64) -> Vec<Kept> {
        let ways = self.ways.iter().flatten();
        let mut kept = Vec::new();
        let mut until = end;
        let mut last = ways.min_by_key(|way| way.cost).and_then(|way| way.last);
        while let Some(change) = last.map(|at| self.changes[at]) {
            if let Some(cpu) = change.keeper {
                kept.push(Kept {
                    from: change.ts,
                    until,
                    cpu,
                });
            }
            until = change.ts;
            last = change.before;
        }
        kept.reverse();
        kept
    }
}

/// Who kept the time when.
pub(super) fn find(
    records: &[Record],
    next_on_cpu: &[Option<usize>],
    nr_cpus: usize,
    grid: Grid,
    stops: &TickStops,
) -> Vec<Kept> {
    let (Some(first), Some(end)) = (records.first(), records.last()) else {
        return Vec::new();
    };
    if nr_cpus > MOST_CPUS {
        return Vec::new();
    }
    let wakes = wakes_rcu(records, nr_cpus);
    let mut ways = Ways::new(nr_cpus, stops, grid.count(first.ts));
    let mut stopped: Vec<bool> = (0..nr_cpus as u32)
        .map(|cpu| stops.start.contains(&cpu))
        .collect();
    let mut next_tick = vec![0; nr_cpus];
    let mut asleep_on = None;
    for (at, r) in records.iter().enumerate() {
        let cpu = r.cpu as usize;
        if cpu >= nr_cpus {
            continue;
        }
        match &r.what {
            What::Timer => {
                let read = time_read(records, next_on_cpu, at);
                if stopped[cpu] {
                    ways.update_all(grid.count(r.ts));
                } else if r.ts >= next_tick[cpu] {
                    next_tick[cpu] = grid.next(read);
                    ways.tick(r.cpu, r.ts, grid.count(read));
                }
                if asleep_on == Some(r.cpu) {
                    ways.judge(wakes.contains(&at));
                }
                let is_told = stops.at.contains(&at);
                stopped[cpu] |= is_told;
                if is_told || stops.untold.contains(&at) {
                    ways.stop(r.cpu, r.ts, is_told);
                }
            }
            What::Switch {
                prev, prev_state, ..
            } => {
                if prev.pid == 0 && std::mem::take(&mut stopped[cpu]) {
                    ways.update_all(grid.count(r.ts));
                    next_tick[cpu] = grid.next(r.ts);
                }
                if *prev_state != PrevState::Runnable && is_of_rcu(&prev.comm) {
                    asleep_on = Some(r.cpu);
                    ways.sleep();
                }
            }
            What::Waking { comm, .. } if is_of_rcu(comm) => asleep_on = None,
            _ => {}
        }
    }
    ways.best(end.ts)
}

/// When the tick of a timer interrupt reads the time: just before it charges the running task.
fn time_read(records: &[Record], next_on_cpu: &[Option<usize>], timer: usize) -> u64 {
    let mut next = next_on_cpu[timer];
    while let Some(r) = next.map(|at| &records[at]) {
        match r.what {
            What::Runtime { .. } if r.hardirq() => return r.ts,
            What::Timer => break,
            _ if r.hardirq() => next = next.and_then(|at| next_on_cpu[at]),
            _ => break,
        }
    }
    records[timer].ts
}

/// The timer interrupts in which RCU's thread was woken on the CPU on which it went to sleep.
fn wakes_rcu(records: &[Record], nr_cpus: usize) -> BTreeSet<usize> {
    let mut timers = vec![None; nr_cpus];
    let mut wakes = BTreeSet::new();
    for (at, r) in records.iter().enumerate() {
        let Some(timer) = timers.get_mut(r.cpu as usize) else {
            continue;
        };
        match &r.what {
            What::Timer => *timer = Some(at),
            What::Waking { comm, .. } if r.softirq && is_of_rcu(comm) => wakes.extend(*timer),
            _ => {}
        }
    }
    wakes
}

fn is_of_rcu(comm: &str) -> bool {
    matches!(comm, "rcu_preempt" | "rcu_sched")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ahead;
    use crate::record::Party;

    const MS: u64 = 1_000_000;
    const RCU: i32 = 18;

    fn timer(ts: u64, cpu: u32) -> Record {
        Record {
            irq: true,
            ..Record::of_task(ts, cpu, What::Timer)
        }
    }

    /// The thread runs, and goes back to sleep.
    fn sleeps(ts: u64) -> [Record; 2] {
        let party = |pid, comm: &str| Party {
            pid,
            comm: comm.to_owned(),
            prio: 120,
        };
        let idle = || party(0, "swapper/0");
        let rcu = || party(RCU, "rcu_preempt");
        let runs = What::Switch {
            prev: idle(),
            prev_state: PrevState::Runnable,
            next: rcu(),
        };
        let sleeps = What::Switch {
            prev: rcu(),
            prev_state: PrevState::Interruptible,
            next: idle(),
        };
        [
            Record::of_task(ts - 1000, 0, runs),
            Record::of_task(ts, 0, sleeps),
        ]
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

    /// CPU 0 ticks every 4 ms; CPU 1 is held up, and ticks every 12. In each of its periods the thread wakes once, so late.
    fn records(late: &[u64]) -> Vec<Record> {
        let mut records = Vec::new();
        for (start, late) in (0..).step_by(12 * MS as usize).zip(late) {
            records.push(timer(start, 1));
            records.extend([0, 4, 8].map(|ms| timer(start + ms * MS + 1000, 0)));
            records.extend(sleeps(start + MS));
            records.push(wakes(start + late));
        }
        records.sort_by_key(|r| r.ts);
        records
    }

    const GRID: Grid = Grid {
        epoch: 0,
        tick: 4 * MS,
    };

    /// Who kept the time, one after the other, if CPUs stop their ticks after these timer interrupts.
    fn keepers(records: &[Record], told: &[usize], untold: &[usize]) -> Vec<u32> {
        let stops = TickStops {
            at: told.iter().copied().collect(),
            untold: untold.iter().copied().collect(),
            ..TickStops::default()
        };
        let kept = find(records, &ahead::next_on_cpu(records), 2, GRID, &stops);
        kept.iter().map(|kept| kept.cpu).collect()
    }

    const BY_0: u64 = 8 * MS + 2000;
    const BY_1: u64 = 12 * MS + 2000;

    #[test]
    fn sleeps_tell_whose_ticks_count() {
        assert_eq!(keepers(&records(&[BY_1; 6]), &[], &[]), [1]);
        assert_eq!(keepers(&records(&[BY_0; 6]), &[], &[]), [0]);
        assert_eq!(keepers(&[], &[], &[]), [0; 0]);
    }

    #[test]
    fn without_a_stop_the_duty_stays() {
        let records = records(&[BY_0, BY_0, BY_0, BY_0, BY_1, BY_1]);
        assert_eq!(keepers(&records, &[], &[]), [0]);
    }

    #[test]
    fn after_a_stop_the_duty_goes_to_the_next_that_ticks() {
        let records = records(&[BY_0, BY_0, BY_0, BY_1, BY_1, BY_1, BY_1]);
        let third = 3 * 12 * MS + 1000;
        let stop = records.iter().position(|r| r.ts == third - 4 * MS);
        let stop = [stop.expect("a tick of CPU 0")];
        assert_eq!(keepers(&records, &stop, &[]), [0, 1]);
        assert_eq!(keepers(&records, &[], &stop), [0, 1]);
    }

    #[test]
    fn a_stop_may_have_been_none() {
        let records = records(&[BY_0; 6]);
        let stop = records.iter().position(|r| r.ts == 20 * MS + 1000);
        assert_eq!(keepers(&records, &[stop.expect("a tick")], &[]), [0]);
    }

    #[test]
    fn one_sleep_alone_tells_of_no_stop() {
        let records = records(&[BY_0, BY_0, BY_0, BY_0, BY_1, BY_1]);
        let stop = records.iter().position(|r| r.ts == 44 * MS + 1000);
        let stop = [stop.expect("a tick of CPU 0")];
        assert_eq!(keepers(&records, &[], &stop), [0]);
        assert_eq!(keepers(&records, &stop, &[]), [0, 1]);
    }

    #[test]
    fn who_sees_jiffies_stand_still_for_five_ticks_counts() {
        let mut ways = Ways::new(2, &TickStops::default(), 0);
        for count in 1..=6 {
            ways.tick(1, count * 4 * MS, count);
        }
        let now = |cpu: usize| ways.ways[cpu].as_ref().map(|way| way.now);
        assert_eq!((now(0), now(1)), (Some(5), Some(6)));
    }
}
