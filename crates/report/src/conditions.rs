//! Under which conditions: warnings, arms, what differed between them, the environment, the
//! method, and how to do it again.

use crate::Study;
use crate::document::{Block, Column, Table};
use crate::number;
use crate::words;
use coretwin_base::machine::environment::{self, Facts, Moment};
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::{Plan, Protocol, Rule};
use coretwin_base::study::reading::counter;
use coretwin_base::warning::Warning;
use coretwin_stats::confidence;
use coretwin_stats::study::Counted;
use std::collections::{BTreeMap, BTreeSet};

/// Facts that stand in every report, also where the others are folded away.
const FOREMOST: [&str; 6] =
    ["cpu.model", "cpu.microcode", "kernel.release", "hypervisor", "turbo.boost", "libc"];
const FACTS_MAX: usize = 400;

/// Every warning of plan and summary, once.
pub(crate) fn warnings<'a>(study: &Study<'a>) -> impl Iterator<Item = &'a Warning> {
    let mut seen: BTreeSet<&Warning> = BTreeSet::new();
    let all = study.summary.warnings.iter().chain(&study.plan.warnings);
    all.filter(move |warning| seen.insert(*warning))
}

pub(crate) fn differences(study: &Study<'_>) -> Vec<Block> {
    let arms: Vec<String> =
        (0..study.plan.arms.len()).map(|arm| words::arm_name(study, arm)).collect();
    let facts = facts_by_arm(study);
    let keys: BTreeSet<&str> =
        facts.iter().flat_map(|facts| facts.keys().map(String::as_str)).collect();
    let cell = |facts: &BTreeMap<String, String>, key: &str| {
        facts.get(key).cloned().unwrap_or_else(|| number::NONE.to_owned())
    };
    // An arm that was never reached has no facts; that is no difference.
    let visited: Vec<usize> = (0..facts.len()).filter(|arm| !facts[*arm].is_empty()).collect();
    let differing = keys.into_iter().filter(|key| {
        visited.windows(2).any(|pair| facts[pair[0]].get(*key) != facts[pair[1]].get(*key))
    });
    let rows: Vec<Vec<String>> = differing
        .take(FACTS_MAX)
        .map(|key| {
            let mut cells = vec![key.to_owned()];
            cells.extend(facts.iter().map(|facts| cell(facts, key)));
            cells
        })
        .collect();
    let mut blocks = vec![Block::Table(arms_table(study))];
    if rows.is_empty() {
        let text = if visited.is_empty() {
            "The environment was not recorded."
        } else {
            "No recorded fact of the machine differed between the arms, apart from the CPUs used."
        };
        blocks.push(Block::Text(text.to_owned()));
    } else {
        let mut columns = vec![Column::words("Fact")];
        columns.extend(arms.iter().map(Column::words));
        blocks.push(Block::Table(Table::new("Facts that differed", columns, rows)));
    }
    blocks.extend(frequencies(study, &arms).map(Block::Table));
    blocks.extend(clocks(study, &arms));
    blocks
}

fn arms_table(study: &Study<'_>) -> Table {
    let row = |(index, arm): (usize, &coretwin_base::study::plan::PlanArm)| {
        let reference = if arm.label == study.plan.reference_arm { " (reference)" } else { "" };
        vec![
            format!("{}{reference}", words::arm_name(study, index)),
            words::state(arm),
            arm.cpus.to_string(),
            if arm.cores > 0 { arm.cores.to_string() } else { "unknown".to_owned() },
            arm.threads.to_string(),
            words::clean(&arm.about),
        ]
    };
    let columns = Column::list(["Arm", "State", "CPUs", "#Cores", "#Threads", "What it is"]);
    Table::new("Arms", columns, study.plan.arms.iter().enumerate().map(row).collect())
}

/// The facts of each arm, per-CPU facts folded into one; several values over time are joined.
fn facts_by_arm(study: &Study<'_>) -> Vec<BTreeMap<String, String>> {
    let of_arm = |label: &str| {
        let moments = study.environment.moments.values().filter(|moment| moment.arm == label);
        let sets: BTreeSet<&str> = moments.map(|moment| moment.facts.as_str()).collect();
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for facts in sets.iter().filter_map(|set| study.environment.facts.get(*set)) {
            for (key, value) in folded(facts) {
                let known = values.entry(key).or_default();
                if !known.contains(&value) {
                    known.push(value);
                }
            }
        }
        values.into_iter().map(|(key, values)| (key, values.join(" / "))).collect()
    };
    study.plan.arms.iter().map(|arm| of_arm(&arm.label)).collect()
}

