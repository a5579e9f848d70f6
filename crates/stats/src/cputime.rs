//! What came of the note's experiment: slowdowns, throughput of both sides, and the two factors of
//! CPU accounting, each as log ratios within a block, with Student t intervals over blocks.
//!
//! System throughput and average normalised turnaround time are those of Eyerman & Eeckhout,
//! *System-Level Performance Metrics for Multiprogram Workloads*, IEEE Micro 28 (2008): with
//! `p_i` the progress of task i over its progress alone, STP = Σ p_i and ANTT = mean of 1/p_i. Both
//! sides are measured; nothing is inferred from the slowdown of one.

mod pairs;
mod rulers;

use crate::confidence::CONFIDENCE;
use crate::paired::Paired;
use crate::study::{Analysed, too_busy};
use coretwin_base::account::cputime::result::{
    ConditionResult, CputimeSummary, Estimate, Factors, SpinnerAlone,
};
use coretwin_base::account::cputime::{
    Condition, Experiment, Pair, Place, Relation, SpinnerKind, metric,
};
use coretwin_base::machine::topology::{Topology, Trust};
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::study::summary::StoppedBecause;
use coretwin_base::warning::Warning;
use std::collections::{BTreeMap, BTreeSet};

/// Share of attempts that may be set aside before it is a warning.
const SET_ASIDE_MAX: f64 = 0.1;

type Block<'a> = BTreeMap<&'a str, &'a Reading>;

/// Analyses the readings of a plan of `cputime`; `None` for another plan.
pub fn summarise(
    plan: &Plan,
    readings: &[Reading],
    stopped_because: StoppedBecause,
) -> Option<CputimeSummary> {
    let experiment = plan.cputime.as_deref()?;
    let blocks = blocks(plan, readings);
    let view = View { experiment, blocks: &blocks };
    let results = |condition| view.result(condition, readings);
    let conditions: Vec<ConditionResult> =
        experiment.conditions.iter().filter(|condition| condition.has_work).map(results).collect();
    let set_aside = attempts_set_aside(readings);
    let pairs = pairs::pairs(plan, experiment, &blocks, &conditions);
    let rulers = rulers::rulers(&view, pairs.as_ref());
    Some(CputimeSummary {
        schema: SCHEMA,
        origin: plan.origin(),
        work: experiment.work.clone(),
        spinner: spinner_words(experiment),
        cpus: experiment.pair.clone(),
        control: experiment.control,
        topology_trust: plan.topology.trust,
        meaning: meaning(experiment, &plan.topology),
        factors: factors(&experiment.pair, &conditions)
            .filter(|_| pairs.is_none() && rulers.is_none()),
        conditions,
        spinners_alone: view.spinners_alone(),
        blocks: blocks.len() as u32,
        blocks_set_aside: set_aside,
        seed: plan.seed,
        stopped_because,
        too_busy: too_busy(plan, readings),
        warnings: warnings(plan, blocks.len() as u32, set_aside),
        pairs,
        rulers,
    })
}

fn blocks<'a>(plan: &Plan, readings: &'a [Reading]) -> Vec<Block<'a>> {
    let analysed = Analysed::new(plan, readings);
    let mut blocks: BTreeMap<u32, Block<'a>> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| analysed.includes(reading)) {
        blocks.entry(reading.block).or_default().insert(&reading.row, reading);
    }
    blocks.into_values().collect()
}

fn attempts_set_aside(readings: &[Reading]) -> u32 {
    let set_aside = readings
        .iter()
        .filter(|reading| reading.phase == Phase::Study && reading.status == Status::SetAside);
    set_aside.map(|reading| (reading.block, reading.attempt)).collect::<BTreeSet<_>>().len() as u32
}

struct View<'a> {
    experiment: &'a Experiment,
    blocks: &'a [Block<'a>],
}

/// What one block says about one condition: ratios to the same block's runs alone.
struct Ratios {
    real: f64,
    cpu: Option<f64>,
    spinners: Vec<f64>,
}

