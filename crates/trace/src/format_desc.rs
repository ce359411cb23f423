//! The layout of an event's record, out of the kernel's `format` file.
//!
//! Model.       A record is a few common fields and the event's own. A field is resolved once, by
//!              name, to a [`FieldRef`]: where it stands and what it is. Dynamic probes are events
//!              like any other.
//! Invariants.  A field lies within the first 64 KiB of a record: no record is longer.
//! Source.      Documentation/trace/events.rst and kernel/trace/trace_events.c @ v6.12:
//!              `f_show`; include/trace/stages for `__data_loc` and `__rel_loc`.
//! Not here.    The `print fmt` line: records are given as fields, not as text.

/// No record of a ring buffer or a sample is longer.
const MAX_RECORD: u32 = 1 << 16;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number of 1, 2, 4 or 8 bytes.
    Int {
        /// Whether its highest bit is a sign.
        signed: bool,
    },
    /// A string in a fixed number of bytes, ended by a zero or by the last of them.
    Chars,
    /// Numbers, or something else, one after another.
    Array {
        /// The bytes of one.
        element: u16,
        /// Whether they have a sign.
        signed: bool,
    },
    /// A string or an array elsewhere in the record: `__data_loc`.
    DataLoc,
    /// The same, its place counted from the end of the field: `__rel_loc`.
    RelLoc,
}

/// Where a field stands in a record, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRef {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: FieldKind,
}

impl FieldRef {
    /// A field at a known place.
    #[must_use]
    pub const fn new(offset: u32, size: u32, kind: FieldKind) -> Self {
        Self { offset, size, kind }
    }

    /// The number of its first byte in the record.
    #[must_use]
    pub const fn offset(self) -> u32 {
        self.offset
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn size(self) -> u32 {
        self.size
    }

    /// What it holds.
    #[must_use]
    pub const fn kind(self) -> FieldKind {
        self.kind
    }

    /// Whether it is read with `str` rather than with `int`.
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(
            self.kind,
            FieldKind::Chars | FieldKind::DataLoc | FieldKind::RelLoc
        )
    }
}

/// A field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where and what it is.
    pub at: FieldRef,
}

/// An event and the layout of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// Its system, such as `sched`. Empty where the trace does not tell.
    pub system: String,
    /// Its name, such as `sched_switch`.
    pub name: String,
    /// The number that its records bear.
    pub kernel_id: u32,
    fields: Vec<Field>,
    /// How many bytes a record has at least.
    size: u32,
}

impl EventFormat {
    /// An event with the given fields.
    #[must_use]
    pub fn new(system: &str, name: &str, kernel_id: u32, fields: Vec<Field>) -> Self {
        let ends = fields.iter().map(|field| field.at.offset + field.at.size);
        Self {
            system: system.to_owned(),
            name: name.to_owned(),
            kernel_id,
            size: ends.max().unwrap_or(0),
            fields,
        }
    }

    /// Its fields, the common ones first.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of that name, if it has one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldRef> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(field.at)
    }

    /// How many bytes a record has at least.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn push_field(&mut self, field: Field) {
        self.size = self.size.max(field.at.offset + field.at.size);
        self.fields.push(field);
    }

    /// Reads a `format` file. `None` if it has no name, no number, or a field out of bounds.
    #[must_use]
    pub fn parse(system: &str, text: &str) -> Option<Self> {
        let mut name = None;
        let mut kernel_id = None;
        let mut fields = Vec::new();
        for line in text.lines() {
            let line = line.trim_start();
            if let Some(rest) = line.strip_prefix("name:") {
                name = name.or(Some(rest.trim()));
            } else if let Some(rest) = line.strip_prefix("ID:") {
                kernel_id = kernel_id.or(rest.trim().parse().ok());
            } else if let Some(rest) = line.strip_prefix("field:") {
                fields.push(parse_field(rest)?);
            } else if line.starts_with("print fmt:") {
                break;
            }
        }
        let name = name.filter(|name| !name.is_empty())?;
        Some(Self::new(system, name, kernel_id?, fields))
    }
}

