//! The plan of a study, drawn and stored before the first run.

use crate::account::cputime::Experiment;
use crate::machine::cpu_set::CpuSet;
use crate::machine::placement::Placement;
use crate::machine::topology::Topology;
use crate::origin::Origin;
use crate::parameters::{ParamValue, Params};
use crate::simulation::Simulation;
use crate::study::arm::{ArmState, KERNEL};
use crate::study::command::CommandSpec;
use crate::study::load::{Objective, RATE, Rate};
use crate::study::reading::Better;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Every choice of a study, random ones included. It is written once, before the first run, and
/// never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub schema: u32,
    /// Version of the program that drew the plan.
    pub coretwin: String,
    /// What is studied: `host`, or the name of a simulated machine.
    pub machine: String,
    /// `None` in older plans: [`Plan::origin`] reads it from `simulation`, `machine`, `topology`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub comparison: Comparison,
    /// The arms; the first is the reference.
    pub arms: Vec<PlanArm>,
    /// Label of the arm that the others are compared with.
    pub reference_arm: String,
    pub rows: Vec<PlanRow>,
    /// Which arms separate siblings from threads, with `--split`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The user's command, for rows of workload `command`.
    pub command: Option<CommandSpec>,
    /// What the rows are, in a plan of `cputime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub cputime: Option<Box<Experiment>>,
    /// The simulated machine, of a simulated study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub simulation: Option<Box<Simulation>>,
    /// Seed of every random choice: ChaCha8 streams keyed by seed, purpose and index.
    pub seed: u64,
    /// Order of the arms (indexes into `arms`) in each block, drawn for as many blocks as the
    /// study could run; a block that is run again keeps its order.
    pub orders: Vec<Vec<u16>>,
    pub rules: Rules,
    /// Choices of thread counts that are still to be made on the data.
    pub screening: Option<Screening>,
    /// Of a load curve: the objective, and how saturation is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Box<LoadPlan>>,
    pub topology: Topology,
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// SMT is really off in one arm and on in another.
    Smt,
    /// The arm `one-per-core` stands in for SMT off.
    StandIn,
    /// Plain CPU sets: no verdict on SMT.
    #[default]
    None,
}

/// An arm, resolved on this machine. Where commands are compared, each with each state of the
/// machine is an arm of its own. Of a boot arm the plan knows no CPUs: `environment.json` has them
/// in `boots`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanArm {
    pub label: String,
    #[schemars(with = "String")]
    pub state: ArmState,
    pub scheduler: String,
    pub cpus: CpuSet,
    pub cores: u32,
    pub threads: u32,
    /// Whether SMT is active, where the arm itself decides that.
    pub smt: Option<bool>,
    pub about: String,
    /// The command that is run in it, where commands are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// Label of the arm it is compared with; `None`: the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Whether it is the reference once more, to see what the machine alone makes of equal arms.
    #[serde(default, skip_serializing_if = "is_false")]
    pub control: bool,
}

impl Variant {
    /// The command as it was typed, without the shell that runs it, what is known of it filled in.
    pub fn typed(&self) -> String {
        let line = match self.argv.as_slice() {
            // Other programs have an option -c too.
            [shell, .., dash_c, line] if dash_c == "-c" && shell.ends_with("sh") => line.clone(),
            argv => argv.join(" "),
        };
        let fill = |line: String, (name, value): (&String, &ParamValue)| {
            line.replace(&format!("{{{name}}}"), &value.to_string())
        };
        self.params.iter().fold(line, fill)
    }
}

impl PlanArm {
    /// The label of its state alone: what is before the command's name.
    pub fn state_label(&self) -> String {
        let name = self.variant.as_ref().map_or("", |variant| variant.name.as_str());
        let state = self.label.strip_suffix(name).and_then(|rest| rest.strip_suffix('/'));
        state.unwrap_or(&self.label).to_owned()
    }

