//! The events that a trace can hold.
//!
//! Model.       A list in the order of the file; an [`EventId`] is a place in it. Records name
//!              their event by the kernel's number, which is looked up here.
//! Invariants.  At most 65 536 events: the number in a record has two bytes.

use super::stats::{Oddity, Place, ReadStats};
use crate::format_desc::{EventFormat, FieldKind, FieldRef};

/// No kernel numbers its events higher.
const MAX_KERNEL_ID: u32 = 1 << 16;

/// An event of one trace: a place in its [`Formats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub(crate) u32);

impl EventId {
    /// Its place, for tables beside the formats.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the fields stand that every record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommonLayout {
    pub(crate) kernel_id: FieldRef,
    pub(crate) flags: FieldRef,
    pub(crate) preempt_count: FieldRef,
    pub(crate) pid: FieldRef,
}

impl Default for CommonLayout {
    fn default() -> Self {
        let unsigned = FieldKind::Int { signed: false };
        Self {
            kernel_id: FieldRef::new(0, 2, unsigned),
            flags: FieldRef::new(2, 1, unsigned),
            preempt_count: FieldRef::new(3, 1, unsigned),
            pid: FieldRef::new(4, 4, FieldKind::Int { signed: true }),
        }
    }
}

/// The events that a trace can hold.
#[derive(Clone, Debug, Default)]
pub struct Formats {
    list: Vec<EventFormat>,
    /// `[kernel id]`: the place in the list, plus one.
    by_kernel_id: Vec<u32>,
    common: CommonLayout,
}

impl Formats {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All, each under its id.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, &EventFormat)> {
        (0..).map(EventId).zip(&self.list)
    }

    /// The layout of an event of this trace.
    #[must_use]
    pub fn get(&self, event: EventId) -> &EventFormat {
        &self.list[event.index()]
    }

    /// The event of that system and name. Where the trace tells no systems, the name decides.
    #[must_use]
    pub fn find(&self, system: &str, name: &str) -> Option<EventId> {
        let matches = |format: &EventFormat| {
            format.name == name && (format.system == system || format.system.is_empty())
        };
        let found = self.iter().find(|(_, format)| matches(format));
        found.map(|(event, _)| event)
    }

    /// The first event of that name, in whatever system.
    #[must_use]
    pub fn find_name(&self, name: &str) -> Option<EventId> {
        let found = self.iter().find(|(_, format)| format.name == name);
        found.map(|(event, _)| event)
    }

    /// The event whose records bear that number.
    #[must_use]
    pub fn of_kernel_id(&self, kernel_id: u32) -> Option<EventId> {
        match self.by_kernel_id.get(kernel_id as usize)? {
            0 => None,
            place => Some(EventId(place - 1)),
        }
    }

    pub(crate) const fn common(&self) -> &CommonLayout {
        &self.common
    }

    /// Takes a `format` file.
    pub(crate) fn add_text(
        &mut self,
        system: &str,
        text: &[u8],
        stats: &mut ReadStats,
        place: Place,
    ) {
        match EventFormat::parse(system, &String::from_utf8_lossy(text)) {
            Some(format) if format.kernel_id < MAX_KERNEL_ID => {
                if self.of_kernel_id(format.kernel_id).is_some() {
                    // The events of ftrace itself are sometimes listed twice, and are equal then.
                    let earlier = self.of_kernel_id(format.kernel_id).map(|id| self.get(id));
                    if earlier.is_some_and(|earlier| earlier.name != format.name) {
                        stats.one(Oddity::DuplicateFormat, place);
                    }
                    return;
                }
                self.add(format);
            }
            _ => stats.one(Oddity::BadFormat, place),
        }
    }

    /// Takes an event whose number is free and below the limit.
    pub(crate) fn add(&mut self, format: EventFormat) -> EventId {
        if self.list.is_empty() {
            self.learn_common(&format);
        }
        let id = EventId(self.list.len() as u32);
        let at = format.kernel_id as usize;
        if self.by_kernel_id.len() <= at {
            self.by_kernel_id.resize(at + 1, 0);
        }
        self.by_kernel_id[at] = id.0 + 1;
        self.list.push(format);
        id
    }

    pub(crate) fn get_mut(&mut self, event: EventId) -> &mut EventFormat {
        &mut self.list[event.index()]
    }

    /// Real-time and old kernels have other common fields; they are the same for every event.
    fn learn_common(&mut self, format: &EventFormat) {
        let number = |name, otherwise| {
            let field = format.field(name);
            let number = field.filter(|field| matches!(field.kind, FieldKind::Int { .. }));
            number.unwrap_or(otherwise)
        };
        let usual = CommonLayout::default();
        self.common = CommonLayout {
            kernel_id: number("common_type", usual.kernel_id),
            flags: number("common_flags", usual.flags),
            preempt_count: number("common_preempt_count", usual.preempt_count),
            pid: number("common_pid", usual.pid),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_time_kernels_common_fields_are_found() {
        let mut formats = Formats::default();
        let mut stats = ReadStats::default();
        let text = b"name: a\nID: 7\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
            \tfield:unsigned char common_preempt_lazy_count;\toffset:4;\tsize:1;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:8;\tsize:4;\tsigned:1;\n";
        formats.add_text("sched", text, &mut stats, Place::File);
        assert_eq!(formats.common().pid.offset(), 8);
        assert_eq!(formats.of_kernel_id(7), formats.find("sched", "a"));
        assert_eq!(formats.find("other", "a"), None);
        formats.add_text("other", b"name: b\nID: 7\n", &mut stats, Place::File);
        formats.add_text("other", b"name: c\nID: 65536\n", &mut stats, Place::File);
        assert_eq!(stats.count(Oddity::DuplicateFormat), 1);
        assert_eq!(stats.count(Oddity::BadFormat), 1);
        assert_eq!(formats.of_kernel_id(65_536), None);
        assert_eq!(formats.len(), 1);
    }
}
