//! `coretwin list`: everything that can be named on the command line.

use crate::out;
use anyhow::Result;
use coretwin_base::machine::placement::Placement;
use coretwin_base::param::{Params, label};
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::reading::Better;
use coretwin_workloads::suites;
use coretwin_workloads::workload::{ParamKind, ParamSpec};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::num::NonZero;
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin list
  coretwin list chat          one workload in full: parameters, ranges, what it means
  coretwin list --json")]
pub(crate) struct Args {
    /// Describe one workload or suite
    name: Option<String>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Catalogue {
    schema: u32,
    workloads: Vec<Item>,
    suites: Vec<Suite>,
    arms: Vec<Named>,
    placements: Vec<Named>,
    machines: Vec<Named>,
    schedulers: Vec<Named>,
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    family: &'static str,
    about: &'static str,
    source: &'static str,
    analysis: &'static str,
    unit: &'static str,
    better: Better,
    roles: &'static [&'static str],
    params: Vec<Param>,
}

#[derive(Serialize)]
struct Param {
    name: &'static str,
    default: String,
    min: Option<Bound>,
    max: Option<Bound>,
    about: &'static str,
}

/// An end of a range.
#[derive(Serialize)]
#[serde(untagged)]
enum Bound {
    Whole(i64),
    Decimal(f64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Decimal(number) => number.fmt(f),
        }
    }
}

#[derive(Serialize)]
struct Suite {
    name: &'static str,
    about: &'static str,
    /// Its rows on this machine.
    rows: Vec<String>,
    /// Its rows by the protocol of 2003.
    rows_2003: Vec<String>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    about: String,
}

/// Simulated machines, and the policies that schedule on them.
#[cfg(feature = "sim")]
fn simulated() -> (Vec<Named>, Vec<Named>) {
    let machines = coretwin_lab::simulated_machine::machines().into_iter();
    let machines =
        machines.map(|(name, about)| Named { name, about: format!("simulated: {about}") });
    // The policy of the live scheduler is listed as that.
    let policies = coretwin_sim::policies::table::POLICIES.iter();
    let policies =
        policies.filter(|policy| policy.name != coretwin_base::simulation::core_queue::NAME);
    let policies = policies.map(|policy| Named {
        name: policy.name.to_owned(),
        about: format!("on simulated machines: {}", policy.title),
    });
    (machines.collect(), policies.collect())
}

#[cfg(not(feature = "sim"))]
fn simulated() -> (Vec<Named>, Vec<Named>) {
    (Vec::new(), Vec::new())
}

fn catalogue() -> Catalogue {
    let named = |name: &str, about: &str| Named { name: name.to_owned(), about: about.to_owned() };
    let (machines, policies) = simulated();
    Catalogue {
        schema: SCHEMA,
        workloads: coretwin_workloads::table::ALL.iter().map(|workload| item(*workload)).collect(),
        suites: suites::SUITES.iter().map(suite).collect(),
        arms: ArmState::ABOUT.iter().map(|(name, about)| named(name, about)).collect(),
        placements: Placement::ALL.iter().map(|p| named(p.name(), p.about())).collect(),
        machines: std::iter::once(named("host", "the machine this runs on"))
            .chain(machines)
            .collect(),
        schedulers: [
            named("kernel", "the kernel's own"),
            named(
                coretwin_base::simulation::core_queue::NAME,
                "one queue per core, loaded by sched_ext; coretwin sched doctor says whether it can be",
            ),
        ]
        .into_iter()
        .chain(policies)
        .collect(),
    }
}

fn suite(suite: &suites::Suite) -> Suite {
    // A machine that does not tell its CPUs gets the smallest sizes.
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let rows = |protocol| {
        let rows = suite.rows(protocol, u32::try_from(cpus).unwrap_or(1), &Params::new());
        let rows = rows.map(|(rows, _)| rows).unwrap_or_default();
        rows.iter().map(|row| label(&row.spec.name, &row.spec.params)).collect()
    };
    Suite {
        name: suite.name,
        about: suite.about,
        rows: rows(Protocol::Modern),
        rows_2003: rows(Protocol::Article2003),
    }
}

