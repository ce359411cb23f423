//! Writing to the terminal, the pipe or the file that the streams are.
//!
//! Model.       A command makes its whole output and hands it over once. Styles are kept on a
//!              terminal and dropped elsewhere, and where `NO_COLOR` is set.
//! Invariants.  A reader that closes the pipe early (`| head`) is no error.

use crate::error::Error;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// Style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Writes the output of the command.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    settle(
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush()),
    )
}

/// Writes output that is not text for people, as it is.
pub(crate) fn print_raw(bytes: &[u8]) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    settle(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

fn settle(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Tells of something that ends the command.
pub(crate) fn error(message: &str, hints: &[String]) {
    tell(ERROR, "error", message);
    for hint in hints {
        tell(NOTE, "  hint", hint);
    }
}

/// Tells of something that may not be meant.
pub(crate) fn warning(message: &str) {
    tell(WARNING, "warning", message);
}

/// Tells of something that was chosen for the user.
pub(crate) fn note(message: &str) {
    tell(NOTE, "note", message);
}

fn tell(style: Style, kind: &str, message: &str) {
    // When not even this can be told, nobody listens.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {message}");
}
