//! Results that outlive the program: a long matrix can be stopped and gone on with.
//!
//! Model.       One JSON object a line: the key of the experiment, its label for people, and the run. The key is a hash
//!              of all that the experiment is made of and of the version of the program; a result of another scenario or
//!              another version is not found. The hash has 64 bits: of a million results, two share a key with a
//!              probability of 3 in 10^8.
//! Invariants.  A line is appended when its run is done, in one write. A last line that a crash cut off is dropped. A
//!              file that holds anything else is refused and left alone.

use crate::experiment::{Experiment, Run};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How every line begins.
const BEGIN: &str = "{\"key\":\"";

/// What a result is kept under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key(u64);

impl Key {
    /// Of all that the value's debug form shows. The hash differs between versions of Rust's library, and so between
    /// programs; the version of the program is in the value.
    pub(crate) fn of(value: &impl Debug) -> Key {
        struct Text(DefaultHasher);
        impl fmt::Write for Text {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.write(text.as_bytes());
                Ok(())
            }
        }
        let mut text = Text(DefaultHasher::new());
        write!(text, "{value:?}").expect("a hash takes every text");
        Key(text.0.finish())
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    key: String,
    #[serde(borrow)]
    label: std::borrow::Cow<'a, str>,
    #[serde(flatten)]
    run: Run,
}

/// Why a store cannot be used.
#[derive(Debug)]
pub enum StoreError {
    /// The file cannot be read or written.
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file holds something else.
    Foreign {
        /// Its path.
        path: PathBuf,
        /// The line.
        line: usize,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io { path, error } => write!(f, "{}: {error}", path.display()),
            StoreError::Foreign { path, line } => write!(
                f,
                "{}:{line}: not a result that was kept here; expected a line that begins with {BEGIN}…",
                path.display()
            ),
        }
    }
}

impl std::error::Error for StoreError {}

/// A file of results.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    version: String,
    known: BTreeMap<Key, Run>,
    file: Mutex<File>,
}

impl Store {
    /// Opens the file, or makes it. Results are those of the program's `version`.
    ///
    /// # Errors
    /// If it cannot be read and written, or holds something else than results.
    pub fn open(path: &Path, version: &str) -> Result<Store, StoreError> {
        let failed = |error: io::Error| StoreError::Io {
            path: path.to_owned(),
            error,
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let cut_off = &text[whole..];
        let foreign = |line: usize| StoreError::Foreign {
            path: path.to_owned(),
            line,
        };
        let mut known = BTreeMap::new();
        for (idx, line) in text[..whole].lines().enumerate() {
            let (key, run) = read(line).ok_or_else(|| foreign(idx + 1))?;
            known.insert(key, run);
        }
        if !cut_off.is_empty() {
            if !cut_off.starts_with(BEGIN) && !BEGIN.starts_with(cut_off) {
                return Err(foreign(text[..whole].lines().count() + 1));
            }
            file.set_len(whole as u64).map_err(failed)?;
        }
        Ok(Store {
            path: path.to_owned(),
            version: version.to_owned(),
            known,
            file: Mutex::new(file),
        })
    }

    /// How many results it had when it was opened, of any version.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Had it none?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What an experiment is kept under.
    pub fn key(&self, experiment: &Experiment) -> Key {
        experiment.key(&self.version)
    }

    /// A result that it had when it was opened.
    pub fn get(&self, key: Key) -> Option<&Run> {
        self.known.get(&key)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, key: Key, label: &str, run: &Run) -> Result<(), StoreError> {
        let line = Line {
            key: format!("{:016x}", key.0),
            label: label.into(),
            run: run.clone(),
        };
        let mut text = serde_json::to_string(&line).expect("names are texts and numbers finite");
        text.push('\n');
        let mut file = self.file.lock().expect("no thread panics while it writes");
        file.write_all(text.as_bytes())
            .map_err(|error| StoreError::Io {
                path: self.path.clone(),
                error,
            })
    }
}

fn read(line: &str) -> Option<(Key, Run)> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let key = u64::from_str_radix(&line.key, 16).ok()?;
    Some((Key(key), line.run))
}
