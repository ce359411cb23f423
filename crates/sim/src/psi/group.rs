//! The pressure in one group: what its tasks do on each CPU, and what that adds up to.
//!
//! Model.  On each CPU the group is in a state that follows from counts of its tasks. `some`: a task waits. `full`: a
//!         task waits and none runs. `nonidle`: a task runs, waits, or sleeps for I/O. The time in each state is taken
//!         together over the CPUs, each with the weight of its time in `nonidle`:
//!
//! ```text
//!   total += Σ some(cpu) · nonidle(cpu) / Σ nonidle(cpu)
//! ```
//!
//! That is done by a worker, every `2·HZ + 1` ticks while there is something to run, and when somebody asks.
//!
//! Units.  Times in ns; the weights in whole ticks, so that what is collected after less than a tick is lost.
//! Source. kernel/sched/psi.c `psi_group_change`, `test_states`, `record_times`, `get_recent_times`,
//!         `collect_percpu_times`, `update_averages`, `psi_avgs_work`, `psi_show` @ 6.1, 6.12.
//! Deviations. The worker takes no CPU time, and its timer is exact to a tick where the kernel's timer wheel is late by
//!         up to 8 ticks. Buckets have 64 bits and not 32, so they do not wrap after 4.3 s without a worker.

use super::averages::Averages;
use fairwind_sched::{CpuId, GroupId, Nanos};

/// Tasks of a group on a CPU, or a change of their number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counts {
    /// Wait for the CPU or run on it.
    pub(super) running: i32,
    /// Run on it.
    pub(super) on_cpu: i32,
    /// Sleep for I/O and last ran on it.
    pub(super) iowait: i32,
}

impl Counts {
    pub(super) fn plus(self, other: Counts) -> Counts {
        Counts {
            running: self.running + other.running,
            on_cpu: self.on_cpu + other.on_cpu,
            iowait: self.iowait + other.iowait,
        }
    }

    pub(super) fn minus(self, other: Counts) -> Counts {
        Counts {
            running: self.running - other.running,
            on_cpu: self.on_cpu - other.on_cpu,
            iowait: self.iowait - other.iowait,
        }
    }

    fn is_some(self) -> bool {
        self.running > i32::from(self.on_cpu > 0)
    }

    fn is_full(self) -> bool {
        self.running > 0 && self.on_cpu == 0
    }

    fn is_nonidle(self) -> bool {
        self.running > 0 || self.iowait > 0
    }
}

/// Time in each state.
#[derive(Clone, Copy, Default, Debug)]
struct Times {
    some: Nanos,
    full: Nanos,
    nonidle: Nanos,
}

/// A group on one CPU.
#[derive(Clone, Copy, Default, Debug)]
struct GroupCpu {
    counts: Counts,
    /// Since when the counts are what they are.
    since: Nanos,
    times: Times,
    /// `times` when they were last collected.
    collected: Times,
}

impl GroupCpu {
    /// The times up to `now`.
    fn times_at(&self, now: Nanos) -> Times {
        let lasted = now - self.since;
        let mut times = self.times;
        if self.counts.is_some() {
            times.some += lasted;
            if self.counts.is_full() {
                times.full += lasted;
            }
        }
        if self.counts.is_nonidle() {
            times.nonidle += lasted;
        }
        times
    }
}

/// What is known of one of the two pressures.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stalled {
    /// Time stalled, as far as collected.
    pub(super) total: Nanos,
    /// Of this, what went into the averages.
    averaged: Nanos,
    pub(super) averages: Averages,
}

/// The pressure in a group.
#[derive(Clone, Debug)]
pub(super) struct GroupPressure {
    /// The group above; none for the root.
    pub(super) parent: GroupId,
    /// Levels below the root.
    pub(super) depth: u32,
    cpus: Vec<GroupCpu>,
    pub(super) some: Stalled,
    pub(super) full: Stalled,
    last_update: Nanos,
    next_update: Nanos,
    /// When the worker runs next.
    work_due: Option<Nanos>,
    tick: Nanos,
    /// Ticks of a period: `2·HZ + 1`.
    period_ticks: u64,
}

