//! What the switch is asked for.

use coretwin_base::machine::topology::SmtControl;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Off,
    /// Every thread of every core that was in use. CPUs that were offline by hand stay offline.
    On,
    /// This many threads per core, at least 1. Kernels since 6.6 take it, on architectures whose
    /// cores can run with some of their threads (POWER); elsewhere only 1 and the largest.
    Level(u32),
}

impl Target {
    /// The word that is written to `smt/control` (Documentation/ABI/testing/
    /// sysfs-devices-system-cpu).
    pub fn word(self) -> String {
        self.to_string()
    }

    /// Whether a control word says that this was reached. A level of 1 reads back as `off`, the
    /// largest as `on`.
    pub fn reached(self, control: &SmtControl) -> bool {
        match (self, control) {
            (Self::Off, SmtControl::Off) | (Self::On, SmtControl::On) => true,
            (Self::Level(1), control) => *control == SmtControl::Off,
            (Self::Level(asked), SmtControl::Threads(found)) => asked == *found,
            (Self::Level(_), SmtControl::On) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On => f.write_str("on"),
            Self::Level(threads) => write!(f, "{threads}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no position of the SMT switch; write on, off or a number of threads per core")]
pub struct BadTarget(pub String);

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        match text {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            number => match number.parse() {
                Ok(threads) if threads > 0 => Ok(Self::Level(threads)),
                _ => Err(BadTarget(text.to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_kernel() {
        for word in ["on", "off", "4"] {
            assert_eq!(word.parse::<Target>().expect(word).word(), word);
        }
        for text in ["", "0", "forceoff", "-1", "ON"] {
            let error = text.parse::<Target>().expect_err(text).to_string();
            assert!(error.contains("write on, off or a number"), "{error}");
        }
    }

    #[test]
    fn one_thread_reads_back_as_off_and_all_as_on() {
        assert!(Target::Level(1).reached(&SmtControl::Off));
        assert!(Target::Level(8).reached(&SmtControl::On));
        assert!(!Target::Level(4).reached(&SmtControl::Threads(2)));
        // What a half-failed `off` leaves on kernels since 6.6.
        assert!(!Target::Off.reached(&SmtControl::Threads(1)));
    }
}
