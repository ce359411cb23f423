//! Numbers as text, three digits at a time from a table.

/// Three digits of each number below 1000, and how many of them it needs.
static DIGITS: [[u8; 4]; 1000] = digits();

const fn digits() -> [[u8; 4]; 1000] {
    let mut table = [[0; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        table[n] = [
            b'0' + (n / 100) as u8,
            b'0' + (n / 10 % 10) as u8,
            b'0' + (n % 10) as u8,
            1 + (n >= 10) as u8 + (n >= 100) as u8,
        ];
        n += 1;
    }
    table
}

/// Writes a number.
pub(super) fn number(out: &mut Vec<u8>, value: u64) {
    if value >= 1000 {
        number(out, value / 1000);
        three(out, value % 1000);
        return;
    }
    let [a, b, c, needed] = DIGITS[value as usize];
    let first = u32::from_le_bytes([a, b, c, 0]) >> (8 * (3 - u32::from(needed)));
    let end = out.len() + usize::from(needed);
    out.extend_from_slice(&first.to_le_bytes());
    out.truncate(end);
}

/// Writes a number below 1000 with three digits.
#[inline(always)]
pub(super) fn three(out: &mut Vec<u8>, value: u64) {
    let [a, b, c, _] = DIGITS[value as usize];
    out.extend_from_slice(&[a, b, c]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        for shift in 0..64 {
            for value in [u64::MAX >> shift, (1 << shift) - 1, 10_u64.pow(shift % 20)] {
                let mut out = Vec::new();
                number(&mut out, value);
                assert_eq!(out, value.to_string().as_bytes());
            }
        }
        let mut out = Vec::new();
        three(&mut out, 7);
        assert_eq!(out, b"007");
    }
}
