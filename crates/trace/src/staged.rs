//! A file that gets its name only when it is whole.
//!
//! Model.       A hidden file beside the target is written and renamed onto it at the end. Dropped
//!              before that, it is removed.
//! Invariants.  The target holds either what it held before or the whole new trace.
//! Deviations.  A process that is killed leaves the hidden file behind; its name says what it was.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Error;

/// How many bytes gather before they are written.
const BUFFER: usize = 256 << 10;

/// A file under its hidden name, with what is still to be written to it.
#[derive(Debug)]
pub(crate) struct StagedFile {
    file: File,
    /// What is to be written next: callers append to it, then call [`StagedFile::drain`].
    pub(crate) buffer: Vec<u8>,
    hidden: PathBuf,
    target: PathBuf,
}

impl StagedFile {
    /// Makes the hidden file for `target`.
    pub(crate) fn create(target: &Path) -> Result<Self, Error> {
        // A link is followed, so that the file it points to is replaced and the link stays.
        let target = match fs::metadata(target) {
            Ok(found) if found.is_file() => {
                fs::canonicalize(target).map_err(|source| Error::Create {
                    path: target.to_owned(),
                    source,
                })?
            }
            Ok(_) => {
                return Err(Error::NotAFile {
                    path: target.to_owned(),
                });
            }
            Err(_) => target.to_owned(),
        };
        let (file, hidden) = create_beside(&target).map_err(|source| Error::Create {
            path: target.clone(),
            source,
        })?;
        Ok(Self {
            file,
            buffer: Vec::with_capacity(BUFFER + (BUFFER >> 2)),
            hidden,
            target,
        })
    }

    /// Writes the buffer if enough has gathered.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        self.named(written)
    }

    /// Writes `bytes` at `offset`, which may lie behind what has been written.
    pub(crate) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        let written = self
            .file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.write_all(bytes));
        self.named(written)
    }

    /// The file itself, positioned at its start, for reading back what was written.
    pub(crate) fn rewind(&mut self) -> io::Result<&mut File> {
        self.flush()?;
        let rewound = self.file.rewind();
        self.named(rewound)?;
        Ok(&mut self.file)
    }

    /// Gives the file its name.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.flush()?;
        let renamed = fs::rename(&self.hidden, &self.target);
        self.named(renamed)?;
        self.hidden = PathBuf::new();
        Ok(())
    }

    /// Says in the error which file it is about.
    pub(crate) fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.target.display()))
        })
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.hidden.as_os_str().is_empty() {
            // Nothing more can be done about a file that cannot be removed.
            let _ = fs::remove_file(&self.hidden);
        }
    }
}

/// Makes a new file beside `target` under a name that no other sink, here or in another process,
/// uses.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!(".{}-{number}.part", std::process::id()));
        let hidden = target.with_file_name(hidden);
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&hidden)
        {
            Ok(file) => return Ok((file, hidden)),
            // Left by a killed process that had our process id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
