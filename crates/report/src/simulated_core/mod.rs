//! Runs of the simulated core: text for a terminal, a figure of where the cycles went.

mod components;
mod experiments;
mod figure;
mod matrix;
mod note;
mod run;

pub use components::core_components;
pub use experiments::{core_enhancements_text, core_sieve_pages_text};
pub use figure::core_figure;
pub use matrix::core_matrix_text;
pub use note::core_note_text;
pub use run::core_run_text;
