//! A reader for the JSON that rt-app users write.
//!
//! Model.       Text becomes a tree of values, each with the place where it starts. Object members
//!              keep their order, and equal keys stay apart, because a phase is a sequence whose
//!              keys are its events.
//! Deviations.  Accepted beyond strict JSON, as json-c and rt-app's examples have it: `/* */` and
//!              `//` comments, trailing commas, 'single quotes', any case of true/false/null, raw
//!              control characters in strings, and a key without a value (`"suspend",`).
//! Not here.    A crate: those that keep order, duplicates and spans refuse keys without a value.

/// Where a value or key starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Index of the file.
    pub(crate) file: u32,
    /// Byte offset in it.
    pub(crate) offset: u32,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Where it starts.
    pub(crate) at: Place,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    /// A number that is no 64-bit integer, as written.
    Number(String),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<Member>),
    /// The value of a key that stands alone.
    Absent,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// Where the key starts.
    pub(crate) at: Place,
    pub(crate) value: Value,
}

/// Text that is not JSON.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: Place,
    pub(crate) found: String,
    pub(crate) expected: &'static str,
}

/// Nesting beyond this is refused, so that no file can exhaust the stack.
const DEPTH_MAX: u32 = 64;
/// Longest text read, so that offsets fit their type.
const LENGTH_MAX: usize = u32::MAX as usize;

/// Reads one value that fills the whole text.
pub(crate) fn read(text: &str, file: u32) -> Result<Value, SyntaxError> {
    let mut reader = Reader { text, at: 0, file };
    if text.len() > LENGTH_MAX {
        return Err(reader.error("a text shorter than 4 GiB"));
    }
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let value = reader.value(0)?;
    reader.blanks()?;
    if reader.peek().is_some() {
        return Err(reader.error("the end of the file"));
    }
    Ok(value)
}

/// Line and column, from 1, of a byte offset.
pub(crate) fn line_and_column(text: &str, offset: u32) -> (u32, u32) {
    let mut end = (offset as usize).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line as u32, before[start..].chars().count() as u32 + 1)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    file: u32,
}

