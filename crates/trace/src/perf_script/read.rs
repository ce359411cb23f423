//! Reads lines.

use crate::event_text::{Columns, TextTrace, stamp, to_text};
use crate::read::error::ReadError;
use crate::read::stats::{Oddity, Place};
use crate::read::trace_file::{TraceFile, TraceKind};

/// How much of a file is looked at to tell what it is.
const LOOK: usize = 64 << 10;

/// A line as far as its event's fields.
struct Line<'a> {
    columns: Columns<'a>,
    system: &'a str,
    name: &'a str,
    text: &'a str,
}

/// Whether a file has lines that can be read here.
pub(crate) fn is_perf_script(bytes: &[u8]) -> bool {
    let look = &bytes[..bytes.len().min(LOOK)];
    let is_event = |text: &[u8]| line(&String::from_utf8_lossy(text)).is_some();
    !look.contains(&0) && look.split(|&byte| byte == b'\n').any(is_event)
}

/// Reads a text.
///
/// # Errors
/// When no line is an event.
pub(crate) fn read(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
    let mut trace = TextTrace::new();
    trace.info.clock = Some("perf".to_owned());
    let whole = to_text(bytes);
    let mut numbered = (1..).zip(whole.split('\n')).peekable();
    while let Some((number, text)) = numbered.next() {
        let text = text.trim_end_matches('\r');
        let place = Place::Line(number);
        if let Some(line) = line(text) {
            if numbered.peek().is_none() {
                // The line may have lost its end, and a number in it digits.
                trace.stats.one(Oddity::LastLineCut, place);
            }
            trace.push(&line.columns, line.system, line.name, line.text, number);
        } else if !text.trim().is_empty() && !text.starts_with('#') {
            trace.stats.one(Oddity::OddLine, place);
        }
    }
    trace.finish(
        TraceKind::PerfScript,
        "expected lines such as `sh 1 [000] 1.000000: sched:sched_waking: comm=…`: run perf script \
         with the fields comm,tid,cpu,time,event,trace",
    )
}

fn line(text: &str) -> Option<Line<'_>> {
    let stamp = stamp(text).filter(|stamp| stamp.is_time)?;
    let (task, cpu) = stamp.before.rsplit_once(' ')?;
    let cpu = cpu.strip_prefix('[')?.strip_suffix(']')?;
    let (comm, ids) = task.trim_end().rsplit_once(' ')?;
    let (tgid, pid) = match ids.split_once('/') {
        Some((tgid, pid)) => (tgid.parse().ok(), pid),
        None => (None, ids),
    };
    let mut event = stamp.after;
    let word = event.split(' ').next()?;
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        // The period.
        event = event[word.len()..].trim_start();
    }
    let (word, text) = event.split_once(' ').unwrap_or((event, ""));
    let (system, name) = word.strip_suffix(':')?.split_once(':')?;
    if name.is_empty() {
        return None;
    }
    let pid: i32 = pid.parse().ok()?;
    let columns = Columns {
        comm: comm.trim(),
        pid,
        // The idle tasks are in no process.
        tgid: tgid.filter(|_| pid > 0),
        cpu: cpu.parse().ok()?,
        ts: stamp.ts,
        ..Columns::default()
    };
    Some(Line {
        columns,
        system,
        name,
        text: text.trim(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_shapes() {
        let lines = [
            " rt thread   102 [003]  1023.207141:   sched:sched_waking: comm=a pid=1",
            " rt thread   101/102   [003]  1023.207141000:  sched:sched_waking: comm=a pid=1",
            " rt thread   102 [003]  1023.207141:    1 sched:sched_waking: comm=a pid=1",
        ];
        for (at, text) in lines.into_iter().enumerate() {
            let line = line(text).unwrap();
            let columns = line.columns;
            assert_eq!(
                (columns.comm, columns.pid, columns.cpu),
                ("rt thread", 102, 3),
                "{text}"
            );
            assert_eq!(columns.ts, 1_023_207_141_000, "{text}");
            assert_eq!(
                (line.system, line.name),
                ("sched", "sched_waking"),
                "{text}"
            );
            assert_eq!(
                (line.text, columns.tgid),
                ("comm=a pid=1", (at == 1).then_some(101))
            );
        }
        assert!(line("swapper 0 [000] 1.000000: cycles: 1234 x").is_none());
    }
}
