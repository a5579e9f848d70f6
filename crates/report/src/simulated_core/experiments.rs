//! The article's questions put to the simulated core, as text.

use crate::number;
use crate::words::{clean, paragraph};
use coretwin_base::simulation::core_run::{CoreEnhancement, CoreSievePages};
use std::fmt::Write;

/// Width of the drawn distribution, in characters.
const DRAWN: usize = 60;

/// Enhancements of the kernel for a terminal, each with and without.
#[must_use]
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

/// The sieve on many page maps, for a terminal.
#[must_use]
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
