//! Chat rows in the layout of *Hyper-Threading speeds Linux*: Tables 3 and 4 and Figure 1, for any
//! number of arms, with intervals added (the protocol of 2003 has none).

use crate::Study;
use crate::digest::Digest;
use crate::document::{Block, Column, Figure, Table};
use crate::effects;
use crate::number;
use crate::plot::{Bar, BarGroup, Bars, Plot};
use crate::words;
use coretwin_base::plan::{Comparison, PlanRow, Protocol};
use coretwin_base::reading::{Better, Reading, Status};
use coretwin_base::summary::RowEffect;
use coretwin_stats::geometric;

/// Users of a chat room where a row does not say (the article's default).
const USERS: i64 = 20;
/// Messages each user sends where a row does not say (the article's default).
const MESSAGES: i64 = 100;

/// Rows that differ only in their number of rooms, in order of it.
struct Group<'a> {
    rows: Vec<(i64, &'a PlanRow)>,
    /// What tells it from the other groups; empty where there is only one.
    name: String,
}

/// Both tables and the figure, for each group of chat rows.
pub(crate) fn blocks(study: &Study<'_>, digest: &Digest<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in groups(study) {
        blocks.push(Block::Table(sizes(study, digest, &group)));
        blocks.push(Block::Table(throughput(study, &group)));
        blocks.push(figure(study, &group));
    }
    blocks
}

fn groups<'a>(study: &Study<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in study.plan.rows.iter().filter(|row| row.family == "chat") {
        let Some(rooms) = row.params.get("rooms").and_then(|rooms| rooms.as_int()) else {
            continue;
        };
        match groups.iter_mut().find(|group| same_but_rooms(group.rows[0].1, row)) {
            Some(group) => group.rows.push((rooms, row)),
            None => groups.push(Group { rows: vec![(rooms, row)], name: String::new() }),
        }
    }
    let many = groups.len() > 1;
    for group in &mut groups {
        group.rows.sort_by_key(|(rooms, _)| *rooms);
        if many {
            group.name = format!(" ({})", group_name(group.rows[0].1));
        }
    }
    groups
}

fn same_but_rooms(a: &PlanRow, b: &PlanRow) -> bool {
    let others = |row: &PlanRow| {
        let mut params = row.params.clone();
        params.remove("rooms");
        params
    };
    // Threads follow the rooms, so they do not set rows apart.
    (&a.workload, a.placement, a.copies) == (&b.workload, b.placement, b.copies)
        && others(a) == others(b)
}

fn group_name(row: &PlanRow) -> String {
    let mut params = row.params.clone();
    params.remove("rooms");
    let label = coretwin_base::param::label(&row.workload, &params);
    words::clean(&format!("{label}, {}", row.placement))
}

/// Table 3: what each number of rooms makes.
fn sizes(study: &Study<'_>, digest: &Digest<'_>, group: &Group<'_>) -> Table {
    let line = |(rooms, row): &(i64, &PlanRow)| {
        let param = |name: &str, usual: i64| {
            row.params.get(name).and_then(|value| value.as_int()).unwrap_or(usual)
        };
        let users = param("users", USERS);
        let product = |factors: &[i64]| {
            let product = factors.iter().try_fold(1i64, |all, factor| all.checked_mul(*factor));
            product.and_then(|n| u64::try_from(n).ok())
        };
        let connections = product(&[*rooms, users]);
        let sent = product(&[*rooms, users, param("messages", MESSAGES)]);
        let others = users.saturating_sub(1);
        let planned = [
            ("connections", connections),
            ("threads", connections.and_then(|n| n.checked_mul(4))),
            ("sent", sent),
            ("received", sent.zip(u64::try_from(others).ok()).and_then(|(n, m)| n.checked_mul(m))),
            ("total", sent.zip(u64::try_from(users).ok()).and_then(|(n, m)| n.checked_mul(m))),
        ];
        let seen = first_reading(study, digest, &row.id);
        let cell = |(name, planned): (&str, Option<u64>)| {
            seen.and_then(|reading| measured(reading, name))
                .or(planned)
                .map_or_else(|| number::NONE.to_owned(), number::whole)
        };
        let mut cells = vec![rooms.to_string()];
        cells.extend(planned.map(cell));
        cells
    };
    let names = ["Rooms", "Connections", "Threads", "Sent", "Received", "Messages in all"];
    Table {
        caption: format!("Table 3. Number of chat rooms and threads tested{}", group.name),
        columns: names.map(Column::number).into(),
        rows: group.rows.iter().map(line).collect(),
        ..Table::default()
    }
}

