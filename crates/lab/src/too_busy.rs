//! When a study ends because others leave it nothing to keep (docs/method/statistics.md, "Set aside, given up").

use coretwin_base::units::Nanos;

/// A study is not given up sooner after its first block began, in seconds.
const PATIENCE_S: f64 = 45.0;
/// Attempts at blocks that are set aside before a study is given up: all that a block has.
const ATTEMPTS: u32 = 3;
/// Runs, each of them disturbed, that are enough where blocks are long.
const RUNS: u32 = 6;

#[derive(Debug, Default)]
pub(crate) struct Toll {
    began: Option<Nanos>,
    attempts: u32,
    runs: u32,
    has_good_run: bool,
    has_kept: bool,
}

impl Toll {
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.began.get_or_insert(now);
    }

    pub(crate) fn run(&mut self, is_set_aside: bool) {
        self.runs += 1;
        self.has_good_run |= !is_set_aside;
    }

    pub(crate) fn block(&mut self, is_set_aside: bool) {
        self.attempts += 1;
        self.has_kept |= !is_set_aside;
    }

    pub(crate) fn is_too_much(&self, now: Nanos) -> bool {
        let is_late =
            self.began.is_some_and(|began| now.saturating_sub(began).seconds() >= PATIENCE_S);
        let is_hopeless = self.attempts >= ATTEMPTS || (self.runs >= RUNS && !self.has_good_run);
        is_late && !self.has_kept && is_hopeless
    }
}
