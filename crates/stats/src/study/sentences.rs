//! The answer in words: one sentence per arm that somebody can act on.

use super::belief;
use super::headline::{Headline, Question};
use super::phrase::{counted, percent, separated, signed_percent};
use super::split;
use crate::confidence;
use crate::stopping;
use coretwin_base::distinct::distinct;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{Comparison, CopyRule, Plan, PlanArm, Protocol, Rule, Scale};
use coretwin_base::study::summary::{
    Capacity, Interaction, RowEffect, StoppedBecause, SuiteEffect, Summary, Verdict,
};

const NO_SMT: &str = "this says nothing of SMT in hardware, so there is no verdict";

/// One text per arm other than the reference.
pub(super) fn write(plan: &Plan, summary: &Summary) -> Vec<String> {
    let reference = &plan.arms[plan.reference_index()];
    plan.arms
        .iter()
        .filter(|arm| arm.label != reference.label)
        .map(|arm| {
            let reference = split::base(plan, summary, arm);
            let result = Headline::new(plan, summary, arm, reference);
            Answer { plan, summary, arm, reference, result }.text()
        })
        .collect()
}

/// `8120 (7900 to 8300)`, `at least 9000`, `an unknown number of`.
fn rate(found: &Capacity) -> String {
    let text = |rate: f64| match rate < 10.0 {
        true => format!("{rate:.2}"),
        false => separated(&format!("{rate:.0}")),
    };
    match (found.rate, found.rate_low, found.rate_high) {
        (Some(rate), Some(low), Some(high)) => {
            format!("{} ({} to {})", text(rate), text(low), text(high))
        }
        (Some(rate), ..) => text(rate),
        (None, Some(low), _) => format!("at least {}", text(low)),
        (None, None, Some(high)) => format!("at most {}", text(high)),
        (None, None, None) => "an unknown number of".to_owned(),
    }
}

/// What a change of command does in an arm beside what it does in the reference's, a sentence each.
pub fn interactions(plan: &Plan, summary: &Summary) -> Vec<String> {
    let state = |label: &str| plan.arm(label).map_or_else(String::new, |arm| arm.state_label());
    let tell = |interaction: &Interaction| {
        let Interaction { against, effect } = interaction;
        let arm = plan.arm(&effect.arm)?;
        let [name, base] = [arm, plan.base_of(arm)].map(|arm| arm.variant.as_ref());
        let (ratio, low, high) = (effect.ratio?, effect.low?, effect.high?);
        let word = effect.verdict.map(|verdict| format!("{}: ", interaction_word(verdict)));
        Some(format!(
            "{}{} over {} {} ({} to {}), {} beside {}",
            word.unwrap_or_default(),
            name?.name,
            base?.name,
            signed_percent(ratio),
            signed_percent(low).trim_end_matches(" %"),
            signed_percent(high),
            state(&effect.arm),
            state(against),
        ))
    };
    summary.interactions.iter().filter_map(tell).collect()
}

/// The verdict on an interaction: whether a change of command gains as much in an arm as in the other.
pub fn interaction_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Helps => "GAINS MORE",
        Verdict::Hurts => "GAINS LESS",
        Verdict::NoMaterialDifference => "NO MATERIAL DIFFERENCE",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

