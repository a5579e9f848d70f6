//! Many machines: bundles drawn from a seed (100 rows, 10 blocks, two arms each) are merged and
//! reported; the figures are the truth they were drawn from, and memory stays in proportion.
//!
//! `CORETWIN_BUNDLES=10000` makes it as many (`cargo xtask check-all fleet-scale`), in four steps, with
//! a table of time and memory.

#![expect(clippy::print_stdout, reason = "time and memory are told")]

mod common;
#[path = "../../stats/tests/study/fixture.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod fixture;

use common::CORETWIN;
use coretwin_base::fleet::MemberState;
use coretwin_base::fleet::plan::{BundleHolds, Manifest};
use coretwin_base::fleet::summary::FleetSummary;
use coretwin_base::machine::environment::{Environment, Moment, Session};
use coretwin_base::random::Stream;
use coretwin_base::study::plan::{Comparison, Plan, PlanRow};
use coretwin_base::study::reading::Better;
use coretwin_store::fleet_bundle;
use coretwin_store::fleet_folder::{BUNDLES, FleetFolder};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const ROWS: usize = 100;
const BLOCKS: u32 = 10;
const WORKLOADS: usize = 5;
const MODELS: [&str; 4] = ["Alpha 9000", "Beta 2", "Gamma (R) Platinum 8000", "Delta"];
/// Standard deviation of machines of one model, on the log scale.
const BETWEEN: f64 = 0.02;
/// That of a block's difference.
const WITHIN: f64 = 0.01;

/// What `on` does for a row on a model, on the log scale.
fn truth(model: usize, row: usize) -> f64 {
    0.05 * model as f64 - 0.05 + 0.002 * (row % 10) as f64
}

fn row_name(row: usize) -> (String, String) {
    let workload = format!("load{}", row % WORKLOADS);
    (format!("{workload}:size={row}"), workload)
}

/// Nearly normal, of standard deviation 1.
fn noise(stream: &mut Stream) -> f64 {
    2.0 * (stream.unit() + stream.unit() + stream.unit() - 1.5)
}

fn plan(model: &str) -> Plan {
    let rows: Vec<PlanRow> = (0..ROWS)
        .map(|row| {
            let (id, workload) = row_name(row);
            let like = fixture::row(&id, &workload);
            PlanRow { workload, unit: "1/s".to_owned(), better: Better::Higher, ..like }
        })
        .collect();
    let mut plan = Plan { comparison: Comparison::StandIn, ..fixture::plan(&rows) };
    plan.orders = vec![vec![0, 1]; plan.blocks_max() as usize];
    plan.topology.cpuinfo.model_name = Some(model.to_owned());
    plan
}

/// What a machine says of itself: some hundred facts, a moment for each visit to an arm.
fn environment(number: u32, model: &str) -> Environment {
    let mut environment = Environment::default();
    environment.sessions.push(Session {
        started_utc: "2026-01-01T00:00:00Z".to_owned(),
        coretwin: "0".to_owned(),
        argv: Vec::new(),
        boot_id: format!("boot-{number}"),
        host: format!("node-{number:05}"),
    });
    let mut facts: BTreeMap<String, String> =
        (0..90).map(|fact| (format!("fact.{fact}"), format!("value {}", fact % 7))).collect();
    facts.insert("cpu.model".to_owned(), model.to_owned());
    facts.insert("kernel.release".to_owned(), format!("6.{}", number % 3));
    for visit in 0..2 * BLOCKS {
        let at_utc = format!("2026-01-01T00:{:02}:00Z", visit % 60);
        let arm = if visit % 2 == 0 { "one-per-core" } else { "on" }.to_owned();
        environment.add(
            facts.clone(),
            Moment {
                facts: String::new(),
                arm,
                at_utc,
                load_1min: 0.5,
                mhz: BTreeMap::new(),
                mhz_permitted: BTreeMap::new(),
                idle_us: BTreeMap::new(),
            },
        );
    }
    environment
}

