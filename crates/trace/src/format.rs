//! The formats, and which extension names which.

use std::path::Path;

use crate::error::Error;
use crate::sink::{Header, TraceSink};
use crate::{ftrace_text, perfetto, trace_dat};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text of `/sys/kernel/tracing/trace`.
    FtraceText,
    /// The `trace.dat` of trace-cmd and KernelShark.
    TraceDat,
    /// Perfetto's protobuf.
    Perfetto,
}

impl Format {
    /// The accepted extensions, each with its format.
    pub const EXTENSIONS: [(&'static str, Self); 4] = [
        ("pftrace", Self::Perfetto),
        ("perfetto-trace", Self::Perfetto),
        ("dat", Self::TraceDat),
        ("txt", Self::FtraceText),
    ];

    /// The format that a file's extension names.
    ///
    /// # Errors
    /// [`Error::UnknownExtension`], which lists the accepted ones.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let found = path.extension().and_then(|extension| extension.to_str());
        Self::EXTENSIONS
            .iter()
            .find(|(extension, _)| Some(*extension) == found)
            .map(|(_, format)| *format)
            .ok_or_else(|| Error::UnknownExtension {
                path: path.to_owned(),
            })
    }

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FtraceText => "ftrace text",
            Self::TraceDat => "trace-cmd",
            Self::Perfetto => "Perfetto",
        }
    }
}

/// Starts a trace in the format that the file's extension names.
///
/// # Errors
/// When the extension names no format, or the file cannot be made.
pub fn create(path: &Path, header: &Header) -> Result<Box<dyn TraceSink>, Error> {
    let format = Format::of_path(path)?;
    // The number of a Perfetto track has 16 bits for the CPU.
    if header.nr_cpus == 0 || header.nr_cpus > 1 << 16 {
        return Err(Error::CpuCount {
            nr_cpus: header.nr_cpus,
        });
    }
    Ok(match format {
        Format::FtraceText => Box::new(ftrace_text::Writer::create(path, header)?),
        Format::TraceDat => Box::new(trace_dat::Writer::create(path, header)?),
        Format::Perfetto => Box::new(perfetto::Writer::create(path, header)?),
    })
}
