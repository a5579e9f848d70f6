//! The screen: a snapshot and a view, drawn as text, in UTF-8 or in ASCII alone; colours only say again
//! what the characters say already.
//!
//! From top to bottom: [`totals`], then the cores ([`cores`]), then tasks, cgroups, pairs or warnings
//! ([`tables`]), then a line of keys. What does not fit is left out from the bottom of its part.

mod cores;
mod tables;
mod totals;

use crate::snapshot::Snapshot;
use crate::view::{KEYS, Panel, View};
use coretwin_base::printable;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Words};

/// Fewer columns or rows than this are too few to draw on.
const LEAST: (u16, u16) = (40, 8);
/// Columns from which on the parts are in boxes.
const BOXED: u16 = 80;
/// Rows below which a line that is too long does not take a second one.
const LOW: u16 = 16;

/// The characters that are no text.
#[derive(Debug)]
struct Glyphs {
    /// Of a box: the ends of its first line, those of a line inside, a line, a side.
    top: [&'static str; 2],
    joint: [&'static str; 2],
    line: &'static str,
    side: &'static str,
    /// A core with all CPUs busy, several, one, one for a little while, none.
    busy: [&'static str; 5],
    /// Before half of a range.
    half: &'static str,
    /// For the rest of what is cut.
    cut: &'static str,
}

static ASCII: Glyphs = Glyphs {
    top: ["+", "+"],
    joint: ["+", "+"],
    line: "-",
    side: "|",
    busy: ["#", "*", "=", "-", "."],
    half: "+-",
    cut: ">",
};

static UTF8: Glyphs = Glyphs {
    top: ["┌", "┐"],
    joint: ["├", "┤"],
    line: "─",
    side: "│",
    busy: ["█", "▆", "▄", "▁", "·"],
    half: "±",
    cut: "…",
};

/// What the screen shows. With the keys it fits on 24 rows of 80.
fn legend(glyphs: &Glyphs) -> [String; 7] {
    let [all, several, one, _, idle] = glyphs.busy;
    [
        format!("{all} all CPUs of the core busy   {several} several   {one} one   {idle} idle"),
        format!("[low-high] range of a number   {} half of it   (max) of short looks", glyphs.half),
        "logical: busy CPUs   core-busy: cores with a busy CPU   capacity: really in use".into(),
        "%CPU, RAW: run time as charged     SHARED: of it beside a busy sibling".into(),
        "CAPACITY: seconds of a whole core     ALONE: had no sibling been busy".into(),
        "clash: cores that share while others idle     <= no more than that is possible".into(),
        "TOGETHER: both ran on one core     LOST: what each lost by it, by slowdown r".into(),
    ]
}

/// Gives the command line of a process; empty if it has none.
pub type Command<'a> = &'a mut dyn FnMut(u32) -> String;

/// Draws it all; before the first window there is none. A view that was scrolled beyond the end comes back
/// to it. Gives the rows that one page of the lower part has.
pub fn draw(
    frame: &mut Frame<'_>,
    snapshot: Option<&Snapshot>,
    view: &mut View,
    command: Command<'_>,
) -> usize {
    let area = frame.area();
    let mut page = Page::new(frame.buffer_mut(), area, view);
    view.heads.clear();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        page.text(&format!("{}x{} needed", LEAST.0, LEAST.1));
        return 1;
    }
    if view.help {
        return help(&mut page, view);
    }
    let Some(snapshot) = snapshot else {
        page.text("coretwin top: the first window is being measured");
        page.bottom(keys(view, area.width));
        return 1;
    };
    totals::draw(&mut page, snapshot, view);
    let left = page.rows_left();
    // Below, a heading and a few rows at least; the cores get what they need of the rest. Warnings are
    // whole, and have all the room.
    if view.panel != Panel::Warnings {
        let room = if view.cores_large { left } else { (left / 2).max(4).min(left) };
        cores::draw(&mut page, snapshot, view, room);
    }
    view.below = area.y + page.row;
    let rows = page.rows_left().saturating_sub(1);
    tables::draw(&mut page, snapshot, view, command);
    page.sides();
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

fn help(page: &mut Page<'_>, view: &mut View) -> usize {
    page.inset = 0;
    page.line(Line::styled("coretwin top: keys (h again: back)", page.bold()));
    let keys = KEYS.iter().map(|(key, what)| format!("  {key:<12}{what}"));
    let all = keys.chain([String::new()]).chain(legend(page.glyphs));
    let lines: Vec<String> = all.flat_map(|text| broken(&text, page.width())).collect();
    let rows = page.rows_left().max(1);
    view.from = view.from.min(lines.len().saturating_sub(rows));
    for line in lines.into_iter().skip(view.from) {
        page.line(Line::raw(line));
    }
    rows
}

/// A buffer that is filled line by line, from the top, inside of a box if it is wide enough.
struct Page<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    row: u16,
    /// Columns that a side of the box takes.
    inset: u16,
    plain: bool,
    glyphs: &'static Glyphs,
}

impl<'a> Page<'a> {
    fn new(buffer: &'a mut Buffer, area: Rect, view: &View) -> Self {
        let glyphs = if view.ascii { &ASCII } else { &UTF8 };
        let inset = u16::from(area.width >= BOXED);
        Self { buffer, area, row: 0, inset, plain: view.plain, glyphs }
    }

    /// Rows that are left above the last.
    fn rows_left(&self) -> usize {
        usize::from(self.area.height.saturating_sub(1).saturating_sub(self.row))
    }

    fn width(&self) -> usize {
        usize::from(self.area.width - 2 * self.inset)
    }

    /// The next line, cut at the edge; nothing if there is no room.
    fn line(&mut self, line: Line<'_>) {
        if self.rows_left() > 0 {
            let (x, y) = (self.area.x + self.inset, self.area.y + self.row);
            self.buffer.set_line(x, y, &line, self.area.width - 2 * self.inset);
            self.row += 1;
        }
    }

    /// Text in as many lines as it needs.
    fn text(&mut self, text: &str) {
        for line in broken(text, self.width()) {
            self.line(Line::raw(line));
        }
    }

    /// Parts of a line side by side. One that does not fit begins another line; where rows are few it is
    /// left out. None is cut, so that no number loses its end.
    fn parts(&mut self, parts: Vec<Vec<Words<'static>>>) {
        let (mut line, mut used) = (Vec::new(), 0);
        for part in parts {
            let length: usize = part.iter().map(Words::width).sum();
            if used > 0 && used + 2 + length > self.width() {
                if self.area.height < LOW {
                    continue;
                }
                self.line(Line::from(std::mem::take(&mut line)));
                used = 0;
            } else if used > 0 {
                line.push(Words::raw("  "));
                used += 2;
            }
            line.extend(part);
            used += length;
        }
        self.line(Line::from(line));
    }

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
        if self.plain { Style::new() } else { Style::new().fg(colour) }
    }

    /// A heading in bold, in a line of the box, with those of the parts that fit beside it.
    fn heading(&mut self, heading: &str, parts: &[String]) {
        if self.rows_left() == 0 {
            return;
        }
        let width = usize::from(self.area.width);
        let mut more = String::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if heading.len() + more.chars().count() + part.chars().count() + 7 <= width {
                more = more + "  " + part;
            }
        }
        let [left, right] = match (self.inset, self.row) {
            (0, _) => [self.glyphs.line; 2],
            (_, 0) => self.glyphs.top,
            _ => self.glyphs.joint,
        };
        let used = 4 + heading.len() + more.chars().count();
        let rest = self.glyphs.line.repeat(width.saturating_sub(used + 1)) + right;
        let words = vec![
            Words::raw([left, self.glyphs.line, " "].concat()),
            Words::styled(heading.to_owned(), self.bold()),
            Words::raw(more + " "),
            Words::raw(rest),
        ];
        let y = self.area.y + self.row;
        self.buffer.set_line(self.area.x, y, &Line::from(words), self.area.width);
        self.row += 1;
    }

