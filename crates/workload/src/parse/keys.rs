//! The members of one object, told apart by key.
//!
//! Model.       An object is described by the keys it may hold, each at most once. Keys that begin
//!              with "_" are comments. Whatever else is left over is an error.

use super::context::Context;
use crate::error::{Error, ErrorKind};
use crate::json::{Member, Value};
use crate::suggest::nearest;

/// The known members of an object.
pub(crate) struct Keys<'v> {
    found: Vec<(&'static str, &'v Member)>,
}

impl<'v> Keys<'v> {
    /// Sorts members by key; none may come twice, none may be unknown.
    pub(crate) fn read(
        cx: &mut Context<'_>,
        members: &'v [Member],
        known: &[&'static str],
    ) -> Result<Self, Error> {
        let mut keys = Keys { found: Vec::new() };
        for member in members {
            if !keys.take(cx, member, known)? && !comment(cx, member) {
                return Err(unknown(cx, member, known, &[]));
            }
        }
        Ok(keys)
    }

    /// No members.
    pub(crate) fn none() -> Self {
        Keys { found: Vec::new() }
    }

    /// Takes a member in if its key is known.
    pub(crate) fn take(
        &mut self,
        cx: &Context<'_>,
        member: &'v Member,
        known: &[&'static str],
    ) -> Result<bool, Error> {
        let Some(&key) = known.iter().find(|&&key| key == member.key) else {
            return Ok(false);
        };
        if let Some(first) = self.member(key) {
            let first_line = cx.line(first.at);
            let kind = ErrorKind::DuplicateKey {
                key: key.to_string(),
                first_line,
            };
            return Err(cx.error(member.at, kind));
        }
        self.found.push((key, member));
        Ok(true)
    }

    pub(crate) fn member(&self, key: &str) -> Option<&'v Member> {
        self.found
            .iter()
            .find(|(found, _)| *found == key)
            .map(|(_, member)| *member)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'v Value> {
        self.member(key).map(|member| &member.value)
    }

    /// The members in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &'v Member)> + '_ {
        self.found.iter().copied()
    }
}

/// Is the member a comment? Tells so the first time.
pub(crate) fn comment(cx: &mut Context<'_>, member: &Member) -> bool {
    let comment = member.key.starts_with('_');
    if comment {
        cx.no_effect("_*", member.at, "keys that begin with \"_\" are comments");
    }
    comment
}

/// The error for a key that is neither in `known` nor in `also`.
pub(crate) fn unknown(
    cx: &Context<'_>,
    member: &Member,
    known: &[&'static str],
    also: &[&'static str],
) -> Error {
    let all = || known.iter().chain(also).copied();
    let mut list: Vec<_> = all().collect();
    list.sort_unstable();
    list.dedup();
    let kind = ErrorKind::UnknownKey {
        key: member.key.clone(),
        nearest: nearest(&member.key, all()),
        expected: format!("one of {}", list.join(", ")),
    };
    cx.error(member.at, kind)
}
