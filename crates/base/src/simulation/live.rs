//! Policies that can be loaded into a running kernel, listed once, and the values of one's parameters.

use super::policy_parameter::Parameter;
use super::{core_queue, linux_2_4_19, linux_2_5_32};
use crate::suggest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A policy with a program for the kernel.
#[derive(Debug)]
pub struct Policy {
    pub name: &'static str,
    /// What the kernel calls it while it is loaded, in `/sys/kernel/sched_ext/root/ops`.
    pub ops_name: &'static str,
    pub title: &'static str,
    pub parameters: &'static [Parameter],
}

/// Every one of them; the first is the one that is loaded if none is named.
pub const POLICIES: &[Policy] = &[
    Policy {
        name: core_queue::NAME,
        ops_name: core_queue::OPS_NAME,
        title: "one queue per core",
        parameters: core_queue::PARAMETERS,
    },
    Policy {
        name: linux_2_4_19::NAME,
        ops_name: linux_2_4_19::OPS_NAME,
        title: "the article's older kernel: one list for all CPUs, scored by goodness",
        parameters: &linux_2_4_19::PARAMETERS,
    },
    Policy {
        name: linux_2_5_32::NAME,
        ops_name: linux_2_5_32::OPS_NAME,
        title: "the article's newer kernel: two arrays of lists for each logical CPU",
        parameters: linux_2_5_32::PLAIN,
    },
    Policy {
        name: linux_2_5_32::a9::NAME,
        ops_name: linux_2_5_32::a9::OPS_NAME,
        title: "the same with Molnar's patch for Hyper-Threading: one queue a core",
        parameters: linux_2_5_32::PATCHED,
    },
];

impl Policy {
    /// The policy of that name. Errors: a sentence with the names there are.
    pub fn find(name: &str) -> Result<&'static Self, String> {
        POLICIES.iter().find(|policy| policy.name == name).ok_or_else(|| {
            let known: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
            suggest::unknown("live policy", name, &known)
        })
    }

    /// The policy that the kernel calls so; `None` if that is none of ours.
    pub fn of_ops(name: &str) -> Option<&'static Self> {
        POLICIES.iter().find(|policy| policy.ops_name == name)
    }
}

/// A policy with a value for every parameter. As JSON an object: `policy`, and a number by name.
#[derive(Debug, Clone)]
pub struct Options {
    policy: &'static Policy,
    values: Vec<i64>,
}

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        self.policy.name == other.policy.name && self.values == other.values
    }
}

impl Eq for Options {}

impl Default for Options {
    fn default() -> Self {
        Self::of(&POLICIES[0])
    }
}

impl Options {
    pub fn of(policy: &'static Policy) -> Self {
        let values = policy.parameters.iter().map(|parameter| parameter.default).collect();
        Self { policy, values }
    }

    pub fn policy(&self) -> &'static Policy {
        self.policy
    }

    /// Sets a parameter from what was typed. Errors: a sentence that says what is unknown or out of
    /// range, and what is allowed.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Policy { name: policy, parameters, .. } = self.policy;
        let found = parameters.iter().zip(&mut self.values).find(|(known, _)| known.name == name);
        let Some((parameter, value)) = found else {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            return Err(suggest::unknown(&format!("parameter of {policy}"), name, &known));
        };
        *value = parameter.read(text).map_err(|why| format!("{policy}: {why}"))?;
        Ok(())
    }

    /// Reads a scheduler as an arm names it: `core-queue` or `core-queue[parameter=value,…]`; `None` if
    /// that is another scheduler. Errors: as [`Options::set`], or what is wrong with the form.
    pub fn of_scheduler(text: &str) -> Result<Option<Self>, String> {
        let (name, inner) = match text.split_once('[') {
            None => (text, Some("")),
            Some((name, rest)) => (name, rest.strip_suffix(']')),
        };
        let Ok(policy) = Policy::find(name) else { return Ok(None) };
        let inner = inner.ok_or_else(|| format!("'{text}' lacks its closing ']'"))?;
        let mut options = Self::of(policy);
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
        self.policy.parameters.iter().zip(self.values.iter().copied())
    }

    /// What differs from the defaults, as it is typed: `name=value`.
    pub fn changed(&self) -> Vec<String> {
        self.iter()
            .filter(|(parameter, value)| parameter.default != *value)
            .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.word(value)))
            .collect()
    }
}

/// The key of the policy's name; a record without it is of the first policy.
const POLICY: &str = "policy";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Name(String),
    Number(i64),
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let policy = (POLICY, Value::Name(self.policy.name.to_owned()));
        let values = self.iter().map(|(parameter, value)| (parameter.name, Value::Number(value)));
        serializer.collect_map(std::iter::once(policy).chain(values))
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = <D::Error as serde::de::Error>::custom::<String>;
        let mut values = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut options = match values.remove(POLICY) {
            None => Self::default(),
            Some(Value::Name(name)) => Self::of(Policy::find(&name).map_err(wrong)?),
            Some(Value::Number(number)) => return Err(wrong(format!("policy {number}"))),
        };
        for (name, value) in values {
            let Value::Number(value) = value else {
                return Err(wrong(format!("{name} is no number")));
            };
            options.set(&name, &value.to_string()).map_err(wrong)?;
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
    fn a_record_names_its_policy_and_one_without_is_of_the_first() {
        for policy in POLICIES {
            let json = serde_json::to_string(&Options::of(policy)).expect("json");
            assert!(json.starts_with(&format!(r#"{{"policy":"{}""#, policy.name)), "{json}");
            assert_eq!(serde_json::from_str::<Options>(&json).expect("back"), Options::of(policy));
        }
        let old = serde_json::from_str::<Options>(r#"{"active":0}"#).expect("core-queue");
        assert_eq!((old.policy().name, old.changed()), ("core-queue", vec!["active=off".into()]));
        let error = serde_json::from_str::<Options>(r#"{"policy":"linux-2.4.18"}"#);
        let error = error.expect_err("unknown").to_string();
        assert!(error.contains("did you mean 'linux-2.4.19'"), "{error}");
        assert!(serde_json::from_str::<Options>(r#"{"policy":7}"#).is_err());
    }

    #[test]
    fn an_arm_names_it_with_its_parameters() {
        let options = |text| Options::of_scheduler(text);
        assert_eq!(options("kernel"), Ok(None));
        assert_eq!(options("core-queue"), Ok(Some(Options::default())));
        let some = options("core-queue[active=off,slice_us=2000]").expect("options").expect("ours");
        assert_eq!(some.changed(), ["active=off", "slice_us=2000"]);
        let some = options("linux-2.4.19[ht_rule=off]").expect("options").expect("ours");
        assert_eq!((some.policy().name, some.is_on("ht_rule")), ("linux-2.4.19", false));
        for (text, part) in [
            ("core-queue[active=off", "closing"),
            ("core-queue[active]", "no parameter=value"),
            ("core-queue[actve=off]", "did you mean 'active'"),
            ("linux-2.4.19[active=off]", "linux-2.4.19"),
        ] {
            let error = options(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn parameters_are_in_order_and_defaults_within_limits() {
        for policy in POLICIES {
            assert!(policy.parameters.is_sorted_by_key(|parameter| parameter.name));
            for parameter in policy.parameters {
                let limits = parameter.low..=parameter.high;
                assert!(limits.contains(&parameter.default), "{}", parameter.name);
            }
            assert!(policy.ops_name.len() < 128 && Policy::of_ops(policy.ops_name).is_some());
        }
    }
}
