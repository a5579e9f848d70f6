//! `coretwin list`: everything that can be named on the command line.

use crate::exit::DONE;
use crate::out;
use anyhow::Result;
use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::{Params, label};
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::live::POLICIES;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::plan::Protocol;
use coretwin_base::study::reading::Better;
use coretwin_report::topology::beside;
use coretwin_workloads::suites;
use coretwin_workloads::workload::{ParamKind, ParamSpec};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::num::NonZero;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin list               suites first; of workloads the families
  coretwin list workloads     every row of every family
  coretwin list machines      one section: suites, arms, placements, machines, schedulers, workloads
  coretwin list chat          one workload in full: parameters, ranges, what it means
  coretwin list --json")]
pub(crate) struct Args {
    /// One section, or one workload or suite in full
    name: Option<String>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

/// What can be named: workloads, suites, arms, placements, machines, schedulers.
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
    rows: Vec<String>,
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
    // Those of live schedulers are listed as that.
    let policies = coretwin_sim::policies::table::POLICIES.iter();
    let policies = policies.filter(|policy| !POLICIES.iter().any(|live| live.name == policy.name));
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
        schedulers: std::iter::once(named("kernel", "the kernel's own"))
            .chain(POLICIES.iter().map(|live| {
                let about = format!("{}; loaded by sched_ext (coretwin sched doctor)", live.title);
                Named { name: live.name.to_owned(), about }
            }))
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

pub(crate) fn run(args: &Args) -> Result<u8> {
    let mut catalogue = catalogue();
    // For other programs a line each.
    let columns = out::page(usize::MAX);
    let mut sections = sections(&catalogue, columns);
    let place = sections.iter().position(|(name, _)| Some(*name) == args.name.as_deref());
    let section = place.map(|place| sections.swap_remove(place).1);
    if section.is_none()
        && let Some(name) = args.name.as_ref().filter(|name| *name != WORKLOADS)
    {
        let known: Vec<&str> = catalogue
            .workloads
            .iter()
            .map(|item| item.name)
            .chain(catalogue.suites.iter().map(|suite| suite.name))
            .chain(sections.iter().map(|(name, _)| *name))
            .chain([WORKLOADS])
            .collect();
        if !known.contains(&name.as_str()) {
            let why = coretwin_base::suggest::unknown("section, workload or suite", name, &known);
            return Err(crate::exit::usage(why));
        }
        catalogue.workloads.retain(|item| item.name == name);
        catalogue.suites.retain(|suite| suite.name == name);
    }
    let text = match (args.name.as_deref(), section) {
        (_, Some(text)) => text,
        (Some(WORKLOADS), _) => workloads(&catalogue, columns)?,
        (Some(_), _) => describe(&catalogue, columns),
        (None, _) => {
            let texts: Vec<&str> = sections.iter().map(|(_, text)| text.as_str()).collect();
            texts.join("\n") + &families(&catalogue)?
        }
    };
    out::json_or(args.json, &catalogue, || text)?;
    Ok(DONE)
}

const WORKLOADS: &str = "workloads";

/// The families with the number of their rows: the rows would hide everything else.
fn families(catalogue: &Catalogue) -> Result<String, std::fmt::Error> {
    let mut text = "\nWorkloads, by family (coretwin list workloads names each)\n".to_owned();
    let names: BTreeSet<&str> = catalogue.workloads.iter().map(|item| item.family).collect();
    for name in names {
        let rows: Vec<&str> =
            catalogue.workloads.iter().filter(|item| item.family == name).map(|i| i.name).collect();
        match rows[..] {
            [only] => writeln!(text, "  {name:<16} {only}")?,
            _ => writeln!(text, "  {name:<16} {} rows, like {}", rows.len(), rows[0])?,
        }
    }
    Ok(text)
}

fn entry(text: &mut String, (name, width): (&str, usize), about: &str, columns: usize) {
    beside(text, &format!("  {name:<width$} "), about, columns);
}

fn workloads(catalogue: &Catalogue, columns: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::from("Workloads, by family (coretwin list NAME says more)\n");
    let mut family = "";
    for item in &catalogue.workloads {
        if item.family != family {
            family = item.family;
            let in_family = catalogue.workloads.iter().filter(|other| other.family == family);
            let sources: BTreeSet<&str> = in_family.map(|other| other.source).collect();
            writeln!(text, "\n{family}, from:")?;
            for source in sources {
                beside(&mut text, "  ", source, columns);
            }
        }
        let better = direction(item.better);
        let about = format!("{} ({}, {better})", item.about, item.unit);
        entry(&mut text, (item.name, 22), &about, columns);
    }
    Ok(text)
}

fn sections(catalogue: &Catalogue, columns: usize) -> Vec<(&'static str, String)> {
    let mut text = String::from("Suites\n");
    for suite in &catalogue.suites {
        // The rows of a long suite are its family.
        let rows = match suite.rows.as_slice() {
            rows if rows.len() > 8 => format!(" ({} rows)", rows.len()),
            rows => format!(" ({})", rows.join(" ")),
        };
        entry(&mut text, (suite.name, 16), &format!("{}{rows}", suite.about), columns);
    }
    let mut sections = vec![("suites", text)];
    for (name, title, items) in [
        ("arms", "Arms, as [LABEL=]STATE[@SCHEDULER]", &catalogue.arms),
        ("placements", "Placements", &catalogue.placements),
        ("machines", "Machines", &catalogue.machines),
        ("schedulers", "Schedulers", &catalogue.schedulers),
    ] {
        let mut text = format!("{title}\n");
        for item in items {
            entry(&mut text, (&item.name, 16), &item.about, columns);
        }
        sections.push((name, text));
    }
    sections
}

fn describe(catalogue: &Catalogue, columns: usize) -> String {
    let mut text = String::new();
    let mut line = |label: &str, about: &str| beside(&mut text, label, about, columns);
    for item in &catalogue.workloads {
        line("", &format!("{}: {}", item.name, item.about));
        line("  value     ", &format!("{}, {}", item.unit, direction(item.better)));
        line("  source    ", item.source);
        line("  meaning   ", item.analysis);
        line("  roles     ", &item.roles.join(", "));
        for param in &item.params {
            let range = match (&param.min, &param.max) {
                (Some(min), Some(max)) => format!(" ({min} to {max})"),
                _ => String::new(),
            };
            let about = format!("{} [default {}]{range}", param.about, param.default);
            line(&format!("  {:<9} ", param.name), &about);
        }
    }
    for suite in &catalogue.suites {
        line("", &format!("suite {}: {}", suite.name, suite.about));
        line("  rows      ", &suite.rows.join(" "));
        if suite.rows_2003 != suite.rows {
            line("  in 2003   ", &suite.rows_2003.join(" "));
        }
    }
    text
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
        let text = workloads(&catalogue, 60_000).expect("text");
        for item in &catalogue.workloads {
            let starts = format!("{} ", item.name);
            let line = text
                .lines()
                .find(|line| line.trim_start().starts_with(&starts) && line.contains(item.about));
            let line = line.unwrap_or_else(|| panic!("{} is not shown", item.name));
            assert!(line.contains(item.unit), "{line}");
            assert!(line.contains(direction(item.better)) && text.contains(item.source), "{line}");
        }
        let sections = sections(&catalogue, 60_000);
        for suite in &catalogue.suites {
            assert!(sections[0].1.contains(suite.about), "{}", suite.name);
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