    /// Whether the machine is the same in both, so that only their commands can differ.
    pub fn has_state_of(&self, other: &Self) -> bool {
        (&self.state, &self.scheduler) == (&other.state, &other.scheduler)
    }
}

/// As [`Plan::compares_commands_only`], of a plan's arms.
pub fn one_state(arms: &[PlanArm]) -> bool {
    let Some((first, others)) = arms.split_first() else { return false };
    let same = |arm: &PlanArm| (arm.control || arm.variant.is_some()) && arm.has_state_of(first);
    !others.is_empty() && others.iter().all(same)
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    pub name: String,
    /// Program and arguments, before placeholders are filled in.
    pub argv: Vec<String>,
    /// What is filled into it, where one command is compared at several values.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub params: Params,
}

/// Labels of the arms of a 2×2 of CPUs and threads, beside the reference, which has the fewer of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// The reference's CPUs, more threads.
    pub threads: String,
    /// More CPUs, the reference's threads.
    pub siblings: String,
    /// More of both; compared with `threads`.
    pub both: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRow {
    /// Unique label within the plan, like `chat:rooms=20`.
    pub id: String,
    pub workload: String,
    /// Benchmark family, which weighs as one in the suite result.
    pub family: String,
    /// Parameters, defaults filled in.
    pub params: Params,
    pub placement: Placement,
    pub threads: ThreadRule,
    pub copies: CopyRule,
    pub unit: String,
    pub better: Better,
    pub scale: Scale,
    /// Labels of the arms that have the row's placement; absent where all have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
}

impl PlanRow {
    /// Its parameters in an arm, whose number of threads is filled in.
    pub fn params_in(&self, arm: &PlanArm) -> Params {
        let mut params = self.params.clone();
        for value in params.values_mut().filter(|value| value.is_threads()) {
            *value = i64::from(arm.threads).into();
        }
        params
    }

    pub fn runs_in(&self, arm: &str) -> bool {
        self.arms.is_empty() || self.arms.iter().any(|label| label == arm)
    }
}

/// What a plan says of its load curve. Its rows are the curve's rates, each with `rate` among its
/// parameters, like `50%` or `2000/s`; a reading has what it was, per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// Latency that must be kept, like `p99=10ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub slo: Option<Objective>,
    /// The row that is run in every arm before the first block, phase `screen`, to find how much
    /// the arm carries; `None` where all rates are given in requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<PlanRow>,
    /// Whether that row asks for a rate: then the rate is raised until the arm no longer keeps up.
    /// Otherwise requests follow as fast as they are answered.
    #[serde(default)]
    pub raised: bool,
    /// Most blocks of that screening.
    #[serde(default)]
    pub blocks: u32,
    #[serde(default)]
    pub orders: Vec<Vec<u16>>,
}

impl PlanRow {
    /// Its rate, of a row of a load curve.
    pub fn rate(&self) -> Option<Rate> {
        Rate::parse(&self.params.get(RATE)?.to_string()).ok()
    }

