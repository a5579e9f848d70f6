//! The curve: what each arm does at each rate, with intervals by block.

use super::{latency_s, saturation};
use crate::confidence;
use crate::paired::Paired;
use crate::study::blocks::{Blocks, Cell};
use crate::study::rows::widening;
use crate::study::suites::is_present;
use coretwin_base::account::Span;
use coretwin_base::study::latency::{CapacityUse, Latency, QUANTILES};
use coretwin_base::study::load::{CurvePoint, Estimated, LoadCurve, Rate};
use coretwin_base::study::plan::{Plan, Rule};
use coretwin_base::study::reading::Reading;
use std::collections::BTreeMap;

/// The curve of a study; `None` for a plan without one.
pub fn curve(plan: &Plan, readings: &[Reading]) -> Option<LoadCurve> {
    plan.load.as_ref()?;
    let read = Read::new(plan, readings);
    let mut points: Vec<CurvePoint> = Vec::new();
    for arm in 0..plan.arms.len() {
        points.extend((0..plan.rows.len()).filter_map(|row| read.point(arm, row)));
    }
    let mut most = saturation(plan, readings);
    for point in &points {
        // What an arm carried on its curve it can carry, whatever the screening said.
        let (Some(carried), Some(known)) = (point.throughput, most.get_mut(&point.arm)) else {
            continue;
        };
        *known = known.max(carried.value);
    }
    for point in &mut points {
        let whole = most.get(&point.arm).copied();
        point.capacity_used = point.throughput.zip(whole).map(|(carried, whole)| Estimated {
            value: carried.value / whole,
            low: carried.low.map(|low| low / whole),
            high: carried.high.map(|high| high / whole),
        });
    }
    Some(LoadCurve { saturation: most, points })
}

struct Read<'a> {
    plan: &'a Plan,
    latency: Vec<(&'static str, Blocks)>,
    offered: Blocks,
    throughput: Blocks,
    cpu_s: Blocks,
    utilisation: Blocks,
    /// Value, least and most.
    capacity_s: [Blocks; 3],
    cores_used: [Blocks; 3],
}

impl<'a> Read<'a> {
    fn new(plan: &'a Plan, readings: &[Reading]) -> Self {
        let cpus: BTreeMap<&str, f64> =
            plan.arms.iter().map(|arm| (arm.label.as_str(), arm.cpus.len() as f64)).collect();
        let of = |value: &dyn Fn(&Reading, &Latency) -> Option<f64>| {
            Blocks::of(plan, readings, |reading| value(reading, reading.latency.as_deref()?))
        };
        let percentile = |name: &'static str| {
            (name, Blocks::of(plan, readings, |reading| latency_s(reading, name)))
        };
        Self {
            plan,
            latency: QUANTILES.map(|(name, _)| percentile(name)).into(),
            offered: of(&|_, latency| latency.offered_per_s),
            throughput: of(&|_, latency| Some(latency.throughput_per_s)),
            cpu_s: of(&|reading, latency| Some(cpu_s(reading, latency))),
            utilisation: of(&|reading, latency| {
                Some(busy_cpus(reading, latency) / cpus.get(&*reading.arm)?)
            }),
            capacity_s: ENDS.map(|end| {
                of(&|reading, latency| {
                    let per_cpu_s = end(&latency.capacity.as_ref()?.per_cpu_s);
                    Some(cpu_s(reading, latency) * per_cpu_s)
                })
            }),
            cores_used: ENDS.map(|end| {
                of(&|reading, latency| {
                    let CapacityUse { cores, per_cpu_s } = latency.capacity.as_ref()?;
                    Some(busy_cpus(reading, latency) * end(per_cpu_s) / f64::from(*cores))
                })
            }),
        }
    }

    fn point(&self, arm: usize, row: usize) -> Option<CurvePoint> {
        let offered = self.mean(&self.offered, arm, row)?.value;
        let rule = &self.plan.rows[row];
        let present = |blocks: &Blocks| blocks.analysed.len() as u32;
        let base = self.plan.base_index(arm);
        let at = self.plan.slo().map_or("p99", |slo| slo.percentile());
        let compared = self.latency.iter().find(|(name, _)| *name == at);
        let faster = compared.filter(|_| base != arm).and_then(|(_, blocks)| {
            let logs = logs(blocks, base, row).into_iter().zip(logs(blocks, arm, row));
            self.estimated(&logs.map(|(base, arm)| Some(base? - arm?)).collect::<Vec<_>>())
        });
        let known = |(name, blocks): &(&'static str, Blocks)| {
            Some(((*name).to_owned(), self.mean(blocks, arm, row)?))
        };
        Some(CurvePoint {
            arm: self.plan.arms[arm].label.clone(),
            row: rule.id.clone(),
            share: match rule.rate() {
                Some(Rate::Share(share)) => Some(share),
                _ => None,
            },
            rate: offered,
            blocks: present(&self.offered),
            throughput: self.mean(&self.throughput, arm, row),
            latency: self.latency.iter().filter_map(known).collect(),
            faster,
            cpu_s: self.mean(&self.cpu_s, arm, row),
            utilisation: self.mean(&self.utilisation, arm, row),
            capacity_used: None,
            capacity_s: self.span(&self.capacity_s, arm, row),
            cores_used: self.span(&self.cores_used, arm, row),
        })
    }

    fn mean(&self, blocks: &Blocks, arm: usize, row: usize) -> Option<Estimated> {
        self.estimated(&logs(blocks, arm, row))
    }

    fn span(&self, blocks: &[Blocks; 3], arm: usize, row: usize) -> Option<Span> {
        let mean = |blocks| self.mean(blocks, arm, row).map(|mean| mean.value);
        let [value, low, high] = blocks;
        Some(Span { value: mean(value)?, low: mean(low)?, high: mean(high)? })
    }

    /// Geometric mean over the blocks that have a value, if half of them do.
    fn estimated(&self, logs: &[Option<f64>]) -> Option<Estimated> {
        if !is_present(logs) {
            return None;
        }
        let present: Vec<f64> = logs.iter().flatten().copied().collect();
        let counted = if self.plan.rules.until == Rule::Width { logs.len() } else { present.len() };
        let paired = Paired::new(&present)?;
        let ends = paired.interval(confidence::CONFIDENCE, widening(self.plan, counted));
        let number = |log: f64| libm::exp(log.clamp(-700.0, 700.0));
        Some(Estimated {
            value: number(paired.mean),
            low: ends.map(|ends| number(ends.0)),
            high: ends.map(|ends| number(ends.1)),
        })
    }
}

const ENDS: [fn(&Span) -> f64; 3] = [|span| span.value, |span| span.low, |span| span.high];

/// CPU time of the server for each request; of all that was run where it is not known apart.
fn cpu_s(reading: &Reading, latency: &Latency) -> f64 {
    let cpu_s = latency.server_cpu_s.unwrap_or(reading.user_s + reading.system_s);
    cpu_s / latency.completed.max(1) as f64
}

/// How many CPUs the server kept busy.
fn busy_cpus(reading: &Reading, latency: &Latency) -> f64 {
    let whole = || (reading.user_s + reading.system_s) / reading.elapsed_s;
    latency.server_cpu_s.map_or_else(whole, |cpu_s| cpu_s / latency.duration_s)
}

/// Logarithms by analysed block.
fn logs(blocks: &Blocks, arm: usize, row: usize) -> Vec<Option<f64>> {
    let log = |attempt| match blocks.cell(attempt, arm, row) {
        Cell::Value(log) => Some(log),
        _ => None,
    };
    blocks.analysed.iter().map(log).collect()
}
