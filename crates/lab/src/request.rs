//! What a user asked a study to do, before it meets a machine.

use coretwin_base::machine::placement::Placement;
use coretwin_base::parameters::WorkloadSpec;
use coretwin_base::study::arm::ArmSpec;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::load::{Objective, Rate};
use coretwin_base::study::plan::{Protocol, Rule, Variant};

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub subject: Subject,
    /// Arms as typed; empty for the default.
    pub arms: Vec<ArmSpec>,
    /// Placements; each row with two or more roles is measured in all of them. Empty: free, and rows
    /// of which a suite says so in every other placement that an arm has.
    pub placements: Vec<Placement>,
    pub seed: u64,
    pub protocol: Protocol,
    pub blocks: Option<u32>,
    pub until: Rule,
    /// Half-width asked for, as a share.
    pub target: f64,
    /// Margin of materiality, as a share.
    pub margin: f64,
    /// Longest time, in seconds.
    pub budget_s: f64,
    /// Whether each row is run before the first block, and one run discarded after every switch.
    pub warmup: bool,
    /// How often each row is run before the first block; `None` for the default.
    pub warmup_runs: Option<u32>,
    /// Whether the reference is an arm once more, as a control.
    pub control: bool,
    /// Whether each arm is run with as many threads as the first and as the second have.
    pub split: bool,
    /// How long the machine rests after a switch of SMT, in seconds.
    pub settle_s: f64,
    /// Runs of every row within one visit to an arm; `None` for the default.
    pub repeats: Option<u32>,
    /// Set aside a run when more than this share of the measured CPUs' time was stolen.
    pub steal_share_max: f64,
    /// Set aside a run when others used more than this share of the measured CPUs' time.
    pub others_share_max: f64,
    /// Rates to offer a service.
    pub load: Option<LoadRequest>,
}

impl Request {
    /// The commands to compare; none where only arms are compared.
    pub(crate) fn variants(&self) -> &[Variant] {
        match &self.subject {
            Subject::Command { variants, .. } => variants,
            Subject::Workloads(_) => &[],
        }
    }
}

/// The rates that are asked for, in ascending order, and the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRequest {
    pub rates: Vec<Rate>,
    pub slo: Option<Objective>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Workloads(Vec<WorkloadSpec>),
    Command {
        /// The command and what to read from it.
        spec: Box<CommandSpec>,
        threads: Counts,
        copies: Counts,
        /// Commands to compare, `spec` being the first; empty: only arms are compared.
        variants: Vec<Variant>,
        /// Names to fill in, each with its values; every combination is a row.
        parameters: Vec<(String, Vec<String>)>,
    },
}

/// A number that may follow the arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counts {
    Default,
    /// Threads: screen for the best per arm. Copies: one per CPU of the arm.
    Auto,
    /// These numbers, the same in every arm; each is a row.
    List(Vec<u32>),
}

impl Counts {
    /// Reads `auto` or a list like `1,2,4`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let count = |part: &str| match part.trim().parse::<u32>() {
            Ok(count) if (1..=65_536).contains(&count) => Ok(count),
            _ => Err(format!(
                "'{part}' is not a count; write 'auto' or numbers from 1 to 65536, like 1,2,4"
            )),
        };
        let mut counts: Vec<u32> = text.split(',').map(count).collect::<Result<_, _>>()?;
        counts.sort_unstable();
        counts.dedup();
        Ok(Self::List(counts))
    }
}
