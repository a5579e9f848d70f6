//! Every policy, listed once: lists, help, checks and sweeps are made from this table. A policy with its
//! parameters is a text: `linux-2.5.32-a9[wakeup=off,cache_decay_ms=2]`.

use super::Policy;
use super::core_queue::{self, CoreQueue};
use super::fair::{self, Fair};
use super::linux_2_4_19::{self, Linux2419};
use super::linux_2_5::{self, Form, Linux25};
use super::one_per_core::{self, OnePerCore};
use crate::kernel::Layout;
pub use coretwin_base::simulation::policy_parameter::Parameter;
use coretwin_base::suggest;

/// Every policy, in order of name.
pub const POLICIES: &[PolicyEntry] = &[
    PolicyEntry {
        name: "core-queue",
        title: "one queue a core in order of virtual time; the policy of the live scheduler",
        source: "Molnar's five behaviours on today's terms, our own design",
        parameters: core_queue::PARAMETERS,
        promise: Promise { of_cores: false, idle_longest_ms: 8, wait_ms_for_each_task: 15 },
        build: |layout, settings| Box::new(CoreQueue::new(layout, settings)),
    },
    PolicyEntry {
        name: "fair",
        title: "a queue a CPU, earliest eligible deadline; wake-ups look for idle cores",
        source: "kernel/sched/fair.c of Linux 6.12, told shortly",
        parameters: fair::PARAMETERS,
        promise: Promise { of_cores: false, idle_longest_ms: 50, wait_ms_for_each_task: 10 },
        build: |layout, settings| Box::new(Fair::new(layout, settings)),
    },
    PolicyEntry {
        name: "linux-2.4.19",
        title: "one list for all CPUs, scored by goodness; one rule for Hyper-Threading",
        source: "kernel/sched.c of Linux 2.4, the article's older kernel",
        parameters: linux_2_4_19::PARAMETERS,
        promise: Promise { of_cores: false, idle_longest_ms: 0, wait_ms_for_each_task: 130 },
        build: |layout, settings| Box::new(Linux2419::new(layout, settings)),
    },
    PolicyEntry {
        name: "linux-2.5.32",
        title: "two arrays of lists for each logical CPU; knows no siblings",
        source: "kernel/sched.c of Linux 2.5, the article's newer kernel",
        parameters: linux_2_5::PLAIN,
        promise: Promise { of_cores: false, idle_longest_ms: 200, wait_ms_for_each_task: 2500 },
        build: |layout, settings| Box::new(Linux25::new(Form::Plain, layout, settings)),
    },
    PolicyEntry {
        name: "linux-2.5.32-a9",
        title: "one queue a core: Molnar's patch for Hyper-Threading as mended",
        source: "the patch A9 of April 2003, on the kernel's mailing list",
        parameters: linux_2_5::PATCHED,
        promise: Promise { of_cores: false, idle_longest_ms: 20, wait_ms_for_each_task: 2500 },
        build: |layout, settings| Box::new(Linux25::new(Form::A9, layout, settings)),
    },
    PolicyEntry {
        name: "linux-2.5.32-f3",
        title: "one queue a core: Molnar's patch for Hyper-Threading as posted",
        source: "the patch F3 of August 2002, on the kernel's mailing list",
        parameters: linux_2_5::PATCHED,
        promise: Promise { of_cores: false, idle_longest_ms: 300, wait_ms_for_each_task: 2500 },
        build: |layout, settings| Box::new(Linux25::new(Form::F3, layout, settings)),
    },
    PolicyEntry {
        name: "one-per-core",
        title: "one task a core; the siblings stay idle",
        source: "the article's stand-in for SMT off: what affinity to one CPU of each core does",
        parameters: one_per_core::PARAMETERS,
        promise: Promise { of_cores: true, idle_longest_ms: 0, wait_ms_for_each_task: 14 },
        build: |layout, settings| Box::new(OnePerCore::new(layout, settings)),
    },
];

