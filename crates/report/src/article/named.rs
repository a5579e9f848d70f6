//! Tables 1 and 2: the rows of LMbench and AIM9, by name and in the article's order.

use super::{Filled, Line};
use crate::{Study, words};
use coretwin_base::machine::placement::Placement;
use coretwin_base::study::plan::{CopyRule, PlanRow};
use coretwin_stats::article2003::printed::{self, Kernel, Printed};

/// Both tables, where the study has rows of theirs.
pub(super) fn tables<'a>(study: &Study<'a>) -> Vec<Filled<'a>> {
    let lmbench = ("lmbench", 1, "Kernel functions (LMbench): time of one call", "Kernel function");
    let aim9 = ("aim9", 2, "One user's work (AIM9): rate of each test", "Test");
    [lmbench, aim9].into_iter().filter_map(|table| fill(study, table)).collect()
}

fn fill<'a>(
    study: &Study<'a>,
    (family, number, title, head): (&str, u8, &str, &'static str),
) -> Option<Filled<'a>> {
    let all = printed::rows_of(family);
    let mut lines: Vec<(usize, Line<'a>)> = Vec::new();
    for row in study.plan.rows.iter().filter(|row| row.family == family) {
        let place = printed::find(&all, &row.workload, &row.params)
            .and_then(|found| all.iter().position(|other| other == found));
        let line = Line::new(row, Some(label(row, place.and_then(|place| all.get(place)))), &all);
        lines.push((place.unwrap_or(usize::MAX), line));
    }
    lines.sort_by_key(|(place, _)| *place);
    let mut lines: Vec<Line<'a>> = lines.into_iter().map(|(_, line)| line).collect();
    let labels: Vec<String> = lines.iter().map(|line| line.label.clone()).collect();
    for line in &mut lines {
        // Rows that differ in a parameter are told apart by what was typed.
        if labels.iter().filter(|label| **label == line.label).count() > 1 {
            line.label = words::clean(&line.row.id);
        }
    }
    (!lines.is_empty()).then(|| Filled {
        number,
        figure: None,
        title: title.to_owned(),
        head,
        sizes: false,
        counted: "",
        lines,
        printed: all,
        kernel: Kernel::Stable2419,
    })
}

/// The article's name of the row, and where its tasks ran.
fn label(row: &PlanRow, printed: Option<&Printed>) -> String {
    let own = row.workload.rsplit('/').next().unwrap_or_default();
    let mut label = printed.map_or_else(|| words::clean(own), |printed| printed.label.clone());
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
