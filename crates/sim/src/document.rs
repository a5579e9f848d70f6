//! A TOML text as its readers see it: tables that know their file, key and line, give values within
//! a range, and refuse every key that no reader asked for.
//!
//! Presets, profiles, machines and scenarios are read with it, so that all refuse bad input in the same
//! words. An *item* is a table with values, their source and the confidence in it.

use crate::{Error, Result};
use coretwin_base::caps;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a value comes from, and how far to trust it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    pub key: String,
    pub source: String,
    pub confidence: Confidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// General knowledge, or an estimate.
    Low,
    /// One secondary source.
    Medium,
    /// The maker's document, or a measurement with its method.
    High,
}

const CONFIDENCES: [(&str, Confidence); 3] =
    [("low", Confidence::Low), ("medium", Confidence::Medium), ("high", Confidence::High)];

pub(crate) struct Document<'text> {
    file: &'text str,
    text: &'text str,
    root: DeTable<'text>,
    provenance: RefCell<Vec<Provenance>>,
}

impl<'text> Document<'text> {
    /// Parses the text; `file` is named in every error.
    pub(crate) fn parse(file: &'text str, text: &'text str) -> Result<Self> {
        let refuse = |problem: String| Error::Text { file: file.to_owned(), problem };
        if text.len() as u64 > caps::MODEL.bytes {
            return Err(refuse(caps::MODEL.exceeded().to_string()));
        }
        match DeTable::parse(text) {
            Ok(root) => {
                Ok(Self { file, text, root: root.into_inner(), provenance: RefCell::default() })
            }
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(text, span.start));
                Err(refuse(format!("line {line}: is not TOML: {}", error.message().trim())))
            }
        }
    }

    pub(crate) fn root(&self) -> Table<'_> {
        let asked = Vec::new();
        Table { document: self, path: String::new(), at: 0, entries: &self.root, asked }
    }

    pub(crate) fn provenance(&self) -> Vec<Provenance> {
        self.provenance.take()
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

pub(crate) trait Whole: Copy + Into<i128> + TryFrom<i128> {}
impl<T: Copy + Into<i128> + TryFrom<i128>> Whole for T {}

/// One table, with the keys that were asked for so far.
pub(crate) struct Table<'doc> {
    document: &'doc Document<'doc>,
    path: String,
    at: usize,
    entries: &'doc DeTable<'doc>,
    asked: Vec<String>,
}

