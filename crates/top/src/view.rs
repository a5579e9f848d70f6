//! What the user chose to see, and the keys that change it.

use crate::snapshot::{Cgroup, Pair, Snapshot, Task};
use coretwin_base::account::Worth;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use std::cmp::Ordering;
use std::ops::Range;

/// Most characters of a filter.
const FILTER_MAX: usize = 64;
/// Lines that a turn of the wheel scrolls.
const WHEEL: usize = 3;
/// Shortest and longest interval, in tenths of a second.
pub const INTERVAL_TENTHS: std::ops::RangeInclusive<u32> = 2..=6000;

/// Every key: how it is written, and what it does.
pub const KEYS: [(&str, &str); 14] = [
    ("q", "quit; so do Ctrl-C and Ctrl-D"),
    ("Tab 1 2 3 4", "below: tasks, cgroups, pairs, warnings in full"),
    ("s S", "sort by the next column, the one before"),
    ("r", "turn the order round"),
    ("/", "filter by name, cgroup or number; Enter keeps it, Esc clears it"),
    ("p Space", "pause: what is shown stays, measuring goes on"),
    ("Enter", "of the first cgroup below: its tasks only"),
    ("g", "cores: by themselves, by last-level cache, by package, as fits"),
    ("c", "cores: few lines, or all the room"),
    ("[ ]", "cores: back, on"),
    ("Up Down", "below: a line back, on; PgUp PgDn a page; Home the start"),
    ("+ -", "a longer, a shorter interval"),
    ("l", "draw all anew"),
    ("m", "mouse: wheel scrolls, click on a heading sorts; off: select text"),
];

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    #[default]
    Tasks,
    Cgroups,
    Pairs,
    Warnings,
}

impl Panel {
    /// Every panel, in the order of their keys.
    pub const ALL: [Self; 4] = [Self::Tasks, Self::Cgroups, Self::Pairs, Self::Warnings];

    pub fn name(self) -> &'static str {
        ["TASKS", "CGROUPS", "PAIRS", "WARNINGS"][self as usize]
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    #[default]
    Fit,
    /// Each by itself.
    Core,
    Cache,
    Package,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    #[default]
    Shared,
    Raw,
    Capacity,
    Alone,
    /// Thread, or number of threads.
    Number,
    /// Name, or path.
    Name,
}

impl Order {
    pub const ALL: [Self; 6] =
        [Self::Shared, Self::Raw, Self::Capacity, Self::Alone, Self::Number, Self::Name];

