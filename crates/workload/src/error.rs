//! What is wrong with a workload file, where, and how to mend it.
//!
//! Model.       An [`Error`] ends the reading; a [`Warning`] tells of something read that has no
//!              effect.
//! Units.       Lines and columns count from 1, columns in characters.

use std::fmt;

/// Why a workload cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// File as it was named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Path to the place, such as `tasks/thread0/phases/p1/timer`; empty at the root.
    pub path: String,
    /// What is wrong.
    pub kind: Box<ErrorKind>,
}

/// The kinds of [`Error`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not JSON (with comments, trailing commas and bare keys).
    Syntax {
        /// What was met.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A value of another JSON type than the key takes.
    WrongType {
        /// The type met.
        found: &'static str,
        /// What the key takes.
        expected: String,
    },
    /// A key that neither rt-app nor this reader knows.
    UnknownKey {
        /// The key.
        key: String,
        /// A known key that looks alike.
        nearest: Option<String>,
        /// The known keys, or where the key belongs.
        expected: String,
    },
    /// A key that may be given only once.
    DuplicateKey {
        /// The key.
        key: String,
        /// Line of the first one.
        first_line: u32,
    },
    /// A required key is not there.
    MissingKey {
        /// The key.
        key: String,
        /// What it holds.
        expected: String,
    },
    /// A number or text outside what the kernel or rt-app accepts.
    BadValue {
        /// The value.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// A name that nothing defines.
    UnknownName {
        /// The name.
        name: String,
        /// A known name that looks alike.
        nearest: Option<String>,
        /// What it should name.
        expected: String,
    },
    /// Two settings that cannot stand together.
    Conflict {
        /// The contradiction.
        what: String,
        /// How to mend it.
        expected: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        let (what, nearest, expected) = match &*self.kind {
            ErrorKind::Syntax { found, expected } => (format!("found {found}"), None, expected),
            ErrorKind::WrongType { found, expected } => (format!("found {found}"), None, expected),
            ErrorKind::UnknownKey {
                key,
                nearest,
                expected,
            } => (format!("unknown key \"{key}\""), nearest.as_ref(), expected),
            ErrorKind::DuplicateKey { key, first_line } => {
                write!(
                    f,
                    "key \"{key}\" is given again (first on line {first_line})"
                )?;
                return write!(f, "{}; expected one \"{key}\"", Within(&self.path));
            }
            ErrorKind::MissingKey { key, expected } => {
                (format!("no key \"{key}\""), None, expected)
            }
            ErrorKind::BadValue { value, expected } => {
                (format!("bad value {value}"), None, expected)
            }
            ErrorKind::UnknownName {
                name,
                nearest,
                expected,
            } => (
                format!("unknown name \"{name}\""),
                nearest.as_ref(),
                expected,
            ),
            ErrorKind::Conflict { what, expected } => (what.clone(), None, expected),
        };
        write!(f, "{what}{}; expected {expected}", Within(&self.path))?;
        match nearest {
            Some(nearest) => write!(f, " (did you mean \"{nearest}\"?)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// Something read but without effect in a simulation, or read otherwise than its author may think.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// File as it was named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Path to the place, as in [`Error::path`].
    pub path: String,
    /// What has no effect, and why.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.what
        )?;
        write!(f, "{}", Within(&self.path))
    }
}

/// `, in PATH`, or nothing at the root.
struct Within<'a>(&'a str);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, ", in {}", self.0)
        }
    }
}
