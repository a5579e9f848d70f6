//! `docs/top.svg`: the screen of a recorded window, as a terminal shows it.
//! `UPDATE_EXPECT=1 cargo test -p coretwin-top --test picture` writes it.

use coretwin_top::screen;
use coretwin_top::snapshot::Snapshot;
use coretwin_top::view::View;
use expect_test::expect_file;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

/// A line of `top --json`: a build on two cores, servers on two more, four cores that idle.
const SCENE: &str = include_str!("scene.json");
const SIZE: (u16, u16) = (120, 19);
/// Size of a character, in pixels.
const LETTER: (f64, f64) = (8.4, 17.0);
/// Around the screen.
const MARGIN: f64 = 12.0;
/// The picture brings its own paper, so that it is the same on a light page and on a dark one.
const PAPER: &str = "#1d1f21";
const INK: &str = "#d5d8d6";
const SOFT: &str = "#a9adb1";
const CAPTION: [&str; 2] = [
    "coretwin top, drawn from a recorded fixture: 8 cores with set times, not a measurement.",
    "cc1plus is charged 0.95 s beside a busy sibling; ALONE is what the same work would have cost with \
     the core to itself.",
];

fn hex(colour: Color) -> &'static str {
    match colour {
        Color::Red => "#f07a7a",
        Color::Green => "#9ed06b",
        Color::Yellow => "#f0c674",
        Color::Cyan => "#70d0c5",
        _ => INK,
    }
}

/// Cells of a line that look the same.
fn run(out: &mut String, text: &str, (x, y): (f64, f64), ink: &str, modifier: Modifier) {
    let (long, high) = (text.chars().count() as f64 * LETTER.0, LETTER.1);
    let is_reversed = modifier.contains(Modifier::REVERSED);
    if is_reversed {
        let _ = writeln!(
            out,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{long:.1}" height="{high}" fill="{ink}"/>"#
        );
    }
    let ink = if is_reversed { PAPER } else { ink };
    let bold = modifier.contains(Modifier::BOLD);
    let weight = if bold { r#" font-weight="bold""# } else { "" };
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let y = y + 13.0;
    if !text.trim().is_empty() {
        let _ = writeln!(
            out,
            r#"<text x="{x:.1}" y="{y:.1}" fill="{ink}"{weight} textLength="{long:.1}" xml:space="preserve">{text}</text>"#
        );
    }
}

fn svg(scene: &Snapshot) -> String {
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("terminal");
    let drawn = terminal.draw(|frame| {
        screen::draw(frame, Some(scene), &mut View::default(), &mut |_| String::new());
    });
    let buffer = drawn.expect("drawn").buffer;
    let width = 2.0 * MARGIN + f64::from(SIZE.0) * LETTER.0;
    let height = 3.0 * MARGIN + f64::from(SIZE.1 + 2) * LETTER.1;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, \
         monospace\" font-size=\"14\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{PAPER}\"/>\n",
        CAPTION[0]
    );
    let columns: Vec<u16> = (0..SIZE.0).collect();
    for row in 0..SIZE.1 {
        let look = |column: u16| {
            let cell = &buffer[(column, row)];
            (hex(cell.fg), cell.modifier)
        };
        for cells in columns.chunk_by(|a, b| look(*a) == look(*b)) {
            let text: String = cells.iter().map(|column| buffer[(*column, row)].symbol()).collect();
            let x = MARGIN + f64::from(cells[0]) * LETTER.0;
            let (ink, modifier) = look(cells[0]);
            run(&mut out, &text, (x, MARGIN + f64::from(row) * LETTER.1), ink, modifier);
        }
    }
    for (line, up) in CAPTION.iter().zip([LETTER.1, 0.0]) {
        let y = height - MARGIN - up;
        let _ = writeln!(
            out,
            r#"<text x="{MARGIN}" y="{y:.1}" fill="{SOFT}" font-size="13">{line}</text>"#
        );
    }
    out + "</svg>\n"
}

#[test]
fn the_picture_of_the_documentation_is_what_is_drawn() {
    let scene = serde_json::from_str(SCENE).expect("a snapshot");
    expect_file!["../../../docs/top.svg"].assert_eq(&svg(&scene));
}