fn journal(number: u32) -> String {
    let mut stream = Stream::new(1, "fleet-scale", number.into());
    let model = number as usize % MODELS.len();
    let effects: Vec<f64> =
        (0..ROWS).map(|row| truth(model, row) + BETWEEN * noise(&mut stream)).collect();
    let names: Vec<(String, String)> = (0..ROWS).map(row_name).collect();
    let mut text = String::new();
    for visit in 0..2 * BLOCKS {
        let (block, is_on) = (visit / 2, visit % 2 == 1);
        let (arm, threads) = if is_on { ("on", 8) } else { ("one-per-core", 4) };
        for (row, (name, workload)) in names.iter().enumerate() {
            let seq = visit as usize * ROWS + row;
            let level = if is_on { effects[row] + WITHIN * noise(&mut stream) } else { 0.0 };
            let value = 1000.0 * (1.0 + row as f64) * level.exp();
            let elapsed = 1.0 + 0.1 * stream.unit();
            let _ = writeln!(
                text,
                r#"{{"schema":1,"seq":{seq},"phase":"study","block":{block},"switch":{visit},"attempt":0,"arm":"{arm}","row":"{name}","workload":"{workload}","params":{{"size":{row}}},"placement_asked":"free","cpus_ran":[0,1,2,3],"status":"ok","value":{value},"unit":"1/s","better":"higher","metrics":{{"peak_memory_kib":{{"value":{},"unit":"KiB","better":"lower"}},"voluntary_switches":{{"value":{},"unit":"1","better":"lower"}},"rate":{{"value":{value},"unit":"1/s","better":"higher"}}}},"operations":{},"elapsed_s":{elapsed},"user_s":{},"system_s":0.01,"steal_s":0.0,"threads":{threads},"copies":1,"notes":{{"file_system":"ext4"}},"checks":{{"all_done":true}},"env":"e{visit}"}}"#,
                2000 + stream.below(100),
                stream.below(1000),
                1000 + row,
                elapsed * 0.9,
            );
        }
    }
    text
}

/// Bundles for the fleet in `pool`, made on all CPUs.
fn draw(digest: &str, scratch: &Path, pool: &Path, count: u32) {
    let next = AtomicU32::new(0);
    let plans = MODELS.map(|model| serde_json::to_vec(&plan(model)).expect("plan"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, plans) = (&next, &plans);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let sources = scratch.join(format!("sources-{thread}"));
                fs::create_dir_all(&sources).expect("folder");
                let names = ["plan.json", "journal.jsonl", "environment.json"];
                let files = names.map(|name| (name, sources.join(name)));
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let model = number as usize % MODELS.len();
                    let about = environment(number, MODELS[model]);
                    fs::write(&files[0].1, &plans[model]).expect("plan");
                    fs::write(&files[1].1, journal(number)).expect("journal");
                    let about = serde_json::to_vec(&about).expect("environment");
                    fs::write(&files[2].1, about).expect("environment");
                    let manifest = Manifest {
                        schema: 1,
                        coretwin: "0".to_owned(),
                        fleet: digest.to_owned(),
                        task: number,
                        machine: format!("{number:016x}").into(),
                        name: format!("node-{number:05}"),
                        holds: BundleHolds::Study,
                        state: MemberState::Complete,
                        files: BTreeMap::new(),
                    };
                    fleet_bundle::write(pool, manifest, &files).expect("a bundle");
                }
            });
        }
    });
}

/// What a call of the program cost.
struct Cost {
    seconds: f64,
    peak_mib: f64,
}