    /// The same row at so many requests a second.
    #[must_use]
    pub fn at(&self, rate: f64) -> Self {
        let mut params: Params = self.params.clone();
        params.insert(RATE.to_owned(), ParamValue::parse(&rate.to_string()));
        Self { params, ..self.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadRule {
    Arm,
    Fixed(u32),
    /// The best of the screened numbers, chosen per arm and frozen before the study.
    Screened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyRule {
    /// One copy for each CPU of the arm.
    PerCpu,
    Fixed(u32),
}

#[derive(
    Debug,
    Default,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema
)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// By their ratio (log scale); for values above 0.
    #[default]
    Ratio,
    /// By their difference, in the row's unit; for values that can be 0 or below.
    Raw,
}

impl Scale {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Raw => "raw",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Screening {
    /// Blocks of screening; their readings take no part in the comparison.
    pub blocks: u32,
    /// Candidate counts, one list per arm in the order of `arms`.
    pub candidates: Vec<Vec<u32>>,
    pub orders: Vec<Vec<u16>>,
}

/// When the study stops, and what disturbs a run. A number out of its range is an error that names
/// the field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rules {
    pub protocol: Protocol,
    /// Block counts at which the stopping rule looks; the last is the most blocks that are run.
    pub looks: Vec<u32>,
    /// Half-width of an interval that is narrow enough, as a share (0.01 is 1 %).
    pub target: f64,
    /// Effects smaller than this share are not material (0.02 is 2 %).
    pub margin: f64,
    /// Longest time the study may take, in seconds; `None` for a fixed number of blocks.
    pub budget_s: Option<f64>,
    /// A run is set aside when more than this share of the arm's CPU time was stolen, 0 to 1.
    pub steal_share_max: f64,
    /// A run is set aside when others used more than this share of the measured CPUs' time, 0 to 1.
    pub others_share_max: f64,
    /// How often a block may be run again for such a cause.
    pub retries_max: u32,
    /// Whether every row is run, unanalysed, before the first block.
    #[serde(default)]
    pub warmup: bool,
    /// Runs of a row before the first block, in the reference arm or, where commands are compared,
    /// in every arm; absent where it is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub warmup_runs: u32,
    /// Rest after a switch of SMT or a boot before anything is run, in seconds; at most a day.
    #[serde(default)]
    pub settle_s: f64,
    /// Runs of every row within one visit to an arm, 1 to 1000; they count as one, by their mean.
    #[serde(default = "one")]
    pub repeats: u32,
    /// What the looks ask; `width` where it is missing.
    #[serde(default)]
    pub until: Rule,
}

/// When a study has enough.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[derive(strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// Every interval is narrow enough.
    #[default]
    Width,
    /// A confidence sequence lies beyond the margin, or inside.
    Verdict,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Limit of steal and of others' work where nobody asks for another, as a share of the measured CPUs'
/// time (0.05 is 5 %).
pub const DISTURBED_SHARE_MAX: f64 = 0.05;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Blocks until the intervals are narrow enough or the budget ends.
    #[default]
    Modern,
    /// A fixed number of blocks chosen by the user.
    Fixed,
    /// Three blocks, no verdict.
    Quick,
    /// The article's: 3 runs for LMbench, 5 otherwise, no blocks; mean or geometric mean.
    Article2003,
}

impl Rules {
    /// Whether it is a screening, which gives no verdict: one that goes on until there is a verdict is none.
    pub fn is_screening(&self) -> bool {
        self.protocol == Protocol::Quick && self.until == Rule::Width
    }

