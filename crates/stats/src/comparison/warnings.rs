//! What a reader of the comparison must know.

use super::records::StudyRecords;
use super::side::Both;
use crate::stopping::BLOCKS_MIN;
use crate::study::phrase::{counted, listed};
use coretwin_base::origin::Origin;
use coretwin_base::study::comparison::{ComparedStudy, StudyComparison};
use coretwin_base::study::plan::{Comparison, PlanArm, Protocol, Rule};
use coretwin_base::study::reading::Better;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_base::warning::Warning;

/// Every warning, those that take the verdict away first.
pub(super) fn write(
    comparison: &StudyComparison,
    both: &Both<'_>,
    margins: [f64; 2],
) -> Vec<Warning> {
    let writer = Writer { comparison, both };
    let mut warnings = Vec::new();
    warnings.extend(writer.same_study());
    let studies = comparison.studies.each_ref();
    warnings.extend(of_origins(studies.map(|study| (study.head.as_str(), Some(study.origin)))));
    warnings.extend(writer.protocols());
    warnings.extend(writer.questions());
    warnings.extend(writer.works());
    warnings.extend(writer.unlike());
    warnings.extend(writer.reference());
    warnings.extend(writer.unfinished());
    warnings.extend(writer.stopped_at_verdicts());
    warnings.extend(writer.few_blocks());
    warnings.extend(writer.arms());
    warnings.extend(writer.threads());
    warnings.extend(margin_differs("studies", margins, comparison.margin));
    warnings.extend(writer.environment());
    warnings
}

struct Writer<'a> {
    comparison: &'a StudyComparison,
    both: &'a Both<'a>,
}

