//! The slowdowns that the note's table gives, condition by condition: the note prints times, and
//! ratios of them only in words.

use super::builtin::builtin;
use super::table::{Error, Sheet};
use coretwin_base::schema::SCHEMA;
use serde::Serialize;

/// The built-in table.
const TABLE: &str = "cputime_gzip9.csv";
/// A run this far from the median of its condition differs from the others, as a share.
const DIFFERS: f64 = 0.02;

/// The note's slowdowns; fits the list of `audit --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoteReport {
    pub schema: u32,
    /// `slowdowns of the note`.
    pub file: &'static str,
    /// One for each condition, machine by machine.
    pub conditions: Vec<NoteCondition>,
}

/// One condition of the note on one machine: medians over its runs, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoteCondition {
    pub machine: String,
    pub os: String,
    /// The condition, like `1 spinner on the sibling`.
    pub condition: String,
    pub runs: usize,
    pub real_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    /// Median wall time over that of the machine's first condition, alone.
    pub slowdown: f64,
    /// The same of user time.
    pub user_slowdown: f64,
    /// The same of means of user time.
    pub user_slowdown_of_means: f64,
    /// User times of single runs more than 2 % from the median of their condition, in seconds.
    pub differing_user_s: Vec<f64>,
}

/// Computes them from the built-in table.
///
/// # Errors
/// [`Error`] only if the built-in table cannot be read, which the tests exclude.
pub fn note() -> Result<NoteReport, Error> {
    let csv = builtin().iter().find(|table| table.name == TABLE).map_or("", |table| table.csv);
    let sheet = Sheet::parse(TABLE, csv)?;
    let mut conditions: Vec<NoteCondition> = Vec::new();
    let same = |a: &[String], b: &[String]| a[..3] == b[..3];
    let mut alone: Option<(String, Runs)> = None;
    let rows: Vec<&[String]> = sheet.rows.iter().map(|row| &row.cells[..]).collect();
    for rows in rows.chunk_by(|a, b| same(a, b)) {
        let runs = runs(rows);
        let [machine, os, condition] = [0, 1, 2].map(|column| rows[0][column].clone());
        let [first_real_s, first_user_s, _] = match &alone {
            Some((of, first)) if *of == machine => first.clone(),
            _ => alone.insert((machine.clone(), runs.clone())).1.clone(),
        };
        let [real_s, user_s, system_s] = runs;
        let median_s = median(&user_s);
        let differs = |user_s: &f64| (user_s / median_s - 1.0).abs() > DIFFERS;
        conditions.push(NoteCondition {
            machine,
            os,
            condition,
            runs: rows.len(),
            real_s: median(&real_s),
            user_s: median_s,
            system_s: median(&system_s),
            slowdown: median(&real_s) / median(&first_real_s),
            user_slowdown: median_s / median(&first_user_s),
            user_slowdown_of_means: mean(&user_s) / mean(&first_user_s),
            differing_user_s: user_s.iter().copied().filter(differs).collect(),
        });
    }
    Ok(NoteReport { schema: SCHEMA, file: "slowdowns of the note", conditions })
}

/// Real, user and system time of the runs of one condition, in seconds.
type Runs = [Vec<f64>; 3];

fn runs(rows: &[&[String]]) -> Runs {
    [4, 5, 6].map(|column| {
        rows.iter().filter_map(|cells: &&[String]| cells[column].parse().ok()).collect()
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowdowns_of_the_note() {
        let report = note().expect("report");
        let found: Vec<String> = report
            .conditions
            .iter()
            .map(|c| {
                let (real, median, mean) = (c.slowdown, c.user_slowdown, c.user_slowdown_of_means);
                let differing: Vec<String> =
                    c.differing_user_s.iter().map(f64::to_string).collect();
                format!("{}: {real:.2} {median:.2} {mean:.2} {}", c.condition, differing.join(" "))
            })
            .collect();
        assert_eq!(
            found,
            [
                "idle system: 1.00 1.00 1.00 ",
                "1 spinner: 1.50 1.49 1.49 ",
                "4 spinners: 3.69 1.50 1.50 ",
                "idle core: 1.00 1.00 1.00 ",
                "1 spinner on the sibling: 1.50 1.50 1.50 ",
                "4 spinners on the sibling: 1.49 1.49 1.48 ",
                "4 spinners on the core: 3.81 1.49 1.49 ",
                "idle core: 1.00 1.00 1.00 ",
                "1 spinner: 1.39 1.41 1.39 13.69",
                "4 spinners: 3.09 1.41 1.41 ",
                "idle core: 1.00 1.00 1.00 ",
                "1 spinner on the sibling: 1.40 1.40 1.40 ",
            ]
        );
    }
}
