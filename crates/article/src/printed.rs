//! What the article printed in its Tables 1, 2 and 4 to 7, row by row, with what a reader must know
//! of single figures. The figures are those of [`crate::audit::builtin`]; nothing is typed here.

use crate::audit::{audit, builtin};
use coretwin_base::parameters::{ParamValue, Params};
use coretwin_stats::study::phrase;

/// Which of the article's kernels a figure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Linux 2.4.19, Tables 1, 2 and 4 to 6.
    Stable2419,
    /// Linux 2.5.32, Table 7.
    Development2532,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    pub table: u8,
    pub kernel: Kernel,
    /// Benchmark family: `lmbench`, `aim9`, `chat`, `dbench`, `tbench`.
    pub family: String,
    /// First cell: the name of the row, or its number of rooms or clients; [`MEAN`] for the means.
    pub label: String,
    /// Unit, where the table prints one for each row.
    pub unit: Option<String>,
    pub noht: String,
    pub ht: String,
    pub speed_up_percent: String,
    pub remark: Option<Remark>,
}

/// What a reader must know of a printed row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Each figure is one call: rate × time is one call's work (sync rows of AIM9).
    SingleCall,
    /// The difference is where the kernel put the pages, not Hyper-Threading (`sieve`).
    PagePlacement,
    NarrowLong,
    /// A figure does not follow from the others; one wrong digit or swap explains it.
    Misprint {
        printed: String,
        /// What fits the table's own percentage and mean.
        meant: String,
    },
}

pub const MEAN: &str = "geomean";

/// The rows of Table 1 as workloads, in the table's order.
pub const LMBENCH: [&str; 14] = [
    "lmbench/simple-syscall",
    "lmbench/simple-read",
    "lmbench/simple-write",
    "lmbench/simple-stat",
    "lmbench/simple-fstat",
    "lmbench/simple-open-close",
    "lmbench/select-10-fds",
    "lmbench/select-10-tcp-fds",
    "lmbench/signal-install",
    "lmbench/signal-overhead",
    "lmbench/pipe-latency",
    "lmbench/fork-exit",
    "lmbench/fork-execve",
    "lmbench/fork-sh",
];

/// Families whose rows differ by a size, and the parameter that holds it.
pub const SIZES: [(&str, &str); 3] =
    [("chat", "rooms"), ("dbench", "clients"), ("tbench", "clients")];

/// Where the figures of a kernel's families are: file, table, family where the file has one only.
const FILES: [(&str, u8, Kernel, Option<&str>); 6] = [
    ("table1_lmbench.csv", 1, Kernel::Stable2419, Some("lmbench")),
    ("table2_aim9.csv", 2, Kernel::Stable2419, Some("aim9")),
    ("table4_chat.csv", 4, Kernel::Stable2419, Some("chat")),
    ("table5_dbench.csv", 5, Kernel::Stable2419, Some("dbench")),
    ("table6_tbench.csv", 6, Kernel::Stable2419, Some("tbench")),
    ("table7_kernel_2_5_32.csv", 7, Kernel::Development2532, None),
];

/// Every row the article printed for a family: on 2.4.19 first, then on 2.5.32 where there are any.
pub fn rows_of(family: &str) -> Vec<Printed> {
    let of_file = |(file, table, kernel, only): &(&str, u8, Kernel, Option<&str>)| {
        let wanted = only.is_none_or(|only| only == family);
        let file = builtin().iter().find(|known| known.name == *file).filter(|_| wanted);
        let rows = file.map(|file| read(file.name, file.csv, *table, *kernel, *only));
        rows.unwrap_or_default()
    };
    let mut rows: Vec<Printed> = FILES.iter().flat_map(of_file).collect();
    rows.retain(|row| row.family == family);
    rows
}

/// The printed row of a workload with these parameters, on 2.4.19; `None` where the article has none.
pub fn find<'a>(rows: &'a [Printed], workload: &str, params: &Params) -> Option<&'a Printed> {
    let label = label_of(rows, workload, params)?;
    rows.iter().find(|row| row.kernel == Kernel::Stable2419 && row.label == label)
}

/// The first cell that a workload's row would have.
fn label_of(rows: &[Printed], workload: &str, params: &Params) -> Option<String> {
    if let Some(place) = LMBENCH.iter().position(|name| *name == workload) {
        return rows.get(place).filter(|row| row.table == 1).map(|row| row.label.clone());
    }
    if let Some((_, size)) = SIZES.iter().find(|(name, _)| *name == workload) {
        return params.get(*size).map(ParamValue::to_string);
    }
    workload.strip_prefix("aim9/").map(str::to_owned)
}

