//! The answer on an arm as data, and as the sentence that is read first. Terminal, report and the
//! longer sentences choose row, effect and verdict here.

use super::belief;
use super::phrase::{far, percent};
use super::rows::pair_comparison;
use super::split;
use super::warnings::is_withheld;
use coretwin_base::origin::Origin;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::boot::Promise;
use coretwin_base::study::decision::Worth;
use coretwin_base::study::plan::{Comparison, Plan, PlanArm, Protocol, Rule, Scale};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::{
    Capacity, RowEffect, StoppedBecause, SuiteEffect, Summary, Verdict,
};

/// The most words of [`Headline::sentence`].
pub const WORDS_MAX: usize = 20;

/// The most words of [`Headline::title`].
pub const TITLE_WORDS_MAX: usize = 12;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Is the arm with all siblings better than the reference without?
    SiblingsInArm,
    /// Is the arm without siblings better than the reference with all?
    SiblingsInReference,
    #[default]
    Plain,
    /// Is one command better than another, in one state of the machine?
    Commands,
}

/// What an arm came to: its suite over everything, else its only suite, else its first row with an
/// effect.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Headline {
    pub arm: String,
    pub reference: String,
    pub comparison: Comparison,
    pub question: Question,
    /// Suite or row as a sentence names it: `chat`, `your command`, `these workloads`.
    pub subject: String,
    pub rows: u32,
    pub scale: Scale,
    /// Unit of an effect on the raw scale.
    pub unit: String,
    /// Above 1 (above 0 on the raw scale) is better in the arm; `None` if no block counts.
    pub effect: Option<f64>,
    /// Ends of its interval; of a prediction the spread over seeds.
    pub interval: Option<(f64, f64)>,
    /// The narrower interval, which decides whether a difference is material; suites only.
    pub interval_90: Option<(f64, f64)>,
    pub blocks: u32,
    pub verdict: Option<Verdict>,
    /// Blocks that would decide, where it is inconclusive.
    pub blocks_needed: Option<u32>,
    pub origin: Origin,
    /// What stands first and says how the figures may be read: the verdict, or why there is none.
    pub word: &'static str,
    /// How SMT is switched off where that is a boot of its own: `, by booting with nosmt`.
    pub(super) way: String,
    /// Of a load curve with an objective: what the arm carries, which the effect is about.
    pub capacity: Option<Capacity>,
    more: &'static str,
    less: &'static str,
    is_beaten: bool,
    pub(super) is_control: bool,
    /// Whether it is that of siblings and more threads, which answers a study that separates them.
    is_split: bool,
    /// Whether the control took the verdict back.
    pub is_withheld: bool,
    protocol: Protocol,
}

/// One for each arm other than the reference, in the plan's order.
pub fn headlines(plan: &Plan, summary: &Summary) -> Vec<Headline> {
    let reference = &plan.arms[plan.reference_index()];
    let others = plan.arms.iter().filter(|arm| arm.label != reference.label);
    others.map(|arm| Headline::new(plan, summary, arm, split::base(plan, summary, arm))).collect()
}

/// The one that answers the study's question: that of a split, else the first of commands, else the first that can say
/// something about SMT, else the first; its place among [`headlines`].
pub fn foremost(headlines: &[Headline]) -> usize {
    let of_commands =
        |one: &Headline| one.is_split || one.question == Question::Commands && !one.is_control;
    let commands = headlines.iter().position(of_commands);
    let smt = || headlines.iter().position(|one| one.comparison != Comparison::None);
    commands.or_else(smt).unwrap_or(0)
}

