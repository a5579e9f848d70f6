//! Runs of the simulated core: text for a terminal, a figure of where the cycles went.

mod components;
mod figure;
mod matrix;
mod run;

pub use figure::core_figure;
pub use matrix::core_matrix_text;
pub use run::core_run_text;
