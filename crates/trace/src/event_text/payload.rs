//! The fields of an event, out of the text after its name.
//!
//! Source.     Besides `TP_printk`, the ways in which trace-cmd 3.1 and perf 6.1 print switches and
//!             wakeups of their own: `prev:pid [prio] S ==> next:pid [prio]`.
//! Deviations. A task's name that holds ` pid=` is told from the field by the 15 bytes it may have.

use super::known::{Key, Kind, Known};
use crate::read::raw_event::spelled;

/// The longest name of a task, in bytes.
const MAX_COMM: usize = 15;

/// A task's state in the kernel's numbers, by its letters; `R` is 0.
const STATES: [(char, u64); 9] = [
    ('S', 0x01),
    ('D', 0x02),
    ('T', 0x04),
    ('t', 0x08),
    ('X', 0x10),
    ('Z', 0x20),
    ('P', 0x40),
    ('I', 0x80),
    ('+', 0x100),
];

/// The letters that trace-cmd's own way has for two of them.
const SHORT_STATES: [(char, char); 2] = [('x', 'P'), ('W', 'I')];

/// Where the name of a printed field and its value begin, at or after `from`.
fn find_key(text: &str, key: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = from;
    loop {
        let equals = from + memchr::memchr(b'=', bytes.get(from..)?)?;
        let start = equals.checked_sub(key.len());
        if let Some(start) = start
            && (start == 0 || bytes[start - 1] == b' ')
            && &bytes[start..equals] == key.as_bytes()
        {
            return Some((start, equals + 1));
        }
        from = equals + 1;
    }
}

/// The last place of the key that a name beginning at `from` may have before it.
fn find_key_after_comm(text: &str, key: &str, from: usize) -> Option<(usize, usize)> {
    let mut found = find_key(text, key, from)?;
    while let Some(next) = find_key(text, key, found.1) {
        // The blank before the key is not of the name.
        if next.0 > from + MAX_COMM + 1 {
            break;
        }
        found = next;
    }
    Some(found)
}

/// Writes the fields of a known event into `record`, whose common fields are there already. `None`
/// if the text does not have them.
pub(super) fn known(event: &Known, text: &str, record: &mut Vec<u8>) -> Option<()> {
    let start = record.len() - super::known::COMMON_SIZE as usize;
    record.resize(start + event.size as usize, 0);
    let first = find_key(text, &event.keys.first()?.printed, 0);
    match event.name {
        "sched_switch" if first.is_none() => short_switch(event, text, record, start),
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" if first.is_none() => {
            short_wakeup(event, text, record, start)
        }
        _ => by_keys(event, text, first, record, start),
    }
}

/// Reads `name=value` after `name=value`, of which the first is at `first`.
fn by_keys(
    event: &Known,
    text: &str,
    first: Option<(usize, usize)>,
    record: &mut Vec<u8>,
    start: usize,
) -> Option<()> {
    let mut present = first;
    for (at, key) in event.keys.iter().enumerate() {
        let Some((_, value_at)) = present else {
            if key.optional {
                continue;
            }
            return None;
        };
        let rest = &event.keys[at + 1..];
        let next = rest.first().and_then(|next| match key.kind {
            Kind::Comm => find_key_after_comm(text, &next.printed, value_at),
            _ => find_key(text, &next.printed, value_at),
        });
        let end = next.map_or(text.len(), |(key_at, _)| key_at);
        let value = text[value_at..end].trim_ascii_end();
        // Between the two tasks of a switch.
        let value = value.strip_suffix("==>").map_or(value, str::trim_ascii_end);
        put(record, start, key, value)?;
        present = next;
    }
    Some(())
}

/// `prev:pid [prio] S ==> next:pid [prio]`.
fn short_switch(event: &Known, text: &str, record: &mut Vec<u8>, start: usize) -> Option<()> {
    let (prev, next) = text.split_once(" ==> ")?;
    let (prev, state) = prev.rsplit_once(' ')?;
    let letter = |letter| {
        let short = SHORT_STATES.iter().find(|(short, _)| *short == letter);
        short.map_or(letter, |(_, kernels)| *kernels)
    };
    let state: String = state.chars().map(letter).collect();
    let [comm, pid, prio] = short_task(prev)?;
    let [next_comm, next_pid, next_prio] = short_task(next)?;
    let values = [comm, pid, prio, &state, next_comm, next_pid, next_prio];
    for (key, value) in event.keys.iter().zip(values) {
        put(record, start, key, value)?;
    }
    Some(())
}