impl Writer<'_> {
    fn heads(&self) -> [&str; 2] {
        self.comparison.studies.each_ref().map(|study| study.head.as_str())
    }

    fn records(&self) -> [&StudyRecords<'_>; 2] {
        self.both.sides.each_ref().map(|side| side.records)
    }

    fn arm(&self, arm: usize) -> [&PlanArm; 2] {
        self.both.sides.each_ref().map(|side| &side.plan.arms[side.arm(arm)])
    }

    fn same_study(&self) -> Option<Warning> {
        Warning::when(
            self.both.gate.same_study,
            "same-study",
            "both folders hold the same study, compared with itself",
            "Nothing here is independent, so there is no verdict. Give the folders of two studies.",
        )
    }

    fn protocols(&self) -> Vec<Warning> {
        let told = |study: &ComparedStudy| {
            let (kind, why) = match study.protocol {
                Protocol::Modern | Protocol::Fixed => return None,
                Protocol::Quick => {
                    ("screening", "is a screening of 3 blocks, which decides nothing")
                }
                Protocol::Article2003 => {
                    ("protocol-2003", "follows the protocol of 2003, which keeps no spread")
                }
            };
            let remedy = "There is no verdict on any change. Measure it again without --quick or --protocol.";
            Some(Warning::new(kind, format!("{} {why}", study.head), remedy))
        };
        self.comparison.studies.iter().filter_map(told).collect()
    }

    fn questions(&self) -> Vec<Warning> {
        let [first, second] = self.heads();
        let mut warnings = Vec::new();
        let kinds = self.comparison.studies.each_ref().map(|study| study.comparison);
        if kinds[0] != kinds[1] {
            let [a, b] = kinds.map(kind);
            warnings.push(Warning::new(
                "comparison-kind",
                format!("{first} compares {a}, {second} compares {b}"),
                "Effects of different kinds of arms do not answer one question. Where an arm's kind \
                 differs there is no verdict.",
            ));
        }
        for (index, label) in self.both.common.arms.iter().enumerate() {
            if !self.both.gate.states[index] {
                let [a, b] = self.arm(index).map(|arm| arm.state.to_string());
                warnings.push(Warning::new(
                    "arm-differs",
                    format!("arm {label} is {a} in {first} and {b} in {second}"),
                    "It is not the same state, so its changes get no verdict. Give arms labels of \
                     their own: --arm LABEL=STATE.",
                ));
            }
        }
        warnings
    }

    fn works(&self) -> Option<Warning> {
        let differing =
            self.both.common.rows.iter().zip(&self.both.gate.works).filter(|(_, same)| !**same);
        let plans = self.records().map(|records| records.plan);
        let texts: Vec<String> = differing
            .map(|(rows, _)| {
                let [a, b] = [0, 1].map(|side: usize| &plans[side].rows[rows[side]]);
                let mut what = Vec::new();
                if a.params != b.params {
                    what.push("parameters");
                }
                if a.placement != b.placement {
                    what.push("placement");
                }
                if a.copies != b.copies {
                    what.push("copies");
                }
                if what.is_empty() {
                    what.push("command");
                }
                format!("{} (other {})", a.id, what.join(", "))
            })
            .collect();
        of_some(
            "work-differs",
            "the studies did different work under one label",
            &texts,
            "Their changes get no verdict. Compare studies that were planned alike.",
        )
    }

    fn unlike(&self) -> Option<Warning> {
        let plans = self.records().map(|records| records.plan);
        let texts: Vec<String> = self
            .both
            .common
            .unlike
            .iter()
            .map(|rows| {
                let [a, b] = [0, 1].map(|side: usize| &plans[side].rows[rows[side]]);
                let better = |better| match better {
                    Better::Higher => "higher is better",
                    Better::Lower => "lower is better",
                };
                let [x, y] = [a, b].map(|row| format!("{}, {}", row.unit, better(row.better)));
                format!("{} ({x} against {y})", a.id)
            })
            .collect();
        let remedy = "Read the same metric in both studies.";
        of_some("unit-differs", "left out, because unit or scale differ", &texts, remedy)
    }

    fn reference(&self) -> Option<Warning> {
        let [a, b] = self.comparison.studies.each_ref().map(|study| &study.reference_arm);
        let used = &self.comparison.reference_arm;
        Warning::when(
            a != b || a != used,
            "reference-differs",
            format!("the studies' own reference arms are {a} and {b}; here it is {used} in both"),
            "Numbers may look different from those of the studies' own reports.",
        )
    }

    fn unfinished(&self) -> Vec<Warning> {
        let told = |study: &ComparedStudy| {
            let how = match study.stopped_because {
                StoppedBecause::Target
                | StoppedBecause::Verdict
                | StoppedBecause::Blocks
                | StoppedBecause::Budget => {
                    return None;
                }
                StoppedBecause::Busy => "was given up on a busy machine",
                StoppedBecause::Running => "has not ended, or was killed",
                StoppedBecause::Reboot => "waits for a reboot",
                StoppedBecause::Interrupted => "was interrupted",
                StoppedBecause::Error => "was ended by an error",
            };
            Some(Warning::new(
                "unfinished",
                format!(
                    "{} {how}; {} could be analysed",
                    study.head,
                    counted(study.blocks.into(), "block")
                ),
                format!(
                    "It is interim, so there is no verdict. Compare again when it is done: coretwin study \
                     --resume {}",
                    study.folder
                ),
            ))
        };
        self.comparison.studies.iter().filter_map(told).collect()
    }

    fn few_blocks(&self) -> Option<Warning> {
        let blocks = self.comparison.studies.each_ref().map(|study| study.blocks);
        let fewest = blocks[0].min(blocks[1]);
        let decides =
            |study: &ComparedStudy| matches!(study.protocol, Protocol::Modern | Protocol::Fixed);
        let both = self.comparison.studies.iter().all(decides);
        Warning::when(
            both && fewest < BLOCKS_MIN,
            "few-blocks",
            format!("the studies have {} and {} blocks", blocks[0], blocks[1]),
            format!(
                "Below {BLOCKS_MIN} blocks one odd run moves the result and intervals are wide."
            ),
        )
    }

    fn arms(&self) -> Vec<Warning> {
        let [first, second] = self.heads();
        let mut warnings = Vec::new();
        for (index, label) in self.both.common.arms.iter().enumerate() {
            let arms = self.arm(index);
            let sizes = arms.map(|arm| (arm.cpus.len(), arm.cores, arm.threads, &arm.scheduler));
            if sizes[0] != sizes[1] {
                let [a, b] = arms.map(|arm| {
                    format!(
                        "{} on {}, {}, scheduler {}",
                        counted(arm.threads.into(), "thread"),
                        counted(arm.cpus.len() as u64, "CPU"),
                        counted(arm.cores.into(), "core"),
                        arm.scheduler
                    )
                });
                warnings.push(Warning::new(
                    "arm-size",
                    format!("arm {label} has {a} in {first}, and {b} in {second}"),
                    "Part of any change is due to that.",
                ));
            }
        }
        warnings
    }

    /// An effect at which its own study stopped leans the way of the verdict.
    fn stopped_at_verdicts(&self) -> Option<Warning> {
        let studies = self.comparison.studies.iter();
        let stopped = studies.filter(|study| study.rule == Rule::Verdict);
        let heads: Vec<String> = stopped.map(|study| study.head.clone()).collect();
        let remedy = "Its effect leans towards the verdict, so a change of effects is partly that; compare \
                      studies that end by their width.";
        of_some("until-verdict", "stopped as soon as a verdict held", &heads, remedy)
    }

    fn threads(&self) -> Option<Warning> {
        let mut texts: Vec<String> = Vec::new();
        for line in &self.comparison.effects {
            let [a, b] = &line.effects;
            let sides = [
                (a.arm.as_str(), a.threads, b.threads),
                (self.comparison.reference_arm.as_str(), a.threads_reference, b.threads_reference),
            ];
            for (arm, first, second) in sides {
                let [x, y] = [0, 1].map(|side: usize| {
                    self.records()[side].plan.arm(arm).map_or(0, |arm| arm.threads)
                });
                let text = format!("{} in {arm} ({first} and {second})", a.row);
                if first != second && x == y && !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        let remedy = "Part of any change is due to that.";
        of_some("threads-differ", "thread counts differ", &texts, remedy)
    }

    fn environment(&self) -> Option<Warning> {
        let [first, second] = self.heads();
        let unknown: Vec<&str> = [first, second]
            .into_iter()
            .zip(self.records())
            .filter(|(_, records)| records.environment.moments.is_empty())
            .map(|(head, _)| head)
            .collect();
        if !unknown.is_empty() {
            return Some(Warning::new(
                "environment-unknown",
                format!("the environment was not recorded in {}", unknown.join(" and ")),
                "What else differed between the machines cannot be told.",
            ));
        }
        let foremost: Vec<String> = self
            .comparison
            .facts
            .iter()
            .filter(|fact| fact.foremost)
            .map(|fact| fact.fact.clone())
            .collect();
        machines_differ("machines", &foremost)
    }
}

fn of_some(kind: &str, what: &str, things: &[String], remedy: &str) -> Option<Warning> {
    let text = || format!("{what}: {}", listed(things));
    (!things.is_empty()).then(|| Warning::new(kind, text(), remedy))
}

pub(crate) fn margin_differs(what: &str, margins: [f64; 2], used: f64) -> Option<Warning> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let [a, b] = margins.map(percent);
    Warning::when(
        margins[0] != margins[1],
        "margin-differs",
        format!("the {what}' margins are {a} and {b}; here it is {}", percent(used)),
        "To set another, add --margin.",
    )
}

