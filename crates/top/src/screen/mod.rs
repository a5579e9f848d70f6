//! The screen: a snapshot and a view, drawn as text. Letters, digits and `#*=.-|` alone, so that any
//! font will do; colours only say again what the characters say already.
//!
//! From top to bottom: [`totals`], then the cores ([`cores`]), then tasks, cgroups, pairs or notes
//! ([`tables`]), then a line of keys. What does not fit is left out from the bottom of its part.

mod cores;
mod tables;
mod totals;

use crate::snapshot::Snapshot;
use crate::view::{KEYS, Panel, View};
use coretwin_base::printable::is_steering;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Words};

/// Fewer columns or rows than this are too few to draw on.
const LEAST: (u16, u16) = (40, 8);

/// What the screen shows. With the keys it fits on 24 rows of 80.
const LEGEND: [&str; 7] = [
    "# all CPUs of the core busy   * several   = one   . idle",
    "[low-high] range of the number before   +- half of it   (max) of the short looks",
    "logical: busy CPUs   core-busy: cores with a busy CPU   capacity: really in use",
    "RAW: run time as charged     SHARED: of it beside a busy sibling",
    "CAPACITY: seconds of a whole core     ALONE: had no sibling been busy",
    "clash: cores that share while others idle     <= no more than that is possible",
    "TOGETHER: both ran on one core     LOST: what each lost by it, by slowdown r",
];

/// Draws it all; before the first window there is none. A view that was scrolled beyond the end comes back
/// to it. Gives the rows that one page of the lower part has.
pub fn draw(frame: &mut Frame<'_>, snapshot: Option<&Snapshot>, view: &mut View) -> usize {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    let mut page = Page { buffer, area, row: 0, colour: view.colour };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        for line in tables::broken(&format!("{}x{} needed", LEAST.0, LEAST.1), page.width()) {
            page.line(Line::raw(line));
        }
        return 1;
    }
    if view.help {
        help(&mut page);
        return 1;
    }
    let Some(snapshot) = snapshot else {
        page.line(Line::raw("coretwin top: the first window is being measured"));
        page.bottom(keys(view, area.width));
        return 1;
    };
    totals::draw(&mut page, snapshot, view);
    let left = page.rows_left();
    // Below, a heading and a few rows at least; the cores get what they need of the rest.
    let room = match view.cores_large {
        true => left,
        false => (left / 2).max(4).min(left),
    };
    cores::draw(&mut page, snapshot, view, room);
    let rows = page.rows_left().saturating_sub(1);
    tables::draw(&mut page, snapshot, view);
    page.bottom(keys(view, area.width));
    rows.max(1)
}

/// The last line: keys, or the filter while it is typed.
fn keys(view: &View, width: u16) -> Line<'static> {
    if view.typing {
        return Line::raw(format!("filter: {}_   Enter keeps it, Esc clears it", view.filter));
    }
    let wide = "q quit  Tab panel  s sort  r turn  / filter  p pause  g group  c cores  [ ] scroll  \
                h help";
    let narrow = "q quit  Tab panel  s sort  / filter  p pause  h help";
    Line::raw(if usize::from(width) >= wide.len() { wide } else { narrow })
}

fn help(page: &mut Page<'_>) {
    page.line(Line::styled("coretwin top: keys", page.bold()));
    for (key, what) in KEYS {
        page.line(Line::raw(format!("  {key:<14}{what}")));
    }
    page.line(Line::raw(""));
    for text in LEGEND {
        for line in tables::broken(text, page.width()) {
            page.line(Line::raw(line));
        }
    }
}

/// A buffer that is filled line by line, from the top.
struct Page<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    row: u16,
    colour: bool,
}

impl Page<'_> {
    /// Rows that are left above the last.
    fn rows_left(&self) -> usize {
        usize::from(self.area.height.saturating_sub(1).saturating_sub(self.row))
    }

    fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// The next line, cut at the edge; nothing if there is no room.
    fn line(&mut self, line: Line<'_>) {
        if self.rows_left() > 0 {
            let y = self.area.y + self.row;
            self.buffer.set_line(self.area.x, y, &line, self.area.width);
            self.row += 1;
        }
    }

    /// The last line of all.
    fn bottom(&mut self, line: Line<'_>) {
        let y = self.area.y + self.area.height.saturating_sub(1);
        self.buffer.set_line(self.area.x, y, &line, self.area.width);
        let line = Rect { y, height: 1, ..self.area };
        self.buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
    }

    fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn coloured(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// A heading in bold, with more after it.
    fn heading(&mut self, heading: &str, more: String) {
        let words = vec![Words::styled(heading.to_owned(), self.bold()), Words::raw(more)];
        self.line(Line::from(words));
    }
}

/// A name from outside: what would steer the terminal is shown as `?`.
fn clean(name: &str) -> String {
    name.chars().map(|letter| if is_steering(letter) { '?' } else { letter }).collect()
}

/// `12.3%`.
fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// The heading of the lower part: its name, and those of the others.
fn panels(view: &View) -> String {
    let others = (1..).zip(Panel::ALL).filter(|(_, panel)| *panel != view.panel);
    others.map(|(key, panel)| format!("  {key} {}", panel.name().to_lowercase())).collect()
}

#[cfg(test)]
pub(crate) mod tests;
