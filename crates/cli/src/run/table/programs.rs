//! What each program prints itself.

use crate::run::results::ProgramResult;
use fairwind_workload::programs::MetricResult;
use std::fmt::Write;

/// A line a metric.
pub(super) fn section(programs: &[ProgramResult]) -> String {
    let mut text = String::new();
    for program in programs {
        _ = writeln!(text, "{}", program.spec);
        for metric in &program.metrics {
            _ = writeln!(text, "  {}: {} {}", metric.name, value(metric), metric.unit);
        }
    }
    text
}

/// With six significant digits; a dash where the run ended before the program knew it.
fn value(metric: &MetricResult) -> String {
    let Some(value) = metric.value else {
        return "-".to_string();
    };
    let whole = value.abs().log10().floor().max(0.0) as usize;
    format!("{value:.*}", 5_usize.saturating_sub(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_six_digits_at_most_after_large_numbers_none() {
        let text = |value| {
            super::value(&MetricResult {
                name: "x",
                unit: "s",
                higher_is_better: true,
                value,
            })
        };
        assert_eq!(text(Some(0.123_456_7)), "0.12346");
        assert_eq!(text(Some(12.345_678)), "12.3457");
        assert_eq!(text(Some(1_234_567.8)), "1234568");
        assert_eq!(text(Some(0.0)), "0.00000");
        assert_eq!(text(None), "-");
    }
}
