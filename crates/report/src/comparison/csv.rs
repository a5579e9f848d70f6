//! Tidy CSV of comparisons: every effect and value of rows and suites, one line each; RFC 4180 quoting.
//! Numbers ending in `_1` are the first study's or fleet's, in `_2` the second's; those without are
//! second against first. An empty field is a missing number; an empty `cpu_model` is all of them.

use crate::csv::{field, optional, word};
use coretwin_base::fleet::comparison::{FleetChange, FleetComparison};
use coretwin_base::origin::Origin;
use coretwin_base::study::comparison::{Contrast, StudyComparison, ValueChange};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{RowEffect, SuiteEffect};

const OF_STUDIES: &str = "kind,name,arm,reference_arm,unit,better,scale,\
                          study_1,value_reference_1,value_arm_1,ratio_1,low_1,high_1,blocks_1,\
                          study_2,value_reference_2,value_arm_2,ratio_2,low_2,high_2,blocks_2";
const OF_FLEETS: &str = "fleet_1,fleet_2,cpu_model,workload,row,arm,reference_arm,unit,better,scale,rows,\
                         effect_1,low_1,high_1,machines_1,effect_2,low_2,high_2,machines_2,\
                         machines_paired,machines_independent_1,machines_independent_2";
/// How every line ends.
const OF_CHANGES: &str = "ratio,low,high,degrees,p,p_adjusted,change,origin_1,origin_2";

/// One study's part of a line: reference, arm, effect and its ends; blocks.
type Part = ([Option<f64>; 5], u32);

pub(super) fn of_studies(comparison: &StudyComparison) -> String {
    let mut out = format!("{OF_STUDIES},{OF_CHANGES}\n");
    let mut line = |names: [&str; 4], better: Better, scale: Scale, parts: [Part; 2], contrast| {
        let [kind, name, arm, unit] = names;
        texts(&mut out, &[kind, name, arm, &comparison.reference_arm, unit]);
        out.push_str(&format!("{},{}", better.name(), scale.name()));
        for (study, (numbers, blocks)) in comparison.studies.iter().zip(&parts) {
            out.push(',');
            field(&mut out, &study.head);
            optional(&mut out, numbers);
            out.push_str(&format!(",{blocks}"));
        }
        change(&mut out, contrast, comparison.studies.each_ref().map(|study| study.origin));
    };
    for suite in &comparison.suites {
        let SuiteEffect { suite: name, arm, .. } = &suite.effects[0];
        let part = |one: &SuiteEffect| ([None, None, one.ratio, one.low, one.high], one.blocks);
        let names = ["effect_suite", name, arm, ""];
        let parts = suite.effects.each_ref().map(part);
        line(names, Better::Higher, Scale::Ratio, parts, &suite.interaction);
    }
    for effect in &comparison.effects {
        let RowEffect { row, arm, unit, better, scale, .. } = &effect.effects[0];
        let parts = effect.effects.each_ref().map(|one| {
            ([one.value_reference, one.value_arm, one.ratio, one.low, one.high], one.blocks)
        });
        line(["effect", row, arm, unit], *better, *scale, parts, &effect.interaction);
    }
    let suites = comparison.value_suites.iter().map(|line| ("value_suite", line));
    let values = comparison.values.iter().map(|line| ("value", line));
    for (kind, value) in suites.chain(values) {
        let ValueChange { name, arm, unit, values, blocks, .. } = value;
        let part = |study: usize| ([None, values[study], None, None, None], blocks[study]);
        let names = [kind, name, arm, unit];
        line(names, value.better, value.scale, [0, 1].map(part), &value.contrast);
    }
    out
}

pub(crate) fn of_fleets(comparison: &FleetComparison) -> String {
    let mut out = format!("{OF_FLEETS},{OF_CHANGES}\n");
    let [first, second] = comparison.fleets.each_ref().map(|fleet| fleet.head.as_str());
    for line in comparison.suites.iter().chain(&comparison.effects) {
        let FleetChange { cpu_model, workload, row, arm, reference, unit, .. } = line;
        let model = cpu_model.as_deref().unwrap_or("");
        texts(&mut out, &[first, second, model, workload, row, arm, reference, unit]);
        out.push_str(&format!("{},{},{}", line.better.name(), line.scale.name(), line.rows));
        for effect in &line.effects {
            optional(&mut out, &[Some(effect.effect), effect.low, effect.high]);
            out.push_str(&format!(",{}", effect.machines));
        }
        let [a, b] = line.machines_independent;
        out.push_str(&format!(",{},{a},{b}", line.machines_paired));
        change(&mut out, &line.change, line.origins);
    }
    out
}

fn texts(out: &mut String, texts: &[&str]) {
    for text in texts {
        field(out, text);
        out.push(',');
    }
}

fn change(out: &mut String, contrast: &Contrast, [first, second]: [Origin; 2]) {
    let Contrast { ratio, low, high, degrees, p, p_adjusted, change } = contrast;
    optional(out, &[*ratio, *low, *high, *degrees, *p, *p_adjusted]);
    out.push_str(&format!(",{},{first},{second}\n", word(*change)));
}
