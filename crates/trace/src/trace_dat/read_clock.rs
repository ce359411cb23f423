//! From the ring buffer's time stamps to nanoseconds.
//!
//! Source. trace-cmd.dat.v7(5): OFFSET, DATE, TSC2NSEC, TIME_SHIFT, in the order in which trace-cmd
//!         3.1 applies them.

use crate::read::time_shift::TimeShift;

/// What turns a time stamp into nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeBase {
    /// A guest's clock to its host's.
    pub(super) shift: Option<TimeShift>,
    /// Cycles to nanoseconds: times the first, over two to the power of the second.
    pub(super) cycles: Option<(u32, u32)>,
    /// Added at the end.
    pub(super) offset: i64,
}

impl TimeBase {
    pub(super) fn nanos(&self, raw: u64, cpu: u32) -> u64 {
        let mut ts = match &self.shift {
            None => raw,
            Some(shift) => shift.host_time(cpu, raw),
        };
        if let Some((mult, shift)) = self.cycles {
            let product = u128::from(ts) * u128::from(mult);
            ts = product.checked_shr(shift).unwrap_or(0) as u64;
        }
        ts.wrapping_add_signed(self.offset)
    }
}

/// The name of the chosen clock in what `trace_clock` lists: `local [global] counter …`.
pub(super) fn chosen_clock(list: &str) -> Option<&str> {
    let (_, rest) = list.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    Some(chosen.trim())
}

/// Whether a clock of the kernel counts nanoseconds.
pub(super) fn is_in_nanos(clock: &str) -> bool {
    !matches!(clock, "counter" | "uptime" | "x86-tsc" | "ppc-tb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_become_nanoseconds() {
        // 3 GHz: a cycle is 1/3 ns, 1431655765 / 2^32.
        let time = TimeBase {
            cycles: Some((1_431_655_766, 32)),
            offset: -1_000,
            ..TimeBase::default()
        };
        assert_eq!(time.nanos(9_000_000_000, 0), 3_000_000_000 - 1_000 + 1);
        assert_eq!(chosen_clock("local global [mono] boot\n"), Some("mono"));
        assert_eq!(chosen_clock("mono"), None);
        assert!(is_in_nanos("local") && !is_in_nanos("x86-tsc"));
    }
}