const _: () = {
    let mut index = 0;
    while index < POLICIES.len() {
        assert!(POLICIES[index].parameters.len() <= PARAMETERS_MAX);
        index += 1;
    }
};

pub fn policy(name: &str) -> Option<&'static PolicyEntry> {
    POLICIES.iter().find(|entry| entry.name == name)
}

impl Settings {
    /// Reads `NAME` or `NAME[parameter=value,…]`.
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
        let mut keys = Vec::new();
        for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("'{part}' in '{text}' is no parameter=value"));
            };
            settings.set(key.trim(), value.trim())?;
            if keys.contains(&key.trim()) {
                return Err(format!("'{text}' has {} twice", key.trim()));
            }
            keys.push(key.trim());
        }
        Ok(settings)
    }
}

#[derive(Debug)]
pub struct PolicyEntry {
    pub name: &'static str,
    pub title: &'static str,
    /// Where its rules and constants come from.
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// What it promises; checks hold it to that.
    pub promise: Promise,
    pub build: fn(&Layout, &Settings) -> Box<dyn Policy>,
}

/// What a policy promises to tasks that may run anywhere, on a machine whose kernel work costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// Whether it uses one CPU of each core only, so that only a whole idle core breaks its promise.
    pub of_cores: bool,
    /// Longest time in which CPUs stand idle while such a task waits. 0: a waiting task is seen at once.
    pub idle_longest_ms: u64,
    /// Of equal tasks none waits longer than this for each task there is. Begin with a slice and a tick: the
    /// test names the worst that it saw.
    pub wait_ms_for_each_task: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub entry: &'static PolicyEntry,
    values: [i64; PARAMETERS_MAX],
}

pub(crate) const PARAMETERS_MAX: usize = 24;

impl Settings {
    pub fn of(entry: &'static PolicyEntry) -> Self {
        let mut values = [0; PARAMETERS_MAX];
        for (value, parameter) in values.iter_mut().zip(entry.parameters) {
            *value = parameter.default;
        }
        Self { entry, values }
    }

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

    /// The value of a parameter. Panics if the policy did not declare it: a mistake in its file, which
    /// its own tests meet.
    pub fn number(&self, name: &str) -> i64 {
        let index = self.entry.parameters.iter().position(|parameter| parameter.name == name);
        self.values[index.unwrap_or_else(|| panic!("{} declares no {name}", self.entry.name))]
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_its_texts_read_back() {
        assert!(POLICIES.is_sorted_by(|a, b| a.name < b.name));
        for entry in POLICIES {
            assert!(!entry.title.is_empty() && !entry.source.is_empty(), "{}", entry.name);
            let settings = Settings::of(entry);
            assert_eq!(settings.text(), entry.name);
            for parameter in entry.parameters {
                assert!((parameter.low..=parameter.high).contains(&parameter.default));
                let other =
                    if parameter.default == parameter.low { parameter.high } else { parameter.low };
                let mut changed = Settings::of(entry);
                changed.set(parameter.name, &other.to_string()).expect("within its range");
                let read = Settings::parse(&changed.text()).expect("its own text");
                assert_eq!(read.number(parameter.name), other, "{}", changed.text());
            }
        }
    }

    #[test]
    fn unknown_names_and_values_are_refused() {
        let refused = |text: &str| Settings::parse(text).map(|_| ()).expect_err(text);
        assert!(refused("one-per-cor").contains("did you mean 'one-per-core'"));
        assert!(refused("one-per-core[slice_ms=1").contains("closing"));
        assert!(refused("one-per-core[slice_ms=1,slice_ms=2]").contains("has slice_ms twice"));
        assert!(refused("one-per-core[slice]").contains("no parameter=value"));
        assert!(refused("one-per-core[slice_m=5]").contains("did you mean 'slice_ms'"));
        assert!(refused("one-per-core[slice_ms=0]").contains("1 to"));
    }
}
