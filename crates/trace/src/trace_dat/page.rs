//! A ring-buffer page being filled.
//!
//! Model.       See the drawing in [`super`]. An event whose time is 2^27 ns (134 ms) or more after
//!              the one before it is preceded by a time extension: eight bytes, the low 27 bits of
//!              the difference in its first word, the rest in its second.
//! Invariants.  The first event of a page has no time difference: the page's time stamp is its
//!              time.

/// The size of a page.
pub(super) const PAGE_SIZE: usize = 4096;

/// Its time stamp and the number of bytes used.
const HEADER: usize = 16;

/// `type_len` of a time extension.
const TIME_EXTEND: u32 = 30;

/// The longest record whose length fits `type_len`, which counts words of 4 bytes.
const MAX_SMALL: usize = 28 * 4;

/// The first time difference that needs an extension.
const EXTEND_FROM: u64 = 1 << 27;

/// The first time difference, 18 years, that no extension can tell: 27 + 32 bits are not enough.
const EXTEND_UNTIL: u64 = 1 << 59;

/// The longest record that a page can hold: one with its length in a word of its own.
pub(super) const MAX_RECORD: usize = PAGE_SIZE - HEADER - 8;

/// A page, with the time of its last event.
#[derive(Debug)]
pub(super) struct Page {
    bytes: Box<[u8; PAGE_SIZE]>,
    used: usize,
    last_ts: u64,
}

impl Page {
    pub(super) fn new() -> Self {
        Self {
            bytes: Box::new([0; PAGE_SIZE]),
            used: HEADER,
            last_ts: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.used == HEADER
    }

    /// Adds an event if it fits. An empty page takes any.
    ///
    /// `record` is a whole number of 4-byte words.
    #[must_use]
    pub(super) fn push(&mut self, ts: u64, record: &[u8]) -> bool {
        assert!(record.len().is_multiple_of(4) && record.len() <= MAX_RECORD);
        let delta = if self.is_empty() {
            0
        } else {
            ts - self.last_ts
        };
        if delta >= EXTEND_UNTIL {
            return false;
        }
        let extension = if delta < EXTEND_FROM { 0 } else { 8 };
        let length_word = if record.len() > MAX_SMALL { 4 } else { 0 };
        if self.used + extension + 4 + length_word + record.len() > PAGE_SIZE {
            return false;
        }
        if self.is_empty() {
            self.bytes[..8].copy_from_slice(&ts.to_le_bytes());
        }
        self.last_ts = ts;
        let mut low = (delta % EXTEND_FROM) as u32;
        if extension > 0 {
            self.put_word(TIME_EXTEND | low << 5);
            self.put_word((delta >> 27) as u32);
            low = 0;
        }
        if length_word > 0 {
            self.put_word(low << 5);
            // The length counts its own word.
            self.put_word(record.len() as u32 + 4);
        } else {
            self.put_word((record.len() / 4) as u32 | low << 5);
        }
        self.bytes[self.used..self.used + record.len()].copy_from_slice(record);
        self.used += record.len();
        true
    }

    /// The page as the file has it.
    pub(super) fn seal(&mut self) -> &[u8; PAGE_SIZE] {
        let commit = (self.used - HEADER) as u64;
        self.bytes[8..16].copy_from_slice(&commit.to_le_bytes());
        self.bytes[self.used..].fill(0);
        &self.bytes
    }

    /// Empties it.
    pub(super) const fn clear(&mut self) {
        self.used = HEADER;
    }

    fn put_word(&mut self, word: u32) {
        self.bytes[self.used..self.used + 4].copy_from_slice(&word.to_le_bytes());
        self.used += 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(page: &Page, at: usize) -> u32 {
        u32::from_le_bytes(page.bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_short_record_has_its_length_in_the_header() {
        let mut page = Page::new();
        assert!(page.push(1_000, &[7; 12]));
        assert!(page.push(1_005, &[9; 8]));
        // 12 bytes are 3 words at difference 0; 8 bytes are 2 words, 5 ns later: 5 << 5 | 2 = 162.
        assert_eq!((word(&page, 16), word(&page, 32)), (3, 162));
        let sealed = page.seal();
        assert_eq!(sealed[..8], 1_000_u64.to_le_bytes());
        // Two headers of 4 bytes and 20 bytes of records.
        assert_eq!(sealed[8..16], 28_u64.to_le_bytes());
    }

    #[test]
    fn a_long_record_has_its_length_in_a_word() {
        let mut page = Page::new();
        assert!(page.push(0, &[1; 116]));
        assert_eq!((word(&page, 16), word(&page, 20)), (0, 120));
    }

    #[test]
    fn a_long_pause_is_a_time_extension() {
        let mut page = Page::new();
        assert!(page.push(0, &[0; 4]));
        // 3 * 2^27 + 1 ns: low part 1, high part 3.
        assert!(page.push((3 << 27) + 1, &[0; 4]));
        assert_eq!(
            (word(&page, 24), word(&page, 28), word(&page, 32)),
            (1 << 5 | 30, 3, 1)
        );
    }

    #[test]
    fn a_full_page_refuses() {
        let mut page = Page::new();
        assert!(page.push(0, &[0; MAX_RECORD]));
        assert!(!page.push(0, &[]));
        page.clear();
        assert!(page.push(0, &[]));
    }
}
