//! Every scheduler that can be loaded, listed once: a policy of [`coretwin_base::simulation::live`] with its program
//! and what that counts.

mod core_queue;
mod linux_2_4_19;
mod linux_2_5_32;

use crate::scheduler::Counter;
use coretwin_base::simulation;
use coretwin_base::simulation::live::{Options, POLICIES, Policy};

/// A policy's program.
#[derive(Debug)]
pub struct Program {
    /// The policy's name.
    pub name: &'static str,
    /// `c/NAME.bpf.c`, in which the operations have that name, too.
    pub object: &'static str,
    /// In the order of its `enum counter`.
    pub counters: &'static [Counter],
    /// Compiled.
    #[cfg(feature = "bpf")]
    pub(crate) bytes: &'static [u8],
}

macro_rules! program {
    ($name:expr, $object:literal, $counters:expr) => {
        Program {
            name: $name,
            object: $object,
            counters: $counters,
            #[cfg(feature = "bpf")]
            bytes: crate::object::embedded!($object),
        }
    };
}

/// Every program, in the order of the policies.
pub const PROGRAMS: &[Program] = &[
    program!(simulation::core_queue::NAME, "core_queue", core_queue::COUNTERS),
    program!(simulation::linux_2_4_19::NAME, "linux_2_4_19", linux_2_4_19::COUNTERS),
    program!(simulation::linux_2_5_32::NAME, "linux_2_5_32", linux_2_5_32::COUNTERS),
    program!(simulation::linux_2_5_32::a9::NAME, "linux_2_5_32_a9", linux_2_5_32::COUNTERS),
];

impl Program {
    pub fn of(options: &Options) -> &'static Self {
        let name = options.policy().name;
        PROGRAMS.iter().find(|program| program.name == name).unwrap_or(&PROGRAMS[0])
    }

    pub fn policy(&self) -> &'static Policy {
        POLICIES.iter().find(|policy| policy.name == self.name).unwrap_or(&POLICIES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_program() {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        let policies: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
        assert_eq!(names, policies);
        for policy in POLICIES {
            assert_eq!(Program::of(&Options::of(policy)).policy().name, policy.name);
        }
    }

    #[test]
    fn names_are_unique() {
        for program in PROGRAMS {
            for (index, counter) in program.counters.iter().enumerate() {
                let earlier = &program.counters[..index];
                assert!(earlier.iter().all(|other| other.name != counter.name), "{}", counter.name);
            }
        }
    }
}