    fn check(&self) -> Result<(), String> {
        let numbers = [
            ("target", self.target, 1.0),
            ("margin", self.margin, 1.0),
            ("steal_share_max", self.steal_share_max, 1.0),
            ("others_share_max", self.others_share_max, 1.0),
            ("settle_s", self.settle_s, 86_400.0),
            ("budget_s", self.budget_s.unwrap_or(0.0), f64::MAX),
            ("repeats", f64::from(self.repeats.max(1)), 1_000.0),
        ];
        match numbers.iter().find(|(_, number, most)| !(0.0..=*most).contains(number)) {
            Some((field, number, _)) if *number < 0.0 => {
                Err(format!("field rules.{field} is {number}, and must not be below 0"))
            }
            Some((field, number, most)) => {
                Err(format!("field rules.{field} is {number}, and must not be above {most}"))
            }
            None if self.repeats == 0 => Err("field rules.repeats must be above 0".to_owned()),
            None => Ok(()),
        }
    }
}

impl Plan {
    /// Checks what every reader of a plan relies on; a plan from outside may hold anything. Errors: a
    /// sentence naming the field that is wrong.
    pub fn check(&self) -> Result<(), String> {
        let arms = self.arms.len();
        if arms == 0 || self.rows.is_empty() {
            return Err("fields arms and rows must not be empty".to_owned());
        }
        if self.arm(&self.reference_arm).is_none() {
            return Err(format!("field reference_arm: no arm is called '{}'", self.reference_arm));
        }
        let against = self.arms.iter().filter_map(|arm| Some((arm, arm.against.as_deref()?)));
        for (arm, other) in against {
            if other == arm.label || self.arm(other).is_none() {
                return Err(format!("field arms: {} cannot be compared with '{other}'", arm.label));
            }
        }
        self.check_split()?;
        if !self.rules.looks.is_sorted() || self.blocks_min() == 0 {
            return Err("field rules.looks must hold block counts above 0, in order".to_owned());
        }
        self.rules.check()?;
        let labels = self.arms.iter().map(|arm| ("arms", arm.label.as_str()));
        let ids = self.rows.iter().map(|row| ("rows", row.id.as_str()));
        let mut seen = BTreeSet::new();
        if let Some((field, name)) = labels.chain(ids).find(|name| !seen.insert(*name)) {
            return Err(format!("field {field}: two are called '{name}'"));
        }
        if self.reboots() && !self.arms.iter().all(|arm| matches!(arm.state, ArmState::Boot(_))) {
            return Err("field arms: boots are compared with boots only".to_owned());
        }
        let strange = |row: &&PlanRow| row.arms.iter().any(|label| self.arm(label).is_none());
        if let Some(row) = self.rows.iter().find(strange) {
            return Err(format!("field rows: {} names an arm that there is not", row.id));
        }
        self.check_load()?;
        if let Some(experiment) = &self.cputime
            && !self.rows.iter().all(|row| experiment.condition(&row.id).is_some())
        {
            return Err("field cputime.conditions must name every row".to_owned());
        }
        if let Some(experiment) = &self.cputime {
            experiment.check()?;
        }
        let whole = |order: &Vec<u16>| {
            let mut seen = order.clone();
            seen.sort_unstable();
            seen.into_iter().map(usize::from).eq(0..arms)
        };
        let enough = |orders: &Vec<Vec<u16>>, blocks: u32| {
            orders.len() >= blocks as usize && orders.iter().all(whole)
        };
        if !enough(&self.orders, self.blocks_max()) {
            return Err("field orders must name every arm once in every block".to_owned());
        }
        if let Some(load) = &self.load
            && !load.orders.iter().all(whole)
        {
            return Err("field load.orders must name every arm once in every block".to_owned());
        }
        match &self.screening {
            Some(screening)
                if screening.candidates.len() != arms
                    || !enough(&screening.orders, screening.blocks) =>
            {
                Err("field screening must have candidates and orders for every arm".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_load(&self) -> Result<(), String> {
        let Some(load) = &self.load else { return Ok(()) };
        if let Some(row) = self.rows.iter().find(|row| row.rate().is_none()) {
            return Err(format!("field rows: {} has no rate, and this is a load curve", row.id));
        }
        let screened = load.orders.len() >= load.blocks as usize && load.blocks > 0;
        let is_share = |row: &PlanRow| matches!(row.rate(), Some(Rate::Share(_)));
        match &load.saturation {
            Some(row) if !row.arms.is_empty() || self.row(&row.id).is_some() || !screened => {
                Err("field load.saturation must be a row of its own, with orders for its blocks"
                    .to_owned())
            }
            None if self.rows.iter().any(is_share) => {
                Err("field load.saturation is missing, and rates are shares of it".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_split(&self) -> Result<(), String> {
        let Some(Split { threads, siblings, both }) = &self.split else { return Ok(()) };
        let all = [threads, siblings, both, &self.reference_arm];
        let distinct: BTreeSet<&String> = all.into_iter().collect();
        let against = |label: &String| self.arm(label).map(|arm| arm.against.as_deref());
        let found = [threads, siblings, both].map(against);
        if distinct.len() == 4 && found == [Some(None), Some(None), Some(Some(threads.as_str()))] {
            return Ok(());
        }
        Err("field split must name three arms beside the reference, the last of them compared with \
             the first"
            .to_owned())
    }

    /// Where its readings come from. What the rest of the plan shows wins over the word: no plan of a
    /// simulated machine is taken for a measured one.
    pub fn origin(&self) -> Origin {
        match self.origin {
            _ if self.simulation.is_some() => Origin::Simulated,
            _ if self.topology.is_emulated() => Origin::Emulated,
            Some(origin) => origin,
            None if self.machine == "host" => Origin::Measured,
            None => Origin::Simulated,
        }
    }

    /// Whether SMT is really switched, so that every visit to an arm is a switch of its own. On a
    /// simulated machine `off` is a boot, and a fresh one every time.
    pub fn switches_smt(&self) -> bool {
        self.simulation.is_none() && self.arms.iter().any(|arm| arm.state == ArmState::Off)
    }

    /// Whether schedulers are compared on a host, so that every visit to an arm loads its own, or none.
    /// A simulated machine always has one of its policies.
    pub fn changes_scheduler(&self) -> bool {
        self.machine == "host" && self.arms.iter().any(|arm| arm.scheduler != KERNEL)
    }

    /// Whether every visit to an arm is a boot of its own.
    pub fn reboots(&self) -> bool {
        self.arms.iter().any(|arm| matches!(arm.state, ArmState::Boot(_)))
    }

    pub fn reference_index(&self) -> usize {
        self.arms.iter().position(|arm| arm.label == self.reference_arm).unwrap_or(0)
    }

    /// The arm that this one is compared with.
    pub fn base_of(&self, arm: &PlanArm) -> &PlanArm {
        let against = arm.against.as_deref().and_then(|label| self.arm(label));
        against.unwrap_or(&self.arms[self.reference_index()])
    }

    /// Index of the arm that this one is compared with.
    pub fn base_index(&self, arm: usize) -> usize {
        let base = &self.base_of(&self.arms[arm]).label;
        self.arms.iter().position(|arm| arm.label == *base).unwrap_or(0)
    }

    pub fn has_variants(&self) -> bool {
        self.arms.iter().any(|arm| arm.variant.is_some())
    }

    /// Whether commands, or equal arms, are compared in one state of the machine: that says nothing of SMT.
    pub fn compares_commands_only(&self) -> bool {
        one_state(&self.arms)
    }

    pub fn arm(&self, label: &str) -> Option<&PlanArm> {
        self.arms.iter().find(|arm| arm.label == label)
    }

    pub fn row(&self, id: &str) -> Option<&PlanRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The row whose runs find the saturation, of a load curve in shares of it.
    pub fn saturation_row(&self) -> Option<&PlanRow> {
        self.load.as_ref().and_then(|load| load.saturation.as_ref())
    }

    /// A row by its index; behind the others the one that finds the saturation.
    pub fn planned(&self, index: usize) -> &PlanRow {
        match self.saturation_row() {
            Some(row) if index == self.rows.len() => row,
            _ => &self.rows[index],
        }
    }

    /// Orders of the arms in the blocks of the screening: of thread counts, or of saturation.
    pub fn screening_orders(&self) -> &[Vec<u16>] {
        let of_load = || self.load.as_ref().map(|load| load.orders.as_slice());
        let of_counts = self.screening.as_ref().map(|screening| screening.orders.as_slice());
        of_counts.or_else(of_load).unwrap_or_default()
    }

    /// The latency to be kept, by which the study decides.
    pub fn slo(&self) -> Option<Objective> {
        self.load.as_ref().and_then(|load| load.slo)
    }

    pub fn blocks_max(&self) -> u32 {
        self.rules.looks.last().copied().unwrap_or(0)
    }

    pub fn blocks_min(&self) -> u32 {
        self.rules.looks.first().copied().unwrap_or(0)
    }
}
