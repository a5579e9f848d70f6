//! Overlap by core, group and minute over days: what `account --record` appends to a file, block by block,
//! and `account --replay` reads.
//!
//! A block has totals by core and by group, not their product, so that a day stays at some megabytes.
//! Ranges are kept of the totals alone.

use super::{MethodName, Siblings, Span};
use crate::machine::cpu_set::{CPU_MAX, CpuSet};
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The length of a block, unless asked otherwise, in seconds.
pub const BLOCK_S: f64 = 60.0;
/// Groups of a block that are kept one by one, those that ran most.
pub const GROUPS_MAX: usize = 64;
/// Names of groups that are kept in one session.
pub const NAMES_MAX: usize = 4096;
/// Bytes of a name that are kept: the last ones, which tell groups apart.
pub const NAME_MAX: usize = 160;
/// Shorter blocks are none, in seconds.
pub const LEAST_S: f64 = 0.001;
/// The number of the group that all others are added to.
pub const OTHERS: u32 = 0;

/// A recording is lines of JSON, each with its `checksum` as in a journal, appended and synced one
/// by one; a torn last line is passed over. A head holds for the blocks that follow it. A recording
/// that is taken up again, or whose CPUs change, has another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingHead {
    pub schema: u32,
    #[serde(default)]
    pub origin: Origin,
    /// In seconds since 1970.
    pub started: i64,
    /// How long blocks are meant to be, in seconds.
    pub every_s: f64,
    pub method: MethodName,
    pub siblings: Siblings,
    pub cpu_model: Option<String>,
}

/// One block. Times in milliseconds where they are whole numbers, else in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingBlock {
    /// When it began, in seconds since 1970.
    pub from: i64,
    pub elapsed_s: f64,
    /// Seconds of cores with k busy, k = 0 to n, over all cores.
    pub busy: Vec<Span>,
    /// Of each core of the head, in its order: milliseconds with k busy, k = 1 to n.
    pub cores: Vec<Vec<u32>>,
    /// Groups that appear for the first time in this session, by number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<u32, String>,
    pub groups: Vec<RecordedGroup>,
    /// What ran and is in no group: of tasks that were not seen, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u64,
    pub waiting: Waiting,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Number, milliseconds alone, beside busy siblings, and in which some task of it waited for a CPU (where
/// the kernel tells).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedGroup(pub u32, pub u64, pub u64, pub Option<u64>);

/// How long tasks waited for a CPU, all together, in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    pub low_s: f64,
    /// `None` where the kernel does not say how many waited.
    pub high_s: Option<f64>,
}

/// Blocks that follow one head.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub head: RecordingHead,
    pub blocks: Vec<RecordingBlock>,
}

fn is_time(seconds: f64) -> bool {
    (0.0..=1e9).contains(&seconds)
}

/// Whether it can be written as a date: from 1970 to the last that there is in any time zone.
fn is_date(t: i64) -> bool {
    (0..=253_402_207_200).contains(&t)
}

impl RecordingHead {
    /// Says what cannot be, in words that name the field.
    ///
    /// # Errors
    /// The words.
    pub fn check(&self) -> Result<(), String> {
        if !is_date(self.started) {
            return Err(format!("field started is {}, no date", self.started));
        }
        if !is_time(self.every_s) {
            return Err(format!("field every_s is {:?}, no length of a block", self.every_s));
        }
        let mut seen = CpuSet::new();
        for cpu in self.siblings.cores.iter().flat_map(CpuSet::iter) {
            if cpu.0 > CPU_MAX || seen.contains(cpu) {
                return Err(format!(
                    "field siblings has CPU {cpu}, which is no CPU or there twice"
                ));
            }
            seen.insert(cpu);
        }
        match &self.siblings.cores[..] {
            [] => Err("field siblings has no cores".to_owned()),
            cores if cores.iter().any(CpuSet::is_empty) => {
                Err("field siblings has a core without CPUs".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl RecordingBlock {
    /// Says what cannot be, in words that name the field.
    ///
    /// # Errors
    /// The words.
    pub fn check(&self, head: &RecordingHead) -> Result<(), String> {
        let cores = head.siblings.cores.len();
        let n = head.siblings.threads_per_core_max();
        if !is_date(self.from) {
            return Err(format!("field from is {}, no date", self.from));
        }
        if !is_time(self.elapsed_s) || self.elapsed_s < LEAST_S {
            return Err(format!("field elapsed_s is {:?}, no length of a block", self.elapsed_s));
        }
        if self.busy.len() != n + 1 || self.cores.len() != cores {
            let found = (self.busy.len(), self.cores.len());
            return Err(format!(
                "fields busy and cores have {} and {} entries, but the head has {cores} cores of up to {n} CPUs",
                found.0, found.1
            ));
        }
        if self.cores.iter().any(|times| times.len() > n) {
            return Err(format!("field cores has a core with times of more than {n} CPUs"));
        }
        let is_span = |span: &Span| {
            is_time(span.low)
                && is_time(span.high)
                && span.low <= span.value
                && span.value <= span.high
        };
        if !self.busy.iter().all(is_span) {
            return Err("field busy has a range whose ends are no times in order".to_owned());
        }
        // Clocks of cores are read one after the other.
        let most_s = 1.5 * cores as f64 * self.elapsed_s + 1.0;
        let found_s = self.busy.iter().map(|span| span.low).sum::<f64>();
        if found_s > most_s {
            return Err(format!("field busy has {found_s} s, more than {cores} cores have time"));
        }
        let is_millis = |ms: u64| is_time(ms as f64 / 1e3);
        let is_group = |RecordedGroup(_, alone, beside, waiting): &RecordedGroup| {
            is_millis(*alone) && is_millis(*beside) && waiting.is_none_or(is_millis)
        };
        if !is_millis(self.unseen) || !self.groups.iter().all(is_group) {
            return Err("fields groups and unseen have a number that is no time".to_owned());
        }
        let Waiting { low_s, high_s } = self.waiting;
        if !is_time(low_s) || high_s.is_some_and(|high_s| !is_time(high_s) || high_s < low_s) {
            return Err("field waiting is no range of times".to_owned());
        }
        Ok(())
    }
}
