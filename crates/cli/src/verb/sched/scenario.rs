//! `coretwin sched scenario`: a scenario of the simulated kernel, run for real.

use super::doctor;
use crate::exit::{CELLS_FAILED, DONE, usage};
use crate::verb::simulate::sched::scenario_of;
use crate::{host, out};
use anyhow::{Result, anyhow};
use coretwin_base::schema::SCHEMA;
use coretwin_bpf::scheduler::{Decision, Scheduler, Statistics, Trial, Wish};
use coretwin_host::root::Root;
use coretwin_lab::live_scenario::{self, LiveRun};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub(super) struct How {
    /// The scenario, one of `coretwin simulate sched --list` or a file for it
    name: String,
    /// Leave the kernel's own scheduler in charge, and count operations only
    #[arg(long)]
    kernel: bool,
    /// Of the random amounts in it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
    /// Take decisions of the scheduler again, as the simulated policy does
    #[arg(long, hide = true)]
    trial_decisions: bool,
}

/// A scenario on the running kernel. Times and numbers are those after its warm-up.
#[derive(Serialize)]
struct Record {
    schema: u32,
    scenario: String,
    scheduler: &'static str,
    /// What differs from the defaults, as `name=value`.
    set: Vec<String>,
    seed: u64,
    #[serde(flatten)]
    run: LiveRun,
    /// What the scheduler counted of the scenario's own tasks; `None` with `--kernel`.
    statistics: Option<Statistics>,
    /// Of decisions taken again by the simulated policy, in tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Replay>,
    /// Why the kernel ejected the scheduler; `None` if it did not.
    ejected: Option<String>,
}

#[derive(Serialize, Default)]
struct Replay {
    /// How many were taken again, by kind.
    told: BTreeMap<char, u64>,
    /// Those that came out otherwise, with what they were taken from.
    different: Vec<String>,
}

impl Replay {
    fn of(decisions: &[Decision]) -> Self {
        let mut replay = Self::default();
        for decision in decisions {
            *replay.told.entry(decision.kind).or_default() += 1;
            let again = decision.again();
            if again != Some(decision.was) {
                replay.different.push(format!("{decision:?}, again {again:?}"));
            }
        }
        replay
    }
}

pub(super) fn run(wish: &Wish, how: &How) -> Result<u8> {
    let scenario = scenario_of(&how.name, None)?;
    let layout = scenario.layout().map_err(usage)?;
    let (name, tells) = (wish.options.policy().name, how.trial_decisions);
    let trial = Trial { watch: Some(std::process::id()), tells, ..wish.trial.clone() };
    let wish = &Wish { trial, ..wish.clone() };
    if !how.kernel
        && let Some(why) = doctor::refusal(&Root::system())
    {
        return Err(anyhow!("{name} is not loaded: {why}"));
    }
    let scheduler = match how.kernel {
        true => None,
        false => Some(Scheduler::load(wish)?),
    };
    let count = || scheduler.as_ref().and_then(|scheduler| scheduler.statistics().ok());
    let mut before = None;
    let run = live_scenario::run(&scenario, &layout, how.seed, || before = count())?;
    let statistics = before.zip(count()).map(|(before, after)| after.since(&before));
    let decisions = scheduler.as_ref().filter(|_| tells).map(Scheduler::decisions).transpose()?;
    let end = scheduler.map(Scheduler::stop).transpose()?.map(|(_, end)| end);
    let record = Record {
        schema: SCHEMA,
        scenario: scenario.name,
        scheduler: if how.kernel { "kernel" } else { name },
        set: wish.options.changed(),
        seed: how.seed,
        run,
        statistics,
        decisions: decisions.as_deref().map(Replay::of),
        ejected: end.filter(|end| !end.is_wished()).map(|end| end.explain()),
    };
    match how.json {
        true => out::facts(host::topology(&Root::system())?.origin(), &record)?,
        false => out::text(&describe(&record))?,
    }
    Ok(if record.ejected.is_some() { CELLS_FAILED } else { DONE })
}

fn describe(record: &Record) -> String {
    let mut text = format!("{} under {}\n", record.scenario, record.scheduler);
    let mut put = |name: &str, value: String| text += &format!("  {name:<20} {value}\n");
    for (operation, count) in &record.run.operations {
        put(operation, count.to_string());
    }
    if let Some(fairness) = record.run.fairness {
        put("fairness", format!("{fairness:.2}"));
    }
    let counters = record.statistics.iter().flat_map(Statistics::counters);
    for (counter, value) in counters.filter(|(_, value)| *value > 0) {
        put(counter.name, value.to_string());
    }
    if let Some(why) = &record.ejected {
        put("ejected", why.clone());
    }
    text
}
