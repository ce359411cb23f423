//! The known name that a mistyped one most resembles.

/// The nearest of `known` to `word` in any case, if near enough to be a slip of the keyboard: at
/// most one edit for every three characters, where swapping two neighbours is one.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distance costs the product of the lengths; so long a word is no slip of the keyboard.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&word, &name.to_lowercase());
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(edits, name)| *edits <= (word.len().max(name.len()) / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["SIS_UTIL", "RUN_TO_PARITY", "WA_IDLE", "WA_BIAS"];
        assert_eq!(nearest("RUN_TO_PARTIY", known), Some("RUN_TO_PARITY"));
        assert_eq!(nearest("sis_util", known), Some("SIS_UTIL"));
        assert_eq!(nearest("WA_IDEL", known), Some("WA_IDLE"));
        assert_eq!(nearest("HOTPLUG", known), None);
    }
}
