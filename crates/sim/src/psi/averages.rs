//! Running averages of pressure over 10, 60 and 300 seconds.
//!
//! Model.  A sample is the part of a period in which something stalled. Every two seconds or so
//!
//! ```text
//!   avg' = avg · e + sample · (1 − e)        e = exp(−2 s / window)
//! ```
//!
//! Periods in which nothing was sampled count as zero, all at once: `avg · eⁿ`.
//!
//! Units.  Percent in fixed point with 11 fraction bits, as the kernel's load averages. The weights are those of 2 s
//!         periods although a period is a tick longer.
//! Source. kernel/sched/psi.c `calc_avgs`; include/linux/sched/loadavg.h `calc_load`; kernel/sched/loadavg.c
//!         `calc_load_n`, `fixed_power_int` @ 6.1, 6.12.

use fairwind_sched::Nanos;

const FSHIFT: u32 = 11;
const FIXED_1: u64 = 1 << FSHIFT;
/// `FIXED_1 · exp(−2/10)`, `exp(−2/60)`, `exp(−2/300)`.
const EXP: [u64; 3] = [1677, 1981, 2034];

/// The averages over 10, 60 and 300 seconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Averages([u64; 3]);

impl Averages {
    /// Takes a sample: `stalled` out of `period`, after `missed` periods without any.
    pub(crate) fn sample(&mut self, missed: u64, stalled: Nanos, period: Nanos) {
        // Whole percents, as the kernel has them. A period is 2 s or more, so it is never 0.
        let percent = (stalled * 100 / period) * FIXED_1;
        for (avg, exp) in self.0.iter_mut().zip(EXP) {
            if missed > 0 {
                *avg = calc_load(*avg, fixed_power(exp, missed), 0);
            }
            *avg = calc_load(*avg, exp, percent);
        }
    }

    /// The averages in hundredths of a percent, cut off as they are printed.
    pub(crate) fn centi(&self) -> [u64; 3] {
        self.0
            .map(|avg| (avg >> FSHIFT) * 100 + (((avg & (FIXED_1 - 1)) * 100) >> FSHIFT))
    }
}

/// `load · exp + active · (1 − exp)`, rounded towards `active`.
fn calc_load(load: u64, exp: u64, active: u64) -> u64 {
    let mut sum = load * exp + active * (FIXED_1 - exp);
    if active >= load {
        sum += FIXED_1 - 1;
    }
    sum / FIXED_1
}

/// `xⁿ`, rounded to the nearest after each multiplication.
fn fixed_power(mut x: u64, mut n: u64) -> u64 {
    let multiply = |a: u64, b: u64| (a * b + (1 << (FSHIFT - 1))) >> FSHIFT;
    let mut result = FIXED_1;
    while n > 0 {
        if n & 1 == 1 {
            result = multiply(result, x);
        }
        x = multiply(x, x);
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn full_pressure_from_nothing() {
        let mut averages = Averages::default();
        // 100 % is 204800. 204800·371 / 2048 = 37100; 204800·67 / 2048 = 6700; 204800·14 / 2048 = 1400: exact, and
        // the rounding up of 2047/2048 adds nothing. In percent: 37100/2048 = 18.11, 3.27, 0.68.
        averages.sample(0, 2 * SECOND, 2 * SECOND);
        assert_eq!(averages.0, [37_100, 6_700, 1_400]);
        assert_eq!(averages.centi(), [18_11, 3_27, 68]);
        // 37100·1677 + 204800·371 = 62216700 + 75980800 = 138197500, + 2047 = 138199547; / 2048 = 67480.2…
        // 6700·1981 + 204800·67 = 13272700 + 13721600 = 26994300, + 2047 = 26996347; / 2048 = 13181.8…
        // 1400·2034 + 204800·14 = 2847600 + 2867200 = 5714800, + 2047 = 5716847; / 2048 = 2791.4…
        averages.sample(0, 2 * SECOND, 2 * SECOND);
        assert_eq!(averages.0, [67_480, 13_181, 2_791]);
        assert_eq!(averages.centi(), [32_94, 6_43, 1_36]);
    }

    #[test]
    fn full_pressure_ends_at_one_hundred() {
        let mut averages = Averages::default();
        for _ in 0..2000 {
            averages.sample(0, 2 * SECOND, 2 * SECOND);
        }
        assert_eq!(averages.centi(), [10_000; 3]);
    }

    #[test]
    fn samples_are_whole_percents() {
        let mut averages = Averages::default();
        // 0.99 % counts as nothing, 1.99 % as 1 %: 2048·371 = 759808, + 2047 = 761855; / 2048 = 371.9…
        averages.sample(0, 99 * SECOND / 100, 100 * SECOND);
        assert_eq!(averages.0, [0; 3]);
        averages.sample(0, 199 * SECOND / 100, 100 * SECOND);
        assert_eq!(averages.0[0], 371);
    }

    #[test]
    fn missed_periods_decay_at_once() {
        let mut averages = Averages([204_800; 3]);
        // Three missed periods and an empty fourth. 1677² = 2812329, + 1024, >> 11: 1373; 1677·1373 = 2302521,
        // + 1024, >> 11: 1124. 204800·1124 / 2048 = 112400; ·1677 / 2048 = 92038.4.
        // 1981: 1981² = 3924361 → 1916; 1981·1916 = 3795596 → 1853; 185300; ·1981 / 2048 = 179237.9.
        // 2034: 2034² = 4137156 → 2020; 2034·2020 = 4108680 → 2006; 200600; ·2034 / 2048 = 199228.7.
        averages.sample(3, 0, 2 * SECOND);
        assert_eq!(averages.0, [92_038, 179_237, 199_228]);
    }
}
