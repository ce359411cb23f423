//! Reads lines.
//!
//! Model.       Of `task-pid [cpu] flags time: event: fields`, and of shapes around it: with the
//!              process after the task, without flags as trace-cmd prints, and the latency format
//!              with CPU and flags in one word. Systrace's pages have the same text inside HTML.
//! Source.      kernel/trace/trace_output.c @ v6.12: `trace_print_lat_fmt`, `trace_print_context`;
//!              what trace-cmd 3.1 prints.

use crate::event_text::{Columns, TextTrace, stamp, to_text};
use crate::read::error::ReadError;
use crate::read::stats::{Oddity, Place};
use crate::read::trace_file::{TraceFile, TraceKind};

/// The first line of the kernel's own output.
const TRACER: &[u8] = b"# tracer:";

/// How much of a file is looked at to tell what it is.
const LOOK: usize = 64 << 10;

/// Whether a file has lines that can be read here.
pub(crate) fn is_ftrace_text(bytes: &[u8]) -> bool {
    if is_html(bytes) {
        return find(bytes, TRACER).is_some();
    }
    let look = &bytes[..bytes.len().min(LOOK)];
    if look.contains(&0) {
        return false;
    }
    let is_event = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        line.starts_with("# tracer:") || event(&line).is_some()
    };
    look.split(|&byte| byte == b'\n').any(is_event)
}

fn is_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let tag = start[..start.len().min(9)].to_ascii_lowercase();
    tag.starts_with(b"<!doctype") || tag.starts_with(b"<html")
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

/// Reads a text.
///
/// # Errors
/// When no line is an event.
pub(crate) fn read(bytes: Vec<u8>) -> Result<TraceFile, ReadError> {
    let mut trace = TextTrace::new();
    let html = is_html(&bytes);
    // In a page, the text begins at its first comment and ends with its script.
    let mut inside = !html;
    let text = to_text(bytes);
    let mut numbered = (1..).zip(text.split('\n')).peekable();
    while let Some((number, line)) = numbered.next() {
        let line = line.trim_end_matches('\r');
        if html && line.contains("# tracer:") {
            inside = true;
        } else if html && line.contains("</script>") {
            inside = false;
        }
        if !inside || line.trim().is_empty() {
            continue;
        }
        let cut = numbered.peek().is_none();
        take_line(&mut trace, line, number, cut);
    }
    trace.finish(
        TraceKind::FtraceText,
        "expected lines such as `sh-1 [000] d..2. 1.000000: sched_waking: comm=…`: save \
         /sys/kernel/tracing/trace while it has events, or run trace-cmd report",
    )
}

fn take_line(trace: &mut TextTrace, line: &str, number: u64, cut: bool) {
    if let Some((columns, is_time, name, text)) = event(line) {
        if !is_time {
            trace.stats.one(Oddity::ClockNotNanos, Place::Line(number));
        }
        if cut {
            // The line may have lost its end, and a number in it digits.
            trace.stats.one(Oddity::LastLineCut, Place::Line(number));
        }
        trace.push(&columns, "", name, text, number);
    } else if let Some(comment) = line.trim_start().strip_prefix('#') {
        take_comment(trace, comment);
    } else if let Some(cpus) = line.strip_prefix("cpus=") {
        take_cpu_count(trace, cpus);
    } else if let Some((cpu, lost)) = lost_events(line) {
        match lost {
            Some(lost) => trace.stats.lost(cpu, lost),
            None => trace.stats.one(Oddity::LostUnknown, Place::Cpu(cpu)),
        }
    } else if !(line.starts_with("CPU ") && line.ends_with(" is empty")) {
        trace.stats.one(Oddity::OddLine, Place::Line(number));
    }
}

/// Reads what the comments at the start count.
fn take_comment(trace: &mut TextTrace, comment: &str) {
    if let Some((_, cpus)) = comment.split_once("#P:") {
        take_cpu_count(trace, cpus);
    }
    if let Some((_, counts)) = comment.split_once("entries-in-buffer/entries-written:") {
        let counts = counts.split_whitespace().next().unwrap_or_default();
        if let Some((kept, written)) = counts.split_once('/') {
            let number = |text: &str| text.parse::<u64>().unwrap_or(0);
            let lost = number(written).saturating_sub(number(kept));
            trace.stats.add(Oddity::Overrun, lost, Place::File);
        }
    }
}

