//! Progress for people: a bar on a terminal, a plain line now and then without one.

use crate::quiet;
use coretwin_base::printable::printable;
use coretwin_base::study::disturbance::Disturbances;
use coretwin_base::study::plan::Plan;
use coretwin_base::study::reading::{Phase, Reading, Status};
use coretwin_base::units::human_seconds;
use coretwin_lab::event::{Event, Listener};
use coretwin_stats::study::Look;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;

const BAR_FROM: usize = 110;
/// Columns of it, with the space behind it.
const BAR: usize = 25;

/// Shows progress on standard error. Draws between runs only: a run must not share its CPUs with
/// the drawing of a bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    last: Option<Instant>,
    blocks_min: u32,
    /// Whether the study may go on after the fewest blocks.
    open_ended: bool,
    switches: bool,
    started: Instant,
    block: String,
    interval: String,
    /// Row and arm of that interval.
    of: String,
    failed: u32,
    set_aside: Disturbances,
    /// What is said once of a busy machine; `None` once it was.
    plan: Option<Plan>,
}

/// After so many blocks that were set aside, what to do about it is said once.
const DISTURBED: u32 = 4;

impl Progress {
    pub(crate) fn new(plan: &Plan, is_told: bool) -> Self {
        let terminal = crate::out::redraws(&std::io::stderr());
        let target =
            if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        Self {
            bar,
            terminal,
            last: None,
            blocks_min: plan.blocks_min(),
            open_ended: plan.rules.looks.len() > 1,
            switches: plan.switches_smt(),
            started: Instant::now(),
            block: String::new(),
            interval: String::new(),
            of: String::new(),
            failed: 0,
            set_aside: Disturbances::default(),
            plan: (!is_told).then(|| plan.clone()),
        }
    }

    fn show(&mut self, what: &str, left_s: Option<f64>) {
        let left = left_s.map_or_else(String::new, |s| format!("{} left", human_seconds(s)));
        let failed =
            if self.failed > 0 { format!("{} failed", self.failed) } else { String::new() };
        let set_aside = set_aside(&self.set_aside);
        // The weightiest first: what does not fit is left out from the end.
        let pieces = [&self.interval, &left, &self.block, &failed, what, &self.of, &set_aside];
        if !self.terminal {
            if self.last.is_none_or(|last| last.elapsed() >= crate::out::PLAIN_EVERY) {
                self.last = Some(Instant::now());
                crate::out::news(&fitted(&pieces, usize::MAX));
            }
            return;
        }
        let columns = crate::out::columns(&std::io::stderr());
        let has_bar = columns >= BAR_FROM;
        let template = if has_bar { "{bar:24} {msg}" } else { "{msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        if let Some(left_s) = left_s {
            let done_s = self.started.elapsed().as_secs_f64();
            self.bar.set_position((1000.0 * done_s / (done_s + left_s).max(0.001)) as u64);
        }
        // A line that ends in the last column makes some terminals begin another.
        let room = columns - 1 - if has_bar { BAR } else { 0 };
        self.bar.set_message(fitted(&pieces, room));
    }

    fn note(&self, line: &str) {
        if self.terminal {
            self.bar.println(printable(line));
        } else {
            crate::out::news(line);
        }
    }

    fn reading(&mut self, reading: &Reading) {
        if reading.status != Status::Failed {
            return;
        }
        self.failed += 1;
        // The others are counted, and stand in the report.
        if self.failed == 1 {
            self.note(&format!(
                "failed: {} in arm {}: {}",
                reading.row,
                reading.arm,
                reading.cause.as_deref().unwrap_or("no cause given")
            ));
        }
    }
}

fn fitted(pieces: &[&str], room: usize) -> String {
    let mut line = String::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let piece = printable(piece);
        let gap = if line.is_empty() { "" } else { " · " };
        if line.chars().count() + gap.chars().count() + piece.chars().count() <= room {
            line = line + gap + &piece;
        }
    }
    line
}

