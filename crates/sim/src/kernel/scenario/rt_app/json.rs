//! JSON as rt-app writes it: keys in their order and more than once, comments, commas too many; every
//! value knows its line.

use crate::{Error, Result};
use coretwin_base::caps;

const DEPTH_MAX: usize = 32;

/// A value with its line, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// Keys with their lines, in the order of the text.
    Object(Vec<(String, Value)>),
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

pub(super) fn parse(file: &str, text: &str) -> Result<Value> {
    if text.len() as u64 > caps::RT_APP.bytes {
        let problem = caps::RT_APP.exceeded().to_string();
        return Err(Error::Text { file: file.to_owned(), problem });
    }
    let mut reader = Reader { file, rest: text, line: 1 };
    let value = reader.value(0)?;
    reader.space()?;
    match reader.rest.chars().next() {
        None => Ok(value),
        Some(c) => Err(reader.refuse(format!("'{c}' after the end of the object"))),
    }
}

struct Reader<'a> {
    file: &'a str,
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn refuse(&self, problem: impl Into<String>) -> Error {
        let problem = format!("line {}: is not JSON: {}", self.line, problem.into());
        Error::Text { file: self.file.to_owned(), problem }
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest.as_bytes()[..bytes].iter().filter(|byte| **byte == b'\n').count();
        self.rest = &self.rest[bytes..];
    }

    fn space(&mut self) -> Result<()> {
        loop {
            let spaces = self.rest.len() - self.rest.trim_start().len();
            self.skip(spaces);
            if self.rest.starts_with("/*") {
                // Its end is not part of its beginning: `/*/` opens one.
                let Some(end) = self.rest[2..].find("*/") else {
                    return Err(self.refuse("a comment without its end"));
                };
                self.skip(end + 4);
            } else if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else {
                return Ok(());
            }
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest.starts_with(word);
        if found {
            self.skip(word.len());
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        self.space()?;
        if depth > DEPTH_MAX {
            return Err(self.refuse(format!("more than {DEPTH_MAX} values in each other")));
        }
        let line = self.line;
        let kind = match self.rest.as_bytes().first() {
            None => return Err(self.refuse("the text ends where a value should be")),
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Kind::Text(self.text()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) if self.takes("true") => Kind::Flag(true),
            Some(_) if self.takes("false") => Kind::Flag(false),
            Some(_) if self.takes("null") => Kind::Null,
            Some(_) => {
                let word: String = self.rest.chars().take(12).collect();
                return Err(self.refuse(format!("'{word}' where a value should be")));
            }
        };
        Ok(Value { line, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind> {
        let mut entries = Vec::new();
        self.items("}", |reader| {
            if !reader.rest.starts_with('"') {
                return Err(reader.refuse("a key in quotes, or '}', should be here"));
            }
            let key = reader.text()?;
            reader.space()?;
            if !reader.takes(":") {
                return Err(reader.refuse(format!("a ':' should follow \"{key}\"")));
            }
            entries.push((key, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Kind::Object(entries))
    }

    fn list(&mut self, depth: usize) -> Result<Kind> {
        let mut items = Vec::new();
        self.items("]", |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Kind::List(items))
    }

    /// What stands between the bracket that is next and its end, with commas between.
    fn items(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.skip(1);
        loop {
            self.space()?;
            if self.takes(end) {
                return Ok(());
            }
            item(self)?;
            self.space()?;
            if !self.takes(",") && !self.rest.starts_with(end) {
                return Err(self.refuse(format!("a ',' or '{end}' should be here")));
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.skip(at + 1);
                    return Ok(text);
                }
                '\n' => break,
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\' | '/'))) => text.push(c),
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, 'b')) => text.push('\u{8}'),
                    Some((_, 'f')) => text.push('\u{c}'),
                    Some((at, 'u')) => match escaped(&self.rest[at..]) {
                        Some((c, bytes)) => {
                            text.push(c);
                            chars.by_ref().take(bytes - 1).for_each(drop);
                        }
                        None => return Err(self.refuse("\\u without four digits of a character")),
                    },
                    _ => return Err(self.refuse("an escape that JSON has not")),
                },
                c => text.push(c),
            }
        }
        Err(self.refuse("a text without its closing quote"))
    }

    fn number(&mut self) -> Result<Kind> {
        let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.skip(end);
                Ok(Kind::Number(number))
            }
            _ => Err(self.refuse(format!("'{word}' is no number"))),
        }
    }
}

/// The character of an escape from its `u` on, in one half or two of UTF-16, and the bytes that it takes.
fn escaped(text: &str) -> Option<(char, usize)> {
    let half = |at: usize| {
        let digits = text.get(at..at + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = half(1)?;
    let second = (text.get(5..7) == Some("\\u")).then(|| half(7)).flatten();
    match char::decode_utf16([first]).next()? {
        Ok(c) => Some((c, 5)),
        Err(_) => Some((char::decode_utf16([first, second?]).next()?.ok()?, 11)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        parse("f.json", text).expect_err(text).to_string()
    }

    #[test]
    fn escaped_characters_are_read_in_one_half_and_two() {
        let text = "\"\\u00e4\\ud83d\\ude00\\r\\b!\"";
        let Kind::Text(read) = parse("f", text).expect("JSON").kind else { panic!("text") };
        assert_eq!(read, "ä😀\r\u{8}!");
    }

    #[test]
    fn keys_keep_their_order_and_lines_and_may_come_twice() {
        let text =
            "{ /* a\n b */ \"run\": 10,\n\"run\" : -2.5e1, // c\n\"x\": [true, null, \"a\\n\"],}";
        let Kind::Object(entries) = parse("f", text).expect("JSON").kind else { panic!("object") };
        let keys: Vec<(&str, usize)> =
            entries.iter().map(|(key, value)| (key.as_str(), value.line)).collect();
        assert_eq!(keys, [("run", 2), ("run", 3), ("x", 4)]);
        assert_eq!(entries[1].1.kind, Kind::Number(-25.0));
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_line() {
        for (text, part) in [
            ("", "line 1: is not JSON: the text ends"),
            ("{\n\"a\" 1}", "line 2: is not JSON: a ':' should follow \"a\""),
            ("{\"a\": 1 \"b\": 2}", "a ',' or '}'"),
            ("[1 2]", "a ',' or ']'"),
            ("{a: 1}", "a key in quotes"),
            ("{\"a\": x}", "'x}' where a value should be"),
            ("{\"a\": \"x\n\"}", "without its closing quote"),
            ("{} {}", "after the end"),
            ("/* ", "a comment without its end"),
            ("/*/ {}", "a comment without its end"),
            ("-", "'-' is no number"),
            ("1e999", "is no number"),
            ("\"\\u00g1\"", "without four digits"),
            ("\"\\ud83d\"", "without four digits"),
            ("\"\\x41\"", "an escape that JSON has not"),
        ] {
            assert!(problem(text).contains(part), "{text}: {}", problem(text));
        }
        assert!(problem(&"[".repeat(100)).contains("more than 32 values"));
    }
}
