//! Per-entity load tracking: geometric averages of how much an entity loads its CPU.
//!
//! Model. Time is cut into periods of 1024 µs-ish units (1024 × 1024 ns). With `u_i` the part of the
//!        i-th last period in which the entity was running (runnable, or weighted by load),
//!
//! ```text
//!   sum = u_0 + u_1·y + u_2·y² + …        y³² = 1/2
//!
//!            d1          d2           d3
//!            ^           ^            ^
//!            |           |            |
//!          |<->|<----------------->|<--->|
//!  ... |---x---|------| ... |------|-----x (now)
//!  sum' = (sum + d1)·yᵖ + 1024·Σ_{n=1}^{p-1} yⁿ + d3·y⁰
//!  avg  = sum / (LOAD_AVG_MAX − 1024 + period_contrib)
//! ```
//!
//! Units. `now` is the rq's PELT clock in ns; sums are in 1024 ns units, times 1024 for runnable and
//!        utilisation; averages are 0..1024 (load: times the weight).
//! Exact. `yⁿ` is a 32-bit fixed-point table for n < 32 and a shift for each full half-life; every
//!        rounding here is the kernel's, because averages feed placement and group shares bit for bit.
//! Source. kernel/sched/pelt.c, pelt.h @ 6.1 and 6.12 (the arithmetic is the same).

/// Half-life in periods.
const LOAD_AVG_PERIOD: u64 = 32;
/// The largest possible sum: the series for an always-running entity.
pub(crate) const LOAD_AVG_MAX: u32 = 47742;
/// The divider for a period just begun.
pub const PELT_MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;
/// The `util_sum` (three classes together) from which an rq counts as never idle.
pub const UTIL_SUM_FULL: u32 = (PELT_MIN_DIVIDER << SCHED_CAPACITY_SHIFT) - LOAD_AVG_MAX;
/// Set in `util_est` while `util_avg` has not changed since the estimate was taken.
pub const UTIL_AVG_UNCHANGED: u32 = 0x8000_0000;
const SCHED_CAPACITY_SHIFT: u32 = 10;

/// `floor((2³² − 1) · yⁿ)` for n in 0..32, made at compile time from integer square roots of one half.
const Y_N_INV: [u32; 32] = y_n_inv();

const fn mul_q64(a: u128, b: u128) -> u128 {
    // Q64 times Q64 without overflow: both are below 2^64.
    (a * b) >> 64
}

const fn y_n_inv() -> [u32; 32] {
    // Five square roots of 1/2 give 2^(-1/2), 2^(-1/4), … 2^(-1/32) in Q64.
    let mut root = [0u128; 5];
    let mut value: u128 = 1 << 63;
    let mut i = 0;
    while i < 5 {
        value = (value << 64).isqrt();
        root[i] = value;
        i += 1;
    }
    let mut table = [u32::MAX; 32];
    let mut n = 1;
    while n < 32 {
        let mut q: u128 = u64::MAX as u128;
        let mut bit = 0;
        while bit < 5 {
            // Bit k of n (from the top) contributes 2^(-2^k/32).
            if n >> (4 - bit) & 1 == 1 {
                q = mul_q64(q, root[bit]);
            }
            bit += 1;
        }
        table[n] = ((q * u32::MAX as u128) >> 64) as u32;
        n += 1;
    }
    table
}

/// The averages of one entity or run queue; the kernel's `struct sched_avg`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SchedAvg {
    /// PELT clock up to which the sums count; 0: not attached to a run queue.
    pub last_update_time: u64,
    /// Decayed sum of runnable time (run queue: times weight).
    pub load_sum: u64,
    /// Decayed sum of runnable time × 1024 × number runnable.
    pub runnable_sum: u64,
    /// Decayed sum of running time × 1024.
    pub util_sum: u32,
    /// Part of the current period already in the sums.
    pub period_contrib: u32,
    /// Average load.
    pub load_avg: u64,
    /// Average number runnable × 1024.
    pub runnable_avg: u64,
    /// Average running time, 0..1024.
    pub util_avg: u64,
    /// Estimated utilisation when it next runs (6.1: `util_est.enqueued`).
    pub util_est: u32,
    /// 6.1 only: `util_est.ewma`.
    pub util_est_ewma: u32,
}

/// `yⁿ` for one n: a shift for the full half-lives, and a factor in 1/2³² for the rest.
#[derive(Clone, Copy)]
struct Decay {
    half_lives: u64,
    factor: u32,
}

impl Decay {
    #[inline(always)]
    fn over(periods: u64) -> Decay {
        let in_time = periods <= LOAD_AVG_PERIOD * 63;
        Decay {
            half_lives: if in_time {
                periods / LOAD_AVG_PERIOD
            } else {
                0
            },
            factor: if in_time {
                Y_N_INV[(periods % LOAD_AVG_PERIOD) as usize]
            } else {
                0
            },
        }
    }

    /// `val · yⁿ`. Bits: val < 2⁶⁴, factor < 2³², product taken in 128 bits.
    #[inline(always)]
    fn of(self, val: u64) -> u64 {
        let product = u128::from(val >> self.half_lives) * u128::from(self.factor);
        (product >> 32) as u64
    }

