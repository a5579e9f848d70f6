//! Results of other people's benchmarks, as studies that `compare` can set side by side: hyperfine's
//! `--export-json`, and the `composite.xml` of the Phoronix Test Suite.
//!
//! Such a file knows no blocks, orders or machine states: its runs of a command become the blocks of
//! one arm, in their order. What holds of two such files is what holds of any two runs of a benchmark:
//! values differ or not, and nothing is said about SMT.

mod found;
mod hyperfine;
mod phoronix;

use crate::Error;
use coretwin_base::caps;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::environment::Environment;
use coretwin_base::machine::placement::Placement;
use coretwin_base::machine::topology::Topology;
use coretwin_base::origin::Origin;
use coretwin_base::parameters::Params;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::{ArmState, KERNEL};
use coretwin_base::study::plan::{
    Comparison, CopyRule, Plan, PlanArm, PlanRow, Protocol, Rule, Rules, Scale, ThreadRule,
};
use coretwin_base::study::reading::{Reading, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use found::{Found, Series};

/// Most runs that a study of it may have, those that are missing included.
const RUNS_MAX: usize = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub plan: Plan,
    pub readings: Vec<Reading>,
    /// What the file tells of the machine: as a rule nothing.
    pub environment: Environment,
}

/// Reads a file of a known kind: `.json` is hyperfine's, `.xml` Phoronix's. Errors: [`Error::Io`] if it
/// cannot be read, [`Error::Import`] if it is not what it should be.
pub fn import(path: &Path) -> Result<Imported, Error> {
    let bad = |why: String| Error::Import { path: path.to_owned(), why };
    let text = File::open(path).and_then(|file| caps::IMPORT.text(file));
    let text = text.map_err(|cause| Error::io("read", path, cause))?;
    let found = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => hyperfine::parse(&text),
        Some("xml") => phoronix::parse(&text),
        _ => Err("its name ends neither in .json (hyperfine) nor in .xml (Phoronix)".to_owned()),
    };
    let found = found.map_err(bad)?;
    if found.series.is_empty() {
        return Err(bad("it holds no result with a number".to_owned()));
    }
    study(&found, mark(&text)).map_err(bad)
}