fn take_cpu_count(trace: &mut TextTrace, cpus: &str) {
    let digits = cpus
        .trim_start()
        .split(|letter: char| !letter.is_ascii_digit());
    let cpus = digits.take(1).find_map(|digits| digits.parse::<u32>().ok());
    if let Some(cpus) = cpus.filter(|cpus| *cpus <= 1 << 16) {
        trace.info.nr_cpus = trace.info.nr_cpus.max(cpus);
    }
}

/// `CPU:1 [LOST 23 EVENTS]` or `CPU:1 [EVENTS DROPPED]`.
fn lost_events(line: &str) -> Option<(u32, Option<u64>)> {
    let (cpu, what) = line.trim().strip_prefix("CPU:")?.split_once(" [")?;
    let cpu = cpu.parse::<u32>().ok().filter(|cpu| *cpu < 1 << 16)?;
    if what == "EVENTS DROPPED]" {
        return Some((cpu, None));
    }
    let lost = what.strip_prefix("LOST ")?.strip_suffix(" EVENTS]")?;
    Some((cpu, lost.parse().ok()))
}

/// Reads a line's columns, whether its time is one, and its event's name and text.
fn event(line: &str) -> Option<(Columns<'_>, bool, &str, &str)> {
    let stamp = stamp(line)?;
    let (head, last) = stamp.before.rsplit_once(' ')?;
    let (task, cpu, flags) = if let Some(cpu) = bracketed(last) {
        (head, cpu, "")
    } else if let Some((task, cpu)) = head.trim_end().rsplit_once(' ')
        && let Some(cpu) = bracketed(cpu)
    {
        (task, cpu, last)
    } else {
        let digits = last.bytes().take_while(u8::is_ascii_digit).count();
        let (cpu, flags) = last.split_at(digits);
        if flags.len() < 4 {
            return None;
        }
        (head, cpu, flags)
    };
    let (comm, pid, tgid) = task_columns(task)?;
    // perf's `system:event:` has no blank after its first colon.
    let (name, text) = stamp.after.split_once(':')?;
    let ends = text.is_empty() || text.starts_with(' ');
    if name.is_empty() || !ends || name.contains(' ') {
        return None;
    }
    let (flags, preempt_count) = flag_bits(flags);
    let columns = Columns {
        comm,
        pid,
        tgid,
        cpu: cpu.parse().ok()?,
        ts: stamp.ts,
        flags,
        preempt_count,
    };
    Some((columns, stamp.is_time, name, text.trim_ascii_start()))
}

/// The digits of `[000]`.
fn bracketed(word: &str) -> Option<&str> {
    let digits = word.strip_prefix('[')?.strip_suffix(']')?;
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(digits)
}

