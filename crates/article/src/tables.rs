//! The article's tables with a study's rows: Tables 1 and 2 by name and in the article's order, Tables
//! 4 to 6 (chat by rooms, dbench and tbench by clients) by size. Sized rows that differ in anything else
//! have a table of their own. Table 3 is what each number of chat rooms makes ([`chat_size`]), as counted by a
//! run, else as planned.

use crate::printed::{self, Kernel, Printed};
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::{self, ParamValue};
use coretwin_base::printable::clean;
use coretwin_base::study::plan::{CopyRule, Plan, PlanRow};
use coretwin_base::study::reading::{Phase, Reading, Status};
use serde::Serialize;

/// One of the article's tables, filled with a study's rows.
#[derive(Debug)]
pub struct Filled<'a> {
    pub number: u8,
    /// Number of the figure that shows it, where there is one.
    pub figure: Option<u8>,
    pub title: String,
    /// What the first column holds.
    pub head: &'static str,
    /// Whether that is a number.
    pub sizes: bool,
    /// What sizes count, like `chat rooms`.
    pub counted: &'static str,
    /// The study's rows; at least one.
    pub lines: Vec<Line<'a>>,
    /// Every row the article printed for the family.
    pub printed: Vec<Printed>,
    /// The kernel whose figures stand beside.
    pub kernel: Kernel,
}

/// A row in its place in a table.
#[derive(Debug)]
pub struct Line<'a> {
    /// The article's name of the row, or its size.
    pub label: String,
    pub row: &'a PlanRow,
    /// What the article printed for it on 2.4.19.
    pub printed: Option<Printed>,
    /// The same on 2.5.32.
    pub printed_later: Option<Printed>,
}

/// A family with a table: its name, the table's number, and words.
struct Family {
    name: &'static str,
    table: u8,
    title: &'static str,
    head: &'static str,
    /// What sizes count; empty where rows have names.
    counted: &'static str,
}

const fn family(
    name: &'static str,
    table: u8,
    title: &'static str,
    head: &'static str,
    counted: &'static str,
) -> Family {
    Family { name, table, title, head, counted }
}

const FAMILIES: [Family; 5] = [
    family("lmbench", 1, "Kernel functions (LMbench): time of one call", "Kernel function", ""),
    family("aim9", 2, "One user's work (AIM9): rate of each test", "Test", ""),
    family("chat", 4, "Chat: messages per second by rooms", "Chat rooms", "chat rooms"),
    family(
        "dbench",
        5,
        "File service, files alone (dbench): throughput by clients",
        "Clients",
        "dbench clients",
    ),
    family(
        "tbench",
        6,
        "File service, network alone (tbench): throughput by clients",
        "Clients",
        "tbench clients",
    ),
];

/// Every table that the plan has rows for, in the article's order.
pub fn filled(plan: &Plan) -> Vec<Filled<'_>> {
    FAMILIES.iter().flat_map(|family| family.tables(plan)).collect()
}

impl Filled<'_> {
    /// Takes the article's figures out, where they say nothing: a prediction for another machine is
    /// held against nothing that was measured on the article's.
    pub fn without_printed(&mut self) {
        self.printed.clear();
        for line in &mut self.lines {
            (line.printed, line.printed_later) = (None, None);
        }
    }

    /// The table with the figures of the kernel it is a prediction of: those of the newer are Table 7.
    pub fn of_kernel(mut self, kernel: Option<Kernel>, scheduler: &str) -> Self {
        if kernel == Some(Kernel::Development2532) && self.sizes {
            self.number = 7;
        }
        self.kernel = kernel.unwrap_or(Kernel::Stable2419);
        self.title = format!("{}, under {}", self.title, clean(scheduler));
        for line in &mut self.lines {
            let newer = line.printed_later.take();
            match kernel {
                Some(Kernel::Stable2419) => {}
                Some(Kernel::Development2532) => line.printed = newer,
                None => line.printed = None,
            }
        }
        self
    }
}

