//! One event as it was recorded, and its fields.
//!
//! Model.       The bytes of the record, in the trace's memory, beside what every record says. A
//!              field is resolved once to a [`FieldRef`] and then read from every record of it:
//!
//! ```no_run
//! # fn main() -> Result<(), fairwind_trace::Error> {
//! let trace = fairwind_trace::open("trace.dat".as_ref())?;
//! let switch = trace.formats().find("sched", "sched_switch").unwrap();
//! let next_pid = trace.formats().get(switch).field("next_pid").unwrap();
//! for event in trace.events().filter(|event| event.event == switch) {
//!     let _ = (event.ts, event.cpu, event.int(next_pid));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Invariants.  Nothing outside the record is read: a field that is not in it is 0, or empty.
//! Deviations.  Where a trace is text, a number that the text does not announce as one is read out
//!              of its letters each time.

use super::cursor::{ByteOrder, until_zero};
use super::formats::{CommonLayout, EventId};
use crate::format_desc::{FieldKind, FieldRef};

/// An event as it was recorded.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent<'a> {
    /// When, in nanoseconds of the trace's clock.
    pub ts: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Who ran there: its thread id, 0 for the idle task.
    pub common_pid: i32,
    /// The kernel's `TRACE_FLAG_*` bits: 1 irqs off, 2 lazy reschedule, 4 need-resched, 8 hardirq,
    /// 16 softirq, 32 preempt-resched, 64 NMI, 128 softirqs off.
    pub flags: u8,
    /// The preemption depth in the low half, the depth of disabled migration in the high half.
    pub preempt_count: u8,
    /// What happened.
    pub event: EventId,
    /// In which buffer, of the trace's list: 0 unless the recorder used instances.
    pub buffer: u16,
    pub(crate) record: &'a [u8],
    pub(crate) order: ByteOrder,
}

impl<'a> RawEvent<'a> {
    /// An event out of its record.
    pub(crate) fn new(
        ts: u64,
        cpu: u32,
        event: EventId,
        record: &'a [u8],
        order: ByteOrder,
        common: &CommonLayout,
    ) -> Self {
        let mut raw = Self {
            ts,
            cpu,
            common_pid: 0,
            flags: 0,
            preempt_count: 0,
            event,
            buffer: 0,
            record,
            order,
        };
        raw.common_pid = raw.int(common.pid) as i32;
        raw.flags = raw.int(common.flags) as u8;
        raw.preempt_count = raw.int(common.preempt_count) as u8;
        raw
    }

    /// The record itself.
    #[must_use]
    pub const fn record(&self) -> &'a [u8] {
        self.record
    }

    /// A number, sign-extended if its field is signed. A `u64` beyond `i64` comes out negative:
    /// cast it back. Of an array, the first; of a string, the number that it spells.
    #[must_use]
    #[inline]
    pub fn int(&self, field: FieldRef) -> i64 {
        match field.kind {
            FieldKind::Int { signed } => self.number(field.offset, field.size, signed),
            FieldKind::Array { .. } => self.int_at(field, 0),
            FieldKind::Chars | FieldKind::DataLoc | FieldKind::RelLoc => {
                spelled(self.bytes(field)).unwrap_or(0)
            }
        }
    }

    /// The same as [`RawEvent::int`], for fields of the kernel's unsigned 64-bit types.
    #[must_use]
    #[inline]
    pub fn uint(&self, field: FieldRef) -> u64 {
        self.int(field).cast_unsigned()
    }

    /// A number of an array. Beyond its end: 0.
    #[must_use]
    pub fn int_at(&self, field: FieldRef, index: u32) -> i64 {
        let FieldKind::Array { element, signed } = field.kind else {
            return if index == 0 { self.int(field) } else { 0 };
        };
        let at = u64::from(index) * u64::from(element);
        match u32::try_from(at) {
            Ok(at) if at + u32::from(element) <= field.size => {
                self.number(field.offset + at, element.into(), signed)
            }
            _ => 0,
        }
    }

    /// A string, up to its final zero. Bytes that are no UTF-8 end it.
    #[must_use]
    pub fn str(&self, field: FieldRef) -> &'a str {
        let bytes = self.bytes(field);
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// The bytes of a string up to its final zero, or of anything else as they stand.
    #[must_use]
    pub fn bytes(&self, field: FieldRef) -> &'a [u8] {
        let (start, len) = match field.kind {
            FieldKind::Int { .. } | FieldKind::Array { .. } => {
                return self.part(field.offset.into(), field.size.into());
            }
            FieldKind::Chars => (u64::from(field.offset), u64::from(field.size)),
            FieldKind::DataLoc | FieldKind::RelLoc => {
                let word = self.number(field.offset, 4, false) as u64;
                let start = match field.kind {
                    FieldKind::RelLoc => u64::from(field.offset + field.size),
                    _ => 0,
                };
                (start + (word & 0xffff), word >> 16)
            }
        };
        until_zero(self.part(start, len))
    }

    /// The bytes there that the record has.
    fn part(&self, start: u64, len: u64) -> &'a [u8] {
        let whole = self.record.len() as u64;
        let start = start.min(whole);
        let end = start.saturating_add(len).min(whole);
        &self.record[start as usize..end as usize]
    }

    #[inline]
    fn number(&self, offset: u32, size: u32, signed: bool) -> i64 {
        let number = self
            .order
            .unsigned(self.record, offset as usize, size as usize)
            .unwrap_or(0);
        match (size, signed) {
            (1, true) => i64::from(number as i8),
            (2, true) => i64::from(number as i16),
            (4, true) => i64::from(number as i32),
            _ => number.cast_signed(),
        }
    }
}

