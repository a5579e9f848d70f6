//! Boots as arms: what the name of a boot promises, what a boot was found to be, and what a plan
//! knows of its boot arms once they were booted.

use crate::machine::cpu_set::CpuSet;
use crate::study::arm::ArmState;
use crate::study::plan::{Comparison, Plan};
use serde::{Deserialize, Serialize};

/// Kernel parameters without a value that people compare boots by. Whatever holds a `=` is a
/// parameter too (Documentation/admin-guide/kernel-parameters.txt).
const FLAGS: [&str; 7] =
    ["nosmt", "noht", "nopti", "nokaslr", "nospectre_v1", "nospectre_v2", "nohlt"];

/// Parameters that differ from boot to boot, or only say where the kernel was loaded from.
const NOISE: [&str; 4] = ["BOOT_IMAGE=", "initrd=", "elfcorehdr=", "kexec_jump_back_entry="];

/// What the name of a boot promises; it is checked before anything is measured in that boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// `smt` and `on`: SMT is active. `off`: it is not.
    Smt(bool),
    /// The kernel's release is this, or begins with it: `6.12` fits `6.12.95-amd64`.
    Release(String),
    /// This word is on the kernel's command line; where it switches SMT off, SMT is off.
    Parameter(String),
    /// Any other name stands for the first boot that was used under it.
    Free(String),
}

impl Promise {
    pub fn of(name: &str) -> Self {
        let starts_like_a_release = |name: &str| {
            let (major, rest) = name.split_once('.').unwrap_or((name, ""));
            !major.is_empty()
                && major.chars().all(|c| c.is_ascii_digit())
                && rest.starts_with(|c: char| c.is_ascii_digit())
        };
        match name {
            "on" | "smt" => Self::Smt(true),
            "off" => Self::Smt(false),
            _ if FLAGS.contains(&name) || name.contains('=') => Self::Parameter(name.to_owned()),
            _ if starts_like_a_release(name) => Self::Release(name.to_owned()),
            _ => Self::Free(name.to_owned()),
        }
    }

    pub fn can_be_checked(&self) -> bool {
        !matches!(self, Self::Free(_))
    }

    /// What to boot, to follow "boot".
    pub fn how(&self) -> String {
        match self {
            Self::Smt(true) => "with SMT on (without nosmt on the kernel command line)".to_owned(),
            Self::Smt(false) => "with SMT off (nosmt on the kernel command line, or switched off \
                                 in the firmware)"
                .to_owned(),
            Self::Release(release) => format!("kernel {release}"),
            Self::Parameter(word) => format!("with {word} on the kernel command line"),
            Self::Free(name) => format!("what you call {name}"),
        }
    }

    /// Whether SMT must be inactive, or active, in such a boot.
    fn smt(&self) -> Option<bool> {
        match self {
            Self::Smt(active) => Some(*active),
            Self::Parameter(word) => {
                let off =
                    word == "smt=1" || word.split(['=', ',', ';']).any(|part| part == "nosmt");
                off.then_some(false)
            }
            Self::Release(_) | Self::Free(_) => None,
        }
    }
}

/// What a boot was found to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootFacts {
    pub kernel_release: String,
    /// The kernel's, without what differs between equal boots (`BOOT_IMAGE=`, `initrd=` and the
    /// like).
    pub command_line: String,
    pub smt_active: bool,
    pub cpus: CpuSet,
    pub cores: u32,
}

impl BootFacts {
    /// Leaves out of a command line what differs between equal boots.
    pub fn settled(command_line: &str) -> String {
        let words = command_line.split_whitespace();
        let stays = |word: &&str| !NOISE.iter().any(|noise| word.starts_with(noise));
        words.filter(stays).collect::<Vec<_>>().join(" ")
    }

    /// Checks a promise. Errors: a sentence that names what is otherwise.
    pub fn keep(&self, promise: &Promise) -> Result<(), String> {
        match promise {
            Promise::Release(wanted) if !is_release(&self.kernel_release, wanted) => {
                return Err(format!("its kernel is {}, not {wanted}", self.kernel_release));
            }
            Promise::Parameter(word)
                if !self.command_line.split_whitespace().any(|given| given == word) =>
            {
                return Err(format!(
                    "{word} is not on its kernel command line ({})",
                    self.command_line
                ));
            }
            _ => {}
        }
        match (promise.smt(), self.smt_active) {
            (Some(true), false) => Err("SMT is not active in it".to_owned()),
            (Some(false), true) => Err("SMT is active in it".to_owned()),
            _ => Ok(()),
        }
    }

    /// Checks that this boot is like an earlier one of the same arm. Errors: a sentence that names the
    /// fact that differs.
    pub fn equal(&self, earlier: &Self) -> Result<(), String> {
        let active = |facts: &Self| if facts.smt_active { "active" } else { "not active" };
        let facts = [
            ("its kernel", self.kernel_release.clone(), earlier.kernel_release.clone()),
            ("SMT", active(self).to_owned(), active(earlier).to_owned()),
            ("its command line", self.command_line.clone(), earlier.command_line.clone()),
            ("the set of CPUs it may use", self.cpus.to_string(), earlier.cpus.to_string()),
        ];
        match facts.into_iter().find(|(_, now, before)| now != before) {
            Some((what, now, before)) => {
                Err(format!("{what} is {now}, and was {before} when this arm was booted first"))
            }
            None => Ok(()),
        }
    }
}