/// The facts without those that differ only by CPU, fit to be shown.
fn folded(facts: &Facts) -> Facts {
    let shown = |(key, value): (String, String)| {
        (words::clean(&key), words::shorten(&words::clean(&value), 300))
    };
    environment::folded(facts).into_iter().map(shown).collect()
}

fn frequencies(study: &Study<'_>, arms: &[String]) -> Option<Table> {
    let row = |(index, name): (usize, &String)| {
        let label = study.plan.arms[index].label.as_str();
        let moments: Vec<&Moment> =
            study.environment.moments.values().filter(|moment| moment.arm == label).collect();
        let mhz = moments.iter().flat_map(|moment| moment.mhz.values().copied());
        let permitted = moments.iter().flat_map(|moment| moment.mhz_permitted.values().copied());
        let load = moments.iter().map(|moment| moment.load_1min);
        let visits = number::whole(moments.len() as u64);
        vec![name.clone(), visits, range(mhz, 0), range(permitted, 0), range(load, 2)]
    };
    let is_measured = study.plan.simulation.is_none() && !study.environment.moments.is_empty();
    let caption = "Frequency and load, smallest to largest seen at the arm changes";
    let columns = Column::list(["Arm", "#Moments", "#MHz", "#MHz permitted", "#Load, 1 min"]);
    is_measured.then(|| Table::new(caption, columns, arms.iter().enumerate().map(row).collect()))
}

/// At what clock each arm ran, where it was counted; else why not.
fn clocks(study: &Study<'_>, arms: &[String]) -> Option<Block> {
    let counted = coretwin_stats::study::counted(study.plan, study.readings);
    if counted.iter().all(|arm| arm.runs == 0) {
        let said = study.environment.facts.values().find_map(|facts| facts.get(counter::FACT))?;
        let why = words::clean(said.strip_prefix(counter::NONE)?);
        return Some(Block::Text(format!("Clock and instructions were not counted: {why}.")));
    }
    let number = |value: Option<f64>, decimals: usize| {
        number::or_none(value.map(|value| format!("{value:.decimals$}")))
    };
    let row = |(name, arm): (&String, &Counted)| {
        vec![
            name.clone(),
            number::whole(arm.runs),
            number(arm.ghz, 2),
            number(arm.of_base, 3),
            number(arm.instructions_per_cycle, 2),
            number(arm.misses_per_thousand, 2),
        ]
    };
    let columns = Column::list([
        "Arm",
        "#Runs",
        "#GHz",
        "#Clock/base clock",
        "#Instructions/cycle",
        "#LLC misses/1000 instructions",
    ]);
    let caption = "Clock and instructions, counted by the processor in each arm's good runs";
    let rows = arms.iter().zip(&counted).map(row).collect();
    Some(Block::Table(Table::new(caption, columns, rows)))
}

fn range(values: impl Iterator<Item = f64>, decimals: usize) -> String {
    let ends = number::ends(values.filter(|value| value.is_finite()));
    number::or_none(ends.map(|(low, high)| {
        let (low, high) = (format!("{low:.decimals$}"), format!("{high:.decimals$}"));
        if low == high { low } else { format!("{low} to {high}") }
    }))
}

