//! Why a recording cannot be checked.

use std::fmt;
use std::path::PathBuf;

/// Why a recording cannot be checked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file of the recording cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: std::io::Error,
    },
    /// The trace is none that can be read.
    Trace(fairwind_trace::Error),
    /// A line of a file is not what stands there in a recording.
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is expected, and how to mend it.
        expected: String,
    },
    /// The recording lacks a fact without which nothing can be decided.
    Missing {
        /// The fact.
        fact: &'static str,
        /// How to supply it.
        hint: &'static str,
    },
    /// The recording is of a kernel that is not known here.
    UnknownKernel {
        /// What it says of its kernel.
        found: String,
    },
    /// What is told of the machine is none that can be.
    Machine {
        /// Where it is told.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A folder has no trace.
    NoTrace {
        /// The folder.
        folder: PathBuf,
        /// What a trace is called.
        names: &'static [&'static str],
    },
    /// A task that is said to be in a group is not in the recording.
    UnknownTask {
        /// Its name or thread id, as given.
        who: String,
    },
    /// The trace lacks events without which nothing can be decided.
    NoEvents {
        /// What to record.
        event: &'static str,
        /// Parts of the trace could not be read: the events may have been there.
        damaged: bool,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, problem } => write!(f, "cannot read {}: {problem}", path.display()),
            Error::Trace(problem) => problem.fmt(f),
            Error::Line {
                path,
                line,
                expected,
            } => {
                write!(f, "{}:{line}: {expected}", path.display())
            }
            Error::Missing { fact, hint } => {
                write!(f, "the recording does not tell the {fact}: {hint}")
            }
            Error::UnknownKernel { found } => write!(
                f,
                "the recording is of a kernel that is not known here ({}): give the nearest one with --kernel",
                found.trim()
            ),
            Error::Machine { path, problem } => write!(
                f,
                "{}: {problem}; correct the file, or give --machine",
                path.display()
            ),
            Error::NoTrace { folder, names } => write!(
                f,
                "{}: the folder has no trace; expected one of {}",
                folder.display(),
                names.join(", ")
            ),
            Error::UnknownTask { who } => write!(
                f,
                "no task of the recording has the name or thread id {who}: give a name as sched_switch shows it, at most 15 bytes"
            ),
            Error::NoEvents {
                event,
                damaged: false,
            } => write!(f, "the trace has no {event} events: record with -e {event}"),
            Error::NoEvents {
                event,
                damaged: true,
            } => write!(
                f,
                "the trace is cut off or damaged, and what can be read of it has no {event} events: copy it whole, or record again"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<fairwind_trace::Error> for Error {
    fn from(problem: fairwind_trace::Error) -> Self {
        Error::Trace(problem)
    }
}
