//! The report of a study: records in, text out.
//!
//! Pure: no I/O, no clock, no environment. Nothing here can fail, so there is no error type: what
//! is missing or odd in the records is said in the report.
//!
//! Data flow: [`Study`] → `digest` (readings sorted by row and arm) → `document` (sections of
//! paragraphs, tables and figures, as data) → one file per rendering: `text`, `markdown`, `html`.
//! `csv` and `json` write the records themselves, `dataset` says what tables they make for other
//! people's tools. Two studies compared come in as one record, and go
//! out by the same renderings: `comparison`.
//!
//! Invariants:
//! * every number shown is in a record or comes from `coretwin_stats`; nothing is estimated here;
//! * the same records give the same bytes;
//! * the size of the document is bounded, however many readings there are, and where readings are
//!   left out of a figure its caption says so;
//! * a stand-in for SMT off is never called SMT off.

#![forbid(unsafe_code)]

mod account;
mod article;
mod brief;
mod comparison;
mod conditions;
mod cputime;
mod csv;
pub mod dataset;
mod decision;
mod digest;
mod document;
mod effects;
mod fleet;
mod format;
mod html;
mod hyperfine;
mod load;
mod markdown;
mod number;
mod openmetrics;
mod plot;
pub mod probe;
mod readings;
mod replay;
mod run;
mod simulated_core;
mod simulated_kernel;
mod study;
mod svg;
mod text;
pub mod topology;
mod words;

pub use account::{account_brief, account_text};
pub use article::{article_csv, article_json};
pub use brief::{Brief, LINES_MAX};
pub use comparison::{COMPARISON_FORMATS, ComparisonFormat, comparison_brief};
pub use cputime::{CPUTIME_FORMATS, Cputime, CputimeFormat, cputime_brief};
pub use csv::csv;
pub use digest::Study;
pub use fleet::comparison::{
    FLEET_COMPARISON_FORMATS, FleetComparisonFormat, fleet_comparison_brief,
};
pub use fleet::machines::machines;
pub use fleet::{FLEET_FORMATS, FleetFormat, fleet_brief};
pub use format::{Format, json};
pub use openmetrics::openmetrics;
pub use replay::{
    machines_brief, machines_svg, machines_text, replay_brief, replay_svg, replay_text,
};
pub use run::{run_brief, run_text};
pub use simulated_core::{
    core_components, core_enhancements_text, core_figure, core_matrix_text, core_note_text,
    core_published_text, core_run_text, core_sieve_pages_text,
};
pub use simulated_kernel::{
    sched_diff_text, sched_heat_map, sched_log_text, sched_perfetto, sched_runs_text,
    sched_sweep_csv, sched_sweep_text, sched_timeline,
};
pub use study::{FORMATS, StudyFormat, html, markdown, study_brief, text};
pub use words::shell_line;
