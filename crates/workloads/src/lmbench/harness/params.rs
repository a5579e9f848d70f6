//! Parameters that rows share, and what they may be.

use crate::Error;
use crate::workload::{ParamKind, ParamSpec, text};
use coretwin_base::param::{ParamValue, Params};

/// Copies, one for each CPU of the arm.
pub(super) const AUTO: &str = "auto";
/// The scratch folder is made where temporary files are.
pub(super) const TEMPORARY: &str = "temporary";

/// Every row has it.
pub(crate) const COPIES: ParamSpec = ParamSpec {
    name: "copies",
    kind: ParamKind::Text { default: "1" },
    about: "copies side by side: a number, or auto for one on each CPU of the arm",
};
/// A row that has it is given a folder.
pub(crate) const DIR: ParamSpec = ParamSpec {
    name: "dir",
    kind: ParamKind::Text { default: TEMPORARY },
    about: "an empty folder for the row's files; 'temporary': below TMPDIR or /tmp",
};
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

/// Checks those parameters whose range says too little.
pub(super) fn check(workload: &'static str, params: &Params) -> Result<(), Error> {
    let given = |name: &str| text(params, name);
    let wrong = |name: &str, why: &str| Error::Param {
        workload,
        name: name.to_owned(),
        value: given(name),
        why: why.to_owned(),
    };
    let copies = params.get(COPIES.name).and_then(ParamValue::as_int);
    if given(COPIES.name) != AUTO && !copies.is_some_and(|n| (1..=65_536).contains(&n)) {
        return Err(wrong(COPIES.name, "it is 'auto' or a whole number from 1 to 65536"));
    }
    let dir = given(DIR.name);
    if !dir.is_empty() && dir != TEMPORARY && !dir.starts_with('/') {
        return Err(wrong(DIR.name, "it is a whole path, beginning with '/'"));
    }
    Ok(())
}