/// Reads `comm-pid` or `comm-pid (tgid)`.
fn task_columns(text: &str) -> Option<(&str, i32, Option<i32>)> {
    let mut text = text.trim_ascii();
    let mut tgid = None;
    if let Some((task, inside)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    {
        text = task.trim_end();
        // Dashes where the kernel did not know.
        tgid = inside.trim().parse().ok();
    }
    let (comm, pid) = text.rsplit_once('-')?;
    Some((comm, pid.parse().ok()?, tgid))
}

/// The bits that the letters stand for: interrupts off, reschedule, context, preemption depth and
/// disabled migration.
fn flag_bits(letters: &str) -> (u8, u8) {
    let mut letters = letters.chars();
    let mut next = || letters.next().unwrap_or('.');
    let irqs = match next() {
        'd' => 0x01,
        'b' => 0x80,
        'D' => 0x81,
        _ => 0,
    };
    let resched = match next() {
        'N' => 0x24,
        'n' => 0x04,
        'p' => 0x20,
        'B' => 0x26,
        'b' => 0x06,
        'L' => 0x22,
        'l' => 0x02,
        _ => 0,
    };
    let context = match next() {
        'Z' => 0x48,
        'z' => 0x40,
        'H' => 0x18,
        'h' => 0x08,
        's' => 0x10,
        _ => 0,
    };
    let mut depth = || next().to_digit(16).unwrap_or(0) as u8;
    let (preempt, migrate) = (depth(), depth());
    (irqs | resched | context, migrate << 4 | preempt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_shapes() {
        let lines = [
            "     rt thread-101     [003] dNh4.     0.200002: sched_waking: comm=a",
            "     rt thread-101     (    99) [003] dNh4.     0.200002: sched_waking: comm=a",
            "     rt thread-101   [003]     0.200002000: sched_waking:         comm=a",
            "     rt thread-101     3dNh4.     0.200002000: sched_waking:         comm=a",
            "rt thread-101       3dNh4. 200002us : sched_waking: comm=a",
        ];
        for (at, line) in lines.into_iter().enumerate() {
            let (columns, is_time, name, text) = event(line).unwrap();
            assert_eq!(
                (columns.comm, columns.pid, columns.cpu),
                ("rt thread", 101, 3),
                "{line}"
            );
            assert_eq!((columns.ts, is_time), (200_002_000, true), "{line}");
            assert_eq!((name, text), ("sched_waking", "comm=a"), "{line}");
            assert_eq!(columns.tgid, (at == 1).then_some(99));
            if at != 2 {
                assert_eq!((columns.flags, columns.preempt_count), (0x2d, 4), "{line}");
            }
        }
        // A 6.12 kernel's: softirqs off, migration disabled twice.
        assert_eq!(flag_bits("b...2"), (0x80, 0x20));
    }

    #[test]
    fn what_is_lost_is_counted() {
        let text = "# tracer: nop\n# entries-in-buffer/entries-written: 1/41   #P:6\n\
                    CPU:2 [LOST 7 EVENTS]\nCPU:1 [EVENTS DROPPED]\nnonsense\n\
                    sh-1 [000] 1.000000: a: b=1\nsh-1 [000] 0.500000: a: c=2";
        let trace = read(text.as_bytes().to_vec()).unwrap();
        let stats = trace.check();
        assert_eq!(trace.info().nr_cpus, 6);
        assert_eq!((stats.count(Oddity::Overrun), stats.lost_on(2)), (40, 7));
        assert_eq!(stats.count(Oddity::LostUnknown), 1);
        assert_eq!(stats.first(Oddity::OddLine), Some(Place::Line(5)));
        assert_eq!(stats.first(Oddity::TimeWentBack), Some(Place::Line(7)));
        assert_eq!(stats.count(Oddity::LastLineCut), 1);
        let times: Vec<_> = trace.events().map(|event| event.ts).collect();
        assert_eq!(times, [500_000_000, 1_000_000_000]);
        // A name that only the second line has.
        let format = trace.formats().get(trace.formats().find_name("a").unwrap());
        let (b, c) = (format.field("b").unwrap(), format.field("c").unwrap());
        let values: Vec<_> = trace
            .events()
            .map(|event| (event.int(b), event.int(c)))
            .collect();
        assert_eq!(values, [(0, 2), (1, 0)]);
    }

    #[test]
    fn a_page_of_systrace_is_read() {
        let page = "<!DOCTYPE html>\n<script>var a = 1;</script>\n\
                    <script class=\"trace-data\">\n# tracer: nop\n#\n\
                    sh-1 [000] ...1 1.000000: cpu_idle: state=1 cpu_id=0\n</script>\nmore\n";
        assert!(is_ftrace_text(page.as_bytes()));
        let trace = read(page.as_bytes().to_vec()).unwrap();
        assert_eq!(trace.events().count(), 1);
        assert!(trace.check().is_clean(), "{}", trace.check().table());
    }

    #[test]
    fn no_events_is_an_error() {
        let error = read(b"# tracer: nop\n#\nnot an event\n".to_vec()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("line 3 is the first that is none"),
            "{error}"
        );
    }
}
