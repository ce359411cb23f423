//! `--kernel-files`: a folder with what the kernel's own files would say.
//!
//! Model.       A hidden folder beside the target is filled and renamed onto it at the end. Dropped
//!              before that, it is removed.
//! Invariants.  The target is not there, or empty, or whole. What it held is never replaced.
//! Deviations.  A process that is killed leaves the hidden folder behind; its name says what it was.

use crate::error::Error;
use fairwind_sim::KernelFile;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder under its hidden name.
#[derive(Debug)]
pub(crate) struct Folder {
    target: PathBuf,
    hidden: PathBuf,
    done: bool,
}

impl Folder {
    /// Makes the hidden folder for `target`, which must not be there or be empty.
    pub(crate) fn create(target: &Path) -> Result<Self, Error> {
        let shown = target.display();
        let refused = |what: &str| {
            Err(Error::input(format!("--kernel-files {shown}: {what}"))
                .hint("name a folder that does not exist yet: it is made"))
        };
        let cannot = |error: io::Error| {
            Error::input(format!(
                "--kernel-files {shown}: cannot make the folder: {error}"
            ))
        };
        let target = match fs::symlink_metadata(target) {
            // A link is followed, so that it stays.
            Ok(_) => fs::canonicalize(target).map_err(cannot)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => target.to_owned(),
            Err(error) => return Err(cannot(error)),
        };
        if target.exists() {
            if !target.is_dir() {
                return refused("is a file");
            }
            if fs::read_dir(&target).map_err(cannot)?.next().is_some() {
                return refused("is a folder that is not empty");
            }
        }
        let Some(name) = target.file_name() else {
            return refused("has no name");
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let hidden = target.with_file_name(hidden);
        fs::create_dir(&hidden).map_err(cannot)?;
        Ok(Folder {
            target,
            hidden,
            done: false,
        })
    }

    /// Writes the files and gives the folder its name.
    pub(crate) fn finish(mut self, files: &[KernelFile]) -> Result<(), Error> {
        for file in files {
            let written = self.write(file);
            self.named(&file.path, written)?;
        }
        // Over an empty folder, too; one that was filled in the meantime is left alone.
        let renamed = fs::rename(&self.hidden, &self.target);
        self.named("", renamed)?;
        self.done = true;
        Ok(())
    }

    fn write(&self, file: &KernelFile) -> io::Result<()> {
        let path = self.hidden.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, &file.text)
    }

    fn named(&self, path: &str, result: io::Result<()>) -> Result<(), Error> {
        result.map_err(|error| {
            let path = self.target.join(path);
            Error::failed(format!("{}: cannot write: {error}", path.display()))
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.done {
            // Nothing more can be done about a folder that cannot be removed.
            let _ = fs::remove_dir_all(&self.hidden);
        }
    }
}
