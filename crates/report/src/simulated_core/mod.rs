//! Runs of the simulated core: text for a terminal, a figure of where the cycles went.

mod experiments;
mod figure;
mod run;

pub use experiments::{
    core_enhancements_text, core_matrix_text, core_note_text, core_published_text,
    core_sieve_pages_text,
};
pub use figure::core_figure;
pub use run::{core_components, core_run_text};
