//! The time stamp of a line, which splits it into what stands before and after.
//!
//! Model.       A time stamp is the first word of digits, a point and digits that a colon follows;
//!              or digits and `us` in the kernel's latency format; or digits alone, from a clock
//!              that counts something else. Names of tasks may hold blanks and colons, but not such
//!              a word.

/// A line split at its time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp<'a> {
    /// What stands before it.
    pub(crate) before: &'a str,
    /// In nanoseconds, if it is in a unit of time.
    pub(crate) ts: u64,
    /// Whether it is.
    pub(crate) is_time: bool,
    /// What stands after its colon.
    pub(crate) after: &'a str,
}

/// Splits a line at its time stamp.
pub(crate) fn stamp(line: &str) -> Option<Stamp<'_>> {
    let mut from = 0;
    while let Some(found) = line[from..].find(':') {
        let colon = from + found;
        from = colon + 1;
        let after = &line[from..];
        if !after.starts_with(' ') {
            continue;
        }
        let head = line[..colon].trim_ascii_end();
        let (before, word) = match head.rsplit_once([' ', '\t']) {
            Some((before, word)) => (before.trim_ascii_end(), word),
            None => continue,
        };
        // The kernel marks long delays with a letter before the colon.
        let word = word.trim_end_matches(['+', '!', '#', '*', '@', '$']);
        if let Some((ts, is_time)) = time(word) {
            return Some(Stamp {
                before,
                ts,
                is_time,
                after: after.trim_ascii_start(),
            });
        }
    }
    None
}

/// The time that a word tells in nanoseconds, and whether it is one.
fn time(word: &str) -> Option<(u64, bool)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(us) = word.strip_suffix("us") {
        return digits(us)
            .then(|| us.parse::<u64>().ok()?.checked_mul(1000))
            .flatten()
            .map(|ts| (ts, true));
    }
    let Some((secs, fraction)) = word.split_once('.') else {
        return digits(word)
            .then(|| word.parse().ok())
            .flatten()
            .map(|count| (count, false));
    };
    if !digits(secs) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - fraction.len() as u32);
    let nanos = fraction.parse::<u64>().ok()? * scale;
    let ts = secs
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanos)?;
    Some((ts, true))
}

/// A file as text, with a mark in place of bytes that are none.
pub(crate) fn to_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_all_shapes() {
        let cases = [
            ("a b-1 [000] 4185.107091: x: y", 4_185_107_091_000, true),
            ("a b-1 [000]     6.810329721: x: y", 6_810_329_721, true),
            ("a b-1 0dNh4. 12us+: x", 12_000, true),
            ("a b-1 0dNh4. 12us : x", 12_000, true),
            ("a b-1 [000] 184467: x", 184_467, false),
            ("kworker/0:1-9 [000] 1.000000: x", 1_000_000_000, true),
        ];
        for (line, ts, is_time) in cases {
            let stamp = stamp(line).unwrap();
            assert_eq!((stamp.ts, stamp.is_time), (ts, is_time), "{line}");
            assert!(stamp.after.starts_with('x'), "{line}");
        }
        assert_eq!(
            stamp("a b-1 [000] 1.000000: x").unwrap().before,
            "a b-1 [000]"
        );
    }

    #[test]
    fn lines_without_one() {
        for line in [
            "",
            ":",
            ": ",
            "1.0:",
            "a 1.x: b",
            "a 1.0123456789: b",
            "a é: b",
            "x 99999999999999999999: y",
        ] {
            assert_eq!(stamp(line), None, "{line}");
        }
    }
}