/// The verdict on an arm as a word. Only of arms that differ in whether siblings are used it is one on
/// SMT.
pub fn verdict_word(
    plan: &Plan,
    summary: &Summary,
    arm: &PlanArm,
    verdict: Verdict,
) -> &'static str {
    let of_speed = words(summary).0 == "faster" && arm.variant.is_some();
    let [more, less] = match pair_comparison(plan, arm) {
        Comparison::None if of_speed => ["FASTER", "SLOWER"],
        Comparison::None => ["BETTER", "WORSE"],
        Comparison::Smt | Comparison::StandIn => ["HELPS", "HURTS"],
    };
    match verdict {
        Verdict::Helps => more,
        Verdict::Hurts => less,
        Verdict::NoMaterialDifference => "NO MATERIAL DIFFERENCE",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

impl Headline {
    pub(super) fn new(plan: &Plan, summary: &Summary, arm: &PlanArm, reference: &PlanArm) -> Self {
        let comparison = pair_comparison(plan, arm);
        let (more, less) = words(summary);
        let beaten = belief::beaten(summary.prediction.as_deref());
        let mut headline = Self {
            arm: arm.label.clone(),
            reference: reference.label.clone(),
            comparison,
            question: question(comparison, arm, reference),
            origin: summary.origin,
            way: way([arm, reference]),
            more,
            less,
            protocol: summary.protocol,
            is_control: arm.control,
            is_split: plan.split.as_ref().is_some_and(|split| split.both == arm.label),
            is_withheld: is_withheld(summary),
            is_beaten: summary.origin == Origin::Simulated && beaten.is_some(),
            ..Self::default()
        };
        headline.fill(summary);
        headline.word = headline.mark(plan, summary);
        headline
    }

    fn fill(&mut self, summary: &Summary) {
        if let Some(found) = summary.load.iter().find(|found| found.arm == self.arm) {
            return self.fill_capacity(summary, found);
        }
        let of_arm = |suite: &&SuiteEffect| suite.arm == self.arm && suite.ratio.is_some();
        let of_split = split::beside_better(summary).filter(|_| self.is_split);
        if let Some(suite) = of_split.or_else(|| summary.suites.iter().rfind(of_arm)) {
            self.subject = match suite.suite.as_str() {
                super::suites::ALL => "these workloads".to_owned(),
                "command" => "your command".to_owned(),
                name => name.to_owned(),
            };
            self.rows = suite.rows;
            (self.effect, self.interval) = (suite.ratio, suite.low.zip(suite.high));
            self.interval_90 = suite.low_90.zip(suite.high_90);
            (self.blocks, self.verdict) = (suite.blocks, suite.verdict);
            self.blocks_needed = suite.blocks_needed;
            return;
        }
        let of_arm = |row: &&RowEffect| row.arm == self.arm && row.ratio.is_some();
        if let Some(row) = summary.rows.iter().find(of_arm) {
            (self.subject, self.rows) = (row.row.clone(), 1);
            (self.scale, self.unit) = (row.scale, row.unit.clone());
            (self.effect, self.interval) = (row.ratio, row.low.zip(row.high));
            (self.blocks, self.verdict) = (row.blocks, row.verdict);
            self.blocks_needed = row.blocks_needed;
        }
    }

    fn fill_capacity(&mut self, summary: &Summary, found: &Capacity) {
        self.subject = format!("{} at {}", found.row, found.slo.words());
        // A bound stands for the effect where there is no other number.
        self.effect = found.ratio.or(found.low).or(found.high);
        self.interval = found.low.zip(found.high);
        (self.rows, self.blocks, self.verdict) = (1, found.blocks, found.verdict);
        let suite = summary.suites.iter().find(|suite| suite.arm == self.arm);
        self.interval_90 = suite.and_then(|suite| suite.low_90.zip(suite.high_90));
        self.blocks_needed = suite.and_then(|suite| suite.blocks_needed);
        (self.more, self.less) = ("more", "less");
        self.capacity = Some(found.clone());
    }

    /// How many times the requests of the reference the arm carries: `1.27 times`, `at least 1.20 times`.
    pub fn times(&self) -> Option<String> {
        let Capacity { ratio, low, high, .. } = self.capacity.as_ref()?;
        Some(match (ratio, low, high) {
            (Some(ratio), ..) => format!("{ratio:.2} times"),
            (None, Some(low), _) => format!("at least {low:.2} times"),
            (None, None, Some(high)) => format!("at most {high:.2} times"),
            (None, None, None) => return None,
        })
    }

    /// `on carries 1.27 times the requests`, of which the name may be that of a state of SMT.
    fn carries(&self, times: &str) -> String {
        let smt = self.comparison == Comparison::Smt && ["on", "off"].contains(&&*self.arm);
        format!("{}{} carries {times} the requests", if smt { "SMT " } else { "" }, self.arm)
    }

    /// The sentence on a capacity.
    fn sentence_on_capacity(&self, found: &Capacity) -> String {
        let Self { word, reference, .. } = self;
        let slo = found.slo.words();
        let Some(times) = self.times() else {
            return format!(
                "{word} for {} against {reference}: no rate decides {slo}; choose other rates.",
                self.arm
            );
        };
        let times = match self.interval.filter(|_| self.is_open() && found.ratio.is_some()) {
            Some((low, high)) if *word != "NO MATERIAL DIFFERENCE" => {
                format!("{low:.2} to {high:.2} times")
            }
            _ => times,
        };
        let none = match *word {
            "INTERIM" | "SCREENING" | "NO VERDICT" => ", no verdict",
            _ => "",
        };
        let is_plain = self.comparison == Comparison::None && self.question == Question::Plain;
        let smt = if is_plain { "; no verdict on SMT" } else { "" };
        format!("{word}{none}: {} of {reference} at {slo}{smt}.", self.carries(&times))
    }

    fn mark(&self, plan: &Plan, summary: &Summary) -> &'static str {
        let is_disturbed = summary.rows.iter().any(|row| row.blocks_set_aside > 0);
        match (self.verdict, self.origin.mark()) {
            (_, Some(mark)) => mark,
            _ if self.effect.is_none() => match summary.stopped_because {
                StoppedBecause::Busy => "TOO BUSY",
                _ if is_disturbed && summary.blocks == 0 => "TOO BUSY",
                _ => "NO RESULT",
            },
            _ if summary.interim => "INTERIM",
            (Some(verdict), _) => {
                plan.arm(&self.arm).map_or("", |arm| verdict_word(plan, summary, arm, verdict))
            }
            (None, _) if self.protocol == Protocol::Quick && summary.rule == Rule::Width => {
                "SCREENING"
            }
            (None, _) => "NO VERDICT",
        }
    }

    /// The effect that is none on this scale.
    pub(super) fn none(&self) -> f64 {
        if self.scale == Scale::Ratio { 1.0 } else { 0.0 }
    }

    /// Whether the interval reaches to both sides of no effect.
    pub fn is_open(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low < self.none() && self.none() < high)
    }

    /// How much, without direction: `3.1 %`, `a factor of 120`, `0.400 us`.
    pub(super) fn amount(&self, effect: f64) -> String {
        match self.scale {
            Scale::Ratio => percent(effect),
            Scale::Raw => format!("{:.3} {}", libm::fabs(effect), self.unit),
        }
    }

    /// How much and which way: `3.1 % faster`. What rounds to none has no direction.
    pub fn size(&self, effect: f64) -> String {
        self.directed(self.amount(effect), effect >= self.none())
    }

    pub(super) fn directed(&self, amount: String, is_more: bool) -> String {
        let word = if is_more { self.more } else { self.less };
        if amount == "0.0 %" { amount } else { format!("{amount} {word}") }
    }

    /// The same in at most three words.
    fn brief(&self, effect: f64) -> String {
        match far(effect).filter(|_| self.scale == Scale::Ratio) {
            Some(factor) => self.directed(format!("{factor} times"), effect >= 1.0),
            None => self.size(effect),
        }
    }

    /// The words for better and worse: `faster` and `slower` where every row is a speed.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        (self.more, self.less)
    }

    /// What to do, to follow a verdict: `keep SMT on for chat`; `None` where the data do not say.
    pub fn action(&self) -> Option<String> {
        let Self { subject, arm, reference, .. } = self;
        let is_helped = match self.verdict? {
            Verdict::Helps => true,
            Verdict::Hurts => false,
            Verdict::NoMaterialDifference | Verdict::Inconclusive => return None,
        };
        Some(match (self.question, is_helped) {
            _ if self.is_control => return None,
            (Question::Commands, true) => format!("choose {arm}"),
            (Question::Commands, false) => format!("stay with {reference}"),
            (Question::Plain, true) => format!("choose {arm} for {subject}"),
            (Question::Plain, false) => format!("stay with {reference} for {subject}"),
            (Question::SiblingsInArm, true) | (Question::SiblingsInReference, false) => {
                format!("keep SMT on for {subject}")
            }
            _ if self.comparison == Comparison::StandIn => {
                format!("run {subject} on one CPU per core")
            }
            _ => format!("switch SMT off for {subject}"),
        })
    }

    /// The same arm by what its work is worth for each licence.
    #[must_use]
    pub fn by_licence(mut self, worth: &Worth, plan: &Plan, summary: &Summary) -> Self {
        (self.subject, self.rows) = ("your licences".to_owned(), worth.rows);
        (self.scale, self.effect) = (Scale::Ratio, Some(worth.ratio));
        (self.interval, self.interval_90) = (worth.low.zip(worth.high), None);
        (self.verdict, self.blocks_needed) = (worth.verdict, None);
        (self.more, self.less) = ("better", "worse");
        self.word = self.mark(plan, summary);
        self
    }

    /// The answer as the title of a page: at most [`TITLE_WORDS_MAX`] words with one number, beside
    /// which [`Headline::word`] and the interval stand.
    pub fn title(&self) -> String {
        let Self { word, subject, arm, reference, .. } = self;
        if let (Some(found), Some(times)) = (&self.capacity, self.times()) {
            return format!("{} at {}.", self.carries(&times), found.slo.words());
        }
        let Some(effect) = self.effect else {
            return format!("No result for {arm} against {reference}.");
        };
        let size = self.brief(effect);
        if let Some(action) = self.action().filter(|_| self.origin == Origin::Measured) {
            let beside = match (self.question, self.verdict == Some(Verdict::Helps)) {
                (Question::Plain | Question::Commands, true) => format!(" than {reference}"),
                (_, true) => String::new(),
                (Question::Plain | Question::Commands, false) => format!(" with {arm}"),
                (Question::SiblingsInReference, _) => " without".to_owned(),
                _ if self.comparison == Comparison::StandIn => " otherwise".to_owned(),
                _ => " with it".to_owned(),
            };
            return format!("{}: {size}{beside}.", action[..1].to_uppercase() + &action[1..]);
        }
        let head = match *word {
            "INCONCLUSIVE" => "Undecided".to_owned(),
            word => word[..1].to_owned() + &word[1..].to_lowercase(),
        };
        if size == "0.0 %" {
            return format!("{head} for {subject}: {size} between {arm} and {reference}.");
        }
        let short = format!("{head} for {subject}: {size} with {arm}");
        let whole = format!("{short} than {reference}.");
        if whole.split_whitespace().count() <= TITLE_WORDS_MAX { whole } else { short + "." }
    }

    /// The answer in one sentence of at most [`WORDS_MAX`] words that begins with [`Headline::word`].
    pub fn sentence(&self) -> String {
        if let Some(found) = self.capacity.as_ref().filter(|found| found.blocks > 0) {
            return self.sentence_on_capacity(found);
        }
        let Self { word, arm, reference, .. } = self;
        let of = match self.question {
            Question::Commands => String::new(),
            _ => format!(" for {}", self.subject),
        };
        let is_plain = self.comparison == Comparison::None && self.question == Question::Plain;
        let Some(effect) = self.effect else {
            return match *word {
                "TOO BUSY" => {
                    format!("{word} to say: every block was disturbed, so nothing was kept.")
                }
                word => {
                    format!("{word} for {arm} against {reference}: no block has values of both.")
                }
            };
        };
        let size = |effect: f64| self.brief(effect);
        let open = self.interval.filter(|_| self.is_open() && self.origin == Origin::Measured);
        let compared = match (open, size(effect)) {
            (Some((low, high)), _) if *word != "NO MATERIAL DIFFERENCE" => {
                format!("{} to {}{of} with {arm} than with {reference}", size(low), size(high))
            }
            (_, size) if size == "0.0 %" => {
                format!("no difference{of} between {arm} and {reference}")
            }
            (_, size) => format!("{size}{of} with {arm} than with {reference}"),
        };
        let smt = if is_plain { "; no verdict on SMT" } else { "" };
        match *word {
            "PREDICTED" if self.is_beaten => {
                format!("{word} by models that a constant beats: {compared}.")
            }
            "PREDICTED" => format!("{word}, not measured: {compared}."),
            "EMULATED" => format!("{word}, nothing about SMT in hardware: {compared}."),
            "INTERIM" | "SCREENING" => {
                format!("{word}, no verdict{}: {compared}.", if is_plain { " on SMT" } else { "" })
            }
            "NO VERDICT" if self.protocol == Protocol::Article2003 => {
                format!("{word} by the protocol of 2003: {compared}.")
            }
            "NO VERDICT" if self.is_withheld => {
                format!("{word}, for the control differs from itself: {compared}.")
            }
            "NO VERDICT" => format!("{word}, for too little was measured: {compared}."),
            "INCONCLUSIVE" | "NO MATERIAL DIFFERENCE" => format!("{word}: {compared}{smt}."),
            _ => match self.action() {
                Some(action) => {
                    let size = size(effect);
                    format!("{word}: {action}: {size} with {arm} than with {reference}{smt}.")
                }
                None => format!("{word}: {compared}{smt}."),
            },
        }
    }
}