/// `comm:pid [prio] CPU:000`, with `success=1` between on old kernels.
fn short_wakeup(event: &Known, text: &str, record: &mut Vec<u8>, start: usize) -> Option<()> {
    let (task, cpu) = text.rsplit_once("CPU:")?;
    let (task, _) = task.rsplit_once(']')?;
    let [comm, pid, prio] = short_task(task)?;
    for (key, value) in event.keys.iter().zip([comm, pid, prio, cpu]) {
        put(record, start, key, value)?;
    }
    Some(())
}

/// `comm:pid [prio]`.
fn short_task(text: &str) -> Option<[&str; 3]> {
    let (task, prio) = text.trim().rsplit_once(" [")?;
    let (comm, pid) = task.rsplit_once(':')?;
    Some([comm, pid, prio.trim_end_matches(']')])
}

/// Puts a value where its field is.
fn put(record: &mut Vec<u8>, start: usize, key: &Key, value: &str) -> Option<()> {
    let at = start + key.offset as usize;
    match key.kind {
        Kind::Comm => {
            let value = value.as_bytes();
            let len = value.len().min(MAX_COMM);
            record[at..at + len].copy_from_slice(&value[..len]);
        }
        Kind::Text => {
            let offset = u16::try_from(record.len() - start).ok()?;
            let len = u16::try_from(value.len() + 1).ok()?;
            let word = u32::from(len) << 16 | u32::from(offset);
            record[at..at + 4].copy_from_slice(&word.to_le_bytes());
            record.extend_from_slice(value.as_bytes());
            record.push(0);
        }
        Kind::Int { size, .. } => {
            let bytes = spelled(value.as_bytes())?.to_le_bytes();
            record[at..at + size as usize].copy_from_slice(&bytes[..size as usize]);
        }
        Kind::State => {
            let state = state(value)?;
            record[at..at + 8].copy_from_slice(&state.to_le_bytes());
        }
    }
    Some(())
}

/// The number of a state such as `R+`, `D` or `X|Z`.
fn state(letters: &str) -> Option<u64> {
    let mut bits = 0;
    for letter in letters.chars() {
        match STATES.iter().find(|(known, _)| *known == letter) {
            Some((_, bit)) => bits |= bit,
            // Old kernels had more letters, for what no longer matters.
            None if letter.is_ascii_alphabetic() || letter == '|' => {}
            None => return None,
        }
    }
    (!letters.is_empty()).then_some(bits)
}

/// The names and values of an event that is not known: where each is in the text.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (&str, std::ops::Range<usize>)> {
    let mut at = next_name(text, 0);
    std::iter::from_fn(move || {
        let (name_at, value_at) = at?;
        at = next_name(text, value_at);
        let end = at.map_or(text.len(), |(next, _)| next);
        let value = text[value_at..end].trim_end().trim_end_matches(',');
        Some((
            &text[name_at..value_at - 1],
            value_at..value_at + value.len(),
        ))
    })
}

