//! The text of a load, as dbench 4 reads it: one call on each line.
//!
//! `[time] CALL ["path" ["path"]] [number …] STATUS`; words are apart by blanks, quotes hold a
//! word together, numbers are decimal or hexadecimal, empty lines and those that begin with `#`
//! count nothing. The time, where there is one, is not used: calls follow each other at once.
//! A mistake is reported as `file:line:column`, with the word.

use super::builder::{Builder, Opening, offset, size};
use super::{Call, Expect, Handle, Load, PathId, SLEEP_MAX_US};
use crate::Error;
use coretwin_base::suggest;

/// Longest line, in bytes.
const LINE_MAX: usize = 8192;
const CALLS: &[&str] = &[
    "NTCreateX",
    "Close",
    "ReadX",
    "WriteX",
    "Unlink",
    "Rename",
    "Mkdir",
    "Rmdir",
    "QUERY_PATH_INFORMATION",
    "QUERY_FILE_INFORMATION",
    "QUERY_FS_INFORMATION",
    "SET_FILE_INFORMATION",
    "FIND_FIRST",
    "Flush",
    "LockX",
    "UnlockX",
    "Deltree",
    "Sleep",
];
/// Words that only later versions of dbench know.
const LATER: &[&str] =
    &["LOOP", "ENDLOOP", "REPEAT", "SLEEP", "SETSP", "WAITSP", "WRITEPATTERN", "RANDOMSTRING"];

/// Reads the text of a load; `name` is how messages call it. The error is the first mistake, as
/// `name:line:column` with the word and what is wrong with it.
pub fn parse(name: &str, text: &[u8]) -> Result<Load, Error> {
    let mut builder = Builder::new(name, true);
    let mut calls = 0_usize;
    for (number, line) in (1_u32..).zip(text.split(|byte| *byte == b'\n')) {
        let wrong =
            |column: usize, why: String| Error::failed(format!("{name}:{number}:{column}: {why}"));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LINE_MAX {
            return Err(wrong(LINE_MAX, format!("the line is longer than {LINE_MAX} bytes")));
        }
        let line = std::str::from_utf8(line)
            .map_err(|bad| wrong(bad.valid_up_to() + 1, "this is not text".to_owned()))?;
        let words = words(line).map_err(|(column, why)| wrong(column, why))?;
        if words.is_empty() {
            continue;
        }
        builder.line = number;
        let end = line.len() + 1;
        let mut line = Line { builder: &mut builder, words: &words, next: 0, end };
        line.call().map_err(|(column, why)| wrong(column, why))?;
        calls += 1;
    }
    if calls == 0 {
        return Err(Error::failed(format!("{name}:1:1: the load has no call in it")));
    }
    Ok(builder.finish())
}

/// A word with the column it begins in, counted from 1.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    column: usize,
    quoted: bool,
}

type Wrong = (usize, String);

fn words(line: &str) -> Result<Vec<Word<'_>>, Wrong> {
    let bytes = line.as_bytes();
    let mut words = Vec::with_capacity(8);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' => at += 1,
            b'#' if words.is_empty() => break,
            b'"' => {
                let rest = &line[at + 1..];
                let length = rest
                    .find('"')
                    .ok_or_else(|| (at + 1, "a quote begins here and does not end".to_owned()))?;
                words.push(Word { text: &rest[..length], column: at + 1, quoted: true });
                at += length + 2;
            }
            _ => {
                let rest = &line[at..];
                let length = rest.find([' ', '\t', '"']).unwrap_or(rest.len());
                words.push(Word { text: &rest[..length], column: at + 1, quoted: false });
                at += length;
            }
        }
    }
    Ok(words)
}

struct Line<'a> {
    builder: &'a mut Builder,
    words: &'a [Word<'a>],
    next: usize,
    end: usize,
}

