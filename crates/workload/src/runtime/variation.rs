//! How much the time of a program's steps varies.
//!
//! Model.       A step's time is its mean times a factor drawn from the seed: uniform between two neighbours of a table of
//!              17 equally likely bounds.
//! Units.       Factors in 1/1024.
//! Source.      The table: 200 000 times a loop of 4.4 us with branches that depend on data of 16 KiB, pinned and
//!              SCHED_FIFO, on a KVM guest with 2 CPUs of a Sapphire Rapids Xeon; without the fastest half and the
//!              slowest three percent, where interrupts and other guests were; scaled to a mean of 1024. The same loop
//!              without branches, and writes and reads of a pipe, spread alike on a quiet machine.

/// Bounds of the factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variation {
    /// `[17]`, ascending; between two neighbours lies a sixteenth of all factors.
    pub bounds_per_1024: [u32; 17],
}

impl Variation {
    /// Every step takes its mean.
    pub const NONE: Variation = Variation {
        bounds_per_1024: [1024; 17],
    };

    /// As measured.
    pub const MEASURED: Variation = Variation {
        bounds_per_1024: [
            935, 995, 999, 1002, 1004, 1007, 1010, 1013, 1028, 1032, 1035, 1038, 1041, 1046, 1051,
            1073, 1088,
        ],
    };
}

/// Draws factors.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    variation: Variation,
    state: u64,
}

impl Draws {
    pub(crate) fn new(variation: Variation, seed: u64) -> Draws {
        Draws {
            variation,
            state: seed,
        }
    }

    /// 64 random bits: splitmix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A time around its mean.
    #[inline]
    pub(crate) fn vary(&mut self, mean_ns: u64) -> u64 {
        let bits = self.next();
        let at = (bits >> 60) as usize;
        let bounds = &self.variation.bounds_per_1024;
        let (low, high) = (u64::from(bounds[at]), u64::from(bounds[at + 1]));
        let factor = (low << 16) + (high - low) * (bits & 0xffff);
        ((u128::from(mean_ns) * u128::from(factor)) >> 26) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_kept_and_the_bounds_are() {
        let mut draws = Draws::new(Variation::MEASURED, 1);
        let times: Vec<u64> = (0..100_000).map(|_| draws.vary(1_000_000)).collect();
        let mean = times.iter().sum::<u64>() / 100_000;
        assert!(mean.abs_diff(1_000_000) < 500, "{mean}");
        assert!(times.iter().all(|t| (913_000..1_062_600).contains(t)));
    }

    #[test]
    fn without_variation_all_take_their_mean_and_equal_seeds_are_equal() {
        let mut none = Draws::new(Variation::NONE, 7);
        assert!((0..1000).all(|ns| none.vary(ns) == ns));
        let draw = |seed| -> Vec<u64> {
            let mut draws = Draws::new(Variation::MEASURED, seed);
            (0..10).map(|_| draws.vary(1000)).collect()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
