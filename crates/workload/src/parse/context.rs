//! What the reading of a workload carries along: where it is, and what it found so far.
//!
//! Model.       A stack of keys says where the reading is, so that each error and warning can.
//!              Warnings about keys without effect come once a key, not once an occurrence.

use super::names::Names;
use crate::error::{Error, ErrorKind, Warning};
use crate::global::Global;
use crate::json::{Kind, Member, Place, Value, line_and_column};
use crate::spec::{CondId, GroupIdx};
use std::collections::BTreeSet;

/// A file's name and text.
pub(crate) type File<'a> = (&'a str, &'a str);

/// State of the reading.
pub(crate) struct Context<'a> {
    files: &'a [File<'a>],
    path: Vec<String>,
    warned: BTreeSet<String>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) global: Global,
    pub(crate) names: Names,
    /// Groups limited in the words of cgroup v1, which must stay within their parents' limits.
    pub(crate) v1_limits: Vec<(GroupIdx, Place)>,
    /// Where each condition variable is first named, `[nr_conds]`.
    pub(crate) cond_places: Vec<Place>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(files: &'a [File<'a>]) -> Self {
        Context {
            files,
            path: Vec::new(),
            warned: BTreeSet::new(),
            warnings: Vec::new(),
            global: Global::default(),
            names: Names::new(),
            v1_limits: Vec::new(),
            cond_places: Vec::new(),
        }
    }

    /// The state of another reading that begins here: that of what runs in a guest.
    pub(crate) fn nested(&self) -> Self {
        Context {
            path: self.path.clone(),
            ..Context::new(self.files)
        }
    }

    /// Reads something that stands under `key`.
    pub(crate) fn within<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.path.push(key.to_string());
        let result = read(self);
        self.path.pop();
        result
    }

    /// The error of this kind at this place.
    pub(crate) fn error(&self, at: Place, kind: ErrorKind) -> Error {
        let (name, text) = self.files[at.file as usize];
        let (line, column) = line_and_column(text, at.offset);
        Error {
            file: name.to_string(),
            line,
            column,
            path: self.path.join("/"),
            kind: Box::new(kind),
        }
    }

    /// A place as errors name it.
    pub(crate) fn place(&self, at: Place) -> String {
        let (name, text) = self.files[at.file as usize];
        let (line, column) = line_and_column(text, at.offset);
        format!("{name}:{line}:{column}, in {}", self.path.join("/"))
    }

    /// Line of a place.
    pub(crate) fn line(&self, at: Place) -> u32 {
        line_and_column(self.files[at.file as usize].1, at.offset).0
    }

    /// A value that is not accepted.
    pub(crate) fn bad(&self, value: &Value, expected: impl Into<String>) -> Error {
        let shown = match &value.kind {
            Kind::Int(number) => number.to_string(),
            Kind::Number(written) => written.clone(),
            Kind::Text(text) => format!("\"{text}\""),
            _ => return self.mistyped(value, expected),
        };
        self.error(
            value.at,
            ErrorKind::BadValue {
                value: shown,
                expected: expected.into(),
            },
        )
    }

    /// A value of the wrong type.
    pub(crate) fn mistyped(&self, value: &Value, expected: impl Into<String>) -> Error {
        let found = match value.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) => "an integer",
            Kind::Number(_) => "a number that is no 64-bit integer",
            Kind::Text(_) => "text",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
            Kind::Absent => "a key without a value",
        };
        self.error(
            value.at,
            ErrorKind::WrongType {
                found,
                expected: expected.into(),
            },
        )
    }

    /// Tells of something read otherwise than one may think.
    pub(crate) fn warn(&mut self, at: Place, what: impl Into<String>) {
        let (name, text) = self.files[at.file as usize];
        let (line, column) = line_and_column(text, at.offset);
        let path = self.path.join("/");
        self.warnings.push(Warning {
            file: name.to_string(),
            line,
            column,
            path,
            what: what.into(),
        });
    }

    /// Tells, the first time, that a key has no effect.
    pub(crate) fn no_effect(&mut self, key: &str, at: Place, why: &str) {
        if self.warned.insert(key.to_string()) {
            self.warn(at, format!("\"{key}\" has no effect: {why}"));
        }
    }

    /// The condition variable of a name that stands at this place.
    pub(crate) fn cond(&mut self, name: &str, at: Place) -> CondId {
        let cond = self.names.cond(name);
        if cond.idx() == self.cond_places.len() {
            self.cond_places.push(at);
        }
        cond
    }

    /// A warning that stands at no place of a file.
    pub(crate) fn warn_file(&mut self, what: &str) {
        let file = self.files.first().map_or("", |file| file.0).to_string();
        let what = what.to_string();
        self.warnings.push(Warning {
            file,
            line: 1,
            column: 1,
            path: String::new(),
            what,
        });
    }

    /// An integer between two bounds.
    pub(crate) fn int(
        &self,
        value: &Value,
        low: i64,
        high: i64,
        expected: &str,
    ) -> Result<i64, Error> {
        match value.kind {
            Kind::Int(number) if (low..=high).contains(&number) => Ok(number),
            Kind::Int(_) => Err(self.bad(value, expected)),
            _ => Err(self.mistyped(value, expected)),
        }
    }

    /// A count that rt-app keeps in a C int.
    pub(crate) fn count(&self, value: &Value, expected: &str) -> Result<u32, Error> {
        let full = format!("{expected}, 0 to {}", i32::MAX);
        Ok(self.int(value, 0, i64::from(i32::MAX), &full)? as u32)
    }

    pub(crate) fn boolean(&self, value: &Value) -> Result<bool, Error> {
        match value.kind {
            Kind::Bool(flag) => Ok(flag),
            _ => Err(self.mistyped(value, "true or false")),
        }
    }

    pub(crate) fn text<'v>(&self, value: &'v Value, expected: &str) -> Result<&'v str, Error> {
        match &value.kind {
            Kind::Text(text) => Ok(text),
            _ => Err(self.mistyped(value, expected)),
        }
    }

    pub(crate) fn object<'v>(
        &self,
        value: &'v Value,
        expected: &str,
    ) -> Result<&'v [Member], Error> {
        match &value.kind {
            Kind::Object(members) => Ok(members),
            _ => Err(self.mistyped(value, expected)),
        }
    }
}
