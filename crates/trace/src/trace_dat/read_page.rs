//! The records in the ring-buffer pages of one CPU.
//!
//! Model.       Pages follow one another; in each, a time stamp and events, each with the time
//!              since the one before, as drawn in [`super`]. A page can say that events were lost
//!              before it, and how many.
//! Invariants.  Every step moves on by at least 4 bytes or to the next page, so the walk ends. A
//!              record handed out lies within its page.
//! Source.      kernel/trace/ring_buffer.c @ v6.12: `rb_event_length`, `rb_update_write_stamp`,
//!              `ring_buffer_read_page`; the header of a page is as the file's own `header_page`
//!              says.

use std::ops::Range;

use super::read_clock::TimeBase;
use crate::format_desc::parse_field;
use crate::read::cursor::ByteOrder;
use crate::read::stats::{Oddity, Place, ReadStats};

/// `type_len` of filler, of a time difference and of an absolute time.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// The number of bytes in the `commit` word; above it are the two flags.
const COMMIT_MASK: u64 = (1 << 27) - 1;
/// Events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Their number stands behind the events.
const MISSED_STORED: u64 = 1 << 30;

/// The bits of a time that an absolute time stamp, of 59 bits, leaves out.
const ABOVE_TIME_STAMP: u64 = 0xf8 << 56;

/// How a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    /// Offset of the time stamp of 8 bytes.
    timestamp: usize,
    /// Offset and size of the number of bytes used.
    commit: (usize, usize),
    /// Offset of the events.
    data: usize,
}

impl PageLayout {
    /// What a 64-bit kernel has.
    pub(super) const USUAL: Self = Self {
        timestamp: 0,
        commit: (8, 8),
        data: 16,
    };

    /// Reads `header_page`. `None` if it lacks a field.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let mut layout = Self::USUAL;
        let mut found = 0;
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix("field:") else {
                continue;
            };
            let field = parse_field(rest)?;
            let (offset, size) = (field.at.offset() as usize, field.at.size() as usize);
            match field.name.as_str() {
                "timestamp" if size == 8 => layout.timestamp = offset,
                "commit" if matches!(size, 4 | 8) => layout.commit = (offset, size),
                "data" => layout.data = offset,
                _ => continue,
            }
            found += 1;
        }
        (found == 3 && layout.data < 256).then_some(layout)
    }
}

/// The pages of one CPU in one buffer: where they are and how to read them.
#[derive(Clone, Debug)]
pub(crate) struct CpuPages {
    pub(crate) cpu: u32,
    pub(crate) buffer: u16,
    /// Which of the trace's memories holds them, and where.
    pub(crate) memory: usize,
    pub(crate) range: Range<usize>,
    pub(super) page_size: usize,
    pub(super) layout: PageLayout,
}

/// A walk over the pages of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct PageWalk<'a> {
    /// All pages that are still to come.
    pages: &'a [u8],
    /// What is left of the events of the present page.
    events: &'a [u8],
    /// The time of the last event, by the ring buffer's clock.
    raw_ts: u64,
    last_ts: u64,
    /// Where `pages` stands in the memory, for the counters.
    at: u64,
    cpu: u32,
    page_size: usize,
    layout: PageLayout,
    order: ByteOrder,
}

impl<'a> PageWalk<'a> {
    pub(crate) fn new(cpu: &CpuPages, memory: &'a [u8], order: ByteOrder) -> Self {
        Self {
            pages: memory.get(cpu.range.clone()).unwrap_or_default(),
            events: &[],
            raw_ts: 0,
            last_ts: 0,
            at: cpu.range.start as u64,
            cpu: cpu.cpu,
            page_size: cpu.page_size,
            layout: cpu.layout,
            order,
        }
    }

    /// The next record and its time.
    pub(crate) fn next(
        &mut self,
        time: &TimeBase,
        stats: &mut ReadStats,
    ) -> Option<(u64, &'a [u8])> {
        loop {
            while !self.events.is_empty() {
                if let Some(record) = self.next_in_page(stats) {
                    let ts = time.nanos(self.raw_ts, self.cpu);
                    if ts < self.last_ts {
                        stats.one(Oddity::TimeWentBack, Place::Cpu(self.cpu));
                    }
                    self.last_ts = ts;
                    return Some((ts, record));
                }
            }
            if !self.next_page(stats) {
                return None;
            }
        }
    }

