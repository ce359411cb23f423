//! What an event's samples hold, and where in a sample it stands.
//!
//! Source. include/uapi/linux/perf_event.h @ v6.12: `struct perf_event_attr`, and the layout under
//!         PERF_RECORD_SAMPLE.

use crate::read::cursor::{ByteOrder, Cursor};

/// `PERF_TYPE_TRACEPOINT`.
const TYPE_TRACEPOINT: u32 = 2;

/// The bits of `sample_type`.
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

/// The bits of `read_format`.
const TOTAL_TIME_ENABLED: u64 = 1 << 0;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// The numbers of the flags, counted from the lowest bit of a little-endian machine.
const FLAG_FREQ: u32 = 10;
const FLAG_SAMPLE_ID_ALL: u32 = 18;
const FLAG_USE_CLOCKID: u32 = 25;

/// The attributes of an event, as far as they say what samples hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attr {
    pub(super) is_tracepoint: bool,
    sample_type: u64,
    read_format: u64,
    sample_id_all: bool,
    /// Not every event is recorded.
    pub(super) is_sampled: bool,
    /// The clock chosen, if one was.
    pub(super) clockid: Option<i32>,
    /// Its size, which depends on the version of perf.
    pub(super) size: usize,
}

/// What of a sample is of use here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) time: Option<u64>,
    pub(super) cpu: Option<u32>,
    pub(super) pid_tid: Option<(i32, i32)>,
    pub(super) raw: Option<&'a [u8]>,
    /// Where in the sample the raw record begins.
    pub(super) raw_at: usize,
}