struct Answer<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
    arm: &'a PlanArm,
    reference: &'a PlanArm,
    result: Headline,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let Some(effect) = self.result.effect else {
            if let Some(found) = self.result.capacity.as_ref().filter(|found| found.blocks > 0) {
                return self.undecided_capacity(found);
            }
            let (arm, reference) = (&self.arm.label, &self.reference.label);
            return format!(
                "No result for {arm} against {reference}: no block has values of both that count; \
                 the warnings say what failed or disturbed them."
            );
        };
        let on_capacity = self.result.capacity.as_ref().map(|found| self.on_capacity(found));
        let mut text = match (self.result.verdict, self.result.interval) {
            _ if on_capacity.is_some() => on_capacity.unwrap_or_default(),
            _ if self.summary.origin != Origin::Measured => self.unmeasured(effect),
            (Some(verdict), Some(interval)) => self.decided(effect, verdict, interval),
            _ => self.undecided(effect),
        };
        if let Some(families) = self.families() {
            text.push_str(&families);
        }
        if self.result.comparison == Comparison::None && self.result.question == Question::Plain {
            let is_plain = |arm: &PlanArm| matches!(arm.state, ArmState::Cpus(_));
            text.push_str(if is_plain(self.arm) || is_plain(self.reference) {
                " This compares sets of CPUs; it is no verdict on SMT."
            } else {
                " This is no verdict on SMT off against on."
            });
        }
        text
    }

    /// What each arm carries at the objective, with the verdict on it.
    fn on_capacity(&self, found: &Capacity) -> String {
        let Self { arm, reference, .. } = self;
        let times = self.result.times().unwrap_or_default();
        let action = match self.result.verdict {
            Some(verdict) => format!("{} ({}): ", self.action(verdict), self.result.word),
            None => format!("{}: ", self.result.word),
        };
        let blocks = counted(found.blocks.into(), "block");
        let interval = match self.result.interval {
            Some((low, high)) => format!(
                " ({} {low:.2} to {high:.2}, {blocks})",
                confidence::interval_of(self.summary.rule)
            ),
            None => format!(" ({blocks})"),
        };
        let own = self.summary.load.iter().find(|found| found.arm == reference.label);
        let rates = [Some(found), own].map(|found| found.map_or_else(String::new, rate));
        let bounds = match found.bounds + own.map_or(0, |own| own.bounds) {
            0 => String::new(),
            _ => {
                " Where every rate of the curve keeps the objective, or none does, only a bound is \
                  known."
                    .to_owned()
            }
        };
        format!(
            "{action}{} carries {times} the requests of {} at {}{interval}: {} a second against {}.{bounds}",
            arm.label,
            reference.label,
            found.slo.words(),
            rates[0],
            rates[1],
        )
    }

    /// Neither arm's curve reaches the objective from both sides.
    fn undecided_capacity(&self, found: &Capacity) -> String {
        let Self { arm, reference, .. } = self;
        let own = self.summary.load.iter().find(|found| found.arm == reference.label);
        let rates = [Some(found), own].map(|found| found.map_or_else(String::new, rate));
        format!(
            "No result at {}: {} carries {} requests a second and {} {}, so their ratio is unknown. \
             Choose rates below and above, like --load-curve auto.",
            found.slo.words(),
            arm.label,
            rates[0],
            reference.label,
            rates[1],
        )
    }

    fn decided(&self, effect: f64, verdict: Verdict, interval: (f64, f64)) -> String {
        let result = &self.result;
        let action = self.action(verdict);
        let margin = self.summary.margin * 100.0;
        let blocks = result.blocks;
        let rule = self.summary.rule;
        let beyond = match rule {
            Rule::Width => String::new(),
            Rule::Verdict => format!(", beyond the margin of {margin} %"),
        };
        let compared = self.compared();
        let settings = self.settings();
        let size = format!("{}{settings}", self.result.size(effect));
        let word = match self.result.comparison {
            Comparison::None if self.result.question == Question::Commands => {
                format!(" ({})", self.result.word)
            }
            Comparison::None => String::new(),
            Comparison::Smt | Comparison::StandIn => format!(" ({verdict})"),
        };
        match verdict {
            Verdict::Helps | Verdict::Hurts => {
                let near = if verdict == Verdict::Helps { interval.0 } else { interval.1 };
                let near = self.result.amount(near);
                format!(
                    "{action}{word}: {size}, by at least {near} ({}, {blocks} blocks), \
                     {compared}{beyond}.",
                    confidence::interval_of(rule),
                )
            }
            Verdict::NoMaterialDifference => {
                // A row is stored with its wider interval only, which may reach over the margin.
                let narrower = confidence::equivalence_interval();
                let (name, (low, high), inside) = match result.interval_90 {
                    _ if rule == Rule::Verdict => {
                        (confidence::sequence(), interval, "inside".to_owned())
                    }
                    Some(ends) => (narrower, ends, "inside".to_owned()),
                    None => (
                        confidence::interval(),
                        interval,
                        format!("and its {narrower} lies inside"),
                    ),
                };
                let range = self.range(low, high);
                format!(
                    "{action}{word}: {range}{settings} {compared} ({name}, {blocks} blocks), \
                     {inside} the margin of {margin} %."
                )
            }
            Verdict::Inconclusive => {
                let range = self.range(interval.0, interval.1);
                let more = match result.blocks_needed {
                    Some(needed) if needed < stopping::FORECAST_MAX => {
                        format!("about {needed} blocks would decide, four times in five")
                    }
                    _ => "no practical number of blocks would decide".to_owned(),
                };
                format!(
                    "{action}{word}: {range}{settings} {compared} ({}, {blocks} blocks); {more}.",
                    confidence::interval_of(rule),
                )
            }
        }
    }

    fn action(&self, verdict: Verdict) -> String {
        let (subject, arm, reference) =
            (&self.result.subject, &self.arm.label, &self.reference.label);
        match (self.result.action(), verdict, self.result.question) {
            (Some(action), ..) => {
                let way = if action.starts_with("switch") { &self.result.way } else { "" };
                action[..1].to_uppercase() + &action[1..] + way
            }
            (None, ..) if self.result.is_control => {
                format!("Control, {reference} once more as {arm}")
            }
            (None, Verdict::NoMaterialDifference, Question::Commands) => {
                format!("Choose between {arm} and {reference} by other needs")
            }
            (None, _, Question::Commands) => "Measure longer before deciding".to_owned(),
            (None, Verdict::NoMaterialDifference, Question::Plain) => {
                format!("Choose between {arm} and {reference} by other needs for {subject}")
            }
            (None, Verdict::NoMaterialDifference, _) => {
                format!("Decide about SMT by other needs than the speed of {subject}")
            }
            (None, ..) => format!("Measure longer before deciding for {subject}"),
        }
    }

    /// What models predict, or what an emulator took: no verdict, and how far it can be believed.
    fn unmeasured(&self, effect: f64) -> String {
        let result = &self.result;
        let (more, less) = result.words();
        let word = if effect >= result.none() { more } else { less };
        let amount = self.result.amount(effect);
        let name = self.summary.origin.interval_name(confidence::CONFIDENCE);
        let spread = result.interval.map(|(low, high)| {
            let blocks = counted(result.blocks.into(), "block");
            format!("; {name} {} ({blocks})", self.ends(low, high))
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

    fn undecided(&self, effect: f64) -> String {
        let (subject, blocks) = (&self.result.subject, self.result.blocks);
        let shown = self.shown(effect);
        if self.summary.interim {
            return format!(
                "Interim, {}: no verdict on {subject}. So far {shown} ({}). To decide it, {}.",
                self.stopped(),
                counted(blocks.into(), "block"),
                super::warnings::more_blocks(self.plan, self.summary.stopped_because)
            );
        }
        match self.summary.protocol {
            Protocol::Quick if self.plan.rules.is_screening() => format!(
                "Screening only, no verdict on {subject}: {shown} ({blocks} blocks). Run the study \
                 without --quick to decide."
            ),
            Protocol::Article2003 => format!(
                "By the protocol of 2003, for {subject}: {shown} ({blocks} runs, no interval, no \
                 verdict)."
            ),
            _ if self.result.is_withheld => format!(
                "No verdict, for the control differs from itself: {shown} ({blocks} blocks)."
            ),
            Protocol::Modern | Protocol::Fixed | Protocol::Quick => format!(
                "Too few blocks for a verdict on {subject} ({blocks}): {shown}. To get more, {}.",
                super::warnings::more_blocks(self.plan, self.summary.stopped_because)
            ),
        }
    }

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
    fn shown(&self, effect: f64) -> String {
        let compared = self.compared();
        let size = match self.result.size(effect) {
            size if size == "0.0 %" => {
                let (more, less) = self.result.words();
                format!("{size} {less} or {more}")
            }
            size => size,
        };
        let settings = self.settings();
        let Some((low, high)) = self.result.interval else {
            return format!("{size}{settings} {compared}");
        };
        let ends = format!("the {} goes from {}", confidence::interval(), self.ends(low, high));
        if self.result.is_open() {
            return format!("no direction visible{settings}; {ends} {compared}");
        }
        format!("{size}{settings} {compared}; {ends}")
    }

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
                match suite.verdict.filter(|_| self.result.comparison != Comparison::None) {
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
        let threads_told = self.plan.command.as_ref().is_none_or(CommandSpec::uses_threads);
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
        // Of a split it need not be the one that the rows are compared with.
        let of_split = self.plan.split.as_ref().map(|_| self.reference.threads);
        let of_rows = same(|row| row.threads_reference);
        let reference = describe(self.reference, of_split.or(of_rows));
        format!("with {arm} than with {reference}")
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
                    " over {count} settings of {} (rows range from {low} to {high})",
                    self.varied()
                )
            }
            _ => String::new(),
        }
    }

    /// Names of the parameters that rows differ in.
    fn varied(&self) -> String {
        let own = self.plan.rows.iter().flat_map(|row| row.params.keys().map(String::as_str));
        let own = distinct(own.filter(|name| !["threads", "copies"].contains(name)));
        if own.is_empty() { "threads and copies".to_owned() } else { own.join(", ") }
    }

    fn ratio(&self, ratio: f64) -> String {
        self.result.directed(percent(ratio), ratio >= 1.0)
    }

    fn ends(&self, low: f64, high: f64) -> String {
        format!("{} to {}", self.result.size(low), self.result.size(high))
    }

    fn range(&self, low: f64, high: f64) -> String {
        let (from, to) = (self.result.size(low), self.result.size(high));
        if from == "0.0 %" && to == from {
            let (more, less) = self.result.words();
            return format!("less than 0.1 % {less} or {more}");
        }
        format!("between {from} and {to}")
    }
}
