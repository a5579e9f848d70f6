//! A study with rows of every table of the article.

use super::{Records, arm, chat_row, plan, readings, records};
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::{ParamValue, Params, label};
use coretwin_base::study::plan::{Comparison, PlanRow, Protocol, Scale, ThreadRule};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::StoppedBecause;

/// Name, placement, arms, unit, direction, scale, and the value in either arm.
type Row =
    (&'static str, Placement, &'static [&'static str], &'static str, Better, Scale, [f64; 2]);

const US: &str = "µs";
const BOTH: &[&str] = &[];

/// Rows of Tables 1 and 2 with a footnote each, one without, one that the article does not have.
const NAMED: [Row; 13] = [
    (
        "aim9/add_long",
        Placement::Free,
        BOTH,
        "thousand additions/s",
        Better::Higher,
        Scale::Ratio,
        [5.1e6, 5.1e6],
    ),
    (
        "aim9/creat-clo",
        Placement::Free,
        BOTH,
        "files/s",
        Better::Higher,
        Scale::Ratio,
        [401_000.0, 405_000.0],
    ),
    (
        "aim9/sync_disk_cp",
        Placement::Free,
        BOTH,
        "KiB/s",
        Better::Higher,
        Scale::Ratio,
        [910.0, 905.0],
    ),
    (
        "aim9/sync_disk_update",
        Placement::Free,
        BOTH,
        "KiB/s",
        Better::Higher,
        Scale::Ratio,
        [800.0, 801.0],
    ),
    ("aim9/sieve", Placement::Free, BOTH, "sieves/s", Better::Higher, Scale::Ratio, [410.0, 411.0]),
    ("lmbench/fork-sh", Placement::Free, BOTH, US, Better::Lower, Scale::Ratio, [900.0, 930.0]),
    (
        "lmbench/simple-syscall",
        Placement::Free,
        BOTH,
        US,
        Better::Lower,
        Scale::Ratio,
        [0.11, 0.11],
    ),
    ("lmbench/signal-overhead", Placement::Free, BOTH, US, Better::Lower, Scale::Raw, [0.82, 0.81]),
    ("lmbench/pipe-latency", Placement::Free, BOTH, US, Better::Lower, Scale::Ratio, [31.3, 29.9]),
    ("lmbench/pipe-latency", Placement::SameCpu, BOTH, US, Better::Lower, Scale::Ratio, [1.9, 1.9]),
    (
        "lmbench/pipe-latency",
        Placement::Siblings,
        &["on"],
        US,
        Better::Lower,
        Scale::Ratio,
        [0.0, 4.4],
    ),
    ("lmbench/pipe-latency", Placement::Cores, BOTH, US, Better::Lower, Scale::Ratio, [40.2, 40.4]),
    ("lmbench/simple-read", Placement::Free, BOTH, US, Better::Lower, Scale::Ratio, [0.19, 0.2]),
];

/// Throughput of dbench, whose sizes are the machine's, and of tbench, whose sizes are the article's.
const CLIENTS: [(&str, i64, [f64; 2]); 9] = [
    ("dbench", 4, [1510.0, 1602.0]),
    ("dbench", 8, [2104.0, 2590.0]),
    ("dbench", 16, [2133.0, 2688.0]),
    ("dbench", 32, [2098.0, 2604.0]),
    ("tbench", 20, [1301.0, 1611.0]),
    ("tbench", 30, [1299.0, 1598.0]),
    ("tbench", 60, [1288.0, 1570.0]),
    ("tbench", 90, [1250.0, 1522.0]),
    ("tbench", 120, [1204.0, 1490.0]),
];

fn named((name, placement, arms, unit, better, scale, _): &Row) -> PlanRow {
    let suffix =
        if *placement == Placement::Free { String::new() } else { format!("@{placement}") };
    PlanRow {
        id: format!("{name}{suffix}"),
        workload: (*name).to_owned(),
        family: name.split('/').next().unwrap_or_default().to_owned(),
        params: Params::new(),
        placement: *placement,
        threads: ThreadRule::Fixed(1),
        unit: (*unit).to_owned(),
        better: *better,
        scale: *scale,
        arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
        ..chat_row(20)
    }
}

fn sized((name, clients, _): &(&str, i64, [f64; 2])) -> PlanRow {
    let params: Params = [("clients".to_owned(), ParamValue::Int(*clients))].into();
    PlanRow {
        id: label(name, &params),
        workload: (*name).to_owned(),
        family: (*name).to_owned(),
        params,
        threads: ThreadRule::Fixed(*clients as u32),
        unit: "MB/s".to_owned(),
        ..chat_row(20)
    }
}

/// All five families; eight blocks.
pub(crate) fn article() -> Records {
    let arms = vec![
        arm("one-per-core", "0,2,4,6", 4, "affinity to one CPU per core"),
        arm("on", "0-7", 4, "all CPUs of the machine"),
    ];
    let mut rows: Vec<PlanRow> = NAMED.iter().map(named).collect();
    rows.extend([20, 30, 40, 50].map(chat_row));
    rows.extend(CLIENTS.iter().map(sized));
    let plan = plan(arms, rows, Comparison::StandIn, 2);
    let chat = [[164.0, 203.0], [152.0, 185.0], [140.0, 171.0], [124.0, 159.0]];
    let values: Vec<[f64; 2]> = NAMED
        .iter()
        .map(|row| row.6)
        .chain(chat.map(|pair| pair.map(|value| value * 1000.0)))
        .chain(CLIENTS.map(|row| row.2))
        .collect();
    // Values are scripted with one decimal, so small ones are scaled up for the noise and down again.
    let mut readings = readings(&plan, 8, |row, arm| values[row][arm] * 1000.0);
    for reading in &mut readings {
        reading.value = reading.value.map(|value| value / 1000.0);
    }
    records(plan, readings)
}

/// The same, as a screening.
pub(crate) fn article_quick() -> Records {
    let mut article = article();
    article.plan.rules.protocol = Protocol::Quick;
    article.plan.rules.looks = vec![3];
    article.readings.retain(|reading| reading.block < 3);
    article.analysed(StoppedBecause::Blocks)
}

/// The same by the protocol of 2003, with SMT off and on.
pub(crate) fn article_2003() -> Records {
    let mut article = article();
    article.plan.comparison = Comparison::Smt;
    article.plan.arms[0] = arm("off", "0,2,4,6", 4, "SMT switched off by the kernel");
    article.plan.reference_arm = "off".to_owned();
    article.plan.rules.protocol = Protocol::Article2003;
    article.plan.rows.retain(|row| row.placement == Placement::Free);
    for reading in article.readings.iter_mut().filter(|reading| reading.arm == "one-per-core") {
        reading.arm = "off".into();
    }
    let runs = |family: &str| coretwin_stats::study::protocol_2003::runs(family);
    let plan = &article.plan;
    article.readings.retain(|reading| {
        plan.row(&reading.row).is_some_and(|row| reading.block < runs(&row.family))
    });
    article.environment = super::environment(&article.plan);
    article.analysed(StoppedBecause::Blocks)
}
