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
use std::time::{Duration, Instant};

/// Without a terminal, a line at most this often.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

/// Shows progress on standard error. Draws between runs only: a run must not share its CPUs with
/// the drawing of a bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    last: Option<Instant>,
    blocks_min: u32,
    /// Whether the study may go on after the fewest blocks.
    open_ended: bool,
    /// Whether preparing an arm is worth a word.
    switches: bool,
    started: Instant,
    block: String,
    interval: String,
    /// Blocks that were set aside.
    set_aside: Disturbances,
    /// What can be done about a busy machine; `None` once it was said.
    choices: Option<&'static str>,
}

/// After so many blocks that were set aside, what to do about it is said once.
const DISTURBED: u32 = 4;

impl Progress {
    /// A progress display for a plan, and whether it was said that the machine is busy.
    pub(crate) fn new(plan: &Plan, is_told: bool) -> Self {
        let terminal = crate::out::redraws(&std::io::stderr());
        let target =
            if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
            bar.set_style(style);
        }
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
            set_aside: Disturbances::default(),
            choices: (!is_told).then(|| quiet::choices(plan)),
        }
    }

    fn show(&mut self, what: &str, left_s: Option<f64>, force: bool) {
        let left =
            left_s.map_or_else(String::new, |s| format!(", about {} left", human_seconds(s)));
        let set_aside = set_aside(&self.set_aside);
        let line = format!("{}{what}{left}{set_aside}{}", self.block, self.interval);
        if self.terminal {
            let done_s = self.started.elapsed().as_secs_f64();
            if let Some(left_s) = left_s {
                self.bar.set_position((1000.0 * done_s / (done_s + left_s).max(0.001)) as u64);
            }
            self.bar.set_message(printable(&line).into_owned());
        } else if force || self.last.is_none_or(|last| last.elapsed() >= PLAIN_EVERY) {
            self.last = Some(Instant::now());
            crate::out::news(&line);
        }
    }

    fn note(&self, line: &str) {
        if self.terminal {
            self.bar.println(printable(line));
        } else {
            crate::out::news(line);
        }
    }

    fn reading(&self, reading: &Reading) {
        if reading.status == Status::Failed {
            self.note(&format!(
                "failed: {} in arm {}: {}",
                reading.row,
                reading.arm,
                reading.cause.as_deref().unwrap_or("no cause given")
            ));
        }
    }
}

/// How many blocks were set aside, with the most frequent cause.
fn set_aside(blocks: &Disturbances) -> String {
    let Some(cause) = blocks.mostly() else { return String::new() };
    match blocks.count() {
        1 => format!("; 1 block set aside: {cause}"),
        count => format!("; {count} blocks set aside: {cause}"),
    }
}

/// The widest interval, which is what the study still waits for.
fn interval(look: &Look) -> String {
    let widest = look
        .cells
        .iter()
        .filter(|cell| cell.half_width.is_some())
        .max_by(|a, b| a.half_width.unwrap_or(0.0).total_cmp(&b.half_width.unwrap_or(0.0)));
    let Some((cell, ratio, low, high)) =
        widest.and_then(|cell| Some((cell, cell.ratio?, cell.low?, cell.high?)))
    else {
        return String::new();
    };
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    format!(
        "; {} {}: {:+.1} % [{:+.1}, {:+.1}]",
        cell.row,
        cell.arm,
        percent(ratio),
        percent(low),
        percent(high)
    )
}

impl Listener for Progress {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::Started { done, .. } if *done > 0 => {
                self.note(&format!("going on after {done} readings"));
            }
            Event::BlockStarted { phase, block, attempt } => {
                let name = if *phase == Phase::Screen { "screening block" } else { "block" };
                let again = if *attempt > 0 {
                    format!(" (attempt {})", attempt + 1)
                } else {
                    String::new()
                };
                let of = match (self.open_ended, self.blocks_min) {
                    _ if *phase == Phase::Screen || *block >= self.blocks_min => String::new(),
                    (true, fewest) => format!(" of at least {fewest}"),
                    (false, all) => format!(" of {all}"),
                };
                self.block = format!("{name} {}{again}{of}: ", block + 1);
            }
            Event::Preparing { arm, left_s } if self.switches => {
                self.show(&format!("switching for {arm}"), *left_s, false);
            }
            Event::RunStarted { arm, row, left_s } => {
                let warmup = if self.block.is_empty() { "warm-up: " } else { "" };
                self.show(&format!("{warmup}{row} in {arm}"), *left_s, false);
            }
            Event::ReadingTaken(reading) => self.reading(reading),
            Event::BlockEnded { set_aside, look, left_s, .. } => {
                if let Some(cause) = set_aside {
                    self.set_aside.note(cause);
                    if self.set_aside.count() >= DISTURBED
                        && let Some(choices) = self.choices.take()
                    {
                        let cause = self.set_aside.mostly().unwrap_or_default();
                        self.note(&quiet::busy(&cause, choices));
                    }
                }
                if let Some(look) = look {
                    self.interval = interval(look);
                }
                self.show("done", *left_s, false);
            }
            Event::ThreadsChosen(chosen) => {
                let chosen: Vec<String> =
                    chosen.iter().map(|(arm, threads)| format!("{threads} in {arm}")).collect();
                self.note(&format!("thread counts chosen and frozen: {}", chosen.join(", ")));
            }
            Event::Ended(_) => self.bar.finish_and_clear(),
            _ => {}
        }
        Ok(())
    }
}
