//! What several runs tell of a number, and two kernels' runs of each other.
//!
//! Model.       A [`Sample`] is the mean and the standard deviation of the runs. The difference of two is tested with
//!              Welch's t test, two-sided: runs with other seeds are independent, spreads need not be equal, and it can
//!              find a difference among three runs a side, where a permutation test cannot at 5 % (3 against 3 runs have
//!              20 arrangements, so p is never below 0.1). The interval is Welch's for the difference of the means, in
//!              percent of the base's mean: it leaves out 0 exactly when the test finds a difference.
//!              Where all runs of both sides gave one value each, nothing varies: the difference is a fact about these
//!              runs, and it is called exact instead of tested. One run a side tells no spread and is not tested.
//!              The test takes runs as normally distributed, and the base's mean in the percentages as exact.
//! Not here.    Correction for many comparisons: at 95 % one in twenty rows without any effect is told to differ.

use crate::metric::Better;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure a difference must be, in percent.
pub const CONFIDENCE: u32 = 95;

/// Mean and spread of the runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// How many runs.
    pub runs: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (of the population that they are drawn from, n - 1); 0 of one run.
    pub std: f64,
}

impl Sample {
    /// Of these values; none of nothing.
    pub fn of(values: &[f64]) -> Option<Sample> {
        let (&first, rest) = values.split_first()?;
        let n = values.len() as f64;
        if rest.iter().all(|&value| value == first) {
            // Not left to rounding: that nothing varies has a meaning.
            return Some(Sample {
                runs: values.len(),
                mean: first,
                std: 0.0,
            });
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Sample {
            runs: values.len(),
            mean,
            std: (squares / (n - 1.0)).sqrt(),
        })
    }

    /// The standard deviation in percent of the mean; 0 of a mean of 0.
    pub fn std_percent(&self) -> f64 {
        if self.mean == 0.0 {
            0.0
        } else {
            self.std * 100.0 / self.mean.abs()
        }
    }

    /// The square of the mean's standard error.
    fn error_squared(&self) -> f64 {
        self.std.powi(2) / self.runs as f64
    }
}

/// What a comparison comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It differs, for the better.
    Better,
    /// It differs, for the worse.
    Worse,
    /// It is higher, which is neither better nor worse.
    Higher,
    /// It is lower, which is neither better nor worse.
    Lower,
    /// The runs differ, but no more than they would by chance.
    Noise,
    /// All runs of both sides gave the same value.
    Same,
    /// One run a side tells nothing of chance.
    Untested,
}

impl Verdict {
    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Noise => "within noise",
            Verdict::Same => "same",
            Verdict::Untested => "one run",
        }
    }

    /// Of a difference that is there.
    fn of(difference: f64, better: Better) -> Verdict {
        match (better, difference > 0.0) {
            (Better::Neither, true) => Verdict::Higher,
            (Better::Neither, false) => Verdict::Lower,
            (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
            (Better::Higher, false) | (Better::Lower, true) => Verdict::Worse,
        }
    }
}

/// What a test says of a difference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Probability of a difference this large by chance alone.
    pub p: f64,
    /// With [`CONFIDENCE`], the difference lies between these; in percent of the base's mean, none of a mean of 0.
    pub interval: Option<(f64, f64)>,
}

/// Two samples held against each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// The difference of the means in percent of the base's; none of a base of 0.
    pub percent: Option<f64>,
    /// The test; none: nothing varied, or one run a side.
    pub tested: Option<Difference>,
    /// What it comes to.
    pub verdict: Verdict,
}

impl Comparison {
    /// Nothing varied: a difference is one of these runs for certain, and a test has nothing to say.
    pub fn is_exact(&self) -> bool {
        self.tested.is_none() && self.verdict != Verdict::Untested
    }
}

