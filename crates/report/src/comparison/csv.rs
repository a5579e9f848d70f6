//! Tidy CSV: every effect and value of rows and suites, one line each; RFC 4180 quoting. Numbers
//! ending in `_1` are the first study's, in `_2` the second's; those without are second against
//! first. An empty field is a missing number.

use crate::csv::{field, optional, word};
use coretwin_base::study::comparison::{
    Contrast, EffectChange, StudyComparison, SuiteChange, ValueChange,
};
use coretwin_base::study::plan::Scale;
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::RowEffect;

const COLUMNS: [&str; 30] = [
    "kind",
    "name",
    "arm",
    "reference_arm",
    "unit",
    "better",
    "scale",
    "study_1",
    "value_reference_1",
    "value_arm_1",
    "ratio_1",
    "low_1",
    "high_1",
    "blocks_1",
    "study_2",
    "value_reference_2",
    "value_arm_2",
    "ratio_2",
    "low_2",
    "high_2",
    "blocks_2",
    "ratio",
    "low",
    "high",
    "degrees",
    "p",
    "p_adjusted",
    "change",
    "origin_1",
    "origin_2",
];

/// One study's part of a line: reference, arm, effect and its ends, blocks.
type Part = ([Option<f64>; 5], u32);

struct Line<'a> {
    kind: &'a str,
    name: &'a str,
    arm: &'a str,
    unit: &'a str,
    better: Better,
    scale: Scale,
    parts: [Part; 2],
    contrast: &'a Contrast,
}

pub(super) fn csv(comparison: &StudyComparison) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    let effects = comparison.suites.iter().map(suite).chain(comparison.effects.iter().map(effect));
    let suites = comparison.value_suites.iter().map(|line| value("value_suite", line));
    let values = comparison.values.iter().map(|line| value("value", line));
    for line in effects.chain(suites).chain(values) {
        write(&mut out, comparison, &line);
    }
    out
}

fn suite(suite: &SuiteChange) -> Line<'_> {
    let [a, _] = &suite.effects;
    Line {
        kind: "effect_suite",
        name: &a.suite,
        arm: &a.arm,
        unit: "",
        better: Better::Higher,
        scale: Scale::Ratio,
        parts: suite
            .effects
            .each_ref()
            .map(|effect| ([None, None, effect.ratio, effect.low, effect.high], effect.blocks)),
        contrast: &suite.interaction,
    }
}

fn effect(line: &EffectChange) -> Line<'_> {
    let [a, _] = &line.effects;
    Line {
        kind: "effect",
        name: &a.row,
        arm: &a.arm,
        unit: &a.unit,
        better: a.better,
        scale: a.scale,
        parts: line.effects.each_ref().map(|effect| {
            let RowEffect { value_reference, value_arm, ratio, low, high, .. } = effect;
            ([*value_reference, *value_arm, *ratio, *low, *high], effect.blocks)
        }),
        contrast: &line.interaction,
    }
}

fn value<'a>(kind: &'a str, line: &'a ValueChange) -> Line<'a> {
    Line {
        kind,
        name: &line.name,
        arm: &line.arm,
        unit: &line.unit,
        better: line.better,
        scale: line.scale,
        parts: [0, 1]
            .map(|study: usize| ([None, line.values[study], None, None, None], line.blocks[study])),
        contrast: &line.contrast,
    }
}

fn write(out: &mut String, comparison: &StudyComparison, line: &Line<'_>) {
    out.push_str(line.kind);
    let reference = comparison.reference_arm.as_str();
    for text in [line.name, line.arm, reference, line.unit, line.better.name(), line.scale.name()] {
        out.push(',');
        field(out, text);
    }
    for (study, (numbers, blocks)) in comparison.studies.iter().zip(&line.parts) {
        out.push(',');
        field(out, &study.head);
        optional(out, numbers);
        out.push_str(&format!(",{blocks}"));
    }
    let Contrast { ratio, low, high, degrees, p, p_adjusted, change } = line.contrast;
    optional(out, &[*ratio, *low, *high, *degrees, *p, *p_adjusted]);
    let [first, second] = comparison.studies.each_ref().map(|study| study.origin);
    out.push_str(&format!(",{},{first},{second}\n", word(*change)));
}
