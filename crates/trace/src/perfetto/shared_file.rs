//! The file that the sinks of a host and of its guests write to together.
//!
//! Invariants.  It gets its name when the last of them has finished. If one is dropped before that, it never does.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use crate::staged::StagedFile;

/// One sink's part in the file.
pub(super) struct SharedFile(Rc<RefCell<State>>);

struct State {
    /// None: it has its name.
    file: Option<StagedFile>,
    /// Sinks that have not finished.
    writing: usize,
}

impl SharedFile {
    /// A file with one sink.
    pub(super) fn new(file: StagedFile) -> Self {
        Self(Rc::new(RefCell::new(State {
            file: Some(file),
            writing: 1,
        })))
    }

    /// The part of one more sink.
    pub(super) fn join(&self) -> Self {
        self.0.borrow_mut().writing += 1;
        Self(Rc::clone(&self.0))
    }

    /// Writes what `fill` appends.
    pub(super) fn write(&self, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let file = { state.file.as_mut() }.expect("open until all sinks have finished");
        fill(&mut file.buffer);
        file.drain()
    }

    /// The sink has written all it has.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.writing -= 1;
        if state.writing > 0 {
            return Ok(());
        }
        { state.file.take() }.map_or(Ok(()), StagedFile::commit)
    }
}
