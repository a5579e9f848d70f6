//! Placement: where the tasks of one workload may run. An axis of its own, because it moves
//! results far more than SMT does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the tasks of one workload may run, within the CPUs of the arm.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, strum::Display, strum::IntoStaticStr, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Placement {
    #[default]
    Free,
    SameCpu,
    Siblings,
    Cores,
    Packages,
}

impl Placement {
    /// Every placement, in the order they are listed to people.
    pub const ALL: [Self; 5] =
        [Self::Free, Self::SameCpu, Self::Siblings, Self::Cores, Self::Packages];

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Free => "anywhere in the arm; the scheduler decides",
            Self::SameCpu => "all tasks on one CPU",
            Self::Siblings => "roles on different siblings of one core",
            Self::Cores => "roles on different cores, one CPU each",
            Self::Packages => "roles on different packages",
        }
    }
}
