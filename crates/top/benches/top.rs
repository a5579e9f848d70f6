//! What `coretwin top` costs at one window a second, on a fake machine of 256 CPUs and 5,000 tasks of
//! which 180 run at any moment, others every half second: CPU time of its thread, drawing included, as a
//! share of one CPU; and how much of the machine's busy time the listed tasks ran, for it would be easy to
//! be cheap by not looking.
//!
//!     cargo bench -p coretwin-top --bench top [-- SECONDS]
//!
//! The files of the fake machine lie in memory. The kernel makes those of /proc when they are read,
//! which costs more for some and less for others; the second part prints what a read of each kind
//! costs here, on the fake and on this machine.

#[path = "../tests/support/mod.rs"]
mod support;

use coretwin_base::account::MethodName;
use coretwin_top::live::{self, Until};
use coretwin_top::screen;
use coretwin_top::source::LOOKS_SHARE_MAX;
use coretwin_top::terminal::Signals;
use coretwin_top::view::View;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::error::Error;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use support::{Big, CPUS, RUNNING, TASKS};

/// Windows before the measured ones: until every thread has been read once.
const WARM: u64 = 10;

#[expect(clippy::print_stdout, reason = "the numbers are the answer")]
fn main() -> ExitCode {
    // Cargo says so to those it runs as benchmarks; else this is a test run, which is not timed.
    if std::env::args().all(|arg| arg != "--bench") {
        return ExitCode::SUCCESS;
    }
    let seconds = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(30);
    match measure(seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the numbers are the answer")]
fn measure(seconds: u64) -> Result<(), Box<dyn Error>> {
    let folder = support::folder()?;
    let big = Big::start(folder.path(), Duration::from_millis(50))?;
    println!(
        "{CPUS} CPUs, {TASKS} tasks, {RUNNING} of them running; {seconds} windows of 1 s after {WARM}"
    );
    println!(
        "{:<10} {:<12} {:>9} {:>12} {:>8} {:>10}",
        "method", "short looks", "CPU", "bytes/window", "tasks", "explained"
    );
    for (method, short_looks) in
        [(MethodName::Sampled, true), (MethodName::Sampled, false), (MethodName::Bounds, true)]
    {
        let mut source = big.source(method, LOOKS_SHARE_MAX, short_looks)?;
        let sent = Sent::default();
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, 132, 50)) };
        let mut terminal = Terminal::with_options(CrosstermBackend::new(sent.clone()), options)?;
        let until = Until { windows: Some(WARM + seconds), time: None };
        let (mut windows, mut before, mut sent_before) = (0, cpu_s(), 0);
        let (mut tasks, mut listed_s, mut busy_s) = (0, 0.0, 0.0);
        let mut view = View::default();
        live::each(
            &mut source,
            Duration::from_secs(1),
            until,
            &Signals::default(),
            &mut |window| {
                windows += 1;
                if windows > WARM {
                    tasks += window.tasks.len();
                    listed_s += window.tasks.iter().map(|task| task.worth.raw_s).sum::<f64>();
                    let machine = &window.machine;
                    busy_s += machine.logical_share * f64::from(machine.cpus) * window.elapsed_s;
                }
                let _ = terminal.draw(|frame| {
                    _ = screen::draw(frame, Some(window), &mut view, &mut |_| String::new());
                });
                if windows == WARM {
                    (before, sent_before) = (cpu_s(), sent.0.get());
                }
                Ok(())
            },
        )?;
        let share = (cpu_s() - before) / seconds as f64 * 100.0;
        let looks = if short_looks { "yes" } else { "no" };
        println!(
            "{:<10} {looks:<12} {share:>8.2}% {:>12} {:>8} {:>9.1}%",
            method.name(),
            (sent.0.get() - sent_before) / seconds,
            tasks as u64 / seconds,
            listed_s / busy_s * 100.0
        );
    }
    read_costs(folder.path())
}

/// Counts what would go to a terminal.
#[derive(Clone, Default)]
struct Sent(Rc<Cell<u64>>);

impl std::io::Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a read costs, in microseconds of CPU time.
#[expect(clippy::print_stdout, reason = "the numbers are the answer")]
fn read_costs(fake: &std::path::Path) -> Result<(), Box<dyn Error>> {
    println!("{:<28} {:>10} {:>10}", "CPU time of a read, in us", "fake", "here");
    let own = std::process::id().to_string();
    for (what, below_fake, here) in [
        ("proc/stat", "proc/stat".to_owned(), "/proc/stat".to_owned()),
        (
            "task stat",
            "proc/1000/task/1000/stat".to_owned(),
            format!("/proc/{own}/task/{own}/stat"),
        ),
        (
            "task schedstat",
            "proc/1000/task/1000/schedstat".to_owned(),
            format!("/proc/{own}/task/{own}/schedstat"),
        ),
    ] {
        let cost_us = |path: std::path::PathBuf| -> std::io::Result<f64> {
            let before = cpu_s();
            for _ in 0..2000 {
                std::hint::black_box(std::fs::read(&path)?);
            }
            Ok((cpu_s() - before) / 2000.0 * 1e6)
        };
        let (fake, here) = (cost_us(fake.join(below_fake))?, cost_us(here.into())?);
        println!("{what:<28} {fake:>10.1} {here:>10.1}");
    }
    Ok(())
}

/// CPU time of this thread so far.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
