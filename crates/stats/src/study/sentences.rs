//! The answer in words: one sentence per arm that somebody can act on.

use super::belief;
use super::pair::pair_comparison;
use super::phrase::{counted, percent, signed_percent};
use crate::confidence;
use crate::stopping;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::boot::Promise;
use coretwin_base::study::plan::{Comparison, CopyRule, Plan, PlanArm, Protocol, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{RowEffect, StoppedBecause, SuiteEffect, Summary, Verdict};

/// What an emulated processor cannot tell.
const NO_SMT: &str = "this says nothing of SMT in hardware, so there is no verdict";

/// One text per arm other than the reference.
pub(super) fn write(plan: &Plan, summary: &Summary) -> Vec<String> {
    let reference = &plan.arms[plan.reference_index()];
    plan.arms
        .iter()
        .filter(|arm| arm.label != reference.label)
        .map(|arm| {
            let comparison = pair_comparison(plan, arm);
            Answer { plan, summary, arm, reference, comparison }.text()
        })
        .collect()
}

/// What is asked of an arm and its reference.
#[derive(Clone, Copy, PartialEq)]
enum Question {
    /// Is the arm with all siblings better than the reference without?
    SiblingsInArm,
    /// Is the arm without siblings better than the reference with all?
    SiblingsInReference,
    /// Is one arm better than another?
    Plain,
}

/// What a sentence is about: a suite, or a row where there is no suite.
struct Headline {
    subject: String,
    scale: Scale,
    unit: String,
    effect: f64,
    interval: Option<(f64, f64)>,
    interval_90: Option<(f64, f64)>,
    blocks: u32,
    verdict: Option<Verdict>,
    blocks_needed: Option<u32>,
}

struct Answer<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
    arm: &'a PlanArm,
    reference: &'a PlanArm,
    comparison: Comparison,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let Some(result) = self.result() else {
            let (arm, reference) = (&self.arm.label, &self.reference.label);
            return format!(
                "No result for {arm} against {reference}: no block has values of both that count; \
                 the warnings say what failed or disturbed them."
            );
        };
        let mut text = match (result.verdict, result.interval) {
            _ if self.summary.origin != Origin::Measured => self.unmeasured(&result),
            (Some(verdict), Some(interval)) => self.decided(&result, verdict, interval),
            _ => self.undecided(&result),
        };
        if let Some(families) = self.families() {
            text.push_str(&families);
        }
        if self.comparison == Comparison::None {
            let is_plain = |arm: &PlanArm| matches!(arm.state, ArmState::Cpus(_));
            text.push_str(if is_plain(self.arm) || is_plain(self.reference) {
                " This compares sets of CPUs; it is no verdict on SMT."
            } else {
                " This is no verdict on SMT off against on."
            });
        }
        text
    }

    /// The suite over everything, else the only suite, else the first row with an effect.
    fn result(&self) -> Option<Headline> {
        let of_arm = |suite: &&SuiteEffect| suite.arm == self.arm.label && suite.ratio.is_some();
        if let Some(suite) = self.summary.suites.iter().rfind(of_arm) {
            return Some(Headline {
                subject: subject(&suite.suite),
                scale: Scale::Ratio,
                unit: String::new(),
                effect: suite.ratio?,
                interval: suite.low.zip(suite.high),
                interval_90: suite.low_90.zip(suite.high_90),
                blocks: suite.blocks,
                verdict: suite.verdict,
                blocks_needed: suite.blocks_needed,
            });
        }
        let of_arm = |row: &&RowEffect| row.arm == self.arm.label && row.ratio.is_some();
        let row = self.summary.rows.iter().find(of_arm)?;
        Some(Headline {
            subject: row.row.clone(),
            scale: row.scale,
            unit: row.unit.clone(),
            effect: row.ratio?,
            interval: row.low.zip(row.high),
            interval_90: None,
            blocks: row.blocks,
            verdict: row.verdict,
            blocks_needed: row.blocks_needed,
        })
    }

    fn question(&self) -> Question {
        let states = (&self.arm.state, &self.reference.state);
        match (self.comparison, states) {
            (Comparison::Smt, (ArmState::On, ArmState::Off))
            | (Comparison::StandIn, (ArmState::On, ArmState::OnePerCore)) => {
                Question::SiblingsInArm
            }
            (Comparison::Smt, (ArmState::Off, ArmState::On))
            | (Comparison::StandIn, (ArmState::OnePerCore, ArmState::On)) => {
                Question::SiblingsInReference
            }
            (Comparison::Smt, (ArmState::Boot(_), ArmState::Boot(_))) => {
                if self.arm.smt == Some(true) {
                    Question::SiblingsInArm
                } else {
                    Question::SiblingsInReference
                }
            }
            _ => Question::Plain,
        }
    }

    fn decided(&self, result: &Headline, verdict: Verdict, interval: (f64, f64)) -> String {
        let action = self.action(&result.subject, verdict);
        let margin = self.summary.margin * 100.0;
        let blocks = result.blocks;
        let compared = self.compared();
        let settings = self.settings();
        let size = format!("{}{settings}", self.size(result, result.effect));
        let word = match self.comparison {
            Comparison::None => String::new(),
            Comparison::Smt | Comparison::StandIn => format!(" ({verdict})"),
        };
        match verdict {
            Verdict::Helps | Verdict::Hurts => {
                let near = if verdict == Verdict::Helps { interval.0 } else { interval.1 };
                let near = self.amount(result, near);
                format!(
                    "{action}{word}: {size}, by at least {near} (near end of the {}, {blocks} blocks), \
                     {compared}.",
                    confidence::interval(),
                )
            }
            Verdict::NoMaterialDifference => {
                // A row is stored with its wider interval only, which may reach over the margin.
                let narrower = confidence::equivalence_interval();
                let (name, (low, high), inside) = match result.interval_90 {
                    Some(ends) => (narrower, ends, "inside".to_owned()),
                    None => (
                        confidence::interval(),
                        interval,
                        format!("and its {narrower} lies inside"),
                    ),
                };
                let range = self.range(result, low, high);
                format!(
                    "{action}{word}: {range}{settings} {compared} ({name}, {blocks} blocks), \
                     {inside} the margin of {margin} %."
                )
            }
            Verdict::Inconclusive => {
                let range = self.range(result, interval.0, interval.1);
                let more = match result.blocks_needed {
                    Some(needed) if needed < stopping::FORECAST_MAX => {
                        format!("about {needed} blocks would decide, four times in five")
                    }
                    _ => "no practical number of blocks would decide".to_owned(),
                };
                format!(
                    "{action}{word}: {range}{settings} {compared} ({}, {blocks} blocks); {more}.",
                    confidence::interval(),
                )
            }
        }
    }

    /// The head of the sentence: what to do.
    fn action(&self, subject: &str, verdict: Verdict) -> String {
        let (arm, reference) = (&self.arm.label, &self.reference.label);
        let stand_in = self.comparison == Comparison::StandIn;
        let without = if stand_in {
            format!("Run {subject} on one CPU per core")
        } else {
            format!("Switch SMT off for {subject}{}", self.way())
        };
        let with = format!("Keep SMT on for {subject}");
        match (verdict, self.question()) {
            (Verdict::Helps, Question::SiblingsInArm)
            | (Verdict::Hurts, Question::SiblingsInReference) => with,
            (Verdict::Helps, Question::SiblingsInReference)
            | (Verdict::Hurts, Question::SiblingsInArm) => without,
            (Verdict::Helps, Question::Plain) => format!("Choose {arm} for {subject}"),
            (Verdict::Hurts, Question::Plain) => format!("Stay with {reference} for {subject}"),
            (Verdict::NoMaterialDifference, Question::Plain) => {
                format!("Choose between {arm} and {reference} by other needs for {subject}")
            }
            (Verdict::NoMaterialDifference, _) => {
                format!("Decide about SMT by other needs than the speed of {subject}")
            }
            (Verdict::Inconclusive, _) => format!("Measure longer before deciding for {subject}"),
        }
    }

    /// How SMT is switched off, where that was a boot of its own.
    fn way(&self) -> String {
        let without = [self.arm, self.reference].into_iter().find(|arm| arm.smt == Some(false));
        match without.map(|arm| &arm.state) {
            Some(ArmState::Boot(name)) => match Promise::of(name) {
                Promise::Parameter(word) => format!(", by booting with {word}"),
                Promise::Smt(_) => String::new(),
                Promise::Release(name) | Promise::Free(name) => format!(", as in boot {name}"),
            },
            _ => String::new(),
        }
    }

    /// What models predict, or what an emulator took: no verdict, and how far it can be believed.
    fn unmeasured(&self, result: &Headline) -> String {
        let (more, less) = self.words();
        let none = if result.scale == Scale::Ratio { 1.0 } else { 0.0 };
        let word = if result.effect >= none { more } else { less };
        let amount = self.amount(result, result.effect);
        let name = self.summary.origin.interval_name(confidence::CONFIDENCE);
        let spread = result.interval.map(|(low, high)| {
            let blocks = counted(result.blocks.into(), "block");
            format!("; {name} {} ({blocks})", self.ends(result, low, high))
        });
        let (what, belief) = match self.summary.origin {
            Origin::Emulated => ("timed on an emulated processor", NO_SMT.to_owned()),
            _ => ("predicted", belief::belief(self.summary.prediction.as_deref())),
        };
        format!(
            "For {}: {what} {word} by {amount}{} {}{}; {belief}.",
            result.subject,
            self.settings(),
            self.compared(),
            spread.unwrap_or_default(),
        )
    }

    /// A result that carries no verdict, and why.
    fn undecided(&self, result: &Headline) -> String {
        let (subject, blocks) = (&result.subject, result.blocks);
        let shown = self.shown(result);
        if self.summary.interim {
            return format!(
                "Interim, {}: no verdict on {subject}. So far {shown} ({}). To decide it, {}.",
                self.stopped(),
                counted(blocks.into(), "block"),
                super::warnings::more_blocks(self.plan, self.summary.stopped_because)
            );
        }
        match self.summary.protocol {
            Protocol::Quick => format!(
                "Screening only, no verdict on {subject}: {shown} ({blocks} blocks). Run the study \
                 without --quick to decide."
            ),
            Protocol::Article2003 => format!(
                "By the protocol of 2003, for {subject}: {shown} ({blocks} runs, no interval, no \
                 verdict)."
            ),
            Protocol::Modern | Protocol::Fixed => format!(
                "Too few blocks for a verdict on {subject} ({blocks}): {shown}. To get more, {}.",
                super::warnings::more_blocks(self.plan, self.summary.stopped_because)
            ),
        }
    }

    /// How far a study came that was stopped.
    fn stopped(&self) -> String {
        let (done, most) = (self.summary.blocks, self.plan.blocks_max());
        let of = if self.plan.rules.looks.len() > 1 { "at most " } else { "" };
        let how = match self.summary.stopped_because {
            StoppedBecause::Reboot => "waiting for a reboot",
            _ => "stopped",
        };
        format!("{how} after {done} of {of}{most} blocks")
    }

    /// An effect without a verdict. One whose interval reaches to both sides has no direction.
    fn shown(&self, result: &Headline) -> String {
        let compared = self.compared();
        let size = match self.size(result, result.effect) {
            size if size == "0.0 %" => {
                let (more, less) = self.words();
                format!("{size} {less} or {more}")
            }
            size => size,
        };
        let settings = self.settings();
        let Some((low, high)) = result.interval else {
            return format!("{size}{settings} {compared}");
        };
        let ends =
            format!("the {} goes from {}", confidence::interval(), self.ends(result, low, high));
        let none = if result.scale == Scale::Ratio { 1.0 } else { 0.0 };
        if low < none && none < high {
            return format!("no direction visible{settings}; {ends} {compared}");
        }
        format!("{size}{settings} {compared}; {ends}")
    }

    /// Verdicts of the families behind the suite `all`.
    fn families(&self) -> Option<String> {
        let of_arm = |suite: &&SuiteEffect| suite.arm == self.arm.label && suite.ratio.is_some();
        let suites: Vec<&SuiteEffect> = self.summary.suites.iter().filter(of_arm).collect();
        if suites.len() < 2 {
            return None;
        }
        let named: Vec<String> = suites
            .iter()
            .filter(|suite| suite.suite != super::suites::ALL)
            .map(|suite| {
                let percent = signed_percent(suite.ratio.unwrap_or(1.0));
                match suite.verdict.filter(|_| self.comparison != Comparison::None) {
                    Some(verdict) => format!("{} {percent} {verdict}", suite.suite),
                    None => format!("{} {percent}", suite.suite),
                }
            })
            .collect();
        Some(format!(" By family: {}.", named.join(", ")))
    }

    /// "with on (16 threads on 16 CPUs) than with one-per-core (8 threads on 8 CPUs)".
    fn compared(&self) -> String {
        let rows: Vec<&RowEffect> =
            self.summary.rows.iter().filter(|row| row.arm == self.arm.label).collect();
        let same = |number: fn(&RowEffect) -> u32| {
            let first = rows.first().map(|row| number(row))?;
            rows.iter().all(|row| number(row) == first).then_some(first)
        };
        let threads_told = self.uses_threads();
        let describe = |arm: &PlanArm, threads: Option<u32>| {
            let cpus = counted(arm.cpus.len() as u64, "CPU");
            let threads = threads.filter(|&threads| threads > 0 && threads_told);
            match (self.copies(arm), threads) {
                (Some(copies), _) => format!("{} ({copies} on {cpus})", arm.label),
                (None, Some(threads)) => {
                    format!("{} ({} on {cpus})", arm.label, counted(threads.into(), "thread"))
                }
                (None, None) => format!("{} ({cpus})", arm.label),
            }
        };
        let arm = describe(self.arm, same(|row| row.threads));
        let reference = describe(self.reference, same(|row| row.threads_reference));
        format!("with {arm} than with {reference}")
    }

    /// Whether the thread number reaches the work: a command gets it only where it asks for it.
    fn uses_threads(&self) -> bool {
        let Some(command) = &self.plan.command else { return true };
        let server = command.server.as_ref().map(|server| &server.command);
        let mut lines =
            command.argv.iter().chain(server).chain(&command.prepare).chain(&command.cleanup);
        lines.any(|line| line.contains("{threads}"))
    }

    /// "4 copies", where rows run several side by side and all of them equally many.
    fn copies(&self, arm: &PlanArm) -> Option<String> {
        let rule = self.plan.rows.first()?.copies;
        if rule == CopyRule::Fixed(1) || self.plan.rows.iter().any(|row| row.copies != rule) {
            return None;
        }
        let copies = match rule {
            CopyRule::PerCpu => arm.threads,
            CopyRule::Fixed(copies) => copies,
        };
        Some(if copies == 1 { "1 copy".to_owned() } else { format!("{copies} copies") })
    }

    /// " over 4 settings of threads and copies (rows range from .. to ..)", where the rows are one
    /// command in several settings: their mean alone would hide what each of them does.
    fn settings(&self) -> String {
        let rows: Vec<&RowEffect> = self
            .summary
            .rows
            .iter()
            .filter(|row| row.arm == self.arm.label && row.scale == Scale::Ratio)
            .collect();
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio).collect();
        let low = ratios.iter().copied().reduce(f64::min);
        let high = ratios.iter().copied().reduce(f64::max);
        match (low, high) {
            (Some(low), Some(high))
                if ratios.len() > 1 && rows.iter().all(|row| row.workload == "command") =>
            {
                let (count, low, high) = (ratios.len(), self.ratio(low), self.ratio(high));
                format!(
                    " over {count} settings of threads and copies (rows range from {low} to {high})"
                )
            }
            _ => String::new(),
        }
    }

    /// Whether every row measures speed, so that "faster" is the word; else it is "better".
    fn words(&self) -> (&'static str, &'static str) {
        const TIMES: [&str; 11] =
            ["s", "ms", "us", "µs", "ns", "min", "h", "seconds", "cycles", "ns/op", "us/op"];
        let is_speed = |row: &RowEffect| match row.better {
            Better::Lower => TIMES.contains(&row.unit.as_str()),
            Better::Higher => row.unit.contains("/s") || row.unit.ends_with("per second"),
        };
        if self.summary.rows.iter().all(is_speed) {
            ("faster", "slower")
        } else {
            ("better", "worse")
        }
    }

    /// How much, without direction: "3.1 %" or "0.4 us".
    fn amount(&self, result: &Headline, effect: f64) -> String {
        match result.scale {
            Scale::Ratio => percent(effect),
            Scale::Raw => format!("{:.3} {}", libm::fabs(effect), result.unit),
        }
    }

    /// How much and which way: "3.1 % faster".
    fn size(&self, result: &Headline, effect: f64) -> String {
        let none = if result.scale == Scale::Ratio { 1.0 } else { 0.0 };
        self.directed(self.amount(result, effect), effect >= none)
    }

    fn ratio(&self, ratio: f64) -> String {
        self.directed(percent(ratio), ratio >= 1.0)
    }

    fn directed(&self, amount: String, is_more: bool) -> String {
        let (more, less) = self.words();
        let word = if is_more { more } else { less };
        // A difference that rounds to none has no direction.
        if amount == "0.0 %" { amount } else { format!("{amount} {word}") }
    }

    fn ends(&self, result: &Headline, low: f64, high: f64) -> String {
        format!("{} to {}", self.size(result, low), self.size(result, high))
    }

    fn range(&self, result: &Headline, low: f64, high: f64) -> String {
        let (from, to) = (self.size(result, low), self.size(result, high));
        if from == "0.0 %" && to == from {
            let (more, less) = self.words();
            return format!("less than 0.1 % {less} or {more}");
        }
        format!("between {from} and {to}")
    }
}

/// A suite as a sentence names it.
fn subject(suite: &str) -> String {
    match suite {
        super::suites::ALL => "these workloads".to_owned(),
        "command" => "your command".to_owned(),
        name => name.to_owned(),
    }
}