/// Holds `with` against `base`.
pub fn compare(base: &Sample, with: &Sample, better: Better) -> Comparison {
    let difference = with.mean - base.mean;
    let in_percent = |value: f64| (base.mean != 0.0).then(|| value * 100.0 / base.mean.abs());
    let percent = in_percent(difference);
    let untested = |verdict: Verdict| Comparison {
        percent,
        tested: None,
        verdict,
    };
    if base.runs < 2 || with.runs < 2 {
        return untested(Verdict::Untested);
    }
    let (a, b) = (base.error_squared(), with.error_squared());
    if a + b == 0.0 {
        let verdict = if difference == 0.0 {
            Verdict::Same
        } else {
            Verdict::of(difference, better)
        };
        return untested(verdict);
    }
    // t = difference / sqrt(a + b), with (a + b)^2 / (a^2 / (n_a - 1) + b^2 / (n_b - 1)) degrees of freedom.
    let error = (a + b).sqrt();
    let (nr_a, nr_b) = (base.runs as f64, with.runs as f64);
    let freedom = (a + b).powi(2) / (a.powi(2) / (nr_a - 1.0) + b.powi(2) / (nr_b - 1.0));
    let students = StudentsT::new(0.0, 1.0, freedom).expect("the degrees of freedom are positive");
    let p = 2.0 * students.cdf(-(difference / error).abs());
    let tail = f64::from(100 - CONFIDENCE) / 200.0;
    let reach = students.inverse_cdf(1.0 - tail) * error;
    let interval = in_percent(difference - reach).zip(in_percent(difference + reach));
    let verdict = if difference.abs() > reach {
        Verdict::of(difference, better)
    } else {
        Verdict::Noise
    };
    Comparison {
        percent,
        tested: Some(Difference { p, interval }),
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::of(values).unwrap()
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-4, "{value}, not {expected}");
    }

    /// By hand: mean 5, squares 9+1+1+1+0+0+4+16 = 32, 32/7.
    #[test]
    fn the_spread_is_that_of_the_population() {
        let s = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(s.mean, 5.0);
        near(s.std, (32.0_f64 / 7.0).sqrt());
        near(s.std_percent(), 42.761_80);
        assert_eq!(Sample::of(&[]), None);
        // A third of three times 0.1 is not 0.1, but equal runs have no spread.
        assert_eq!(sample(&[0.1, 0.1, 0.1]).std, 0.0);
        assert_eq!(sample(&[0.1, 0.1, 0.1]).mean, 0.1);
    }

    /// Means 20 and 22, variances 4 and 16 of 4 runs each: a = 1, b = 4, t = 2 / sqrt 5 = 0.894427,
    /// 25 / (1/3 + 16/3) = 4.411765 degrees of freedom.
    #[test]
    fn welch_s_test_as_by_hand() {
        let of = |mean, std| Sample { runs: 4, mean, std };
        let c = compare(&of(20.0, 2.0), &of(22.0, 4.0), Better::Higher);
        assert_eq!(c.percent, Some(10.0));
        assert_eq!(c.verdict, Verdict::Noise);
        // With 4 and 5 degrees of freedom, |t| > 0.894427 has the probabilities 0.421680 and 0.412017
        // (t/sqrt(4+t²) in the closed form for 4; numerically for 5): ours lies between.
        let tested = c.tested.unwrap();
        assert!((0.4120..0.4217).contains(&tested.p), "{}", tested.p);
        let (low, high) = tested.interval.unwrap();
        assert!(low < 0.0 && high > 20.0);
        near(low + high, 20.0);
    }

    /// Equal sizes and spreads make Welch's test Student's: 3 + 3 runs, 4 degrees of freedom, whose 97.5 % point is
    /// 2.776445. Means 10 and 12, std 1: the error is sqrt(2/3) = 0.816497.
    #[test]
    fn the_interval_is_student_s_where_both_agree() {
        let base = sample(&[9.0, 10.0, 11.0]);
        let with = sample(&[11.0, 12.0, 13.0]);
        let c = compare(&base, &with, Better::Higher);
        let (low, high) = c.tested.unwrap().interval.unwrap();
        near(low, 20.0 - 22.669_6);
        near(high, 20.0 + 22.669_6);
        assert_eq!(c.verdict, Verdict::Noise);
        // Half as much spread, and the same difference is one.
        let base = sample(&[9.5, 10.0, 10.5]);
        let with = sample(&[11.5, 12.0, 12.5]);
        let c = compare(&base, &with, Better::Higher);
        assert_eq!(c.verdict, Verdict::Better);
        assert!(c.tested.unwrap().p < 0.05);
        assert_eq!(compare(&base, &with, Better::Lower).verdict, Verdict::Worse);
        assert_eq!(
            compare(&with, &base, Better::Lower).verdict,
            Verdict::Better
        );
        assert_eq!(
            compare(&base, &with, Better::Neither).verdict,
            Verdict::Higher
        );
    }

    #[test]
    fn what_never_varies_is_exact_and_not_tested() {
        let (five, six) = (sample(&[5.0; 3]), sample(&[6.0; 3]));
        let c = compare(&five, &six, Better::Lower);
        assert_eq!((c.verdict, c.tested), (Verdict::Worse, None));
        assert!(c.is_exact());
        let same = compare(&five, &five, Better::Lower);
        assert_eq!((same.verdict, same.percent), (Verdict::Same, Some(0.0)));
        let one = compare(&sample(&[5.0]), &six, Better::Lower);
        assert_eq!((one.verdict, one.percent), (Verdict::Untested, Some(20.0)));
        assert!(!one.is_exact());
    }

    /// One side that never varies leaves the other's spread: Welch's degrees of freedom are then the other's.
    #[test]
    fn one_side_without_spread_is_tested_all_the_same() {
        let c = compare(
            &sample(&[10.0; 3]),
            &sample(&[11.0, 12.0, 13.0]),
            Better::Higher,
        );
        // t = 2 / sqrt(1/3) = 3.4641, 2 degrees of freedom: p = 1 - t/sqrt(2+t²) = 0.074180.
        near(c.tested.unwrap().p, 0.074_180);
        assert_eq!(c.verdict, Verdict::Noise);
    }

    #[test]
    fn nothing_is_in_percent_of_zero() {
        let c = compare(&sample(&[0.0; 2]), &sample(&[1.0, 1.0]), Better::Lower);
        assert_eq!((c.percent, c.verdict), (None, Verdict::Worse));
        assert_eq!(sample(&[0.0; 2]).std_percent(), 0.0);
    }
}
