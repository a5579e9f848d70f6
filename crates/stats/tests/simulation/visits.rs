//! Do intervals cover where every switch of SMT leaves the machine in a state of its own, and what
//! would counting runs instead of switches do?

use crate::fixture;
use crate::noise::{Normal, percent};
use crate::quoted;
use coretwin_base::study::plan::{Plan, Protocol};
use coretwin_base::study::reading::Reading;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_stats::paired::Paired;
use coretwin_stats::study::analyse;

const TRIALS: u64 = 2000;
/// Runs of a row within one visit.
const REPEATS: u32 = 5;
/// Standard deviation of a run's log within a visit.
const RUN: f64 = 0.01;

/// Logs of the runs of a study of equal arms, by block, arm and run: each visit shifts all of its
/// runs by a normal amount of that standard deviation.
fn logs(trial: u64, blocks: u32, switch: f64) -> Vec<[Vec<f64>; 2]> {
    let mut normal = Normal::new("visits", trial);
    let mut visit = || {
        let state = switch * normal.draw();
        (0..REPEATS).map(|_| state + RUN * normal.draw()).collect()
    };
    (0..blocks).map(|_| [visit(), visit()]).collect()
}

fn plan(blocks: u32) -> Plan {
    let mut plan = fixture::plan(&[fixture::row("job", "command")]);
    plan.rules.protocol = Protocol::Fixed;
    plan.rules.looks = vec![blocks];
    plan.rules.repeats = REPEATS;
    plan
}

/// The same as a journal, the arms taking turns in coming first.
fn readings(plan: &Plan, logs: &[[Vec<f64>; 2]]) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for (block, arms) in (0u32..).zip(logs) {
        for visit in 0..2u32 {
            let arm = ((block + visit) % 2) as usize;
            for log in &arms[arm] {
                let seq = readings.len() as u64;
                let reading = fixture::reading(plan, seq, block, arm, 0, libm::exp(*log));
                readings.push(Reading { switch: 2 * block + visit, ..reading });
            }
        }
    }
    readings
}

#[test]
fn intervals_cover_by_switch_and_would_not_by_run() {
    println!(
        "equal arms, 5 runs a visit: | spread of a visit | by visit | by run | at 3, 8, 20 blocks"
    );
    let spreads = [(0.0, 98.0, "none"), (0.005, 92.0, "0.5 %"), (0.01, 80.0, "1 %")];
    for (switch, by_run_most, says) in spreads.into_iter().chain([(0.03, 70.0, "3 %")]) {
        let [three, eight, twenty] = [3, 8, 20].map(|blocks| {
            let plan = plan(blocks);
            let (mut by_switch, mut by_run) = (0, 0);
            for trial in 0..TRIALS {
                let logs = logs(trial, blocks, switch);
                let all = readings(&plan, &logs);
                let row = analyse(&plan, &all, StoppedBecause::Blocks).rows.remove(0);
                assert_eq!(row.blocks, blocks, "a visit is one observation");
                let (low, high) = row.low.zip(row.high).expect("interval");
                by_switch += u32::from(low <= 1.0 && 1.0 <= high);
                let pairs: Vec<f64> =
                    logs.iter().flat_map(|[a, b]| a.iter().zip(b).map(|(a, b)| a - b)).collect();
                let (low, high) =
                    Paired::new(&pairs).and_then(|p| p.interval(0.95, 1.0)).expect("interval");
                by_run += u32::from(low <= 0.0 && 0.0 <= high);
            }
            let [by_switch, by_run] = [by_switch, by_run].map(|count| percent(count, TRIALS));
            assert!((93.0..=97.0).contains(&by_switch), "{switch}, {blocks}: {by_switch}");
            assert!(by_run <= by_run_most, "{switch}, {blocks}: {by_run}");
            [by_switch, by_run]
        });
        let line = |of: usize| format!("{:.1}, {:.1}, {:.1} %", three[of], eight[of], twenty[of]);
        quoted(&format!("| {says} | {} | {} |", line(0), line(1)));
    }
}