/// The number that the first word of a text spells: decimal with or without a sign, or hexadecimal
/// after `0x`.
pub(crate) fn spelled(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace);
    let text = std::str::from_utf8(&text[..end.unwrap_or(text.len())]).ok()?;
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(u64::cast_signed);
    }
    text.parse::<i64>()
        .ok()
        .or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(record: &[u8], order: ByteOrder) -> RawEvent<'_> {
        let common = CommonLayout::default();
        RawEvent::new(5, 1, EventId(0), record, order, &common)
    }

    #[test]
    fn fields_of_all_kinds() {
        // Common fields: event 7, flags 0x29, depth 2, pid -1; then a 16-bit -2 and two bytes of
        // nothing, a data_loc word to 5 bytes at 24, a rel_loc word to 3 bytes 4 after its end.
        let mut record = vec![7, 0, 0x29, 2, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0, 0];
        record.extend_from_slice(&(5_u32 << 16 | 24).to_le_bytes());
        record.extend_from_slice(&(3_u32 << 16 | 4).to_le_bytes());
        record.extend_from_slice(b"ab\0cpath\0tail");
        let raw = raw(&record, ByteOrder::Little);
        assert_eq!(
            (raw.common_pid, raw.flags, raw.preempt_count),
            (-1, 0x29, 2)
        );
        let field = |offset, size, kind| FieldRef::new(offset, size, kind);
        let int = |offset, size, signed| raw.int(field(offset, size, FieldKind::Int { signed }));
        assert_eq!((int(8, 2, true), int(8, 2, false)), (-2, 0xfffe));
        // Offset 20 is `ab\0c`, 24 is `path\0`.
        assert_eq!(raw.str(field(12, 4, FieldKind::DataLoc)), "path");
        assert_eq!(raw.str(field(16, 4, FieldKind::RelLoc)), "pat");
        assert_eq!(raw.str(field(20, 4, FieldKind::Chars)), "ab");
        // Beyond the record.
        assert_eq!(int(31, 4, true), 0);
        assert_eq!(raw.str(field(400, 16, FieldKind::Chars)), "");
        let shorts = field(
            8,
            4,
            FieldKind::Array {
                element: 2,
                signed: true,
            },
        );
        assert_eq!(
            (
                raw.int_at(shorts, 0),
                raw.int_at(shorts, 1),
                raw.int_at(shorts, 2)
            ),
            (-2, 0, 0)
        );
    }

    #[test]
    fn the_other_byte_order() {
        let raw = raw(&[0, 7, 0, 0, 0, 0, 1, 2], ByteOrder::Big);
        assert_eq!(raw.common_pid, 258);
    }

    #[test]
    fn text_spells_numbers() {
        assert_eq!(spelled(b"-12"), Some(-12));
        assert_eq!(spelled(b"003"), Some(3));
        assert_eq!(spelled(b"0xffffffffffffffff"), Some(-1));
        assert_eq!(spelled(b"18446744073709551615"), Some(-1));
        assert_eq!(spelled(b" 7 [ns]"), Some(7));
        assert_eq!(spelled(b"R+"), None);
        assert_eq!(spelled(b""), None);
    }
}
