//! Ctrl-C, a closed terminal and `kill`: the first one ends the run, the second one the command.

use crate::error::Error;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code after Ctrl-C, as shells have it: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on.
pub(crate) fn watch() -> Result<(), Error> {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            process::exit(i32::from(INTERRUPTED));
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Error::failed(format!("cannot watch for Ctrl-C: {error}")))
}

/// Was the run asked to end?
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
