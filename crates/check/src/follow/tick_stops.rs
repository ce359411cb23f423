//! When idle CPUs stop their tick, as far as timer interrupts tell.
//!
//! Model.      An idle CPU stops its tick after one that found it idle: recordings with a probe on `nohz_balance_enter_idle` show
//!             few that did so as it went idle. It did if it has none while the next one can come, although it is still idle: that may
//!             be as late as those of busy CPUs are on average. If it leaves idle first, when the next one has been due for twice as
//!             long as idle CPUs usually wait for theirs, it had none to come. Where a late one is followed by another at once,
//!             it was late and not stopped.
//! Units.      ns of the trace clock.
//! Source.     kernel/time/tick-sched.c `tick_nohz_next_event`, `tick_nohz_idle_stop_tick` @ 6.1, 6.12.
//! Deviations. A CPU that leaves idle before the next tick is due may have stopped it; it is taken not to have. Interrupts of idle
//!             CPUs other than the timer's are not recorded.

use super::grid::Grid;
use crate::median::median;
use crate::record::{Record, What};
use std::collections::BTreeSet;

/// The ticks of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct TickStops {
    /// Timer interrupts after which an idle CPU stops its tick, by record.
    pub(super) at: BTreeSet<usize>,
    /// Timer interrupts after which it is not told whether it does, since it leaves idle before the next is due.
    pub(super) untold: BTreeSet<usize>,
    /// CPUs that are idle and have stopped it when the recording begins.
    pub(super) start: BTreeSet<u32>,
}

/// The records, and what is known of how late ticks come.
struct Ticks<'a> {
    records: &'a [Record],
    next_on_cpu: &'a [Option<usize>],
    grid: Grid,
    /// How late those of busy CPUs may be.
    busy: u64,
    /// How late those of CPUs that leave idle may be.
    leaving: u64,
}

/// A CPU as its records go on.
#[derive(Clone, Copy, Debug)]
struct CpuTick {
    idle: bool,
    stopped: bool,
    next_tick: u64,
}

impl TickStops {
    /// Finds them; `is_phase_known`: ticks are due at the grid's times and at no others.
    pub(super) fn find(
        records: &[Record],
        next_on_cpu: &[Option<usize>],
        nr_cpus: usize,
        grid: Grid,
        is_phase_known: bool,
    ) -> TickStops {
        let mut stops = TickStops::default();
        let usual = usual_lateness(records, nr_cpus, grid).filter(|_| is_phase_known);
        let ticks = Ticks {
            records,
            next_on_cpu,
            grid,
            busy: mean_gap(records, nr_cpus).unwrap_or(0).max(grid.tick),
            leaving: usual.map_or(grid.tick, |late| 2 * late),
        };
        let start = records.first().map_or(0, |r| r.ts);
        let mut cpus: Vec<Option<CpuTick>> = vec![None; nr_cpus];
        for (at, r) in records.iter().enumerate() {
            let Some(cpu) = cpus.get_mut(r.cpu as usize) else {
                continue;
            };
            let cpu = cpu.get_or_insert_with(|| {
                let idle = ticks.is_idle_before(at);
                let stopped = idle && !ticks.go_on(start, Some(at));
                if stopped {
                    stops.start.insert(r.cpu);
                }
                let next_tick = 0;
                CpuTick {
                    idle,
                    stopped,
                    next_tick,
                }
            });
            match &r.what {
                What::Timer if !(cpu.stopped || is_phase_known && r.ts < cpu.next_tick) => {
                    cpu.next_tick = grid.next(r.ts);
                    if !cpu.idle || r.need_resched {
                        continue;
                    }
                    if !ticks.go_on(r.ts, next_on_cpu[at]) {
                        cpu.stopped = true;
                        stops.at.insert(at);
                    } else if ticks.leaves_before(at, cpu.next_tick) {
                        stops.untold.insert(at);
                    }
                }
                What::Switch { prev, next, .. } => {
                    cpu.idle = next.pid == 0;
                    if prev.pid == 0 && std::mem::take(&mut cpu.stopped) {
                        cpu.next_tick = grid.next(r.ts);
                    }
                }
                _ => {}
            }
        }
        stops
    }
}

impl Ticks<'_> {
    /// A CPU's records after one.
    fn after(&self, at: usize) -> impl Iterator<Item = &Record> {
        let next = |&at: &usize| self.next_on_cpu[at];
        std::iter::successors(Some(at), next)
            .skip(1)
            .map(|at| &self.records[at])
    }

    /// The timer interrupt or the switch that is next on a CPU after a record.
    fn next_event(&self, at: usize) -> Option<&Record> {
        self.after(at)
            .find(|r| matches!(r.what, What::Timer | What::Switch { .. }))
    }

    /// Is a CPU idle before its first record?
    fn is_idle_before(&self, first: usize) -> bool {
        let own = std::iter::once(&self.records[first]).chain(self.after(first));
        let mut idle = own.filter_map(|r| match &r.what {
            What::Switch { prev, .. } => Some(prev.pid == 0),
            _ => None,
        });
        idle.next().unwrap_or(true)
    }

    /// Does a CPU leave idle after a tick, and before a time?
    fn leaves_before(&self, tick: usize, due: u64) -> bool {
        let next = self.next_event(tick);
        next.is_some_and(|r| r.what != What::Timer && r.ts < due)
    }

    /// Does the tick of an idle CPU go on after a time, by its records from `next` on? Softirqs run in the interrupt that the
    /// tick was in, before the CPU is idle again.
    fn go_on(&self, ts: u64, mut next: Option<usize>) -> bool {
        let due = self.grid.next(ts);
        let latest = due + self.busy;
        let mut same_irq = true;
        while let Some(at) = next {
            let r = &self.records[at];
            same_irq &= r.softirq;
            let ends = if same_irq { latest } else { due };
            match r.what {
                What::Timer => return r.ts < latest || self.goes_on_after(at),
                What::Switch { .. } => return r.ts < due + self.leaving,
                // The interrupt that the tick was in ends with a task to run.
                _ if r.irq && r.need_resched && r.ts < ends => return true,
                _ => next = self.next_on_cpu[at],
            }
        }
        false
    }

    /// Is a timer interrupt of an idle CPU followed by one in the next period?
    fn goes_on_after(&self, timer: usize) -> bool {
        let next_period = self.grid.count(self.records[timer].ts) + 1;
        let next = self.next_event(timer);
        next.is_some_and(|r| r.what == What::Timer && self.grid.count(r.ts) == next_period)
    }
}