/// Where the next `name=` begins and ends.
fn next_name(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = from;
    loop {
        let equals = from + memchr::memchr(b'=', bytes.get(from..)?)?;
        let of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'.');
        let len = bytes[..equals].iter().rev().take_while(of_name).count();
        let start = equals - len;
        let begins = start == 0 || matches!(bytes[start - 1], b' ' | b'(' | b',' | b'{');
        // `==>` and `a==b` are no names.
        let named =
            len > 0 && !bytes[start].is_ascii_digit() && bytes.get(equals + 1) != Some(&b'=');
        if begins && named && start >= from {
            return Some((start, equals + 1));
        }
        from = equals + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::cursor::ByteOrder;
    use crate::read::formats::{CommonLayout, EventId};
    use crate::read::raw_event::RawEvent;

    /// The fields of a known event, each as text or as a number.
    fn fields(name: &str, text: &str) -> Option<Vec<String>> {
        let event = Known::of("", name).next().unwrap();
        let mut record = vec![0; 8];
        known(&event, text, &mut record)?;
        let common = CommonLayout::default();
        let raw = RawEvent::new(0, 0, EventId(0), &record, ByteOrder::Little, &common);
        let format = event.format(1);
        let own = format.fields().iter().skip(4);
        let value = own.map(|field| match field.at.is_string() {
            true => raw.str(field.at).to_owned(),
            false => raw.int(field.at).to_string(),
        });
        Some(value.collect())
    }

    #[test]
    fn a_switch_in_both_ways() {
        let expected = ["rt thread", "101", "120", "256", "swapper/1", "0", "120"];
        let kernels = "prev_comm=rt thread prev_pid=101 prev_prio=120 prev_state=R+ ==> \
                       next_comm=swapper/1 next_pid=0 next_prio=120";
        assert_eq!(fields("sched_switch", kernels).unwrap(), expected);
        let short = "rt thread:101 [120] R+ ==> swapper/1:0 [120]";
        assert_eq!(fields("sched_switch", short).unwrap(), expected);
        // The kernel's I, 0x80.
        let idle = fields("sched_switch", "sh:1 [120] W ==> sh:2 [120]").unwrap();
        assert_eq!(idle[3], "128");
    }

    #[test]
    fn a_wakeup_in_both_ways() {
        let expected = ["kworker/0:1", "18", "-1", "3"];
        let kernels = "comm=kworker/0:1 pid=18 prio=-1 target_cpu=003";
        assert_eq!(fields("sched_waking", kernels).unwrap(), expected);
        assert_eq!(
            fields("sched_waking", "kworker/0:1:18 [-1] CPU:003").unwrap(),
            expected
        );
        let old = "kworker/0:1:18 [-1] success=1 CPU:003";
        assert_eq!(fields("sched_waking", old).unwrap(), expected);
    }

    #[test]
    fn a_name_may_look_like_a_field() {
        let text = "comm=a pid=7 b pid=18 prio=120 delay=5 [ns]";
        assert_eq!(
            fields("sched_stat_wait", "comm=a pid=7 b pid=18 delay=5 [ns]").unwrap(),
            ["a pid=7 b", "18", "5"]
        );
        assert_eq!(fields("sched_process_exit", text).unwrap()[0], "a pid=7 b");
    }

    #[test]
    fn optional_and_missing_fields() {
        let old = "comm=sh pid=1 runtime=5 [ns] vruntime=9 [ns]";
        assert_eq!(
            fields("sched_stat_runtime", old).unwrap(),
            ["sh", "1", "5", "9"]
        );
        let new = "comm=sh pid=1 runtime=5 [ns]";
        assert_eq!(
            fields("sched_stat_runtime", new).unwrap(),
            ["sh", "1", "5", "0"]
        );
        assert_eq!(fields("sched_stat_runtime", "comm=sh pid=1"), None);
        assert_eq!(
            fields("sched_stat_runtime", "comm=sh pid=x runtime=5"),
            None
        );
        assert_eq!(fields("sched_switch", ""), None);
        assert_eq!(fields("sched_switch", "a ==> b"), None);
    }

    #[test]
    fn strings_follow_the_fixed_part() {
        let text = "dst_root=1 dst_id=3 dst_level=2 dst_path=/web/a b pid=101 comm=rt thread";
        let expected = ["1", "3", "2", "/web/a b", "101", "rt thread"];
        assert_eq!(fields("cgroup_attach_task", text).unwrap(), expected);
    }

    #[test]
    fn states_are_letters() {
        assert_eq!(state("R"), Some(0));
        assert_eq!(state("X|Z"), Some(0x30));
        assert_eq!(state("D|W"), Some(2));
        assert_eq!((state(""), state("?")), (None, None));
    }

    #[test]
    fn pairs_of_any_event() {
        let text = "(place_entity+0x0/0x1a0) se=0xff vlag=-3, flags=A|B name=a b c==d";
        let found: Vec<_> = pairs(text)
            .map(|(name, value)| (name, &text[value]))
            .collect();
        assert_eq!(
            found,
            [
                ("se", "0xff"),
                ("vlag", "-3"),
                ("flags", "A|B"),
                ("name", "a b c==d")
            ]
        );
        assert_eq!(pairs("no fields at all ==> x").count(), 0);
        assert_eq!(pairs("=== =").count(), 0);
    }
}
