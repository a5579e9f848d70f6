//! Arms: the machine states that a study compares.

use crate::machine::cpu_set::CpuSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum ArmState {
    #[default]
    On,
    Off,
    /// Affinity to one CPU per core; stands in for `off` and is never called that.
    OnePerCore,
    Packed,
    OnCores,
    CoreSched,
    /// Whatever the boot of that name is; reached by rebooting and resuming.
    #[strum(to_string = "boot:{0}")]
    Boot(String),
    #[strum(to_string = "cpus:{0}")]
    Cpus(CpuSet),
}

impl ArmState {
    /// The states a person can type, with what they need; `boot:` and `cpus:` take an argument.
    pub const ABOUT: [(&'static str, &'static str); 8] = [
        ("on", "all CPUs of the machine"),
        ("off", "SMT switched off by the kernel, and restored after; root, and your word"),
        ("one-per-core", "affinity to one CPU per core; stands in for off"),
        ("packed", "as many threads as cores, on both siblings of half the cores"),
        ("on-cores", "SMT on, as many threads as cores, placed by the scheduler"),
        ("core-sched", "SMT on, a core-scheduling cookie per process; kernel 5.14 or later"),
        (
            "boot:LABEL",
            "what was booted: nosmt, a kernel release, any name; the study waits for it",
        ),
        ("cpus:LIST", "a plain CPU set, like cpus:0,2-3; compared without a verdict on SMT"),
    ];

    fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "on" => Self::On,
            "off" => Self::Off,
            "one-per-core" => Self::OnePerCore,
            "packed" => Self::Packed,
            "on-cores" => Self::OnCores,
            "core-sched" => Self::CoreSched,
            _ => match text.split_once(':') {
                Some(("boot", label)) => {
                    match label.find(|c: char| c.is_whitespace() || c.is_control()) {
                        _ if label.is_empty() => {
                            return Err("it names no boot; write it like boot:nosmt".to_owned());
                        }
                        Some(_) => return Err("the name of a boot has no blanks".to_owned()),
                        None => Self::Boot(label.to_owned()),
                    }
                }
                Some(("cpus", list)) => {
                    let cpus = CpuSet::parse(list).map_err(|bad| bad.to_string())?;
                    if cpus.is_empty() {
                        return Err("it names no CPU; write it like cpus:0,2-3".to_owned());
                    }
                    Self::Cpus(cpus)
                }
                _ => {
                    let names: Vec<&str> = Self::ABOUT.iter().map(|(name, _)| *name).collect();
                    return Err(crate::suggest::unknown("arm state", text, &names));
                }
            },
        })
    }
}

impl Serialize for ArmState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArmState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// An arm as typed: `[LABEL=]STATE[@SCHED]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmSpec {
    /// Name in tables and figures; the state's own text if none was given.
    pub label: String,
    pub state: ArmState,
    pub scheduler: String,
}

/// The scheduler of an arm that names none.
pub const KERNEL: &str = "kernel";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an arm: {why}")]
pub struct BadArm {
    pub text: String,
    pub why: String,
}

impl ArmSpec {
    /// Reads the typed form. Errors: [`BadArm`] saying what is wrong, with the nearest known state.
    pub fn parse(text: &str) -> Result<Self, BadArm> {
        let bad = |why: String| BadArm { text: text.to_owned(), why };
        let (label, rest) = match text.split_once('=') {
            // A kernel parameter, like boot:nosmt=force, has a '=' of its own, and so has a
            // scheduler's, like on@core-queue[slice_us=500].
            Some((label, rest)) if !label.starts_with("boot:") && !label.contains('@') => {
                (Some(label), rest)
            }
            _ => (None, text),
        };
        let (state, scheduler) = match rest.rsplit_once('@') {
            Some((state, scheduler)) => (state, scheduler),
            None => (rest, KERNEL),
        };
        if scheduler.is_empty() {
            return Err(bad("the scheduler after '@' is missing".to_owned()));
        }
        let state = ArmState::parse(state).map_err(bad)?;
        let label = match label {
            Some("") => return Err(bad("the label before '=' is missing".to_owned())),
            Some(label) if label.chars().any(|c| c.is_whitespace() || c.is_control()) => {
                return Err(bad("a label has no blanks".to_owned()));
            }
            Some(label) => label.to_owned(),
            None => rest.strip_suffix("@kernel").unwrap_or(rest).to_owned(),
        };
        Ok(Self { label, state, scheduler: scheduler.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_labels_states_and_schedulers() {
        let arm = ArmSpec::parse("a=cpus:0,2-3@core-queue").expect("arm");
        assert_eq!(
            (arm.label.as_str(), arm.state.to_string().as_str(), arm.scheduler.as_str()),
            ("a", "cpus:0,2-3", "core-queue")
        );
        assert_eq!(ArmSpec::parse("on").expect("arm").label, "on");
        let boot = ArmSpec::parse("boot:mitigations=auto,nosmt").expect("arm");
        assert_eq!(boot.state, ArmState::Boot("mitigations=auto,nosmt".to_owned()));
        let boot = ArmSpec::parse("a=boot:nosmt=force").expect("arm");
        assert_eq!(
            (boot.label.as_str(), boot.state.to_string().as_str()),
            ("a", "boot:nosmt=force")
        );
        assert_eq!(ArmSpec::parse("on@kernel").expect("arm").label, "on");
        assert_eq!(ArmSpec::parse("on@x").expect("arm").label, "on@x");
        let arm = ArmSpec::parse("q=on@core-queue[slice_us=500,affinity=off]").expect("arm");
        assert_eq!(
            (arm.label.as_str(), arm.scheduler.as_str()),
            ("q", "core-queue[slice_us=500,affinity=off]")
        );
        let arm = ArmSpec::parse("off@core-queue[slice_us=500]").expect("arm");
        assert_eq!(
            (&arm.state, arm.scheduler.as_str()),
            (&ArmState::Off, "core-queue[slice_us=500]")
        );
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("onn", "did you mean 'on'"),
            ("cpus:9-1", "backwards"),
            ("boot:", "names no boot"),
            ("cpus:", "names no CPU"),
            ("=on", "label"),
            ("on@", "scheduler"),
            ("a b=on", "blanks"),
        ] {
            let error = ArmSpec::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
