//! Specifications of programs: `NAME:KEY=VALUE,…`.
//!
//! Model.       Every key is one of the program's and is given once; every value is in its range. Keys left out have their
//!              defaults.
//! Units.       Times with a unit (`500ms`), bytes with `k` or `m` for 1024 and 1024²; kept in ns and bytes.

use super::Info;
use crate::suggest::nearest;
use std::fmt;

/// A parameter.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its value if it is not given.
    pub default: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it means, in a line.
    pub help: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number in a range.
    Count(u64, u64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time, in ns, in a range.
    Time(u64, u64),
    /// A number of bytes in a range.
    Bytes(u64, u64),
    /// The path of a task group.
    Group,
}

/// What every program takes.
static COMMON: &[Param] = &[Param {
    name: "cgroup",
    default: "",
    kind: Kind::Group,
    help: "task group that the program runs in",
}];

/// What is wrong with a specification, and how to mend it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    what: String,
    mend: String,
}

impl SpecError {
    /// What to do instead.
    pub fn hint(&self) -> &str {
        &self.mend
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SpecError {}

/// A parameter's value.
#[derive(Debug)]
struct Value {
    param: &'static Param,
    text: String,
    number: u64,
}

/// All values of a program.
#[derive(Debug)]
pub(super) struct Values(Vec<Value>);

impl Values {
    fn value(&self, name: &str) -> &Value {
        let value = self.0.iter().find(|value| value.param.name == name);
        value.unwrap_or_else(|| panic!("there is no parameter {name}"))
    }

    /// A count, a time in ns, or bytes.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.value(name).number
    }

    /// A count that its range keeps below 2^32.
    pub(super) fn count(&self, name: &str) -> u32 {
        u32::try_from(self.number(name)).unwrap_or_else(|_| panic!("{name} may exceed 2^32"))
    }

    /// Is the choice this word?
    pub(super) fn is(&self, name: &str, word: &str) -> bool {
        self.value(name).text == word
    }

    /// The task group, if there is one.
    pub(super) fn group(&self) -> Option<&str> {
        Some(&*self.value("cgroup").text).filter(|path| !path.is_empty())
    }

    /// Names and values.
    pub(super) fn list(&self) -> Vec<(&'static str, String)> {
        let pair = |value: &Value| (value.param.name, value.text.clone());
        self.0.iter().map(pair).collect()
    }
}

/// Finds the program, and reads its parameters.
pub(super) fn parse(
    spec: &str,
    list: &'static [&'static Info],
) -> Result<(&'static Info, Values), SpecError> {
    let (name, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let fail = |what: String, mend: String| SpecError {
        what: format!("{spec}: {what}"),
        mend,
    };
    let names = || list.iter().map(|info| info.name);
    let Some(info) = list.iter().copied().find(|info| info.name == name) else {
        let mend = match nearest(name, names()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("programs are {}", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(fail(format!("there is no program \"{name}\""), mend));
    };
    let known = || info.params.iter().chain(COMMON);
    let mut given: Vec<(&str, &str)> = Vec::new();
    for pair in rest.split(',').filter(|_| !rest.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            let what = format!("\"{pair}\" is not of the form KEY=VALUE");
            return Err(fail(what, example(info)));
        };
        if !known().any(|param| param.name == key) {
            let keys: Vec<_> = known().map(|param| param.name).collect();
            let mend = match nearest(key, keys.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("{name} takes {}", keys.join(", ")),
            };
            return Err(fail(format!("unknown key \"{key}\""), mend));
        }
        if given.iter().any(|(before, _)| *before == key) {
            let mend = "give it once".to_string();
            return Err(fail(format!("key \"{key}\" is given again"), mend));
        }
        given.push((key, value));
    }
    let mut values = Vec::new();
    for param in known() {
        let text = given.iter().find(|(key, _)| *key == param.name);
        let text = text.map_or(param.default, |(_, value)| value);
        let number = param.kind.read(text).ok_or_else(|| {
            let mend = format!("{} is {}", param.name, param.kind);
            fail(format!("bad value \"{text}\" for {}", param.name), mend)
        })?;
        values.push(Value {
            param,
            text: text.to_string(),
            number,
        });
    }
    Ok((info, Values(values)))
}

fn example(info: &Info) -> String {
    let param = &info.params[0];
    format!("write {}:{}={}", info.name, param.name, param.default)
}

const TIMES: [(&str, u64); 4] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

impl Kind {
    /// The value as a number; 0 for words. None: it is not one of these.
    fn read(&self, text: &str) -> Option<u64> {
        match *self {
            Kind::Count(least, most) => within(digits(text)?, least, most),
            Kind::Choice(words) => words.contains(&text).then_some(0),
            Kind::Time(least, most) => {
                let end = text.find(|c: char| !c.is_ascii_digit())?;
                let (_, unit) = TIMES.iter().find(|(name, _)| *name == &text[end..])?;
                within(digits(&text[..end])?.checked_mul(*unit)?, least, most)
            }
            Kind::Bytes(least, most) => {
                let (number, unit) = match text.char_indices().last()? {
                    (at, 'k' | 'K') => (&text[..at], 1024),
                    (at, 'm' | 'M') => (&text[..at], 1024 * 1024),
                    _ => (text, 1),
                };
                within(digits(number)?.checked_mul(unit)?, least, most)
            }
            Kind::Group => {
                let path = text.strip_prefix('/').unwrap_or(text);
                let parts = || path.split('/');
                let named = !parts().any(|part| part.is_empty() || part == "." || part == "..");
                (text.is_empty() || (text.starts_with('/') && named)).then_some(0)
            }
        }
    }
}

fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok())?
}

fn within(number: u64, least: u64, most: u64) -> Option<u64> {
    (least..=most).contains(&number).then_some(number)
}

/// A time in the largest unit that it is a whole number of.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, unit): &&(&str, u64)| self.0.is_multiple_of(*unit);
        let (name, unit) = TIMES.iter().rev().find(fits).unwrap_or(&TIMES[0]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Count(least, most) => write!(f, "a number from {least} to {most}"),
            Kind::Choice(words) => write!(f, "{}", words.join(" or ")),
            Kind::Time(least, most) => {
                write!(
                    f,
                    "a time from {} to {}, such as 500ms",
                    Time(*least),
                    Time(*most)
                )
            }
            Kind::Bytes(least, most) => {
                write!(f, "{least} to {most} bytes, such as 4k")
            }
            Kind::Group => f.write_str("the path of a group, such as /a/b"),
        }
    }
}
