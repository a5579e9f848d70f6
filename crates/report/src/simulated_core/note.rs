//! The note's experiment on its four machines, predicted beside measured, as text.

use crate::words::{clean, paragraph};
use coretwin_base::simulation::core_run::CoreNote;
use std::fmt::Write;

/// The experiment for a terminal.
#[must_use]
pub fn core_note_text(note: &CoreNote) -> String {
    let mut out = format!(
        "gzip -9 beside perl -e 'while(1){{}}' on the sibling: slowdown of gzip, {} seeds from {}\n\n",
        note.seeds, note.seed
    );
    let _ = writeln!(
        out,
        "{:14} measured  {:12} predicted   error  over seeds       uops per cycle alone",
        "", "data"
    );
    let mut hits = 0;
    let mut all = 0;
    for machine in &note.machines {
        for (index, predicted) in machine.predicted.iter().enumerate() {
            let head = match index {
                0 => format!("{:14} {:8.3}", clean(&machine.preset), machine.measured),
                _ => format!("{:23}", ""),
            };
            let [low, high] = predicted.range;
            let _ = writeln!(
                out,
                "{head}  {:12} {:9.3}  {:+.3}  {low:.3} to {high:.3}  {:7.2}",
                clean(&predicted.profile),
                predicted.slowdown,
                predicted.error,
                predicted.alone_ipc
            );
        }
        let first = machine.predicted.first();
        hits += usize::from(first.is_some_and(|p| p.error.abs() <= note.error_max));
        all += 1;
    }
    out.push('\n');
    paragraph(
        &mut out,
        &format!(
            "{hits} of {all} predictions for all three kinds of data are within {} of what was \
             measured. Numbers fitted to a co-run: {}. Fitted to single threads: {}",
            note.error_max,
            note.fitted_to_co_runs,
            clean(&note.fitted_to_single_threads)
        ),
    );
    out.push_str("\nwhat the predictions hang on, one thing changed at a time\n");
    let width = note.sensitivity.iter().map(|change| change.change.chars().count()).max();
    let width = width.unwrap_or(0);
    let _ = write!(out, "  {:width$}", "");
    for machine in &note.machines {
        let _ = write!(out, "  {:>13}", clean(&machine.preset));
    }
    out.push('\n');
    for change in &note.sensitivity {
        let _ = write!(out, "  {:width$}", clean(&change.change));
        for slowdown in &change.slowdown {
            let _ = write!(out, "  {slowdown:13.3}");
        }
        out.push('\n');
    }
    out.push_str("\nmeasured by the note:\n");
    for machine in &note.machines {
        let _ = writeln!(out, "  {:14} {}", clean(&machine.preset), clean(&machine.source));
    }
    out
}