impl Attr {
    pub(super) fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, order);
        let kind = cursor.u32()?;
        let size = cursor.u32()?;
        let _config = cursor.u64()?;
        let period = cursor.u64()?;
        let sample_type = cursor.u64()?;
        let read_format = cursor.u64()?;
        let flags = cursor.u64()?;
        let flag = |bit: u32| {
            let bit = match order {
                ByteOrder::Little => bit,
                // Bit fields begin at the highest bit there.
                ByteOrder::Big => 63 - bit,
            };
            flags >> bit & 1 == 1
        };
        // The first version of the attributes, of 64 bytes, had no clock.
        let clockid = order.unsigned(bytes, 92, 4).map(|clockid| clockid as i32);
        Some(Self {
            is_tracepoint: kind == TYPE_TRACEPOINT,
            sample_type,
            read_format,
            sample_id_all: flag(FLAG_SAMPLE_ID_ALL),
            is_sampled: kind == TYPE_TRACEPOINT && (flag(FLAG_FREQ) || period > 1),
            clockid: clockid.filter(|_| flag(FLAG_USE_CLOCKID)),
            size: size as usize,
        })
    }

    const fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Whether samples of both events are laid out alike.
    pub(super) fn same_layout(&self, other: &Self) -> bool {
        self.sample_type == other.sample_type && self.read_format == other.read_format
    }

    /// Where in a sample the number stands that tells whose it is.
    pub(super) fn id_at(&self) -> Option<usize> {
        if self.has(IDENTIFIER) {
            return Some(0);
        }
        let before = [IP, TID, TIME, ADDR];
        let before = before.iter().filter(|bit| self.has(**bit)).count();
        self.has(ID).then_some(before * 8)
    }

    /// Reads a sample: what follows the header of its record. `None` if it is too short.
    pub(super) fn sample<'a>(&self, body: &'a [u8], order: ByteOrder) -> Option<Sample<'a>> {
        let mut cursor = Cursor::new(body, order);
        let mut sample = Sample::default();
        for bit in [IDENTIFIER, IP] {
            if self.has(bit) {
                cursor.u64()?;
            }
        }
        if self.has(TID) {
            let (pid, tid) = (cursor.u32()?, cursor.u32()?);
            sample.pid_tid = Some((pid.cast_signed(), tid.cast_signed()));
        }
        if self.has(TIME) {
            sample.time = Some(cursor.u64()?);
        }
        for bit in [ADDR, ID, STREAM_ID] {
            if self.has(bit) {
                cursor.u64()?;
            }
        }
        if self.has(CPU) {
            sample.cpu = Some(cursor.u32()?);
            cursor.u32()?;
        }
        if self.has(PERIOD) {
            cursor.u64()?;
        }
        if self.has(READ) {
            self.skip_read(&mut cursor)?;
        }
        if self.has(CALLCHAIN) {
            let nr = cursor.u64()?;
            cursor.take(nr.checked_mul(8)?)?;
        }
        if self.has(RAW) {
            sample.raw_at = cursor.position() + 4;
            sample.raw = Some(cursor.sized_u32()?);
        }
        Some(sample)
    }

    fn skip_read(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        let has = |bit| u64::from(self.read_format & bit != 0);
        let times = has(TOTAL_TIME_ENABLED) + has(TOTAL_TIME_RUNNING);
        let each = 1 + has(READ_ID) + has(READ_LOST);
        let words = if self.read_format & GROUP != 0 {
            let nr = cursor.u64()?;
            nr.checked_mul(each)?.checked_add(times)?
        } else {
            each + times
        };
        cursor.take(words.checked_mul(8)?)?;
        Some(())
    }

    /// The CPU that the trailer of a record other than a sample tells.
    pub(super) fn trailer_cpu(&self, body: &[u8], order: ByteOrder) -> Option<u32> {
        if !self.sample_id_all || !self.has(CPU) {
            return None;
        }
        let behind = if self.has(IDENTIFIER) { 16 } else { 8 };
        let at = body.len().checked_sub(behind)?;
        order.unsigned(body, at, 4).map(|cpu| cpu as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(sample_type: u64, read_format: u64) -> Attr {
        let mut bytes = vec![0; 64];
        bytes[0] = 2;
        bytes[4] = 64;
        bytes[24..32].copy_from_slice(&sample_type.to_le_bytes());
        bytes[32..40].copy_from_slice(&read_format.to_le_bytes());
        bytes[40..48].copy_from_slice(&(1_u64 << FLAG_SAMPLE_ID_ALL).to_le_bytes());
        Attr::parse(&bytes, ByteOrder::Little).unwrap()
    }

    #[test]
    fn a_sample_with_everything_before_its_record() {
        let all = IDENTIFIER | IP | TID | TIME | ADDR | ID | STREAM_ID | CPU | PERIOD | READ;
        let attr = attr(all | CALLCHAIN | RAW, GROUP | READ_ID | TOTAL_TIME_ENABLED);
        let mut body = Vec::new();
        let words = [
            9,               // identifier
            0xffff,          // ip
            (12 << 32) | 11, // pid 11, tid 12
            1_000,           // time
            1,
            9,
            1, // addr, id, stream id
            3, // cpu
            1, // period
            2,
            7,
            1,
            9,
            2,
            10, // a group of two, time enabled, two values with ids
            2,
            0xa,
            0xb, // a call chain of two
        ];
        for word in words {
            body.extend_from_slice(&u64::to_le_bytes(word));
        }
        body.extend_from_slice(&[5, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0]);
        let sample = attr.sample(&body, ByteOrder::Little).unwrap();
        assert_eq!(
            (sample.time, sample.cpu, sample.pid_tid),
            (Some(1_000), Some(3), Some((11, 12)))
        );
        assert_eq!(sample.raw, Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(&body[sample.raw_at..][..5], [1, 2, 3, 4, 5]);
        assert_eq!(attr.id_at(), Some(0));
        for len in 0..body.len() - 3 {
            assert_eq!(attr.sample(&body[..len], ByteOrder::Little), None, "{len}");
        }
    }

    #[test]
    fn the_trailer_tells_the_cpu() {
        // Trailer: tid, time, cpu 6, identifier.
        let attr = attr(IDENTIFIER | TID | TIME | CPU, 0);
        let mut body = Vec::new();
        for word in [1_u64, 40, 0, 0, 6, 9] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        assert_eq!(attr.trailer_cpu(&body, ByteOrder::Little), Some(6));
        assert_eq!(attr.id_at(), Some(0));
    }

    #[test]
    fn the_id_stands_behind_what_is_there() {
        assert_eq!(attr(TID | TIME | ID, 0).id_at(), Some(16));
        assert_eq!(attr(TID, 0).id_at(), None);
    }
}
