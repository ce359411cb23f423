//! What can go wrong before a trace begins, or before one is read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::format::Format;
use crate::read::ReadError;

/// Why a trace cannot be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file's extension names no format.
    UnknownExtension {
        /// The file asked for.
        path: PathBuf,
    },
    /// The target is there already, and is a folder, a device or a pipe.
    NotAFile {
        /// The file asked for.
        path: PathBuf,
    },
    /// The machine has more CPUs than the format can number, or none.
    CpuCount {
        /// How many it has.
        nr_cpus: u32,
    },
    /// The file cannot be made.
    Create {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing of a trace can be read.
    Read {
        /// The file, if it is one.
        path: Option<PathBuf>,
        /// Why.
        problem: ReadError,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownExtension { path } => {
                write!(f, "{}: ", path.display())?;
                match path.extension() {
                    Some(found) => {
                        write!(f, "no trace format has the extension .{}", found.display())?;
                    }
                    None => {
                        f.write_str("a trace file needs an extension, which names its format")?
                    }
                }
                f.write_str("; use one of")?;
                for (at, (extension, format)) in Format::EXTENSIONS.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma} .{extension} ({})", format.name())?;
                }
                Ok(())
            }
            Self::NotAFile { path } => write!(
                f,
                "{}: is not a regular file; a trace is written under another name and renamed when \
                 it is whole, so name a file that may be replaced",
                path.display()
            ),
            Self::CpuCount { nr_cpus } => {
                write!(
                    f,
                    "a trace of {nr_cpus} CPUs cannot be written; expected 1 to 65536 of them"
                )
            }
            Self::Create { path, source } => {
                write!(f, "{}: cannot write a trace here: {source}", path.display())?;
                if source.kind() == io::ErrorKind::NotFound {
                    f.write_str("; make the folder first")?;
                }
                Ok(())
            }
            Self::Read { path, problem } => {
                if let Some(path) = path {
                    write!(f, "{}: ", path.display())?;
                }
                problem.fmt(f)
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Create { source, .. } => Some(source),
            Self::Read { problem, .. } => problem.source(),
            Self::UnknownExtension { .. } | Self::NotAFile { .. } | Self::CpuCount { .. } => None,
        }
    }
}
