//! What can be wrong with a machine that a user asked for, said so that it can be mended.

use std::fmt;

/// Why a machine could not be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The specification names no preset, is no shorthand and no file has that path.
    Unknown {
        /// What was asked for.
        spec: String,
        /// The presets that exist.
        presets: Vec<String>,
    },
    /// The specification looks like a shorthand, and is not a legal one.
    Shorthand {
        /// What was asked for.
        spec: String,
        /// What is wrong with it.
        what: String,
    },
    /// A setting that there is not, or not on this machine.
    Setting {
        /// The machine.
        machine: String,
        /// What was asked for.
        setting: String,
        /// What is wrong with it.
        what: String,
    },
    /// The file or the system could not be read.
    Read {
        /// The path.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// The content of a file is wrong.
    Content {
        /// The file.
        file: String,
        /// Line and column, from 1, where they are known.
        place: Option<(usize, usize)>,
        /// What is wrong.
        what: String,
        /// How to mend it; empty where `what` says it all.
        mend: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unknown { spec, presets } => write!(
                f,
                "no machine '{spec}': expected a preset ({}), a shorthand such as 2x4x2, \
                 the path of a .toml, hwloc XML or lscpu -J file, or 'host'",
                presets.join(", ")
            ),
            Error::Shorthand { spec, what } => write!(
                f,
                "machine '{spec}': {what}; write SOCKETSxCORESxTHREADS (2x4x2), \
                 SOCKETSxLLCSxCORESxTHREADS (2x8x8x2) or SOCKETSxNODESxLLCSxCORESxTHREADS"
            ),
            Error::Setting {
                machine,
                setting,
                what,
            } => write!(f, "machine '{machine}', {setting}: {what}"),
            Error::Read { path, reason } => write!(f, "{path}: {reason}"),
            Error::Content {
                file,
                place,
                what,
                mend,
            } => {
                write!(f, "{file}")?;
                if let Some((line, column)) = place {
                    write!(f, ":{line}:{column}")?;
                }
                write!(f, ": {what}")?;
                if !mend.is_empty() {
                    write!(f, "; {mend}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Error {}

/// Line and column, both from 1, of a byte offset; columns count characters.
pub(crate) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |last| last.chars().count())
        + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_column_count_from_one_in_characters() {
        assert_eq!(line_column("ab\ncd", 0), (1, 1));
        assert_eq!(line_column("ab\ncd", 4), (2, 2));
        // 'é' is two bytes and one column; an offset inside it means the character itself.
        assert_eq!(line_column("éx", 2), (1, 2));
        assert_eq!(line_column("éx", 1), (1, 1));
        assert_eq!(line_column("a", 99), (1, 2));
    }
}
