//! Why nothing of a file can be read.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why nothing of a trace can be read, and how to mend it.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// The file is empty.
    Empty,
    /// It is a folder, but not one of `perf record --threads`.
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// It is none of the formats that are read.
    Unknown {
        /// Its first bytes.
        start: Vec<u8>,
    },
    /// It is of a version that is not read.
    Version {
        /// The format.
        format: &'static str,
        /// The version.
        found: String,
        /// The versions that are read.
        known: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// It ends before anything that can be used.
    CutOff {
        /// The format.
        format: &'static str,
        /// How many bytes there are.
        len: u64,
        /// What is not there.
        missing: &'static str,
    },
    /// It is whole, but has no events.
    NoEvents {
        /// The format.
        format: &'static str,
        /// The first line that is neither an event nor a comment, for text.
        line: Option<u64>,
        /// What to do.
        mend: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Empty => f.write_str(
                "the file is empty; expected a trace. Was the recorder stopped before it wrote?",
            ),
            Self::Folder { path } => write!(
                f,
                "is a folder without {}; name a trace file, or the folder that \
                 `perf record --threads` made",
                path.join("data").display()
            ),
            Self::Unknown { start } => {
                f.write_str("is no trace that can be read: it begins with ")?;
                for &byte in start.iter().take(16) {
                    match byte {
                        b'"' | b'\'' => write!(f, "{}", char::from(byte))?,
                        _ => write!(f, "{}", std::ascii::escape_default(byte))?,
                    }
                }
                f.write_str(
                    "; expected trace.dat (trace-cmd record), perf.data (perf sched record), \
                     ftrace text (/sys/kernel/tracing/trace, trace-cmd report) or perf script text",
                )
            }
            Self::Version {
                format,
                found,
                known,
                mend,
            } => write!(
                f,
                "is {format} of version {found}; {known} are read: {mend}"
            ),
            Self::CutOff {
                format,
                len,
                missing,
            } => write!(
                f,
                "is {format}, but its {len} bytes end before {missing}; record it again, or copy \
                 it whole"
            ),
            Self::NoEvents { format, line, mend } => {
                write!(f, "is {format}, but no event can be read")?;
                if let Some(line) = line {
                    write!(f, "; line {line} is the first that is none")?;
                }
                write!(f, "; {mend}")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