    /// Its name on the command line and on the screen.
    pub fn name(self) -> &'static str {
        ["shared", "raw", "capacity", "alone", "number", "name"][self as usize]
    }

    fn step(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }

    fn of_worth(self, a: &Worth, b: &Worth) -> Ordering {
        let most = |value: fn(&Worth) -> f64| value(b).total_cmp(&value(a));
        match self {
            Self::Shared => most(|worth| worth.shared_s).then(most(|worth| worth.raw_s)),
            Self::Capacity => most(|worth| worth.capacity_s.value),
            Self::Alone => most(|worth| worth.alone_equivalent_s.value),
            Self::Raw | Self::Number | Self::Name => most(|worth| worth.raw_s),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Draw,
    Anew,
    Quit,
    Suspend,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct View {
    pub panel: Panel,
    pub order: Order,
    pub reversed: bool,
    /// What names, cgroups or numbers contain.
    pub filter: String,
    pub typing: bool,
    /// The only cgroup whose tasks are shown, with those below it.
    pub cgroup: Option<String>,
    /// Whether what is shown stays.
    pub paused: bool,
    pub help: bool,
    pub grain: Grain,
    pub cores_large: bool,
    pub cores_from: usize,
    pub from: usize,
    /// Length of a window, in tenths of a second.
    pub interval_tenths: u32,
    /// Whether colours are left out.
    pub plain: bool,
    /// Whether there is nothing but ASCII.
    pub ascii: bool,
    /// Whether the mouse is ours.
    pub no_mouse: bool,
    /// Where the last drawing put the headings of columns: row, columns of the screen, order.
    pub heads: Vec<(u16, Range<u16>, Order)>,
    /// First row of the lower part.
    pub below: u16,
}

impl View {
    /// Takes a key. `page` is how many lines one page has, `shown` what is on the screen.
    pub fn key(&mut self, key: KeyEvent, page: usize, shown: Option<&Snapshot>) -> Act {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c' | 'd') => return Act::Quit,
                KeyCode::Char('z') => return Act::Suspend,
                KeyCode::Char('l') => return Act::Anew,
                _ => return Act::Draw,
            }
        }
        if self.typing {
            self.type_filter(key.code);
            return Act::Draw;
        }
        match key.code {
            KeyCode::Char('q') => return Act::Quit,
            KeyCode::Char('l') => return Act::Anew,
            KeyCode::Char('m') => self.no_mouse = !self.no_mouse,
            KeyCode::Char('h' | '?') => {
                self.help = !self.help;
                self.from = 0;
            }
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.cgroup = None;
                self.from = 0;
            }
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Enter => self.enter(shown),
            KeyCode::Char('+') => self.interval(true),
            KeyCode::Char('-') => self.interval(false),
            code => self.move_about(code, page),
        }
        Act::Draw
    }

    /// Takes what the mouse did; whether anything changed.
    pub fn mouse(&mut self, event: MouseEvent) -> bool {
        let is_below = self.help || event.row >= self.below;
        match event.kind {
            MouseEventKind::ScrollUp if is_below => self.move_about(KeyCode::PageUp, WHEEL),
            MouseEventKind::ScrollDown if is_below => self.move_about(KeyCode::PageDown, WHEEL),
            MouseEventKind::ScrollUp => self.move_about(KeyCode::Char('['), 1),
            MouseEventKind::ScrollDown => self.move_about(KeyCode::Char(']'), 1),
            MouseEventKind::Down(MouseButton::Left) => {
                let mut heads = self.heads.iter();
                let hit = heads
                    .find(|(row, columns, _)| *row == event.row && columns.contains(&event.column));
                let Some((_, _, order)) = hit else { return false };
                // A second click turns the order round.
                self.reversed = self.order == *order && !self.reversed;
                self.order = *order;
            }
            _ => return false,
        }
        true
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(letter) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(letter);
            }
            _ => {}
        }
        self.from = 0;
    }

    fn move_about(&mut self, code: KeyCode, page: usize) {
        let panel = |index: usize| Panel::ALL[index % Panel::ALL.len()];
        let at = self.panel as usize;
        let (before, from) = (self.panel, self.from);
        match code {
            KeyCode::Tab => self.panel = panel(at + 1),
            KeyCode::BackTab => self.panel = panel(at + Panel::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='4') => self.panel = panel(digit as usize - '1' as usize),
            KeyCode::Char('s') => self.order = self.order.step(1),
            KeyCode::Char('S') => self.order = self.order.step(Order::ALL.len() - 1),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('c') => self.cores_large = !self.cores_large,
            KeyCode::Char('g') => {
                self.cores_from = 0;
                self.grain = match self.grain {
                    Grain::Fit => Grain::Core,
                    Grain::Core => Grain::Cache,
                    Grain::Cache => Grain::Package,
                    Grain::Package => Grain::Fit,
                };
            }
            KeyCode::Char('[') => self.cores_from = self.cores_from.saturating_sub(page),
            KeyCode::Char(']') => self.cores_from = self.cores_from.saturating_add(page),
            KeyCode::Up => self.from = from.saturating_sub(1),
            KeyCode::Down => self.from = from.saturating_add(1),
            KeyCode::PageUp => self.from = from.saturating_sub(page),
            KeyCode::PageDown => self.from = from.saturating_add(page),
            KeyCode::Home => self.from = 0,
            _ => {}
        }
        if self.panel != before {
            self.from = 0;
        }
    }

    /// Opens the first cgroup that is shown, or leaves the one that is open.
    fn enter(&mut self, shown: Option<&Snapshot>) {
        if let (Panel::Cgroups, Some(snapshot)) = (self.panel, shown) {
            if let Some(first) = self.cgroups(snapshot).get(self.from) {
                self.cgroup = Some(first.path.clone().unwrap_or_default());
                self.panel = Panel::Tasks;
            }
        } else {
            self.cgroup = None;
        }
        self.from = 0;
    }

    /// A second more or less; below a second, a fifth.
    fn interval(&mut self, longer: bool) {
        let now = self.interval_tenths;
        let wanted = match longer {
            true => now + if now < 10 { 2 } else { 10 },
            false => now.saturating_sub(if now <= 10 { 2 } else { 10 }),
        };
        self.interval_tenths = wanted.clamp(*INTERVAL_TENTHS.start(), *INTERVAL_TENTHS.end());
    }

    pub fn tasks<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a Task> {
        let wanted = snapshot.tasks.iter().filter(|task| {
            let cgroup = task.cgroup.as_deref().unwrap_or_default();
            self.cgroup.as_deref().is_none_or(|open| is_below(cgroup, open))
                && (self.matches(&task.comm)
                    || self.matches(cgroup)
                    || self.is_number(task.pid)
                    || self.is_number(task.tid))
        });
        self.sorted(wanted.collect(), |order, a, b| match order {
            Order::Number => a.tid.cmp(&b.tid),
            Order::Name => a.comm.cmp(&b.comm).then(a.tid.cmp(&b.tid)),
            order => order.of_worth(&a.worth, &b.worth).then(a.tid.cmp(&b.tid)),
        })
    }

    pub fn cgroups<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a Cgroup> {
        let wanted = snapshot
            .cgroups
            .iter()
            .filter(|group| self.matches(group.path.as_deref().unwrap_or_default()));
        self.sorted(wanted.collect(), |order, a, b| match order {
            Order::Number => b.tasks.cmp(&a.tasks).then(a.path.cmp(&b.path)),
            Order::Name => a.path.cmp(&b.path),
            order => order.of_worth(&a.worth, &b.worth).then(a.path.cmp(&b.path)),
        })
    }

    pub fn pairs<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a Pair> {
        let wanted = snapshot.pairs.iter().filter(|pair| {
            self.matches(&pair.a_comm)
                || self.matches(&pair.b_comm)
                || self.is_number(pair.a_tid)
                || self.is_number(pair.b_tid)
        });
        let mut pairs: Vec<&Pair> = wanted.collect();
        if self.reversed {
            pairs.reverse();
        }
        pairs
    }

    fn sorted<'a, T>(
        &self,
        mut rows: Vec<&'a T>,
        compare: impl Fn(Order, &T, &T) -> Ordering,
    ) -> Vec<&'a T> {
        rows.sort_by(|a, b| compare(self.order, a, b));
        if self.reversed {
            rows.reverse();
        }
        rows
    }

    fn matches(&self, text: &str) -> bool {
        self.filter.is_empty() || text.contains(&self.filter)
    }

    fn is_number(&self, number: u32) -> bool {
        self.filter.parse() == Ok(number)
    }
}

fn is_below(path: &str, open: &str) -> bool {
    if open.is_empty() {
        return path.is_empty();
    }
    path.strip_prefix(open)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || open.ends_with('/'))
}
