//! What programs measure themselves.
//!
//! Units.       Nanoseconds.

use crate::action::{ClockId, CounterId, LatencyId, Measured};
use hdrhistogram::Histogram;

/// When a clock was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// For the first time.
    pub first_ns: u64,
    /// For the last time.
    pub last_ns: u64,
}

/// What was measured so far.
#[derive(Clone, Debug)]
pub struct Measures {
    clocks: Vec<Option<Stamps>>,
    counters: Vec<u64>,
    latencies: Vec<Histogram<u64>>,
}

impl Measures {
    pub(crate) fn new(measured: Measured) -> Measures {
        let histogram = Histogram::new_with_bounds(1, 1 << 40, 2).expect("valid bounds");
        Measures {
            clocks: vec![None; measured.clocks as usize],
            counters: vec![0; measured.counters as usize],
            latencies: vec![histogram; measured.latencies as usize],
        }
    }

    pub(crate) fn stamp(&mut self, clock: ClockId, now_ns: u64) {
        let stamps = self.clocks[clock.idx()].get_or_insert(Stamps {
            first_ns: now_ns,
            last_ns: now_ns,
        });
        stamps.last_ns = now_ns;
    }

    pub(crate) fn count(&mut self, counter: CounterId, by: u32) {
        self.counters[counter.idx()] += u64::from(by);
    }

    pub(crate) fn record(&mut self, latency: LatencyId, ns: u64) {
        self.latencies[latency.idx()].saturating_record(ns);
    }

    /// When a clock was read; none: never.
    pub fn clock(&self, clock: ClockId) -> Option<Stamps> {
        self.clocks[clock.idx()]
    }

    /// What a counter has counted.
    pub fn counter(&self, counter: CounterId) -> u64 {
        self.counters[counter.idx()]
    }

    /// A percentile of a latency, to 1 %; none: nothing was recorded.
    pub fn latency_ns(&self, latency: LatencyId, percentile: f64) -> Option<u64> {
        let histogram = &self.latencies[latency.idx()];
        (!histogram.is_empty()).then(|| histogram.value_at_percentile(percentile))
    }

    /// How many latencies were recorded.
    pub fn nr_latencies(&self, latency: LatencyId) -> u64 {
        self.latencies[latency.idx()].len()
    }
}
