//! The report of a fleet: what an arm does on its machines and what to expect of the next, effects by
//! row and model, machines unlike the others, what does not count.
//!
//! A fleet of ten thousand machines makes a report of bounded length: tables and figures name how
//! much is left out of them, and CSV and JSON have all of it.

mod cells;
pub(crate) mod comparison;
mod export;
mod figures;
pub(crate) mod machines;
mod tables;

use crate::brief::{Brief, of_document};
use crate::document::{Block, Document, Headline, Outline};
use crate::format::{Format, document_formats};
use crate::{number, words};
use cells::{amount, ends};
use coretwin_base::distinct::distinct;
use coretwin_base::fleet::summary::{FleetEffect, FleetSummary};
use coretwin_base::origin::Origin;
use coretwin_base::study::plan::Comparison;
use coretwin_base::study::summary::Verdict;
use coretwin_stats::confidence;

pub type FleetFormat = Format<fn(&FleetSummary) -> String>;

pub const FLEET_FORMATS: &[FleetFormat] = document_formats![
    document, "report", " with forest plots and heat maps", ", without figures";
    Format::new("csv", "effects by model, row and arm, one line each", export::csv),
    Format::new("json", "the whole record", crate::format::pretty),
    Format::new("openmetrics", "effects for a monitor: OpenMetrics text", export::openmetrics),
];

pub fn fleet_brief(summary: &FleetSummary) -> Brief {
    of_document(&document(summary, false))
}

fn document(summary: &FleetSummary, with_figures: bool) -> Document {
    let mut outline = Outline::default();
    let decides = |it: &FleetEffect| matches!(it.verdict, Some(Verdict::Helps | Verdict::Hurts));
    let mut effects = summary.suites.iter().chain(&summary.effects);
    if summary.origin == Some(Origin::Measured) && effects.any(decides) {
        let texts = WHAT_TO_SET.map(|text| Block::Text(text.to_owned()));
        outline.add("set", "What to set", texts.into());
    }
    if with_figures {
        outline.add("map", "Workloads and CPU models", figures::maps(summary));
        outline.add("forest", "Effects, and the next machine", figures::forests(summary));
        outline.add("machines", "Machine by machine", figures::machines(summary));
    }
    outline.add("suites", "Over all rows", tables::suites(summary));
    outline.add("effects", "Effects by row and model", tables::effects(summary));
    outline.add("outliers", "Machines unlike the others", tables::outliers(summary));
    outline.add("fleet", "The fleet", tables::fleet(summary));
    outline.warnings(&summary.warnings);
    outline.add("method", "Method", vec![Block::List(method(summary))]);
    Document {
        kind: "Coretwin fleet",
        title: title(summary),
        marks: summary.origin.map(words::mark).into_iter().collect(),
        notice: notice(summary),
        sentences: summary.sentences.iter().map(|text| words::clean(text)).collect(),
        headlines: headlines(summary),
        facts: facts(summary),
        arms: figures::models(summary),
        sections: outline.sections,
        ..Document::default()
    }
}

/// What the verdicts mean for the decision, and where the lines to write down are.
const WHAT_TO_SET: [&str; 2] = [
    "HELPS: set that arm. HURTS: stay with the one it is compared with. NO MATERIAL DIFFERENCE: choose \
     by other grounds, such as security or licences. INCONCLUSIVE: these machines cannot decide it; \
     study more of them, or longer. Where CPU models differ, decide model by model.",
    "The lines for Slurm, Kubernetes, systemd and clouds are in each machine's own report, under the \
     same title: unpack its bundle (tar xzf bundles/MACHINE-….tar.gz -C FOLDER), then coretwin report \
     FOLDER.",
];

fn title(summary: &FleetSummary) -> String {
    let workloads = distinct(summary.effects.iter().map(|effect| &*effect.workload));
    match workloads.is_empty() {
        true => "nothing compared".to_owned(),
        false => words::shorten(&words::clean(&workloads.join(", ")), 90),
    }
}