impl<'a> Line<'a> {
    fn take(&mut self, what: &str) -> Result<Word<'a>, Wrong> {
        let word = self.words.get(self.next).copied();
        self.next += 1;
        word.ok_or_else(|| (self.end, format!("the line ends where {what} should be")))
    }

    /// The next word as a number, and what it means; a reason that comes back is said of the word.
    fn number<T>(
        &mut self,
        what: &str,
        meaning: impl FnOnce(&mut Builder, u64) -> Result<T, String>,
    ) -> Result<T, Wrong> {
        let word = self.take(what)?;
        let number = number(word.text).filter(|_| !word.quoted);
        let number = number.ok_or_else(|| {
            let later = word.text.starts_with(['*', '+']) && !word.quoted;
            let hint = if later { " (dbench 4.0 knows no random numbers)" } else { "" };
            (word.column, format!("'{}' is not {what}, a number{hint}", word.text))
        })?;
        meaning(self.builder, number).map_err(|why| said(&word, &why))
    }

    fn skip(&mut self, what: &str) -> Result<u64, Wrong> {
        self.number(what, |_, number| Ok(number))
    }

    fn handle(&mut self) -> Result<Handle, Wrong> {
        self.number("a handle", |builder, number| builder.handle(number))
    }

    fn small(&mut self, what: &str, too_large: &str) -> Result<u32, Wrong> {
        self.number(what, |_, number| u32::try_from(number).map_err(|_| too_large.to_owned()))
    }

    fn path(&mut self) -> Result<PathId, Wrong> {
        let word = self.take("a path")?;
        self.builder.path(word.text).map_err(|why| said(&word, &why))
    }

    fn status(&mut self) -> Result<Expect, Wrong> {
        let word = self.take("a status")?;
        if let Some(extra) = self.words.get(self.next) {
            return Err((
                extra.column,
                format!("'{}' is a word too many: the status is the last word", extra.text),
            ));
        }
        status(word.text).ok_or_else(|| {
            let what = "is not a status: it begins with NT_STATUS_ or 0x";
            (word.column, format!("'{}' {what}", word.text))
        })
    }

    fn call(&mut self) -> Result<(), Wrong> {
        let mut verb = self.take("a call")?;
        if verb.text.starts_with(|first: char| first.is_ascii_digit()) && !verb.quoted {
            // The time of the call.
            verb = self.take("a call")?;
        }
        let call = match verb.text {
            "NTCreateX" => return self.open(),
            "ReadX" | "WriteX" => return self.transfer(verb),
            "LockX" | "UnlockX" => {
                let (handle, offset) =
                    (self.handle()?, self.number("an offset", |_, number| offset(number))?);
                let size = self.small("a length", "is too long a range to lock")?;
                Call::Lock { handle, offset, size, lock: verb.text == "LockX" }
            }
            "Close" => {
                Call::Close(self.number("a handle", |builder, number| builder.release(number))?)
            }
            "QUERY_FILE_INFORMATION" | "SET_FILE_INFORMATION" => {
                let handle = self.handle()?;
                self.skip("a level")?;
                let query = verb.text.starts_with('Q');
                if query { Call::QueryFile(handle) } else { Call::SetTimes(handle) }
            }
            "Flush" => Call::Flush(self.handle()?),
            "QUERY_FS_INFORMATION" => {
                self.skip("a level")?;
                Call::QueryFileSystem
            }
            "Sleep" => Call::Sleep(self.number("a pause in microseconds", |_, number| {
                let fits = u32::try_from(number).ok().filter(|_| number <= SLEEP_MAX_US);
                fits.ok_or_else(|| format!("is too long a pause; {SLEEP_MAX_US} µs is the most"))
            })?),
            "Unlink" => {
                let path = self.path()?;
                self.skip("the attributes")?;
                Call::Unlink(path)
            }
            "QUERY_PATH_INFORMATION" => {
                let path = self.path()?;
                self.skip("a level")?;
                Call::QueryPath(path)
            }
            "Rename" => Call::Rename { from: self.path()?, to: self.path()? },
            "FIND_FIRST" => {
                let path = self.path()?;
                self.skip("a level")?;
                let many = "is too large a number of names";
                let maximum = self.small("the most names", many)?;
                Call::Find { path, maximum, count: self.small("the number of names", many)? }
            }
            "Mkdir" => Call::MakeDirectory(self.path()?),
            "Rmdir" => Call::RemoveDirectory(self.path()?),
            "Deltree" => Call::Deltree(self.path()?),
            word => return Err((verb.column, unknown(word))),
        };
        let expect = self.status()?;
        self.builder.push(call, expect).map_err(|why| (verb.column, format!("this {why}")))
    }

    fn open(&mut self) -> Result<(), Wrong> {
        let path = self.path()?;
        let options = self.skip("the options")?;
        let disposition = self.number("the disposition", |_, number| match number {
            0..=5 => Ok(number),
            _ => Err("is not a disposition: it is 0 to 5".to_owned()),
        })?;
        let word = self.words.get(self.next).copied();
        let number = self.skip("a handle")?;
        let expect = self.status()?;
        let opening = Opening {
            directory: options & 1 == 1,
            create: matches!(disposition, 2 | 4 | 5),
            truncate: matches!(disposition, 4 | 5),
        };
        let opened = self.builder.open(path, number, opening, expect);
        opened.map_err(|why| word.map_or((1, why.clone()), |word| said(&word, &why)))
    }

    fn transfer(&mut self, verb: Word<'_>) -> Result<(), Wrong> {
        let number =
            self.number("a handle", |builder, number| builder.handle(number).map(|_| number))?;
        let offset = self.number("an offset", |_, number| offset(number))?;
        let wanted = self.number("a size", |_, number| size(number))?;
        let expected = self.number("the size that was moved", |_, moved| match size(moved)? {
            moved if moved <= wanted => Ok(moved),
            _ => Err(format!("is more than the {wanted} bytes that were asked for")),
        })?;
        let expect = self.status()?;
        let (writes, moved) = (verb.text == "WriteX", (offset, wanted, expected));
        let pushed = self.builder.transfer(writes, number, moved, expect);
        pushed.map_err(|why| (verb.column, format!("this {why}")))
    }
}