    fn sides(&mut self) {
        let ends = [self.area.left(), self.area.right() - 1];
        for y in (self.area.top()..self.area.bottom() - 1).filter(|_| self.inset > 0) {
            for x in ends {
                let cell = &mut self.buffer[(x, y)];
                if cell.symbol() == " " {
                    cell.set_symbol(self.glyphs.side);
                }
            }
        }
    }

    /// A name from outside, without what would steer the terminal or what it cannot show.
    fn clean(&self, name: &str) -> String {
        let clean = printable::clean(name);
        match self.glyphs.half == ASCII.half {
            true => clean.replace(|letter: char| !letter.is_ascii(), "?"),
            false => clean,
        }
    }
}

/// As many characters of a text, the last one a mark if there are more.
fn cut(text: &str, most: usize, glyphs: &Glyphs) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).collect::<String>() + glyphs.cut
}

/// A text in lines of that width, broken between words where possible.
fn broken(text: &str, width: usize) -> Vec<String> {
    let indent = "  ";
    let most = width.saturating_sub(indent.len()).max(1);
    let letters: Vec<char> = text.chars().collect();
    let words = letters.split_inclusive(|letter| *letter == ' ');
    let mut lines = vec![String::new()];
    for word in words.flat_map(|word| word.chunks(most)) {
        let last = lines.len() - 1;
        let blanks = usize::from(word.ends_with(&[' ']));
        let length = lines[last].chars().count() + word.len() - blanks;
        if length > width && !lines[last].trim().is_empty() {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.extend(word);
        }
    }
    lines
}

/// `12.3%`; the whole is `100%`.
fn percent(share: f64) -> String {
    if share >= 0.9995 { "100%".to_owned() } else { format!("{:.1}%", share * 100.0) }
}

#[cfg(test)]
pub(crate) mod tests;