/// Runs the program, and watches its memory.
fn watched(folder: &Path, args: &[&str]) -> Cost {
    let began = Instant::now();
    let mut child = Command::new(CORETWIN)
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let path = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0.0f64;
    while child.try_wait().expect("wait").is_none() {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = began.elapsed().as_secs_f64();
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Cost { seconds, peak_mib: peak_kib / 1024.0 }
}

/// The figures are those that the bundles were drawn from.
fn check(summary: &FleetSummary, machines: u32) {
    assert_eq!((summary.machines, summary.studies), (machines, machines));
    assert!(summary.refused.is_empty() && summary.partial.is_empty());
    let by_model = summary.effects.iter().filter(|effect| effect.cpu_model.is_some());
    let mut looked_at = 0;
    for effect in by_model {
        let model = effect.cpu_model.as_deref().unwrap_or_default();
        let model = MODELS.iter().position(|known| *known == model).expect("a model");
        let row = (0..ROWS).find(|row| row_name(*row).0 == *effect.row).expect("a row");
        let error = BETWEEN / f64::from(effect.machines).sqrt();
        let miss = (effect.effect.ln() - truth(model, row)).abs();
        assert!(miss < 6.0 * error, "{} {}: {miss} {error}", MODELS[model], effect.row);
        let between = effect.between.expect("several machines");
        // A deviation from so many machines is known to about one part in √2(n − 1).
        let known = 6.0 / (2.0 * f64::from(effect.machines - 1)).sqrt();
        assert!((between / BETWEEN - 1.0).abs() < known, "{between}");
        looked_at += 1;
    }
    assert_eq!(looked_at, MODELS.len() * ROWS);
}

#[test]
fn many_machines_are_merged_and_reported_in_proportion() {
    let given = std::env::var("CORETWIN_BUNDLES").ok();
    let given: Option<u32> = given.and_then(|text| text.parse().ok());
    let count = given.unwrap_or(1_000);
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let tasks = format!("--tasks={count}");
    let plan = ["fleet", "plan", "f", "--engine=slurm", &tasks, "--seed=1", "--", "study", "chat"];
    assert_eq!(common::coretwin(folder, &plan).status, 0);
    let (fleet, plan) = FleetFolder::open(&folder.join("f")).expect("a fleet");
    let pool = folder.join("pool");
    let began = Instant::now();
    draw(&plan.digest, folder, &pool, count);
    let mut drawn: Vec<PathBuf> =
        fs::read_dir(&pool).expect("pool").map(|entry| entry.expect("entry").path()).collect();
    drawn.sort();
    let bytes: u64 = drawn.iter().map(|path| fs::metadata(path).expect("bundle").len()).sum();
    println!(
        "\n{count} bundles of {ROWS} rows and {BLOCKS} blocks: {} MiB, drawn in {:.0} s",
        bytes >> 20,
        began.elapsed().as_secs_f64()
    );
    println!("bundles  merge s  peak MiB  report s  peak MiB");
    let steps = if given.is_some() { 4 } else { 1 };
    let mut linked = 0;
    for step in (0..steps).rev() {
        let size = count >> step;
        for path in &drawn[linked..size as usize] {
            let to = fleet.path(BUNDLES).join(path.file_name().expect("name"));
            fs::hard_link(path, to).expect("link");
        }
        linked = size as usize;
        let merge = watched(folder, &["fleet", "merge", "f"]);
        let out = ["fleet", "report", "f", "--format=json", "--out=fleet.json"];
        let report = watched(folder, &out);
        println!(
            "{size:>7}  {:>7.1}  {:>8.0}  {:>8.1}  {:>8.0}",
            merge.seconds, merge.peak_mib, report.seconds, report.peak_mib
        );
        // A gibibyte for ten thousand.
        let bound_mib = 64.0 + 0.096 * f64::from(size);
        assert!(merge.peak_mib.max(report.peak_mib) <= bound_mib, "more than {bound_mib} MiB");
        let text = fs::read_to_string(folder.join("fleet.json")).expect("report");
        check(&serde_json::from_str(&text).expect("JSON"), size);
    }
    println!("did: {count} bundles merged");
}
