//! Opens the traces of a host and its guests.
//!
//! Model.       A format that holds several machines has host and guests in one file. Of any other, each guest has a file
//!              beside its host's.
//! Invariants.  No two traces are written to one file. Files get their names when the run is over; dropped before, they vanish.

use crate::error::Error;
use fairwind_trace::{Header, TraceSink};
use std::path::{Path, PathBuf};

/// Sinks of one machine.
pub(super) type Sinks = Vec<Box<dyn TraceSink>>;

/// Opens the traces `paths` for a host, and for each of its guests, which have names.
pub(super) fn open(
    paths: &[PathBuf],
    host: &Header,
    guests: &[(String, Header)],
) -> Result<(Sinks, Vec<Sinks>), Error> {
    let mut taken = Vec::new();
    let (mut of_host, mut of_guests) = (Sinks::new(), Vec::new());
    for path in paths {
        of_host.push(create(path, host, &mut taken)?);
    }
    for (machine_id, (name, header)) in (1..).zip(guests) {
        let mut sinks = Sinks::new();
        for (path, sink) in paths.iter().zip(&of_host) {
            let joined = sink.guest_sink(machine_id, header).map_err(failed)?;
            sinks.push(match joined {
                Some(sink) => sink,
                None => create(&path_of_guest(path, name), header, &mut taken)?,
            });
        }
        of_guests.push(sinks);
    }
    Ok((of_host, of_guests))
}

/// A trace that cannot be written.
pub(super) fn failed(error: std::io::Error) -> Error {
    Error::failed(format!("cannot write the trace: {error}"))
}

fn create(
    path: &Path,
    header: &Header,
    taken: &mut Vec<PathBuf>,
) -> Result<Box<dyn TraceSink>, Error> {
    if taken.iter().any(|other| other == path) {
        let what = format!("--trace {}: given twice", path.display());
        return Err(Error::input(what).hint("each trace needs a file of its own"));
    }
    taken.push(path.to_owned());
    Ok(fairwind_trace::create(path, header)?)
}

/// The trace of a guest beside that of its host: `run-vm.dat` beside `run.dat`.
fn path_of_guest(path: &Path, guest: &str) -> PathBuf {
    let word = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let guest: String = guest.chars().map(word).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{guest}.{extension}"))
}
