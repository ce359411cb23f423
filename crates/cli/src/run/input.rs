//! Reading the files of a workload, and the programs that are named beside them.

use crate::error::Error;
use fairwind_workload::programs::{self, Program};
use fairwind_workload::{Workload, parse_files};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What standard input is called in messages.
const STDIN: &str = "<stdin>";

/// How files begin that are recordings: of trace-cmd, of perf, and ftrace's text.
const RECORDINGS: [&[u8]; 3] = [b"\x17\x08\x44tracing", b"PERFILE2", b"# tracer:"];

/// Reads files, of which one may be `-`, and makes programs, that together are a workload.
pub(crate) fn read(names: &[PathBuf]) -> Result<(Workload, Vec<Program>), Error> {
    let mut files = Vec::new();
    let mut made = Vec::new();
    for name in names {
        match name.to_str().filter(|spec| is_program(name, spec)) {
            Some(spec) => made.push(programs::parse(spec)?),
            None => files.push(name.clone()),
        }
    }
    let files = if files.is_empty() {
        None
    } else {
        Some(read_files(&files)?)
    };
    Ok(programs::join(files, made))
}

/// Is it meant as a program? What stands before the colon of one is no path; and a file of the name goes first.
fn is_program(path: &Path, spec: &str) -> bool {
    let name = spec.split(':').next().unwrap_or(spec);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let named = programs::find(name).is_some() || spec.contains(':');
    named && !name.is_empty() && name.chars().all(word) && !path.exists()
}

fn read_files(paths: &[PathBuf]) -> Result<Workload, Error> {
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
        if RECORDINGS.iter().any(|begin| bytes.starts_with(begin)) {
            let what = format!("{name}: is a recording of a kernel; expected a workload");
            return Err(Error::input(what).hint("'fairwind check' takes recordings"));
        }
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
        failure.hint(
            "WORKLOAD is the path of an rt-app JSON file, - for standard input, or a program (fairwind program list)",
        )
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
