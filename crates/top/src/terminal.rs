//! The terminal: taken over, and given back as it was, whatever ends the program.
//!
//! Ordinary ends and errors by `Drop`; a panic by a hook that runs before its message is printed;
//! SIGINT, SIGTERM and SIGHUP by flags that the loop looks at; SIGTSTP (Ctrl-Z) by giving it back,
//! stopping, and taking it again. Only SIGKILL cannot be helped (`reset` helps then).

use crate::Error;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Position, Rect};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP};
use std::io::{self, BufWriter, IsTerminal, Stdout};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long what ends by itself has for that.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A screen of our own.
pub struct Screen {
    /// What is drawn on. Only what changed is sent, in one write. Never dropped: we give the terminal
    /// back ourselves, and Ratatui, where that fails, prints to what may be gone too, which panics.
    pub terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
}

/// Whether standard input and output are a terminal that can be drawn on.
///
/// # Errors
/// [`Error::NoTerminal`] saying what is missing.
pub fn check(term: Option<&str>) -> Result<(), Error> {
    let missing = |what: &str| Err(Error::NoTerminal { what: what.to_owned() });
    if !io::stdout().is_terminal() {
        return missing("standard output is no terminal, so there is no screen to draw");
    }
    if !io::stdin().is_terminal() {
        return missing("standard input is no terminal, so there are no keys to read");
    }
    match term {
        None | Some("") => missing("TERM is not set, so nothing is known of this terminal"),
        Some("dumb") => missing("TERM is dumb: this terminal cannot move its cursor"),
        Some(_) => Ok(()),
    }
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// [`Error::Terminal`] with what the system says.
    pub fn enter() -> Result<Self, Error> {
        give_back_on_panic();
        // From here on an error gives back what was taken.
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let terminal = Terminal::new(backend).map_err(Error::Terminal)?;
        let screen = Self { terminal: ManuallyDrop::new(terminal) };
        take().map_err(Error::Terminal)?;
        Ok(screen)
    }

    /// Gives the terminal back, stops as job control wants it, and takes it again when continued.
    ///
    /// # Errors
    /// [`Error::Terminal`] with what the system says.
    pub fn suspend(&mut self) -> Result<(), Error> {
        give_back();
        // SIGTSTP itself is handled by the flag, so the stop is the one nobody can handle.
        signal_hook::low_level::raise(SIGSTOP).map_err(Error::Terminal)?;
        self.again()
    }

    /// Takes the terminal over again and forgets what was on it.
    ///
    /// # Errors
    /// [`Error::Terminal`] with what the system says.
    pub fn again(&mut self) -> Result<(), Error> {
        take().map_err(Error::Terminal)?;
        self.clear()
    }

    /// Forgets what is on the screen, so that all is drawn anew.
    ///
    /// # Errors
    /// [`Error::Terminal`] with what the system says.
    pub fn clear(&mut self) -> Result<(), Error> {
        // Ratatui's own `clear` asks the terminal where its cursor is, which may stay unanswered.
        let size = self.terminal.size().map_err(Error::Terminal)?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size))).map_err(Error::Terminal)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Hide)
}

/// A terminal that is gone cannot be given back, and needs not be.
fn give_back() {
    let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        give_back();
        before(info);
    }));
}

/// Ends this process soon after its terminal is gone, as when a connection breaks. Usually SIGHUP or a failed
/// drawing has ended it by then. But whoever is waiting for a key at that moment reads nothing for ever
/// (Crossterm 0.29) and heeds no flag; then there is no terminal to give back and nobody to tell.
pub fn end_without_it() {
    std::thread::spawn(|| {
        let stdin = io::stdin();
        let is_gone = || {
            // Nothing is asked for: what is told unasked is that it hung up.
            let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
            poll(&mut polled, None).is_ok_and(|ready| ready > 0)
        };
        while !is_gone() {}
        std::thread::sleep(LAST_WORDS);
        std::process::exit(1);
    });
}

/// Flags that signals raise.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    go_on: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// [`Error::Terminal`] with what the system says.
    pub fn listen() -> Result<Self, Error> {
        let signals = Self::default();
        let flags = [
            (SIGINT, &signals.end),
            (SIGTERM, &signals.end),
            (SIGHUP, &signals.end),
            (SIGTSTP, &signals.stop),
            (SIGCONT, &signals.go_on),
        ];
        for (signal, flag) in flags {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(Error::Terminal)?;
        }
        Ok(signals)
    }

    /// Whether it is to end.
    #[must_use]
    pub fn end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether it is to stop; asked once.
    #[must_use]
    pub fn stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Whether it was continued; asked once.
    #[must_use]
    pub fn go_on(&self) -> bool {
        self.go_on.swap(false, Ordering::Relaxed)
    }
}
