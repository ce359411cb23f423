//! How often a task had which wakeup latency.
//!
//! Model.      Latencies are counted to 1 %: below 256 ns each for itself, above that in 128 equal steps of each power of
//!             two, as an HDR histogram of two digits does. Most tasks show few different latencies and keep a short list of
//!             them; one that shows more gets an array that reaches up to its longest. With a full HDR histogram a task took
//!             17 KiB.
//! Invariants. Quantiles are those of the HDR histogram: the largest latency that counts as the same, so rounded up.

use fairwind_sched::Nanos;

/// A list of more different latencies becomes an array.
const LIST_LEN: usize = 16;
/// Steps of a power of two.
const STEPS: usize = 128;

/// The row that a latency is counted in.
#[inline]
fn row(latency: Nanos) -> usize {
    let shift = (latency | (2 * STEPS as u64 - 1)).ilog2() - STEPS.ilog2();
    shift as usize * STEPS + (latency >> shift) as usize
}

/// The largest latency counted in a row.
fn top(row: usize) -> Nanos {
    let shift = (row / STEPS).saturating_sub(1);
    let lowest = ((row - shift * STEPS) as u64) << shift;
    lowest + ((1 << shift) - 1)
}

/// Latencies and how often each was seen.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    /// The row of the last, and how often it came in a row: a look at the counts waits for memory.
    last: (u32, u32),
    /// All before.
    counts: Counts,
}

/// How often each row was counted.
#[derive(Clone, Debug)]
enum Counts {
    /// Row and count, in the order of their first.
    List(Vec<(u32, u32)>),
    /// Counts up to the highest row so far.
    Array(Vec<u32>),
}

impl Latencies {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Latencies {
            last: (0, 0),
            counts: Counts::List(Vec::new()),
        }
    }

    /// How many were counted.
    pub(crate) fn count(&self) -> u64 {
        self.rows().map(|(_, count)| u64::from(count)).sum()
    }

    /// The longest, as precise as it is counted; 0 if there were none.
    pub(crate) fn max(&self) -> Nanos {
        self.rows()
            .map(|(row, _)| row)
            .max()
            .map_or(0, |row| top(row as usize))
    }

    /// Counts one.
    #[inline]
    pub(crate) fn record(&mut self, latency: Nanos) {
        let row = row(latency) as u32;
        if row == self.last.0 && self.last.1 < u32::MAX {
            self.last.1 += 1;
            return;
        }
        let (before, count) = std::mem::replace(&mut self.last, (row, 1));
        if count > 0 {
            self.counts.add(before as usize, count);
        }
    }

    /// Counts all that another has counted.
    pub(crate) fn merge(&mut self, other: &Latencies) {
        for (row, count) in other.rows() {
            self.counts.add(row as usize, count);
        }
    }

    /// Rows that have counted something, and their counts, in no order; one may come twice.
    fn rows(&self) -> impl Iterator<Item = (u32, u32)> {
        let last = std::iter::once(self.last);
        let rows = self.counts.rows().chain(last);
        rows.filter(|&(_, count)| count > 0)
    }

    /// The latency that a part of all, 0 to 1, did not exceed; 0 if there were none.
    pub(crate) fn quantile(&self, part: f64) -> Nanos {
        let wanted = ((part * self.count() as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let mut rows: Vec<(u32, u32)> = self.rows().collect();
        rows.sort_unstable();
        for (row, count) in rows {
            sum += u64::from(count);
            if sum >= wanted {
                return top(row as usize);
            }
        }
        0
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, row: usize, count: u32) {
        match self {
            Counts::Array(counts) => {
                if row >= counts.len() {
                    counts.resize(row + 1, 0);
                }
                counts[row] = counts[row].saturating_add(count);
            }
            Counts::List(list) => {
                if let Some(known) = list.iter_mut().find(|known| known.0 as usize == row) {
                    known.1 = known.1.saturating_add(count);
                } else if list.len() < LIST_LEN {
                    list.push((row as u32, count));
                } else {
                    let mut counts = Vec::new();
                    for &(row, count) in &*list {
                        let row = row as usize;
                        if row >= counts.len() {
                            counts.resize(row + 1, 0);
                        }
                        counts[row] = count;
                    }
                    *self = Counts::Array(counts);
                    self.add(row, count);
                }
            }
        }
    }

    /// Rows and their counts, in no order.
    fn rows(&self) -> impl Iterator<Item = (u32, u32)> {
        let (list, array) = match self {
            Counts::List(list) => (&list[..], &[][..]),
            Counts::Array(counts) => (&[][..], &counts[..]),
        };
        let counts = (0..).zip(array.iter().copied());
        list.iter().copied().chain(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    /// Latencies without a pattern, of all sizes up to 2^`bits`.
    fn latencies(n: usize, bits: u32) -> Vec<Nanos> {
        let mut state = 1u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let size = state % u64::from(bits);
            (state >> 20) & ((2 << size) - 1)
        };
        (0..n).map(|_| next()).collect()
    }

    fn agrees(ours: &Latencies, theirs: &Histogram<u32>) {
        assert_eq!((ours.count(), ours.max()), (theirs.len(), theirs.max()));
        for part in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            assert_eq!(
                ours.quantile(part),
                theirs.value_at_quantile(part),
                "{part}"
            );
        }
    }

    #[test]
    fn quantiles_are_those_of_an_hdr_histogram() {
        for (n, bits) in [(0, 1), (1, 30), (10, 4), (17, 36), (5000, 20), (5000, 39)] {
            let mut ours = Latencies::new();
            let mut theirs = Histogram::<u32>::new_with_bounds(1, 1 << 40, 2).unwrap();
            for latency in latencies(n, bits) {
                ours.record(latency);
                theirs.record(latency).unwrap();
            }
            agrees(&ours, &theirs);
        }
    }

    #[test]
    fn what_is_merged_counts_as_if_recorded() {
        let mut ours = Latencies::new();
        let mut theirs = Histogram::<u32>::new_with_bounds(1, 1 << 40, 2).unwrap();
        for chunk in latencies(900, 33).chunks(9) {
            let mut part = Latencies::new();
            for &latency in chunk {
                part.record(latency);
                theirs.record(latency).unwrap();
            }
            ours.merge(&part);
        }
        agrees(&ours, &theirs);
    }
}
