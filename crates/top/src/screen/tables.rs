//! The lower part: tasks, cgroups, pairs or warnings.

use super::{Command, Glyphs, Page, broken, cut};
use crate::snapshot::{Cgroup, Pair, Snapshot, Task};
use crate::view::{Order, Panel, View};
use coretwin_base::account::{Span, Worth};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span as Words};

/// Columns inside the box from which on there is room for the CPU and the capacity of a task, for its
/// process, for its time in seconds beside that in percent.
const USUAL: usize = 78;
pub(super) const WIDE: usize = 98;
const WIDER: usize = 118;
/// Columns of a cgroup that stands before a command line, and the fewest that this is shown in.
const CGROUP: usize = 24;
const COMMAND: usize = 24;

/// A column of a table: its heading, as wide as what stands below it, and what a click on that sorts by.
struct Column<'a, T> {
    head: &'static str,
    order: Option<Order>,
    cell: Box<dyn FnMut(&T) -> String + 'a>,
}

fn column<'a, T>(
    head: &'static str,
    order: impl Into<Option<Order>>,
    cell: impl FnMut(&T) -> String + 'a,
) -> Column<'a, T> {
    Column { head, order: order.into(), cell: Box::new(cell) }
}

pub(super) fn draw(
    page: &mut Page<'_>,
    snapshot: &Snapshot,
    view: &mut View,
    command: Command<'_>,
) {
    // A heading without a row under it is no use.
    if page.rows_left() < 2 {
        return;
    }
    let has_siblings = snapshot.machine.threads_per_core_max > 1;
    let turned = if view.reversed { ", turned" } else { "" };
    // Where nobody shares, what is left of that order is the raw time.
    let order = match view.order {
        Order::Shared if !has_siblings => Order::Raw,
        order => order,
    };
    let sorted = format!(" by {}{turned}", order.name());
    match view.panel {
        Panel::Tasks => {
            let columns = of_tasks(page, snapshot, command);
            let rows = view.tasks(snapshot);
            table(page, view, &sorted, &rows, columns);
        }
        Panel::Cgroups => {
            let columns = of_cgroups(page, snapshot);
            let rows = view.cgroups(snapshot);
            table(page, view, &sorted, &rows, columns);
        }
        Panel::Pairs if has_siblings => {
            let columns = of_pairs(page);
            let rows = view.pairs(snapshot);
            table(page, view, "", &rows, columns);
        }
        Panel::Pairs => {
            heading(page, view, "0");
            page.text("nobody has a sibling here, as far as is known");
        }
        Panel::Warnings => warnings(page, snapshot, view),
    }
}

/// The heading of the lower part: its name, how much there is, and the keys of the others.
fn heading(page: &mut Page<'_>, view: &View, about: &str) {
    let others = (1..).zip(Panel::ALL).filter(|(_, panel)| *panel != view.panel);
    let others: Vec<String> =
        others.map(|(key, panel)| format!("{key} {}", panel.name().to_lowercase())).collect();
    page.heading(&format!("{} {about}", view.panel.name()), &others);
}

fn table<T>(
    page: &mut Page<'_>,
    view: &mut View,
    sorted: &str,
    all: &[&T],
    mut columns: Vec<Column<'_, T>>,
) {
    heading(page, view, &format!("{}{sorted}", all.len()));
    view.from = view.from.min(all.len().saturating_sub(1));
    if page.rows_left() > 1 {
        let (mut x, mut words) = (page.area.x + page.inset, Vec::new());
        let (row, plain) =
            (page.area.y + page.row, Style::new().add_modifier(Modifier::UNDERLINED));
        for Column { head, order, .. } in &columns {
            let to = x + head.len() as u16;
            view.heads.extend(order.map(|order| (row, x..to, order)));
            let is_sorted = order.is_some_and(|order| order == view.order);
            let style = if is_sorted { plain.patch(page.bold()) } else { plain };
            words.extend([Words::styled(*head, style), Words::styled(" ", plain)]);
            x = to + 1;
        }
        page.line(Line::from(words));
    }
    for row in all.iter().skip(view.from).take(page.rows_left()) {
        let cells: Vec<String> = columns.iter_mut().map(|column| (column.cell)(row)).collect();
        page.line(Line::raw(page.clean(&cells.join(" "))));
    }
}

/// Without siblings all times are the same.
fn of_times<'a, T: 'static>(
    page: &Page<'_>,
    snapshot: &Snapshot,
    worth: fn(&T) -> &Worth,
) -> Vec<Column<'a, T>> {
    let (glyphs, elapsed_s) = (page.glyphs, snapshot.elapsed_s.max(f64::MIN_POSITIVE));
    let has_siblings = snapshot.machine.threads_per_core_max > 1;
    let mut columns = vec![column("   %CPU", Order::Raw, move |one: &T| {
        format!("{:>7.1}", 100.0 * worth(one).raw_s / elapsed_s)
    })];
    if page.width() >= WIDER || !has_siblings {
        let raw = move |one: &T| format!("{:>7.3}", worth(one).raw_s);
        columns.push(column("  RAW s", Order::Raw, raw));
    }
    if has_siblings {
        let shared = move |one: &T| {
            let Worth { shared_s: value, shared_low_s: low, shared_high_s: high, .. } = *worth(one);
            number(Span { value, low, high }, glyphs)
        };
        columns.push(column("SHARED s     ", Order::Shared, shared));
        if page.width() >= USUAL {
            let capacity = move |one: &T| number(worth(one).capacity_s, glyphs);
            columns.push(column("CAPACITY s   ", Order::Capacity, capacity));
        }
        let alone = move |one: &T| number(worth(one).alone_equivalent_s, glyphs);
        columns.push(column("  ALONE s    ", Order::Alone, alone));
    }
    columns
}

