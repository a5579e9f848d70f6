//! Tidy CSV: every effect and value of rows and suites, one line each; RFC 4180 quoting. Numbers
//! ending in `_1` are the first study's, in `_2` the second's; those without are second against
//! first. An empty field is a number that there is none of.

use crate::csv::{field, number};
use coretwin_base::comparison::{Contrast, StudyComparison, ValueChange};
use coretwin_base::plan::Scale;
use coretwin_base::reading::Better;

const COLUMNS: [&str; 28] = [
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
    let mut out = COLUMNS.join(",");
    out.push('\n');
    for suite in &comparison.suites {
        let [a, _] = &suite.effects;
        let parts = suite
            .effects
            .each_ref()
            .map(|effect| ([None, None, effect.ratio, effect.low, effect.high], effect.blocks));
        write(
            &mut out,
            comparison,
            &Line {
                kind: "effect_suite",
                name: &a.suite,
                arm: &a.arm,
                unit: "",
                better: Better::Higher,
                scale: Scale::Ratio,
                parts,
                contrast: &suite.interaction,
            },
        );
    }
    for line in &comparison.effects {
        let [a, _] = &line.effects;
        let parts = line.effects.each_ref().map(|effect| {
            let values = [effect.value_reference, effect.value_arm];
            ([values[0], values[1], effect.ratio, effect.low, effect.high], effect.blocks)
        });
        write(
            &mut out,
            comparison,
            &Line {
                kind: "effect",
                name: &a.row,
                arm: &a.arm,
                unit: &a.unit,
                better: a.better,
                scale: a.scale,
                parts,
                contrast: &line.interaction,
            },
        );
    }
    let mut values = |kind: &str, lines: &[ValueChange]| {
        for line in lines {
            let parts = [0, 1].map(|study: usize| {
                ([None, line.values[study], None, None, None], line.blocks[study])
            });
            write(
                &mut out,
                comparison,
                &Line {
                    kind,
                    name: &line.name,
                    arm: &line.arm,
                    unit: &line.unit,
                    better: line.better,
                    scale: line.scale,
                    parts,
                    contrast: &line.contrast,
                },
            );
        }
    };
    values("value_suite", &comparison.value_suites);
    values("value", &comparison.values);
    out
}

fn write(out: &mut String, comparison: &StudyComparison, line: &Line<'_>) {
    let better = match line.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    let scale = match line.scale {
        Scale::Ratio => "ratio",
        Scale::Raw => "raw",
    };
    out.push_str(line.kind);
    let reference = comparison.reference_arm.as_str();
    for text in [line.name, line.arm, reference, line.unit, better, scale] {
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
    let change = change.map(|change| change.to_string().to_lowercase().replace(' ', "-"));
    out.push_str(&format!(",{}\n", change.unwrap_or_default()));
}

fn optional(out: &mut String, numbers: &[Option<f64>]) {
    for value in numbers {
        out.push(',');
        match value {
            // A p-value may be far too small to be written out.
            Some(value) if *value > 0.0 && *value < 1e-6 => out.push_str(&format!("{value:e}")),
            Some(value) => number(out, *value),
            None => {}
        }
    }
}