fn first_reading<'a>(study: &Study<'a>, digest: &Digest<'_>, row: &str) -> Option<&'a Reading> {
    let row = digest.rows.iter().find(|candidate| candidate.row.id == row)?;
    let points = row.study.iter().flatten();
    let mut readings = points.map(|point| &study.readings[point.reading as usize]);
    readings.find(|reading| reading.status == Status::Ok)
}

/// What a reading says it counted.
fn measured(reading: &Reading, name: &str) -> Option<u64> {
    let metric = |name: &str| {
        let value = reading.metrics.get(name)?.value;
        (0.0..9e15).contains(&value).then_some(value as u64)
    };
    match name {
        "threads" => Some(u64::from(reading.threads)).filter(|threads| *threads > 0),
        "total" => metric("messages_sent")?.checked_add(metric("messages_received")?),
        "sent" => metric("messages_sent"),
        "received" => metric("messages_received"),
        other => metric(other),
    }
}

/// The article's title, where Hyper-Threading was really switched.
fn title(study: &Study<'_>, subject: &str) -> String {
    match study.summary.comparison {
        Comparison::Smt => format!("Effects of Hyper-Threading on {subject}"),
        Comparison::StandIn | Comparison::None => "Chat throughput by arm".to_owned(),
    }
}

/// Table 4: throughput by arm, with the geometric mean.
fn throughput(study: &Study<'_>, group: &Group<'_>) -> Table {
    let article = study.plan.rules.protocol == Protocol::Article2003;
    let reference = study.plan.reference_index();
    let others: Vec<usize> = (0..study.plan.arms.len()).filter(|arm| *arm != reference).collect();
    let mut columns = vec![
        Column::number("Number of chat rooms"),
        Column::number(words::arm_name(study, reference)),
    ];
    for arm in &others {
        columns.push(Column::number(words::arm_name(study, *arm)));
        columns.push(Column::number("Speed-up"));
        if !article {
            columns.push(Column::number(effects::interval_name(study)));
        }
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (rooms, row) in &group.rows {
        let mut cells =
            vec![rooms.to_string(), number::value_or_none(value(study, reference, &row.id))];
        for arm in &others {
            let effect = find(study, *arm, &row.id);
            let pair = value(study, reference, &row.id).zip(value(study, *arm, &row.id));
            cells.push(number::value_or_none(pair.map(|(_, value)| value)));
            cells.push(match pair {
                Some((base, value)) if article => whole_percent(base, value, row.better),
                _ => speed_up(effect.and_then(|effect| effect.ratio)),
            });
            if !article {
                cells.push(interval(effect.and_then(|effect| effect.low.zip(effect.high))));
            }
        }
        rows.push(cells);
    }
    let total = rows.len() > 1;
    if total {
        rows.push(geometric_row(study, group, reference, &others));
    }
    Table {
        caption: format!("Table 4. {}{}", title(study, "chat throughput"), group.name),
        columns,
        rows,
        total,
        note: Some(note(study, group)),
        ..Table::default()
    }
}

fn note(study: &Study<'_>, group: &Group<'_>) -> String {
    let row = group.rows[0].1;
    let better = match row.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    let unit = words::clean(&row.unit);
    let mut note = format!("Data are {unit}, geometric means of all runs: {better} is better.");
    let whole_suite = study.summary.suites.iter().any(|suite| covers(study, suite.rows, group));
    let with_total = group.rows.len() > 1 && study.plan.rules.protocol != Protocol::Article2003;
    if with_total && whole_suite {
        note.push_str(" The interval of the geometric mean is that of the suite, by block.");
    }
    note
}

/// Whether a suite of so many rows is made of just this group's rows.
fn covers(study: &Study<'_>, rows: u32, group: &Group<'_>) -> bool {
    rows as usize == group.rows.len() && study.plan.rows.len() == group.rows.len()
}

fn geometric_row(
    study: &Study<'_>,
    group: &Group<'_>,
    reference: usize,
    others: &[usize],
) -> Vec<String> {
    let article = study.plan.rules.protocol == Protocol::Article2003;
    let mean = |arm: usize| {
        let values: Option<Vec<f64>> =
            group.rows.iter().map(|(_, row)| value(study, arm, &row.id)).collect();
        geometric::mean(&values?)
    };
    let base = mean(reference);
    let mut cells = vec!["Geometric mean".to_owned(), number::value_or_none(base)];
    for arm in others {
        let arm_mean = mean(*arm);
        let label = study.plan.arms[*arm].label.as_str();
        let suite = study
            .summary
            .suites
            .iter()
            .find(|suite| suite.arm == label && covers(study, suite.rows, group));
        let better = group.rows[0].1.better;
        cells.push(number::value_or_none(arm_mean));
        let quotient = base.zip(arm_mean).and_then(|(b, a)| geometric::ratio(b, a, better));
        cells.push(match base.zip(arm_mean) {
            Some((base, mean)) if article => whole_percent(base, mean, better),
            _ => speed_up(suite.and_then(|suite| suite.ratio).or(quotient)),
        });
        if !article {
            cells.push(interval(suite.and_then(|suite| suite.low.zip(suite.high))));
        }
    }
    cells
}

/// The speed-up as the article prints it.
fn whole_percent(base: f64, value: f64, better: Better) -> String {
    let percent = geometric::speed_up_percent(base, value, better);
    percent.map_or_else(|| number::NONE.to_owned(), |p| format!("{p} %").replace('-', "−"))
}

fn speed_up(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| number::NONE.to_owned(), number::effect)
}

fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(|| number::NONE.to_owned(), |(low, high)| number::interval(low, high))
}

fn find<'a>(study: &Study<'a>, arm: usize, row: &str) -> Option<&'a RowEffect> {
    let label = study.plan.arms[arm].label.as_str();
    study.summary.rows.iter().find(|effect| effect.row == row && effect.arm == label)
}

/// The mean of a row in an arm.
fn value(study: &Study<'_>, arm: usize, row: &str) -> Option<f64> {
    if arm == study.plan.reference_index() {
        let mut effects = study.summary.rows.iter().filter(|effect| effect.row == row);
        return effects.find_map(|effect| effect.value_reference);
    }
    find(study, arm, row)?.value_arm
}

/// Figure 1: throughput by rooms, a bar for each arm.
fn figure(study: &Study<'_>, group: &Group<'_>) -> Block {
    let reference = study.plan.reference_index();
    let arms: Vec<usize> = (0..study.plan.arms.len()).collect();
    let bar = |arm: usize, row: &PlanRow| {
        let value = value(study, arm, &row.id);
        let name = words::arm_name(study, arm);
        // The comparison is paired, so the interval that matters is that of the ratio.
        let interval = find(study, arm, &row.id)
            .filter(|effect| arm != reference && effect.better == Better::Higher)
            .and_then(|effect| Some((effect.value_reference?, effect.low?, effect.high?)))
            .map(|(base, low, high)| (base * low, base * high));
        let title = format!("{name}: {} {}", number::value_or_none(value), words::clean(&row.unit));
        Bar { arm, value, interval, title }
    };
    let groups = group.rows.iter().map(|(rooms, row)| BarGroup {
        label: rooms.to_string(),
        bars: arms.iter().map(|arm| bar(*arm, row)).collect(),
    });
    let mut caption = "Mean throughput for each number of chat rooms.".to_owned();
    if study.plan.rules.protocol != Protocol::Article2003 {
        let against = words::arm_name(study, reference);
        caption.push_str(&format!(
            " Error bars are the interval of the paired ratio to {against}, drawn on its mean."
        ));
    }
    let plot = Plot::Bars(Bars {
        unit: words::clean(&group.rows[0].1.unit),
        group: "chat rooms".to_owned(),
        groups: groups.collect(),
    });
    let title = format!("Figure 1. {}{}", title(study, "the chat workload"), group.name);
    Block::Figures { arms, figures: vec![Figure { title, caption, plot }] }
}