impl View<'_> {
    fn result(&self, condition: &Condition, all: &[Reading]) -> ConditionResult {
        let here: Vec<&Reading> =
            self.blocks.iter().filter_map(|block| block.get(&*condition.name).copied()).collect();
        let ratios: Vec<Ratios> =
            self.blocks.iter().filter_map(|block| self.ratios(condition, block)).collect();
        let alone = condition.spinners == 0;
        let real = estimate(ratios.iter().map(|ratios| Some(ratios.real))).filter(|_| !alone);
        let spinners = condition.spinners as usize;
        let complete = |ratios: &&Ratios| spinners > 0 && ratios.spinners.len() == spinners;
        let both: Vec<&Ratios> = ratios.iter().filter(complete).collect();
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        let progress = |ratios: &Ratios| {
            1.0 / ratios.real + ratios.spinners.iter().map(|ratio| 1.0 / ratio).sum::<f64>()
        };
        let turnaround =
            |ratios: &Ratios| (ratios.real + sum(&ratios.spinners)) / (spinners + 1) as f64;
        let failed: Vec<&Reading> =
            all.iter().filter(|r| r.row == *condition.name && r.status == Status::Failed).collect();
        ConditionResult {
            name: condition.name.clone(),
            placement: condition.place,
            spinners: condition.spinners,
            work_cpus: condition.work_cpus.clone(),
            spinner_cpus: condition.spinner_cpus.clone(),
            real_s: geometric(here.iter().filter_map(|reading| reading.value)),
            user_s: mean(here.iter().filter_map(|reading| number(reading, metric::WORK_USER))),
            system_s: mean(here.iter().filter_map(|reading| number(reading, metric::WORK_SYSTEM))),
            slowdown: if alone { Some(1.0) } else { real.map(|real| real.value) },
            low: real.and_then(|real| real.low),
            high: real.and_then(|real| real.high),
            cpu_slowdown: estimate(ratios.iter().map(|ratios| ratios.cpu)).filter(|_| !alone),
            spinner_slowdown: estimate(
                both.iter().map(|ratios| Some(sum(&ratios.spinners) / spinners as f64)),
            ),
            stp: estimate(both.iter().map(|ratios| Some(progress(ratios)))),
            antt: estimate(both.iter().map(|ratios| Some(turnaround(ratios)))),
            blocks: ratios.len() as u32,
            failed: failed.len() as u32,
            failure: failed.last().and_then(|reading| reading.cause.as_deref().map(str::to_owned)),
        }
    }

    fn ratios(&self, condition: &Condition, block: &Block<'_>) -> Option<Ratios> {
        let here = block.get(&*condition.name)?;
        let alone = alone(self.experiment, condition, block)?;
        let base = self.rate_alone(condition, block);
        let spinners = (0..condition.spinners).filter_map(|spinner| {
            let rate = rate(here, spinner)?;
            Some(base? / rate)
        });
        Some(Ratios {
            real: slowdown(self.experiment, condition, block)?,
            cpu: cpu_s(here).zip(cpu_s(alone)).map(|(here, alone)| here / alone),
            spinners: spinners.collect(),
        })
    }

    /// Progress of the same spinner in the same block, without the work and on the same CPUs.
    fn rate_alone(&self, of: &Condition, block: &Block<'_>) -> Option<f64> {
        let is_it = |it: &&Condition| {
            is_spinner(it) && it.spinner_cpus == of.spinner_cpus && it.ruler == of.ruler
        };
        let condition = self.experiment.conditions.iter().find(is_it)?;
        rate(block.get(&*condition.name)?, 0)
    }

    fn spinners_alone(&self) -> Vec<SpinnerAlone> {
        let alone = self.experiment.conditions.iter().filter(|it| is_spinner(it));
        let alone = alone.filter(|condition| condition.ruler.is_none());
        alone
            .map(|condition| {
                let readings =
                    || self.blocks.iter().filter_map(|block| block.get(&*condition.name));
                SpinnerAlone {
                    cpus: condition.spinner_cpus.clone(),
                    rate: geometric(readings().filter_map(|reading| rate(reading, 0))),
                    unit: readings().next().map_or_else(String::new, |r| r.unit.to_string()),
                }
            })
            .collect()
    }
}

/// One spinner, and no work.
fn is_spinner(condition: &Condition) -> bool {
    !condition.has_work && condition.spinners == 1
}

/// The same work alone, in the same block.
fn alone<'a>(experiment: &Experiment, of: &Condition, block: &Block<'a>) -> Option<&'a Reading> {
    let is_alone = |it: &&Condition| it.has_work && it.spinners == 0 && it.work == of.work;
    let condition = experiment.conditions.iter().find(is_alone)?;
    block.get(&*condition.name).copied()
}

/// Time of a condition's work over its time alone, in the same block.
fn slowdown(experiment: &Experiment, condition: &Condition, block: &Block<'_>) -> Option<f64> {
    Some(block.get(&*condition.name)?.value? / alone(experiment, condition, block)?.value?)
}

fn number(reading: &Reading, name: &str) -> Option<f64> {
    reading.metrics.get(name).map(|metric| metric.value)
}

fn cpu_s(reading: &Reading) -> Option<f64> {
    let sum = number(reading, metric::WORK_USER)? + number(reading, metric::WORK_SYSTEM)?;
    (sum > 0.0).then_some(sum)
}

