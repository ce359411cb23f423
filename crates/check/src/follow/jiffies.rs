//! Jiffies, as the kernel counted them: they lag behind the time wherever the CPU that counts is late.
//!
//! Model.   Ticks are due at multiples of their length of `ktime`, on all CPUs at once; a timer interrupt is a tick if one has
//!          come due since the CPU's last. One CPU, the timekeeper, brings jiffies up to date in its tick, and so does
//!          each CPU that leaves a state without ticks, or is interrupted in one. Who it is, `timekeeper` finds; where ticks
//!          may come at any time, the first CPU that ticks, and the next one when it stops that. A CPU that sees jiffies
//!          stand still for five of its ticks brings them up to date once.
//! Units.   ns of the trace clock, jiffies as in the debug file.
//! Source.  kernel/time/tick-sched.c `tick_sched_do_timer`, `tick_do_update_jiffies64`, `tick_nohz_irq_enter`,
//!          `tick_nohz_stop_tick` @ 6.1, 6.12.
//! Deviations. Without records of timer interrupts jiffies are those that are due. Interrupts of idle CPUs other than the timer's
//!          are not recorded.

use super::grid::Grid;
use super::tick_stops::TickStops;
use super::timekeeper::{self, Kept};
use crate::facts::ClockFacts;
use crate::record::{Record, What};

/// `MAX_STALLED_JIFFIES`.
const MAX_STALLED: u32 = 5;

#[derive(Clone, Copy, Debug, Default)]
struct CpuTick {
    stopped: bool,
    /// Before this its timer interrupts are those of other timers.
    next_tick: u64,
    /// What jiffies were if it brought them up to date in its last tick.
    would_count: u64,
    last_jiffies: u64,
    stalled: u32,
}

/// The kernel's jiffies at the current record.
#[derive(Clone, Debug)]
pub(super) struct Jiffies {
    grid: Grid,
    /// The jiffies due at the grid's epoch.
    at_epoch: u64,
    now: u64,
    /// When ticks are due follows from clocks of the kernel.
    is_phase_known: bool,
    timekeeper: Option<u32>,
    /// Who that is, as far as it is told.
    kept: Vec<Kept>,
    cpus: Vec<CpuTick>,
    /// When idle CPUs stop their ticks.
    pub(super) stops: TickStops,
    /// Timer interrupts are recorded.
    timers: bool,
}

impl Jiffies {
    pub(super) fn new(
        clock: Option<ClockFacts>,
        tick: u64,
        records: &[Record],
        next_on_cpu: &[Option<usize>],
        nr_cpus: usize,
    ) -> Jiffies {
        let start = records.first().map_or(0, |record| record.ts);
        let is_phase_known = clock.is_some();
        let clock = clock.unwrap_or(ClockFacts {
            // Kernels do not count from 0.
            jiffies: start / tick + 1,
            sched_clock: start,
            cpu_clock: start,
            ktime: start,
        });
        // The debug file shows the lower half of the count.
        let counted = clock.jiffies & u64::from(u32::MAX);
        let epoch = clock.sched_clock.saturating_sub(clock.ktime % tick);
        let grid = Grid { epoch, tick };
        let stops = TickStops::find(records, next_on_cpu, nr_cpus, grid, is_phase_known);
        let mut jiffies = Jiffies {
            grid,
            at_epoch: counted,
            now: counted,
            is_phase_known,
            timekeeper: None,
            kept: Vec::new(),
            cpus: vec![CpuTick::default(); nr_cpus],
            timers: records.iter().any(|record| record.what == What::Timer),
            stops,
        };
        if is_phase_known && nr_cpus > 1 {
            jiffies.kept = timekeeper::find(records, next_on_cpu, nr_cpus, grid, &jiffies.stops);
        }
        jiffies.update(start);
        jiffies
    }

    /// A record is followed; true if it brings jiffies up to date.
    pub(super) fn pass(&mut self, ts: u64) -> bool {
        let before = self.now;
        if !self.timers {
            self.update(ts);
        }
        self.now != before
    }

    /// In which part of their period ticks are due, if that is known.
    pub(super) fn phase(&self) -> Option<u64> {
        self.is_phase_known
            .then_some(self.grid.epoch % self.grid.tick)
    }

    /// The kernel's jiffies.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The fewest that the kernel can have counted, whichever CPU keeps the time.
    pub(super) fn least(&self) -> u64 {
        let ticking = self.cpus.iter().filter(|cpu| !cpu.stopped);
        let least = ticking.map(|cpu| cpu.would_count).min();
        least.unwrap_or(self.now).min(self.now)
    }

    /// The most that the kernel can have counted.
    pub(super) fn most(&self, ts: u64) -> u64 {
        self.at_epoch + self.grid.count(ts)
    }

    fn update(&mut self, ts: u64) {
        self.now = self.now.max(self.most(ts));
    }