fn unknown(word: &str) -> String {
    if word.starts_with("SMB") {
        return format!(
            "'{word}' is a call of dbench 1; this is a load file of that version, and only those \
             of dbench 4 can be read (the load netbench-2002 stands in for it)"
        );
    }
    if LATER.contains(&word) {
        return format!("'{word}' belongs to versions of dbench after 4.0");
    }
    suggest::unknown("call", word, CALLS)
}

fn said(word: &Word<'_>, why: &str) -> Wrong {
    (word.column, format!("'{}' {why}", word.text))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok().filter(|_| !text.starts_with('+')),
    }
}

fn status(text: &str) -> Option<Expect> {
    match text {
        "NT_STATUS_OK" | "SUCCESS" => Some(Expect::Success),
        "*" => Some(Expect::Anything),
        _ if text.starts_with("NT_STATUS_") || text.starts_with("ERROR") => Some(Expect::Failure),
        _ if text.starts_with("0x") => {
            Some(if number(text)? == 0 { Expect::Success } else { Expect::Failure })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "\
# a comment
Deltree \"\\clients\\client1\" NT_STATUS_OK

0.5 Mkdir \"\\clients\" 0x0
NTCreateX \"/clients/client1/a b.txt\" 0x40 0x2 9938 NT_STATUS_OK\r
WriteX 9938 65534 0x1 1 NT_STATUS_OK
WriteX 9938 0 4096 4096 NT_STATUS_OK
ReadX 9938 0 512 512 NT_STATUS_OK
LockX 9938 2147483538 1 NT_STATUS_OK
UnlockX 9938 2147483538 1 *
NTCreateX \"\\no\" 0x40 0x1 9938 NT_STATUS_OBJECT_NAME_NOT_FOUND
Close 9938 SUCCESS
Rename \"\\clients\\client1\\a b.txt\" \"\\b\" 0xC0000034
FIND_FIRST \"\\clients\\client1\\*\" 260 1366 1 NT_STATUS_OK
Sleep 10 NT_STATUS_OK
";

    #[test]
    fn a_load_is_read() {
        let load = parse("good", GOOD.as_bytes()).expect("good");
        assert_eq!(load.operations.len(), 13);
        assert_eq!((load.read_bytes, load.written_bytes), (512, 4097));
        assert_eq!((load.live_bytes_max, load.handles_max, load.size_max), (65_535, 1, 4096));
        assert_eq!(load.place(1), "good:4");
        assert_eq!(load.path_of(PathId(2), 7), "clients/client7/a b.txt");
        let expects: Vec<Expect> = load.operations.iter().map(|done| done.expect).collect();
        assert_eq!(expects[8..11], [Expect::Failure, Expect::Success, Expect::Failure]);
        assert!(load.resolves_names);
    }

    use super::super::PathId;

    #[test]
    fn mistakes_are_named_with_line_column_and_word() {
        let open = "NTCreateX \"/f\" 0x40 0x2 7 NT_STATUS_OK\n";
        for (line, said) in [
            ("Clsoe 7 NT_STATUS_OK", "1:1: there is no call 'Clsoe'; did you mean 'Close'?"),
            ("Close 8 NT_STATUS_OK", "1:7: '8' is a handle that is used before"),
            ("SMBopenX REQUEST", "1:1: 'SMBopenX' is a call of dbench 1"),
            ("  LOOP 3", "1:3: 'LOOP' belongs to versions of dbench after 4.0"),
            ("Flush", "1:6: the line ends where a handle should be"),
            ("Sleep x 0x0", "1:7: 'x' is not a pause in microseconds, a number"),
            ("Sleep *%5 0x0", "1:7: '*%5' is not a pause in microseconds, a number (dbench 4.0"),
            ("Sleep 60000001 0x0", "'60000001' is too long a pause"),
            ("Sleep 1 OK", "1:9: 'OK' is not a status"),
            ("Sleep 1 0x0 0x0", "1:13: '0x0' is a word too many"),
            ("Unlink \"/f 0 0x0", "1:8: a quote begins here"),
            ("Unlink f 0 0x0", "1:8: 'f' is not a path"),
            ("Unlink \"/a/../../b\" 0 0x0", "1:8: '/a/../../b' holds '..'"),
            ("NTCreateX \"/f\" 0x40 0x6 7 0x0", "1:21: '0x6' is not a disposition"),
            ("NTCreateX \"/f\" -1 0x2 7 0x0", "1:16: '-1' is not the options"),
            ("0.1", "1:4: the line ends where a call should be"),
            ("", "1:1: the load has no call in it"),
        ] {
            let error = parse("L", line.as_bytes()).expect_err(line).to_string();
            assert!(error.starts_with("L:") && error.contains(said), "{line}: {error}");
        }
        for (line, said) in [
            ("WriteX 7 0 16777217 1 0x0", "2:12: '16777217' is too large a size"),
            ("ReadX 7 1099511627777 1 1 0x0", "2:9: '1099511627777' is too large an offset"),
            ("ReadX 7 0 10 11 0x0", "2:14: '11' is more than the 10 bytes"),
            ("NTCreateX \"/g\" 0 2 7 0x0", "2:20: '7' is a handle that is open already"),
            ("LockX 7 0 4294967296 0x0", "2:11: '4294967296' is too long a range"),
        ] {
            let error = parse("L", format!("{open}{line}").as_bytes()).expect_err(line).to_string();
            assert!(error.contains(said), "{line}: {error}");
        }
        let error = parse("L", b"Close \xff 0x0").expect_err("bytes").to_string();
        assert!(error.contains("L:1:7: this is not text"), "{error}");
    }

    #[test]
    fn open_handles_are_bounded_and_reused() {
        let open = |number| format!("NTCreateX \"/f\" 0 2 {number} 0x0\n");
        let many: String = (0..200).map(open).collect();
        assert_eq!(parse("L", many.as_bytes()).expect("200").handles_max, 200);
        let error = parse("L", (many.clone() + &open(999)).as_bytes()).expect_err("201");
        assert!(error.to_string().contains("L:201:20: '999' is one open handle too many"));
        let reused = many + "Close 5 0x0\n" + &open(999);
        assert_eq!(parse("L", reused.as_bytes()).expect("reused").handles_max, 200);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse("L", &text);
        }

        #[test]
        fn no_arrangement_of_words_makes_it_panic(
            picks in prop::collection::vec((0..CALLS.len(), 0..12_usize, 0..12_usize, 0..5_u8), 1..60)
        ) {
            const WORDS: &[&str] = &[
                "\"/clients/client1/a\"", "\"\\b\"", "\"/\"", "0", "1", "65536", "0x7", "7", "0x0",
                "NT_STATUS_OK", "NT_STATUS_NO", "18446744073709551615",
            ];
            let text: String = picks.iter().map(|(call, first, second, count)| {
                let middle = [WORDS[*first], WORDS[*second], "7", "1"];
                let middle = middle[..usize::from(*count).min(4)].join(" ");
                format!("{} {middle} NT_STATUS_OK\n", CALLS[*call])
            }).collect();
            if let Ok(load) = parse("L", text.as_bytes()) {
                prop_assert_eq!(load.operations.len(), picks.len());
                prop_assert!(load.live_bytes_max <= load.operations.len() as u64 * (1 << 41));
            }
        }
    }
}
