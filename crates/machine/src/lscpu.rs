//! Reads a machine from `lscpu -J` (the summary) or `lscpu -J -e` (a table, one row a CPU).
//!
//! Model.       The table says where each CPU sits. The summary says how many of each thing there
//!              are and which CPUs a NUMA node has; the rest is laid out regularly, with a note on
//!              what was assumed.
//! Deviations.  Neither has the distances between nodes. The summary does not say which CPUs are
//!              SMT siblings: they are taken as numbered apart when the architecture is x86, else
//!              as neighbours.

mod summary;
mod table;

use serde_json::Value;

use crate::error::Error;
use crate::load::Found;

/// Reads `text`; `file` names it in errors.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, Error> {
    let wrong = |place, what: String, mend: &str| Error::Content {
        file: file.to_string(),
        place,
        what,
        mend: mend.to_string(),
    };
    let value: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&dashes_to_null(text)).map_err(|_| error))
        .map_err(|error| {
            wrong(
                // Column 0 is how the end of the text is told.
                Some((error.line(), error.column().max(1))),
                format!("not well-formed JSON: {error}"),
                "write it anew with 'lscpu -J -e'",
            )
        })?;
    let no_place = |what: String| wrong(None, what, "write it anew with 'lscpu -J -e'");
    if let Some(rows) = value.get("cpus").and_then(Value::as_array) {
        table::read(rows).map_err(no_place)
    } else if let Some(fields) = value.get("lscpu").and_then(Value::as_array) {
        summary::read(fields).map_err(no_place)
    } else {
        Err(wrong(
            None,
            "JSON without a list \"lscpu\" or \"cpus\"".to_string(),
            "expected the output of 'lscpu -J' or 'lscpu -J -e'",
        ))
    }
}

/// Some releases of lscpu write a bare `-` for an absent number, which is no JSON.
fn dashes_to_null(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if c == '-' && !chars.peek().is_some_and(char::is_ascii_digit) {
            out.push_str("null");
            continue;
        }
        out.push(c);
    }
    out
}

/// A size such as `32K`, `1.3 MiB (2 instances)` or `96 KiB (2 instances)`: bytes in all, and
/// instances if they are told.
fn parse_size(text: &str) -> Option<(u64, Option<u64>)> {
    let (size, instances) = match text.split_once('(') {
        Some((size, rest)) => (
            size,
            rest.split_whitespace().next().and_then(|n| n.parse().ok()),
        ),
        None => (text, None),
    };
    let size = size.trim();
    let split = size
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(size.len());
    let (number, unit) = size.split_at(split);
    let scale: u64 = match unit.trim() {
        "" | "B" => 1,
        "K" | "KiB" | "kB" => 1 << 10,
        "M" | "MiB" | "MB" => 1 << 20,
        "G" | "GiB" | "GB" => 1 << 30,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    // Two digits of the fraction are all that lscpu ever writes.
    let digits: String = fraction.chars().chain("00".chars()).take(2).collect();
    let hundredths: u64 = digits.parse().ok()?;
    let bytes = whole
        .checked_mul(scale)?
        .checked_add(hundredths * scale / 100)?;
    Some((bytes, instances))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("32K"), Some((32 << 10, None)));
        assert_eq!(
            parse_size("96 KiB (2 instances)"),
            Some((96 << 10, Some(2)))
        );
        assert_eq!(parse_size("1.5 MiB (1 instance)"), Some((3 << 19, Some(1))));
        assert_eq!(parse_size("plenty"), None);
    }

    #[test]
    fn bare_dashes_become_null_outside_strings() {
        assert_eq!(
            dashes_to_null(r#"{"a-b": -, "c": -1, "d": "-\"-"}"#),
            r#"{"a-b": null, "c": -1, "d": "-\"-"}"#
        );
    }
}
