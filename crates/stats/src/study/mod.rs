//! A study's plan and readings in, its summary out.
//!
//! Rules on readings: only those of the study proper count (not warm-up, not screening). Of each
//! block the last complete attempt is analysed, unless it was set aside; then the block is lost. An
//! attempt that was broken off is ignored. A failed cell takes its block from its own row only.
//! Within a block, readings of one row in one arm are averaged first: the block is the unit.

mod analyse;
pub mod belief;
pub(crate) mod blocks;
mod counters;
mod diagnosis;
mod facts;
mod headline;
mod look;
mod machine_effects;
pub mod phrase;
pub mod protocol_2003;
pub(crate) mod resolution;
pub(crate) mod rows;
mod sentences;
mod split;
mod split_words;
pub(crate) mod suites;
mod warnings;

pub use crate::screening::choose_threads;
pub use analyse::{analyse, analyse_predicted};
pub use blocks::{Analysed, too_busy};
pub use counters::{Counted, counted};
pub use diagnosis::{COVERED_CARRY_OVER, COVERED_ONE_ARM_OUTLIERS};
pub use headline::{
    Headline, Question, TITLE_WORDS_MAX, WORDS_MAX, foremost, headlines, verdict_word,
};
pub use look::{Look, LookCell, look};
pub use machine_effects::{MachineEffects, machine_effects};
pub use rows::pair_comparison;
pub use sentences::{interaction_word, interactions};
pub use split_words::{part_name, part_word, parts_said};
pub use suites::{SuiteRow, suite_mean};
pub(crate) use warnings::is_withheld;
