//! `--format`: what it takes, its help and its completions are the tables of formats.

use clap::builder::{PossibleValue, PossibleValuesParser};
use coretwin_report::Format;

pub(crate) fn of<Render>(formats: &[Format<Render>]) -> PossibleValuesParser {
    PossibleValuesParser::new(formats.iter().map(value))
}

pub(crate) fn value<Render>(format: &Format<Render>) -> PossibleValue {
    PossibleValue::new(format.name).help(format.about)
}