impl GroupPressure {
    pub(super) fn new(
        parent: GroupId,
        depth: u32,
        nr_cpus: usize,
        tick: Nanos,
        hz: u64,
        now: Nanos,
    ) -> Self {
        let period_ticks = 2 * hz + 1;
        GroupPressure {
            parent,
            depth,
            cpus: vec![
                GroupCpu {
                    since: now,
                    ..GroupCpu::default()
                };
                nr_cpus
            ],
            some: Stalled::default(),
            full: Stalled::default(),
            last_update: now,
            next_update: now + period_ticks * tick,
            work_due: None,
            tick,
            period_ticks,
        }
    }

    /// The number of tasks on a CPU changes now.
    pub(super) fn change(&mut self, cpu: CpuId, change: Counts, now: Nanos) {
        self.run_worker(now);
        let c = &mut self.cpus[cpu.idx()];
        c.times = c.times_at(now);
        c.since = now;
        c.counts = c.counts.plus(change);
        debug_assert!(
            c.counts.running >= 0 && c.counts.on_cpu >= 0 && c.counts.iowait >= 0,
            "{cpu:?} {c:?}"
        );
        if self.work_due.is_none() {
            self.work_due = Some(self.ticks_later(now, self.period_ticks));
        }
    }

    /// Tasks on each CPU, `[nr_cpus]`.
    #[cfg(test)]
    pub(super) fn counts(&self) -> Vec<Counts> {
        self.cpus.iter().map(|cpu| cpu.counts).collect()
    }

    /// The group as somebody sees it who reads its file now; reading counts as an update.
    pub(super) fn read(&self, now: Nanos) -> GroupPressure {
        let mut group = self.clone();
        group.run_worker(now);
        group.collect(now);
        group.update_averages_if_due(now);
        group
    }

    /// Does what the worker did up to `now`. Nothing has changed since it was due, so it is not too late.
    fn run_worker(&mut self, now: Nanos) {
        while let Some(due) = self.work_due.filter(|&due| due <= now) {
            let nonidle = self.collect(due);
            self.update_averages_if_due(due);
            // The worker goes on while there is something to do, and else waits for the next change.
            self.work_due =
                nonidle.then(|| self.ticks_later(due, (self.next_update - due) / self.tick + 1));
        }
    }

    fn ticks_later(&self, now: Nanos, ticks: u64) -> Nanos {
        (now / self.tick + ticks) * self.tick
    }

    /// Adds up the CPUs' times; true if any of them was not idle.
    fn collect(&mut self, now: Nanos) -> bool {
        // Bits: times are below 2⁶⁴ ns and so many ticks are below 2⁴⁵; the sums take 128.
        let (mut some, mut full, mut weights) = (0u128, 0u128, 0u128);
        let mut nonidle = false;
        for cpu in &mut self.cpus {
            let times = cpu.times_at(now);
            let then = std::mem::replace(&mut cpu.collected, times);
            nonidle |= times.nonidle > then.nonidle;
            let weight = u128::from((times.nonidle - then.nonidle) / self.tick);
            weights += weight;
            some += u128::from(times.some - then.some) * weight;
            full += u128::from(times.full - then.full) * weight;
        }
        let weights = weights.max(1);
        self.some.total += (some / weights) as Nanos;
        self.full.total += (full / weights) as Nanos;
        nonidle
    }

