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

/// A paragraph in lines of at most 100 characters.
fn wrapped(out: &mut String, text: &str) {
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 100 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}
