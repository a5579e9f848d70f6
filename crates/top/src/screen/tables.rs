//! The lower part: tasks, cgroups, pairs or notes.

use super::{Page, clean, panels};
use crate::snapshot::{Cgroup, Pair, Snapshot, Task};
use crate::view::{Order, Panel, View};
use coretwin_base::account::{Span, Worth};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

/// Columns from which on there is room for process and cgroup of a task.
const WIDE: usize = 100;

pub(super) fn draw(page: &mut Page<'_>, snapshot: &Snapshot, view: &mut View) {
    // A heading without a row under it is no use.
    if page.rows_left() < 2 {
        return;
    }
    let has_siblings = snapshot.machine.threads_per_core_max > 1;
    let (count, first, rows): (usize, usize, Vec<String>) = match view.panel {
        Panel::Tasks => {
            rows(view.tasks(snapshot), view, page, |one, width| task(one, width, has_siblings))
        }
        Panel::Cgroups => {
            rows(view.cgroups(snapshot), view, page, |group, _| cgroup(group, has_siblings))
        }
        Panel::Pairs if !has_siblings => {
            (0, 0, vec!["nobody has a sibling here, as far as is known".to_owned()])
        }
        Panel::Pairs => rows(view.pairs(snapshot), view, page, |two, _| pair(two)),
        Panel::Notes => {
            let lines = notes(snapshot, page.width());
            let first = view.from.min(lines.len().saturating_sub(1));
            (snapshot.warnings.len(), first, lines.into_iter().skip(first).collect())
        }
    };
    view.from = first;
    let sorted = match view.panel {
        Panel::Tasks | Panel::Cgroups => {
            let turned = if view.reversed { ", turned" } else { "" };
            // Where nobody shares, what is left of that order is the raw time.
            let order = match view.order {
                Order::Shared if !has_siblings => Order::Raw,
                order => order,
            };
            format!(" {count} by {}{turned}", order.name())
        }
        Panel::Pairs | Panel::Notes => format!(" {count}"),
    };
    page.heading(view.panel.name(), format!("{sorted}    keys:{}", panels(view)));
    let times = if has_siblings { WORTH_HEAD } else { RAW_HEAD };
    let head = match view.panel {
        Panel::Tasks if page.width() >= WIDE => format!("{:>7} {}", "PID", task_head(times)),
        Panel::Tasks => task_head(times),
        Panel::Cgroups => format!("{:>5} {times} {}", "TASKS", "PATH"),
        Panel::Pairs if has_siblings => {
            format!("{:>16} {:<14}  {}", "TOGETHER s", "EACH LOST s", "WHO")
        }
        Panel::Pairs | Panel::Notes => String::new(),
    };
    if !head.is_empty() && page.rows_left() > 1 {
        page.line(Line::styled(head, Style::new().add_modifier(Modifier::UNDERLINED)));
    }
    for row in rows.into_iter().take(page.rows_left()) {
        page.line(Line::raw(row));
    }
}

/// How many there are, which is the first that is shown, and the text of those that are.
fn rows<T>(
    all: Vec<&T>,
    view: &View,
    page: &Page<'_>,
    text: impl Fn(&T, usize) -> String,
) -> (usize, usize, Vec<String>) {
    let first = view.from.min(all.len().saturating_sub(1));
    let shown = all.iter().skip(first).take(page.rows_left());
    (all.len(), first, shown.map(|row| text(row, page.width())).collect())
}

const WORTH_HEAD: &str = "  RAW s SHARED s       CAPACITY        ALONE s      ";
/// Without siblings all of them are the same.
const RAW_HEAD: &str = "  RAW s";

fn task_head(times: &str) -> String {
    format!("{:>7} {:>4} {times} NAME", "TID", "CPU")
}

fn task(task: &Task, width: usize, has_siblings: bool) -> String {
    let cpu = task.last_cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    let row = format!("{:>7} {cpu:>4} {} ", task.tid, worth(&task.worth, has_siblings));
    let name = clean(&task.comm);
    if width < WIDE {
        return row + &name;
    }
    let cgroup = clean(task.cgroup.as_deref().unwrap_or_default());
    format!("{:>7} {row}{name:<16} {cgroup}", task.pid)
}

fn cgroup(group: &Cgroup, has_siblings: bool) -> String {
    let path = group.path.as_deref().map_or_else(|| "(not known)".to_owned(), clean);
    format!("{:>5} {} {path}", group.tasks, worth(&group.worth, has_siblings))
}

fn pair(pair: &Pair) -> String {
    let together =
        Span { value: pair.together_s, low: pair.together_low_s, high: pair.together_high_s };
    let together = match pair.seen {
        true => number(together),
        false => format!("{:>8}      ", format!("<={:.3}", pair.together_s)),
    };
    let who = format!(
        "{} {} and {} {}",
        pair.a_tid,
        clean(&pair.a_comm),
        pair.b_tid,
        clean(&pair.b_comm)
    );
    format!("  {together} {}  {who}", number(pair.lost_s))
}

fn worth(worth: &Worth, has_siblings: bool) -> String {
    if !has_siblings {
        return format!("{:>7.3}", worth.raw_s);
    }
    let shared = Span { value: worth.shared_s, low: worth.shared_low_s, high: worth.shared_high_s };
    format!(
        "{:>7.3} {} {} {}",
        worth.raw_s,
        number(shared),
        number(worth.capacity_s),
        number(worth.alone_equivalent_s)
    )
}

/// A number with half its range, where it has one: `   0.812+-0.11`, `   0.812+-.004`.
pub(super) fn number(span: Span) -> String {
    let half = span.half_width();
    let range = match half {
        half if half < 0.0005 => String::new(),
        half if half < 0.0995 => format!("+-{half:.3}").replace("0.", "."),
        half if half < 9.995 => format!("+-{half:.2}"),
        _ => format!("+-{half:.1}"),
    };
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

pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
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