fn item(workload: &'static dyn coretwin_workloads::workload::Workload) -> Item {
    let facts = workload.facts();
    let params = facts.params.iter().map(|param| Param {
        name: param.name,
        default: param.default().to_string(),
        min: range(param).map(|(min, _)| min),
        max: range(param).map(|(_, max)| max),
        about: param.about,
    });
    Item {
        name: facts.name,
        family: facts.family,
        about: facts.about,
        source: facts.source,
        analysis: facts.analysis,
        unit: facts.unit,
        better: facts.better,
        roles: facts.roles,
        params: params.collect(),
    }
}

fn range(param: &ParamSpec) -> Option<(Bound, Bound)> {
    match param.kind {
        ParamKind::Int { min, max, .. } => Some((Bound::Whole(min), Bound::Whole(max))),
        ParamKind::Decimal { min, max, .. } => Some((Bound::Decimal(min), Bound::Decimal(max))),
        ParamKind::Text { .. } => None,
    }
}

fn direction(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut catalogue = catalogue();
    if let Some(name) = &args.name {
        let known: Vec<&str> = catalogue
            .workloads
            .iter()
            .map(|item| item.name)
            .chain(catalogue.suites.iter().map(|suite| suite.name))
            .collect();
        if !known.contains(&name.as_str()) {
            let why = coretwin_base::suggest::unknown("workload or suite", name, &known);
            return Err(crate::exit::Usage(why).into());
        }
        catalogue.workloads.retain(|item| item.name == name);
        catalogue.suites.retain(|suite| suite.name == name);
    }
    if args.json {
        out::json(&catalogue)?;
    } else if args.name.is_some() {
        out::text(&describe(&catalogue)?)?;
    } else {
        out::text(&overview(&catalogue)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn overview(catalogue: &Catalogue) -> Result<String, std::fmt::Error> {
    let mut text = String::from("Workloads, by family (coretwin list NAME says more)\n");
    let mut family = "";
    for item in &catalogue.workloads {
        if item.family != family {
            family = item.family;
            let in_family = catalogue.workloads.iter().filter(|other| other.family == family);
            let sources: BTreeSet<&str> = in_family.map(|other| other.source).collect();
            writeln!(text, "\n{family}, from:")?;
            for source in sources {
                writeln!(text, "  {source}")?;
            }
        }
        let better = direction(item.better);
        writeln!(text, "  {:<22} {} ({}, {better})", item.name, item.about, item.unit)?;
    }
    text.push_str("\nSuites\n");
    for suite in &catalogue.suites {
        // The rows of a long suite are its family, just above.
        let rows = match suite.rows.as_slice() {
            rows if rows.len() > 8 => format!(" ({} rows)", rows.len()),
            rows => format!(" ({})", rows.join(" ")),
        };
        writeln!(text, "  {:<16} {}{rows}", suite.name, suite.about)?;
    }
    for (title, items) in [
        ("Arms, as [LABEL=]STATE[@SCHEDULER]", &catalogue.arms),
        ("Placements", &catalogue.placements),
        ("Machines", &catalogue.machines),
        ("Schedulers", &catalogue.schedulers),
    ] {
        writeln!(text, "\n{title}")?;
        for item in items {
            writeln!(text, "  {:<16} {}", item.name, item.about)?;
        }
    }
    Ok(text)
}

fn describe(catalogue: &Catalogue) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for item in &catalogue.workloads {
        let better = direction(item.better);
        writeln!(text, "{}: {}", item.name, item.about)?;
        writeln!(text, "  value     {}, {better}", item.unit)?;
        writeln!(text, "  source    {}", item.source)?;
        writeln!(text, "  meaning   {}", item.analysis)?;
        writeln!(text, "  roles     {}", item.roles.join(", "))?;
        for param in &item.params {
            let range = match (&param.min, &param.max) {
                (Some(min), Some(max)) => format!(" ({min} to {max})"),
                _ => String::new(),
            };
            writeln!(
                text,
                "  {:<9} {} [default {}]{range}",
                param.name, param.about, param.default
            )?;
        }
    }
    for suite in &catalogue.suites {
        writeln!(text, "suite {}: {}", suite.name, suite.about)?;
        writeln!(text, "  rows      {}", suite.rows.join(" "))?;
        if suite.rows_2003 != suite.rows {
            writeln!(text, "  in 2003   {}", suite.rows_2003.join(" "))?;
        }
    }
    Ok(text)
}

/// The catalogue as a page, without what depends on the machine. What rows of a family share stands
/// once, below them.
pub(crate) fn markdown() -> Result<String, std::fmt::Error> {
    let catalogue = catalogue();
    let mut text = String::new();
    let mut family = "";
    let mut items = catalogue.workloads.iter().peekable();
    while let Some(item) = items.next() {
        if item.family != family {
            family = item.family;
            writeln!(text, "## {family}\n")?;
        }
        let better = direction(item.better);
        writeln!(text, "* **`{}`** ({}, {better}): {}", item.name, item.unit, item.about)?;
        let next = items.peek();
        if next.is_none_or(|next| next.analysis != item.analysis) {
            writeln!(text, "\n{}\n", item.analysis)?;
        }
        if next.is_none_or(|next| common(next) != common(item)) {
            text.push_str(&common(item));
        }
    }
    writeln!(text, "## Suites\n")?;
    for suite in &catalogue.suites {
        writeln!(text, "* **`{}`**: {}", suite.name, suite.about)?;
        let rows: Vec<String> = suite.rows_2003.iter().map(|row| format!("`{row}`")).collect();
        if rows.len() <= 8 {
            writeln!(text, "  By the protocol of 2003: {}", rows.join(" "))?;
        }
    }
    for (title, items) in [
        ("Arms", &catalogue.arms),
        ("Placements", &catalogue.placements),
        ("Machines", &catalogue.machines),
        ("Schedulers", &catalogue.schedulers),
    ] {
        writeln!(text, "\n## {title}\n")?;
        for item in items {
            writeln!(text, "* `{}`: {}", item.name, item.about)?;
        }
    }
    Ok(text)
}

/// What a row may share with its neighbours: source and parameters.
fn common(item: &Item) -> String {
    let mut text = format!("Source: {}. Parameters with their defaults:\n\n", item.source);
    for param in &item.params {
        let range = match (&param.min, &param.max) {
            (Some(min), Some(max)) => format!(", {min} to {max}"),
            _ => String::new(),
        };
        text += &format!("* `{}={}`{range}: {}\n", param.name, param.default, param.about);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_shown_with_what_it_does_unit_direction_and_source() {
        let catalogue = catalogue();
        let text = overview(&catalogue).expect("text");
        for item in &catalogue.workloads {
            let starts = format!("{} ", item.name);
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(&starts) && line.contains(item.about));
            let line = line.unwrap_or_else(|| panic!("{} is not shown", item.name));
            assert!(line.contains(item.unit), "{line}");
            assert!(line.contains(direction(item.better)) && text.contains(item.source), "{line}");
        }
        for suite in &catalogue.suites {
            assert!(text.contains(suite.about), "{}", suite.name);
        }
    }

    #[test]
    fn json_has_of_every_row_what_the_text_has() {
        let catalogue = catalogue();
        let json = serde_json::to_value(&catalogue).expect("json");
        let workloads = json["workloads"].as_array().expect("workloads");
        assert_eq!(workloads.len(), coretwin_workloads::table::ALL.len());
        for item in workloads {
            for field in ["name", "family", "about", "source", "unit", "analysis"] {
                assert!(item[field].as_str().is_some_and(|text| !text.is_empty()), "{item}");
            }
            assert!(["higher", "lower"].contains(&item["better"].as_str().expect("better")));
        }
        let suites = json["suites"].as_array().expect("suites");
        let listed = |name: &str, rows: &str| {
            let suite = suites.iter().find(|suite| suite["name"] == name).expect(name);
            suite[rows].as_array().expect(rows).len()
        };
        assert_eq!((listed("dbench", "rows"), listed("dbench", "rows_2003")), (4, 5));
        assert_eq!(listed("aim9", "rows"), 59);
    }
}
