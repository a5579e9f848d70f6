//! `--format`: what it takes, its help and its completions are the tables of formats.

use clap::builder::{PossibleValue, PossibleValuesParser};
use coretwin_report::Format;

/// Takes the names of a table's formats.
pub(crate) fn of<Render>(formats: &[Format<Render>]) -> PossibleValuesParser {
    PossibleValuesParser::new(formats.iter().map(value))
}

/// The name of a format, and what it is.
pub(crate) fn value<Render>(format: &Format<Render>) -> PossibleValue {
    PossibleValue::new(format.name).help(format.about)
}
