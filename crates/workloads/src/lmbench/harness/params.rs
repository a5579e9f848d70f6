//! Parameters that rows share. One that has [`DIR`] is given a folder.

pub(crate) use crate::copies::COPIES;
pub(crate) use crate::scratch::DIR;
use crate::workload::{ParamKind, ParamSpec};

/// Every row has it, or [`SAMPLE_OF_A_SECOND`].
pub(crate) const SAMPLE: ParamSpec = ParamSpec {
    name: "sample",
    kind: ParamKind::Decimal { default: "0.05", min: 0.001, max: 60.0 },
    about: "how long a sample is, in seconds",
};
/// For rows in which processes wait for each other: a short sample may catch one way of waiting.
pub(crate) const SAMPLE_OF_A_SECOND: ParamSpec =
    ParamSpec { kind: ParamKind::Decimal { default: "1", min: 0.001, max: 60.0 }, ..SAMPLE };
/// Every row has it.
pub(crate) const SAMPLES: ParamSpec = ParamSpec {
    name: "samples",
    kind: ParamKind::Int { default: 11, min: 1, max: 1001 },
    about: "samples, of which the median counts (LMbench: 11)",
};