impl<'doc> Table<'doc> {
    /// Its keys, in alphabetical order, whether asked for or not.
    pub(crate) fn keys(&self) -> Vec<&'doc str> {
        self.entries.keys().map(|key| key.get_ref().as_ref()).collect()
    }

    /// An error at a key of this table; an empty key is the table itself.
    pub(crate) fn refuse(&self, key: &str, problem: impl Into<String>) -> Error {
        let offset = self.entries.iter().find(|(known, _)| known.get_ref() == key);
        let offset = offset.map_or(self.at, |(_, value)| value.span().start);
        Error::Value {
            file: format!("{}:{}", self.document.file, line_of(self.document.text, offset)),
            key: self.full(key),
            problem: problem.into(),
        }
    }

    fn full(&self, key: &str) -> String {
        match (self.path.is_empty(), key.is_empty()) {
            (true, true) => "the file".to_owned(),
            (true, false) => key.to_owned(),
            (false, true) => self.path.clone(),
            (false, false) => format!("{}.{key}", self.path),
        }
    }

    fn look(&mut self, key: &str) -> Option<(&'doc DeValue<'doc>, usize)> {
        if !self.asked.iter().any(|asked| asked == key) {
            self.asked.push(key.to_owned());
        }
        let entry = self.entries.iter().find(|(known, _)| known.get_ref() == key);
        entry.map(|(_, value)| (value.get_ref(), value.span().start))
    }

    /// A table within that was read before, for errors about values that contradict each other.
    pub(crate) fn inner(&self, key: &str) -> Option<Table<'doc>> {
        let (_, value) = self.entries.iter().find(|(known, _)| known.get_ref() == key)?;
        let entries = value.get_ref().as_table()?;
        Some(self.within(self.full(key), value.span().start, entries))
    }

    /// Whether the key is there; it then counts as asked for.
    pub(crate) fn has(&mut self, key: &str) -> bool {
        self.look(key).is_some()
    }

    fn need(&mut self, key: &str) -> Result<(&'doc DeValue<'doc>, usize)> {
        if let Some(found) = self.look(key) {
            return Ok(found);
        }
        let strangers = self.keys().into_iter().filter(|k| !self.asked.iter().any(|a| a == k));
        Err(match coretwin_base::suggest::nearest(key, strangers) {
            Some(typed) => self.refuse(typed, format!("is unknown; did you mean '{key}'?")),
            None => self.refuse("", format!("has no '{key}'")),
        })
    }

    pub(crate) fn table(&mut self, key: &str) -> Result<Table<'doc>> {
        let (value, at) = self.need(key)?;
        match value {
            DeValue::Table(entries) => Ok(self.within(self.full(key), at, entries)),
            other => Err(self.refuse(key, format!("must be a table, not {}", kind(other)))),
        }
    }

    /// A list of tables, `[[key]]`, empty if it is not there.
    pub(crate) fn tables(&mut self, key: &str) -> Result<Vec<Table<'doc>>> {
        let Some((value, _)) = self.look(key) else { return Ok(Vec::new()) };
        let DeValue::Array(items) = value else {
            return Err(self.refuse(key, format!("must be a list of tables, not {}", kind(value))));
        };
        let table = |(number, item): (usize, &'doc Spanned<DeValue<'doc>>)| match item.get_ref() {
            DeValue::Table(entries) => {
                let path = format!("{}[{number}]", self.full(key));
                Ok(self.within(path, item.span().start, entries))
            }
            other => Err(self.refuse(key, format!("must hold tables, not {}", kind(other)))),
        };
        items.iter().enumerate().map(table).collect()
    }

    fn within(&self, path: String, at: usize, entries: &'doc DeTable<'doc>) -> Table<'doc> {
        Table { document: self.document, path, at, entries, asked: Vec::new() }
    }

    /// What a reader makes of the table; a key that it did not ask for is an error.
    fn read<T>(mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let value = read(&mut self)?;
        self.finish()?;
        Ok(value)
    }

    pub(crate) fn section<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.table(key)?.read(read)
    }

    /// What `read` makes of a key; `None` if it is not there.
    pub(crate) fn if_any<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self, &str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.has(key).then(|| read(self, key)).transpose()
    }

    pub(crate) fn each<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.tables(key)?.into_iter().map(|table| table.read(&mut read)).collect()
    }

    pub(crate) fn item<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.section(key, |item| {
            let value = read(item)?;
            item.provenance()?;
            Ok(value)
        })
    }

    pub(crate) fn item_if_any<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        self.if_any(key, |table, key| table.item(key, read))
    }

    /// An item of one whole number, by the number's key within.
    pub(crate) fn one<T: Whole>(
        &mut self,
        key: &str,
        inner: &str,
        range: RangeInclusive<T>,
    ) -> Result<T> {
        self.item(key, |item| item.whole(inner, range))
    }

    pub(crate) fn provenance(&mut self) -> Result<()> {
        let source = self.words("source")?.to_owned();
        let confidence = self.choice("confidence", &CONFIDENCES)?;
        let provenance = Provenance { key: self.path.clone(), source, confidence };
        self.document.provenance.borrow_mut().push(provenance);
        Ok(())
    }

    pub(crate) fn whole<T: Whole>(&mut self, key: &str, range: RangeInclusive<T>) -> Result<T> {
        let (low, high): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
        let allowed = format!("a whole number from {low} to {high}");
        let (value, _) = self.need(key)?;
        let DeValue::Integer(integer) = value else {
            return Err(self.refuse(key, format!("must be {allowed}, not {}", kind(value))));
        };
        let number = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|number| (low..=high).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            self.refuse(key, format!("is {}; it must be {allowed}", integer.as_str()))
        })
    }

    pub(crate) fn whole_or<T: Whole>(
        &mut self,
        key: &str,
        range: RangeInclusive<T>,
        or: T,
    ) -> Result<T> {
        if self.has(key) { self.whole(key, range) } else { Ok(or) }
    }

    /// A number, whole or not, within the range.
    pub(crate) fn number(&mut self, key: &str, range: RangeInclusive<f64>) -> Result<f64> {
        let (value, _) = self.need(key)?;
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        match numeric(value) {
            Some(number) if range.contains(&number) => Ok(number),
            Some(number) => Err(self.refuse(key, format!("is {number}; it must be {allowed}"))),
            None => Err(self.refuse(key, format!("must be {allowed}, not {}", kind(value)))),
        }
    }

    pub(crate) fn number_or(
        &mut self,
        key: &str,
        range: RangeInclusive<f64>,
        or: f64,
    ) -> Result<f64> {
        if self.has(key) { self.number(key, range) } else { Ok(or) }
    }

    pub(crate) fn holds_list(&mut self, key: &str) -> bool {
        matches!(self.look(key), Some((DeValue::Array(_), _)))
    }

    pub(crate) fn holds_table(&mut self, key: &str) -> bool {
        matches!(self.look(key), Some((DeValue::Table(_), _)))
    }

    /// `true` or `false`; `false` for a key that is not there.
    pub(crate) fn flag(&mut self, key: &str) -> Result<bool> {
        match self.look(key) {
            None => Ok(false),
            Some((DeValue::Boolean(flag), _)) => Ok(*flag),
            Some((other, _)) => {
                Err(self.refuse(key, format!("must be true or false, not {}", kind(other))))
            }
        }
    }

    /// A text that says something.
    pub(crate) fn words(&mut self, key: &str) -> Result<&'doc str> {
        match self.need(key)?.0 {
            DeValue::String(words) if !words.trim().is_empty() => Ok(words),
            DeValue::String(_) => Err(self.refuse(key, "is empty")),
            other => Err(self.refuse(key, format!("must be a text, not {}", kind(other)))),
        }
    }

    pub(crate) fn choice<T: Clone>(&mut self, key: &str, known: &[(&str, T)]) -> Result<T> {
        let word = self.words(key)?;
        self.chosen(key, word, known)
    }

    pub(crate) fn choice_or<T: Clone>(
        &mut self,
        key: &str,
        known: &[(&str, T)],
        or: T,
    ) -> Result<T> {
        if self.has(key) { self.choice(key, known) } else { Ok(or) }
    }

    /// The same, for words that say all.
    pub(crate) fn word(&mut self, key: &str, known: &[&'static str]) -> Result<&'static str> {
        let known: Vec<(&str, &'static str)> = known.iter().map(|word| (*word, *word)).collect();
        self.choice(key, &known)
    }

    fn chosen<T: Clone>(&self, key: &str, word: &str, known: &[(&str, T)]) -> Result<T> {
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == word) {
            return Ok(value.clone());
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let near = coretwin_base::suggest::nearest(word, names.iter().copied());
        let near = near.map_or(String::new(), |name| format!("; did you mean '{name}'?"));
        let problem = format!("is '{word}'; it must be one of {}{near}", names.join(", "));
        Err(self.refuse(key, problem))
    }

    /// A list of words of a closed set.
    pub(crate) fn choices<T: Clone>(&mut self, key: &str, known: &[(&str, T)]) -> Result<Vec<T>> {
        self.list(key, |table, item| match item {
            DeValue::String(word) => table.chosen(key, word, known),
            other => Err(table.refuse(key, format!("must hold words, not {}", kind(other)))),
        })
    }

    /// A list of numbers, each within the range.
    pub(crate) fn numbers(&mut self, key: &str, range: RangeInclusive<f64>) -> Result<Vec<f64>> {
        self.list(key, |table, item| {
            let number = numeric(item).filter(|number| range.contains(number));
            let allowed = || format!("must hold numbers from {} to {}", range.start(), range.end());
            number.ok_or_else(|| table.refuse(key, allowed()))
        })
    }

    /// A list of texts, each of which says something.
    pub(crate) fn texts(&mut self, key: &str) -> Result<Vec<&'doc str>> {
        self.list(key, |table, item| match item {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.as_ref()),
            DeValue::String(_) => Err(table.refuse(key, "holds an empty text")),
            other => Err(table.refuse(key, format!("must hold texts, not {}", kind(other)))),
        })
    }

    fn list<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Self, &'doc DeValue<'doc>) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self.need(key)?.0 {
            DeValue::Array(items) => items.iter().map(|item| read(self, item.get_ref())).collect(),
            other => Err(self.refuse(key, format!("must be a list, not {}", kind(other)))),
        }
    }

    /// Ends the reading of this table: a key that no reader asked for is an error.
    pub(crate) fn finish(self) -> Result<()> {
        self.no_strangers(&[])
    }

    /// Refuses keys that no reader has asked for, except those that will be asked for later.
    pub(crate) fn no_strangers(&self, later: &[&str]) -> Result<()> {
        let asked = || self.asked.iter().map(String::as_str).chain(later.iter().copied());
        let stranger = self.keys().into_iter().find(|key| !asked().any(|known| known == *key));
        let Some(stranger) = stranger else { return Ok(()) };
        Err(self.refuse(stranger, unknown(stranger, &asked().collect::<Vec<_>>())))
    }
}

/// What is wrong with a key that is not known.
pub(crate) fn unknown(key: &str, known: &[&str]) -> String {
    match coretwin_base::suggest::nearest(key, known.iter().copied()) {
        Some(near) => format!("is unknown; did you mean '{near}'?"),
        None => format!("is unknown; known here are {}", known.join(", ")),
    }
}

fn numeric(value: &DeValue<'_>) -> Option<f64> {
    let number: Option<f64> = match value {
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|whole| whole as f64)
        }
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) if numeric(value).is_none() => "what is no finite number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
