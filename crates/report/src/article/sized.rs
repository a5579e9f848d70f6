//! Tables 4 to 6: chat by rooms, dbench and tbench by clients. Rows that differ in anything else
//! have a table of their own.

use super::{Filled, Line};
use crate::{Study, words};
use coretwin_base::param::{self, ParamValue};
use coretwin_base::study::plan::PlanRow;
use coretwin_stats::article2003::printed::{self, Kernel};

/// A family with a table and a figure: its name, their numbers, and words.
const FAMILIES: [Family; 3] = [
    Family {
        name: "chat",
        table: 4,
        title: "Chat: messages per second by rooms",
        head: "Chat rooms",
        counted: "chat rooms",
    },
    Family {
        name: "dbench",
        table: 5,
        title: "File service, files alone (dbench): throughput by clients",
        head: "Clients",
        counted: "dbench clients",
    },
    Family {
        name: "tbench",
        table: 6,
        title: "File service, network alone (tbench): throughput by clients",
        head: "Clients",
        counted: "tbench clients",
    },
];

struct Family {
    name: &'static str,
    table: u8,
    title: &'static str,
    head: &'static str,
    counted: &'static str,
}

/// A table for each group of rows that differ only in their size.
pub(super) fn tables<'a>(study: &Study<'a>) -> Vec<Filled<'a>> {
    FAMILIES.iter().flat_map(|family| groups(study, family)).collect()
}

fn groups<'a>(study: &Study<'a>, family: &Family) -> Vec<Filled<'a>> {
    let size = printed::SIZES.iter().find(|(name, _)| *name == family.name);
    let size = size.map_or("", |(_, size)| *size);
    let mut groups: Vec<Vec<(i64, &PlanRow)>> = Vec::new();
    for row in study.plan.rows.iter().filter(|row| row.family == family.name) {
        let Some(count) = row.params.get(size).and_then(ParamValue::as_int) else { continue };
        match groups.iter_mut().find(|group| same_but_size(group[0].1, row, size)) {
            Some(group) => group.push((count, row)),
            None => groups.push(vec![(count, row)]),
        }
    }
    let all = printed::rows_of(family.name);
    let many = groups.len() > 1;
    let fill = |mut group: Vec<(i64, &'a PlanRow)>| {
        group.sort_by_key(|(count, _)| *count);
        let mut title = family.title.to_owned();
        if many {
            title.push_str(&format!(" ({})", name_of(group[0].1, size)));
        }
        let line = |(count, row): (i64, &'a PlanRow)| Line::new(row, Some(count.to_string()), &all);
        Filled {
            number: family.table,
            figure: Some(family.table - 3),
            title,
            head: family.head,
            sizes: true,
            counted: family.counted,
            lines: group.into_iter().map(line).collect(),
            printed: all.clone(),
            kernel: Kernel::Stable2419,
        }
    };
    groups.into_iter().map(fill).collect()
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

fn name_of(row: &PlanRow, size: &str) -> String {
    let mut params = row.params.clone();
    params.remove(size);
    let label = param::label(&row.workload, &params);
    words::clean(&format!("{label}, {}", row.placement))
}