/// What a spinner counted per second; `None` if it counted nothing.
fn rate(reading: &Reading, spinner: u32) -> Option<f64> {
    number(reading, &metric::spinner_rate(spinner)).filter(|rate| *rate > 0.0)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn geometric(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(values.filter(|value| *value > 0.0).map(libm::log)).map(libm::exp)
}

/// Mean of logs with its interval; `None` if a block has no such number.
fn estimate(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    let logs: Option<Vec<f64>> =
        values.map(|value| value.filter(|value| *value > 0.0).map(libm::log)).collect();
    let paired = Paired::new(&logs?)?;
    let interval = paired.interval(CONFIDENCE, 1.0);
    Some(Estimate {
        value: libm::exp(paired.mean),
        low: interval.map(|(low, _)| libm::exp(low)),
        high: interval.map(|(_, high)| libm::exp(high)),
    })
}

/// Slowdown and yield, from one spinner on the sibling; `None` where nothing shares a core.
fn factors(pair: &Pair, conditions: &[ConditionResult]) -> Option<Factors> {
    if !pair.relation.is_smt() {
        return None;
    }
    let beside_one = |condition: &&ConditionResult| {
        condition.placement == Place::Siblings && condition.spinners == 1
    };
    let condition = conditions.iter().find(beside_one)?;
    Some(Factors {
        slowdown: condition.cpu_slowdown?,
        neighbour_slowdown: condition.spinner_slowdown,
        core_yield: condition.stp,
    })
}

fn spinner_words(experiment: &Experiment) -> String {
    let spinner = &experiment.spinner;
    let rulers = "a ruler for each shared resource";
    match (experiment.commands.is_empty(), experiment.has_rulers()) {
        (true, true) => return rulers.to_owned(),
        (false, true) => return format!("each other command, and {rulers}"),
        (false, false) => return "each other command".to_owned(),
        (true, false) => {}
    }
    match (spinner.kind, spinner.argv.first()) {
        (SpinnerKind::Interpreted, Some(program)) => format!("interpreted, by {program}"),
        (SpinnerKind::Command, _) => spinner.argv.join(" "),
        (kind, _) => kind.name().to_owned(),
    }
}

fn meaning(experiment: &Experiment, topology: &Topology) -> Vec<String> {
    let Pair { work, neighbour, relation } = &experiment.pair;
    let (work, neighbour) = (work.0, neighbour.0);
    let doubt = match topology.trust {
        Trust::Reported => String::new(),
        Trust::Probed => " and contention agrees".to_owned(),
        Trust::Unknown => format!(", but that is not certain: {}", topology.trust_why),
    };
    let mut meaning = vec![match relation {
        Relation::Siblings => format!(
            "CPUs {work} and {neighbour} are siblings of one core, the kernel says{doubt}. What the \
             work takes beside a spinner there is what SMT does to a CPU second."
        ),
        Relation::Probed => format!(
            "The kernel shows no siblings; by contention, CPUs {work} and {neighbour} shared a core \
             when `coretwin probe` ran. If they still do, this is what SMT does to a CPU second."
        ),
        Relation::Named => format!(
            "You named CPUs {work} and {neighbour}; the kernel does not call them siblings. A \
             slowdown there can be a shared core, a shared cache, clock or power limits, or a \
             hypervisor, and is not called SMT here."
        ),
        Relation::Separate => format!(
            "No siblings are visible here ({}), so CPUs {work} and {neighbour} are taken for two \
             separate cores, and nothing below is a statement about SMT: `same-cpu` is what a \
             machine without SMT does with two tasks on one CPU, `cores` is the control.",
            topology.trust_why
        ),
    }];
    if experiment.has_rulers() {
        let turns = "Rulers run on the same CPU and take turns with the work. What it fights for within a \
                     core cannot be measured here.";
        meaning.extend((*relation == Relation::Separate).then(|| turns.to_owned()));
    }
    if !experiment.commands.is_empty() {
        meaning.push(match relation.is_smt() || *relation == Relation::Named {
            true => "Each command is measured while each other one runs on the neighbour's CPU, again and \
                     again until the first has ended."
                .to_owned(),
            false => format!(
                "Each command is measured while each other one runs on the same CPU {work}, again and \
                 again: they take turns, which is not what siblings do. Who should share a core \
                 cannot be measured here."
            ),
        });
    } else if experiment.control.is_none() && !experiment.has_rulers() {
        meaning.push(
            "There is no usable CPU on another core behind the same last-level cache, so there is no \
             control: a slowdown may in part be clock and shared caches."
                .to_owned(),
        );
    }
    if topology.is_emulated() {
        meaning.push(
            "This machine is emulated in software (QEMU TCG): its CPUs share no core resources, \
             and slowdowns mean nothing here. Only that the experiment runs is shown."
                .to_owned(),
        );
    }
    if experiment.spinner.kind == SpinnerKind::Command && experiment.commands.is_empty() {
        meaning.push(
            "Your spinner's progress is counted by the lines it prints. If it prints none, only \
             its CPU time is known, which is no progress: then there is no STP, ANTT and yield."
                .to_owned(),
        );
    }
    meaning
}

fn warnings(plan: &Plan, blocks: u32, set_aside: u32) -> Vec<Warning> {
    let mut warnings = plan.warnings.clone();
    let attempts = blocks + set_aside;
    if f64::from(set_aside) > SET_ASIDE_MAX * f64::from(attempts) {
        warnings.push(Warning::new(
            "set-aside",
            format!("{set_aside} of {attempts} attempts at a block were disturbed from outside"),
            "run it again on a quieter machine; --others-limit and --steal-limit say what is \
             accepted",
        ));
    }
    if blocks < 2 {
        warnings.push(Warning::new(
            "few-blocks",
            format!("{blocks} blocks give no intervals"),
            "measure more of them: --blocks 8, or a longer --budget",
        ));
    }
    warnings
}
