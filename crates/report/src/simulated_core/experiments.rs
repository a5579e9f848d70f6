//! Experiments on the simulated core, as text: the article's questions, all pairs of profiles, and the
//! note's experiment on its four machines, predicted beside measured.

use crate::number;
use crate::words::{clean, paragraph};
use coretwin_base::simulation::core_run::{
    CoreEnhancement, CoreMatrix, CoreNote, CorePublished, CorePublishedKind, CorePublishedRow,
    CoreSievePages,
};
use std::fmt::Write;

/// Width of the drawn distribution, in characters.
const DRAWN: usize = 60;

pub fn core_enhancements_text(enhancements: &[CoreEnhancement]) -> String {
    let mut out = String::new();
    for one in enhancements {
        let _ = writeln!(out, "{}, on {}", clean(&one.about), clean(&one.preset));
        let width = one.sides.iter().map(|side| side.label.chars().count()).max().unwrap_or(0);
        let _ = writeln!(
            out,
            "  {:width$}  thread 0  thread 1   against     machine clears  aliased lines",
            ""
        );
        let _ =
            writeln!(out, "  {:width$}  (uops per cycle)    the first   (each per 1,000 uops)", "");
        for side in &one.sides {
            let [first, second] = side.ipc;
            let _ = writeln!(
                out,
                "  {:width$}  {first:8.3}  {second:8.3}   {:>8}   {:14.2}  {:13.2}",
                clean(&side.label),
                number::effect(side.ratio),
                side.machine_clears_per_1000,
                side.alias_evictions_per_1000,
            );
        }
        out.push('\n');
    }
    out
}

pub fn core_sieve_pages_text(pages: &CoreSievePages) -> String {
    let [least, lower, median, upper, most] = pages.quartiles_per_s;
    let mut out = format!(
        "AIM9's sieve on {}, one thread, {} from seed {}\n\nsieves per second\n",
        clean(&pages.preset),
        number::count(pages.random_per_s.len() as u64, "page map"),
        pages.seed,
    );
    let _ = writeln!(out, "  pages in order     {:8.2}", pages.ideal_per_s);
    let _ = writeln!(
        out,
        "  pages at random    {least:8.2} to {most:.2}; median {median:.2}, half of the maps from \
         {lower:.2} to {upper:.2}"
    );
    let [without, with] = pages.article_per_s;
    let _ =
        writeln!(out, "  the article        {without:8.2} without Hyper-Threading, {with:.2} with");
    let misses = &pages.last_level_misses;
    let _ = writeln!(
        out,
        "\nmisses of the last cache level in one sieve: {} in order, {} to {} at random\n",
        number::whole(pages.last_level_misses_ideal),
        number::whole(misses.iter().min().copied().unwrap_or(0)),
        number::whole(misses.iter().max().copied().unwrap_or(0)),
    );
    out.push_str(&drawn(pages));
    out.push('\n');
    paragraph(&mut out, &pages.explanation);
    out
}