/// When and where, and every fact that was the same in all arms.
pub(crate) fn environment(study: &Study<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let sessions: Vec<Vec<String>> = study
        .environment
        .sessions
        .iter()
        .map(|session| {
            [&session.started_utc, &session.host, &session.coretwin, &session.boot_id]
                .map(|text| words::clean(text))
                .into()
        })
        .collect();
    if !sessions.is_empty() {
        let mut columns = Column::list(["Started (UTC)", "Host", "Coretwin"]);
        columns.push(Column::words("Boot").detail());
        blocks.push(Block::Table(Table::new("Sessions", columns, sessions)));
    }
    let facts = facts_by_arm(study);
    let visited: Vec<&BTreeMap<String, String>> =
        facts.iter().filter(|facts| !facts.is_empty()).collect();
    let Some((first, others)) = visited.split_first() else {
        return blocks;
    };
    let same =
        first.iter().filter(|(key, value)| others.iter().all(|f| f.get(*key) == Some(*value)));
    let rows: Vec<Vec<String>> =
        same.map(|(key, value)| vec![key.clone(), value.clone()]).collect();
    let foremost = FOREMOST.iter().filter_map(|key| rows.iter().find(|row| row[0] == *key));
    let foremost: Vec<String> = foremost.map(|row| row.join(": ")).collect();
    if !foremost.is_empty() {
        blocks.push(Block::Text(foremost.join(" · ")));
    }
    let left_out = rows.len().saturating_sub(FACTS_MAX);
    let caption = format!("{} the same in all arms", number::count(rows.len() as u64, "fact"));
    let more = match left_out {
        0 => String::new(),
        left_out => format!("{} more are in environment.json.", number::whole(left_out as u64)),
    };
    let rows = rows.into_iter().take(FACTS_MAX).collect();
    let table = Table::new(caption, Column::list(["Fact", "Value"]), rows).note(more);
    blocks.push(Block::Table(Table { folded: true, ..table }));
    blocks
}

pub(crate) fn method(study: &Study<'_>) -> Vec<String> {
    let rules = &study.plan.rules;
    let seed = study.plan.seed;
    if rules.protocol == Protocol::Article2003 {
        return method_2003(seed);
    }
    let reference = match study.plan.arms.iter().any(|arm| arm.against.is_some()) {
        true => "that of the arm it is compared with".to_owned(),
        false => words::arm_name(study, study.plan.reference_index()),
    };
    let looks: Vec<String> = rules.looks.iter().map(u32::to_string).collect();
    let stop = match rules.protocol {
        _ if rules.until == Rule::Verdict => format!(
            "looks after every {} blocks, until the confidence sequence, which holds at every look, \
             lies beyond the margin or inside",
            study.plan.blocks_min()
        ),
        Protocol::Quick => "a screening of 3 blocks, which gives no verdict".to_owned(),
        Protocol::Fixed => format!("{} blocks, as asked", study.plan.blocks_max()),
        Protocol::Modern | Protocol::Article2003 => format!(
            "looks after {} blocks, until every interval is within ±{} (on width, never on \
             significance)",
            looks.join(", "),
            number::share(rules.target)
        ),
    };
    let set_aside = if rules.retries_max == 0 || study.plan.simulation.is_some() {
        "Nothing is set aside".to_owned()
    } else {
        format!(
            "A block is set aside only for steal above {}, other processes above {} of the \
             measured CPUs, or a lowered frequency cap",
            number::share(rules.steal_share_max),
            number::share(rules.others_share_max)
        )
    };
    let run = if study.plan.simulation.is_some() {
        "each run is a simulation whose seed is that of its row and block, the same in every arm, so \
         that an interval shows what the seed moves and not how far off the models are"
    } else {
        "each run is a process of its own"
    };
    let interval = match study.summary.origin {
        Origin::Simulated => "the spread of its seeds, by Student's t",
        Origin::Measured | Origin::Emulated => "a Student t interval",
    };
    let block = format!(
        "A block is one round of all arms, in balanced orders drawn from seed {seed}; within an arm \
         the rows are shuffled, and {run}."
    );
    vec![
        block + &visits(study.plan),
        format!(
            "A row's effect is the mean over blocks of the log ratio to {reference}, turned so \
             that above 0 is better, with {interval}; the block is the unit of analysis."
        ),
        "A suite's effect is the mean of its rows', families weighing equally, with the spread of \
         their sums in each block; it is the primary result."
            .to_owned(),
        verdicts(study),
        format!(
            "Length: {stop}; it ended because {}. {set_aside}; no reading is dropped for its \
             value.",
            words::stopped(study.summary.stopped_because)
        ),
    ]
}

fn method_2003(seed: u64) -> Vec<String> {
    vec![
        "The protocol of the 2003 article: a fixed number of runs of each row in each arm \
         (3 for LMbench, 5 otherwise)."
            .to_owned(),
        "A row's value is the mean of its runs (LMbench) or their geometric mean.".to_owned(),
        "The speed-up is the ratio of the two values; a suite is the geometric mean of its rows."
            .to_owned(),
        "There are no intervals and no verdict: the protocol cannot tell an effect from noise."
            .to_owned(),
        format!("Orders were drawn from seed {seed}; no run is dropped for its value."),
    ]
}

