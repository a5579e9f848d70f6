//! Objects that know their file and path, hand out values with a range, and refuse keys by line.

use super::json::{Kind, Value};
use crate::kernel::{CpuId, CpuSet};
use crate::{Error, Result, document};

pub(super) struct Object<'a> {
    file: &'a str,
    path: String,
    line: usize,
    entries: &'a [(String, Value)],
}

impl<'a> Object<'a> {
    pub(super) fn of(file: &'a str, path: &str, value: &'a Value) -> Result<Self> {
        match &value.kind {
            Kind::Object(entries) => {
                Ok(Self { file, path: path.to_owned(), line: value.line, entries })
            }
            other => Err(Error::Value {
                file: format!("{file}:{}", value.line),
                key: path.to_owned(),
                problem: format!("must be an object, not {}", other.name()),
            }),
        }
    }

    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    pub(super) fn within(&self, key: &str) -> String {
        if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn entries(&self) -> &'a [(String, Value)] {
        self.entries
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn need(&self, key: &str) -> Result<&'a Value> {
        self.get(key).ok_or_else(|| self.refuse("", format!("has no '{key}'")))
    }

    /// An error at a key; an empty one is the object itself.
    pub(super) fn refuse(&self, key: &str, problem: impl Into<String>) -> Error {
        let line = self.get(key).map_or(self.line, |value| value.line);
        self.refuse_at(line, key, problem)
    }

    pub(super) fn refuse_at(&self, line: usize, key: &str, problem: impl Into<String>) -> Error {
        let file = format!("{}:{line}", self.file);
        Error::Value { file, key: self.within(key), problem: problem.into() }
    }

    fn wrong(&self, key: &str, value: &Value, wanted: &str) -> Error {
        let problem = format!("must be {wanted}, not {}", value.kind.name());
        self.refuse_at(value.line, key, problem)
    }

    pub(super) fn only(&self, known: &[&str]) -> Result<()> {
        match self.entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, _)) => Err(self.unknown(key, known)),
        }
    }

    pub(super) fn unknown(&self, key: &str, known: &[&str]) -> Error {
        self.refuse(key, document::unknown(key, known))
    }

    pub(super) fn number(&self, key: &str, low: f64, high: f64) -> Result<Option<f64>> {
        self.get(key).map(|value| self.number_of(key, value, low, high)).transpose()
    }

    pub(super) fn number_of(&self, key: &str, value: &Value, low: f64, high: f64) -> Result<f64> {
        let allowed = format!("a number from {low} to {high}");
        match value.kind {
            Kind::Number(number) if (low..=high).contains(&number) => Ok(number),
            Kind::Number(number) => {
                Err(self.refuse_at(value.line, key, format!("is {number}; it must be {allowed}")))
            }
            _ => Err(self.wrong(key, value, &allowed)),
        }
    }

    pub(super) fn whole(&self, key: &str, low: i64, high: i64) -> Result<Option<i64>> {
        self.get(key).map(|value| self.whole_of(key, value, low, high)).transpose()
    }

    fn whole_of(&self, key: &str, value: &Value, low: i64, high: i64) -> Result<i64> {
        let number = self.number_of(key, value, low as f64, high as f64)?;
        match number.fract() == 0.0 {
            true => Ok(number as i64),
            false => Err(self.refuse_at(value.line, key, format!("is {number}; it must be whole"))),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key).map(|value| self.text_of(key, value)).transpose()
    }

    pub(super) fn text_of(&self, key: &str, value: &'a Value) -> Result<&'a str> {
        match &value.kind {
            Kind::Text(text) => Ok(text),
            _ => Err(self.wrong(key, value, "a text")),
        }
    }

    pub(super) fn cpus(&self, key: &str) -> Result<Option<CpuSet>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Kind::List(items) = &value.kind else {
            return Err(self.wrong(key, value, "a list of CPUs"));
        };
        let cpu = |item: &Value| Ok(CpuId(self.whole_of(key, item, 0, 4095)? as u32));
        let set: CpuSet = items.iter().map(cpu).collect::<Result<Vec<_>>>()?.into_iter().collect();
        match set.is_empty() {
            true => Err(self.refuse(key, "names no CPU")),
            false => Ok(Some(set)),
        }
    }
}
