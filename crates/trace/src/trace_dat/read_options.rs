//! The options, of either version.
//!
//! Source. trace-cmd.dat.v7(5).

use super::read_clock::{TimeBase, chosen_clock, is_in_nanos};
use crate::read::cursor::{Cursor, text};
use crate::read::raw_event::spelled;
use crate::read::stats::{Oddity, Place, ReadStats};
use crate::read::time_shift::TimeShift;
use crate::read::trace_file::{CpuStat, Guest, TraceInfo};

pub(super) const DONE: u16 = 0;
const DATE: u16 = 1;
const CPUSTAT: u16 = 2;
pub(super) const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const HOOK: u16 = 6;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const PROCMAPS: u16 = 10;
const TRACEID: u16 = 11;
const TIME_SHIFT: u16 = 12;
const GUEST: u16 = 13;
const TSC2NSEC: u16 = 14;
const STRINGS: u16 = 15;
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_EVENTS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
const KALLSYMS: u16 = 19;
const PRINTK: u16 = 20;
pub(super) const CMDLINES: u16 = 21;
pub(super) const BUFFER_TEXT: u16 = 22;

/// No machine has more CPUs.
pub(super) const MAX_CPUS: u32 = 1 << 16;

/// What the options say.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) time: TimeBase,
    pub(super) cpu_count: Option<u32>,
    /// The data of each BUFFER option.
    pub(super) buffers: Vec<Vec<u8>>,
    /// The data of each BUFFER_TEXT option.
    pub(super) texts: Vec<Vec<u8>>,
    /// Where the sections of each kind are.
    pub(super) sections: Vec<(u16, u64)>,
    /// Version 6 may have the list of clocks after the offsets instead.
    pub(super) has_clock_option: bool,
}

impl Options {
    /// Takes one option.
    pub(super) fn take(
        &mut self,
        id: u16,
        mut data: Cursor<'_>,
        info: &mut TraceInfo,
        stats: &mut ReadStats,
    ) {
        let bytes = data.rest();
        let read = match id {
            // Microseconds.
            DATE => spelled(text(bytes).as_bytes()).map(|date| {
                let offset = date.wrapping_mul(1000);
                self.time.offset = self.time.offset.wrapping_add(offset);
            }),
            OFFSET => spelled(text(bytes).as_bytes()).map(|offset| {
                self.time.offset = self.time.offset.wrapping_add(offset);
            }),
            CPUSTAT => cpu_stat(&text(bytes)).map(|stat| {
                let place = Place::Cpu(stat.cpu);
                stats.add(Oddity::Overrun, stat.overrun, place);
                let dropped = stat.dropped_events.saturating_add(stat.commit_overrun);
                stats.add(Oddity::Dropped, dropped, place);
                info.cpu_stats.push(stat);
            }),
            BUFFER => {
                self.buffers.push(bytes.to_vec());
                Some(())
            }
            BUFFER_TEXT => {
                self.texts.push(bytes.to_vec());
                Some(())
            }
            TRACECLOCK => {
                self.has_clock_option = true;
                let list = text(bytes);
                info.clock = chosen_clock(&list).map(str::to_owned).or(info.clock.take());
                Some(())
            }
            UNAME => {
                info.uname = Some(text(bytes));
                Some(())
            }
            VERSION => {
                info.recorder = Some(text(bytes));
                Some(())
            }
            CPUCOUNT => data.u32().map(|count| self.cpu_count = Some(count)),
            TRACEID => data.u64().map(|id| info.trace_id = Some(id)),
            TIME_SHIFT => TimeShift::parse(data).map(|shift| {
                info.time_shift = Some(shift.clone());
                self.time.shift = Some(shift);
            }),
            GUEST => guest(data).map(|guest| info.guests.push(guest)),
            TSC2NSEC => cycles(&mut data).map(|cycles| self.time.cycles = Some(cycles)),
            HEADER_INFO | FTRACE_EVENTS | EVENT_FORMATS | CMDLINES => {
                data.u64().map(|at| self.sections.push((id, at)))
            }
            // Nothing here speaks of addresses.
            HOOK | PROCMAPS | STRINGS | KALLSYMS | PRINTK => Some(()),
            _ => {
                stats.one(Oddity::Skipped, Place::File);
                Some(())
            }
        };
        if read.is_none() {
            stats.one(Oddity::Undecodable, Place::File);
        }
    }

