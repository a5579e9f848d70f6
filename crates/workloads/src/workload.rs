//! What a workload is: a row that can be measured.

use crate::Error;
use crate::supervisor::Supervisor;
pub(crate) use coretwin_base::machine::limits::{Limit, Need};
pub(crate) use coretwin_base::machine::placement::Placement;
pub(crate) use coretwin_base::parameters::{ParamValue, Params};
pub(crate) use coretwin_base::study::job::{Job, Outcome};
pub(crate) use coretwin_base::study::plan::{CopyRule, Scale};
pub(crate) use coretwin_base::study::reading::{Better, Metric};
use std::net::SocketAddr;

pub trait Workload: Sync {
    fn facts(&self) -> Facts;
    fn name(&self) -> &'static str {
        self.facts().name
    }
    /// Tasks (threads) that do the work, for complete parameters.
    fn tasks(&self, params: &Params) -> u32;
    fn needs(&self, params: &Params) -> Vec<Need>;
    fn copies(&self, _params: &Params) -> CopyRule {
        CopyRule::Fixed(1)
    }
    /// About how long one run takes on a machine of today, start and end included, in seconds: to
    /// foretell a study before anything was measured. Unless a workload knows better, its time is that
    /// of the parameters that say so: `warmup` and `seconds`, or `samples` of `sample` seconds.
    fn takes_s(&self, params: &Params) -> f64 {
        let given = |name: &str| decimal(params, name);
        let phases = given("warmup") + given("seconds");
        START_S + phases + given("sample") * (given("samples") + 2.0)
    }
    /// Checks of parameters against each other, beyond the range of each.
    fn check(&self, _params: &Params) -> Result<(), Error> {
        Ok(())
    }
    /// Runs it once; whatever an error leaves of it, the supervisor ends.
    fn run(&self, params: &Params, job: &Job, supervisor: &mut Supervisor) -> Ran;
}

#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub name: &'static str,
    /// Benchmark family; a family weighs as one in a suite result.
    pub family: &'static str,
    pub about: &'static str,
    pub source: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub scale: Scale,
    /// Its parameters, in order of name.
    pub params: &'static [ParamSpec],
    /// The roles a placement can separate; the order is that of [`Job::roles`].
    pub roles: &'static [&'static str],
    /// Where suites measure it, as far as an arm has these placements; empty: where the scheduler
    /// runs it.
    pub placements: &'static [Placement],
    /// Whether a screening leaves it out, because a run takes minutes.
    pub is_slow: bool,
    pub analysis: &'static str,
}

impl Facts {
    pub(crate) const USUAL: Self = Self {
        name: "",
        family: "",
        about: "",
        source: "",
        unit: "",
        better: Better::Higher,
        scale: Scale::Ratio,
        params: &[],
        roles: &[],
        placements: &[],
        is_slow: false,
        analysis: "",
    };
}

/// What `tasks` tasks need of every limit that counts tasks, and what else is needed.
pub(crate) fn needs(tasks: u64, others: impl IntoIterator<Item = (Limit, u64)>) -> Vec<Need> {
    let counted = [Limit::UserTasks, Limit::Threads, Limit::CgroupTasks];
    let all = counted.map(|limit| (limit, tasks)).into_iter().chain(others);
    all.map(|(limit, amount)| Need { limit, amount }).collect()
}

/// About how long it takes to start a worker and what it measures, and to end both, in seconds.
pub(crate) const START_S: f64 = 0.15;

#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    pub name: &'static str,
    pub kind: ParamKind,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum ParamKind {
    Int {
        default: i64,
        min: i64,
        max: i64,
    },
    Decimal {
        /// Used if none is given, as people type it.
        default: &'static str,
        min: f64,
        max: f64,
    },
    Text {
        default: &'static str,
    },
}

impl ParamSpec {
    /// A whole number: its default, the smallest and the largest possible.
    pub(crate) const fn int(name: &'static str, range: [i64; 3], about: &'static str) -> Self {
        let [default, min, max] = range;
        Self { name, kind: ParamKind::Int { default, min, max }, about }
    }

    /// A number with or without a fraction: its default as people type it, and the range.
    pub(crate) const fn decimal(
        name: &'static str,
        default: &'static str,
        [min, max]: [f64; 2],
        about: &'static str,
    ) -> Self {
        Self { name, kind: ParamKind::Decimal { default, min, max }, about }
    }

    pub(crate) const fn text(
        name: &'static str,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind: ParamKind::Text { default }, about }
    }

    #[must_use]
    pub fn default(&self) -> ParamValue {
        match self.kind {
            ParamKind::Int { default, .. } => ParamValue::Int(default),
            ParamKind::Decimal { default, .. } | ParamKind::Text { default } => {
                ParamValue::parse(default)
            }
        }
    }

