//! Reading the files of a workload.

use crate::error::Error;
use fairwind_workload::{Workload, parse_files};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What standard input is called in messages.
const STDIN: &str = "<stdin>";

/// Reads files, of which one may be `-`, that together make a workload.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Workload, Error> {
    let is_stdin = |path: &&PathBuf| path.as_os_str() == "-";
    if paths.iter().filter(is_stdin).count() > 1 {
        return Err(Error::input(
            "WORKLOAD -: standard input can be read only once",
        ));
    }
    let mut files = Vec::new();
    for path in paths {
        let (name, bytes) = if is_stdin(&path) {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            (STDIN.to_string(), read.map(|_| bytes))
        } else {
            (path.display().to_string(), fs::read(path))
        };
        let bytes = bytes.map_err(|error| unreadable(path, &name, &error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            not_text(&name, error.as_bytes(), valid)
        })?;
        files.push((name, text));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    Ok(parse_files(&files)?)
}

fn unreadable(path: &Path, name: &str, error: &io::Error) -> Error {
    let failure = Error::input(format!("{name}: cannot read the workload: {error}"));
    if path.is_dir() {
        failure.hint("name the files of the folder, as in DIR/*.json")
    } else if error.kind() == io::ErrorKind::NotFound {
        failure.hint("WORKLOAD is the path of an rt-app JSON file, or - for standard input")
    } else {
        failure
    }
}

/// Tells where the first byte is that is not UTF-8.
fn not_text(name: &str, bytes: &[u8], valid: usize) -> Error {
    let before = String::from_utf8_lossy(&bytes[..valid]);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |last| last.chars().count())
        + 1;
    Error::input(format!(
        "{name}:{line}:{column}: found byte 0x{:02x}; expected JSON as UTF-8 text",
        bytes[valid]
    ))
    .hint("iconv -t UTF-8 converts text of another encoding")
}
