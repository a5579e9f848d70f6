//! Reads a number from the output of a command.

use crate::supervisor::Tail;
use coretwin_base::study::command::{Extract, MetricSpec};
use regex::bytes::Regex;
use serde_json::Value;

/// Characters shown of a match that is no number: it may be the whole output.
const SHOWN_MAX: usize = 80;

pub(super) struct Extractor<'a> {
    pub(super) metric: &'a MetricSpec,
    /// None: it is a JSON pointer.
    regex: Option<Regex>,
}

impl<'a> Extractor<'a> {
    pub(super) fn new(metric: &'a MetricSpec) -> Result<Self, String> {
        let name = &metric.name;
        let regex = match &metric.extract {
            Extract::Regex(pattern) => Some(Regex::new(pattern).map_err(|bad| {
                format!("metric '{name}': '{pattern}' is not a regular expression: {bad}")
            })?),
            Extract::JsonPointer(pointer) if pointer.is_empty() || pointer.starts_with('/') => None,
            Extract::JsonPointer(pointer) => {
                return Err(format!("metric '{name}': the JSON pointer '{pointer}' lacks its '/'"));
            }
        };
        Ok(Self { metric, regex })
    }

    /// Reads the number from the output of one run; the last match of a regular expression counts.
    pub(super) fn read(&self, output: &Tail) -> Result<f64, String> {
        let bytes = output.last_bytes();
        let text = match (&self.regex, &self.metric.extract) {
            (Some(regex), _) => last_match(regex, bytes),
            (None, Extract::JsonPointer(pointer)) => at_pointer(bytes, pointer),
            (None, Extract::Regex(_)) => None,
        };
        let Some(text) = text else {
            let cut =
                if output.truncated { ", of which only the last 16 MiB are kept" } else { "" };
            return Err(self.complaint("matches nothing in the output", cut, bytes));
        };
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => {
                let mut shown: String = text.chars().take(SHOWN_MAX).collect();
                if shown.len() < text.len() {
                    shown.push('…');
                }
                Err(self.complaint(&format!("gives '{shown}', which is no number"), "", bytes))
            }
        }
    }

    fn complaint(&self, what: &str, more: &str, bytes: &[u8]) -> String {
        let name = &self.metric.name;
        let (Extract::Regex(pattern) | Extract::JsonPointer(pattern)) = &self.metric.extract;
        let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(200)..]);
        format!("metric '{name}': '{pattern}' {what}{more}; the output ends: {}", end.trim())
    }
}

fn last_match(regex: &Regex, bytes: &[u8]) -> Option<String> {
    let captures = regex.captures_iter(bytes).last()?;
    let found = captures.get(1).or_else(|| captures.get(0))?;
    Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
}

fn at_pointer(bytes: &[u8], pointer: &str) -> Option<String> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    match document.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::study::reading::Better;

    fn read(extract: Extract, output: &str) -> Result<f64, String> {
        let metric = MetricSpec {
            name: "speed".to_owned(),
            extract,
            unit: "MB/s".to_owned(),
            better: Better::Higher,
            primary: true,
        };
        let mut tail = Tail::new(1000);
        tail.push(output.as_bytes());
        Extractor::new(&metric)?.read(&tail)
    }

    fn regex(text: &str) -> Extract {
        Extract::Regex(text.to_owned())
    }

    #[test]
    fn the_last_match_counts_and_a_group_where_there_is_one() {
        assert_eq!(read(regex("speed: ([0-9.]+)"), "speed: 1\nspeed: 2.5 MB\n"), Ok(2.5));
        assert_eq!(read(regex("[0-9]+"), "1 22 333"), Ok(333.0));
        assert_eq!(read(regex("x(-?[0-9e]+)"), "x-2e3"), Ok(-2000.0));
    }

    #[test]
    fn pointers_reach_into_one_document() {
        let output = r#"{"a/b": [1, {"speed": "7.5"}], "c": 3}"#;
        let pointer = |text: &str| Extract::JsonPointer(text.to_owned());
        assert_eq!(read(pointer("/a~1b/1/speed"), output), Ok(7.5));
        assert_eq!(read(pointer("/c"), output), Ok(3.0));
        assert_eq!(read(pointer(""), "4"), Ok(4.0));
    }

    #[test]
    fn what_is_no_number_is_explained() {
        for (extract, output, part) in [
            (regex("rate: (.*)"), "nothing here\n", "matches nothing"),
            (regex("rate: (.*)"), "rate: fast\n", "gives 'fast'"),
            (regex("(?s)(.*)"), &"x".repeat(900), "x…', which is no number"),
            (regex("rate: (.*)"), "rate: NaN\n", "gives 'NaN'"),
            (regex("rate: (.*)"), "rate: inf\n", "gives 'inf'"),
            (Extract::JsonPointer("/a".to_owned()), "{\"a\": null}", "gives 'null'"),
            (Extract::JsonPointer("/a".to_owned()), "not json", "the output ends: not json"),
        ] {
            let error = read(extract, output).expect_err(part);
            assert!(error.contains(part) && error.contains("'speed'"), "{error}");
        }
    }
}