/// How far apart timer interrupts of busy CPUs are on average, whose ticks never stop.
fn mean_gap(records: &[Record], nr_cpus: usize) -> Option<u64> {
    let mut last: Vec<Option<u64>> = vec![None; nr_cpus];
    let (mut sum, mut gaps) = (0, 0);
    for r in records {
        let Some(last) = last.get_mut(r.cpu as usize) else {
            continue;
        };
        match &r.what {
            What::Timer => {
                if let Some(last) = last.replace(r.ts) {
                    sum += r.ts.saturating_sub(last);
                    gaps += 1;
                }
            }
            What::Switch { prev, next, .. } if prev.pid == 0 || next.pid == 0 => *last = None,
            _ => {}
        }
    }
    (gaps != 0).then(|| sum / gaps)
}

/// How late ticks of idle CPUs are as often as not.
fn usual_lateness(records: &[Record], nr_cpus: usize, grid: Grid) -> Option<u64> {
    let mut idle_since: Vec<Option<u64>> = vec![None; nr_cpus];
    let mut late = Vec::new();
    for r in records {
        let Some(last) = idle_since.get_mut(r.cpu as usize) else {
            continue;
        };
        match &r.what {
            What::Timer if r.pid == 0 => {
                let before = last.replace(r.ts);
                if before.is_some_and(|before| grid.count(before) + 1 == grid.count(r.ts)) {
                    late.push(grid.late(r.ts));
                }
            }
            What::Timer | What::Switch { .. } => *last = None,
            _ => {}
        }
    }
    median(late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::ahead;
    use crate::record::{Party, PrevState};

    const US: u64 = 1000;
    const GRID: Grid = Grid {
        epoch: 0,
        tick: 4000 * US,
    };

    fn timer(us: u64) -> Record {
        Record {
            irq: true,
            ..Record::of_task(us * US, 0, What::Timer)
        }
    }

    fn switch(us: u64, prev: i32, next: i32) -> Record {
        let what = What::Switch {
            prev: Party::of(prev),
            prev_state: PrevState::Interruptible,
            next: Party::of(next),
        };
        Record {
            pid: prev,
            ..Record::of_task(us * US, 0, what)
        }
    }

    fn find(records: &[Record]) -> TickStops {
        TickStops::find(records, &ahead::next_on_cpu(records), 1, GRID, true)
    }

    /// Goes idle, and ticks 100 µs late three times.
    fn idles() -> Vec<Record> {
        vec![switch(1000, 7, 0), timer(4100), timer(8100), timer(12_100)]
    }

    #[test]
    fn the_tick_stops_where_the_next_one_does_not_come() {
        let mut records = idles();
        records.push(timer(40_000));
        let stops = find(&records);
        assert_eq!(stops.at, BTreeSet::from([3]));
        assert_eq!((stops.untold.len(), stops.start.len()), (0, 0));
    }

    #[test]
    fn a_late_tick_that_the_next_one_follows_has_not_stopped() {
        let mut records = idles();
        records.extend([timer(31_900), timer(32_100), switch(32_200, 0, 7)]);
        assert_eq!(find(&records).at, BTreeSet::new());
    }

    #[test]
    fn leaving_idle_tells_by_how_late_ticks_usually_are() {
        let leaves = |us| {
            let mut records = idles();
            records.push(switch(us, 0, 7));
            find(&records)
        };
        let early = leaves(15_000);
        assert_eq!((early.at.len(), early.untold), (0, BTreeSet::from([3])));
        let late = leaves(16_150);
        assert_eq!((late.at.len(), late.untold.len()), (0, 0));
        assert_eq!(leaves(16_250).at, BTreeSet::from([3]));
    }

    #[test]
    fn an_interrupt_that_ends_with_a_task_to_run_stops_nothing() {
        let mut records = idles();
        records.push(Record {
            need_resched: true,
            softirq: true,
            ..timer(12_120)
        });
        records[4].what = What::Exit { pid: 9 };
        records.push(switch(30_000, 0, 7));
        assert_eq!(find(&records).at, BTreeSet::new());
    }

    #[test]
    fn who_is_idle_from_the_start_may_have_stopped() {
        let busy = switch(1_000_000, 0, 7);
        assert_eq!(find(&[timer(1000), busy.clone()]).start, BTreeSet::new());
        let other = Record {
            cpu: 9,
            ..timer(1000)
        };
        assert_eq!(find(&[other, busy]).start, BTreeSet::from([0]));
    }

    #[test]
    fn ticks_may_be_as_late_as_those_of_busy_cpus() {
        let records = [
            timer(1000),
            timer(9000),
            timer(21_000),
            switch(22_000, 1, 0),
            timer(90_000),
        ];
        assert_eq!(mean_gap(&records, 1), Some(10_000 * US));
        assert_eq!(mean_gap(&records[3..], 1), None);
        assert_eq!(usual_lateness(&idles(), 1, GRID), Some(100 * US));
    }
}
