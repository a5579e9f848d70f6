//! Parameters of workloads, and the `name:key=value,key=value` form people type.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ParamValue {
    Int(i64),
    Text(String),
}

/// Stands for the arm's number of threads, in a parameter as in a command.
pub const THREADS: &str = "{threads}";

impl ParamValue {
    pub fn parse(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Int)
    }

    /// Whether it is the number of threads of the arm, to be filled in.
    pub fn is_threads(&self) -> bool {
        matches!(self, Self::Text(text) if text == THREADS)
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(*n),
            Self::Text(_) => None,
        }
    }
}

impl From<i64> for ParamValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl<'de> Deserialize<'de> for ParamValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = ParamValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a text")
            }
            fn visit_i64<E>(self, n: i64) -> Result<ParamValue, E> {
                Ok(ParamValue::Int(n))
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<ParamValue, E> {
                i64::try_from(n).map(ParamValue::Int).map_err(|_| E::custom("number too large"))
            }
            fn visit_str<E>(self, text: &str) -> Result<ParamValue, E> {
                Ok(ParamValue::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

pub type Params = BTreeMap<String, ParamValue>;

/// A workload with its parameters, as typed: `chat:rooms=20,messages=100`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// Name of a workload or suite.
    pub name: String,
    pub params: Params,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a workload: {why}; write it like chat:rooms=20,messages=100")]
pub struct BadSpec {
    pub text: String,
    pub why: String,
}

impl WorkloadSpec {
    /// Reads the typed form. Errors: [`BadSpec`] naming the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, BadSpec> {
        let bad = |why: String| BadSpec { text: text.to_owned(), why };
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        if name.is_empty() {
            return Err(bad("the name is missing".to_owned()));
        }
        let mut params = Params::new();
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| bad(format!("'{part}' has no '='")))?;
            if key.is_empty() || value.is_empty() {
                return Err(bad(format!("'{part}' lacks a name or a value")));
            }
            if params.insert(key.to_owned(), ParamValue::parse(value)).is_some() {
                return Err(bad(format!("'{key}' is given twice")));
            }
        }
        Ok(Self { name: name.to_owned(), params })
    }
}

/// `name` or `name:key=value,…`: the label of a row, unique within a plan.
pub fn label(name: &str, params: &Params) -> String {
    let mut text = name.to_owned();
    for (index, (key, value)) in params.iter().enumerate() {
        text.push(if index == 0 { ':' } else { ',' });
        text.push_str(&format!("{key}={value}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_form_survives_a_round_trip() {
        for text in ["chat", "chat:messages=100,rooms=20", "lmbench/pipe-latency:path=/tmp/x"] {
            let spec = WorkloadSpec::parse(text).expect(text);
            assert_eq!(label(&spec.name, &spec.params), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("", "name is missing"),
            ("chat:", "no '='"),
            ("chat:rooms", "no '='"),
            ("chat:rooms=", "lacks"),
            ("chat:rooms=1,rooms=2", "twice"),
        ] {
            let error = WorkloadSpec::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn json_keeps_numbers_numbers() {
        let params: Params =
            [("a".to_owned(), ParamValue::Int(5)), ("b".to_owned(), ParamValue::parse("x"))].into();
        let json = serde_json::to_string(&params).expect("json");
        assert_eq!(json, r#"{"a":5,"b":"x"}"#);
        assert_eq!(serde_json::from_str::<Params>(&json).expect("back"), params);
    }
}