impl<'a> Line<'a> {
    /// The row with what the article has on it. Where tasks were placed, and copies that run side by
    /// side, have no counterpart there.
    fn new(row: &'a PlanRow, label: String, all: &[Printed]) -> Self {
        let comparable = row.placement == Placement::Free && row.copies == CopyRule::Fixed(1);
        let found = printed::find(all, &row.workload, &row.params).filter(|_| comparable);
        let later = found.and_then(|found| {
            let same =
                |row: &&Printed| row.kernel == Kernel::Development2532 && row.label == found.label;
            all.iter().find(same)
        });
        Self { label, row, printed: found.cloned(), printed_later: later.cloned() }
    }
}

impl Family {
    fn tables<'a>(&self, plan: &'a Plan) -> Vec<Filled<'a>> {
        let rows: Vec<&PlanRow> = plan.rows.iter().filter(|row| row.family == self.name).collect();
        let all = printed::rows_of(self.name);
        let size = printed::SIZES.iter().find(|(name, _)| *name == self.name);
        let groups = match size {
            None => vec![(self.title.to_owned(), named(&rows, &all))],
            Some((_, size)) => self.sized(&rows, size, &all),
        };
        let fill = |(title, lines)| Filled {
            number: self.table,
            figure: size.map(|_| self.table - 3),
            title,
            head: self.head,
            sizes: size.is_some(),
            counted: self.counted,
            lines,
            printed: all.clone(),
            kernel: Kernel::Stable2419,
        };
        groups.into_iter().filter(|(_, lines)| !lines.is_empty()).map(fill).collect()
    }

    /// A table for each group of rows that differ only in their size.
    fn sized<'a>(
        &self,
        rows: &[&'a PlanRow],
        size: &str,
        all: &[Printed],
    ) -> Vec<(String, Vec<Line<'a>>)> {
        let mut groups: Vec<Vec<(i64, &PlanRow)>> = Vec::new();
        for row in rows {
            let Some(count) = row.params.get(size).and_then(ParamValue::as_int) else { continue };
            match groups.iter_mut().find(|group| same_but_size(group[0].1, row, size)) {
                Some(group) => group.push((count, row)),
                None => groups.push(vec![(count, row)]),
            }
        }
        let many = groups.len() > 1;
        let fill = |mut group: Vec<(i64, &'a PlanRow)>| {
            group.sort_by_key(|(count, _)| *count);
            let mut title = self.title.to_owned();
            if many {
                title.push_str(&format!(" ({})", name_without_size(group[0].1, size)));
            }
            let line = |(count, row): (i64, &'a PlanRow)| Line::new(row, count.to_string(), all);
            (title, group.into_iter().map(line).collect())
        };
        groups.into_iter().map(fill).collect()
    }
}

/// Rows in the article's order, those it does not have last.
fn named<'a>(rows: &[&'a PlanRow], all: &[Printed]) -> Vec<Line<'a>> {
    let mut lines: Vec<(usize, Line<'a>)> = Vec::new();
    for row in rows {
        let place = printed::find(all, &row.workload, &row.params)
            .and_then(|found| all.iter().position(|other| other == found));
        let label = name(row, place.and_then(|place| all.get(place)));
        lines.push((place.unwrap_or(usize::MAX), Line::new(row, label, all)));
    }
    lines.sort_by_key(|(place, _)| *place);
    let mut lines: Vec<Line<'a>> = lines.into_iter().map(|(_, line)| line).collect();
    let labels: Vec<String> = lines.iter().map(|line| line.label.clone()).collect();
    for line in &mut lines {
        // Rows that differ in a parameter are told apart by what was typed.
        if labels.iter().filter(|label| **label == line.label).count() > 1 {
            line.label = clean(&line.row.id);
        }
    }
    lines
}

