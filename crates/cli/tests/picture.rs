//! The picture of `coretwin top` in the documentation: a real run in a pseudo-terminal beside real work,
//! its screen as SVG. Made by
//! `cargo test -p coretwin --features bpf --test picture -- --ignored`.

mod common;
#[path = "common/terminal.rs"]
mod terminal;

use common::{CORETWIN, host};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use terminal::Session;

const ROWS: u16 = 28;
const COLUMNS: u16 = 100;
/// Size of a character, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 17.0;
/// Around the screen.
const MARGIN: f64 = 12.0;
/// A terminal's sixteen colours, the bright ones last.
const COLOURS: [&str; 16] = [
    "#1d1f21", "#d05a5a", "#7fb04f", "#d8a24a", "#5f9bd6", "#b07fc7", "#4fb0a5", "#c5c8c6",
    "#7c8084", "#f07a7a", "#9ed06b", "#f0c674", "#81b6f0", "#cf9fe3", "#70d0c5", "#ffffff",
];

/// The colour of a character, if it has one.
fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(number) => COLOURS.get(usize::from(number)).map(|&c| c.to_owned()),
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// How a character looks: its own colour, that behind it, whether it is bold.
type Look = (String, Option<String>, bool);

fn look(cell: &vt100::Cell) -> Look {
    let (mut ink, mut paper) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    if cell.inverse() {
        let swapped = (paper.or(Some(COLOURS[0].to_owned())), ink.or(Some(COLOURS[7].to_owned())));
        (ink, paper) = swapped;
    }
    let dim = if cell.dim() { COLOURS[8] } else { COLOURS[7] };
    (ink.unwrap_or_else(|| dim.to_owned()), paper, cell.bold())
}

/// The screen as an image, with a line below it.
fn svg(screen: &vt100::Screen, caption: &str) -> String {
    let (width, height) =
        (2.0 * MARGIN + f64::from(COLUMNS) * WIDTH, 3.0 * MARGIN + f64::from(ROWS + 1) * HEIGHT);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, \
         monospace\" font-size=\"14\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n",
        escaped(caption),
        COLOURS[0]
    );
    for row in 0..ROWS {
        // Stretches of characters that look the same.
        let mut runs: Vec<(u16, Look, String)> = Vec::new();
        for column in 0..COLUMNS {
            let Some(cell) = screen.cell(row, column) else { continue };
            let contents = if cell.has_contents() { cell.contents() } else { " " };
            let look = look(cell);
            match runs.last_mut() {
                Some((_, last, run)) if *last == look => run.push_str(contents),
                _ => runs.push((column, look, contents.to_owned())),
            }
        }
        let y = MARGIN + f64::from(row) * HEIGHT;
        for (column, (ink, paper, bold), run) in runs {
            let x = MARGIN + f64::from(column) * WIDTH;
            let long = run.chars().count() as f64 * WIDTH;
            if let Some(paper) = paper {
                let _ = writeln!(
                    text,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{HEIGHT}\" fill=\"{paper}\"/>"
                );
            }
            if run.trim().is_empty() {
                continue;
            }
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{ink}\"{weight} textLength=\"{long:.1}\" \
                 xml:space=\"preserve\">{}</text>",
                y + 13.0,
                escaped(&run)
            );
        }
    }
    let _ = write!(
        text,
        "<text x=\"{MARGIN}\" y=\"{:.1}\" fill=\"{}\" font-size=\"12\">{}</text>\n</svg>\n",
        height - MARGIN,
        COLOURS[8],
        escaped(caption)
    );
    text
}

/// What the picture is of, in a line.
fn machine() -> String {
    let facts = Command::new(CORETWIN).args(["topology", "--json"]).output().expect("topology");
    let facts: serde_json::Value = serde_json::from_slice(&facts.stdout).expect("JSON");
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor without a name", |(_, name)| name);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = release.split('.').take(2).collect::<Vec<_>>().join(".");
    let cpus = facts["cpus"].as_array().map_or(0, Vec::len);
    let guest = if facts["hypervisor"].is_null() { "" } else { ", in a virtual machine" };
    format!("{model}, {cpus} CPUs{guest}, Linux {kernel}")
}

#[test]
#[ignore = "writes docs/top.svg"]
fn top_beside_chat_and_a_compressor() {
    let _host = host();
    // Two kinds of work on the CPUs: what talks and what computes.
    let work = |line: &str| {
        let mut work = Command::new("/bin/sh");
        work.args(["-c", line]).stdout(Stdio::null()).stderr(Stdio::null());
        work.spawn().expect("starts")
    };
    let chat = format!("exec '{CORETWIN}' run chat:rooms=5,messages=30000");
    let mut works = [work(&chat), work("exec gzip -9 < /dev/zero")];
    let args = ["top", "--siblings", "0+1", "--interval", "2s"].map(str::to_owned);
    let mut session = Session::start(CORETWIN, &args, ROWS, COLUMNS, &[("TERM", "xterm-256color")]);
    session.until("tasks", |screen| screen.contains("SHARED s"));
    let caption = format!("coretwin top --siblings 0+1, on {}", machine());
    let picture = svg(session.screen(), &caption);
    for work in &mut works {
        let _ = work.kill();
        let _ = work.wait();
    }
    session.send("q");
    session.end();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/top.svg");
    std::fs::write(path, picture).expect("written");
}