    /// Says if times will not be nanoseconds.
    pub(super) fn check_clock(&self, info: &TraceInfo, stats: &mut ReadStats) {
        let in_nanos = info.clock.as_deref().is_none_or(is_in_nanos);
        if !in_nanos && self.time.cycles.is_none() {
            stats.one(Oddity::ClockNotNanos, Place::File);
        }
    }
}

fn cycles(data: &mut Cursor<'_>) -> Option<(u32, u32)> {
    Some((data.u32()?, data.u32()?)).filter(|(mult, _)| *mult != 0)
}

fn guest(mut data: Cursor<'_>) -> Option<Guest> {
    let name = text(data.zero_terminated()?);
    let trace_id = data.u64()?;
    let mut vcpus = Vec::new();
    for _ in 0..data.u32()? {
        vcpus.push((data.u32()?, data.u32()?.cast_signed()));
    }
    Some(Guest {
        name,
        trace_id,
        vcpus,
    })
}

/// Reads `CPU: n` and the lines of `per_cpu/cpuN/stats`.
fn cpu_stat(lines: &str) -> Option<CpuStat> {
    let value = |name: &str| {
        let of_name = |line: &str| {
            let (found, value) = line.split_once(':')?;
            (found.trim() == name).then(|| value.trim().parse::<u64>().ok())?
        };
        lines.lines().find_map(of_name)
    };
    let cpu = value("CPU").and_then(|cpu| u32::try_from(cpu).ok());
    Some(CpuStat {
        cpu: cpu.filter(|cpu| *cpu < MAX_CPUS)?,
        entries: value("entries").unwrap_or(0),
        overrun: value("overrun").unwrap_or(0),
        commit_overrun: value("commit overrun").unwrap_or(0),
        dropped_events: value("dropped events").unwrap_or(0),
        read_events: value("read events").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::cursor::ByteOrder;

    #[test]
    fn options_are_read() {
        let mut info = TraceInfo::default();
        let mut stats = ReadStats::default();
        let mut options = Options::default();
        let mut guest = b"vm\0".to_vec();
        guest.extend_from_slice(&7_u64.to_le_bytes());
        for word in [2_u32, 0, 100, 1, 101] {
            guest.extend_from_slice(&word.to_le_bytes());
        }
        let stat = b"CPU: 3\nentries: 5\noverrun: 40\ncommit overrun: 1\ndropped events: 2\n\
            read events: 60\n\0";
        let given: [(u16, &[u8]); 6] = [
            (OFFSET, b"-5\0"),
            (DATE, b"0x10\0"),
            (TRACECLOCK, b"local [x86-tsc] \n\0"),
            (CPUSTAT, stat),
            (GUEST, &guest),
            (99, b""),
        ];
        for (id, data) in given {
            let data = Cursor::new(data, ByteOrder::Little);
            options.take(id, data, &mut info, &mut stats);
        }
        assert_eq!(options.time.offset, 16_000 - 5);
        assert_eq!(info.guests[0].vcpus, [(0, 100), (1, 101)]);
        assert_eq!(
            (info.cpu_stats[0].cpu, info.cpu_stats[0].read_events),
            (3, 60)
        );
        assert_eq!(
            (stats.count(Oddity::Overrun), stats.count(Oddity::Dropped)),
            (40, 3)
        );
        assert_eq!(stats.count(Oddity::Skipped), 1);
        options.check_clock(&info, &mut stats);
        assert_eq!(stats.count(Oddity::ClockNotNanos), 1);
        let cut = Cursor::new(&guest[..20], ByteOrder::Little);
        options.take(GUEST, cut, &mut info, &mut stats);
        assert_eq!(stats.count(Oddity::Undecodable), 1);
    }
}