/// The article's name of the row, and where its tasks ran.
fn name(row: &PlanRow, printed: Option<&Printed>) -> String {
    let own = row.workload.rsplit('/').next().unwrap_or_default();
    let mut label = printed.map_or_else(|| clean(own), |printed| printed.label.clone());
    if row.placement != Placement::Free {
        label.push_str(&format!(", {}", row.placement));
    }
    match row.copies {
        CopyRule::Fixed(1) => {}
        CopyRule::Fixed(copies) => label.push_str(&format!(", {copies} copies")),
        CopyRule::PerCpu => label.push_str(", a copy per CPU"),
    }
    label
}

fn same_but_size(a: &PlanRow, b: &PlanRow, size: &str) -> bool {
    let others = |row: &PlanRow| {
        let mut params = row.params.clone();
        params.remove(size);
        params
    };
    // Threads follow the size, so they do not set rows apart.
    (&a.workload, a.placement, a.copies) == (&b.workload, b.placement, b.copies)
        && others(a) == others(b)
}

fn name_without_size(row: &PlanRow, size: &str) -> String {
    let mut params = row.params.clone();
    params.remove(size);
    let label = parameters::label(&row.workload, &params);
    clean(&format!("{label}, {}", row.placement))
}

/// Users of a chat room where a row does not say (the article's default).
const USERS: i64 = 20;
/// Messages each user sends where a row does not say (the article's default).
const MESSAGES: i64 = 100;

/// What a number of rooms makes, Table 3; `None` where it is too much to be counted.
#[derive(Debug, Serialize)]
pub struct ChatSize {
    pub rooms: i64,
    /// Connections, one for each user.
    pub connections: Option<u64>,
    pub threads: Option<u64>,
    pub sent: Option<u64>,
    pub received: Option<u64>,
    pub total: Option<u64>,
}

pub fn chat_size(plan: &Plan, readings: &[Reading], row: &PlanRow) -> ChatSize {
    let param =
        |name: &str, usual: i64| row.params.get(name).and_then(ParamValue::as_int).unwrap_or(usual);
    let (rooms, users) = (param("rooms", 0), param("users", USERS));
    let product = |factors: &[i64]| {
        let product = factors.iter().try_fold(1i64, |all, factor| all.checked_mul(*factor));
        product.and_then(|n| u64::try_from(n).ok())
    };
    let connections = product(&[rooms, users]);
    let sent = product(&[rooms, users, param("messages", MESSAGES)]);
    let times = |count: Option<u64>, factor: i64| {
        count.zip(u64::try_from(factor).ok()).and_then(|(n, m)| n.checked_mul(m))
    };
    let seen = first_reading(plan, readings, &row.id);
    let counted = |name: &str| metric(seen?, name);
    let counted_total = counted("messages_sent")
        .zip(counted("messages_received"))
        .map(|(s, r)| s.saturating_add(r));
    let threads = seen.map(|seen| u64::from(seen.threads)).filter(|threads| *threads > 0);
    ChatSize {
        rooms,
        connections: counted("connections").or(connections),
        threads: threads.or(times(connections, 4)),
        sent: counted("messages_sent").or(sent),
        received: counted("messages_received").or(times(sent, users.saturating_sub(1))),
        total: counted_total.or(times(sent, users)),
    }
}

/// The first good run of a row, in the first arm that has one.
fn first_reading<'a>(plan: &Plan, readings: &'a [Reading], row: &str) -> Option<&'a Reading> {
    let good = |one: &&Reading| one.phase == Phase::Study && one.status == Status::Ok;
    let of_row = || readings.iter().filter(good).filter(|one| &*one.row == row);
    plan.arms.iter().find_map(|arm| of_row().find(|one| *one.arm == *arm.label))
}

fn metric(reading: &Reading, name: &str) -> Option<u64> {
    let value = reading.metrics.get(name)?.value;
    (0.0..9e15).contains(&value).then_some(value as u64)
}
