//! A seeded source of choices.

/// SplitMix64: equal seeds give equal choices on any machine.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of `low..=high`.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// A number of `low..=high`, each power of two as likely as the next.
    pub(crate) fn spread(&mut self, low: u64, high: u64) -> u64 {
        let bits = self.range(0, u64::from((high / low.max(1)).max(1).ilog2()));
        let top = (low.max(1) << (bits + 1)).min(high);
        self.range(low, top)
    }

    /// True `percent` times of a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.range(0, 99) < percent
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.range(0, choices.len() as u64 - 1) as usize]
    }
}
