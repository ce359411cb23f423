//! From a guest's time to its host's.
//!
//! Model.       While both were traced, samples were taken of how far the guest's clock was from
//!              the host's: `host = guest × scaling / 2^fraction + offset`, the offset of the
//!              sample before the event, or interpolated between the two around it.
//! Source.      trace-cmd.dat.v7(5), TIME_SHIFT, and what trace-cmd 3.1 does with it.

use super::cursor::Cursor;

/// The offset is interpolated between samples.
const INTERPOLATE: u32 = 1 << 0;

/// A comparison of both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSample {
    /// When, by the guest's clock.
    pub time: u64,
    /// What is added to the guest's time.
    pub offset: i64,
    /// What it is multiplied with before,
    pub scaling: u64,
    /// over two to this power.
    pub fraction: u64,
}

/// From a guest's time to its host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeShift {
    /// The session number of the other side's trace.
    pub peer_trace_id: u64,
    /// The protocol's flags.
    pub flags: u32,
    /// `[vcpu]`: its samples by time, no two of one time.
    pub samples: Vec<Vec<TimeSample>>,
}

impl TimeShift {
    /// Reads the option.
    pub(crate) fn parse(mut option: Cursor<'_>) -> Option<Self> {
        let peer_trace_id = option.u64()?;
        let flags = option.u32()?;
        let mut samples = Vec::new();
        for _ in 0..option.u32()? {
            let count = option.u32()?;
            // Each sample has three numbers, so a count that the option cannot hold is found before
            // any memory is asked for.
            let times = option.take(u64::from(count) * 8)?;
            let offsets = option.take(u64::from(count) * 8)?;
            let scalings = option.take(u64::from(count) * 8)?;
            let order = option.order();
            let number = |numbers: &[u8], at| order.unsigned(numbers, at * 8, 8).unwrap_or(0);
            let sample = |at| TimeSample {
                time: number(times, at),
                offset: number(offsets, at).cast_signed(),
                scaling: number(scalings, at),
                fraction: 0,
            };
            samples.push((0..count as usize).map(sample).collect::<Vec<_>>());
        }
        // Versions before the fractions existed end here.
        if !option.rest().is_empty() {
            for sample in samples.iter_mut().flatten() {
                sample.fraction = option.u64()?;
            }
        }
        for samples in &mut samples {
            samples.sort_by_key(|sample| sample.time);
            samples.dedup_by_key(|sample| sample.time);
        }
        Some(Self {
            peer_trace_id,
            flags,
            samples,
        })
    }

    /// The host's time of a time on a guest's CPU.
    #[must_use]
    pub fn host_time(&self, vcpu: u32, ts: u64) -> u64 {
        let samples = match self.samples.get(vcpu as usize) {
            None => return ts,
            Some(samples) => samples.as_slice(),
        };
        let (first, second) = match samples {
            [] => return ts,
            [only] => return ts.wrapping_add_signed(only.offset),
            samples => {
                // The last sample not after the event, but never the last of all: an event outside
                // is judged by the two samples next to it.
                let after = samples.partition_point(|sample| sample.time <= ts);
                let at = after.saturating_sub(1).min(samples.len() - 2);
                (samples[at], samples[at + 1])
            }
        };
        let offset = if self.flags & INTERPOLATE != 0 {
            // i128: a product of two differences of 64 bits each.
            let span = i128::from(second.time) - i128::from(first.time);
            let since = i128::from(ts) - i128::from(first.time);
            let change = i128::from(second.offset) - i128::from(first.offset);
            let rounded = since.saturating_mul(change).saturating_add(span / 2) / span;
            (i128::from(first.offset) + rounded) as i64
        } else {
            first.offset
        };
        let scaled = u128::from(ts) * u128::from(first.scaling.max(1));
        let fraction = u32::try_from(first.fraction).unwrap_or(u32::MAX);
        let scaled = scaled.checked_shr(fraction).unwrap_or(0) as u64;
        scaled.wrapping_add_signed(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::cursor::ByteOrder;

    fn option(numbers: &[u64], with_fractions: bool) -> Vec<u8> {
        // Peer 9, interpolating, one CPU with three samples.
        let mut bytes = 9_u64.to_le_bytes().to_vec();
        for word in [1_u32, 1, 3] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        if with_fractions {
            bytes.extend_from_slice(&[0; 24]);
        }
        bytes
    }

    #[test]
    fn offsets_are_interpolated() {
        // Times out of order: 100, 300, 200 with offsets 10, 50, 30.
        let numbers = [100, 300, 200, 10, 50, 30, 1, 1, 1];
        for with_fractions in [false, true] {
            let bytes = option(&numbers, with_fractions);
            let shift = TimeShift::parse(Cursor::new(&bytes, ByteOrder::Little)).unwrap();
            assert_eq!(shift.peer_trace_id, 9);
            // Half way from 10 to 30; a quarter from 30 to 50; beyond the end the line goes on.
            assert_eq!(shift.host_time(0, 150), 150 + 20);
            assert_eq!(shift.host_time(0, 225), 225 + 35);
            assert_eq!(shift.host_time(0, 400), 400 + 70);
            // No samples for that CPU.
            assert_eq!(shift.host_time(1, 400), 400);
        }
    }

    #[test]
    fn a_count_beyond_the_option_is_refused() {
        let mut bytes = option(&[100, 300, 200], false);
        assert_eq!(
            TimeShift::parse(Cursor::new(&bytes, ByteOrder::Little)),
            None
        );
        bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(
            TimeShift::parse(Cursor::new(&bytes, ByteOrder::Little)),
            None
        );
    }
}
