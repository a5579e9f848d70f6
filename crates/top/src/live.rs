//! The loops: of the screen (keys, looks, windows, drawing), and without one, as for lines of JSON.

use crate::Error;
use crate::screen;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::terminal::{Screen, Signals, end_without_it, wake_for_keys};
use crate::view::{Act, View};
use coretwin_base::printable::printable;
use coretwin_host::root::Root;
use coretwin_host::tasks::Tasks;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// Longest wait, for a key or for nothing, so that a signal is heeded soon.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// When to end without being told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Until {
    pub windows: Option<u64>,
    pub time: Option<Duration>,
}

impl Until {
    pub fn reached(&self, windows: u64, began: Instant) -> bool {
        self.windows.is_some_and(|most| windows >= most)
            || self.time.is_some_and(|time| began.elapsed() >= time)
    }
}

/// Draws until the user or a signal ends it. Errors: [`Error`] if the machine or the terminal
/// fails; the terminal is given back first.
pub fn run(
    source: &mut Source,
    mut view: View,
    until: Until,
    signals: &Signals,
) -> Result<(), Error> {
    let began = Instant::now();
    let mut screen = Screen::enter(!view.no_mouse)?;
    end_without_it();
    let mut shown: Option<Snapshot> = None;
    let mut commands = Commands::new(source.root());
    let mut page = draw(&mut screen, shown.as_ref(), &mut view, &mut commands)?;
    let mut window_began = Instant::now();
    let mut windows = 0;
    while !signals.end() && !until.reached(windows, began) {
        let window_due = window_began + interval(&view);
        let next = source.due().map_or(window_due, |due| due.min(window_due));
        let wait = next.saturating_duration_since(Instant::now()).min(WAIT_MAX);
        let mut dirty = false;
        if event::poll(wait).map_err(Error::Terminal)? {
            match take_event(&mut screen, &mut view, page, shown.as_ref())? {
                Some(Act::Quit) => return Ok(()),
                Some(_) => dirty = true,
                None => {}
            }
        } else {
            wake_for_keys();
        }
        if signals.stop() {
            screen.suspend()?;
            dirty = true;
        } else if signals.go_on() {
            screen.again()?;
            dirty = true;
        }
        source.look()?;
        if window_began.elapsed() >= interval(&view) {
            window_began = Instant::now();
            let snapshot = source.snapshot()?;
            windows += 1;
            if !view.paused || shown.is_none() {
                shown = Some(snapshot);
                commands.forget();
                dirty = true;
            }
            source.rest();
        }
        if dirty {
            screen.set_mouse(!view.no_mouse)?;
            page = draw(&mut screen, shown.as_ref(), &mut view, &mut commands)?;
        }
    }
    Ok(())
}

fn interval(view: &View) -> Duration {
    Duration::from_millis(u64::from(view.interval_tenths) * 100)
}

/// The command lines of processes that are shown: read once for each window, so that those of a paused one
/// stay too.
struct Commands {
    tasks: Tasks,
    read: BTreeMap<u32, String>,
}

impl Commands {
    fn new(root: &Root) -> Self {
        Self { tasks: Tasks::new(root), read: BTreeMap::new() }
    }

    fn forget(&mut self) {
        self.read.clear();
    }

    fn of(&mut self, process: u32) -> String {
        let Self { tasks, read } = self;
        let known = read.entry(process);
        known.or_insert_with(|| tasks.command_line(process).unwrap_or_default()).clone()
    }
}

fn draw(
    screen: &mut Screen,
    shown: Option<&Snapshot>,
    view: &mut View,
    commands: &mut Commands,
) -> Result<usize, Error> {
    let mut page = 1;
    let drawn = screen.terminal.draw(|frame| {
        page = screen::draw(frame, shown, view, &mut |process| commands.of(process));
    });
    drawn.map_err(Error::Terminal)?;
    Ok(page)
}

fn take_event(
    screen: &mut Screen,
    view: &mut View,
    page: usize,
    shown: Option<&Snapshot>,
) -> Result<Option<Act>, Error> {
    let act = match event::read().map_err(Error::Terminal)? {
        Event::Key(key) if key.kind != KeyEventKind::Release => view.key(key, page, shown),
        Event::Mouse(event) if view.mouse(event) => Act::Draw,
        // The next drawing asks for the size.
        Event::Resize(..) => Act::Draw,
        _ => return Ok(None),
    };
    match act {
        Act::Suspend => screen.suspend()?,
        Act::Anew => screen.clear()?,
        Act::Draw | Act::Quit => {}
    }
    Ok(Some(act))
}

/// Hands every window to `sink` until the end or a signal. Errors: [`Error`] if the machine cannot
/// be read, or what the sink says.
pub fn each(
    source: &mut Source,
    interval: Duration,
    until: Until,
    signals: &Signals,
    sink: &mut dyn FnMut(&Snapshot) -> Result<(), Error>,
) -> Result<(), Error> {
    let began = Instant::now();
    let mut window_began = began;
    let mut windows = 0;
    while !signals.end() && !until.reached(windows, began) {
        let window_due = window_began + interval;
        let next = source.due().map_or(window_due, |due| due.min(window_due));
        let wait = next.saturating_duration_since(Instant::now());
        std::thread::sleep(wait.min(WAIT_MAX));
        source.look()?;
        if Instant::now() >= window_due {
            window_began = Instant::now();
            sink(&source.snapshot()?)?;
            windows += 1;
            source.rest();
        }
    }
    Ok(())
}

/// Writes a snapshot as a line of JSON.
pub fn json(out: &mut dyn Write, snapshot: &Snapshot) -> Result<(), Error> {
    let line = serde_json::to_string(snapshot).map_err(|error| Error::Write(error.into()))?;
    writeln!(out, "{}", printable(&line)).and_then(|()| out.flush()).map_err(Error::Write)
}