fn notice(summary: &FleetSummary) -> Option<String> {
    if let Some(notice) = summary.origin.and_then(words::unmeasured) {
        return Some(notice);
    }
    match summary.comparison {
        Comparison::Smt => None,
        Comparison::StandIn => Some(
            "SMT was never switched off: one CPU per core stands in for it, while the other \
             siblings stay online and idle."
                .to_owned(),
        ),
        Comparison::None => Some(
            "These arms say nothing about SMT off against on, or the machines' arms differ in kind."
                .to_owned(),
        ),
    }
}

/// The primary effect of each arm: its suite, else its only row; over all models where several.
fn headlines(summary: &FleetSummary) -> Vec<Headline> {
    let mut headlines: Vec<((Origin, &str), Headline)> = Vec::new();
    // Suites come first, and lines over all models before those of each.
    for effect in summary.suites.iter().chain(&summary.effects) {
        let arm = (effect.origin, &*effect.arm);
        if headlines.iter().any(|(known, _)| *known == arm) {
            continue;
        }
        let row = match effect.rows {
            1 => words::clean(&effect.row),
            rows => number::count(rows.into(), "row"),
        };
        let model = effect.cpu_model.as_deref().filter(|_| summary.models.len() > 1);
        let model = model.map(|model| format!(", {}", words::clean(model))).unwrap_or_default();
        let headline = Headline {
            against: words::clean(&format!("{} against {}", effect.arm, effect.reference)),
            effect: amount(effect, effect.effect),
            interval: ends(effect, effect.low, effect.high)
                .map(|text| format!("{} {text}", effect.origin.interval_name(summary.confidence))),
            verdict: effect.verdict.map(|verdict| (verdict, verdict.to_string())),
            mark: effect.origin.mark().or(summary.origin.is_none().then_some("MEASURED")),
            basis: format!("{row}, {}{model}", number::count(effect.machines.into(), "machine")),
        };
        headlines.push((arm, headline));
    }
    headlines.into_iter().map(|(_, headline)| headline).collect()
}

fn facts(summary: &FleetSummary) -> String {
    let blocks: u64 = summary
        .effects
        .iter()
        .filter(|effect| summary.models.len() < 2 || effect.cpu_model.is_none())
        .map(|effect| effect.blocks)
        .max()
        .unwrap_or(0);
    format!(
        "{} · {} · {} of the row with most",
        number::count(summary.machines.into(), "machine"),
        number::count(summary.models.len() as u64, "CPU model"),
        number::count(blocks, "block"),
    )
}

fn method(summary: &FleetSummary) -> Vec<String> {
    vec![
        "Each machine is analysed by itself, in blocks, as in its own study's report; it brings one \
         effect with its error for each row and arm. The machine is the unit: blocks and studies of \
         one machine never count as machines."
            .to_owned(),
        "The mean over machines is that of a random-effects model: machines are taken as a sample, \
         whose true effects differ. Spread between machines by restricted maximum likelihood, \
         interval by Hartung and Knapp."
            .to_owned(),
        "The interval for the next machine is where the true effect on a machine of the same kind \
         lies with that probability, if it is drawn as these were. I² is the share of the spread \
         that is between machines, not within."
            .to_owned(),
        "Over all models the mean is that of this fleet as it is composed; another mix of models has \
         another mean."
            .to_owned(),
        "A machine is unlike the others where its effect lies outside what the others of its model \
         predict for it, more surely than happens by chance to one row in twenty (Holm over its \
         machines). Nothing is left out for it: the effects hold with it."
            .to_owned(),
        format!(
            "Verdict at a margin of ±{}: no material difference if the {} lies inside it, \
             else HELPS or HURTS if the {} excludes no effect, else inconclusive.",
            number::share(summary.margin),
            confidence::equivalence_interval(),
            summary.interval_name()
        ),
    ]
}
