//! Rust text, taken apart as far as the rules need: code, texts and comments told from each other,
//! braces matched, functions and tables of constants found.

use std::ops::RangeInclusive;

/// What a byte of source belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    /// The inside of a string or character literal, quotes included.
    Text,
    Comment,
}

/// A file of Rust.
pub(crate) struct Source {
    /// The code alone: texts and comments blanked out, lines kept.
    pub(super) code: String,
    /// The comments alone, likewise.
    pub(super) comments: String,
    pub(super) lines: usize,
}

/// A function: its name and its lines, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: RangeInclusive<usize>,
}

impl Source {
    pub(crate) fn parse(text: &str) -> Self {
        let kinds = kinds(text.as_bytes());
        let keep = |wanted: Kind| -> String {
            let bytes = text.bytes().zip(&kinds);
            let kept = bytes.map(|(byte, kind)| match byte {
                b'\n' => '\n',
                byte if *kind == wanted && byte.is_ascii() => char::from(byte),
                _ => ' ',
            });
            kept.collect()
        };
        Self { code: keep(Kind::Code), comments: keep(Kind::Comment), lines: text.lines().count() }
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.code.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Offsets at which a word stands in the code.
    pub(crate) fn word<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        words(&self.code, word)
    }

    /// Every function with a body, nested ones too.
    pub(super) fn functions(&self) -> Vec<Function> {
        let functions = self.word("fn").filter_map(|start| {
            let rest = &self.code[start + 2..];
            let name: String = rest.trim_start().chars().take_while(|c| is_word(*c)).collect();
            // A type such as fn(u32) has no name.
            if name.is_empty() {
                return None;
            }
            let open = self.body(start + 2)?;
            let close = self.closing(open)?;
            Some(Function { name, lines: self.line_of(start)..=self.line_of(close) })
        });
        functions.collect()
    }

    /// The lines of tables: constants and statics of several lines.
    pub(super) fn tables(&self) -> Vec<RangeInclusive<usize>> {
        let mut found: Vec<RangeInclusive<usize>> = Vec::new();
        for start in self.word("const").chain(self.word("static")) {
            let rest = self.code[start..].trim_start_matches(is_word).trim_start();
            let named = rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
            let lines = self.line_of(start)..=self.end_of_item(start).unwrap_or(0);
            let inside = |outer: &RangeInclusive<usize>| outer.contains(lines.start());
            if named && lines.end() > lines.start() && !found.iter().any(inside) {
                found.push(lines);
            }
        }
        found
    }

    /// The opening brace of the body of a function whose name begins here; `None` if it has no
    /// body.
    fn body(&self, from: usize) -> Option<usize> {
        let mut depth = 0;
        for (at, byte) in self.code.bytes().enumerate().skip(from) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b'{' if depth == 0 => return Some(at),
                b';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        for (at, byte) in self.code.bytes().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => return Some(at),
                b'}' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The line of the semicolon that ends an item.
    fn end_of_item(&self, from: usize) -> Option<usize> {
        let mut depth = 0_i32;
        for (at, byte) in self.code.bytes().enumerate().skip(from) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b';' if depth == 0 => return Some(self.line_of(at)),
                _ => {}
            }
            if depth < 0 {
                return None;
            }
        }
        None
    }
}

/// Offsets at which a word stands by itself. Its ends count only where they are letters: `dbg!`
/// is found in `dbg!(x)`.
pub(super) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let free = |end: Option<char>, outer: Option<char>| {
            !(end.is_some_and(is_word) && outer.is_some_and(is_word))
        };
        free(word.chars().next(), before) && free(word.chars().next_back(), after)
    })
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What each byte belongs to.
fn kinds(bytes: &[u8]) -> Vec<Kind> {
    let mut kinds = Vec::with_capacity(bytes.len());
    while kinds.len() < bytes.len() {
        let at = kinds.len();
        let (kind, length) = piece(bytes, at);
        kinds.resize((at + length.max(1)).min(bytes.len()), kind);
    }
    kinds
}

