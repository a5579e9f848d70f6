//! Sweep files: a grid of policies, machines, scenarios and seeds.

use super::expect::{MEASURES, measure};
use super::table;
use crate::Result;
use crate::built_in::BuiltIn;
use crate::core::preset;
use crate::document::{Document, Table};
use crate::kernel::Layout;
use crate::policies::Settings;
use coretwin_base::schema::SCHEMA;
use coretwin_base::simulation::sweep::{SweepMeasure, SweepPlan, SweepSpeeds};
use coretwin_base::suggest;

const CELLS_MAX: usize = 1_000_000;

/// The built-in sweep: what each of the five behaviours of Molnar's patch is worth.
pub const ABLATION: &str = include_str!("../../../sweeps/ablation.toml");

/// Reads a sweep; `file` is named in errors. Scenarios that end in `.toml` or `.json` are files, all
/// others built in.
pub fn read(file: &str, text: &str) -> Result<SweepPlan> {
    let document = Document::parse(file, text)?;
    let mut root = document.root();
    let (name, title) = (root.words("name")?.to_owned(), root.words("title")?.to_owned());
    let policies =
        list(&mut root, "policies", |text| Settings::parse(text).map(|settings| settings.text()))?;
    let reference = root.if_any("reference", |root, key| {
        let settings = Settings::parse(root.words(key)?);
        settings.map_err(|problem| root.refuse(key, problem))
    })?;
    let reference = reference.map_or_else(|| policies[0].clone(), |settings| settings.text());
    if !policies.contains(&reference) {
        return Err(root.refuse("reference", "is not among the policies"));
    }
    let topologies =
        list(&mut root, "topologies", |text| Layout::parse(text).map(|_| text.to_owned()))?;
    let scenarios = list(&mut root, "scenarios", scenario)?;
    let seeds = root.whole("seeds", 1..=1000)?;
    let speeds = speeds(&mut root)?;
    let until_ms = root.if_any("until_ms", |root, key| root.number(key, 0.001..=3.6e6))?;
    let measures = list(&mut root, "measures", known_measure)?;
    let cells = policies.len() * topologies.len() * scenarios.len() * seeds as usize;
    if cells > CELLS_MAX {
        return Err(root.refuse("", format!("has {cells} cells; at most {CELLS_MAX}")));
    }
    root.finish()?;
    Ok(SweepPlan {
        schema: SCHEMA,
        name,
        title,
        policies,
        reference,
        topologies,
        scenarios,
        seeds,
        speeds,
        until_ms,
        inputs: String::new(),
        measures,
    })
}

fn list<T: PartialEq>(
    root: &mut Table<'_>,
    key: &str,
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for text in root.texts(key)? {
        let one = read(text).map_err(|problem| root.refuse(key, problem))?;
        if found.contains(&one) {
            return Err(root.refuse(key, format!("holds '{text}' twice")));
        }
        found.push(one);
    }
    match found.is_empty() {
        true => Err(root.refuse(key, "is empty")),
        false => Ok(found),
    }
}

fn scenario(text: &str) -> std::result::Result<String, String> {
    if !text.ends_with(".toml") && !text.ends_with(".json") {
        BuiltIn::find(table::ALL, "scenario", text)?;
    }
    Ok(text.to_owned())
}

fn speeds(root: &mut Table<'_>) -> Result<SweepSpeeds> {
    match (root.has("preset"), root.has("slowdown")) {
        (true, false) => {
            let found = BuiltIn::find(preset::table::ALL, "preset", root.words("preset")?);
            let found = found.map_err(|problem| root.refuse("preset", problem))?;
            Ok(SweepSpeeds::Preset(found.name.to_owned()))
        }
        (false, true) => Ok(SweepSpeeds::Slowdown(root.number("slowdown", 1.0..=8.0)?)),
        _ => {
            // A misspelt one of the two is reported as such.
            root.no_strangers(&["until_ms", "measures"])?;
            Err(root.refuse("", "needs either preset = \"NAME\" or slowdown = NUMBER"))
        }
    }
}

fn known_measure(key: &str) -> std::result::Result<SweepMeasure, String> {
    let found = measure(key).ok_or_else(|| {
        let known: Vec<&str> = MEASURES.iter().map(|measure| measure.key).collect();
        suggest::unknown("measure", key, &known)
    })?;
    Ok(SweepMeasure { key: key.to_owned(), about: found.about.to_owned(), better: found.better })
}
