//! The known word that a mistyped one most resembles.

/// The nearest of `known` to `word`, if near enough to be a slip of the keyboard.
///
/// One edit is allowed for every three characters of the longer word (two at least), where
/// swapping two neighbours is one edit. Of two equally near words the first wins.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        // Distance costs the product of the lengths; a word this long is no slip of the keyboard.
        if word.len() > 64 || candidate.len() > 64 {
            continue;
        }
        let edits = strsim::osa_distance(word, candidate);
        let allowed = (word.len().max(candidate.len()) / 3).max(2);
        let shorter = word.len().min(candidate.len());
        if edits <= allowed && edits < shorter && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_string())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["policy", "priority", "cpus", "loop"];
        assert_eq!(nearest("polcy", known).as_deref(), Some("policy"));
        assert_eq!(nearest("cpu", known).as_deref(), Some("cpus"));
        assert_eq!(nearest("lopo", known).as_deref(), Some("loop"));
        assert_eq!(nearest("zzzz", known), None);
        assert_eq!(nearest("x", known), None);
    }
}