/// The comment, literal or byte of code that begins here, and its length.
fn piece(bytes: &[u8], at: usize) -> (Kind, usize) {
    let rest = &bytes[at..];
    let after_word = at > 0 && is_word(char::from(bytes[at - 1]));
    match rest {
        [b'/', b'/', ..] => {
            (Kind::Comment, rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()))
        }
        [b'/', b'*', ..] => (Kind::Comment, block_comment(rest)),
        [b'"', ..] => (Kind::Text, quoted(rest, b'"')),
        [b'r' | b'b' | b'c', ..] if !after_word => {
            raw_string(rest).map_or((Kind::Code, 1), |length| (Kind::Text, length))
        }
        [b'\'', b'\\', ..] => (Kind::Text, quoted(rest, b'\'')),
        [b'\'', ..] => character(rest).map_or((Kind::Code, 1), |length| (Kind::Text, length)),
        _ => (Kind::Code, 1),
    }
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// A literal with escapes, from its opening to its closing quote.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// `r"…"`, `br#"…"#` and the like; `None` if something else begins here.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if !rest[..prefix].ends_with(b"r") || prefix > 2 {
        return None;
    }
    let hashes = rest[prefix..].iter().take_while(|&&byte| byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'#'; hashes];
    close.insert(0, b'"');
    let inside = &rest[open + 1..];
    let length = inside.windows(close.len()).position(|window| window == close);
    Some(open + 1 + length.map_or(inside.len(), |length| length + close.len()))
}

/// `'x'`, of any number of bytes; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(&rest[..rest.len().min(6)]);
    let mut chars = text.chars().skip(1);
    let inside = chars.next()?;
    (chars.next() == Some('\'')).then(|| inside.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_are_told_from_code() {
        let text = r####"let a = "// {"; // } "quoted"
let b = '{'; let c: &'static str = r#"" fn { "#; /* /* { */ } */ let d = b'\''; let e = '\u{7b}';
let var = br"{"; let for_loop = 'é'; let x = f"####;
        let source = Source::parse(text);
        assert_eq!(source.code.len(), text.len());
        assert!(!source.code.contains(['{', '}', '"', '#']), "{}", source.code);
        for kept in ["let a =", "let b =", "&'static str =", "let d =", "let e =", "let x = f"] {
            assert!(source.code.contains(kept), "{kept} not in {}", source.code);
        }
        assert!(source.comments.contains("} \"quoted\"") && !source.comments.contains("let"));
    }

    #[test]
    fn functions_are_measured_with_their_braces() {
        let text = "fn one() {}\ntrait T { fn none(&self) -> u8; }\ntype F = fn(u32) -> u8;\n\
                    fn two<'a>(s: [u8; 2]) -> &'a str {\n    let c = '}';\n    \"}\"\n}\n";
        let found: Vec<(String, usize)> = Source::parse(text)
            .functions()
            .into_iter()
            .map(|function| (function.name, function.lines.count()))
            .collect();
        assert_eq!(found, [("one".to_owned(), 1), ("two".to_owned(), 4)]);
    }

    #[test]
    fn tables_are_constants_of_several_lines() {
        let text = "const A: &[u8] = &[\n    1,\n    2,\n];\nconst fn f() {\n}\nstatic B: u8 = 1;\n\
                    fn g() {\n    const C: [&str; 2] = [\";\",\n \"x\"];\n}\n";
        assert_eq!(Source::parse(text).tables(), [1..=4, 9..=10]);
    }

    #[test]
    fn words_stand_by_themselves() {
        let source = Source::parse("dbg!(x); my_dbg!(y); HashMap HashMapper");
        assert_eq!(source.word("dbg!").count(), 1);
        assert_eq!(source.word("HashMap").count(), 1);
    }

    #[test]
    fn broken_source_is_read_to_its_end() {
        for text in ["\"", "'", "r#\"", "/*", "b'\\", "fn x(", "const A", "'é", "r", "\\"] {
            let source = Source::parse(text);
            assert_eq!(source.code.len(), text.len());
            assert!(source.functions().is_empty() && source.tables().is_empty());
        }
    }
}