    pub(crate) fn check(&self, workload: &'static str, value: &ParamValue) -> Result<(), Error> {
        let (fits, possible) = match self.kind {
            ParamKind::Int { min, max, .. } => {
                let fits = value.as_int().is_some_and(|number| (min..=max).contains(&number));
                (fits, format!("it is a whole number from {min} to {max}"))
            }
            ParamKind::Decimal { min, max, .. } => {
                let fits = number(value).is_some_and(|number| (min..=max).contains(&number));
                (fits, format!("it is a number from {min} to {max}"))
            }
            ParamKind::Text { .. } => return Ok(()),
        };
        if fits {
            return Ok(());
        }
        Err(refused(workload, self.name, value.to_string(), possible))
    }
}

fn refused(workload: &'static str, name: &str, value: String, why: String) -> Error {
    Error::Param { workload, name: name.to_owned(), value, why }
}

/// A parameter whose value will not do, though it is within its range; `why` says what would.
pub(crate) fn wrong(
    workload: &'static str,
    params: &Params,
    name: &str,
    why: impl Into<String>,
) -> Error {
    refused(workload, name, text(params, name), why.into())
}

pub(crate) fn word(
    workload: &'static str,
    params: &Params,
    name: &str,
    possible: &[&str],
) -> Result<(), Error> {
    if possible.contains(&text(params, name).as_str()) {
        return Ok(());
    }
    let words: Vec<String> = possible.iter().map(|word| format!("'{word}'")).collect();
    Err(wrong(workload, params, name, format!("it is {}", words.join(" or "))))
}

/// Checks a parameter that is a path, or a word that stands for one; a row may not have it.
pub(crate) fn path(
    workload: &'static str,
    params: &Params,
    name: &str,
    word: &str,
) -> Result<(), Error> {
    let path = text(params, name);
    if path.is_empty() || path == word || path.starts_with('/') {
        return Ok(());
    }
    Err(wrong(workload, params, name, "it is a whole path, beginning with '/'"))
}

fn number(value: &ParamValue) -> Option<f64> {
    value.to_string().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A parameter that is a number, from complete and checked parameters.
pub(crate) fn decimal(params: &Params, name: &str) -> f64 {
    params.get(name).and_then(number).unwrap_or(0.0)
}

pub(crate) fn text(params: &Params, name: &str) -> String {
    params.get(name).map_or_else(String::new, ParamValue::to_string)
}

pub(crate) fn int(params: &Params, name: &str) -> u32 {
    let number = params.get(name).and_then(ParamValue::as_int).unwrap_or(0);
    u32::try_from(number).unwrap_or(0)
}

const SERVER: &str = "server";
pub(crate) const OWN_SERVER: &str = "own";

/// The server elsewhere that a parameter `server` asks for, if any. Only loopback: a study binds and
/// measures one machine, and with a server on another the network would be measured instead.
pub(crate) fn server_elsewhere(
    workload: &'static str,
    params: &Params,
    port: u16,
) -> Result<Option<SocketAddr>, Error> {
    let value = text(params, SERVER);
    if value.is_empty() || value == OWN_SERVER {
        return Ok(None);
    }
    let address: SocketAddr = value.parse().map_err(|_| {
        let why = format!("it is 'own' or an ADDRESS:PORT like 127.0.0.1:{port}");
        wrong(workload, params, SERVER, why)
    })?;
    if !address.ip().is_loopback() {
        let why = "only a loopback address is this machine, and only this is measured";
        return Err(wrong(workload, params, SERVER, why));
    }
    Ok(Some(address))
}

pub type Ran = Result<Outcome, Error>;

/// The outcome of a run that succeeded. CPU time, memory and CPUs are the worker's to add.
pub(crate) fn outcome(value: f64, unit: &str, better: Better) -> Outcome {
    Outcome { failure: None, value: Some(value), ..Outcome::failed("", unit, better) }
}

impl Facts {
    pub(crate) fn outcome(&self, value: f64) -> Outcome {
        outcome(value, self.unit, self.better)
    }
}

pub(crate) trait Telling {
    fn metric(&mut self, name: impl Into<String>, value: f64, unit: &str, better: Better);
    /// Of two checks of one name both must hold.
    fn check(&mut self, name: &str, held: bool);
    fn note(&mut self, name: &str, text: impl Into<String>);

    fn higher(&mut self, name: &str, value: f64, unit: &str) {
        self.metric(name, value, unit, Better::Higher);
    }

    fn lower(&mut self, name: &str, value: f64, unit: &str) {
        self.metric(name, value, unit, Better::Lower);
    }
}

impl Telling for Outcome {
    fn metric(&mut self, name: impl Into<String>, value: f64, unit: &str, better: Better) {
        self.metrics.insert(name.into(), Metric { value, unit: unit.to_owned(), better });
    }

    fn check(&mut self, name: &str, held: bool) {
        *self.checks.entry(name.to_owned()).or_insert(true) &= held;
    }

    fn note(&mut self, name: &str, text: impl Into<String>) {
        self.notes.insert(name.to_owned(), text.into());
    }
}
