//! Times as people write and read them.
//!
//! Units.       Nanoseconds inside; `10s`, `500ms`, `1m 30s` outside.

use fairwind_sched::Nanos;

/// The longest run: enough for anyone, and far from where nanoseconds overflow.
const LONGEST: Nanos = 1000 * 24 * 3600 * 1_000_000_000;

/// Reads a positive time with its unit.
pub(crate) fn parse(text: &str) -> Result<Nanos, String> {
    let wrong = |what: String| {
        Err(format!(
            "{what}; expected a time such as 10s, 500ms or '1m 30s'"
        ))
    };
    let duration = match humantime::parse_duration(text) {
        Ok(duration) => duration,
        Err(_) if text.parse::<f64>().is_ok() => return wrong("the unit is missing".to_string()),
        Err(error) => return wrong(error.to_string()),
    };
    match u64::try_from(duration.as_nanos()) {
        Ok(0) => wrong("nothing can be measured in no time".to_string()),
        Ok(ns) if ns <= LONGEST => Ok(ns),
        _ => wrong("longer than 1000 days".to_string()),
    }
}

/// A time in the largest unit that leaves a number of at least 1, to four digits or to the
/// nanosecond, rounded down.
pub(crate) fn format(ns: Nanos) -> String {
    const SECOND: Nanos = 1_000_000_000;
    let (unit_ns, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..SECOND => (1_000_000, "ms"),
        _ => (SECOND, "s"),
    };
    let whole = ns / unit_ns;
    let rest = ns % unit_ns * 1000 / unit_ns;
    match whole {
        0..10 => format!("{whole}.{rest:03} {unit}"),
        10..100 => format!("{whole}.{:02} {unit}", rest / 10),
        100..1000 => format!("{whole}.{} {unit}", rest / 100),
        _ => format!("{whole} {unit}"),
    }
}

/// A time without digits that say nothing, for times that people chose; others as [`format()`] has
/// them.
pub(crate) fn format_round(ns: Nanos) -> String {
    let (unit_ns, unit) = match ns {
        0..1_000 => return format(ns),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let thousandth = unit_ns / 1000;
    if !ns.is_multiple_of(thousandth) {
        return format(ns);
    }
    let number = format!("{}.{:03}", ns / unit_ns, ns % unit_ns / thousandth);
    format!(
        "{} {unit}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        assert_eq!(parse("10s"), Ok(10_000_000_000));
        assert_eq!(parse("1m 30s"), Ok(90_000_000_000));
        assert_eq!(parse("250us"), Ok(250_000));
        for wrong in ["10", "", "s", "0s", "-1s", "10 parsecs", "9000 days"] {
            assert!(parse(wrong).is_err_and(|e| e.contains("500ms")), "{wrong}");
        }
    }

    #[test]
    fn times_keep_four_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 us"),
            (12_345, "12.34 us"),
            (999_999, "999.9 us"),
            (1_999_999_999, "1.999 s"),
            (1_234_567_000_000, "1234 s"),
        ] {
            assert_eq!(format(ns), text);
        }
    }

    #[test]
    fn chosen_times_are_whole() {
        for (ns, text) in [
            (10_000_000_000, "10 s"),
            (1_500_000_000, "1.5 s"),
            (7_201_005_000_000, "7201.005 s"),
            (100_000_000, "100 ms"),
            (250, "250 ns"),
            (1_234_567_891, "1.234 s"),
        ] {
            assert_eq!(format_round(ns), text);
        }
    }
}