impl Reader<'_> {
    fn place(&self) -> Place {
        Place {
            file: self.file,
            offset: self.at as u32,
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn error(&self, expected: &'static str) -> SyntaxError {
        let found = match self.peek() {
            Some(found) => format!("{found:?}"),
            None => "the end of the file".to_string(),
        };
        SyntaxError {
            at: self.place(),
            found,
            expected,
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let met = self.peek() == Some(wanted);
        if met {
            self.at += wanted.len_utf8();
        }
        met
    }

    /// Skips white space and comments.
    fn blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += 2 + end + 2,
                    None => {
                        let found = "a comment without end".to_string();
                        return Err(SyntaxError {
                            at: self.place(),
                            found,
                            expected: "\"*/\"",
                        });
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, SyntaxError> {
        self.blanks()?;
        if depth > DEPTH_MAX {
            return Err(self.error("at most 64 levels of nesting"));
        }
        let at = self.place();
        let kind = match self.peek() {
            Some('{') => Kind::Object(self.object(depth)?),
            Some('[') => Kind::Array(self.array(depth)?),
            Some('"' | '\'') => Kind::Text(self.text()?),
            Some('-' | '+' | '0'..='9') => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() => self.word()?,
            _ => return Err(self.error("a value")),
        };
        Ok(Value { at, kind })
    }

    fn object(&mut self, depth: u32) -> Result<Vec<Member>, SyntaxError> {
        let mut members = Vec::new();
        self.eat('{');
        loop {
            self.blanks()?;
            if self.eat('}') {
                return Ok(members);
            }
            if !matches!(self.peek(), Some('"' | '\'')) {
                return Err(self.error("a \"key\" or '}'"));
            }
            let at = self.place();
            let key = self.text()?;
            self.blanks()?;
            let value = if self.eat(':') {
                self.value(depth + 1)?
            } else {
                Value {
                    at,
                    kind: Kind::Absent,
                }
            };
            members.push(Member { key, at, value });
            self.blanks()?;
            if !self.eat(',') && self.peek() != Some('}') {
                return Err(self.error("',' or '}'"));
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        self.eat('[');
        loop {
            self.blanks()?;
            if self.eat(']') {
                return Ok(values);
            }
            values.push(self.value(depth + 1)?);
            self.blanks()?;
            if !self.eat(',') && self.peek() != Some(']') {
                return Err(self.error("',' or ']'"));
            }
        }
    }

    fn number(&mut self) -> Kind {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
            .unwrap_or(rest.len());
        self.at += length;
        let written = &rest[..length];
        match written.parse() {
            Ok(number) => Kind::Int(number),
            Err(_) => Kind::Number(written.to_string()),
        }
    }

    fn word(&mut self) -> Result<Kind, SyntaxError> {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let kind = match rest[..length].to_ascii_lowercase().as_str() {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            _ => return Err(self.error("a value; text stands in quotes")),
        };
        self.at += length;
        Ok(kind)
    }

    fn text(&mut self) -> Result<String, SyntaxError> {
        let start = self.place();
        let quote = self.peek().unwrap_or('"');
        self.at += quote.len_utf8();
        let mut text = String::new();
        loop {
            let Some(next) = self.peek() else {
                let found = "a text without end".to_string();
                return Err(SyntaxError {
                    at: start,
                    found,
                    expected: "a closing quote",
                });
            };
            if next == '\\' {
                text.push(self.escape()?);
                continue;
            }
            self.at += next.len_utf8();
            if next == quote {
                return Ok(text);
            }
            text.push(next);
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err(self.error("an escape"));
        };
        let plain = match letter {
            '"' | '\'' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(),
            _ => return Err(self.error("one of \" \\ / b f n r t u")),
        };
        self.at += letter.len_utf8();
        Ok(plain)
    }

    /// `uXXXX`, where two surrogates make one character; a lone one becomes U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, SyntaxError> {
        let high = self.hex4()?;
        if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 1;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = before;
        }
        Ok(char::from_u32(high).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        self.at += 1;
        let digits = self.text.get(self.at..self.at + 4);
        match digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(digits) => {
                self.at += 4;
                Ok(u32::from_str_radix(digits, 16).unwrap_or(0xfffd))
            }
            None => Err(self.error("four hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Vec<Member> {
        match read(text, 0).map(|value| value.kind) {
            Ok(Kind::Object(members)) => members,
            other => panic!("no object: {other:?}"),
        }
    }

    #[test]
    fn order_duplicates_comments_commas_and_bare_keys_survive() {
        let members = object(
            "{ /* a */ \"run\": 1, // b\n 'run' : -2, \"suspend\", \"x\": [1, 2,], \"y\": TRUE, }",
        );
        let keys: Vec<_> = members.iter().map(|member| member.key.as_str()).collect();
        assert_eq!(keys, ["run", "run", "suspend", "x", "y"]);
        assert!(matches!(members[1].value.kind, Kind::Int(-2)));
        assert!(matches!(members[2].value.kind, Kind::Absent));
        assert!(matches!(&members[3].value.kind, Kind::Array(list) if list.len() == 2));
        assert!(matches!(members[4].value.kind, Kind::Bool(true)));
    }

    #[test]
    fn places_count_lines_and_characters() {
        let text = "{\n \"é\" : 7 }";
        let members = object(text);
        assert_eq!(line_and_column(text, members[0].at.offset), (2, 2));
        assert_eq!(line_and_column(text, members[0].value.at.offset), (2, 8));
    }

    #[test]
    fn escapes() {
        let members = object(r#"{"\u0041\n\ud83d\ude00\ud800": 1.5}"#);
        assert_eq!(members[0].key, "A\n\u{1f600}\u{fffd}");
        assert!(matches!(&members[0].value.kind, Kind::Number(text) if text == "1.5"));
    }

    #[test]
    fn each_break_of_syntax_is_placed() {
        for (text, offset) in [
            ("", 0),
            ("{", 1),
            ("{\"a\":1 \"b\":2}", 7),
            ("{\"a\":}", 5),
            ("[1 2]", 3),
            ("{\"a\": yes}", 6),
            ("{\"a", 1),
            ("{/* ", 1),
            ("{} x", 3),
            ("{\"\\q\":1}", 3),
            ("{\"\\u12g4\":1}", 4),
            ("{a:1}", 1),
        ] {
            let error = read(text, 0)
                .err()
                .unwrap_or_else(|| panic!("{text:?} was read"));
            assert_eq!(error.at.offset, offset, "{text:?}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = "[".repeat(100_000);
        assert!(read(&deep, 0).is_err());
        let fair = format!("{}1{}", "[".repeat(60), "]".repeat(60));
        assert!(read(&fair, 0).is_ok());
    }
}