fn read(
    file: &str,
    csv_text: &str,
    table: u8,
    kernel: Kernel,
    family: Option<&str>,
) -> Vec<Printed> {
    let misprints = misprints(file, csv_text);
    let mut reader = csv::Reader::from_reader(csv_text.as_bytes());
    let mut rows = Vec::new();
    // The header is line 1, and no line of these files is broken or empty.
    for (line, record) in (2u64..).zip(reader.records().flatten()) {
        let mut cells: Vec<&str> = record.iter().collect();
        let Some(speed_up) = cells.pop() else { continue };
        let (Some(ht), Some(noht)) = (cells.pop(), cells.pop()) else { continue };
        // What is left: a family where the file has several, the label, a unit where there is one.
        let own = if family.is_none() && !cells.is_empty() { Some(cells.remove(0)) } else { None };
        let Some(label) = cells.first() else { continue };
        let misprint = misprints.iter().find(|(at, ..)| *at == line);
        rows.push(Printed {
            table,
            kernel,
            family: family.or(own).unwrap_or_default().to_owned(),
            label: (*label).to_owned(),
            unit: cells.get(1).map(|unit| (*unit).to_owned()),
            noht: noht.to_owned(),
            ht: ht.to_owned(),
            speed_up_percent: speed_up.to_owned(),
            remark: match misprint {
                Some((_, printed, meant)) => {
                    Some(Remark::Misprint { printed: printed.clone(), meant: meant.clone() })
                }
                None => remark(table, label),
            },
        });
    }
    rows
}

/// What is known of single rows of Table 2. Calls of the sync rows move 2560 KiB, so 97 KiB/s is one
/// call of 26 s and 60 KiB/s one of 43 s, in a test of 10 s that ends with the call it is in.
fn remark(table: u8, label: &str) -> Option<Remark> {
    match label {
        "sync_disk_rw" | "sync_disk_wrt" | "sync_disk_cp" if table == 2 => Some(Remark::SingleCall),
        "sieve" if table == 2 => Some(Remark::PagePlacement),
        "add_long" | "mul_long" | "div_long" if table == 2 => Some(Remark::NarrowLong),
        _ => None,
    }
}

/// Line, printed figure and figure that fits, of every misprint the audit is sure of.
fn misprints(file: &str, csv_text: &str) -> Vec<(u64, String, String)> {
    let Ok(report) = audit(file, csv_text) else { return Vec::new() };
    let sure = report.findings.into_iter().filter(|finding| finding.kind == "misprint");
    sure.map(|finding| (finding.line, finding.printed, finding.recomputed)).collect()
}

impl Remark {
    pub fn sentence(&self) -> String {
        match self {
            Remark::SingleCall => {
                "One call each, of 11 to 43 s in a test of 10 s: no spread is known, and nothing follows \
                 about SMT."
                    .to_owned()
            }
            Remark::PagePlacement => {
                "Where the kernel happened to put the pages: the table is as large as that processor's \
                 last cache. Not an effect of SMT."
                    .to_owned()
            }
            Remark::NarrowLong => {
                "There long had 32 bits; on a 64-bit machine of today it has 64.".to_owned()
            }
            Remark::Misprint { printed, meant } => {
                format!(
                    "Misprint: Table 7 prints {} for ht; its own percentage and geometric mean need {}.",
                    phrase::separated(printed),
                    phrase::separated(meant)
                )
            }
        }
    }
}

impl Printed {
    pub fn pair(&self) -> Option<(f64, f64)> {
        Some((self.noht.parse().ok()?, self.ht.parse().ok()?))
    }