fn set_aside(blocks: &Disturbances) -> String {
    let Some(cause) = blocks.mostly() else { return String::new() };
    match blocks.count() {
        1 => format!("1 block set aside: {cause}"),
        count => format!("{count} blocks set aside: {cause}"),
    }
}

/// The widest interval, which is what the study still waits for, and of which row and arm it is.
fn interval(look: &Look) -> (String, String) {
    let widest = look
        .cells
        .iter()
        .filter(|cell| cell.half_width.is_some())
        .max_by(|a, b| a.half_width.unwrap_or(0.0).total_cmp(&b.half_width.unwrap_or(0.0)));
    let Some((cell, ratio, low, high)) =
        widest.and_then(|cell| Some((cell, cell.ratio?, cell.low?, cell.high?)))
    else {
        return (String::new(), String::new());
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let numbers = format!("{:+.1} % [{:+.1}, {:+.1}]", percent(ratio), percent(low), percent(high));
    (numbers, format!("widest: {} {}", cell.row, cell.arm))
}

impl Listener for Progress {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::Started { done, .. } if *done > 0 => {
                self.note(&format!("going on after {done} readings"));
            }
            Event::BlockStarted { phase, block, attempt } => {
                let name = if *phase == Phase::Screen { "screening block" } else { "block" };
                let again =
                    if *attempt > 0 { format!(" again ({})", attempt + 1) } else { String::new() };
                let of = match (self.open_ended, self.blocks_min) {
                    _ if *phase == Phase::Screen || *block >= self.blocks_min => String::new(),
                    (true, fewest) => format!(" of {fewest} or more"),
                    (false, all) => format!(" of {all}"),
                };
                self.block = format!("{name} {}{of}{again}", block + 1);
            }
            Event::Preparing { arm, left_s } if self.switches => {
                self.show(&format!("switching for {arm}"), *left_s);
            }
            Event::RunStarted { arm, row, left_s } => {
                let warmup = if self.block.is_empty() { "warm-up: " } else { "" };
                self.show(&format!("{warmup}{row} in {arm}"), *left_s);
            }
            Event::ReadingTaken(reading) => self.reading(reading),
            Event::BlockEnded { set_aside, look, left_s, .. } => {
                if let Some(cause) = set_aside {
                    self.set_aside.note(cause);
                    if self.set_aside.count() >= DISTURBED
                        && let Some(plan) = self.plan.take()
                    {
                        let cause = self.set_aside.mostly().unwrap_or_default();
                        self.note(&quiet::busy(&cause, &plan));
                    }
                }
                if let Some(look) = look {
                    (self.interval, self.of) = interval(look);
                }
                self.show("done", *left_s);
            }
            Event::ThreadsChosen(chosen) => {
                let chosen: Vec<String> =
                    chosen.iter().map(|(arm, threads)| format!("{threads} in {arm}")).collect();
                self.note(&format!("thread counts chosen and frozen: {}", chosen.join(", ")));
            }
            Event::SaturationFound(found) => {
                let found: Vec<String> =
                    found.iter().map(|(arm, rate)| format!("{rate:.0}/s in {arm}")).collect();
                self.note(&format!("saturation found and frozen: {}", found.join(", ")));
            }
            Event::Ended(_) => self.bar.finish_and_clear(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_and_the_time_left_are_never_cut() {
        let pieces =
            ["+12.1 % [-11.0, +37.2]", "14 min 10 s left", "block 3 of 8 or more", "", "row"];
        for room in 59..200 {
            let line = fitted(&pieces, room);
            assert!(line.starts_with("+12.1 % [-11.0, +37.2] · 14 min 10 s left"), "{line}");
            assert!(line.chars().count() <= room, "{line}");
        }
        assert!(fitted(&pieces, 200).ends_with("block 3 of 8 or more · row"));
    }
}
