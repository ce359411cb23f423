//! What a program prints, and how it is computed from what was measured.
//!
//! Units.       Each metric says its own.

use crate::action::{ClockId, CounterId, LatencyId};
use crate::runtime::Measures;

/// A number that a program prints.
#[derive(Clone, PartialEq, Debug)]
pub struct Metric {
    /// What the program calls it.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Is more better?
    pub higher_is_better: bool,
    /// How it is computed.
    pub value: Value,
}

/// From the first reading of one clock to the last of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it begins.
    pub from: ClockId,
    /// Where it ends.
    pub to: ClockId,
}

/// How many there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// As the parameters say.
    Fixed(u64),
    /// What a counter has counted.
    Counted(CounterId),
}

/// How a metric is computed.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Seconds that something took.
    Seconds(Span),
    /// How many there were a second, times a factor.
    PerSecond {
        /// Of what.
        amount: Amount,
        /// In which time.
        span: Span,
        /// What one of them counts.
        factor: f64,
    },
    /// How many there were in a time that each task measures for itself, a second, times a factor.
    PerSecondOf {
        /// Of what.
        amount: Amount,
        /// The time.
        seconds: f64,
        /// What one of them counts.
        factor: f64,
    },
    /// Microseconds that each took, and of this only what exceeds another such time.
    MicrosecondsPer {
        /// Of what.
        amount: Amount,
        /// In which time.
        span: Span,
        /// What to take off: amount and time.
        less: Option<(Amount, Span)>,
    },
    /// A percentile of a latency, in microseconds.
    Percentile {
        /// Of which.
        latency: LatencyId,
        /// Which, 0 to 100.
        percentile: f64,
    },
}

/// A metric of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct MetricResult {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Is more better?
    pub higher_is_better: bool,
    /// Its value; none: the run ended before the program knew it.
    pub value: Option<f64>,
}

impl Metric {
    /// What it is after a run.
    pub fn result(&self, measures: &Measures) -> MetricResult {
        MetricResult {
            name: self.name,
            unit: self.unit,
            higher_is_better: self.higher_is_better,
            value: self.value.of(measures).filter(|value| value.is_finite()),
        }
    }
}

impl Span {
    fn seconds(self, measures: &Measures) -> Option<f64> {
        let from = measures.clock(self.from)?.first_ns;
        let to = measures.clock(self.to)?.last_ns;
        Some(to.checked_sub(from)? as f64 / 1e9)
    }
}

impl Amount {
    fn of(self, measures: &Measures) -> f64 {
        match self {
            Amount::Fixed(amount) => amount as f64,
            Amount::Counted(counter) => measures.counter(counter) as f64,
        }
    }
}

impl Value {
    fn of(&self, measures: &Measures) -> Option<f64> {
        let each =
            |amount: Amount, span: Span| Some(span.seconds(measures)? * 1e6 / amount.of(measures));
        match *self {
            Value::Seconds(span) => span.seconds(measures),
            Value::PerSecond {
                amount,
                span,
                factor,
            } => Some(amount.of(measures) * factor / span.seconds(measures)?),
            Value::PerSecondOf {
                amount,
                seconds,
                factor,
            } => Some(amount.of(measures) * factor / seconds),
            Value::MicrosecondsPer { amount, span, less } => {
                let whole = each(amount, span)?;
                match less {
                    None => Some(whole),
                    Some((amount, span)) => Some(whole - each(amount, span)?),
                }
            }
            Value::Percentile {
                latency,
                percentile,
            } => Some(measures.latency_ns(latency, percentile)? as f64 / 1e3),
        }
    }

    /// The same, for clocks, counters and latencies that others stand before.
    pub(super) fn shift(&mut self, clocks: u32, counters: u32, latencies: u32) {
        let shift_span = |span: &mut Span| {
            span.from.0 += clocks;
            span.to.0 += clocks;
        };
        let shift_amount = |amount: &mut Amount| {
            if let Amount::Counted(counter) = amount {
                counter.0 += counters;
            }
        };
        match self {
            Value::Seconds(span) => shift_span(span),
            Value::PerSecond { amount, span, .. } => {
                shift_amount(amount);
                shift_span(span);
            }
            Value::PerSecondOf { amount, .. } => shift_amount(amount),
            Value::MicrosecondsPer { amount, span, less } => {
                shift_amount(amount);
                shift_span(span);
                if let Some((amount, span)) = less {
                    shift_amount(amount);
                    shift_span(span);
                }
            }
            Value::Percentile { latency, .. } => latency.0 += latencies,
        }
    }
}
