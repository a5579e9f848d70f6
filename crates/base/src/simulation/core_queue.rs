//! Parameters of `core-queue`, the policy with one queue for each physical core. The simulated kernel
//! and a live scheduler read the same table, so that what is tried in one means the same in the other.

pub mod decide;

use crate::simulation::policy_parameter::Parameter;
use crate::suggest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

pub const NAME: &str = "core-queue";
/// What the kernel calls it while it is loaded, in `/sys/kernel/sched_ext/root/ops`.
pub const OPS_NAME: &str = "coretwin_core_queue";

pub const PARAMETERS: &[Parameter] = &[
    Parameter::switch("active", true, "an idle core takes a running task of a core with several"),
    Parameter::number(
        "active_interval_ms",
        10,
        (1, 10_000),
        "least time between two tasks taken from the same core while they run; a choice",
    ),
    Parameter::switch("affinity", true, "a task goes back to the core it last ran on"),
    Parameter::number(
        "balance_ms",
        10,
        (4, 10_000),
        "time between two looks of a busy core at others; a choice",
    ),
    Parameter::switch("idle_core_first", true, "an idle core before an idle sibling at wake-up"),
    Parameter::switch(
        "passive",
        true,
        "tasks that start or wait leave their core for a less busy one",
    ),
    Parameter::switch("pickup", true, "a CPU runs whatever waits on its core"),
    Parameter::number(
        "preempt_us",
        2000,
        (0, 1_000_000),
        "how much less CPU time a woken task must have had to take a running one's place; a choice",
    ),
    Parameter::number("slice_us", 3000, (100, 1_000_000), "time slice while others wait; a choice"),
    Parameter::switch("wakeup", true, "a task that wakes on a busy CPU gets an idle sibling"),
];

/// A value for every parameter. As JSON an object, a number by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    values: Vec<i64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { values: PARAMETERS.iter().map(|parameter| parameter.default).collect() }
    }
}

impl Options {
    /// Sets a parameter from what was typed. Errors: a sentence that says what is unknown or out of
    /// range, and what is allowed.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let found = PARAMETERS.iter().zip(&mut self.values).find(|(known, _)| known.name == name);
        let Some((parameter, value)) = found else {
            let known: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
            return Err(suggest::unknown(&format!("parameter of {NAME}"), name, &known));
        };
        *value = parameter.read(text).map_err(|why| format!("{NAME}: {why}"))?;
        Ok(())
    }

    /// Reads a scheduler as an arm names it: `core-queue` or `core-queue[parameter=value,…]`; `None` if
    /// that is another scheduler. Errors: as [`Options::set`], or what is wrong with the form.
    pub fn of_scheduler(text: &str) -> Result<Option<Self>, String> {
        let (name, inner) = match text.split_once('[') {
            None => (text, Some("")),
            Some((name, rest)) => (name, rest.strip_suffix(']')),
        };
        if name != NAME {
            return Ok(None);
        }
        let inner = inner.ok_or_else(|| format!("'{text}' lacks its closing ']'"))?;
        let mut options = Self::default();
        for part in inner.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{part}' in '{text}' is no parameter=value"))?;
            options.set(name.trim(), value.trim())?;
        }
        Ok(Some(options))
    }

    /// The value of a parameter; `None` if there is no such parameter.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.iter().find(|(parameter, _)| parameter.name == name).map(|(_, value)| value)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.number(name).is_some_and(|value| value != 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, i64)> {
        PARAMETERS.iter().zip(self.values.iter().copied())
    }

    /// What differs from the defaults, as it is typed: `name=value`.
    pub fn changed(&self) -> Vec<String> {
        self.iter()
            .filter(|(parameter, value)| parameter.default != *value)
            .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.word(value)))
            .collect()
    }
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(parameter, value)| (parameter.name, value)))
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut options = Self::default();
        for (name, value) in BTreeMap::<String, i64>::deserialize(deserializer)? {
            options.set(&name, &value.to_string()).map_err(serde::de::Error::custom)?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_name_within_their_limits() {
        let mut options = Options::default();
        options.set("active", "off").expect("a switch");
        options.set("slice_us", "2000").expect("a number");
        assert!(!options.is_on("active") && options.is_on("passive"));
        assert_eq!(options.changed(), ["active=off", "slice_us=2000"]);
        for (name, text, part) in [
            ("slice", "1", "did you mean 'slice_us'"),
            ("slice_us", "99", "core-queue: slice_us is 100 to 1000000, not '99'"),
            ("slice_us", "fast", "not 'fast'"),
            ("active", "2", "active is on or off, not '2'"),
        ] {
            let error = options.set(name, text).expect_err(name);
            assert!(error.contains(part), "{error}");
        }
        let json = serde_json::to_string(&options).expect("json");
        assert_eq!(serde_json::from_str::<Options>(&json).expect("back"), options);
        assert!(serde_json::from_str::<Options>(r#"{"active":7}"#).is_err());
    }

    #[test]
    fn an_arm_names_it_with_its_parameters() {
        let options = |text| Options::of_scheduler(text);
        assert_eq!(options("kernel"), Ok(None));
        assert_eq!(options("core-queue"), Ok(Some(Options::default())));
        let some = options("core-queue[active=off,slice_us=2000]").expect("options").expect("ours");
        assert_eq!(some.changed(), ["active=off", "slice_us=2000"]);
        for (text, part) in [
            ("core-queue[active=off", "closing"),
            ("core-queue[active]", "no parameter=value"),
            ("core-queue[actve=off]", "did you mean 'active'"),
        ] {
            let error = options(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn parameters_are_in_order_and_defaults_within_limits() {
        assert!(PARAMETERS.is_sorted_by_key(|parameter| parameter.name));
        for parameter in PARAMETERS {
            let limits = parameter.low..=parameter.high;
            assert!(limits.contains(&parameter.default), "{}", parameter.name);
        }
    }
}
