//! Published figures, and the effect that they tell of.
//!
//! Model.       Either numbers, `base` and `with`, each one value or several, or the `improvement_percent` with the standard
//!              deviations in percent. Positive improvements are for the better; of metrics of which neither way is better,
//!              positive is more.

use super::verdict::{Effect, noise_of, spread};
use crate::metric::Better;
use serde::Deserialize;

/// Published figures.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Published {
    /// The numbers.
    Numbers {
        /// Without the change.
        base: Numbers,
        /// With it.
        with: Numbers,
    },
    /// What they came to.
    Improvement {
        /// For the better, in percent.
        improvement_percent: f64,
        /// Standard deviations without the change and with it, in percent.
        std_percent: Option<(f64, f64)>,
    },
}

/// One number, or that of each run.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    /// One.
    One(f64),
    /// Several.
    Several(Vec<f64>),
}

impl Numbers {
    /// All of them.
    pub fn values(&self) -> &[f64] {
        match self {
            Numbers::One(value) => std::slice::from_ref(value),
            Numbers::Several(values) => values,
        }
    }

    fn mean(&self) -> f64 {
        self.values().iter().sum::<f64>() / self.values().len() as f64
    }
}

impl Published {
    /// The published effect, of a metric that is better this way.
    pub fn effect(&self, better: Better) -> Effect {
        match self {
            Published::Numbers { base, with } => {
                let percent = (with.mean() / base.mean() - 1.0) * 100.0;
                Effect::published(percent * better.sign(), self.std_percent())
            }
            Published::Improvement {
                improvement_percent,
                std_percent,
            } => Effect::published(*improvement_percent, *std_percent),
        }
    }

    /// Standard deviations without the change and with it, in percent of what the change is in percent of; none: not
    /// published.
    pub fn std_percent(&self) -> Option<(f64, f64)> {
        match self {
            Published::Numbers { base, with } => {
                let percent = |std: f64| std / base.mean().abs() * 100.0;
                let stds = spread(base.values()).zip(spread(with.values()));
                stds.map(|(a, b)| (percent(a), percent(b)))
            }
            Published::Improvement { std_percent, .. } => *std_percent,
        }
    }

    /// The mean without the change and with it; none: only their difference was published.
    pub fn means(&self) -> Option<(f64, f64)> {
        match self {
            Published::Numbers { base, with } => Some((base.mean(), with.mean())),
            Published::Improvement { .. } => None,
        }
    }

    /// One standard deviation of the difference of two runs, in percent; 0: not published.
    pub fn noise_percent(&self) -> f64 {
        self.std_percent().map_or(0.0, |(a, b)| noise_of(a, b))
    }

    /// Is there a number on each side, and a base to be in percent of?
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Published::Numbers { base, with } => {
                let some = !base.values().is_empty() && !with.values().is_empty();
                some && base.mean() != 0.0
            }
            Published::Improvement { .. } => true,
        }
    }
}
