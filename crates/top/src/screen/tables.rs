//! The lower part: tasks, cgroups, pairs or notes.

use super::{Page, clean, panels};
use crate::snapshot::{Cgroup, Pair, Snapshot, Task};
use crate::view::{Panel, View};
use coretwin_base::account::{Span, Worth};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

/// Columns from which on there is room for process and cgroup of a task.
const WIDE: usize = 100;

pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &View) {
    // A heading without a row under it is no use.
    if page.rows_left() < 2 {
        return;
    }
    let (count, rows): (usize, Vec<String>) = match view.panel {
        Panel::Tasks => rows(view.tasks(snapshot), view, page, task),
        Panel::Cgroups => rows(view.cgroups(snapshot), view, page, |group, _| cgroup(group)),
        Panel::Pairs => rows(view.pairs(snapshot), view, page, |two, _| pair(two)),
        Panel::Notes => {
            let lines = notes(snapshot, page.width());
            let first = view.from.min(lines.len().saturating_sub(1));
            (snapshot.warnings.len(), lines.into_iter().skip(first).collect())
        }
    };
    let sorted = match view.panel {
        Panel::Tasks | Panel::Cgroups => {
            let turned = if view.reversed { ", turned" } else { "" };
            format!(" {count} by {}{turned}", view.order.name())
        }
        Panel::Pairs | Panel::Notes => format!(" {count}"),
    };
    page.heading(view.panel.name(), format!("{sorted}    keys:{}", panels(view)));
    let head = match view.panel {
        Panel::Tasks if page.width() >= WIDE => format!("{:>7} {}", "PID", task_head()),
        Panel::Tasks => task_head(),
        Panel::Cgroups => format!("{:>5} {} {}", "TASKS", WORTH_HEAD, "PATH"),
        Panel::Pairs => format!("{:>10} {:<14}  {}", "TOGETHER s", "EACH LOST s", "WHO"),
        Panel::Notes => String::new(),
    };
    if !head.is_empty() && page.rows_left() > 1 {
        page.line(Line::styled(head, Style::new().add_modifier(Modifier::UNDERLINED)));
    }
    for row in rows.into_iter().take(page.rows_left()) {
        page.line(Line::raw(row));
    }
}

/// How many there are, and the text of those that are shown.
fn rows<T>(
    all: Vec<&T>,
    view: &View,
    page: &Page<'_>,
    text: impl Fn(&T, usize) -> String,
) -> (usize, Vec<String>) {
    let first = view.from.min(all.len().saturating_sub(1));
    let shown = all.iter().skip(first).take(page.rows_left());
    (all.len(), shown.map(|row| text(row, page.width())).collect())
}

const WORTH_HEAD: &str = "  RAW s SHARED s       CAPACITY        ALONE s      ";

fn task_head() -> String {
    format!("{:>7} {:>4} {WORTH_HEAD} NAME", "TID", "CPU")
}

fn task(task: &Task, width: usize) -> String {
    let cpu = task.last_cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    let row = format!("{:>7} {cpu:>4} {} ", task.tid, worth(&task.worth));
    let name = clean(&task.comm);
    if width < WIDE {
        return row + &name;
    }
    let cgroup = clean(task.cgroup.as_deref().unwrap_or_default());
    format!("{:>7} {row}{name:<16} {cgroup}", task.pid)
}

fn cgroup(group: &Cgroup) -> String {
    let path = if group.path.is_empty() { "(not known)".to_owned() } else { clean(&group.path) };
    format!("{:>5} {} {path}", group.tasks, worth(&group.worth))
}

fn pair(pair: &Pair) -> String {
    let at_most = if pair.seen { "" } else { "<=" };
    let together = format!("{at_most}{:.3}", pair.together_s);
    let who = format!(
        "{} {} and {} {}",
        pair.a_tid,
        clean(&pair.a_comm),
        pair.b_tid,
        clean(&pair.b_comm)
    );
    format!("{together:>10} {}  {who}", number(pair.lost_s))
}

fn worth(worth: &Worth) -> String {
    let shared = Span { value: worth.shared_s, low: worth.shared_low_s, high: worth.shared_high_s };
    format!(
        "{:>7.3} {} {} {}",
        worth.raw_s,
        number(shared),
        number(worth.capacity_s),
        number(worth.alone_equivalent_s)
    )
}

/// A number with half its range, where it has one: `   0.812+-0.11`.
fn number(span: Span) -> String {
    let half = span.half_width();
    let range = if half < 0.0005 { String::new() } else { format!("+-{half:.2}") };
    format!("{:>8.3}{range:<6}", span.value)
}

/// Every note with its remedy, broken into lines.
fn notes(snapshot: &Snapshot, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in &snapshot.warnings {
        lines.extend(broken(&format!("! {}", warning.text), width));
        if !warning.remedy.is_empty() {
            lines.extend(broken(&format!("  {}", warning.remedy), width));
        }
    }
    if lines.is_empty() {
        lines.push("nothing to note".to_owned());
    }
    lines
}

fn broken(text: &str, width: usize) -> Vec<String> {
    let indent = "  ";
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.len() - 1;
        let length = lines[last].chars().count() + word.trim_end().chars().count();
        if length > width && !lines[last].trim().is_empty() {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines
}
