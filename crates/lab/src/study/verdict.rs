//! Does ours agree with what was published?
//!
//! Model.       An effect is the improvement in percent, and may be noise. A row is *reproduced* if both effects have the
//!              same sign and ours is within [`WITHIN`] percent of the published one, or if both are within noise;
//!              *direction only* if just the sign is the same and neither is noise; else *not reproduced*.
//!              A published change is within noise if it is no larger than one standard deviation of the difference of
//!              two runs, √(base² + with²) of the published standard deviations, in the same unit. Ours is if our test finds no difference,
//!              or if, beside a published change within noise, it is no larger than that noise.
//!              Where the numbers themselves are compared, a row is *reproduced* if each side is within a factor of its
//!              published number, and *direction only* if ours change the same way.

use crate::sample::{Comparison, Sample, Verdict};

/// How far ours may be from the published effect, in percent of that.
const WITHIN: f64 = 25.0;

/// What is equal may differ by this factor when it is computed.
const ROUNDING: f64 = 1.0 + 1e-9;

/// A change for the better, in percent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effect {
    /// How much; negative is worse.
    pub percent: f64,
    /// Chance explains it.
    pub noise: bool,
}

/// What a row comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Same sign, and near enough; or both within noise.
    Reproduced,
    /// Same sign.
    DirectionOnly,
    /// Neither.
    NotReproduced,
}

impl Outcome {
    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Reproduced => "reproduced",
            Outcome::DirectionOnly => "direction only",
            Outcome::NotReproduced => "not reproduced",
        }
    }
}

/// The published noise: one standard deviation of the difference of two runs, in percent.
pub(super) fn noise_of(base_std_percent: f64, with_std_percent: f64) -> f64 {
    base_std_percent.hypot(with_std_percent)
}

impl Effect {
    /// A published change, and the published standard deviations.
    pub fn published(percent: f64, std_percent: Option<(f64, f64)>) -> Effect {
        let noise = std_percent.is_some_and(|(a, b)| percent.abs() <= noise_of(a, b) * ROUNDING);
        Effect { percent, noise }
    }

    /// One of ours, `sign` being -1 where lower is better; none where there is nothing to be in percent of.
    pub fn ours(comparison: &Comparison, sign: f64) -> Option<Effect> {
        let noise = matches!(comparison.verdict, Verdict::Noise | Verdict::Same);
        let percent = comparison.percent? * sign;
        Some(Effect { percent, noise })
    }
}

/// Holds ours against what was published with so much noise.
pub fn judge(published: Effect, published_noise: f64, ours: Effect) -> Outcome {
    let ours_is_noise = ours.noise || (published.noise && ours.percent.abs() <= published_noise);
    if published.noise && ours_is_noise {
        return Outcome::Reproduced;
    }
    if published.noise || ours_is_noise || published.percent.signum() != ours.percent.signum() {
        return Outcome::NotReproduced;
    }
    let off = (ours.percent - published.percent).abs();
    if off <= published.percent.abs() * WITHIN / 100.0 {
        Outcome::Reproduced
    } else {
        Outcome::DirectionOnly
    }
}

/// Holds our numbers, without the change and with it, against the published ones.
pub fn judge_sides(published: (f64, f64), ours: (f64, f64), factor: f64) -> Outcome {
    let near = |published: f64, ours: f64| ours <= published * factor && published <= ours * factor;
    if near(published.0, ours.0) && near(published.1, ours.1) {
        Outcome::Reproduced
    } else if (published.1 > published.0) == (ours.1 > ours.0) {
        Outcome::DirectionOnly
    } else {
        Outcome::NotReproduced
    }
}

/// The standard deviation of published numbers, if there are several.
pub(super) fn spread(values: &[f64]) -> Option<f64> {
    let sample = Sample::of(values)?;
    (sample.runs > 1).then_some(sample.std)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Better;
    use crate::study::published::{Numbers, Published};

    fn ours(percent: f64) -> Effect {
        Effect {
            percent,
            noise: false,
        }
    }

    #[test]
    fn a_quarter_either_way_is_near_enough() {
        // 20 % was published and is beyond its noise of 5 %.
        let published = Effect::published(20.0, Some((3.0, 4.0)));
        assert!(!published.noise);
        for (percent, outcome) in [
            (15.0, Outcome::Reproduced),
            (25.0, Outcome::Reproduced),
            (14.9, Outcome::DirectionOnly),
            (60.0, Outcome::DirectionOnly),
            (-20.0, Outcome::NotReproduced),
        ] {
            assert_eq!(judge(published, 5.0, ours(percent)), outcome, "{percent}");
        }
        let noise = Effect {
            percent: 20.0,
            noise: true,
        };
        assert_eq!(judge(published, 5.0, noise), Outcome::NotReproduced);
    }

    #[test]
    fn noise_agrees_with_noise_whatever_its_sign() {
        let published = Effect::published(4.0, Some((3.0, 4.0)));
        assert!(published.noise);
        let noise = Effect {
            percent: -9.0,
            noise: true,
        };
        assert_eq!(judge(published, 5.0, noise), Outcome::Reproduced);
        // Exact, and smaller than what they could have seen.
        assert_eq!(judge(published, 5.0, ours(-4.9)), Outcome::Reproduced);
        assert_eq!(judge(published, 5.0, ours(5.1)), Outcome::NotReproduced);
    }

    #[test]
    fn numbers_are_near_on_both_sides_or_not() {
        let published = (80.0, 0.5);
        for (ours, outcome) in [
            ((40.0, 1.0), Outcome::Reproduced),
            ((39.0, 1.0), Outcome::DirectionOnly),
            ((80.0, 0.2), Outcome::DirectionOnly),
            ((0.5, 0.6), Outcome::NotReproduced),
        ] {
            assert_eq!(judge_sides(published, ours, 2.0), outcome, "{ours:?}");
        }
    }

    #[test]
    fn without_a_spread_every_published_change_is_one() {
        assert!(!Effect::published(0.1, None).noise);
        assert_eq!(spread(&[315.0, 315.0]), Some(0.0));
        assert_eq!(spread(&[315.0]), None);
    }

    /// 44 and 43 W become 45 and 44 W: 1 W more, and each side deviates by 1 / sqrt 2 W, so that their difference does by 1 W.
    #[test]
    fn a_change_of_one_standard_deviation_is_noise() {
        let watts = |base: [f64; 2], with: [f64; 2]| {
            let [base, with] = [base, with].map(|watts| Numbers::Several(watts.to_vec()));
            Published::Numbers { base, with }.effect(Better::Lower)
        };
        assert!(watts([44.0, 43.0], [45.0, 44.0]).noise);
        assert!(watts([44.0, 43.0], [44.0, 43.0]).noise);
        assert!(!watts([44.0, 43.0], [45.2, 44.2]).noise);
    }
}
