//! The answer in words: what each arm does more or less in the second study, and what became of the
//! rows themselves.

use crate::confidence;
use crate::study::phrase::{counted, signed_percent};
use crate::study::suites;
use coretwin_base::distinct::distinct;
use coretwin_base::study::comparison::{Change, Contrast, StudyComparison, ValueChange};
use coretwin_base::study::plan::Scale;

/// One sentence per arm other than the reference, and one on the values.
pub(super) fn write(comparison: &StudyComparison) -> Vec<String> {
    let arms = distinct(comparison.effects.iter().map(|line| line.effects[0].arm.as_str()));
    let answers = arms.into_iter().filter_map(|arm| Answer::new(comparison, arm));
    let mut sentences: Vec<String> = answers.map(|answer| answer.text(comparison)).collect();
    sentences.extend(values(comparison));
    sentences
}

/// What an arm's effect became, by the suite over everything, else the first row with a result.
struct Answer<'a> {
    arm: &'a str,
    subject: String,
    scale: Scale,
    unit: &'a str,
    effects: [Option<f64>; 2],
    blocks: [u32; 2],
    interaction: &'a Contrast,
}

impl<'a> Answer<'a> {
    fn new(comparison: &'a StudyComparison, arm: &'a str) -> Option<Self> {
        let suites = comparison.suites.iter().rev().map(|line| Self {
            arm: &line.effects[0].arm,
            subject: subject(&line.effects[0].suite),
            scale: Scale::Ratio,
            unit: "",
            effects: line.effects.each_ref().map(|effect| effect.ratio),
            blocks: line.effects.each_ref().map(|effect| effect.blocks),
            interaction: &line.interaction,
        });
        let rows = comparison.effects.iter().map(|line| Self {
            arm: &line.effects[0].arm,
            subject: line.effects[0].row.clone(),
            scale: line.effects[0].scale,
            unit: &line.effects[0].unit,
            effects: line.effects.each_ref().map(|effect| effect.ratio),
            blocks: line.effects.each_ref().map(|effect| effect.blocks),
            interaction: &line.interaction,
        });
        suites.chain(rows).find(|one| one.arm == arm && one.interaction.ratio.is_some())
    }

    fn text(&self, comparison: &StudyComparison) -> String {
        let Self { arm, subject, interaction, .. } = self;
        let [first, second] = comparison.studies.each_ref().map(|study| study.head.as_str());
        let reference = &comparison.reference_arm;
        let [from, to] = self.effects.map(|effect| self.amount(effect));
        let size = self.amount(interaction.ratio);
        let blocks = format!("{} and {}", self.blocks[0], counted(self.blocks[1].into(), "block"));
        let basis = match interaction.low.zip(interaction.high) {
            Some((low, high)) => {
                let [low, high] = [low, high].map(|end| self.amount(Some(end)));
                format!("{} {low} to {high}, {blocks}", comparison.interval_name())
            }
            None => format!("no interval, {blocks}"),
        };
        let sizes = format!(
            "over {reference} it is {to} in {second} and {from} in {first}, {size} between them \
             ({basis})"
        );
        changed(interaction.change, arm, subject, [first, second], &sizes, comparison.margin)
    }

    fn amount(&self, effect: Option<f64>) -> String {
        amount(effect, self.scale, self.unit)
    }
}

/// What became of an arm's effect on a subject, with its sizes; `heads` name what is compared.
pub(crate) fn changed(
    change: Option<Change>,
    arm: &str,
    subject: &str,
    [first, second]: [&str; 2],
    sizes: &str,
    margin: f64,
) -> String {
    match change {
        Some(Change::Better) => {
            format!("{arm} does more for {subject} in {second} than in {first} (BETTER): {sizes}.")
        }
        Some(Change::Worse) => {
            format!("{arm} does less for {subject} in {second} than in {first} (WORSE): {sizes}.")
        }
        Some(Change::NoMaterialChange) => format!(
            "{arm} does about the same for {subject} in both (NO MATERIAL CHANGE): {sizes}; the {} lies \
             inside the margin of {:.1} %.",
            confidence::equivalence_interval(),
            margin * 100.0
        ),
        Some(Change::Inconclusive) => format!(
            "Whether {arm} does more for {subject} in {second} than in {first} is open (INCONCLUSIVE): \
             {sizes}."
        ),
        None => format!("{arm} for {subject}: {sizes}; no verdict."),
    }
}

fn values(comparison: &StudyComparison) -> Option<String> {
    let arms = distinct(comparison.values.iter().map(|line| line.arm.as_str()));
    let has_result = |line: &&ValueChange| line.contrast.ratio.is_some();
    let of_arm = |arm: &str| {
        let suites = comparison.value_suites.iter().rev();
        let line =
            suites.chain(&comparison.values).filter(has_result).find(|line| line.arm == arm)?;
        let size = amount(line.contrast.ratio, line.scale, &line.unit);
        let interval = line.contrast.low.zip(line.contrast.high).map(|(low, high)| {
            let [low, high] = [low, high].map(|end| amount(Some(end), line.scale, &line.unit));
            format!(" ({low} to {high})")
        });
        Some(format!("{size} in {arm}{}", interval.unwrap_or_default()))
    };
    let parts: Vec<String> = arms.into_iter().filter_map(of_arm).collect();
    if parts.is_empty() {
        return None;
    }
    let [first, second] = comparison.studies.each_ref().map(|study| &study.head);
    Some(format!(
        "The values themselves, {second} against {first}: {}. These intervals cover the spread \
         between blocks, not that between boots or machines.",
        parts.join(", ")
    ))
}

/// "+3.1 %", "−0.400 us".
fn amount(effect: Option<f64>, scale: Scale, unit: &str) -> String {
    match (effect, scale) {
        (None, _) => "–".to_owned(),
        (Some(ratio), Scale::Ratio) => signed_percent(ratio),
        (Some(difference), Scale::Raw) => {
            let sign = if difference < 0.0 { "−" } else { "+" };
            format!("{sign}{:.3} {unit}", libm::fabs(difference))
        }
    }
}

fn subject(suite: &str) -> String {
    match suite {
        suites::ALL => "these workloads".to_owned(),
        "command" => "the command".to_owned(),
        name => name.to_owned(),
    }
}
