//! A policy and its parameters as a text: `linux-2.5.32-a9[wakeup=off,cache_decay_ms=2]`.

use super::table::{POLICIES, PolicyEntry, policy};
pub use coretwin_base::parameter::Parameter;
use coretwin_base::suggest;

/// A policy with the values of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Which policy.
    pub entry: &'static PolicyEntry,
    values: [i64; PARAMETERS_MAX],
}

/// The most parameters of a policy.
pub(crate) const PARAMETERS_MAX: usize = 24;

impl Settings {
    /// A policy with its defaults.
    #[must_use]
    pub fn of(entry: &'static PolicyEntry) -> Self {
        let mut values = [0; PARAMETERS_MAX];
        for (value, parameter) in values.iter_mut().zip(entry.parameters) {
            *value = parameter.default;
        }
        Self { entry, values }
    }

    /// Reads `NAME` or `NAME[parameter=value,…]`.
    ///
    /// # Errors
    /// A sentence that says what is unknown or out of range, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, inner) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(inner) => (name, inner),
                None => return Err(format!("'{text}' lacks its closing ']'")),
            },
        };
        let Some(entry) = policy(name.trim()) else {
            let known: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
            return Err(suggest::unknown("policy", name.trim(), &known));
        };
        let mut settings = Self::of(entry);
        for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("'{part}' in '{text}' is no parameter=value"));
            };
            settings.set(key.trim(), value.trim())?;
        }
        Ok(settings)
    }

    /// Sets a parameter from a text.
    ///
    /// # Errors
    /// As [`Settings::parse`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let policy = self.entry.name;
        let parameters = self.entry.parameters;
        let Some(index) = parameters.iter().position(|parameter| parameter.name == name) else {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            if known.is_empty() {
                return Err(format!("{policy} has no parameters, and so no '{name}'"));
            }
            return Err(suggest::unknown(&format!("parameter of {policy}"), name, &known));
        };
        self.values[index] =
            parameters[index].read(value).map_err(|why| format!("{policy}: {why}"))?;
        Ok(())
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// If the policy did not declare it: a mistake in its file, which its own tests meet.
    #[must_use]
    pub fn number(&self, name: &str) -> i64 {
        let index = self.entry.parameters.iter().position(|parameter| parameter.name == name);
        self.values[index.unwrap_or_else(|| panic!("{} declares no {name}", self.entry.name))]
    }

    /// The value of a switch.
    ///
    /// # Panics
    /// As [`Settings::number`].
    #[must_use]
    pub fn on(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// The text that reads back as this: the name, and what differs from the defaults.
    #[must_use]
    pub fn text(&self) -> String {
        let pairs = self.entry.parameters.iter().zip(self.values);
        let changed: Vec<String> = pairs
            .filter(|(parameter, value)| parameter.default != *value)
            .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.word(value)))
            .collect();
        match changed.is_empty() {
            true => self.entry.name.to_owned(),
            false => format!("{}[{}]", self.entry.name, changed.join(",")),
        }
    }
}
