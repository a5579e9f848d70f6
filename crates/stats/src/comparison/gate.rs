//! Where a verdict on a change may be given.

use super::common::Common;
use super::side::Side;
use crate::study::pair_comparison;
use crate::study::rows::gives_verdicts;
use coretwin_base::study::command::CommandSpec;
use coretwin_base::study::plan::{Plan, PlanArm, PlanRow, ThreadRule};
use std::mem::discriminant;

pub(super) struct Gate {
    /// Whether both are the same study, so that nothing is independent.
    pub(super) same_study: bool,
    /// Whether both protocols end in verdicts.
    pub(super) protocols: bool,
    /// For each common arm: whether it is the same kind of state in both.
    pub(super) states: Vec<bool>,
    /// For each common arm: whether it and the reference say the same about SMT in both.
    pub(super) questions: Vec<bool>,
    /// For each common row: whether both did the same work.
    pub(super) works: Vec<bool>,
}

impl Gate {
    pub(super) fn new(sides: &[Side<'_>; 2], common: &Common) -> Self {
        let [a, b] = [0, 1].map(|side: usize| sides[side].records);
        let arms = 0..common.arms.len();
        let pair =
            |arm: usize| [0, 1].map(|side: usize| &sides[side].plan.arms[sides[side].arm(arm)]);
        let question = |arm: usize| {
            let [first, second] =
                [0, 1].map(|side: usize| pair_comparison(&sides[side].plan, pair(arm)[side]));
            first == second
        };
        let same_state = |arm: usize| {
            let [first, second] = pair(arm).map(|arm: &PlanArm| discriminant(&arm.state));
            first == second
        };
        let same_work = |rows: &[usize; 2]| {
            work(&a.plan.rows[rows[0]], a.plan) == work(&b.plan.rows[rows[1]], b.plan)
        };
        let states: Vec<bool> = arms.clone().map(same_state).collect();
        let same_reference = states[0];
        Self {
            same_study: a.plan == b.plan && a.environment == b.environment,
            protocols: sides
                .iter()
                .all(|side| gives_verdicts(side.records.plan) && !side.summary.interim),
            questions: arms.map(|arm| same_reference && states[arm] && question(arm)).collect(),
            states,
            works: common.rows.iter().map(same_work).collect(),
        }
    }

    pub(super) fn effect(&self, rows: &[usize], arm: usize) -> bool {
        self.questions[arm] && self.rows(rows)
    }

    pub(super) fn value(&self, rows: &[usize], arm: usize) -> bool {
        self.states[arm] && self.rows(rows)
    }

    fn rows(&self, rows: &[usize]) -> bool {
        !self.same_study && self.protocols && rows.iter().all(|row| self.works[*row])
    }
}

fn work(row: &PlanRow, plan: &Plan) -> (PlanRow, Option<CommandSpec>) {
    let row = PlanRow { threads: ThreadRule::Arm, family: String::new(), ..row.clone() };
    // Where it was run, and how long it was waited for, is no part of the work.
    let command = plan.command.clone().filter(|_| row.workload == "command");
    let command = command.map(|spec| CommandSpec { folder: None, timeout_s: 0.0, ..spec });
    (row, command)
}
