//! The median, which a few values that are far off do not move.

/// The middle one of some numbers, the upper one of two.
pub(crate) fn median(mut all: Vec<u64>) -> Option<u64> {
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_middle_one() {
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median(vec![9, 1, 4]), Some(4));
        assert_eq!(median(vec![9, 1, 4, 7]), Some(7));
    }
}
