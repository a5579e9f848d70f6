//! `docs/predicted-xeon.svg`, the first picture of README: what a study of the simulated Xeon says of SMT.
//! `UPDATE_EXPECT=1 cargo test -p coretwin-report --test picture` writes it.

mod support;

use coretwin_base::study::summary::Summary;
use expect_test::expect_file;
use std::fmt::Write;
use support::Records;

const KERNEL: &str = "linux-2.5.32";
/// Sizes in pixels: of the paper, of what stands above the lines, of a line, of where the bars lie.
const WIDTH: f64 = 840.0;
const TOP: f64 = 84.0;
const LINE: f64 = 22.0;
const BARS: (f64, f64) = (222.0, 600.0);
/// Ratios at the ends of the bars' axis, which is logarithmic, and what is marked on it.
const AXIS: (f64, f64) = (0.4, 1.65);
const TICKS: [(f64, &str); 4] = [(0.6, "−40 %"), (0.8, "−20 %"), (1.0, "0 %"), (1.4, "+40 %")];
/// Both colour schemes: the picture stands on pages that are light or dark.
const STYLE: &str = "\
svg{color-scheme:light dark;font:14px system-ui,sans-serif}.paper{fill:#fbfaf7}text{fill:#1c2127}
text.soft{fill:#5a626d;font-size:12.5px}.title{font-size:19px;font-weight:650}.off{stroke:#c4520a}
.band{fill:#e4dfd0}.grid{stroke:#d6d2c8}.zero{stroke:#1c2127}.badge{fill:#8a5a00}
text.in{fill:#fff;font-weight:650;text-anchor:middle}.bar{stroke:#0f62b8;stroke-width:3}.mark{fill:#0f62b8}
.printed{fill:none;stroke:#c4520a;stroke-width:2}
@media(prefers-color-scheme:dark){.paper{fill:#14171a}text{fill:#e9e6df}text.soft{fill:#a4abb4}
.band{fill:#333a43}.grid{stroke:#2e333a}.zero{stroke:#e9e6df}.badge{fill:#e9b65a}text.in{fill:#14171a}
.off{stroke:#ff9b5e}.bar{stroke:#6db2ff}.mark{fill:#6db2ff}.printed{stroke:#ff9b5e}}";

/// A line of the picture: an effect with its ends, and what the article printed.
struct Effect {
    label: String,
    ends: [f64; 3],
    printed: f64,
}

fn effects(summary: &Summary) -> Vec<Effect> {
    let ends = |ends: [Option<f64>; 3]| ends.map(|end| end.expect("compared"));
    let prediction = summary.prediction.as_deref().expect("scored");
    let rows = summary.rows.iter().map(|row| {
        let printed = prediction.rows.iter().find(|one| one.row == row.row).expect("printed");
        let what = if row.workload == "chat" { "rooms" } else { "clients" };
        Effect {
            label: format!("{}, {} {what}", row.workload, printed.label),
            ends: ends([row.ratio, row.low, row.high]),
            printed: printed.article_on / printed.article_off,
        }
    });
    rows.collect()
}

fn x(ratio: f64) -> f64 {
    let share = (ratio / AXIS.0).ln() / (AXIS.1 / AXIS.0).ln();
    assert!((0.0..=1.0).contains(&share), "{ratio} is not on the axis");
    BARS.0 + share * (BARS.1 - BARS.0)
}

fn percent(ratio: f64) -> String {
    format!("{:+.1}", 100.0 * (ratio - 1.0)).replace('-', "−")
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    let _ = writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" class="{class}">{text}</text>"#);
}

fn ground(out: &mut String, margin: f64, bottom: f64) {
    let (from, to, high) = (x(1.0 - margin), x(1.0 + margin), bottom - TOP);
    let _ = writeln!(
        out,
        r#"<rect class="band" x="{from:.1}" y="{TOP}" width="{:.1}" height="{high:.1}"/>"#,
        to - from
    );
    for (tick, name) in TICKS {
        let class = if tick == 1.0 { "zero" } else { "grid" };
        let _ = writeln!(out, r#"<path class="{class}" d="M{:.1} {TOP}V{bottom:.1}"/>"#, x(tick));
        text(out, (x(tick) - 14.0, bottom + 18.0), "soft", name);
    }
}

fn line(out: &mut String, effect: &Effect, y: f64) {
    let [ratio, low, high] = effect.ends;
    text(out, (16.0, y + 5.0), "", &effect.label);
    let said = format!("{} %, measured {} %", percent(ratio), percent(effect.printed));
    text(out, (612.0, y + 5.0), "", &said);
    let (at, printed) = (x(ratio), x(effect.printed));
    let _ = writeln!(out, r#"<path class="off" d="M{at:.1} {y}H{printed:.1}"/>"#);
    let _ = writeln!(out, r#"<path class="bar" d="M{:.1} {y}H{:.1}"/>"#, x(low), x(high));
    let _ = writeln!(out, r#"<circle class="mark" cx="{at:.1}" cy="{y}" r="4.5"/>"#);
    let _ = writeln!(out, r#"<circle class="printed" cx="{printed:.1}" cy="{y}" r="5"/>"#);
}

fn svg(records: &Records, both_kernels: &Summary) -> String {
    let summary = &records.summary;
    let machine = &summary.machine;
    let effects = effects(summary);
    let bottom = TOP + LINE * effects.len() as f64;
    let height = bottom + 94.0;
    let mark = summary.origin.mark().expect("nothing was measured");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{mark}: throughput with SMT on, against off, on the simulated {machine}</title>\n\
         <style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n\
         <rect class=\"badge\" x=\"16\" y=\"45\" width=\"104\" height=\"22\" rx=\"11\"/>\n"
    );
    text(
        &mut out,
        (16.0, 30.0),
        "title",
        "What SMT brings a Xeon of 2003: throughput with SMT on, against off",
    );
    text(&mut out, (68.0, 61.0), "in", mark);
    let about =
        format!("● simulated under {KERNEL}, bar: seed spread · ○ measured by the 2003 article");
    text(&mut out, (130.0, 61.0), "", &about);
    ground(&mut out, summary.margin, bottom);
    for (index, effect) in effects.iter().enumerate() {
        line(&mut out, effect, TOP + LINE * (index as f64 + 0.5));
    }
    let errors = |summary: &Summary| {
        let scores = &summary.prediction.as_deref().expect("scored").scores;
        let score = scores.iter().max_by_key(|score| score.rows).expect("a score");
        let (off, guess) = (score.mean_error_points, score.constant_error_points);
        let better = if off < guess { "the prediction" } else { "the guess" };
        (
            score.rows,
            format!("off by {off:.1} points, one guess for all by {guess:.1}: {better} is nearer"),
        )
    };
    let (here, of_both) = (errors(summary), errors(both_kernels));
    let both = format!("Over the {} speed-ups of both kernels: {}.", of_both.0, of_both.1);
    let here = format!("Over the {} here: {}. Band: no material difference.", here.0, here.1);
    let command = format!(
        "coretwin study chat dbench tbench --machine {machine} --arm off@{KERNEL} --arm on@{KERNEL} --seed {}",
        records.plan.seed
    );
    for (foot, y) in [(both, 42.0), (here, 62.0), (command, 80.0)] {
        text(&mut out, (16.0, bottom + y), "soft", &foot);
    }
    out + "</svg>\n"
}

#[test]
fn the_picture_of_the_readme_is_what_the_records_say() {
    let records = support::simulated::of_kernel(KERNEL);
    expect_file!["../../../docs/predicted-xeon.svg"]
        .assert_eq(&svg(&records, &support::simulated::simulated().summary));
}