/// Whether a release is the wanted one, or a longer word for it: `6.1` is not `6.12`.
fn is_release(release: &str, wanted: &str) -> bool {
    let Some(rest) = release.strip_prefix(wanted) else { return false };
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    !(digit(wanted.chars().last()) && digit(rest.chars().next()))
}

/// A boot that one arm of one block was measured in. One boot serves once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    pub arm: String,
    pub block: u32,
    pub switch: u32,
    pub boot_id: String,
    pub found: BootFacts,
}

impl Plan {
    /// The plan with what the boots so far have told of its boot arms: their CPUs, cores, threads
    /// and SMT state, and with those what the comparison can say. Other plans stay as they are.
    #[must_use]
    pub fn with_boots(mut self, boots: &[Boot]) -> Self {
        for arm in &mut self.arms {
            let ArmState::Boot(name) = &arm.state else { continue };
            let Some(Boot { found, .. }) = boots.iter().find(|boot| boot.arm == arm.label) else {
                continue;
            };
            arm.cpus = found.cpus.clone();
            arm.cores = found.cores;
            arm.threads = found.cpus.len() as u32;
            arm.smt = Some(found.smt_active);
            arm.about = format!(
                "boot {name}: kernel {}, SMT {}, {} CPUs on {} cores",
                found.kernel_release,
                if found.smt_active { "active" } else { "not active" },
                found.cpus.len(),
                found.cores
            );
        }
        let differ =
            |state: bool| self.arms.iter().any(|arm| self.reboots() && arm.smt == Some(state));
        if differ(true) && differ(false) {
            self.comparison = Comparison::Smt;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(release: &str, command_line: &str, smt_active: bool) -> BootFacts {
        BootFacts {
            kernel_release: release.to_owned(),
            command_line: BootFacts::settled(command_line),
            smt_active,
            cpus: CpuSet::parse("0-3").expect("list"),
            cores: 2,
        }
    }

    #[test]
    fn names_promise_what_they_read_like() {
        for (name, promise) in [
            ("smt", Promise::Smt(true)),
            ("on", Promise::Smt(true)),
            ("off", Promise::Smt(false)),
            ("nosmt", Promise::Parameter("nosmt".to_owned())),
            ("mitigations=auto,nosmt", Promise::Parameter("mitigations=auto,nosmt".to_owned())),
            ("6.12.95", Promise::Release("6.12.95".to_owned())),
            ("6.1-rt", Promise::Release("6.1-rt".to_owned())),
            ("6", Promise::Free("6".to_owned())),
            ("firmware-a", Promise::Free("firmware-a".to_owned())),
            ("v2.4", Promise::Free("v2.4".to_owned())),
        ] {
            assert_eq!(Promise::of(name), promise, "{name}");
        }
    }

    #[test]
    fn promises_are_checked_by_what_the_machine_says() {
        let nosmt = found("6.12.95-amd64", "BOOT_IMAGE=/v root=/dev/a nosmt quiet", false);
        let auto = found("6.1.2", "quiet mitigations=auto,nosmt", true);
        for (facts, name, part) in [
            (&nosmt, "nosmt", ""),
            (&nosmt, "off", ""),
            (&nosmt, "6.12", ""),
            (&nosmt, "6.12.95-amd64", ""),
            (&nosmt, "6.1", "its kernel is 6.12.95-amd64, not 6.1"),
            (&nosmt, "smt", "SMT is not active"),
            (&nosmt, "nosmt=force", "nosmt=force is not on its kernel command line (root=/dev/a"),
            (&auto, "mitigations=auto,nosmt", "SMT is active in it"),
            (&auto, "off", "SMT is active in it"),
            (&auto, "6.1", ""),
            (&auto, "anything", ""),
        ] {
            let kept = facts.keep(&Promise::of(name));
            let said = kept.err().unwrap_or_default();
            assert!(said.is_empty() == part.is_empty() && said.contains(part), "{name}: {said}");
        }
    }

    #[test]
    fn a_second_boot_must_be_like_the_first() {
        let first = found("6.12", "BOOT_IMAGE=/a quiet", true);
        assert_eq!(found("6.12", "BOOT_IMAGE=/b quiet", true).equal(&first), Ok(()));
        for (other, part) in [
            (found("6.13", "quiet", true), "its kernel is 6.13, and was 6.12"),
            (found("6.12", "quiet", false), "SMT is not active, and was active"),
            (found("6.12", "debug", true), "command line is debug, and was quiet"),
        ] {
            let said = other.equal(&first).expect_err(part);
            assert!(said.contains(part), "{said}");
        }
    }
}
