//! Measured numbers as people read them.

/// Four digits, or all of a whole number.
pub(crate) fn format(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let decimals = match value.abs() {
        // Zeros before the first digit tell nothing.
        ..1.0 => 3 + (-value.abs().log10()).ceil().min(9.0) as usize,
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Percent with its sign; nothing is +0.00.
pub(crate) fn change(percent: f64) -> String {
    let text = format!("{percent:+.2}");
    if text == "-0.00" {
        "+0.00".to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (1234.5, "1234"),
            (123.45, "123.5"),
            (1.23456, "1.235"),
            (0.1, "0.1000"),
            (0.123_456, "0.1235"),
            (0.012_345_6, "0.01235"),
            (-2.5, "-2.500"),
        ] {
            assert_eq!(format(value), text);
        }
        assert_eq!(
            (change(1.0), change(-0.5)),
            ("+1.00".into(), "-0.50".into())
        );
        assert_eq!((change(-0.0), change(-0.004)), (change(0.0), change(0.0)));
    }
}
