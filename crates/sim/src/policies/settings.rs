//! A policy and its parameters as a text: `linux-2.5.32-a9[wakeup=off,cache_decay_ms=2]`.

use super::Policy;
use crate::kernel::Layout;
pub use coretwin_base::simulation::policy_parameter::Parameter;
use coretwin_base::suggest;

/// A policy before it is built.
#[derive(Debug)]
pub struct PolicyEntry {
    /// Its id.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Where its rules and constants come from.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What it promises; checks hold it to that.
    pub promise: Promise,
    /// Builds it for a machine.
    pub build: fn(&Layout, &Settings) -> Box<dyn Policy>,
}

/// What a policy promises to tasks that may run anywhere, on a machine whose kernel work costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// Whether it uses one CPU of each core only, so that only a whole idle core breaks its promise.
    pub of_cores: bool,
    /// longest time in which CPUs stand idle while such a task waits. 0: a waiting task is seen at once.
    pub idle_longest_ms: u64,
    /// Of equal tasks none waits longer than this for each task there is.
    pub wait_ms_for_each_task: u64,
}

/// A policy with the values of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Which policy.
    pub entry: &'static PolicyEntry,
    values: [i64; PARAMETERS_MAX],
}

pub(crate) const PARAMETERS_MAX: usize = 24;

impl Settings {
    /// A policy with its defaults.
    pub fn of(entry: &'static PolicyEntry) -> Self {
        let mut values = [0; PARAMETERS_MAX];
        for (value, parameter) in values.iter_mut().zip(entry.parameters) {
            *value = parameter.default;
        }
        Self { entry, values }
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
    pub fn number(&self, name: &str) -> i64 {
        let index = self.entry.parameters.iter().position(|parameter| parameter.name == name);
        self.values[index.unwrap_or_else(|| panic!("{} declares no {name}", self.entry.name))]
    }

    /// The value of a switch.
    ///
    /// # Panics
    /// As [`Settings::number`].
    pub fn on(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// The text that reads back as this: the name, and what differs from the defaults.
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