    fn update_averages_if_due(&mut self, now: Nanos) {
        if now < self.next_update {
            return;
        }
        let length = self.period_ticks * self.tick;
        let missed = (now - self.next_update) / length;
        let period = now - (self.last_update + missed * length);
        self.next_update += (1 + missed) * length;
        self.last_update = now;
        for stalled in [&mut self.some, &mut self.full] {
            // What is more than the period is left for the next one.
            let sample = (stalled.total - stalled.averaged).min(period);
            stalled.averaged += sample;
            stalled.averages.sample(missed, sample, period);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const RUN: Counts = Counts {
        running: 1,
        on_cpu: 1,
        iowait: 0,
    };
    const WAIT: Counts = Counts {
        running: 1,
        on_cpu: 0,
        iowait: 0,
    };
    const GONE: Counts = Counts {
        running: -1,
        on_cpu: -1,
        iowait: 0,
    };

    /// Two CPUs at 250 Hz: a tick is 4 ms and a period 2004 ms.
    fn group() -> GroupPressure {
        GroupPressure::new(GroupId::NONE, 0, 2, 4 * MS, 250, 0)
    }

    #[test]
    fn one_runs_and_one_waits_is_some_and_two_wait_is_full() {
        let mut group = group();
        group.change(CpuId(0), RUN, 0);
        group.change(CpuId(0), WAIT, 100 * MS);
        group.change(
            CpuId(0),
            Counts {
                on_cpu: -1,
                ..Counts::default()
            },
            300 * MS,
        );
        let seen = group.read(1000 * MS);
        assert_eq!((seen.some.total, seen.full.total), (900 * MS, 700 * MS));
    }

    #[test]
    fn cpus_weigh_as_much_as_they_are_busy() {
        let mut group = group();
        // CPU 0: busy 800 ms, waited all the time. CPU 1: busy 200 ms, nobody waited.
        group.change(CpuId(0), RUN, 0);
        group.change(CpuId(0), WAIT, 0);
        group.change(CpuId(1), RUN, 0);
        group.change(CpuId(1), GONE, 200 * MS);
        group.change(CpuId(0), GONE, 800 * MS);
        group.change(
            CpuId(0),
            Counts {
                running: -1,
                ..Counts::default()
            },
            800 * MS,
        );
        // 800·200 ticks / (200 + 50 ticks) = 640 ms.
        assert_eq!(group.read(1000 * MS).some.total, 640 * MS);
    }

    #[test]
    fn who_sleeps_for_io_makes_its_cpu_count() {
        let mut group = group();
        group.change(CpuId(0), RUN, 0);
        group.change(CpuId(0), WAIT, 0);
        group.change(
            CpuId(1),
            Counts {
                iowait: 1,
                ..Counts::default()
            },
            0,
        );
        // Both CPUs are non-idle for 1 s, one of them stalls: half of it.
        assert_eq!(group.read(1000 * MS).some.total, 500 * MS);
    }

    #[test]
    fn less_than_a_tick_is_lost() {
        let mut group = group();
        group.change(CpuId(0), RUN, 0);
        group.change(CpuId(0), WAIT, 0);
        assert_eq!(group.read(4 * MS - 1).some.total, 0);
        assert_eq!(group.read(4 * MS).some.total, 4 * MS);
    }

    #[test]
    fn the_worker_samples_each_period_and_rests_when_all_is_idle() {
        let mut group = group();
        group.change(CpuId(0), RUN, 0);
        group.change(CpuId(0), WAIT, 0);
        assert_eq!(group.work_due, Some(2004 * MS));
        // Full pressure in one period: 18.11 %, 3.27 %, 0.68 %; in two: 32.94 %, 6.43 %, 1.36 %. The second sample is
        // taken a tick late, at 4012 ms, over 2008 ms.
        assert_eq!(
            group.read(2004 * MS).some.averages.centi(),
            [18_11, 3_27, 68]
        );
        assert_eq!(
            group.read(4011 * MS).some.averages.centi(),
            [32_94, 6_43, 1_36]
        );
        assert_eq!(
            group.read(4012 * MS).some.averages.centi(),
            [32_94, 6_43, 1_36]
        );
        for _ in 0..2 {
            group.change(
                CpuId(0),
                Counts {
                    running: -1,
                    ..Counts::default()
                },
                4012 * MS,
            );
        }
        assert_eq!(group.work_due, Some(6016 * MS));
        group.run_worker(10_000 * MS);
        assert_eq!(group.work_due, None);
        // Stalled for ever: 4012 ms in all.
        assert_eq!(group.read(10_000 * MS).some.total, 4012 * MS);
    }
}