    /// Both figures, with what was meant where the one with Hyper-Threading is a misprint.
    pub fn mended(&self) -> Option<(f64, f64)> {
        let ht = match &self.remark {
            Some(Remark::Misprint { printed, meant }) if *printed == self.ht => meant,
            _ => &self.ht,
        };
        Some((self.noht.parse().ok()?, ht.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::study::reading::Better;
    use coretwin_stats::geometric;

    const FAMILIES: [&str; 5] = ["lmbench", "aim9", "chat", "dbench", "tbench"];

    /// Every line of a file, put together again from what was read of it.
    #[test]
    fn every_figure_is_the_one_of_the_table() {
        for (file, table, kernel, only) in FILES {
            let known = builtin().iter().find(|known| known.name == file).expect(file);
            let rows: Vec<Printed> = FAMILIES.iter().flat_map(|family| rows_of(family)).collect();
            let of_file: Vec<&Printed> = rows.iter().filter(|row| row.table == table).collect();
            let lines: Vec<&str> = known.csv.lines().skip(1).collect();
            assert_eq!(of_file.len(), lines.len(), "{file}");
            for (row, line) in of_file.iter().zip(lines) {
                let mut cells = Vec::new();
                if only.is_none() {
                    cells.push(row.family.as_str());
                }
                cells.push(&row.label);
                cells.extend(row.unit.as_deref());
                cells.extend([row.noht.as_str(), &row.ht, &row.speed_up_percent]);
                assert_eq!(cells.join(","), line.replace('"', ""), "{file}");
                assert_eq!(row.kernel, kernel, "{file}");
                let (noht, ht) = row.pair().expect("numbers");
                assert!(noht > 0.0 && ht > 0.0, "{line}");
            }
        }
    }

    /// The column of speed-ups, and the row of means, by the formulas of a study.
    #[test]
    fn printed_speed_ups_and_means_follow_by_our_formulas() {
        for (family, better, kernels) in [
            ("lmbench", Better::Lower, &[Kernel::Stable2419][..]),
            ("chat", Better::Higher, &[Kernel::Stable2419, Kernel::Development2532]),
            ("dbench", Better::Higher, &[Kernel::Stable2419, Kernel::Development2532]),
            ("tbench", Better::Higher, &[Kernel::Stable2419, Kernel::Development2532]),
        ] {
            for kernel in kernels {
                let mut rows = rows_of(family);
                rows.retain(|row| row.kernel == *kernel);
                let pairs: Vec<(f64, f64)> = rows.iter().filter_map(Printed::mended).collect();
                for (row, (noht, ht)) in rows.iter().zip(&pairs) {
                    let ratio = geometric::ratio(*noht, *ht, better).expect("a ratio");
                    let percent = 100.0 * (ratio - 1.0);
                    let ours = geometric::speed_up_percent(*noht, *ht, better);
                    assert_eq!(ours, Some(percent.round() as i64), "{row:?}");
                    // The article rounds, or cuts off.
                    let printed: f64 = row.speed_up_percent.parse().expect("a number");
                    assert!([percent.round(), percent.trunc()].contains(&printed), "{row:?}");
                }
                let means = rows.iter().zip(&pairs).find(|(row, _)| row.label == MEAN);
                let Some((_, &(noht, ht))) = means else { continue };
                let (off, on): (Vec<f64>, Vec<f64>) =
                    pairs[..pairs.len() - 1].iter().copied().unzip();
                for (values, printed) in [(off, noht), (on, ht)] {
                    let mean = geometric::mean(&values).expect("a mean");
                    assert!((mean / printed - 1.0).abs() < 5e-4, "{mean} printed as {printed}");
                }
            }
        }
    }

    #[test]
    fn remarks_stand_where_they_belong_and_nowhere_else() {
        let rows: Vec<Printed> = FAMILIES.iter().flat_map(|family| rows_of(family)).collect();
        let with = |wanted: fn(&Remark) -> bool| -> Vec<String> {
            let marked = rows.iter().filter(|row| row.remark.as_ref().is_some_and(wanted));
            marked.map(|row| format!("{} {} {}", row.table, row.family, row.label)).collect()
        };
        assert_eq!(
            with(|remark| *remark == Remark::SingleCall),
            ["2 aim9 sync_disk_rw", "2 aim9 sync_disk_wrt", "2 aim9 sync_disk_cp"]
        );
        assert_eq!(with(|remark| *remark == Remark::PagePlacement), ["2 aim9 sieve"]);
        assert_eq!(
            with(|remark| *remark == Remark::NarrowLong),
            ["2 aim9 add_long", "2 aim9 div_long", "2 aim9 mul_long"]
        );
        assert_eq!(with(|remark| matches!(remark, Remark::Misprint { .. })), ["7 chat 40"]);
        let misprint = rows.iter().find(|row| row.table == 7 && row.label == "40");
        assert_eq!(
            misprint.and_then(|row| row.remark.clone()),
            Some(Remark::Misprint { printed: "231509".to_owned(), meant: "213509".to_owned() })
        );
    }

    #[test]
    fn a_single_call_of_a_sync_row_takes_longer_than_the_test_of_ten_seconds() {
        for row in rows_of("aim9").iter().filter(|row| row.remark == Some(Remark::SingleCall)) {
            let (noht, ht) = row.pair().expect("numbers");
            assert!(2560.0 / noht > 10.0 && 2560.0 / ht > 10.0, "{row:?}");
        }
    }

    #[test]
    fn workloads_find_their_rows() {
        let found = |workload: &str, size: Option<(&str, i64)>| {
            let params: Params =
                size.map(|(name, size)| (name.to_owned(), size.into())).into_iter().collect();
            let rows = rows_of(workload.split('/').next().unwrap_or_default());
            find(&rows, workload, &params).map(|row| (row.label.clone(), row.noht.clone()))
        };
        let is = |label: &str, noht: &str| Some((label.to_owned(), noht.to_owned()));
        assert_eq!(found("lmbench/simple-syscall", None), is("Simple syscall", "1.10"));
        assert_eq!(found("lmbench/fork-sh", None), is("Process fork+/bin/sh -c", "3051.28"));
        assert_eq!(found("lmbench/select-10-tcp-fds", None), is("Select on 10 tcp fd's", "5.69"));
        assert_eq!(found("aim9/sieve", None), is("sieve", "15"));
        assert_eq!(found("chat", Some(("rooms", 40))), is("40", "140301"));
        assert_eq!(found("tbench", Some(("clients", 120))), is("120", "37.85"));
        assert_eq!(found("tbench", Some(("clients", 4))), None);
        assert_eq!(found("aim9/sync_disk_update", None), None);
        assert_eq!(found("chat-futex", Some(("rooms", 20))), None);
    }
}