/// How verdicts are reached, or why there are none.
fn verdicts(study: &Study<'_>) -> String {
    match study.summary.origin.caution() {
        Some(caution) => {
            format!("There is no verdict, for every figure is {caution}; verdicts need a machine.")
        }
        None if study.summary.rule == Rule::Verdict => format!(
            "Verdict at a margin of ±{}: HELPS or HURTS if the {} lies beyond it, no material difference \
             if inside (for one of several rows: if that at {} over their number does), else \
             inconclusive. The sequence holds at every look; the effect at the stop leans towards \
             the verdict.",
            number::share(study.plan.rules.margin),
            confidence::sequence(),
            confidence::level(),
        ),
        None => format!(
            "Verdict at a margin of ±{}: no material difference if the {} lies inside \
             it, else HELPS or HURTS if the {} excludes no effect (for a row: if \
             its p-value, Holm-adjusted over the rows, is below {}; its interval is not adjusted), else \
             inconclusive. Blocks that would decide do so four times in five.",
            number::share(study.plan.rules.margin),
            confidence::equivalence_interval(),
            confidence::interval(),
            confidence::level(),
        ),
    }
}

/// What a visit to an arm is, where it is more than a run of each row.
fn visits(plan: &Plan) -> String {
    let mut text = String::new();
    let rest = coretwin_base::units::human_seconds(plan.rules.settle_s);
    if plan.switches_smt() {
        text += &format!(
            " Every visit to an arm is a switch of SMT of its own, followed by {rest} of rest{}.",
            if plan.rules.warmup { " and one run that is not analysed" } else { "" }
        );
    }
    if plan.changes_scheduler() {
        text += &format!(
            " Every visit to an arm loads its scheduler anew, or leaves the kernel's own in charge{}; \
             each run makes sure before and after that it is the one.",
            if plan.rules.warmup { ", and begins with one run that is not analysed" } else { "" }
        );
    }
    if plan.reboots() {
        text += &format!(
            " Every visit to an arm is a boot of its own, followed by {rest} of rest{}.",
            if plan.rules.warmup { " and one run of each row that is not analysed" } else { "" }
        );
    }
    if plan.rules.repeats > 1 {
        text += &format!(
            " A row is run {} times in a visit; its mean there counts as one value.",
            plan.rules.repeats
        );
    }
    text
}

/// Names another folder of results in a command line, and takes one to be resumed out: both exist by now,
/// so that the command would refuse to run again.
fn with_other_folder(argv: &mut Vec<String>) {
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let again = |folder: &str| format!("{}-again", folder.trim_end_matches('/'));
    let measured = argv.split_off(end);
    let mut words = std::mem::take(argv).into_iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            None if word == "--resume" => drop(words.next()),
            Some(("--resume", _)) => {}
            None if word == "--out" => {
                argv.push(word);
                argv.extend(words.next().map(|folder| again(&folder)));
            }
            Some(("--out", _)) => argv.push(again(&word)),
            _ => argv.push(word),
        }
    }
    argv.extend(measured);
}

pub(crate) fn reproduce(study: &Study<'_>) -> Vec<Block> {
    let seed = study.plan.seed.to_string();
    let mut lines: Vec<String> = Vec::new();
    if let Some(session) = study.environment.sessions.first() {
        let mut argv = session.argv.clone();
        if let Some(program) = argv.first_mut() {
            let name = program.rsplit('/').next().unwrap_or_default().to_owned();
            *program = name;
        }
        with_other_folder(&mut argv);
        let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
        let has_seed =
            argv[..end].iter().any(|word| word == "--seed" || word.starts_with("--seed="));
        // A fleet's plan holds the seed of each of its tasks.
        let is_of_fleet = argv.get(1).is_some_and(|word| word == "fleet");
        if !has_seed && !is_of_fleet && !argv.is_empty() {
            argv.splice(end..end, ["--seed".to_owned(), seed.clone()]);
        }
        lines.push(words::shell_line(&argv));
    }
    lines.push("coretwin report DIR".to_owned());
    let files = "DIR is the folder of this study: plan.json (what was drawn before the first run), \
                 journal.jsonl (every reading), environment.json, summary.json; the report is made \
                 from these alone.";
    let versions = format!(
        "Seed {seed}; planned by Coretwin {}. The same seed draws the same orders.",
        words::clean(&study.plan.coretwin)
    );
    vec![Block::Code(lines), Block::Text(files.to_owned()), Block::Text(versions)]
}