    /// A CPU's timer interrupt; true if the tick may run in it.
    pub(super) fn timer(&mut self, cpu: u32, ts: u64) -> bool {
        let at = cpu as usize;
        if self.cpus[at].stopped {
            self.update(ts);
            return false;
        }
        if self.is_phase_known && ts < self.cpus[at].next_tick {
            return false;
        }
        self.cpus[at].next_tick = self.grid.next(ts);
        self.cpus[at].would_count = self.most(ts);
        if let Some(told) = self.told(ts) {
            self.timekeeper = Some(told);
        }
        let timekeeper = *self.timekeeper.get_or_insert(cpu);
        if timekeeper == cpu {
            self.update(ts);
        }
        if self.cpus[at].last_jiffies != self.now {
            self.cpus[at].stalled = 0;
        } else {
            self.cpus[at].stalled += 1;
            if self.cpus[at].stalled == MAX_STALLED {
                self.update(ts);
                self.cpus[at].stalled = 0;
            }
        }
        self.cpus[at].last_jiffies = self.now;
        true
    }

    /// Who keeps the time, if that is told.
    fn told(&self, ts: u64) -> Option<u32> {
        let next = self.kept.partition_point(|kept| kept.until < ts);
        let kept = self.kept.get(next)?;
        (kept.from <= ts).then_some(kept.cpu)
    }

    /// An idle CPU stops its tick.
    pub(super) fn stop(&mut self, cpu: u32) {
        self.cpus[cpu as usize].stopped = true;
        if self.timekeeper == Some(cpu) {
            self.timekeeper = None;
        }
    }

    /// A CPU is interrupted, or leaves idle for good.
    pub(super) fn busy(&mut self, cpu: u32, ts: u64, leaves_idle: bool) {
        let at = cpu as usize;
        if self.cpus[at].stopped {
            self.update(ts);
            self.cpus[at].stopped = !leaves_idle;
            self.cpus[at].next_tick = self.grid.next(ts);
            self.cpus[at].would_count = self.most(ts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of 4 ms are due at 2, 6, 10 … ms of the trace clock.
    fn jiffies() -> Jiffies {
        let clock = ClockFacts {
            jiffies: 100,
            sched_clock: 3_000_000,
            cpu_clock: 3_000_000,
            ktime: 9_000_000,
        };
        Jiffies::new(Some(clock), 4_000_000, &[timer(3_000_000)], &[None], 2)
    }

    fn timer(ts: u64) -> Record {
        Record {
            irq: true,
            ..Record::of_task(ts, 0, What::Timer)
        }
    }

    #[test]
    fn without_timer_interrupts_they_follow_the_time() {
        let exit = Record {
            what: What::Exit { pid: 1 },
            ..timer(9_000_000)
        };
        let mut j = Jiffies::new(None, 4_000_000, &[exit], &[None], 2);
        assert_eq!(j.now(), 3);
        assert!(!j.pass(11_999_999));
        assert!(j.pass(12_000_000));
        assert_eq!(j.now(), 4);
        let mut told = jiffies();
        assert!(!told.pass(20_000_000), "the timers tell");
    }

    #[test]
    fn only_the_timekeeper_counts() {
        let mut j = jiffies();
        assert_eq!(j.now(), 100);
        j.timer(0, 6_100_000);
        assert_eq!(j.now(), 101);
        j.timer(1, 10_100_000);
        assert_eq!(j.now(), 101, "cpu0 is late");
        j.timer(0, 14_000_000);
        assert_eq!(j.now(), 103);
    }

    #[test]
    fn whoever_keeps_the_time_may_be_late() {
        let mut j = jiffies();
        j.timer(0, 6_100_000);
        assert_eq!(j.least(), 0, "cpu1 has not ticked yet");
        j.timer(1, 10_100_000);
        assert_eq!((j.least(), j.now()), (101, 101));
        j.timer(0, 14_000_000);
        assert_eq!((j.least(), j.now()), (102, 103));
        j.stop(1);
        assert_eq!(j.least(), 103);
    }

    #[test]
    fn other_timers_are_no_ticks() {
        let mut j = jiffies();
        assert!(j.timer(0, 6_100_000));
        for ts in [6_200_000, 7_000_000, 9_900_000] {
            assert!(!j.timer(0, ts));
        }
        assert!(j.timer(0, 10_050_000));
        assert_eq!(j.now(), 102);
    }

    #[test]
    fn the_duty_goes_to_the_next_that_ticks() {
        let mut j = jiffies();
        j.timer(0, 6_100_000);
        j.stop(0);
        j.timer(1, 14_100_000);
        assert_eq!(j.now(), 103);
        assert!(!j.timer(0, 18_100_000), "no tick of its own");
        assert_eq!(j.now(), 104, "an interrupt brings jiffies up to date");
    }

    #[test]
    fn the_timekeeper_may_be_told() {
        let mut j = jiffies();
        j.kept = vec![Kept {
            from: 9_000_000,
            until: 20_000_000,
            cpu: 1,
        }];
        j.timer(0, 6_100_000);
        j.timer(0, 10_100_000);
        assert_eq!(j.now(), 101, "by now it is cpu1");
        j.timer(1, 14_100_000);
        assert_eq!(j.now(), 103);
        assert_eq!((j.told(20_000_000), j.told(20_000_001)), (Some(1), None));
    }

    #[test]
    fn who_sees_them_stand_still_for_five_ticks_counts_once() {
        let mut j = jiffies();
        j.timer(0, 6_100_000);
        // The first tick notes them; five more find them as they were.
        for tick in 0..5 {
            j.timer(1, 10_100_000 + tick * 4_000_000);
            assert_eq!(j.now(), 101);
        }
        j.timer(1, 30_100_000);
        assert_eq!(j.now(), 107);
    }
}