    /// Goes to the next page. `false` at the end.
    fn next_page(&mut self, stats: &mut ReadStats) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        let page = &self.pages[..self.page_size.min(self.pages.len())];
        let place = Place::Byte(self.at);
        self.pages = &self.pages[page.len()..];
        self.at += page.len() as u64;
        let (commit_at, commit_size) = self.layout.commit;
        let (Some(ts), Some(commit), true) = (
            self.order.unsigned(page, self.layout.timestamp, 8),
            self.order.unsigned(page, commit_at, commit_size),
            page.len() >= self.layout.data,
        ) else {
            stats.one(Oddity::Truncated, place);
            return true;
        };
        let data = &page[self.layout.data..];
        let mut len = (commit & COMMIT_MASK) as usize;
        if len > data.len() {
            let cut = page.len() < self.page_size;
            let what = if cut {
                Oddity::Truncated
            } else {
                Oddity::BadPage
            };
            stats.one(what, place);
            // Of a whole page with such a header nothing can be believed.
            len = if cut { data.len() } else { 0 };
        } else if commit & MISSED_EVENTS != 0 {
            let stored = (commit & MISSED_STORED != 0)
                .then(|| self.order.unsigned(data, len, commit_size))
                .flatten();
            match stored {
                Some(lost) => stats.lost(self.cpu, lost),
                None => stats.one(Oddity::LostUnknown, Place::Cpu(self.cpu)),
            }
        }
        self.raw_ts = ts;
        self.events = &data[..len];
        true
    }

    /// Steps over one event of the page. `None` if it was no record, or the page ends.
    fn next_in_page(&mut self, stats: &mut ReadStats) -> Option<&'a [u8]> {
        let Some(word) = self.word(0) else {
            self.break_off(stats);
            return None;
        };
        let (type_len, delta) = match self.order {
            ByteOrder::Little => (word & 0x1f, u64::from(word >> 5)),
            ByteOrder::Big => (word >> 27, u64::from(word & 0x07ff_ffff)),
        };
        match type_len {
            PADDING => {
                if delta == 0 {
                    // Nothing more on this page.
                    self.events = &[];
                    return None;
                }
                let filler = self.word(4);
                self.raw_ts = self.raw_ts.wrapping_add(delta);
                self.skip(filler.map(|len| u64::from(len) + 4), stats);
                None
            }
            TIME_EXTEND => {
                let high = self.word(4).map_or(0, u64::from);
                self.raw_ts = self.raw_ts.wrapping_add((high << 27) + delta);
                self.skip(Some(8), stats);
                None
            }
            TIME_STAMP => {
                let high = self.word(4).map_or(0, u64::from);
                let low = (high << 27) + delta;
                let mut ts = low | self.raw_ts & ABOVE_TIME_STAMP;
                if ts < self.raw_ts {
                    // The 59 bits have wrapped.
                    ts = ts.wrapping_add(1 << 59);
                }
                self.raw_ts = ts;
                self.skip(Some(8), stats);
                None
            }
            words => {
                let (start, len) = match words {
                    // The length counts its own word, and is padded to whole words.
                    0 => match self.word(4) {
                        Some(len) if len >= 4 => (8, u64::from(len) - 4),
                        _ => {
                            self.break_off(stats);
                            return None;
                        }
                    },
                    words => (4, u64::from(words) * 4),
                };
                let end = start as u64 + len;
                let Some(record) = self.events.get(start..end as usize) else {
                    self.break_off(stats);
                    return None;
                };
                self.raw_ts = self.raw_ts.wrapping_add(delta);
                let next = (end as usize).next_multiple_of(4).min(self.events.len());
                self.events = &self.events[next..];
                Some(record)
            }
        }
    }

    fn word(&self, at: usize) -> Option<u32> {
        let word = self.events.get(at..)?.first_chunk()?;
        Some(self.order.u32(*word))
    }

    fn skip(&mut self, len: Option<u64>, stats: &mut ReadStats) {
        let len = len.and_then(|len| usize::try_from(len).ok());
        match len.and_then(|len| self.events.get(len..)) {
            Some(rest) => self.events = rest,
            None => self.break_off(stats),
        }
    }

    fn break_off(&mut self, stats: &mut ReadStats) {
        stats.one(Oddity::BadEventLength, Place::Byte(self.at));
        self.events = &[];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 64 bytes: time stamp, commit word, data.
    fn page(ts: u64, commit: u64, words: &[u32]) -> Vec<u8> {
        let mut page = ts.to_le_bytes().to_vec();
        page.extend_from_slice(&commit.to_le_bytes());
        for word in words {
            page.extend_from_slice(&word.to_le_bytes());
        }
        page.resize(64, 0);
        page
    }

    fn walk(memory: &[u8]) -> (Vec<(u64, Vec<u8>)>, ReadStats) {
        let cpu = CpuPages {
            cpu: 3,
            buffer: 0,
            memory: 0,
            range: 0..memory.len(),
            page_size: 64,
            layout: PageLayout::USUAL,
        };
        let mut stats = ReadStats::default();
        let mut walk = PageWalk::new(&cpu, memory, ByteOrder::Little);
        let next = || {
            walk.next(&TimeBase::default(), &mut stats)
                .map(|(ts, record)| (ts, record.to_vec()))
        };
        (std::iter::from_fn(next).collect(), stats)
    }

    #[test]
    fn every_type_of_event_keeps_the_time() {
        let words = [
            1,
            0xaa, // at 1000, one word
            5 << 5 | TIME_EXTEND,
            2, // + 2 * 2^27 + 5
            1 << 5 | 1,
            0xbb, // + 1
            1 << 5 | PADDING,
            4,
            0xdead, // + 1; a discarded event: 4 + 4 bytes, then 4 of another
        ];
        // The filler says 4 bytes: its own word; so the next event begins at 0xdead, which is cut
        // off by the commit word.
        let (events, stats) = walk(&page(1000, 8 * 4, &words));
        let second = 1000 + (2 << 27) + 5 + 1;
        let expected = vec![(1000, vec![0xaa, 0, 0, 0]), (second, vec![0xbb, 0, 0, 0])];
        assert_eq!(events, expected);
        assert!(stats.is_clean(), "{}", stats.table());
    }

    #[test]
    fn an_absolute_time_stamp_keeps_the_high_bits() {
        // 3 * 2^27 + 7, with the highest bit of the page's time above it.
        let words = [7 << 5 | TIME_STAMP, 3, 1, 0xcc];
        let (events, _) = walk(&page(1 << 63, 16, &words));
        assert_eq!(
            events,
            vec![((1 << 63) + (3 << 27) + 7, vec![0xcc, 0, 0, 0])]
        );
    }

    #[test]
    fn the_other_byte_order_has_the_type_in_the_high_bits() {
        let mut page = 500_u64.to_be_bytes().to_vec();
        page.extend_from_slice(&16_u64.to_be_bytes());
        // One word at + 0, then one at + 9: 1 << 27 | 9.
        for word in [1_u32 << 27, 0xaa, 1 << 27 | 9, 0xbb] {
            page.extend_from_slice(&word.to_be_bytes());
        }
        let cpu = CpuPages {
            cpu: 0,
            buffer: 0,
            memory: 0,
            range: 0..page.len(),
            page_size: 64,
            layout: PageLayout::USUAL,
        };
        let mut walk = PageWalk::new(&cpu, &page, ByteOrder::Big);
        let mut stats = ReadStats::default();
        let mut next = || walk.next(&TimeBase::default(), &mut stats);
        assert_eq!(next(), Some((500, &[0, 0, 0, 0xaa][..])));
        assert_eq!(next(), Some((509, &[0, 0, 0, 0xbb][..])));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_long_record_has_its_length_in_a_word() {
        // 9 - 4 = 5 bytes of record, and the next event on a whole word.
        let words = [0, 9, 0x0403_0201, 5, 1, 0xdd];
        let (events, stats) = walk(&page(9, 24, &words));
        assert_eq!(
            events,
            vec![(9, vec![1, 2, 3, 4, 5]), (9, vec![0xdd, 0, 0, 0])]
        );
        assert!(stats.is_clean());
    }

    #[test]
    fn lost_events_are_counted() {
        let mut known = page(9, 8 | MISSED_EVENTS | MISSED_STORED, &[1, 0xee]);
        known[24..32].copy_from_slice(&77_u64.to_le_bytes());
        let unknown = page(10, 8 | MISSED_EVENTS, &[1, 0xff]);
        let (events, stats) = walk(&[known, unknown].concat());
        assert_eq!(events.len(), 2);
        assert_eq!(
            (stats.lost_on(3), stats.count(Oddity::LostUnknown)),
            (77, 1)
        );
    }

    #[test]
    fn damage_ends_a_page_and_no_more() {
        let bad_commit = page(1, 49, &[1, 1]);
        let too_long = page(2, 12, &[1, 1, 20]);
        let zero_length = page(3, 8, &[0, 3]);
        let good = page(4, 8, &[1, 2]);
        let cut = &good[..20];
        let (events, stats) = walk(&[&bad_commit, &too_long, &zero_length, &good, cut].concat());
        let times: Vec<_> = events.iter().map(|event| event.0).collect();
        assert_eq!(times, [2, 4]);
        assert_eq!(stats.count(Oddity::BadPage), 1);
        // The cut page leaves an event of which only the header is there.
        assert_eq!(stats.count(Oddity::BadEventLength), 3);
        assert_eq!(stats.count(Oddity::Truncated), 1);
    }

    #[test]
    fn the_header_of_a_page_is_what_the_file_says() {
        let text = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";
        let layout = PageLayout {
            timestamp: 0,
            commit: (8, 4),
            data: 12,
        };
        assert_eq!(PageLayout::parse(text), Some(layout));
        assert_eq!(PageLayout::parse(&text[..60]), None);
    }
}
