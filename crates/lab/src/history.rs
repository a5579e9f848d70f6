//! What has been measured so far, block by block: enough to go on from there.

use crate::run_order;
use coretwin_base::shared_text::SharedText;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) readings: Vec<Reading>,
    blocks: BTreeMap<(Phase, u32), BlockState>,
}

#[derive(Debug, Default, Clone)]
struct BlockState {
    attempt: u32,
    taken: usize,
    set_aside_now: Option<SharedText>,
    set_aside_before: u32,
}

impl History {
    pub(crate) fn new(plan: &Plan, readings: Vec<Reading>) -> Self {
        let mut history = Self::default();
        for reading in readings {
            history.push(plan, reading);
        }
        history
    }

    pub(crate) fn push(&mut self, plan: &Plan, reading: Reading) {
        let state = self.blocks.entry((reading.phase, reading.block)).or_default();
        if reading.attempt != state.attempt {
            let complete =
                state.taken >= run_order::cells_in_block(plan, reading.phase, reading.block);
            let before = state.set_aside_before + u32::from(complete);
            *state = BlockState {
                attempt: reading.attempt,
                set_aside_before: before,
                ..Default::default()
            };
        }
        state.taken += 1;
        if reading.status == Status::SetAside && state.set_aside_now.is_none() {
            state.set_aside_now.clone_from(&reading.cause);
        }
        self.readings.push(reading);
    }

    /// What to do next about a block. An attempt that was broken off is never continued: its
    /// readings would lie too far apart in time to be compared.
    pub(crate) fn next(&self, plan: &Plan, phase: Phase, block: u32) -> Option<u32> {
        let Some(state) = self.blocks.get(&(phase, block)) else { return Some(0) };
        if state.taken < run_order::cells_in_block(plan, phase, block) {
            return Some(state.attempt + 1);
        }
        let again =
            state.set_aside_now.is_some() && state.set_aside_before < plan.rules.retries_max;
        again.then_some(state.attempt + 1)
    }

    pub(crate) fn set_aside(&self, phase: Phase, block: u32) -> Option<&str> {
        self.blocks.get(&(phase, block)).and_then(|state| state.set_aside_now.as_deref())
    }

    /// How often a block of the study was begun so far, in the mean: 1 on a quiet machine.
    pub(crate) fn attempts_a_block(&self) -> f64 {
        let study = || self.blocks.iter().filter(|((phase, _), _)| *phase == Phase::Study);
        let attempts: u32 = study().map(|(_, state)| state.attempt + 1).sum();
        f64::from(attempts.max(1)) / (study().count().max(1) as f64)
    }

    /// Attempts at blocks of the study that came to their end, and how many of them were kept: none
    /// of their runs was set aside.
    pub(crate) fn attempts_and_kept(&self, plan: &Plan) -> (u32, u32) {
        let study = self.blocks.iter().filter(|((phase, _), _)| *phase == Phase::Study);
        study.fold((0, 0), |(attempts, kept), ((phase, block), state)| {
            let is_whole = state.taken >= run_order::cells_in_block(plan, *phase, *block);
            let is_kept = is_whole && state.set_aside_now.is_none();
            (attempts + state.set_aside_before + u32::from(is_whole), kept + u32::from(is_kept))
        })
    }

    /// How often a row was run in an arm before the first block.
    pub(crate) fn warmed_up(&self, arm: &str, row: &str) -> usize {
        let is_it = |reading: &&Reading| {
            reading.phase == Phase::Warmup && reading.arm == arm && reading.row == row
        };
        self.readings.iter().filter(is_it).count()
    }

    /// Whether a cell was run (for the protocol of 2003, which has no blocks to speak of).
    pub(crate) fn has(&self, block: u32, arm: &str, row: &str) -> bool {
        self.readings.iter().any(|reading| {
            reading.phase == Phase::Study
                && reading.block == block
                && reading.arm == arm
                && reading.row == row
        })
    }

    pub(crate) fn next_switch(&self) -> u32 {
        self.readings.last().map_or(0, |reading| reading.switch + 1)
    }
}
