//! All pairs of profiles on one simulated core, as text.

use crate::number;
use crate::words::clean;
use coretwin_base::simulation::core_run::CoreMatrix;
use std::fmt::Write;

/// The matrix for a terminal: slowdowns, then throughputs.
#[must_use]
pub fn core_matrix_text(matrix: &CoreMatrix) -> String {
    let mut out = format!(
        "{}: every pair of {}, seed {}, up to {} uops each\n",
        clean(&matrix.preset),
        number::count(matrix.profiles.len() as u64, "profile"),
        matrix.seed,
        number::whole(matrix.measure_uops),
    );
    out.push_str("\nslowdown of the row beside the column\n");
    table(&mut out, matrix, &matrix.slowdown);
    out.push_str("\nthroughput of the pair, relative to one thread alone (2 would be two cores)\n");
    table(&mut out, matrix, &matrix.throughput);
    out.push_str(&formula(matrix));
    if matrix.cached > 0 {
        let _ =
            writeln!(out, "\n{} came from the cache", number::count(matrix.cached.into(), "pair"));
    }
    out
}

/// How far the interval formula is from the event-driven core.
fn formula(matrix: &CoreMatrix) -> String {
    let mut errors: Vec<(f64, usize, usize)> = Vec::new();
    for (a, row) in matrix.slowdown.iter().enumerate() {
        for (b, slowdown) in row.iter().enumerate() {
            let by_formula = matrix.slowdown_by_formula.get(a).and_then(|row| row.get(b));
            errors.extend(by_formula.map(|by_formula| (by_formula - slowdown, a, b)));
        }
    }
    errors.sort_by(|x, y| x.0.abs().total_cmp(&y.0.abs()));
    let (Some((median, ..)), Some((largest, a, b))) = (errors.get(errors.len() / 2), errors.last())
    else {
        return String::new();
    };
    let name = |index: &usize| matrix.profiles.get(*index).map_or("", String::as_str);
    format!(
        "\nthe interval formula's slowdowns differ by {:.3} in the median, most by {largest:+.3} \
         ({} beside {})\n",
        median.abs(),
        clean(name(a)),
        clean(name(b)),
    )
}

fn table(out: &mut String, matrix: &CoreMatrix, values: &[Vec<f64>]) {
    let names: Vec<String> = matrix.profiles.iter().map(|name| clean(name)).collect();
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let _ = write!(out, "    {:first$}  alone", "");
    for column in 0..names.len() {
        let _ = write!(out, "  {:>5}", column + 1);
    }
    out.push('\n');
    for (index, name) in names.iter().enumerate() {
        let alone = matrix.alone_ipc.get(index).copied().unwrap_or(0.0);
        let _ = write!(out, "{:>2}  {name:first$}  {alone:5.2}", index + 1);
        for value in values.get(index).into_iter().flatten() {
            let _ = write!(out, "  {value:5.2}");
        }
        out.push('\n');
    }
}
