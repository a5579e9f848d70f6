//! What the article and the note say about their tables, checked against the tables.
//!
//! Every claim is tested twice: on the figures as printed, and with the misprint mended that the
//! audit of the tables found. A stated number holds if the computed one rounds or truncates to it;
//! after "about" or "approximately" it may be one point off, or 2.5 if it ends in 0 or 5.

use super::builtin::builtin;
use super::table::{Error, Sheet};
use super::{Finding, mended_sheet};
use coretwin_base::schema::SCHEMA;
use serde::Serialize;

/// A sentence of a text, with the number it states and how to compute it.
struct Claim {
    source: &'static str,
    text: &'static str,
    stated: f64,
    unit: &'static str,
    approximate: bool,
    quantity: Quantity,
}

/// A group of rows: index of the built-in table, and the label of the row or its first word ("" for
/// all rows).
type Group = (usize, &'static str);

/// How a stated number follows from the tables.
enum Quantity {
    /// The largest speed-up of the groups, in percent.
    Largest(&'static [Group]),
    Smallest(&'static [Group]),
    /// Every one of these rows.
    Each(usize, &'static [&'static str]),
    /// The row of geometric means of a group.
    Mean(Group),
    /// Growth of the mean of a column (index) between two conditions of a machine.
    Growth(Times),
    /// Throughput of two tasks over one: 2/(1 + growth) − 1.
    Throughput(Times),
    /// A product of stated numbers.
    Product(&'static [f64]),
}

/// Two conditions of the note's table.
#[derive(Clone, Copy)]
struct Times {
    os: &'static str,
    alone: &'static str,
    beside: &'static str,
    column: &'static str,
}

/// What to put before the row labels of the tables 1 to 7.
const PREFIXES: [&str; 7] = ["", "", "", "chat ", "dbench ", "tbench ", ""];

const NOTE: usize = 7;
const P4: Times =
    Times { os: "NetBSD 4.0 SMP", alone: "idle system", beside: "1 spinner", column: "real_s" };
const I7: Times =
    Times { os: "NetBSD 7.0", alone: "idle core", beside: "1 spinner", column: "real_s" };
const E5: Times = Times {
    os: "Linux 3.13",
    alone: "idle core",
    beside: "1 spinner on the sibling",
    column: "real_s",
};

const fn percent(
    source: &'static str,
    text: &'static str,
    stated: f64,
    quantity: Quantity,
) -> Claim {
    Claim { source, text, stated, unit: "%", approximate: false, quantity }
}

const fn about(source: &'static str, text: &'static str, stated: f64, quantity: Quantity) -> Claim {
    Claim { source, text, stated, unit: "%", approximate: true, quantity }
}

const fn product(text: &'static str, stated: f64, factors: &'static [f64]) -> Claim {
    let (source, quantity) = ("article, benchmarks", Quantity::Product(factors));
    Claim { source, text, stated, unit: "", approximate: false, quantity }
}

const MULTITHREADED: &[Group] = &[(3, ""), (4, ""), (5, "")];

/// In the order of the texts.
#[rustfmt::skip]
const CLAIMS: &[Claim] = &[
    percent("article, abstract", "2.4.19: multithreaded applications improve by 30 %", 30.0, Quantity::Largest(MULTITHREADED)),
    percent("article, abstract", "2.5.32: speed-up as much as 51 %", 51.0, Quantity::Largest(&[(6, "")])),
    percent("article, Table 1", "pipe latency: degradation of 1 %", -1.0, Quantity::Each(0, &["Pipe latency"])),
    percent("article, Table 1", "fork+exit: 4 % degradation", -4.0, Quantity::Each(0, &["Process fork+exit"])),
    percent("article, Table 1", "fork+execve: 6 % degradation", -6.0, Quantity::Each(0, &["Process fork+execve"])),
    percent("article, Table 1", "fork+/bin/sh -c: 2 % slower", -2.0, Quantity::Each(0, &["Process fork+/bin/sh -c"])),
    about("article, Table 2", "the three sync rows are approximately 35 % slower", -35.0, Quantity::Each(1, &["sync_disk_rw", "sync_disk_wrt", "sync_disk_cp"])),
    percent("article, Table 2", "Integer Sieves: 60 % improvement", 60.0, Quantity::Each(1, &["sieve"])),
    product("10 rooms have 800 threads", 800.0, &[10.0, 20.0, 2.0, 2.0]),
    product("10 rooms send 20,000 messages", 20_000.0, &[10.0, 20.0, 100.0]),
    product("10 rooms receive 380,000 messages", 380_000.0, &[10.0, 20.0, 100.0, 19.0]),
    percent("article, Table 4", "chat improves from 22 % …", 22.0, Quantity::Smallest(&[(3, "")])),
    percent("article, Table 4", "… to 28 %", 28.0, Quantity::Largest(&[(3, "")])),
    percent("article, Table 4", "chat overall 24 %, by geometric mean", 24.0, Quantity::Mean((3, ""))),
    product("20 dbench clients of 21 MB expect 420 MB", 420.0, &[20.0, 21.0]),
    percent("article, Table 5", "dbench improves from as little as 9 % …", 9.0, Quantity::Smallest(&[(4, "")])),
    percent("article, Table 5", "… to as much as 29 %", 29.0, Quantity::Largest(&[(4, "")])),
    percent("article, Table 5", "dbench overall 18 %", 18.0, Quantity::Mean((4, ""))),
    percent("article, Table 6", "tbench improves from 22 % …", 22.0, Quantity::Smallest(&[(5, "")])),
    percent("article, Table 6", "… to 31 %", 31.0, Quantity::Largest(&[(5, "")])),
    percent("article, Table 6", "tbench overall 27 %", 27.0, Quantity::Mean((5, ""))),
    percent("article, Table 7", "chat: as much as a 60 % speed-up in the case of 40 rooms", 60.0, Quantity::Each(6, &["chat 40"])),
    about("article, Table 7", "chat overall about 45 %", 45.0, Quantity::Mean((6, "chat"))),
    percent("article, Table 7", "dbench: 27 % the high mark", 27.0, Quantity::Largest(&[(6, "dbench")])),
    about("article, Table 7", "dbench overall about 12 %", 12.0, Quantity::Mean((6, "dbench"))),
    about("article, Table 7", "tbench overall about 35 %", 35.0, Quantity::Mean((6, "tbench"))),
    percent("article, conclusion", "as high as 30 % in stock kernel 2.4.19", 30.0, Quantity::Largest(MULTITHREADED)),
    percent("article, conclusion", "to 51 % in kernel 2.5.32", 51.0, Quantity::Largest(&[(6, "")])),
    about("note, Pentium 4", "real time has increased by about 50 %", 50.0, Quantity::Growth(P4)),
    about("note, Pentium 4", "and so has the user time", 50.0, Quantity::Growth(Times { column: "user_s", ..P4 })),
    about("note, i7-2600", "single thread latency increases about 36 %", 36.0, Quantity::Growth(I7)),
    about("note, i7-2600", "multi-threaded throughput increases around 47 %", 47.0, Quantity::Throughput(I7)),
    about("note, E5-1650", "about a 40 % increase in CPU time", 40.0, Quantity::Growth(Times { column: "user_s", ..E5 })),
    about("note, E5-1650", "approx 43 % more throughput (2/1.4)", 43.0, Quantity::Throughput(E5)),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Follows,
    /// It follows if the computed number is cut off rather than rounded.
    FollowsByTruncation,
    /// It follows only with the misprint of the tables mended.
    FollowsOnceMended,
    /// It follows from the tables as printed, and falls with the misprint.
    FallsWithMisprint,
    DoesNotFollow,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedClaim {
    /// Where it stands.
    pub source: &'static str,
    /// What it says, in short.
    pub text: &'static str,
    /// The number it states, in `unit`.
    pub stated: f64,
    /// `%`, or nothing for counts.
    pub unit: &'static str,
    /// What the tables give as printed: one number, or one per row.
    pub computed: Vec<f64>,
    /// What they give with the misprint mended.
    pub computed_mended: Vec<f64>,
    /// How it came out.
    pub verdict: Verdict,
    /// Which rows the numbers are from, or what would give the stated number.
    pub detail: String,
}

/// All claims, and those that do not follow as findings; fits the object of `audit --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimsReport {
    pub schema: u32,
    /// `claims of the texts`.
    pub file: &'static str,
    pub rows: usize,
    /// The claims that fall or do not follow.
    pub findings: Vec<Finding>,
    pub claims: Vec<CheckedClaim>,
}

/// Checks what the article and the note claim against the built-in tables.
///
/// # Errors
/// [`Error`] only if a built-in table cannot be read, which the tests exclude.
pub fn claims() -> Result<ClaimsReport, Error> {
    let printed = builtin().iter().map(|table| Sheet::parse(table.name, table.csv));
    let printed: Vec<Sheet> = printed.collect::<Result<_, _>>()?;
    let mended = builtin().iter().map(|table| mended_sheet(table.name, table.csv));
    let mended: Vec<Sheet> = mended.collect::<Result<_, _>>()?;
    let claims: Vec<CheckedClaim> =
        CLAIMS.iter().map(|claim| check(claim, &printed, &mended)).collect();
    let findings = claims.iter().enumerate().filter_map(|(at, claim)| finding(at, claim));
    Ok(ClaimsReport {
        schema: SCHEMA,
        file: "claims of the texts",
        rows: claims.len(),
        findings: findings.collect(),
        claims,
    })
}

fn check(claim: &Claim, printed: &[Sheet], mended: &[Sheet]) -> CheckedClaim {
    let (as_printed, as_mended) = (claim.quantity.compute(printed), claim.quantity.compute(mended));
    // To a thousandth: more digits than that say nothing about figures of three to six.
    let thousandths = |value: f64| libm::round(value * 1000.0) / 1000.0;
    let numbers = |found: &[(String, f64)]| found.iter().map(|f| thousandths(f.1)).collect();
    let (computed, computed_mended): (Vec<f64>, Vec<f64>) =
        (numbers(&as_printed), numbers(&as_mended));
    let all = |values: &[f64], test: fn(&Claim, f64) -> bool| {
        !values.is_empty() && values.iter().all(|&value| test(claim, value))
    };
    let holds = |values: &[f64]| all(values, rounds) || all(values, truncates);
    let verdict = match (holds(&computed), holds(&computed_mended)) {
        (true, true) if all(&computed_mended, rounds) => Verdict::Follows,
        (true, true) => Verdict::FollowsByTruncation,
        (true, false) => Verdict::FallsWithMisprint,
        (false, true) => Verdict::FollowsOnceMended,
        (false, false) => Verdict::DoesNotFollow,
    };
    let mut detail: Vec<String> = as_printed
        .iter()
        .map(|(row, value)| format!("{row} {}", spelled(*value, claim.unit)))
        .collect();
    if computed != computed_mended {
        detail.extend(as_mended.iter().map(|(row, value)| {
            format!("{row} {} with the misprint mended", spelled(*value, claim.unit))
        }));
    }
    if verdict == Verdict::DoesNotFollow {
        detail.extend(claim.otherwise(printed));
    }
    CheckedClaim {
        source: claim.source,
        text: claim.text,
        stated: claim.stated,
        unit: claim.unit,
        computed,
        computed_mended,
        verdict,
        detail: detail.join("; "),
    }
}

/// A computed number for people: `+47.80 %`, `380000`.
pub fn spelled(value: f64, unit: &str) -> String {
    if unit.is_empty() { format!("{value:.0}") } else { format!("{value:+.2} {unit}") }
}

fn rounds(claim: &Claim, value: f64) -> bool {
    let slack = match (claim.approximate, claim.stated % 5.0 == 0.0) {
        (false, _) => 0.5,
        (true, false) => 1.0,
        (true, true) => 2.5,
    };
    (value - claim.stated).abs() <= slack
}

fn truncates(claim: &Claim, value: f64) -> bool {
    libm::trunc(value) == claim.stated
}

fn finding(at: usize, claim: &CheckedClaim) -> Option<Finding> {
    if !matches!(claim.verdict, Verdict::FallsWithMisprint | Verdict::DoesNotFollow) {
        return None;
    }
    let worst = |values: &[f64]| {
        let distance = |value: &f64| (value - claim.stated).abs();
        values.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    Some(Finding {
        row: claim.text.to_owned(),
        line: at as u64 + 1,
        column: claim.source.to_owned(),
        printed: format!("{} {}", claim.stated, claim.unit),
        recomputed: worst(&claim.computed_mended)
            .map_or_else(String::new, |value| spelled(value, claim.unit)),
        kind: "claim",
        suggestion: Some(claim.detail.clone()),
        broken: Vec::new(),
        candidates: Vec::new(),
    })
}

impl Claim {
    /// For a claim of the note that the means do not give: the single runs that do.
    fn otherwise(&self, sheets: &[Sheet]) -> Vec<String> {
        let (Quantity::Growth(times) | Quantity::Throughput(times)) = self.quantity else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for column in ["real_s", "user_s"] {
            let times = Times { column, ..times };
            let pairs = times.runs(&sheets[NOTE], times.alone).into_iter();
            let pairs = pairs.zip(times.runs(&sheets[NOTE], times.beside));
            for (run, (alone, beside)) in pairs.enumerate() {
                let growth = beside / alone;
                let value = match self.quantity {
                    Quantity::Throughput(_) => 100.0 * (2.0 / growth - 1.0),
                    _ => 100.0 * (growth - 1.0),
                };
                if (value - self.stated).abs() <= 0.5 {
                    let run = run + 1;
                    found.push(format!(
                        "only {column} of run {run} ({alone} and {beside}) gives it"
                    ));
                }
            }
        }
        found
    }
}

impl Quantity {
    fn compute(&self, sheets: &[Sheet]) -> Vec<(String, f64)> {
        let all = |groups: &[Group]| -> Vec<(String, f64)> {
            groups.iter().flat_map(|group| speed_ups(sheets, *group, false)).collect()
        };
        let by_value = |a: &(String, f64), b: &(String, f64)| a.1.total_cmp(&b.1);
        match self {
            Self::Largest(groups) => all(groups).into_iter().max_by(by_value).into_iter().collect(),
            Self::Smallest(groups) => {
                all(groups).into_iter().min_by(by_value).into_iter().collect()
            }
            Self::Each(table, rows) => {
                rows.iter().flat_map(|row| speed_ups(sheets, (*table, row), false)).collect()
            }
            Self::Mean(group) => speed_ups(sheets, *group, true),
            Self::Growth(times) => vec![(times.column.to_owned(), times.growth(&sheets[NOTE]))],
            Self::Throughput(times) => {
                let factor = 1.0 + times.growth(&sheets[NOTE]) / 100.0;
                vec![(format!("2/{factor:.2} of {}", times.column), 100.0 * (2.0 / factor - 1.0))]
            }
            Self::Product(factors) => vec![("product".to_owned(), factors.iter().product())],
        }
    }
}

/// The speed-ups of a group's rows, or of its row of means, in percent. The two columns left of
/// the printed speed-up hold the rates; Table 1 holds times.
fn speed_ups(sheets: &[Sheet], (table, group): Group, means: bool) -> Vec<(String, f64)> {
    let sheet = &sheets[table];
    let last = sheet.headers.len() - 1;
    let mut found = Vec::new();
    for row in &sheet.rows {
        let is_mean = row.cells.iter().any(|cell| cell == "geomean");
        // Table 7 names its rows in two columns, the others in one.
        let label = row.cells[..if table == 6 { 2 } else { 1 }].join(" ");
        let in_group = group.is_empty() || row.cells[0] == group || label == group;
        let value = |column: usize| row.cells[column].parse::<f64>().ok();
        if let (true, Some(off), Some(on)) =
            (in_group && is_mean == means, value(last - 2), value(last - 1))
        {
            let gain = if table == 0 { off / on } else { on / off };
            found.push((format!("{}{label}", PREFIXES[table]), 100.0 * (gain - 1.0)));
        }
    }
    found
}

impl Times {
    fn runs(&self, sheet: &Sheet, condition: &str) -> Vec<f64> {
        let column = sheet.headers.iter().position(|header| header == self.column).unwrap_or(0);
        let rows = sheet.rows.iter();
        rows.filter(|row| row.cells[1] == self.os && row.cells[2] == condition)
            .filter_map(|row| row.cells[column].parse().ok())
            .collect()
    }

    /// By how much the mean time grows beside a spinner, in percent.
    fn growth(&self, sheet: &Sheet) -> f64 {
        let mean = |condition: &str| {
            let runs = self.runs(sheet, condition);
            runs.iter().sum::<f64>() / runs.len() as f64
        };
        100.0 * (mean(self.beside) / mean(self.alone) - 1.0)
    }
}
