//! What two studies have in common: rows of equal label, unit and scale, and arms of equal label.

use super::records::{NothingInCommon, StudyRecords};
use coretwin_base::study::plan::{Plan, PlanRow};

pub(super) struct Common {
    /// Index of each common row in the two plans, in the order of the first.
    pub(super) rows: Vec<[usize; 2]>,
    /// Labels of the common arms, the reference first, then in the order of the first plan.
    pub(super) arms: Vec<String>,
    /// Rows of one study that cannot be compared.
    pub(super) rows_only: [Vec<String>; 2],
    pub(super) arms_only: [Vec<String>; 2],
    pub(super) unlike: Vec<[usize; 2]>,
}

impl Common {
    pub(super) fn new(studies: [&StudyRecords<'_>; 2]) -> Result<Self, NothingInCommon> {
        let plans = studies.map(|study| study.plan);
        let index = |plan: &Plan, id: &str| plan.rows.iter().position(|row| row.id == id);
        let pairs: Vec<[usize; 2]> = (0..plans[0].rows.len())
            .filter_map(|first| Some([first, index(plans[1], &plans[0].rows[first].id)?]))
            .collect();
        let (rows, unlike): (Vec<[usize; 2]>, Vec<[usize; 2]>) =
            pairs.into_iter().partition(|[a, b]| are_alike(&plans[0].rows[*a], &plans[1].rows[*b]));
        let rows_only = [0, 1].map(|side: usize| {
            let all = plans[side].rows.iter().enumerate();
            all.filter(|(index, _)| rows.iter().all(|pair| pair[side] != *index))
                .map(|(_, row)| row.id.clone())
                .collect()
        });
        let mut arms: Vec<String> = plans[0].arms.iter().map(|arm| arm.label.clone()).collect();
        arms.retain(|label| plans[1].arm(label).is_some());
        // The first study's reference, where the second has it.
        if let Some(reference) = arms.iter().position(|arm| *arm == plans[0].reference_arm) {
            arms[..=reference].rotate_right(1);
        }
        let arms_only = plans.map(|plan| {
            let labels = plan.arms.iter().map(|arm| arm.label.clone());
            labels.filter(|label| !arms.contains(label)).collect()
        });
        let nothing =
            |what, names| NothingInCommon::new(what, studies.map(|study| study.folder), names);
        if rows.is_empty() {
            let names = plans.map(|plan| plan.rows.iter().map(described).collect());
            return Err(nothing("studies have no row of one unit and scale", names));
        }
        if arms.is_empty() {
            return Err(nothing("studies have no arm", arms_only));
        }
        Ok(Self { rows, arms, rows_only, arms_only, unlike })
    }
}

fn are_alike(a: &PlanRow, b: &PlanRow) -> bool {
    (&a.unit, a.better, a.scale) == (&b.unit, b.better, b.scale)
}

fn described(row: &PlanRow) -> String {
    format!("{} ({})", row.id, row.unit)
}
