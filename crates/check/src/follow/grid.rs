//! When ticks are due: at multiples of their length of `ktime`, on all CPUs at once.
//!
//! Units. ns of the trace clock.

/// The times at which ticks are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// One of them, and how far they are apart.
    pub(super) epoch: u64,
    pub(super) tick: u64,
}

impl Grid {
    /// How many have been due since the epoch.
    pub(super) fn count(self, ts: u64) -> u64 {
        ts.saturating_sub(self.epoch) / self.tick
    }

    /// When the next one is due after a time.
    pub(super) fn next(self, ts: u64) -> u64 {
        self.epoch + (self.count(ts) + 1) * self.tick
    }

    /// For how long the last one has been due.
    pub(super) fn late(self, ts: u64) -> u64 {
        ts.saturating_sub(self.epoch) % self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_due_at_each_multiple() {
        let grid = Grid {
            epoch: 2_000_000,
            tick: 4_000_000,
        };
        assert_eq!((grid.count(5_999_999), grid.count(6_000_000)), (0, 1));
        assert_eq!(
            (grid.next(5_999_999), grid.next(6_000_000)),
            (6_000_000, 10_000_000)
        );
        assert_eq!(grid.late(6_000_100), 100);
        assert_eq!(grid.count(0), 0, "before the first");
    }
}