pub(crate) fn machines_differ(what: &str, foremost: &[String]) -> Option<Warning> {
    Warning::when(
        foremost.len() > 1,
        "machines-differ",
        format!("more than one thing differs between the {what}: {}", listed(foremost)),
        "A change cannot be put down to any one of them. To find out which, change one thing at a \
         time.",
    )
}

/// What is compared where not all of it was measured; `None` of a fleet whose machines differ in it.
pub(crate) fn of_origins(sides: [(&str, Option<Origin>); 2]) -> Option<Warning> {
    let [(first, a), (second, b)] = sides;
    if [a, b] == [Some(Origin::Measured); 2] {
        return None;
    }
    let word = |origin: Option<Origin>| origin.map_or("of several origins", Origin::name);
    let (text, remedy) = if a == b {
        let text = match a {
            Some(_) => format!("both are {}", word(a)),
            None => "both mix origins; their machines are compared with those of one origin".into(),
        };
        (text, "Nothing that was measured is compared, so there is no verdict.")
    } else {
        (
            format!("{first} is {}, {second} is {}", word(a), word(b)),
            "A change is then the error of the models or of the emulation, not something that \
             happened to a machine, so there is no verdict.",
        )
    };
    Some(Warning::new("origin", text, remedy))
}

pub(crate) fn kind(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Smt => "SMT off with on",
        Comparison::StandIn => "a stand-in for SMT off with on",
        Comparison::None => "plain CPU sets",
    }
}
