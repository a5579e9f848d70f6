//! A sweep as tables: for each scenario and measure a row a policy and a column a machine.

use crate::csv::field;
use crate::number;
use crate::words::{clean, columns};
use coretwin_base::simulation::sweep::{SweepCell, SweepMeasure, SweepPlan};
use std::fmt::Write;

/// A sweep for a terminal: of the reference policy what was measured; of the others how far they are
/// from it, each with the least and the most of all seeds.
pub fn sched_sweep_text(plan: &SweepPlan, cells: &[SweepCell]) -> String {
    let mut out = format!(
        "{}: {}\n{}; {}\n",
        clean(&plan.name),
        clean(&plan.title),
        number::count(cells.len() as u64, "run"),
        number::count(plan.seeds.into(), "seed"),
    );
    let missing = plan.cells().saturating_sub(cells.len() as u64);
    if missing > 0 {
        let _ = writeln!(
            out,
            "{} of {} are missing: what follows is of those that are there, – where there is none",
            number::whole(missing),
            number::count(plan.cells(), "run"),
        );
    }
    for scenario in &plan.scenarios {
        for measure in &plan.measures {
            let _ = writeln!(
                out,
                "\n{}: {} ({})",
                clean(scenario),
                clean(&measure.about),
                clean(&measure.key)
            );
            out.push_str(&table(plan, cells, scenario, measure));
        }
    }
    let _ = writeln!(
        out,
        "\n{}: the mean over seeds, in brackets the least and the most. Others: minus {} of the same \
         seed,\nin the same unit; the mean difference over seeds, in brackets the least and the most.",
        clean(&plan.reference),
        clean(&plan.reference),
    );
    let failed: Vec<&SweepCell> = cells.iter().filter(|cell| cell.failed.is_some()).collect();
    if let Some(cell) = failed.first() {
        let why = cell.failed.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "{} failed; first: {}",
            number::count(failed.len() as u64, "run"),
            clean(why)
        );
    }
    out
}

fn table(plan: &SweepPlan, cells: &[SweepCell], scenario: &str, measure: &SweepMeasure) -> String {
    let mut head = vec!["policy".to_owned()];
    head.extend(plan.topologies.iter().map(|topology| clean(topology)));
    let mut rows = vec![head];
    for policy in &plan.policies {
        let mut row = vec![clean(policy)];
        for topology in &plan.topologies {
            let of = |policy: &str| values(cells, [policy, topology, scenario], &measure.key);
            let own = of(policy);
            row.push(match policy == &plan.reference {
                true => spread(own.into_iter().map(|(_, value)| value).collect(), number::value),
                false => spread(differences(&own, &of(&plan.reference)), number::difference),
            });
        }
        rows.push(row);
    }
    columns(&rows, usize::MAX)
}

pub(super) fn values(
    cells: &[SweepCell],
    [policy, topology, scenario]: [&str; 3],
    key: &str,
) -> Vec<(u64, f64)> {
    let own = cells.iter().filter(|cell| {
        (cell.policy.as_str(), cell.topology.as_str(), cell.scenario.as_str())
            == (policy, topology, scenario)
    });
    own.filter_map(|cell| Some((cell.seed, *cell.measures.get(key)?))).collect()
}

/// Of each seed that both have, the first minus the second.
pub(super) fn differences(own: &[(u64, f64)], reference: &[(u64, f64)]) -> Vec<f64> {
    let of = |seed: u64| reference.iter().find(|(other, _)| *other == seed).map(|(_, value)| value);
    own.iter().filter_map(|(seed, value)| Some(value - of(*seed)?)).collect()
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn spread(values: Vec<f64>, write: fn(f64) -> String) -> String {
    let (Some((low, high)), Some(mean)) = (number::ends(values.iter().copied()), mean(&values))
    else {
        return number::NONE.to_owned();
    };
    let [mean, least, most] = [mean, low, high].map(|value| short(value, write));
    if low == high { mean } else { format!("{mean} ({least} to {most})") }
}

/// Three decimals are enough beside others.
fn short(value: f64, write: fn(f64) -> String) -> String {
    write((value * 1e3).round() / 1e3)
}

/// Every cell with all its measures, one line each.
pub fn sched_sweep_csv(cells: &[SweepCell]) -> String {
    let mut keys: Vec<&str> =
        cells.iter().flat_map(|cell| cell.measures.keys()).map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut out =
        format!("policy,topology,scenario,seed,{},trace_hash,failed,origin\n", keys.join(","));
    for cell in cells {
        for name in [&cell.policy, &cell.topology, &cell.scenario] {
            field(&mut out, name);
            out.push(',');
        }
        let _ = write!(out, "{}", cell.seed);
        for key in &keys {
            out.push(',');
            if let Some(value) = cell.measures.get(*key) {
                let _ = write!(out, "{value}");
            }
        }
        let _ = write!(out, ",{},", cell.trace_hash);
        field(&mut out, cell.failed.as_deref().unwrap_or_default());
        let _ = writeln!(out, ",{}", cell.origin);
    }
    out
}