/// A number that tells files apart (FNV-1a), for a file has no seed: two that are the same are one study.
fn mark(text: &str) -> u64 {
    let mix = |mark: u64, byte: u8| (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn study(found: &Found, seed: u64) -> Result<Imported, String> {
    let mut arms: Vec<&str> = Vec::new();
    let mut rows: Vec<&Series> = Vec::new();
    let mut rows_known = BTreeSet::new();
    let mut arms_known = BTreeSet::new();
    // Of a row that is there twice in an arm the first counts.
    let mut cells = BTreeMap::new();
    for series in &found.series {
        let (arm, row) = (series.arm.as_str(), series.row.as_str());
        if arms_known.insert(arm) {
            arms.push(arm);
        }
        if rows_known.insert(row) {
            rows.push(series);
        }
        cells.entry((arm, row)).or_insert(series);
    }
    let blocks = found.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let runs = rows.len().saturating_mul(arms.len()).saturating_mul(blocks);
    if runs > RUNS_MAX {
        let (rows, arms) = (rows.len(), arms.len());
        return Err(format!(
            "{rows} results of {arms} systems with up to {blocks} runs are more than {RUNS_MAX} runs; split it"
        ));
    }
    let mut plan = plan(found.program, &arms, &rows, blocks as u32);
    plan.seed = seed;
    let mut readings = Vec::new();
    for block in 0..blocks {
        for arm in &arms {
            for row in &plan.rows {
                let series = cells.get(&(*arm, row.id.as_str())).copied();
                readings.push(reading(readings.len() as u64, block, arm, row, series));
            }
        }
    }
    Ok(Imported { plan, readings, environment: Environment::default() })
}

fn plan(program: &str, arms: &[&str], rows: &[&Series], blocks: u32) -> Plan {
    let cpus: CpuSet = [CpuId(0)].into_iter().collect();
    let arm = |label: &&str| PlanArm {
        label: (*label).to_owned(),
        state: ArmState::Cpus(cpus.clone()),
        scheduler: KERNEL.to_owned(),
        cpus: cpus.clone(),
        cores: 1,
        threads: 1,
        smt: None,
        about: format!("as {program} ran it"),
        ..PlanArm::default()
    };
    let row = |series: &&Series| PlanRow {
        id: series.row.clone(),
        workload: series.row.clone(),
        family: program.to_owned(),
        params: Params::new(),
        placement: Placement::Free,
        threads: ThreadRule::Fixed(1),
        copies: CopyRule::Fixed(1),
        unit: series.unit.clone(),
        better: series.better,
        scale: Scale::Ratio,
        arms: Vec::new(),
    };
    Plan {
        schema: SCHEMA,
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        machine: program.to_owned(),
        origin: Some(Origin::Measured),
        comparison: Comparison::None,
        arms: arms.iter().map(arm).collect(),
        reference_arm: arms.first().map(|arm| (*arm).to_owned()).unwrap_or_default(),
        rows: rows.iter().map(row).collect(),
        command: None,
        cputime: None,
        load: None,
        simulation: None,
        split: None,
        seed: 0,
        orders: Vec::new(),
        rules: Rules {
            protocol: Protocol::Fixed,
            looks: vec![blocks],
            target: 0.01,
            margin: 0.02,
            budget_s: None,
            steal_share_max: 1.0,
            others_share_max: 1.0,
            retries_max: 0,
            warmup: false,
            warmup_runs: 1,
            settle_s: 0.0,
            repeats: 1,
            until: Rule::Width,
        },
        screening: None,
        topology: Topology::regular(1, 1, 1),
        warnings: Vec::new(),
    }
}

/// A run; where a row has fewer runs than others, one that is missing.
fn reading(seq: u64, block: usize, arm: &str, row: &PlanRow, series: Option<&Series>) -> Reading {
    let value = series.and_then(|series| series.values.get(block)).copied();
    let [user_s, system_s] = series.map_or([0.0; 2], |series| series.cpu_s);
    Reading {
        schema: SCHEMA,
        seq,
        block: block as u32,
        arm: arm.into(),
        row: row.id.as_str().into(),
        workload: row.workload.as_str().into(),
        placement_asked: row.placement,
        status: if value.is_some() { Status::Ok } else { Status::Failed },
        cause: value.is_none().then(|| "the file has no such run".into()),
        value,
        unit: row.unit.as_str().into(),
        better: row.better,
        elapsed_s: if row.unit == "s" { value.unwrap_or(0.0) } else { 0.0 },
        user_s,
        system_s,
        threads: 1,
        copies: 1,
        ..Reading::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_fewer_runs_keep_all_of_theirs() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.json");
        std::fs::write(
            &path,
            r#"{"results":[{"command":"a","times":[1.0,1.1,1.2]},{"command":"b","times":[2.0]}]}"#,
        )
        .expect("file");
        let imported = import(&path).expect("imported");
        assert_eq!(imported.plan.rows.len(), 2);
        assert_eq!(imported.readings.len(), 6);
        let good: Vec<f64> = imported.readings.iter().filter_map(|reading| reading.value).collect();
        assert_eq!(good, [1.0, 2.0, 1.1, 1.2]);
    }

    #[test]
    fn a_small_file_cannot_ask_for_a_huge_study() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.json");
        let times = "1,".repeat(2000);
        let short = (0..2000).map(|row| format!(r#",{{"command":"{row}","times":[1]}}"#));
        let short = short.collect::<String>();
        let text = format!(r#"{{"results":[{{"command":"a","times":[{times}1]}}{short}]}}"#);
        std::fs::write(&path, text).expect("file");
        let error = import(&path).expect_err("too much").to_string();
        assert!(error.contains("2001 results of 1 systems with up to 2001 runs"), "{error}");
    }

    #[test]
    fn other_files_are_refused_by_name_with_the_reason() {
        let folder = tempfile::tempdir().expect("folder");
        for (name, text, why) in [
            ("a.txt", "x", "ends neither"),
            ("a.json", "{", "hyperfine"),
            ("b.json", r#"{"results":[]}"#, "no result"),
            ("c.json", r#"{"results":[{"command":"a","times":[-1.0]}]}"#, "results[0].times[0]"),
            ("a.xml", "<PhoronixTestSuite>", "Phoronix"),
            ("b.xml", "<PhoronixTestSuite></PhoronixTestSuite>", "no result"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("file");
            let error = import(&path).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains(why), "{error}");
        }
    }
}