fn question(comparison: Comparison, arm: &PlanArm, reference: &PlanArm) -> Question {
    if arm.control || (arm.variant.is_some() && arm.has_state_of(reference)) {
        return Question::Commands;
    }
    match (comparison, &arm.state, &reference.state) {
        (Comparison::Smt, ArmState::On, ArmState::Off)
        | (Comparison::StandIn, ArmState::On, ArmState::OnePerCore) => Question::SiblingsInArm,
        (Comparison::Smt, ArmState::Off, ArmState::On)
        | (Comparison::StandIn, ArmState::OnePerCore, ArmState::On) => {
            Question::SiblingsInReference
        }
        (Comparison::Smt, ArmState::Boot(_), ArmState::Boot(_)) if arm.smt == Some(true) => {
            Question::SiblingsInArm
        }
        (Comparison::Smt, ArmState::Boot(_), ArmState::Boot(_)) => Question::SiblingsInReference,
        _ => Question::Plain,
    }
}

fn way(arms: [&PlanArm; 2]) -> String {
    match arms.into_iter().find(|arm| arm.smt == Some(false)).map(|arm| &arm.state) {
        Some(ArmState::Boot(name)) => match Promise::of(name) {
            Promise::Parameter(word) => format!(", by booting with {word}"),
            Promise::Smt(_) => String::new(),
            Promise::Release(name) | Promise::Free(name) => format!(", as in boot {name}"),
        },
        _ => String::new(),
    }
}

/// Whether every row measures speed, so that "faster" is the word; else it is "better".
fn words(summary: &Summary) -> (&'static str, &'static str) {
    const TIMES: [&str; 11] =
        ["s", "ms", "us", "µs", "ns", "min", "h", "seconds", "cycles", "ns/op", "us/op"];
    let is_speed = |row: &RowEffect| match row.better {
        Better::Lower => TIMES.contains(&row.unit.as_str()),
        Better::Higher => row.unit.contains("/s") || row.unit.ends_with("per second"),
    };
    match summary.rows.iter().all(is_speed) {
        true => ("faster", "slower"),
        false => ("better", "worse"),
    }
}