fn of_tasks<'a>(
    page: &Page<'_>,
    snapshot: &Snapshot,
    command: Command<'a>,
) -> Vec<Column<'a, Task>> {
    let (width, glyphs) = (page.width(), page.glyphs);
    let mut columns = Vec::new();
    if width >= WIDE {
        columns.push(column("    PID", None, |task: &Task| format!("{:>7}", task.pid)));
    }
    columns.push(column("    TID", Order::Number, |task: &Task| format!("{:>7}", task.tid)));
    if width >= USUAL {
        columns.push(column(" CPU", None, |task: &Task| {
            task.last_cpu.map_or_else(|| "   -".to_owned(), |cpu| format!("{:>4}", cpu.0))
        }));
    }
    columns.extend(of_times(page, snapshot, |task: &Task| &task.worth));
    columns
        .push(column("NAME           ", Order::Name, |task: &Task| format!("{:<15}", task.comm)));
    let used: usize = columns.iter().map(|column| column.head.len() + 1).sum();
    let left = width.saturating_sub(used);
    let has_command = left > CGROUP + COMMAND;
    if width >= WIDE {
        let most = if has_command { CGROUP } else { left };
        columns.push(column("CGROUP                  ", None, move |task: &Task| {
            let path = cut(task.cgroup.as_deref().unwrap_or_default(), most, glyphs);
            format!("{path:<CGROUP$}")
        }));
    }
    if has_command {
        let most = left - CGROUP - 1;
        columns.push(column("COMMAND", None, move |task: &Task| {
            cut(&command(task.pid), most, glyphs)
        }));
    }
    columns
}

fn of_cgroups<'a>(page: &Page<'_>, snapshot: &Snapshot) -> Vec<Column<'a, Cgroup>> {
    let tasks = column("TASKS", Order::Number, |group: &Cgroup| format!("{:>5}", group.tasks));
    let times = of_times(page, snapshot, |group: &Cgroup| &group.worth);
    let path = column("PATH", Order::Name, |group: &Cgroup| {
        group.path.clone().unwrap_or_else(|| "(not known)".to_owned())
    });
    [tasks].into_iter().chain(times).chain([path]).collect()
}

fn of_pairs<'a>(page: &Page<'_>) -> Vec<Column<'a, Pair>> {
    let glyphs = page.glyphs;
    let together = move |pair: &Pair| match pair.seen {
        true => {
            let (low, high) = (pair.together_low_s, pair.together_high_s);
            number(Span { value: pair.together_s, low, high }, glyphs)
        }
        false => format!("{:<13}", format!("<={:.3}", pair.together_s)),
    };
    let who =
        |pair: &Pair| format!("{} {} and {} {}", pair.a_tid, pair.a_comm, pair.b_tid, pair.b_comm);
    vec![
        column("TOGETHER s   ", None, together),
        column("EACH LOST s  ", None, move |pair: &Pair| number(pair.lost_s, glyphs)),
        column("WHO", None, who),
    ]
}

/// A number with half its range, where it has one: `  0.812±0.11`, `  0.812±.004`.
pub(super) fn number(span: Span, glyphs: &Glyphs) -> String {
    let half = span.half_width();
    let range = match half {
        half if half < 0.0005 => String::new(),
        half if half < 0.0995 => format!("{half:.3}").replace("0.", "."),
        half if half < 9.995 => format!("{half:.2}"),
        _ => format!("{half:.1}"),
    };
    let mark = if range.is_empty() { "" } else { glyphs.half };
    format!("{:>7.3}{:<6}", span.value, [mark, &range].concat())
}

/// Every warning with its remedy, broken into lines.
fn warnings(page: &mut Page<'_>, snapshot: &Snapshot, view: &mut View) {
    let mut lines = Vec::new();
    for warning in &snapshot.warnings {
        lines.extend(broken(&page.clean(&format!("! {}", warning.text)), page.width()));
        if !warning.remedy.is_empty() {
            lines.extend(broken(&page.clean(&format!("  {}", warning.remedy)), page.width()));
        }
    }
    if lines.is_empty() {
        lines.push("nothing to warn of".to_owned());
    }
    let rows = page.rows_left() - 1;
    view.from = view.from.min(lines.len().saturating_sub(rows));
    let to = lines.len().min(view.from + rows);
    let shown = match lines.len() > rows {
        true => format!(", lines {}-{to} of {}", view.from + 1, lines.len()),
        false => String::new(),
    };
    heading(page, view, &format!("{}{shown}", snapshot.warnings.len()));
    for line in lines.into_iter().skip(view.from) {
        page.line(Line::raw(line));
    }
}