/// Reads what follows `field:` on its line: a C declaration, then offset, size and sign.
pub(crate) fn parse_field(line: &str) -> Option<Field> {
    // A declaration has no semicolon, and the words after it have nothing else between them.
    let mut parts = line.split(';');
    let declaration = parts.next()?.trim();
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.trim().split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse::<u32>().ok(),
            Some(("size", value)) => size = value.trim().parse::<u32>().ok(),
            Some(("signed", value)) => signed = value.trim() == "1",
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    if offset > MAX_RECORD || size > MAX_RECORD {
        return None;
    }
    let (head, length) = match declaration.strip_suffix(']') {
        Some(array) => {
            let (head, length) = array.rsplit_once('[')?;
            (head.trim_end(), Some(length.trim()))
        }
        None => (declaration, None),
    };
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let name = &head[head.trim_end_matches(is_word).len()..];
    if name.is_empty() {
        return None;
    }
    let kind_of = head[..head.len() - name.len()].trim_end();
    let kind = if kind_of.starts_with("__data_loc") {
        FieldKind::DataLoc
    } else if kind_of.starts_with("__rel_loc") {
        FieldKind::RelLoc
    } else if let Some(length) = length {
        let words = kind_of.trim_start_matches("const ");
        if matches!(words, "char" | "unsigned char" | "signed char") {
            FieldKind::Chars
        } else {
            let elements = length.parse::<u32>().unwrap_or(1).max(1);
            let element = (size / elements).try_into().unwrap_or(1);
            FieldKind::Array { element, signed }
        }
    } else if matches!(size, 1 | 2 | 4 | 8) {
        FieldKind::Int { signed }
    } else {
        FieldKind::Array { element: 1, signed }
    };
    if matches!(kind, FieldKind::DataLoc | FieldKind::RelLoc) && size != 4 {
        return None;
    }
    Some(Field {
        name: name.to_owned(),
        at: FieldRef { offset, size, kind },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> (String, FieldKind) {
        let field = parse_field(line).unwrap();
        (field.name, field.at.kind)
    }

    #[test]
    fn a_dynamic_probe_is_read() {
        let text = "\
name: place_entity
ID: 1523
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:s64 vlag;\toffset:16;\tsize:8;\tsigned:1;

print fmt: \"(%lx) vlag=%Ld\", REC->__probe_ip, REC->vlag
";
        let format = EventFormat::parse("probe", text).unwrap();
        assert_eq!(
            (format.name.as_str(), format.kernel_id),
            ("place_entity", 1523)
        );
        let vlag = format.field("vlag").unwrap();
        assert_eq!((vlag.offset(), vlag.size()), (16, 8));
        assert_eq!(vlag.kind(), FieldKind::Int { signed: true });
        assert_eq!(format.size(), 24);
        assert_eq!(format.field("nothing"), None);
    }

    #[test]
    fn declarations_of_all_shapes() {
        let tail = |size| format!(";\toffset:8;\tsize:{size};\tsigned:0;");
        let unsigned = FieldKind::Int { signed: false };
        let cases = [
            ("char comm[16]", 16, "comm", FieldKind::Chars),
            ("char comm[TASK_COMM_LEN]", 16, "comm", FieldKind::Chars),
            (
                "__data_loc char[] filename",
                4,
                "filename",
                FieldKind::DataLoc,
            ),
            ("__rel_loc char[] name", 4, "name", FieldKind::RelLoc),
            ("const char * fmt", 8, "fmt", unsigned),
            ("const char *fmt", 8, "fmt", unsigned),
            ("enum hrtimer_mode mode", 4, "mode", unsigned),
            (" u64 timestamp", 8, "timestamp", unsigned),
            (
                "unsigned long args[6]",
                48,
                "args",
                FieldKind::Array {
                    element: 8,
                    signed: false,
                },
            ),
            (
                "struct cpumask mask",
                128,
                "mask",
                FieldKind::Array {
                    element: 1,
                    signed: false,
                },
            ),
        ];
        for (declaration, size, name, expected) in cases {
            let line = format!("{declaration}{}", tail(size));
            assert_eq!(kind(&line), (name.to_owned(), expected), "{declaration}");
        }
    }

    #[test]
    fn what_cannot_be_a_field_is_refused() {
        for line in [
            "",
            ";",
            "int pid",
            "int pid;\toffset:8;",
            "int pid;\toffset:8;\tsize:99999999;",
            "int pid;\toffset:-1;\tsize:4;",
            "];\toffset:0;\tsize:4;",
            "__data_loc char[] name;\toffset:8;\tsize:8;\tsigned:0;",
        ] {
            assert_eq!(parse_field(line), None, "{line}");
        }
        assert_eq!(EventFormat::parse("s", "name: a\n"), None);
        assert_eq!(EventFormat::parse("s", "ID: 4\n"), None);
    }
}