/// Every map as a dot over its rate, the article's two rates and the ideal marked.
fn drawn(pages: &CoreSievePages) -> String {
    let marks = [pages.article_per_s[0], pages.article_per_s[1], pages.ideal_per_s];
    let all = pages.random_per_s.iter().chain(&marks).copied().filter(|rate| rate.is_finite());
    let (low, high) =
        all.fold((f64::INFINITY, 0.0f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    if low >= high {
        return String::new();
    }
    let place = |rate: f64| (((rate - low) / (high - low)) * (DRAWN - 1) as f64).round() as usize;
    let mut counts = [0usize; DRAWN];
    for rate in &pages.random_per_s {
        counts[place(*rate).min(DRAWN - 1)] += 1;
    }
    let mut out = String::new();
    for row in (1..=counts.iter().max().copied().unwrap_or(0)).rev() {
        let line: String =
            counts.iter().map(|count| if *count >= row { '•' } else { ' ' }).collect();
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    let mut axis = ['─'; DRAWN];
    let mut names = [' '; DRAWN];
    for (rate, name) in marks.into_iter().zip(['a', 'b', 'i']) {
        let at = place(rate).min(DRAWN - 1);
        (axis[at], names[at]) = ('┴', name);
    }
    let (axis, names): (String, String) = (axis.iter().collect(), names.iter().collect());
    let _ = writeln!(out, "  {axis}\n  {}", names.trim_end());
    let _ = writeln!(
        out,
        "  a, b: the article's rates without and with; i: pages in order; {low:.1} to {high:.1} per second"
    );
    out
}

/// The matrix for a terminal: slowdowns, then throughputs.
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
    out.push_str(&too_good(matrix));
    out.push_str(&formula(matrix));
    if matrix.cached > 0 {
        let _ =
            writeln!(out, "\n{} came from the cache", number::count(matrix.cached.into(), "pair"));
    }
    out
}

/// A warning of pairs that cannot be.
fn too_good(matrix: &CoreMatrix) -> String {
    let name = |index: usize| matrix.profiles.get(index).map_or("", String::as_str);
    let row = |(a, row): (usize, &Vec<f64>)| {
        let pairs = row.iter().enumerate().take(a + 1).filter(|(_, value)| **value > 2.02);
        pairs
            .map(|(b, value)| format!("{} + {} ({value:.2})", clean(name(a)), clean(name(b))))
            .collect::<Vec<_>>()
    };
    let pairs: Vec<String> = matrix.throughput.iter().enumerate().flat_map(row).collect();
    if pairs.is_empty() {
        return String::new();
    }
    format!(
        "\nwarning: two threads cannot do more than two cores; run these by themselves for what made it so: {}\n",
        pairs.join(", ")
    )
}

/// Published pairs for a terminal, the greatest miss first.
#[must_use]
pub fn core_published_text(found: &CorePublished) -> String {
    let mut out = format!(
        "yield of a pair on a core, seed {}; the constant is the median of all other rows\n",
        found.seed
    );
    let width = found.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let _ = writeln!(
        out,
        "{:width$}  measured  predicted   error  constant   error  profiles, every pair of them",
        ""
    );
    let error = |row: &CorePublishedRow, value: f64| 100.0 * (value / row.measured - 1.0);
    let mut rows: Vec<&CorePublishedRow> = found.rows.iter().collect();
    let miss = |row: &CorePublishedRow| row.predicted.map_or(-1.0, |own| error(row, own).abs());
    rows.sort_by(|a, b| miss(b).total_cmp(&miss(a)));
    for row in rows {
        let own = row.predicted.map_or_else(
            || format!("{:>9}  {:>6}", number::NONE, ""),
            |own| format!("{own:9.3}  {:+5.1}%", error(row, own)),
        );
        let profiles = || clean(&row.profiles.join(", "));
        let what = match (row.profiles.is_empty(), row.stand_in) {
            (true, _) => "nothing stands for it".to_owned(),
            (_, true) => format!("{} on {}, standing in", profiles(), clean(&row.preset)),
            _ => format!("{} on {}", profiles(), clean(&row.preset)),
        };
        let what = match row.kind {
            CorePublishedKind::Chain => what + ", cannot be missed",
            _ => what,
        };
        let _ = writeln!(
            out,
            "{:width$}  {:8.3}  {own}  {:8.3}  {:+5.1}%  {what}",
            clean(&row.what),
            row.measured,
            row.constant,
            error(row, row.constant),
        );
    }
    out.push_str("\nslowdown of gzip beside a spinner, over three kinds of data; the note does not name its own\n");
    for range in &found.ranges {
        let [low, high] = range.predicted;
        let within = if (low..=high).contains(&range.measured) { "within" } else { "outside" };
        let _ = writeln!(
            out,
            "  {:14} measured {:.3}, {within} {low:.3} to {high:.3}",
            clean(&range.preset),
            range.measured
        );
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
    kinds_of_data(&mut out, note);
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

/// How far the kind of data alone moves the predictions.
fn kinds_of_data(out: &mut String, note: &CoreNote) {
    let kinds = note.machines.iter().flat_map(|machine| machine.predicted.iter().skip(1));
    let kinds = kinds.map(|predicted| predicted.slowdown);
    let [least, most] = [kinds.clone().fold(f64::INFINITY, f64::min), kinds.fold(0.0, f64::max)];
    paragraph(
        out,
        &format!(
            "All of them hang on the kind of data, which alone moves them from {least:.2} to {most:.2}."
        ),
    );
}