    /// What full running adds over these periods, the first of which has `d1` left and the last of which is `d3` long.
    #[inline(always)]
    fn segments(self, d1: u32, d3: u32) -> u32 {
        let c1 = self.of(u64::from(d1)) as u32;
        let c2 = LOAD_AVG_MAX - self.of(u64::from(LOAD_AVG_MAX)) as u32 - 1024;
        c1 + c2 + d3
    }
}

/// What is left of an average or a sum after so many periods of 1024 × 1024 ns.
pub fn decay_load(val: u64, periods: u64) -> u64 {
    Decay::over(periods).of(val)
}

impl SchedAvg {
    /// What the sums are divided by.
    #[inline]
    pub fn divider(&self) -> u32 {
        PELT_MIN_DIVIDER + self.period_contrib
    }

    /// Would [`update_sum`](Self::update_sum) do anything at `now`?
    #[inline(always)]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        // A clock that went back looks like a long time.
        now.wrapping_sub(self.last_update_time) >= 1024
    }

    /// Brings the sums to `now`; true when a period ended, so that the averages must follow.
    #[inline]
    pub fn update_sum(
        &mut self,
        now: u64,
        load: u64,
        mut runnable: u64,
        mut running: bool,
    ) -> bool {
        let mut delta = now.wrapping_sub(self.last_update_time);
        if (delta as i64) < 0 {
            self.last_update_time = now;
            return false;
        }
        delta >>= 10;
        if delta == 0 {
            return false;
        }
        self.last_update_time = self.last_update_time.wrapping_add(delta << 10);
        if load == 0 {
            runnable = 0;
            running = false;
        }
        self.accumulate(delta, load, runnable, running)
    }

    #[inline(always)]
    fn accumulate(&mut self, mut delta: u64, load: u64, runnable: u64, running: bool) -> bool {
        let mut contrib = delta as u32;
        delta += u64::from(self.period_contrib);
        let periods = delta / 1024;
        if periods != 0 {
            let decay = Decay::over(periods);
            self.load_sum = decay.of(self.load_sum);
            self.runnable_sum = decay.of(self.runnable_sum);
            self.util_sum = decay.of(u64::from(self.util_sum)) as u32;
            delta %= 1024;
            if load != 0 {
                contrib = decay.segments(1024 - self.period_contrib, delta as u32);
            }
        }
        self.period_contrib = delta as u32;
        let contrib = u64::from(contrib);
        if load != 0 {
            self.load_sum = self.load_sum.wrapping_add(load.wrapping_mul(contrib));
        }
        if runnable != 0 {
            self.runnable_sum = self
                .runnable_sum
                .wrapping_add(runnable.wrapping_mul(contrib) << SCHED_CAPACITY_SHIFT);
        }
        if running {
            self.util_sum = self
                .util_sum
                .wrapping_add((contrib as u32) << SCHED_CAPACITY_SHIFT);
        }
        periods != 0
    }

    /// Derives the averages from the sums; `load` is the weight (1 for a run queue).
    #[inline]
    pub fn update_avg(&mut self, load: u64) {
        let divider = self.divider();
        self.load_avg = load.wrapping_mul(self.load_sum) / u64::from(divider);
        self.runnable_avg = self.runnable_sum / u64::from(divider);
        self.util_avg = u64::from(self.util_sum / divider);
    }

    /// Both steps for an average that is not an entity's (RT, DL).
    pub fn update(&mut self, now: u64, running: bool) -> bool {
        let on = u64::from(running);
        let decayed = self.update_sum(now, on, on, running);
        if decayed {
            self.update_avg(1);
        }
        decayed
    }

    /// Nothing left of the past?
    #[inline]
    pub fn is_decayed(&self) -> bool {
        self.load_sum == 0 && self.util_sum == 0 && self.runnable_sum == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_table_has_its_known_corner_values() {
        assert_eq!(Y_N_INV[0], 0xffff_ffff);
        assert_eq!(Y_N_INV[1], 0xfa83_b2da);
        assert_eq!(
            Y_N_INV[16], 0xb504_f333,
            "y^16 is the square root of one half"
        );
        assert_eq!(Y_N_INV[31], 0x82cd_8698);
        assert!(Y_N_INV.windows(2).all(|w| w[0] > w[1]));
    }

    #[test]
    fn always_running_converges_to_full_utilisation() {
        let mut avg = SchedAvg::default();
        let mut now = 0;
        for _ in 0..400 {
            now += 1 << 20;
            if avg.update_sum(now, 1024, 1, true) {
                avg.update_avg(1);
            }
        }
        assert_eq!((avg.load_avg, avg.util_avg), (1024, 1024));
        // One half-life (32 periods) of sleep halves it.
        now += 32 << 20;
        assert!(avg.update_sum(now, 0, 0, false));
        avg.update_avg(1);
        assert_eq!((avg.load_avg, avg.util_avg), (512, 512));
    }

    #[test]
    fn the_clock_may_step_back_without_counting() {
        let mut avg = SchedAvg {
            last_update_time: 5000,
            ..SchedAvg::default()
        };
        assert!(!avg.update_sum(4000, 1, 1, true));
        assert_eq!((avg.last_update_time, avg.util_sum), (4000, 0));
    }
}
